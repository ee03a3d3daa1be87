//! Flags about approvers.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parse_time;

/// Who is asked, and how long they have
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Questions")]
pub(crate) struct AskFlags {
    /// Who is asked where there is a question
    #[arg(long, value_name = "WHO", value_enum, default_value_t = Ask::Auto)]
    pub(crate) ask: Ask,

    /// How long an answer is waited for; silence is a no [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) ask_timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ask {
    /// Whoever sits at this terminal, if it is one, and whoever can be reached elsewhere
    Auto,
    /// The same; it is an error if there is no terminal
    Terminal,
    /// Nobody: what would be a question is refused
    Nobody,
}
