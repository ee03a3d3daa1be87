//! Arguments of `pinfold log`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::parse_time;

/// Show the audit log: what was decided, why, by whom, and how it ended
///
/// Every call and every run leaves events in the audit log, the decision before the operation. Filters add up.
///
/// Exit code: 0; `verify` ends with 1 when a line does not follow the one before, unless that break was acknowledged, or noted
/// as damage before `--head`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "Examples:\n  pinfold log --since 2h --refused\n  pinfold log --path '**/.env' --json\n  \
                       pinfold log --follow\n  pinfold log verify\n  pinfold log acknowledge --reason 'disk of May 3rd'\n  pinfold log stats"
)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Log {
    #[command(subcommand)]
    pub(crate) command: Option<LogCommand>,

    /// Show at most the last N lines
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) last: Option<usize>,

    /// Go on showing lines as they are written; begins with the last 10, or with `-n` or `--since`
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Print the lines as they stand in the audit log
    #[arg(long)]
    pub(crate) json: bool,

    /// Show each part that was asked about or denied, and the input
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Show answers, outcomes, starts and ends too, not decisions and refusals alone
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) filters: Filters,
}

/// Events to show
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filters {
    /// Not older than this: a duration (90s, 10m, 2h) or a time (2026-11-21T18:00:00Z)
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    pub(crate) since: Option<LogMoment>,

    /// Not younger than this
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    pub(crate) until: Option<LogMoment>,

    /// Events of this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,

    /// Events of this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,

    /// Events of this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Decided so: allow, ask or deny
    #[arg(long, value_name = "DECISION", value_parser = ["allow", "ask", "deny"])]
    pub(crate) decision: Option<String>,

    /// Decided by this step
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,

    /// About a path that matches: `*` within a name, `**` across names
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: Option<String>,

    /// An approver was asked
    #[arg(long)]
    pub(crate) asked: bool,

    /// Refused
    #[arg(long)]
    pub(crate) refused: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    Verify(Verify),
    Acknowledge(Acknowledge),
    Stats(Stats),
}

/// Verify the hash chain, and name each line that does not follow the one before
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The hash of a line that was kept elsewhere; it must be in the chain
    #[arg(long, value_name = "HASH")]
    pub(crate) head: Option<String>,

    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Acknowledge the breaks of the hash chain, so that `verify` counts later ones alone
///
/// Writes a note into the audit log for each break that is there now, with a hash of what stands there. `verify` goes on
/// listing them, and ends with 0 when there is no other. Where such a place is changed once more, it is a break again.
#[derive(Debug, Args)]
pub(crate) struct Acknowledge {
    /// Why, for those who read the audit log
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Count: by tool, step and rule, what was asked and what was answered
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Print the counts as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) filters: Filters,
}

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogMoment {
    /// An age.
    Ago(Duration),
    /// A moment.
    At(jiff::Timestamp),
}

fn parse_when(text: &str) -> Result<LogMoment, String> {
    if let Ok(at) = text.parse() {
        return Ok(LogMoment::At(at));
    }
    parse_time(text).map(LogMoment::Ago).map_err(|_| {
        "write a time such as 90s, 10m or 2h, or a moment such as 2026-11-21T18:00:00Z".to_owned()
    })
}
