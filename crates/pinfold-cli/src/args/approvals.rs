//! What can be said about questions that wait in other processes.

use clap::Args;

/// See what waits for an answer, in all sessions that run
///
/// On a terminal: shows one request after the other and waits for the next. Where the output is no terminal: prints what
/// waits, and ends.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold approvals\n  pinfold approvals --list\n  \
                             pinfold approvals --json --watch | jq -c .\n  pinfold approvals --web --port 8765")]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Approvals {
    /// Print what waits, and end
    #[arg(long)]
    pub(crate) list: bool,

    /// Print it as JSON, one request a line
    #[arg(long)]
    pub(crate) json: bool,

    /// Go on printing what is asked, and what becomes of it
    #[arg(long, conflicts_with = "list")]
    pub(crate) watch: bool,

    /// Serve a page on this machine, where requests are answered in a browser
    #[arg(long, conflicts_with_all = ["list", "json", "watch"])]
    pub(crate) web: bool,

    /// The port of the page [default: one that is free]
    #[arg(long, value_name = "N", requires = "web", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
}

/// Answer yes to a request that waits, after it was shown
///
/// Exit code: 0 when the answer counts; 1 when it does not, such as when somebody else was quicker; 2 when it is not clear
/// what is meant; 3 when it was not confirmed, or answering is not open to this process.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Approve {
    /// The request: its ID, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Grant all of this kind until the session ends
    #[arg(long, conflicts_with = "always")]
    pub(crate) session: bool,

    /// Write the rules that are offered, so that it is not asked about again
    #[arg(long)]
    pub(crate) always: bool,

    /// Which of the offered widths, counted from 1; once for each rule [default: the usual one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) width: Vec<u16>,

    /// Write the rules to your own settings for all projects
    #[arg(long, requires = "always")]
    pub(crate) user: bool,

    /// The beginning of the digest that you have seen: only that request is approved
    #[arg(long, value_name = "DIGEST", conflicts_with = "yes")]
    pub(crate) digest: Option<String>,

    /// Approve whatever waits under this ID: for scripts
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Answer no to a request that waits
///
/// Exit code: as with `approve`.
#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// The request: its ID, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// What the agent is told
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
}
