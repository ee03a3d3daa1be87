//! Flags about approvers.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parse_time;

/// Who is asked, and how long they have
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Approvals")]
pub(crate) struct AskFlags {
    /// Who is asked for approval
    #[arg(long, value_name = "WHO", value_enum, default_value_t = Ask::Auto)]
    pub(crate) ask: Ask,

    /// How long to wait for an answer; without one the call is denied [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) ask_timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ask {
    /// The user at this terminal, if it is one, and approvers elsewhere
    Auto,
    /// The same; it is an error if there is no terminal
    Terminal,
    /// No approver: what needs approval is refused
    Nobody,
}
