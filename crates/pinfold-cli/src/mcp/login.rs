//! `pinfold mcp login`, `logout` and `logins`: who the person is at servers of others.

use std::io::{self, IsTerminal as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use pinfold_login::{Endpoint, Login, LoginError, LoginOptions, LoginUser, PreRegisteredClient, TokenStore};
use pinfold_mcp::OriginClient;
use serde_json::json;

use super::host_policy::{self, HostConnector};
use crate::args::{McpLogin, McpLogout};
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output::{self, warn};
use crate::{env, record};

/// The logins of this person.
pub(super) fn logins() -> Result<TokenStore, Failure> {
    Ok(TokenStore::new(record::pins()?.join("logins")))
}

pub(super) fn login(wanted: &McpLogin) -> Result<ExitCode, Failure> {
    ensure_outside_run()?;
    let server = host_policy::server(&wanted.url)?;
    let way = HostConnector::from_login_args(&wanted.going)?;
    let asking = LoginHostApproval { way, server: server.clone(), question: "Log in there?" };
    let client = wanted
        .client_id
        .clone()
        .map(|id| Ok(PreRegisteredClient { id, secret: secret(wanted)? }))
        .transpose()?;
    let scope = wanted.scope.clone();
    let wish = LoginOptions { server, scope, client, port: wanted.port };
    let person: Arc<dyn LoginUser> = Arc::new(AtTerminal { opens_browser: !wanted.no_browser });
    let login = pinfold_login::login(&wish, &asking, &person).map_err(host_policy::failure)?;
    let logins = logins()?;
    logins.save(&login).map_err(host_policy::failure)?;
    warn(format_args!("logged in at {}", line(&login)));
    warn(format_args!("stored in {}, which no agent can read", output::path(logins.directory())));
    Ok(ExitCode::from(DONE))
}

pub(super) fn logout(wanted: &McpLogout) -> Result<ExitCode, Failure> {
    ensure_outside_run()?;
    let server = host_policy::server(&wanted.url)?;
    let way = HostConnector::from_login_args(&wanted.going)?;
    // The server named the place where tokens are revoked, and it may be another than the one that was agreed to.
    let asking =
        LoginHostApproval { way, server: server.clone(), question: "Send it the token, to revoke it?" };
    let (was, given_back) =
        pinfold_login::logout(&logins()?, &server, &asking).map_err(host_policy::failure)?;
    if !was {
        return Err(Failure::new(FAILED, format!("you were not logged in at {server}")));
    }
    match given_back {
        Ok(()) => warn("logged out; refresh token revoked"),
        Err(why) => {
            warn(format_args!("logged out here; the token was not revoked: {}", output::lines(&why.message)));
        }
    }
    Ok(ExitCode::from(DONE))
}

pub(super) fn list(as_json: bool) -> Result<ExitCode, Failure> {
    let all = logins()?.list().map_err(host_policy::failure)?;
    let text = if as_json {
        let all: Vec<_> = all.iter().map(login_json).collect();
        output::json_lines(&all)
    } else if all.is_empty() {
        "no logins: pinfold mcp login URL\n".to_owned()
    } else {
        all.iter().map(|login| line(login) + "\n").collect()
    };
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

fn login_json(login: &Login) -> serde_json::Value {
    json!({
        "server": login.server(),
        "issuer": login.issuer(),
        "scope": login.scope(),
        "until": login.expires_at().map(|until| until.to_string()),
        "renewed": login.is_renewable(),
    })
}

fn line(login: &Login) -> String {
    let until = match (login.is_renewable(), login.expires_at()) {
        (true, _) => "refreshed automatically".to_owned(),
        (false, Some(until)) => format!("until {until:.0}"),
        (false, None) => "no known expiry".to_owned(),
    };
    let scope = login.scope().map(|scope| format!(", for `{}`", output::visible(scope))).unwrap_or_default();
    format!("{}, by {}{scope}, {until}", login.server(), output::visible(login.issuer()))
}

/// Fails inside a run, where the stored tokens are out of sight.
fn ensure_outside_run() -> Result<(), Failure> {
    if env::is_inside_another() {
        return Err(
            Failure::new(REFUSED, "login and logout are not possible inside a run").mend("run this outside")
        );
    }
    Ok(())
}

fn secret(wanted: &McpLogin) -> Result<Option<String>, Failure> {
    let Some(variable) = &wanted.client_secret_env else { return Ok(None) };
    let value = env::variable(variable).and_then(|value| value.into_string().ok());
    value.map(Some).ok_or_else(|| {
        let variable = output::visible(variable);
        Failure::new(USAGE, format!("--client-secret-env {variable}: the variable is not set, or is no text"))
    })
}

/// Hosts that a server names are asked about, unless they are allowed.
struct LoginHostApproval {
    way: HostConnector,
    server: Endpoint,
    /// The question about what is to be done there.
    question: &'static str,
}

impl LoginHostApproval {
    fn may(&self, place: &Endpoint) -> Result<(), Failure> {
        // What is denied is not asked about.
        self.way.hosts(place)?;
        let (url, of_server) = (place.url(), self.server.url());
        if url.host() == of_server.host() || self.way.is_allowed(url)? {
            return Ok(());
        }
        let (host, server) = (url.authority(), of_server.authority());
        let question = format!("{server} uses the authorization server at {host}. {}", self.question);
        if output::agreed(&question, &format!("allow it: --allow-host {host}"))? {
            return Ok(());
        }
        Err(Failure::new(REFUSED, format!("host not allowed: {host}")))
    }
}

impl pinfold_login::Connector for LoginHostApproval {
    fn connect(&self, place: &Endpoint) -> Result<OriginClient, LoginError> {
        self.may(place).and_then(|()| self.way.exchange(place)).map_err(host_policy::trouble)
    }
}

/// The user at this terminal.
struct AtTerminal {
    opens_browser: bool,
}

impl LoginUser for AtTerminal {
    fn open_authorization_url(&self, url: &str) {
        let opened = self.opens_browser && opened(url);
        let what =
            if opened { "authorize in your browser; if none has opened, open" } else { "open in a browser" };
        warn(format_args!("{what}:\n  {url}"));
        if io::stdin().is_terminal() {
            warn("if the browser is on another machine, paste the URL that it was redirected to:");
        }
    }

    fn read_line(&self) -> Option<String> {
        if !io::stdin().is_terminal() {
            return None;
        }
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        read.is_ok_and(|read| read > 0).then_some(line)
    }
}

/// Opens the browser of the desktop, where there is one.
fn opened(url: &str) -> bool {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::variable(name).is_some());
    let mut command = Command::new("xdg-open");
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    has_desktop && command.spawn().is_ok()
}
