//! Flags about approvers.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parse_time;

/// Approvers, and their time limit
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Approvals")]
pub(crate) struct AskFlags {
    /// Approver to ask
    #[arg(long, value_name = "WHO", value_enum, default_value_t = Ask::Auto)]
    pub(crate) ask: Ask,

    /// Time to wait for an answer; without one the call is denied [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) ask_timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ask {
    /// The user at this terminal, if it is one, and approvers elsewhere
    Auto,
    /// As auto, but without a terminal it is an error
    Terminal,
    /// No approver: what needs approval is refused
    #[value(alias = "nobody")]
    None,
}
