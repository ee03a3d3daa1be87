//! A server that is reached over HTTP, as one that is spoken to in lines: what a proxy starts in place of a server.
//!
//! Lines come in and are posted as they are; what is answered, in one piece or as a stream of events, goes out as lines.
//! Nothing is judged here: that was done by whoever stands before it, and where the host may lead by its map.

mod heads;
mod held;
mod talk;
mod words;

use std::io::{self, BufReader};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderName};
use pinfold_egress::OriginClient;
use pinfold_login::RefreshableLogin;
use tokio::sync::mpsc::{self, Sender};

use crate::wire::frame::{Id, LONGEST, Line, Lines};
use talk::Talk;

/// Lines that may wait while one is being sent.
const AHEAD: usize = 16;

/// How long what was asked is waited for when nobody asks any more: less than whoever started this waits for its end.
const REST: Duration = Duration::from_secs(3);

/// Whether a person may say this header: not those that say how a message is to be read, or whose it is.
pub fn may_be_said(name: &HeaderName) -> bool {
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
    !READING.contains(name) && !heads::OURS.contains(name)
}

/// Stands for a server that is reached over HTTP, on standard input and output, until the input ends. `said`: what is said
/// above each request; `login`: the person's there.
///
/// # Errors
/// When the streams cannot be used.
pub fn reach(exchange: OriginClient, said: HeaderMap, login: Option<RefreshableLogin>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (to, mut lines) = mpsc::channel(AHEAD);
    thread::Builder::new().name("pinfold-lines".into()).spawn(move || listen(&to))?;
    runtime.block_on(async {
        let talk = Arc::new(Talk::new(exchange, said, login));
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(Line::Whole(line)) => talk.heard(line).await,
                    Some(Line::TooLong(id)) => talk.too_long(id).await,
                    None => break,
                },
                () = talk.gone() => return,
            }
        }
        let _ = tokio::time::timeout(REST, talk.ends()).await;
    });
    // A write to somebody who does not read is not waited for.
    runtime.shutdown_background();
    Ok(())
}

/// Reads to the end of what is said.
fn listen(to: &Sender<Line>) {
    let mut lines = Lines::new(BufReader::with_capacity(1 << 16, io::stdin()));
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

/// Why a message was not sent that has more than a line may have.
fn too_long(id: &Id) -> Vec<u8> {
    failed(id, &format!("a message of more than {} MiB is not sent", LONGEST >> 20))
}

/// An error of ours, as the answer to a request.
fn failed(id: &Id, why: &str) -> Vec<u8> {
    let message = serde_json::Value::from(why);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":{message}}}}}"#).into_bytes()
}
