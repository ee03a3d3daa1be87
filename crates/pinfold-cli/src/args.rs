//! The command line.

mod agent;
mod agents;
mod approvals;
mod asking;
mod judging;
mod listen;
mod log;
mod mcp;
mod serve;
mod session;
mod settings;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, FromArgMatches as _, Parser, Subcommand, ValueEnum, ValueHint};

use crate::output;

pub(crate) use agent::{AgentArgs, AgentCommand, AgentPlace, AgentRun, CleanArgs};
pub(crate) use agents::{Export, Hook, Import, Profiles, Setup};
pub(crate) use approvals::{Approvals, Approve, Deny};
pub(crate) use asking::{Ask, AskFlags};
pub(crate) use judging::{Check, Judging, WhyArgs, WhyKind};
pub(crate) use listen::Listen;
pub(crate) use log::{Acknowledge, Filters, Log, LogCommand, LogMoment, Stats, Verify};
pub(crate) use mcp::{
    Going, HttpFlags, ListenAddress, Mcp, McpCommand, McpLogin, McpLogout, McpProxy, McpServe, is_server,
};
pub(crate) use serve::Serve;
pub(crate) use session::SessionFlags;
pub(crate) use settings::{
    Init, Learn, OneRule, Permissions, Replay, Rules, RulesCommand, Schema, SettingsFlags, TrustArgs,
};

