//! What can be said about other agents.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use pinfold_dialects::DIALECTS;

use super::{SettingsFlags, parse_time};

/// The names of the agents that are known.
fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(DIALECTS.iter().map(|dialect| dialect.name()))
}

/// Answer a coding agent that asks its hook: may this call be made?
///
/// Reads what the agent sends on standard input and answers in the words that this agent honours. The call is judged like
/// any other, by your settings and those of the project; the agent carries it out itself. Where the agent cannot ask you,
/// what would be a question is refused. Whatever goes wrong is a no.
///
/// Exit code: 0 when the answer is on standard output; 2 with the reason on standard error when nothing could be judged,
/// and for agents that read a no there.
#[derive(Debug, Args)]
#[command(after_long_help = "Example (what Claude Code sends):\n  \
                       echo '{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/tmp\",\"session_id\":\"s\",\"tool_name\":\"Bash\",\n    \
                       \"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"t\"}' | pinfold hook claude")]
pub(crate) struct Hook {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = agents())]
    pub(crate) agent: String,

    /// The folder that can be written [default: the one that the agent was started for]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Another folder that can be written
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: SettingsFlags,

    /// Read no settings files: rules and modes come from the flags alone
    #[arg(long)]
    pub(crate) no_settings: bool,

    /// Nobody can be asked: what would be a question is refused
    #[arg(long)]
    pub(crate) headless: bool,

    /// How long judging may take; then the answer is no. Keep it below what the agent waits for its hook
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "20s")]
    pub(crate) timeout: Duration,

    /// Do not write the record of the call
    #[arg(long, hide_short_help = true)]
    pub(crate) no_record: bool,
}

/// Make pinfold the hook of a coding agent
///
/// Shows what would change in the agent's own settings, and writes it after a yes; all else there stays as it is. Each
/// tool call of the agent is then shown to `pinfold hook`, and is refused too when pinfold cannot be run.
///
/// Exit code: 0 when it was done, or holds; 1 when it could not be written, or does not hold; 2 when the command line or
/// the agent's settings were not understood; 3 when the answer was no.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  pinfold setup claude\n  pinfold setup claude --check\n  pinfold setup claude --undo"
)]
pub(crate) struct Setup {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = agents())]
    pub(crate) agent: String,

    /// Take it away again
    #[arg(long)]
    pub(crate) undo: bool,

    /// Say whether it holds, by calling it as the agent would
    #[arg(long, conflicts_with_all = ["undo", "yes"])]
    pub(crate) check: bool,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// How long judging may take, and whoever is asked; then the answer is no. The agent is told to wait longer
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "100s")]
    pub(crate) timeout: Duration,
}
