//! Arguments of the commands about pending approval requests.

use std::num::{NonZeroU32, NonZeroU64};

use clap::Args;
use pinfold::consent::Bound;

use super::parse_time;

/// List pending approval requests of all running sessions
///
/// On a terminal: shows one request after the other and waits for the next. Where the output is no terminal: prints the
/// pending requests and exits.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold approvals\n  pinfold approvals --list\n  \
                             pinfold approvals --json --watch | jq -c .\n  pinfold approvals --web --port 8765")]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Approvals {
    /// Print the pending requests and exit
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
/// Exit code: 0 when the answer counts; 1 when it does not, such as when another approver was quicker; 2 when it is not clear
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

    /// Grant all of this kind for a time: 90s, 10m, 2h; at most until the session ends
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span, conflicts_with_all = ["always", "times"])]
    pub(crate) span: Option<NonZeroU64>,

    /// Grant all of this kind for so many calls, this one among them; at most until the session ends
    #[arg(long, value_name = "N", conflicts_with = "always")]
    pub(crate) times: Option<NonZeroU32>,

    /// Write the rules that are offered, so that it is not asked about again
    #[arg(long)]
    pub(crate) always: bool,

    /// Number of the offered scope, counted from 1; once for each rule [default: the usual one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) scope: Vec<u16>,

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

impl Approve {
    /// Lifetime of a grant for the session, where one is given.
    pub(crate) fn bound(&self) -> Option<Bound> {
        self.span.map(Bound::For).or(self.times.map(Bound::Times))
    }
}

fn parse_span(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(parse_time(text)?.as_secs()).ok_or_else(|| "that is no time at all".to_owned())
}

/// Answer no to a request that waits
///
/// Exit code: as with `approve`.
#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// The request: its ID, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Message to the agent
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
}
