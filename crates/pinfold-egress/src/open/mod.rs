//! Connections that are opened: to the few hosts of which a secret is put in, and to no others.
//!
//! Inside, the host is played under an authority that only this run believes. Outside, the host has to prove who it is, as
//! to any client. What goes between them is requests, each for this very host.

mod authority;
mod echo;
mod fragment;
mod vault;

use std::sync::Arc;

use hyper_util::rt::TokioIo;
use pinfold_host::Host;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::doorkeeper::Ask;
use crate::http;
use crate::relay::Shared;
use crate::tls;

pub use authority::Authority;
pub use vault::{Secret, Vault};

/// Serves the requests of one connection, with the secrets that belong into them.
pub(crate) async fn serve(
    shared: &Arc<Shared>,
    vault: &Vault,
    ask: &Ask,
    inside: TcpStream,
    host: TcpStream,
) {
    let Host::Name(name) = &ask.host else { return };
    let Ok(config) = vault.played(name) else { return };
    // First who the host is: nothing is said to a stranger.
    let host = timeout(shared.limits.hello, tls::handshake(vault.verifying(), &ask.host, host)).await;
    let inside = timeout(shared.limits.hello, TlsAcceptor::from(config).accept(inside)).await;
    let Ok(Ok(inside)) = inside else { return };
    match host {
        Ok(Ok(host)) => {
            let fill = |request: &mut _| vault.fill(ask, request);
            http::serve_with(shared, ask, inside, host, fill, |said| vault.cleaned(said)).await;
        }
        Ok(Err(why)) => {
            http::answer_all(shared.limits.hello, TokioIo::new(inside), &why).await;
        }
        Err(_) => {
            http::answer_all(shared.limits.hello, TokioIo::new(inside), "it did not speak TLS in time").await;
        }
    }
}
