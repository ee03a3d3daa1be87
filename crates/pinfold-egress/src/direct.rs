//! Transparent connections: every address is local inside, so that a connection to any address arrives here, and its local
//! address tells which host it is for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connection::{Peeked, peek, relay_connection};
use crate::http;
use crate::permitted::Slot;
use crate::policy::{ConnectMethod, ConnectRefusal, ConnectRequest};
use crate::sniff::{self, Sniffed};
use crate::splice::reset;
use crate::state::{ConnectError, RelayState};

/// The time in which a refused client has to show that it speaks HTTP, and can be sent a message.
const SNIFF_REFUSED: Duration = Duration::from_secs(2);

/// Serves one connection.
pub(crate) async fn serve(state: &Arc<RelayState>, inside: TcpStream, source: SocketAddr, slot: &Slot) {
    let Ok(target) = inside.local_addr() else { return };
    let request = ConnectRequest {
        host: state.host_at(target.ip()),
        port: target.port(),
        method: ConnectMethod::Direct,
        source_port: source.port(),
    };
    match state.connect(request, slot).await {
        Ok(upstream) => relay_connection(state, inside, Bytes::new(), upstream).await,
        Err(ConnectError::Refused(refusal)) => Box::pin(refuse(state, inside, refusal)).await,
        Err(ConnectError::Unreachable(_)) => reset(&inside),
    }
}

/// Refuses a connection: with a response where the client speaks HTTP, otherwise with a reset.
async fn refuse(state: &RelayState, inside: TcpStream, refusal: ConnectRefusal) {
    let mut bytes = Vec::new();
    let speaks_http = async {
        loop {
            inside.readable().await.ok()?;
            match peek(&inside, &[], &mut bytes).ok()? {
                Peeked::EndWithoutBytes => return None,
                Peeked::Bytes => {}
                Peeked::Nothing => continue,
            }
            match sniff::sniff(&bytes, 0) {
                Sniffed::Http => return Some(()),
                Sniffed::Incomplete => tokio::time::sleep(Duration::from_millis(5)).await,
                Sniffed::Tls(_)
                | Sniffed::Http2
                | Sniffed::UnfinishedLine
                | Sniffed::Other
                | Sniffed::Malformed => return None,
            }
        }
    };
    match timeout(SNIFF_REFUSED, speaks_http).await {
        Ok(Some(())) => http::refuse_all(state.limits.hello, inside, &refusal).await,
        Ok(None) | Err(_) => reset(&inside),
    }
}