/// A sandbox and permission layer for coding agents.
#[derive(Debug, Parser)]
#[command(
    name = "pinfold",
    version,
    about,
    long_about = "A sandbox and permission layer for coding agents: a command, or a whole agent, reads anywhere but \
                  for credentials, writes only in one folder and reaches only the hosts that are allowed. The kernel \
                  enforces this for processes; rules and approvals decide about tool calls.",
    after_long_help = "Try it:\n  pinfold run -- sh -c 'echo hi > here.txt; echo hi > ~/there.txt'\n  pinfold doctor",
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct Pinfold {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

impl Pinfold {
    /// Parses the command line. Ends the program with a message when it is not understood.
    ///
    /// `run` stands before every command of an agent and `hook` is started for every call of one, so they are tried
    /// alone first: the parsers of all other commands would be built only to be thrown away. Whatever is odd is for the
    /// whole parser, which explains it.
    pub(crate) fn asked() -> CliCommand {
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let alone = match words.first().and_then(|first| first.to_str()) {
            Some("run") => alone(words).map(|run| CliCommand::Run(Box::new(run))),
            Some("hook") => alone(words).map(|hook| CliCommand::Hook(Box::new(hook))),
            _ => None,
        };
        alone.unwrap_or_else(|| Self::try_parse().unwrap_or_else(|error| explain(&error)).command)
    }
}

/// Prints what the parser has to say, help or an error, and ends. An error repeats words of the command line, so that it is
/// about these words as they can be shown.
fn explain(error: &clap::Error) -> ! {
    let shown = std::env::args_os().map(|word| output::visible(&word.to_string_lossy()));
    match Pinfold::try_parse_from(shown) {
        Err(shown) if shown.kind() == error.kind() => shown.exit(),
        Err(_) | Ok(_) => {
            // The parser takes escapes out of what it renders. A failure cannot be reported.
            let _ = output::message(&error.render().to_string());
            std::process::exit(error.exit_code())
        }
    }
}

/// One command by its own parser, if it understands the words.
fn alone<C: Args>(words: Vec<OsString>) -> Option<C> {
    let parser = C::augment_args(clap::Command::new("pinfold"));
    C::from_arg_matches(&parser.try_get_matches_from(words).ok()?).ok()
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Run(Box<RunArgs>),
    Call(Call),
    Check(Check),
    Hook(Box<Hook>),
    Mcp(Box<Mcp>),
    Serve(Box<Serve>),
    Why(WhyArgs),
    Log(Box<Log>),
    Tools(Tools),
    Rules(Rules),
    Permissions(Permissions),
    Approvals(Approvals),
    Approve(Approve),
    Deny(Deny),
    Trust(TrustArgs),
    Agent(AgentArgs),
    Init(Init),
    Setup(Setup),
    #[command(alias = "agents")]
    Profiles(Profiles),
    Import(Import),
    Export(Export),
    Schema(Schema),
    Doctor(Doctor),
    Completions(Completions),
    Man(Man),
}

/// Run a command, or a whole agent, in a sandbox that can write only in this folder
///
/// The command and everything that it starts read anywhere but for credentials, write only in the folder, a private /tmp
/// and private copies of package caches, and reach no host unless you allow it or approve it when asked. What was refused
/// is printed at the end.
///
/// Exit code: that of the command (128+n when a signal ended it); 124 when it timed out, 125 when the sandbox
/// could not be set up, 126 when the command could not be run, 127 when it was not found.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold run -- npm test\n  pinfold run -- claude\n  \
                             pinfold run --folder ~/work/site --add-dir ~/work/shared -- make\n  \
                             pinfold run --read-only -- ./analyse.sh")]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct RunArgs {
    /// The folder that can be written [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Grant the folder that --folder names although it is a home directory, lies above one, or holds programs of the PATH
    #[arg(long, requires = "folder")]
    pub(crate) allow_home: bool,

    /// Another folder that can be written
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,

    /// A file or folder that can be written, with no protection for what is inside
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) allow_write: Vec<PathBuf>,

    /// Credentials that can be read all the same, such as the login of the agent that is run
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) allow_read: Vec<PathBuf>,

    /// A file or folder that cannot be read
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) deny_read: Vec<PathBuf>,

    /// Write nothing but the private /tmp: short for --sandbox read-only
    #[arg(long, conflicts_with = "sandbox")]
    pub(crate) read_only: bool,

    /// Write access of the command [default: what settings say, or workspace-write]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) sandbox: Option<Sandbox>,

    /// Network access of the command [default: what settings say, or the hosts that are allowed or approved]
    #[arg(long, value_name = "REACH", value_enum)]
    pub(crate) network: Option<NetworkFlag>,

    /// A host that can be reached, and with others of this kind the only ones unasked: `example.org`, `*.example.org`,
    /// `db.internal:5432`, an address or a network; without a port at 22, 80 and 443
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with = "network")]
    pub(crate) allow_host: Vec<String>,

    /// A socket of a program on this machine that can be connected to, or a folder of such; prints what that exposes
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) allow_socket: Vec<PathBuf>,

    /// Profile of the agent, where the name of its program does not tell it, or `none` for no profile at all:
    /// `pinfold profiles` lists what each opens
    #[arg(long, value_name = "NAME", value_parser = agents::profiles())]
    pub(crate) agent: Option<String>,

    /// Publish a port of a server inside on this machine's loopback, at the same number or at HOSTPORT
    #[arg(long, value_name = "[HOSTPORT:]PORT", value_parser = Listen::parse)]
    pub(crate) listen: Vec<Listen>,

    /// Restrict the command to the path scopes of this profile: profiles/NAME.yaml or .json beside your settings
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// Read no settings files
    #[arg(long)]
    pub(crate) no_settings: bool,

    /// Package caches that are read shared and written to a private layer: names, `all` or `none`
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "all")]
    pub(crate) cache: Vec<String>,

    /// Pass a variable that would be held back (NAME), or set one (NAME=VALUE)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,

    /// Take a variable away
    #[arg(long, value_name = "NAME")]
    pub(crate) unset_env: Vec<OsString>,

    /// Allow a kernel feature that is blocked by default; prints what that exposes
    #[arg(long, alias = "open", value_name = "FEATURE", value_enum)]
    pub(crate) allow_feature: Vec<Feature>,

    /// Start even where this machine can enforce less; prints what is not enforced
    #[arg(long)]
    pub(crate) allow_degraded: bool,

    /// Use only Landlock and seccomp, as on machines that forbid user namespaces
    #[arg(long, hide_short_help = true)]
    pub(crate) landlock_only: bool,

    /// Write no audit log of the run
    #[arg(long, hide_short_help = true)]
    pub(crate) no_record: bool,

    /// End the command this long after the end of standard input: for servers
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    pub(crate) end_with_input: Option<Duration>,

    /// Print the report at the end as one line of JSON (on standard error)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the report to a file instead of standard error
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,

    /// Print no report when nothing was refused and nothing appeared that runs code
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) limits: LimitFlags,

    #[command(flatten)]
    pub(crate) asking: AskFlags,
}

impl RunArgs {
    /// A run in this folder, without options.
    pub(crate) fn plain(folder: &Path) -> Self {
        let words = [
            OsStr::new("run"),
            OsStr::new("--folder"),
            folder.as_os_str(),
            OsStr::new("--"),
            OsStr::new("true"),
        ];
        Self::augment_args(clap::Command::new("run"))
            .try_get_matches_from(words)
            .and_then(|matches| Self::from_arg_matches(&matches))
            .unwrap_or_else(|e| e.exit())
    }
}

