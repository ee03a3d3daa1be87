//! Arguments of `pinfold mcp`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use pinfold::policy::{ArgumentKind, Shape};
use pinfold_mcp::KnownArgument;

use super::{Feature, SessionFlags, SettingsFlags, parse_time};

/// Speak the Model Context Protocol: offer the tools of pinfold to an agent, or proxy a third-party server
///
/// Every call takes the same pipeline as those of `pinfold call`: rules, modes, approvals, the audit log.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) what: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    Serve(Box<McpServe>),
    Proxy(Box<McpProxy>),
    Login(Box<McpLogin>),
    Logout(McpLogout),
    /// List the servers where you are logged in
    Logins {
        /// As JSON, without a token
        #[arg(long)]
        json: bool,
    },
    /// Stand for a server that is reached over HTTP: what `proxy --url` starts, with its own words
    #[command(hide = true)]
    Reach(Box<McpProxy>),
}

/// A name and a variable; whether the name can be that of a header is seen later.
fn parse_header(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, variable)| !name.is_empty() && !variable.is_empty());
    let (name, variable) = parts.ok_or("write NAME=VARIABLE: values do not stand on a command line")?;
    Ok((name.to_owned(), variable.to_owned()))
}

/// Offer the tools as an MCP server, on standard input and output or over HTTP
///
/// Nothing is opened before the first call. Approval requests go through the client, where it supports elicitation;
/// else to approvers elsewhere; else the call is refused.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  claude mcp add pinfold -- pinfold mcp serve\n  pinfold mcp serve --folder ~/work/site --folder ~/work/shared --allow-bash\n  pinfold mcp serve --http --token-file ~/.local/state/pinfold/mcp/token"
)]
pub(crate) struct McpServe {
    /// A folder that can be written; given several times, calls choose among them by name [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionFlags,

    #[command(flatten)]
    pub(crate) client: ClientFlags,

    /// Return results as structured content too; some clients then show a model only that
    #[arg(long)]
    pub(crate) structured: bool,

    /// Write in the whole folder, whatever roots the client names
    #[arg(long)]
    pub(crate) ignore_roots: bool,

    #[command(flatten)]
    pub(crate) over_http: HttpFlags,
}

/// Flags of a server over HTTP.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Over HTTP")]
pub(crate) struct HttpFlags {
    /// Serve over HTTP instead, on a port of this machine, or on one of its addresses [default: 7463]
    #[arg(long, value_name = "[ADDR:]PORT", num_args = 0..=1, default_missing_value = "7463", value_parser = ListenAddress::parse)]
    pub(crate) http: Option<ListenAddress>,

    /// The file of the bearer token that clients send, made where there is none [default: a token for this start]
    #[arg(long, value_name = "FILE", requires = "http", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,

    /// A name by which clients reach it from elsewhere, as they say it
    #[arg(long, value_name = "HOST[:PORT]", requires = "http")]
    pub(crate) http_host: Vec<String>,

    /// Listen also on addresses that other machines reach: all traffic, the token too, is unencrypted there
    #[arg(long, requires = "http")]
    pub(crate) beyond_this_machine: bool,
}

/// Address to listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A port on both loopback addresses.
    Here(u16),
    /// One address.
    At(SocketAddr),
}

impl ListenAddress {
    fn parse(text: &str) -> Result<Self, String> {
        let here = text.parse().map(Self::Here);
        here.or_else(|_| text.parse().map(Self::At))
            .map_err(|_| format!("`{text}` is no port and no address: write 7463 or 127.0.0.1:7463"))
    }
}

/// Flags about questions to a client.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClientFlags {
    /// No approver: what needs approval is refused
    #[arg(long, alias = "ask-nobody", help_heading = "Questions")]
    pub(crate) no_ask: bool,

    /// Time to wait for an answer; silence is a no [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Questions")]
    pub(crate) ask_timeout: Option<Duration>,

    /// Tell a refusal as plain text instead of an error: for clients that drop a server after a few errors (Hermes)
    #[arg(long)]
    pub(crate) refusals_as_text: bool,
}

