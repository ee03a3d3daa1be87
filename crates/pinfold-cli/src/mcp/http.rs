//! The server over HTTP: where it listens, and the token that clients have to say.

mod token;

use std::io;
use std::net::{IpAddr, TcpListener};
use std::process::ExitCode;

use pinfold_mcp::{Authenticator, PATH, Server, serve_http};
use pinfold_net::{bind, bind_loopback};

use crate::args::{HttpFlags, ListenAddress};
use crate::env;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output::{self, warn};
use token::Token;

pub(super) fn serve(server: &Server, place: ListenAddress, wanted: &HttpFlags) -> Result<ExitCode, Failure> {
    if env::is_inside_another() {
        return Err(Failure::new(REFUSED, "nothing is served from inside a run").mend("say it outside"));
    }
    let here_alone = match place {
        ListenAddress::Here(_) => true,
        ListenAddress::At(address) => address.ip().is_loopback(),
    };
    if !here_alone && !wanted.beyond_this_machine {
        return Err(Failure::new(USAGE, "others than this machine could connect there").mend(
            "give a port alone; with --beyond-this-machine all that is said, the token too, goes over the network unencrypted",
        ));
    }
    let failed = |e: io::Error| Failure::new(FAILED, format!("nothing can be served there: {e}"));
    let ended = env::ended().map_err(failed)?;
    let listeners = listeners(place).map_err(failed)?;
    let address =
        listeners.first().ok_or(io::ErrorKind::AddrNotAvailable.into()).and_then(TcpListener::local_addr);
    let address = address.map_err(failed)?;
    let token = Token::load(wanted.token_file.as_deref(), address.port())?;
    let authenticator = Authenticator {
        port: address.port(),
        names: names(wanted, address.ip(), address.port()),
        loopback_only: here_alone,
        token_matches: token.knows(),
    };
    if !here_alone {
        warn("all that is said here goes over the network unencrypted, the token too");
    }
    // An address that means all of them leads nowhere.
    output::out(&format!("http://{address}{PATH}\n"))?;
    warn(token.describe_location());
    serve_http(server, listeners, authenticator, ended).map_err(failed)?;
    Ok(ExitCode::from(DONE))
}

fn listeners(place: ListenAddress) -> io::Result<Vec<TcpListener>> {
    match place {
        ListenAddress::Here(port) => bind_loopback(Some(port).filter(|port| *port != 0)),
        ListenAddress::At(address) => Ok(vec![bind(address)?]),
    }
}

/// The names that lead here beside those of this machine: the address itself, and those that were named.
fn names(wanted: &HttpFlags, address: IpAddr, port: u16) -> Vec<String> {
    let address = match address {
        IpAddr::V4(address) => format!("{address}:{port}"),
        IpAddr::V6(address) => format!("[{address}]:{port}"),
    };
    wanted.http_host.iter().cloned().chain([address]).collect()
}
