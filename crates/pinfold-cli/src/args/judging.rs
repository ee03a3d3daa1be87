//! Arguments of commands about calls that are judged and not made.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::SettingsFlags;

/// Show what would be decided about a call, and why, without running it
///
/// TOOL and JSON are those of `pinfold call`. Without them, calls are read from standard input, one JSON object per
/// line, and answered one per line and in order; what can stand in a line is described in docs/check.md.
///
/// Exit code: 0 when the call is allowed, 4 when it needs approval, 3 when it is denied, 2 when the command
/// line is not understood. For lines: 1 when any of them could not be read, else 0.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold check Bash '{\"command\":\"git push\"}'\n  \
                       echo '{\"tool\":\"Read\",\"input\":{\"file_path\":\"a\"}}' | pinfold check --no-settings")]
pub(crate) struct Check {
    /// Print the answer as JSON, as for a line
    #[arg(long)]
    pub(crate) json: bool,

    /// The tool
    #[arg(value_name = "TOOL", requires = "input")]
    pub(crate) tool: Option<String>,

    /// Its input, or `-` for standard input
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,

    #[command(flatten)]
    pub(crate) judging: Judging,
}

/// Explain why a call, path, host or command is allowed, asked about or refused, step by step
///
/// WHAT is a call written like a rule, a path, a host or an address, or a command; or a name that pinfold has printed.
/// `last` is the last refusal in the audit log, of whatever layer; SESSION:ID a call, SESSION:ID:N what the kernel refused to its
/// shell, SESSION:kN what it refused to a run, SESSION a run. The name of a session can be shortened. What was decided
/// then is shown, with who answered and how it ended; then it is judged once more, in the folder and the mode of then.
///
/// Exit code: as for `pinfold check`, by what would be decided now; by what was decided then where that cannot be told.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold why git push --force\n  pinfold why 'Edit(./.env)'\n  \
                       pinfold why ~/.ssh/config\n  pinfold why github.com\n  pinfold why last\n  \
                       pinfold why run-e9q:k1")]
pub(crate) struct WhyArgs {
    /// Print the trace as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Take WHAT for this, whatever it looks like
    #[arg(long = "as", value_name = "KIND", value_enum)]
    pub(crate) kind: Option<WhyKind>,

    /// Call, name in the audit log, path or host to explain
    #[arg(required = true, value_name = "WHAT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) what: Vec<String>,

    #[command(flatten)]
    pub(crate) judging: Judging,
}

/// Subject of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhyKind {
    /// A call written like a rule: `Bash(git push)`
    Call,
    /// A path, for reading and for writing
    Path,
    /// A host or an address
    Host,
    /// A command line
    Command,
    /// A name in the audit log: `last`, SESSION:ID, SESSION:ID:N, SESSION:kN or SESSION
    Record,
}

/// Caller and settings of the call
#[derive(Debug, Args, Default)]
#[command(next_help_heading = "Session and settings")]
pub(crate) struct Judging {
    /// The project [default: the one that the current folder belongs to]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Another folder that can be written
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: SettingsFlags,

    /// Use no settings files: what is said here is all there is
    #[arg(long)]
    pub(crate) no_settings: bool,

    /// No approver: what needs approval is denied
    #[arg(long)]
    pub(crate) headless: bool,

    /// Switch the Bash tool on where it is off
    #[arg(long)]
    pub(crate) allow_bash: bool,
}