/// Proxy a third-party MCP server, on standard input and output
///
/// Each call of a tool is judged with its arguments, as `mcp__NAME__tool`; everything else passes as it comes. The server
/// is started as by `pinfold run`: it writes in the folder, and reaches the hosts that are allowed. What its tools are is
/// pinned when it is used first: a tool that is new or has changed needs approval.
///
/// Exit code: 0 when the client has ended, 1 when the server has, 125 to 127 when the server could not be started.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  claude mcp add files -- pinfold mcp proxy --name files -- mcp-server-filesystem .\n  pinfold mcp proxy --name github --allow-host api.github.com --env GITHUB_TOKEN -- github-mcp-server stdio\n  pinfold mcp proxy --name docs --url https://mcp.example.org/mcp --header-env Authorization=DOCS_AUTHORIZATION\n  pinfold mcp proxy --config servers.json"
)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct McpProxy {
    /// Name of the server in rules [default: the name of its program or host]
    #[arg(long, value_name = "NAME", value_parser = parse_server)]
    pub(crate) name: Option<String>,

    /// Several servers, as a file lists them under `mcpServers`; other options are for all of them, and those under
    /// `pinfold` for one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["name", "command"])]
    pub(crate) config: Option<PathBuf>,

    /// A server that runs already, by its address, instead of one that is started
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "command"])]
    pub(crate) url: Option<String>,

    /// A header for it, whose value is that of a variable of the environment: `Authorization=MY_VARIABLE`
    #[arg(long, value_name = "NAME=VARIABLE", requires = "url", value_parser = parse_header)]
    pub(crate) header_env: Vec<(String, String)>,

    /// The folder that the server can write, and starts in [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Grant the folder that --folder names although it is a home directory, lies above one, or holds programs of the PATH
    #[arg(long, requires = "folder")]
    pub(crate) allow_home: bool,

    /// Another folder that it can write
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,

    /// The server can write only a private /tmp
    #[arg(long)]
    pub(crate) read_only: bool,

    /// Credentials that it can read all the same
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) allow_read: Vec<PathBuf>,

    /// A host that it can reach, as for `pinfold run`; with --url an address nearby that its name may lead to
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) allow_host: Vec<String>,

    /// Pass it a variable that would be held back (NAME), or set one (NAME=VALUE)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,

    /// Allow a kernel feature that is blocked by default, to the server
    #[arg(long, alias = "open", value_name = "FEATURE", value_enum)]
    pub(crate) allow_feature: Vec<Feature>,

    /// Start it even where this machine can hold less; says what is not held
    #[arg(long)]
    pub(crate) allow_degraded: bool,

    #[command(flatten)]
    pub(crate) settings: SettingsFlags,

    /// Read no settings files: rules and modes come from the flags alone
    #[arg(long)]
    pub(crate) no_settings: bool,

    /// Write no audit log
    #[arg(long, hide_short_help = true)]
    pub(crate) no_record: bool,

    #[command(flatten)]
    pub(crate) client: ClientFlags,

    /// Kind of an argument of a tool (of all tools, where none is named), `path` or `text`, where its name and its schema
    /// do not say it
    #[arg(long, value_name = "[TOOL:]NAME=KIND", value_parser = parse_argument)]
    pub(crate) argument: Vec<KnownArgument>,

    /// Pin the definitions that the server's tools have now
    #[arg(long)]
    pub(crate) repin: bool,

    /// The server and its arguments
    #[arg(required_unless_present_any = ["config", "url"], last = true, value_name = "SERVER", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Log in to an MCP server over HTTP, in your browser
///
/// The server names its authorization server (OAuth 2.1), where you consent in the browser. The tokens are stored where no
/// agent reads them, refreshed automatically, and sent by `pinfold mcp proxy --url` to that server alone.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  pinfold mcp login https://mcp.example.org/mcp\n  pinfold mcp login https://mcp.example.org/mcp --client-id ID --client-secret-env SECRET --port 8765"
)]
pub(crate) struct McpLogin {
    /// The server, as it stands behind `proxy --url`
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// The scope to request, in place of the one that the server asks for
    #[arg(long, value_name = "SCOPES")]
    pub(crate) scope: Option<String>,

    /// The client ID of a client that you have registered, in place of dynamic registration
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,

    /// The environment variable that holds the client secret
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    pub(crate) client_secret_env: Option<String>,

    /// The port of the redirect URI on this machine [default: one that is free]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,

    /// Do not open a browser: only print the URL
    #[arg(long)]
    pub(crate) no_browser: bool,

    #[command(flatten)]
    pub(crate) going: Going,
}

/// Log out: remove the tokens, and revoke them where the server supports it
#[derive(Debug, Args)]
pub(crate) struct McpLogout {
    /// The server, as it stands behind `proxy --url`
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    #[command(flatten)]
    pub(crate) going: Going,
}

/// Hosts that may be reached.
#[derive(Debug, Args)]
pub(crate) struct Going {
    /// A host that may be contacted for the login, besides the server; others need approval
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) allow_host: Vec<String>,

    /// The folder whose settings deny hosts [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: SettingsFlags,

    /// Read no settings files
    #[arg(long)]
    pub(crate) no_settings: bool,
}

/// `TOOL:NAME=path`; what stands in another is written `OUTER.NAME`.
fn parse_argument(text: &str) -> Result<KnownArgument, String> {
    let form = || "write it as `NAME=path`, `NAME=text` or `TOOL:NAME=path`".to_owned();
    let (name, kind) = text.rsplit_once('=').ok_or_else(form)?;
    let kind = ArgumentKind::parse(kind).ok_or_else(form)?;
    let (tool, name) = name.split_once(':').map_or((None, name), |(tool, name)| (Some(tool), name));
    if tool.is_some_and(str::is_empty) || name.split('.').any(str::is_empty) {
        return Err(form());
    }
    let shape = name.rsplit('.').fold(Shape::Kind(kind), |inner, name| Shape::field(name, inner));
    Ok(KnownArgument { tool: tool.map(str::to_owned), shape })
}

/// A name that stands in rules: `mcp__NAME__tool` has to come apart in one way.
fn parse_server(name: &str) -> Result<String, String> {
    if is_server(name) {
        return Ok(name.to_owned());
    }
    Err("a name has letters, digits, `.`, `-` and single `_` inside".to_owned())
}

/// Returns whether rules can name a server so.
pub(crate) fn is_server(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 64
        && name.chars().all(plain)
        && ends(name.chars().next())
        && ends(name.chars().next_back())
        && !name.contains("__")
}