/// Limits of the command
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitFlags {
    /// Private memory of each process: 512M, 2G, …
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_memory: Option<u64>,

    /// Processes and threads at one time; on the Landlock tier those outside count too
    #[arg(long, value_name = "N")]
    pub(crate) max_processes: Option<u64>,

    /// Size of any one file
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_file_size: Option<u64>,

    /// Total output; it then passes through pinfold, and is no terminal to the command
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_output: Option<u64>,

    /// Processor time of each process: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) cpu_time: Option<Duration>,

    /// Time from start to end; then all processes are killed and the exit code is 124
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sandbox {
    /// Nothing but the private /tmp
    #[value(alias = "ReadOnly")]
    ReadOnly,
    /// The folder, the private /tmp, private copies of package caches
    #[value(alias = "WorkspaceWrite")]
    WorkspaceWrite,
    /// Anywhere but guarded files (start-up files, credentials, …)
    #[value(alias = "DefaultWrite")]
    DefaultWrite,
    /// No sandbox
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetworkFlag {
    /// Nothing: a loopback interface of its own
    Off,
    /// Everything that this machine can reach
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Feature {
    /// Sockets to programs on this machine (needed by some databases, displays and agents)
    UnixSockets,
    /// New user namespaces inside (browsers' own sandboxes)
    UserNamespaces,
    /// The `io_uring` interface
    IoUring,
    /// Your key rings
    Keyrings,
    /// Unusual execution domains (setarch, some debuggers)
    Personality,
    /// Sandboxes that programs make for themselves with Landlock
    Landlock,
}

/// Run one tool call through the permission checks, and print the result as JSON
///
/// TOOL is a name of `pinfold tools`; JSON its input, or `-` for standard input. A file has to be read before it
/// is changed, in the same session: --lines takes several calls.
///
/// Exit code: 0 when it was done, 1 when it failed, 3 when it was refused, 2 when the call itself is not
/// understood.
#[derive(Clone, Debug, Args)]
#[command(
    after_long_help = "Example:\n  pinfold call Write '{\"file_path\":\"notes.md\",\"content\":\"hi\\n\"}'"
)]
pub(crate) struct Call {
    /// The folder that can be written [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionFlags,

    /// Read calls from standard input, one {"tool":…,"input":…} per line, all in one session
    #[arg(long, conflicts_with_all = ["tool", "input"])]
    pub(crate) lines: bool,

    /// The tool
    #[arg(value_name = "TOOL", required_unless_present = "lines")]
    pub(crate) tool: Option<String>,

    /// Its input
    #[arg(value_name = "JSON", allow_hyphen_values = true, required_unless_present = "lines")]
    pub(crate) input: Option<String>,

    #[command(flatten)]
    pub(crate) asking: AskFlags,
}

/// List the tools with their schemas
#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Print names, descriptions and JSON Schemas as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what this machine can enforce, layer by layer, by trying it
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual, or write all its pages to a directory
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write pinfold.1, pinfold-run.1, … here
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text.get(digits.len()..).unwrap_or("").to_ascii_uppercase().trim_end_matches("IB")
    {
        "" | "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        "T" | "TB" => 1 << 40,
        unit => return Err(format!("`{unit}` is not a unit of size: use K, M, G or T")),
    };
    let number: u64 =
        digits.parse().map_err(|_| "write a whole number and a unit, such as 512M".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that is more than there is".to_owned())
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text.get(digits.len()..).unwrap_or("") {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        unit => return Err(format!("`{unit}` is not a unit of time: use s, m or h")),
    };
    let number: u64 =
        digits.parse().map_err(|_| "write a whole number and a unit, such as 90s".to_owned())?;
    number.checked_mul(factor).map(Duration::from_secs).ok_or_else(|| "that is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Pinfold as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn sizes_and_times_read_as_people_write_them() {
        assert_eq!(parse_size("512M"), Ok(512 << 20));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("7"), Ok(7));
        assert!(parse_size("7X").is_err() && parse_size("").is_err() && parse_size("99999999999T").is_err());
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("2h"), Ok(Duration::from_hours(2)));
        assert!(parse_time("1d").is_err());
    }
}
