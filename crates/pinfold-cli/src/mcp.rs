//! `pinfold mcp`: the Model Context Protocol as a way in.

mod host_policy;
mod http;
mod login;
mod remote_server;
mod server_list;
mod server_process;
mod session_factory;

use std::process::ExitCode;
use std::sync::Arc;

use pinfold_mcp::{Server, ServerOptions, SessionOpener as _};

use crate::args::{Mcp, McpCommand, McpServe};
use crate::env;
use crate::exit::{DONE, FAILED, Failure, USAGE};
use session_factory::SessionFactory;

pub(crate) fn mcp(wanted: &Mcp) -> Result<ExitCode, Failure> {
    match &wanted.what {
        McpCommand::Serve(wanted) => serve(wanted),
        McpCommand::Proxy(wanted) => match &wanted.config {
            Some(file) => server_list::proxy(file),
            None => server_process::proxy(wanted),
        },
        McpCommand::Login(wanted) => login::login(wanted),
        McpCommand::Logout(wanted) => login::logout(wanted),
        McpCommand::Logins { json } => login::list(*json),
        McpCommand::Reach(wanted) => remote_server::reach(wanted),
    }
}

fn serve(wanted: &McpServe) -> Result<ExitCode, Failure> {
    let house = SessionFactory::from_serve_args(wanted)?;
    // Settings that cannot be used are told now, where a person may see it.
    house.visible().map(drop).map_err(|why| Failure::new(USAGE, why))?;
    let manner = ServerOptions {
        refusals_as_text: wanted.client.refusals_as_text,
        structured: wanted.structured,
        ignore_roots: wanted.ignore_roots,
    };
    let server = Server::new(Arc::new(house), manner);
    if let Some(place) = wanted.over_http.http {
        return http::serve(&server, place, &wanted.over_http);
    }
    env::ended()
        .and_then(|ended| pinfold_mcp::serve_stdio(&server, ended))
        .map_err(|e| Failure::new(FAILED, format!("the client cannot be served: {e}")))?;
    Ok(ExitCode::from(DONE))
}
