//! A server behind `pinfold mcp proxy --url`: reached by a process of our own, where rules let its host be reached.

use std::process::{Command, ExitCode};
use std::sync::Arc;

use pinfold::policy::host::{Host, Hosts, Reach, Scheme, WebUrl};
use pinfold::policy::settings::Flags;
use pinfold::settings::Locations;
use pinfold_mcp::{Exchange, HeaderMap, HeaderName, HeaderValue, may_be_said};

use crate::args::McpProxy;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::{say, settings, surroundings};

/// What stands for the server: this program, with the same words. That the host may be reached is seen now, where a person
/// may read why not.
pub(super) fn command(url: &str, wanted: &McpProxy) -> Result<Command, Failure> {
    hosts(&parsed(url)?, wanted)?;
    headers(wanted)?;
    let mut command = Command::new(surroundings::OWN_PROGRAM);
    command.args(["mcp", "reach"]).args(surroundings::words_after("proxy"));
    Ok(command)
}

pub(super) fn reach(wanted: &McpProxy) -> Result<ExitCode, Failure> {
    let url = wanted.url.as_deref().ok_or_else(|| Failure::new(USAGE, "it has no address"))?;
    let url = parsed(url)?;
    let hosts = hosts(&url, wanted)?;
    let headers = headers(wanted)?;
    let exchange = Exchange::new(url, Arc::new(hosts), None).map_err(|why| Failure::new(FAILED, why))?;
    pinfold_mcp::reach(exchange, headers)
        .map_err(|e| Failure::new(FAILED, format!("the server cannot be spoken to: {e}")))?;
    Ok(ExitCode::from(DONE))
}

/// An address to which a secret may be said: over TLS, or on this machine.
fn parsed(text: &str) -> Result<WebUrl, Failure> {
    let unusable = |why: &str| {
        let shown = say::visible(text);
        Failure::new(USAGE, format!("the server at `{shown}` cannot be reached: {why}"))
    };
    let url = WebUrl::parse(text).map_err(|found| unusable(&format!("this is {found}")))?;
    let is_here = matches!(url.host(), Host::Address(address) if address.is_loopback());
    if url.scheme() == Scheme::Http && !is_here {
        return Err(unusable("all that is said would go there unencrypted")
            .mend("write https, or an address of this machine (http://127.0.0.1:PORT/PATH)"));
    }
    Ok(url)
}

/// What settings and the command line say about hosts. The host that was named is allowed as that name at that port; what
/// a rule denies stays denied.
fn hosts(url: &WebUrl, wanted: &McpProxy) -> Result<Hosts, Failure> {
    let locations = if wanted.no_settings {
        Locations::default()
    } else {
        settings::locations(wanted.folder.as_deref())?
    };
    let named = match url.host() {
        Host::Address(address) if address.is_ipv6() => format!("[{address}]:{}", url.port()),
        host => format!("{host}:{}", url.port()),
    };
    let allow_host = wanted.allow_host.iter().cloned().chain([named.clone()]).collect();
    let flags = Flags { allow_host, ..wanted.settings.flags(&[], false) };
    let merged = settings::read(&locations, &flags)?.merged;
    let hosts = Hosts::new(&merged.network, &merged.rules).map_err(|e| Failure::new(USAGE, e.to_string()))?;
    let why = match hosts.host(url.host(), url.port()) {
        Reach::Allowed(_) => return Ok(hosts),
        Reach::Denied(rule) => format!("the rule `{}` denies it", rule.value),
        Reach::Asked(rule) => format!(
            "the rule `{}` has somebody asked, and nobody can be asked before it is reached",
            rule.value
        ),
        Reach::Unnamed => "the settings let nobody allow it here".to_owned(),
    };
    Err(Failure::new(REFUSED, format!("{named} is not reached: {why}")))
}

/// What is said to the server, from the environment.
fn headers(wanted: &McpProxy) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, variable) in &wanted.header_env {
        let bad = |why: &str| Failure::new(USAGE, format!("--header-env {}: {why}", say::visible(name)));
        let header = HeaderName::from_bytes(name.as_bytes()).ok().filter(may_be_said);
        let header = header.ok_or_else(|| bad("no such header can be said"))?;
        let value = surroundings::variable(variable).ok_or_else(|| bad("the variable is not set"))?;
        let mut value = HeaderValue::from_bytes(value.as_encoded_bytes())
            .map_err(|_| bad("the value of the variable cannot stand in a header"))?;
        value.set_sensitive(true);
        headers.append(header, value);
    }
    Ok(headers)
}
