//! Arguments of `pinfold serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::{SessionFlags, parse_time};

/// Make and check calls for programs that connect to a Unix socket
///
/// The lines are those of `pinfold call --lines` and `pinfold check`, after a first one that says which; docs/serve.md has
/// them. Each connection is a session of its own. Only processes of the same user can connect, and no sandboxed one.
/// Prints the path once it listens, and ends with a signal.
///
/// Exit code: 0 when a signal ended it; 1 when the socket could not be made; 2 when the command line, the settings or the
/// path were not understood; 3 when it was started inside a run.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  pinfold serve --socket \"$XDG_RUNTIME_DIR/site.sock\" --folder ~/work/site --allow-bash"
)]
pub(crate) struct Serve {
    /// Socket to listen on: a path in a folder that only you can write
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) socket: PathBuf,

    /// The folder that can be written [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionFlags,

    /// Ask no other approver: what needs approval is refused, unless the client answers it
    #[arg(long, alias = "ask-nobody", help_heading = "Approvals")]
    pub(crate) no_ask: bool,

    /// Time to wait for an answer; without one the call is denied [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Approvals")]
    pub(crate) ask_timeout: Option<Duration>,
}
