//! `pinfold mcp login`, `logout` and `logins`: who the person is at servers of others.

use std::io::{self, IsTerminal as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use pinfold_login::{KnownClient, Login, Logins, Person, Place, Trouble, Wanted};
use pinfold_mcp::Exchange;
use serde_json::json;

use super::host_policy::{self, Way};
use crate::args::{McpLogin, McpLogout};
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output::{self, warn};
use crate::{env, record};

/// The logins of this person.
pub(super) fn logins() -> Result<Logins, Failure> {
    Ok(Logins::at(record::pins()?.join("logins")))
}

pub(super) fn login(wanted: &McpLogin) -> Result<ExitCode, Failure> {
    outside()?;
    let server = host_policy::server(&wanted.url)?;
    let asking = Asking { way: Way::of_login(&wanted.going)?, server: server.clone() };
    let client =
        wanted.client_id.clone().map(|id| Ok(KnownClient { id, secret: secret(wanted)? })).transpose()?;
    let scope = wanted.scope.clone();
    let wish = Wanted { server, scope, client, port: wanted.port };
    let person: Arc<dyn Person> = Arc::new(AtTerminal { opens_browser: !wanted.no_browser });
    let login = pinfold_login::login(&wish, &asking, &person).map_err(host_policy::failure)?;
    let logins = logins()?;
    logins.keep(&login).map_err(host_policy::failure)?;
    warn(format_args!("logged in at {}", line(&login)));
    warn(format_args!(
        "kept in {}, where no agent reads it",
        output::visible(&logins.directory().display().to_string())
    ));
    Ok(ExitCode::from(DONE))
}

pub(super) fn logout(wanted: &McpLogout) -> Result<ExitCode, Failure> {
    outside()?;
    let server = host_policy::server(&wanted.url)?;
    let way = Way::of_login(&wanted.going)?;
    let (was, given_back) = pinfold_login::logout(&logins()?, &server, &way).map_err(host_policy::failure)?;
    if !was {
        return Err(Failure::new(FAILED, format!("you were not logged in at {server}")));
    }
    match given_back {
        Ok(()) => warn("logged out; token revoked"),
        Err(why) => warn(format_args!("logged out locally; revocation failed: {}", output::lines(&why.what))),
    }
    Ok(ExitCode::from(DONE))
}

pub(super) fn list(as_json: bool) -> Result<ExitCode, Failure> {
    let all = logins()?.all().map_err(host_policy::failure)?;
    let text = if as_json {
        let all: Vec<_> = all.iter().map(about).collect();
        serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
    } else if all.is_empty() {
        "no logins: pinfold mcp login URL\n".to_owned()
    } else {
        all.iter().map(|login| line(login) + "\n").collect()
    };
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

fn about(login: &Login) -> serde_json::Value {
    json!({
        "server": login.server(),
        "issuer": login.issuer(),
        "scope": login.scope(),
        "until": login.until().map(|until| until.to_string()),
        "renewed": login.is_renewable(),
    })
}

fn line(login: &Login) -> String {
    let until = match (login.is_renewable(), login.until()) {
        (true, _) => "renewed by itself".to_owned(),
        (false, Some(until)) => format!("until {until:.0}"),
        (false, None) => "until it is not taken any more".to_owned(),
    };
    let scope = login.scope().map(|scope| format!(", for `{}`", output::visible(scope))).unwrap_or_default();
    format!("{}, by {}{scope}, {until}", login.server(), output::visible(login.issuer()))
}

/// Returns what is kept is out of sight inside.
fn outside() -> Result<(), Failure> {
    if env::is_inside_another() {
        return Err(Failure::new(REFUSED, "nobody logs in or out from inside a run").mend("say it outside"));
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
struct Asking {
    way: Way,
    server: Place,
}

impl Asking {
    fn may(&self, place: &Place) -> Result<(), Failure> {
        // What is denied is not asked about.
        self.way.hosts(place)?;
        let (url, of_server) = (place.url(), self.server.url());
        if url.host() == of_server.host() || self.way.is_allowed(url)? {
            return Ok(());
        }
        let (host, server) = (url.authority(), of_server.authority());
        let question = format!("{server} sends you to {host} to log in. Is that who lets you in there?");
        if output::agreed(&question, &format!("allow it: --allow-host {host}"))? {
            return Ok(());
        }
        Err(Failure::new(REFUSED, format!("host not allowed: {host}")))
    }
}

impl pinfold_login::Way for Asking {
    fn exchange(&self, place: &Place) -> Result<Exchange, Trouble> {
        self.may(place).and_then(|()| self.way.exchange(place)).map_err(host_policy::trouble)
    }
}

/// Whoever sits here.
struct AtTerminal {
    opens_browser: bool,
}

impl Person for AtTerminal {
    fn visits(&self, url: &str) {
        let opened = self.opens_browser && opened(url);
        let what =
            if opened { "say yes in your browser; if none has opened, open" } else { "open in a browser" };
        warn(format_args!("{what}:\n  {url}"));
        if io::stdin().is_terminal() {
            warn("where the browser is on another machine, paste here the address at which it ends:");
        }
    }

    fn types(&self) -> Option<String> {
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
