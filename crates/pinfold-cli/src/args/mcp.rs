//! What can be said about the Model Context Protocol.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::{SessionFlags, parse_time};

/// Speak the Model Context Protocol: offer the tools of pinfold to an agent
///
/// Every call goes down the same road as those of `pinfold call`: rules, modes, questions, the record.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) what: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    Serve(McpServe),
}

/// Offer the tools as an MCP server, on standard input and output
///
/// Nothing is opened before the first call. Questions go to the person through the client, where it can ask them; else to
/// whoever watches elsewhere; else they are refused.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  claude mcp add pinfold -- pinfold mcp serve\n  pinfold mcp serve --folder ~/work/site --folder ~/work/shared --allow-bash"
)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct McpServe {
    /// A folder that can be written; given several times, calls choose among them by name [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionFlags,

    /// Ask nobody: what would be a question is refused
    #[arg(long, help_heading = "Questions")]
    pub(crate) ask_nobody: bool,

    /// How long an answer is waited for; silence is a no [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Questions")]
    pub(crate) ask_timeout: Option<Duration>,

    /// Tell a refusal as plain text instead of an error: for clients that drop a server after a few errors (Hermes)
    #[arg(long)]
    pub(crate) refusals_as_text: bool,

    /// Tell what tools answer as data too; some clients show a model only the data then
    #[arg(long)]
    pub(crate) structured: bool,

    /// Write in the whole folder, whatever roots the client names
    #[arg(long)]
    pub(crate) ignore_roots: bool,
}
