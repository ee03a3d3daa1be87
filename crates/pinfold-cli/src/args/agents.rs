//! Arguments of the commands about other agents.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use pinfold::policy::Layer;
use pinfold_boundary::AGENTS;
use pinfold_dialects::DIALECTS;
use pinfold_dialects::export::EXPORTED;
use pinfold_dialects::import::IMPORTED;

use super::{SettingsFlags, parse_time};
use crate::run::agent::NONE;

/// The names of the agents that are known.
fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(DIALECTS.iter().map(|dialect| dialect.name()))
}

/// The names of the agents that have a profile for a run, and the word for none.
pub(super) fn profiles() -> PossibleValuesParser {
    PossibleValuesParser::new(AGENTS.iter().map(|agent| agent.name).chain([NONE]))
}

/// List the agents that `pinfold run` knows, and what it gives each of them
///
/// An agent is known by the name of its program, or named by `pinfold run --agent`. It writes its state to a private layer
/// of the folder, but never what it acts on by itself later; it reads its own login and gets its own keys; it reaches the
/// hosts that it talks to.
#[derive(Debug, Args)]
pub(crate) struct Profiles {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Answer a coding agent that asks its hook: may this call be made?
///
/// Reads what the agent sends on standard input and answers in the words that this agent honours. The call is judged like
/// any other, by your settings and those of the project; the agent carries it out itself. Where the agent cannot ask you,
/// what would be a question is refused. Fails closed: any error denies the call.
///
/// Exit code: 0 when the answer is on standard output; 2 with the reason on standard error when nothing could be judged,
/// and for agents that read a no there.
#[derive(Debug, Args)]
#[command(after_long_help = "Example (what Claude Code sends):\n  \
                       echo '{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/tmp\",\"session_id\":\"s\",\"tool_name\":\"Bash\",\n    \
                       \"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"t\"}' | pinfold hook claude")]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Hook {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = agents())]
    pub(crate) agent: String,

    /// The folder that can be written [default: the one that the agent was started for]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Grant the folder that --folder names although it is a home directory, lies above one, or holds programs of the PATH
    #[arg(long, requires = "folder")]
    pub(crate) allow_home: bool,

    /// Another folder that can be written
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: SettingsFlags,

    /// Read no settings files: rules and modes come from the flags alone
    #[arg(long)]
    pub(crate) no_settings: bool,

    /// No approver: what needs approval is refused
    #[arg(long)]
    pub(crate) headless: bool,

    /// Time limit for the decision; then the answer is no. Keep it below the hook timeout of the agent
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

    /// Time limit for the decision and for approvers; then the answer is no. The agent's own timeout is set longer
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "100s")]
    pub(crate) timeout: Duration,
}

/// Take over the rules and sandbox settings of another agent
///
/// Says of each thing that its files say whether it was taken, narrowed or left out, and why; shows what would change in
/// your settings, and writes it after a yes. Your own file goes to your own, a project's to the project's, which counts
/// once you trust it. What is taken allows nothing more here than there, and what switches a line off is never taken.
///
/// Exit code: 0 when it was done, or nothing was to be done; 1 when it could not be written; 2 when a file was not
/// understood; 3 when the answer was no.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold import claude\n  pinfold import codex --user --yes\n  \
                       pinfold import opencode --json")]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Import {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(IMPORTED))]
    pub(crate) agent: String,

    /// The project [default: the one that the current folder belongs to]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Only the agent's file for all projects
    #[arg(long, group = "which")]
    pub(crate) user: bool,

    /// Only the file that is shared with the project
    #[arg(long, group = "which")]
    pub(crate) project: bool,

    /// Only your own file for this project
    #[arg(long, group = "which")]
    pub(crate) local: bool,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Print the report as JSON, and write nothing without --yes
    #[arg(long)]
    pub(crate) json: bool,
}

impl Import {
    /// The one layer that is meant, if one is.
    pub(crate) fn layer(&self) -> Option<Layer> {
        match self {
            Self { user: true, .. } => Some(Layer::User),
            Self { project: true, .. } => Some(Layer::Project),
            Self { local: true, .. } => Some(Layer::Local),
            Self { .. } => None,
        }
    }
}

/// Export rules and sandbox settings to another agent
///
/// Prints a table of all that holds here and what holds it there (its kernel sandbox, its own gate, or nothing), with the
/// reason, and what would change in its files; --write writes it after a yes. Nothing that is said there allows more than
/// here. Your own settings and those of the organisation go to the agent's file for all projects; --local takes all that
/// holds in this project.
///
/// Exit code: 0 when it was done, or only shown; 1 when it could not be written; 2 when a file was not understood; 3 when the
/// answer was no.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold export claude\n  pinfold export codex --write\n  \
                       pinfold export gemini --json")]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Export {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(EXPORTED))]
    pub(crate) agent: String,

    /// The project [default: the one that the current folder belongs to]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// All that holds in this project, for your own file for it (claude)
    #[arg(long)]
    pub(crate) local: bool,

    /// Write it, after a question
    #[arg(long)]
    pub(crate) write: bool,

    /// Do not ask
    #[arg(long, requires = "write")]
    pub(crate) yes: bool,

    /// Print the table and the files as JSON, and write nothing without --write --yes
    #[arg(long)]
    pub(crate) json: bool,
}
