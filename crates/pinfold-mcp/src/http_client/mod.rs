//! An MCP client over streamable HTTP, as a process that speaks lines: a proxy starts it in place of a server.
//!
//! Lines are posted unchanged; responses, single or as event streams, are written as lines. The proxy in front judges,
//! and the address policy decides where the host may resolve to.

mod buffer_limit;
mod connection;
mod errors;
mod headers;

use std::io::{self, BufReader};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderName};
use pinfold_egress::OriginClient;
use pinfold_login::RefreshableLogin;
use tokio::sync::mpsc::{self, Sender};

use crate::wire::frame::{Id, LineReader, MAX_FRAME_BYTES, WireLine};
use connection::ServerConnection;

/// Lines that may queue while one is sent.
const AHEAD: usize = 16;

/// The time for which responses are awaited after the end of input: less than the parent waits for the end.
const REST: Duration = Duration::from_secs(3);

/// Returns whether a user may set a header: not those of message framing or of this client.
pub fn is_settable_header(name: &HeaderName) -> bool {
    use hyper::header as h;
    const READING: [HeaderName; 8] = [
        h::HOST,
        h::CONTENT_TYPE,
        h::CONTENT_LENGTH,
        h::TRANSFER_ENCODING,
        h::CONNECTION,
        h::ACCEPT,
        h::ACCEPT_ENCODING,
        h::UPGRADE,
    ];
    !READING.contains(name) && !headers::OURS.contains(name)
}

/// Connects standard input and output to a server over HTTP, until the input ends. `headers`: added to each request;
/// `login`: the user's login there.
///
/// # Errors
/// When the streams cannot be used.
pub fn run_http_client(
    exchange: OriginClient,
    said: HeaderMap,
    login: Option<RefreshableLogin>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (to, mut lines) = mpsc::channel(AHEAD);
    thread::Builder::new().name("pinfold-lines".into()).spawn(move || listen(&to))?;
    runtime.block_on(async {
        let talk = Arc::new(ServerConnection::new(exchange, said, login));
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(WireLine::Whole(line)) => talk.handle_message(line).await,
                    Some(WireLine::TooLong(id)) => talk.too_long(id).await,
                    None => break,
                },
                () = talk.gone() => return,
            }
        }
        let _ = tokio::time::timeout(REST, talk.ends()).await;
    });
    // A write to a client that does not read is not waited for.
    runtime.shutdown_background();
    Ok(())
}

/// Reads the input to its end.
fn listen(to: &Sender<WireLine>) {
    let mut lines = LineReader::new(BufReader::with_capacity(1 << 16, io::stdin()));
    loop {
        match lines.next() {
            Ok(Some(line)) => {
                if to.blocking_send(line).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(None) | Err(_) => return,
        }
    }
}

/// The error for a message that is longer than a line may be.
fn too_long(id: &Id) -> Vec<u8> {
    failed(id, &format!("a message of more than {} MiB is not sent", MAX_FRAME_BYTES >> 20))
}

/// An error response of this client.
fn failed(id: &Id, why: &str) -> Vec<u8> {
    let message = serde_json::Value::from(why);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":{message}}}}}"#).into_bytes()
}
