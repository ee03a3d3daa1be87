//! The client of an approval socket.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use pinfold::consent::{Choice, Request};
use rustix::fs::OFlags;
use rustix::process::geteuid;

use super::json_lines::{FROM_SERVER, JsonLines};
use super::protocol::{
    ClientHello, ClientKind, ClientMessage, EventBatch, GrantSummary, ProtocolError, RequestSummary,
    ServerMessage, VERSION,
};
use super::registration;
use super::secret::AccessSecret;
use super::socket_dir::SocketDir;

/// The time limit for a reply: the server is on this machine and does not wait for an approver.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);
/// The time without a heartbeat after which the server counts as gone.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(30);

/// Reason why a process could not be queried.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalClientError {
    /// The connection failed.
    #[error("`{name}` cannot be reached: {error}")]
    Io {
        /// The name of its socket.
        name: String,
        /// The system's error.
        error: io::Error,
    },
    /// An error reply.
    #[error(transparent)]
    Rejected(ProtocolError),
    /// Its reply does not fit the request.
    #[error("`{0}` sent a reply that does not fit the request")]
    UnexpectedReply(String),
}

/// A connection to one process.
#[derive(Debug)]
pub struct ApprovalClient {
    name: String,
    frames: JsonLines,
    who: Option<String>,
    from: ClientKind,
}

impl ApprovalClient {
    /// Connects to a process by the name of its socket.
    ///
    /// # Errors
    /// When it cannot be reached, or rejects this client.
    pub fn connect(dir: &SocketDir, name: &str) -> Result<Self, ApprovalClientError> {
        let failed = |error| ApprovalClientError::Io { name: name.to_owned(), error };
        let secret = secret(dir, name).map_err(failed)?;
        let stream = UnixStream::connect(dir.path_of(&registration::socket_of(name))).map_err(failed)?;
        check_owner(&stream).map_err(failed)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT)).map_err(failed)?;
        let frames = JsonLines::new(stream, FROM_SERVER).map_err(failed)?;
        let mut client = Self { name: name.to_owned(), frames, who: None, from: ClientKind::Terminal };
        let hello = ClientHello { v: VERSION, secret: secret.as_str().to_owned() };
        match client.request(&hello)? {
            ServerMessage::Hello(_) => Ok(client),
            _ => Err(client.unexpected_reply()),
        }
    }

    /// Sets the name that the approver claims.
    #[must_use]
    pub fn with_name(mut self, who: Option<String>) -> Self {
        self.who = who;
        self
    }

    /// Marks answers as given on the web page.
    #[must_use]
    pub fn for_page(mut self) -> Self {
        self.from = ClientKind::Page;
        self
    }

    /// Lists its pending requests.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn list(&mut self) -> Result<Vec<RequestSummary>, ApprovalClientError> {
        match self.request(&ClientMessage::List {})? {
            ServerMessage::List(waiting) => Ok(waiting),
            _ => Err(self.unexpected_reply()),
        }
    }

    /// Fetches a request in full.
    ///
    /// # Errors
    /// When it is not pending there.
    pub fn show(&mut self, id: &str) -> Result<Request, ApprovalClientError> {
        match self.request(&ClientMessage::Show { id: id.to_owned() })? {
            ServerMessage::Show(request) => Ok(*request),
            _ => Err(self.unexpected_reply()),
        }
    }

    /// Answers the request with this identifier and digest.
    ///
    /// # Errors
    /// When the answer does not count.
    pub fn answer(&mut self, id: &str, digest: &str, answer: Choice) -> Result<(), ApprovalClientError> {
        let (id, digest) = (id.to_owned(), digest.to_owned());
        match self.request(&ClientMessage::Answer {
            id,
            digest,
            answer,
            from: self.from,
            who: self.who.clone(),
        })? {
            ServerMessage::Answered => Ok(()),
            _ => Err(self.unexpected_reply()),
        }
    }

    /// Lists the grants of its sessions.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn grants(&mut self) -> Result<Vec<GrantSummary>, ApprovalClientError> {
        match self.request(&ClientMessage::Grants {})? {
            ServerMessage::Grants(grants) => Ok(grants),
            _ => Err(self.unexpected_reply()),
        }
    }

    /// Revokes a grant.
    ///
    /// # Errors
    /// When there is no such grant.
    pub fn revoke(&mut self, session: &str, number: u64) -> Result<(), ApprovalClientError> {
        match self.request(&ClientMessage::Revoke { session: session.to_owned(), number })? {
            ServerMessage::Revoked => Ok(()),
            _ => Err(self.unexpected_reply()),
        }
    }

    /// Checks that the process is alive.
    ///
    /// # Errors
    /// When it is not.
    pub fn ping(&mut self) -> Result<(), ApprovalClientError> {
        match self.request(&ClientMessage::Ping {})? {
            ServerMessage::Pong => Ok(()),
            _ => Err(self.unexpected_reply()),
        }
    }

    /// Subscribes to events.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn watch(mut self) -> Result<ApprovalEvents, ApprovalClientError> {
        let failed = |error| ApprovalClientError::Io { name: self.name.clone(), error };
        self.frames.write(&ClientMessage::Watch {}).map_err(failed)?;
        self.frames.stream().set_read_timeout(Some(HEARTBEAT_TIMEOUT)).map_err(failed)?;
        Ok(ApprovalEvents(self))
    }

    /// Sends a request and reads the reply. A server that rejects the client may have closed the connection before it
    /// read everything, and its reply has the reason.
    fn request(&mut self, line: &impl serde::Serialize) -> Result<ServerMessage, ApprovalClientError> {
        let said = self.frames.write(line);
        match (self.read(), said) {
            (Err(ApprovalClientError::Io { name, .. }), Err(error)) => {
                Err(ApprovalClientError::Io { name, error })
            }
            (heard, _) => heard,
        }
    }

    fn read(&mut self) -> Result<ServerMessage, ApprovalClientError> {
        let gone = || io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended");
        match self.frames.read().and_then(|read| read.ok_or_else(gone)) {
            Ok(ServerMessage::Error(trouble)) => Err(ApprovalClientError::Rejected(trouble)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(ApprovalClientError::Io { name: self.name.clone(), error }),
        }
    }

    fn unexpected_reply(&self) -> ApprovalClientError {
        ApprovalClientError::UnexpectedReply(self.name.clone())
    }
}

