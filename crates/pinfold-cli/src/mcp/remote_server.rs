//! A server behind `pinfold mcp proxy --url`: reached by a process of our own, where rules let its host be reached.

use std::process::{Command, ExitCode};

use pinfold_login::{Endpoint, RefreshableLogin, TokenStore};
use pinfold_mcp::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, is_settable_header};

use super::host_policy::{self, HostConnector};
use super::login::logins;
use crate::args::McpProxy;
use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::{env, output};

/// Returns what stands for the server: this program, with the same words. That the host may be reached is seen now, where a person
/// may read why not.
pub(super) fn command(url: &str, wanted: &McpProxy) -> Result<Command, Failure> {
    let server = host_policy::server(url)?;
    HostConnector::from_proxy_args(wanted)?.hosts(&server)?;
    login(&server, wanted, &headers(wanted)?)?;
    let mut command = Command::new(env::OWN_PROGRAM);
    command.args(["mcp", "reach"]).args(env::words_after("proxy"));
    Ok(command)
}

pub(super) fn reach(wanted: &McpProxy) -> Result<ExitCode, Failure> {
    let url = wanted.url.as_deref().ok_or_else(|| Failure::new(USAGE, "it has no address"))?;
    let server = host_policy::server(url)?;
    let exchange = HostConnector::from_proxy_args(wanted)?.exchange(&server)?;
    let headers = headers(wanted)?;
    let login = login(&server, wanted, &headers)?;
    pinfold_mcp::run_http_client(exchange, headers, login)
        .map_err(|e| Failure::new(FAILED, format!("cannot connect to the server: {e}")))?;
    Ok(ExitCode::from(DONE))
}

/// The person's login there. None where they say themselves who they are, and within a run, where logins are out of sight.
fn login(
    server: &Endpoint,
    wanted: &McpProxy,
    headers: &HeaderMap,
) -> Result<Option<RefreshableLogin>, Failure> {
    let is_ours = !headers.contains_key(AUTHORIZATION) && !env::is_inside_another();
    let known = logins().ok().filter(|_| is_ours);
    let of = |logins: TokenStore| {
        let way = Box::new(HostConnector::from_proxy_args(wanted)?);
        RefreshableLogin::load(logins, server.clone(), way).map_err(host_policy::failure)
    };
    known.map(of).transpose().map(Option::flatten)
}

/// Returns the headers for the server, with values from the environment.
fn headers(wanted: &McpProxy) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, variable) in &wanted.header_env {
        let bad = |why: &str| Failure::new(USAGE, format!("--header-env {}: {why}", output::visible(name)));
        let header = HeaderName::from_bytes(name.as_bytes()).ok().filter(is_settable_header);
        let header = header.ok_or_else(|| bad("no such header can be said"))?;
        let value = env::variable(variable).ok_or_else(|| bad("the variable is not set"))?;
        let mut value = HeaderValue::from_bytes(value.as_encoded_bytes())
            .map_err(|_| bad("the value of the variable cannot stand in a header"))?;
        value.set_sensitive(true);
        headers.append(header, value);
    }
    Ok(headers)
}
