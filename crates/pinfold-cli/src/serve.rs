//! `pinfold serve`: what `call --lines` and `check` do, for programs that connect to a socket.
//!
//! Promise: only processes of the user are accepted, and none that is confined or was started from here; each connection
//! has a session of its own, and a client that is slow, malformed or gone takes nothing from the others.

mod calls;
mod wire;

use std::io::{self, BufReader, Read as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pinfold_approvals::socket::{JsonLines, NamedSocket, NamedSocketError, Peer, PeerListener, PeerRejected};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{Judging, Serve};
use crate::check::{lines, service::check_service};
use crate::env;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output;
use crate::session::{self, SessionOptions};

/// Most connections at a time: each is a thread and a session.
const MAX_CONNECTED: usize = 64;
/// Time that the first line may take.
const HURRY: Duration = Duration::from_secs(5);
/// Time that a client may read nothing of what it is sent.
const STUCK: Duration = Duration::from_mins(1);
/// The longest first line.
const MAX_HELLO_LEN: u64 = 4 << 10;
/// The version of what is said.
const VERSION: u32 = 1;

/// State that all connections share.
struct ServeState {
    wish: SessionOptions,
    folder: PathBuf,
    judging: Judging,
    no_ask: bool,
    timeout: Option<Duration>,
    /// Connections are no longer waited for.
    closing: AtomicBool,
}

/// The first line of a connection.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    v: u32,
    #[serde(rename = "as")]
    role: Role,
    /// The client answers questions about its calls itself.
    #[serde(default)]
    asks: bool,
}

#[derive(Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Role {
    Call,
    Check,
}

pub(crate) fn run(wanted: &Serve) -> Result<ExitCode, Failure> {
    if env::is_inside_another() {
        return Err(Failure::new(REFUSED, "nothing is served from inside a run").mend("say it outside"));
    }
    let state = Arc::new(state(wanted)?);
    // Settings that cannot be used are told now and not to the first who comes.
    session::view(&state.wish)?;
    let path = output::path(&wanted.socket);
    let (_named, listener) = NamedSocket::listen(&wanted.socket).map_err(|why| {
        let code = if matches!(why, NamedSocketError::Io(_)) { FAILED } else { USAGE };
        Failure::new(code, format!("{path}: {why}"))
    })?;
    let failed = |e: io::Error| Failure::new(FAILED, format!("{path}: {e}"));
    let mut ended = env::ended().map_err(failed)?;
    let guests = Arc::clone(&state);
    let listener = PeerListener::open(listener, "serve", MAX_CONNECTED, move |stream, who| {
        // Its end, whatever it is, is the end of this connection and of nothing else.
        let _ = guests.talk(stream, who);
    });
    let listener = listener.map_err(failed)?;
    output::out(&format!("{path}\n"))?;
    // A byte for each signal.
    let _ = ended.read(&mut [0]);
    state.closing.store(true, Ordering::SeqCst);
    drop(listener);
    Ok(ExitCode::from(DONE))
}

fn state(wanted: &Serve) -> Result<ServeState, Failure> {
    let here = env::current_dir()?;
    let named = wanted.folder.as_ref().map_or_else(|| here.clone(), |folder| here.join(folder));
    let folder = named.canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
        let shown = output::path(&named);
        Failure::new(USAGE, format!("not a directory: `{shown}`")).mend("name an existing folder")
    })?;
    let flags = &wanted.session;
    let judging = Judging {
        folder: wanted.folder.clone(),
        add_dir: flags.add_dir.clone(),
        settings: flags.settings.clone(),
        no_settings: flags.no_settings,
        headless: false,
        allow_bash: flags.allow_bash,
    };
    let wish = SessionOptions {
        kind: "serve",
        folder: wanted.folder.clone(),
        within: None,
        flags: flags.clone(),
        headless_alone: false,
    };
    let (no_ask, timeout) = (wanted.no_ask, wanted.ask_timeout);
    Ok(ServeState { wish, folder, judging, no_ask, timeout, closing: AtomicBool::new(false) })
}

impl ServeState {
    fn talk(&self, stream: &UnixStream, who: Result<Peer, PeerRejected>) -> io::Result<()> {
        let mut frames = JsonLines::new(stream.try_clone()?, MAX_HELLO_LEN)?;
        let peer = match who {
            Ok(peer) => peer,
            Err(turned) => return frames.write(&error(&turned.to_string())),
        };
        let hello: Hello = match frames.read_within(HURRY) {
            Ok(Some(hello)) => hello,
            Ok(None) => return Ok(()),
            Err(unclear) => return frames.write(&error(&format!("not understood: {unclear}"))),
        };
        if hello.v != VERSION {
            return frames.write(&error(&format!(
                "protocol version {} is not supported: this is version {VERSION}",
                hello.v
            )));
        }
        if hello.role == Role::Check && hello.asks {
            return frames.write(&error("a check asks no approver: leave `asks` out"));
        }
        stream.set_write_timeout(Some(STUCK))?;
        match hello.role {
            Role::Check => self.check(frames, stream),
            Role::Call => self.calls(frames, stream, hello.asks.then_some(peer)),
        }
    }

    fn greet(&self, role: Role, session: Option<&str>) -> Value {
        let pid = std::process::id();
        json!({"hello": {"v": VERSION, "as": role, "folder": self.folder, "session": session, "pid": pid}})
    }

    fn check(&self, mut frames: JsonLines, stream: &UnixStream) -> io::Result<()> {
        let mut service = match check_service(&self.judging) {
            Ok(service) => service,
            Err(failure) => return frames.write(&error(&failure.to_single_line())),
        };
        frames.write(&self.greet(Role::Check, None))?;
        lines::stream(&mut service, frames.into_reader(), io::BufWriter::new(stream)).map(drop)
    }
}

/// Returns the message that ends a connection, or that replaces the answer to one line.
fn error(message: &str) -> Value {
    json!({"id": null, "error": message})
}

/// The lines of a client.
type Lines = BufReader<UnixStream>;