/// A connection that receives events.
#[derive(Debug)]
pub struct ApprovalEvents(ApprovalClient);

impl ApprovalEvents {
    /// A handle that ends the wait for events from another thread.
    ///
    /// # Errors
    /// When the descriptor cannot be duplicated.
    pub fn stopper(&self) -> io::Result<UnixStream> {
        self.0.frames.stream().try_clone()
    }
}

/// Iterates over events; a heartbeat is an empty one. The first has all pending requests. After an error there are no
/// more.
impl Iterator for ApprovalEvents {
    type Item = Result<EventBatch, ApprovalClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.0.read() {
            Ok(ServerMessage::Heard(heard)) => Ok(heard),
            Ok(_) => Err(self.0.unexpected_reply()),
            Err(error) => Err(error),
        })
    }
}

fn secret(dir: &SocketDir, name: &str) -> io::Result<AccessSecret> {
    let mut file: fs::File = dir.open_file(&registration::key_of(name), OFlags::RDONLY)?;
    let meta = file.metadata()?;
    if meta.uid() != geteuid().as_raw() || meta.mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "its secret is accessible to other users",
        ));
    }
    let mut text = String::new();
    (&mut file).take(128).read_to_string(&mut text)?;
    AccessSecret::parse(&text)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its secret is malformed"))
}

/// Checks that the server belongs to this user.
fn check_owner(stream: &UnixStream) -> io::Result<()> {
    let there = getsockopt(stream, PeerCredentials)?;
    if there.uid() == geteuid().as_raw() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the socket belongs to another user"))
    }
}
