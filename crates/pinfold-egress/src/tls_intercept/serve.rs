//! One intercepted connection.

use std::sync::Arc;

use hyper_util::rt::TokioIo;
use pinfold_host::Host;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::injector::SecretInjector;
use crate::http;
use crate::permitted::PermittedConnection;
use crate::state::RelayState;
use crate::tls;

/// Serves the requests of one connection, with the secrets for its host injected.
pub(crate) async fn serve(
    state: &Arc<RelayState>,
    injector: &SecretInjector,
    inside: TcpStream,
    upstream: PermittedConnection,
) {
    let request = &upstream.request().clone();
    let Host::Name(name) = &request.host else { return };
    let Ok(config) = injector.server_config(name) else { return };
    let hello = state.limits.hello;
    // The host is verified first: nothing is sent to an unverified one.
    let upstream =
        timeout(hello, tls::handshake(injector.client_config(), &request.host, upstream.into_stream())).await;
    let inside = timeout(hello, TlsAcceptor::from(config).accept(inside)).await;
    let Ok(Ok(inside)) = inside else { return };
    match upstream {
        Ok(Ok(upstream)) => {
            let inject = |http_request: &mut _| injector.inject(request, http_request);
            http::serve_with(state, request, inside, upstream, inject, |response| injector.redact(response))
                .await;
        }
        Ok(Err(why)) => http::answer_unreachable(hello, TokioIo::new(inside), &why).await,
        Err(_) => {
            let why = "the TLS handshake with the host timed out";
            http::answer_unreachable(hello, TokioIo::new(inside), why).await;
        }
    }
}
