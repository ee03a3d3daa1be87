//! Talking to the socket of a process that asks.

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

use super::frame::{FROM_SERVER, Frames};
use super::place::Place;
use super::protocol::{From, GrantShown, Heard, Hello, Order, Reply, Trouble, VERSION, Waiting};
use super::seat;
use super::secret::Secret;

/// How long an answer from the other side may take: it lives on this machine and does not think.
const HURRY: Duration = Duration::from_secs(5);
/// Whoever watches hears something at least this often, or nobody is there any more.
const SILENT: Duration = Duration::from_secs(30);

/// Why a process could not be talked to.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It cannot be reached.
    #[error("`{name}` cannot be reached: {error}")]
    Io {
        /// The name of its socket.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// It said no.
    #[error(transparent)]
    Trouble(Trouble),
    /// It said something else than was asked.
    #[error("`{0}` said something that does not fit what was asked")]
    Unclear(String),
}

/// A connection to one process.
#[derive(Debug)]
pub struct Client {
    name: String,
    frames: Frames,
    who: Option<String>,
    from: From,
}

impl Client {
    /// Connects to the process of this name.
    ///
    /// # Errors
    /// When it cannot be reached or does not let us in.
    pub fn connect(place: &Place, name: &str) -> Result<Self, ClientError> {
        let failed = |error| ClientError::Io { name: name.to_owned(), error };
        let secret = secret(place, name).map_err(failed)?;
        let stream = UnixStream::connect(place.reach(&seat::socket_of(name))).map_err(failed)?;
        is_ours(&stream).map_err(failed)?;
        stream.set_read_timeout(Some(HURRY)).map_err(failed)?;
        let frames = Frames::new(stream, FROM_SERVER).map_err(failed)?;
        let mut client = Self { name: name.to_owned(), frames, who: None, from: From::Terminal };
        let hello = Hello { v: VERSION, secret: secret.text().to_owned() };
        match client.say(&hello)? {
            Reply::Hello(_) => Ok(client),
            _ => Err(client.unclear()),
        }
    }

    /// Answers are given by somebody who calls themselves this.
    #[must_use]
    pub fn named(mut self, who: Option<String>) -> Self {
        self.who = who;
        self
    }

    /// Answers are given on the page.
    #[must_use]
    pub fn on_the_page(mut self) -> Self {
        self.from = From::Page;
        self
    }

    /// What waits there.
    ///
    /// # Errors
    /// When it cannot be reached any more, like everything here.
    pub fn list(&mut self) -> Result<Vec<Waiting>, ClientError> {
        match self.say(&Order::List {})? {
            Reply::List(waiting) => Ok(waiting),
            _ => Err(self.unclear()),
        }
    }

    /// A request with all its text.
    ///
    /// # Errors
    /// When it does not wait there.
    pub fn show(&mut self, id: &str) -> Result<Request, ClientError> {
        match self.say(&Order::Show { id: id.to_owned() })? {
            Reply::Show(request) => Ok(*request),
            _ => Err(self.unclear()),
        }
    }

    /// Answers the request with this name and this digest.
    ///
    /// # Errors
    /// When the answer does not count.
    pub fn answer(&mut self, id: &str, digest: &str, answer: Choice) -> Result<(), ClientError> {
        let (id, digest) = (id.to_owned(), digest.to_owned());
        match self.say(&Order::Answer { id, digest, answer, from: self.from, who: self.who.clone() })? {
            Reply::Answered => Ok(()),
            _ => Err(self.unclear()),
        }
    }

    /// What was granted in the sessions there.
    ///
    /// # Errors
    /// When it cannot be reached any more.
    pub fn grants(&mut self) -> Result<Vec<GrantShown>, ClientError> {
        match self.say(&Order::Grants {})? {
            Reply::Grants(grants) => Ok(grants),
            _ => Err(self.unclear()),
        }
    }

    /// Takes back what was granted.
    ///
    /// # Errors
    /// When there is no such grant.
    pub fn revoke(&mut self, session: &str, number: u64) -> Result<(), ClientError> {
        match self.say(&Order::Revoke { session: session.to_owned(), number })? {
            Reply::Revoked => Ok(()),
            _ => Err(self.unclear()),
        }
    }

    /// Whether somebody is there.
    ///
    /// # Errors
    /// When nobody is.
    pub fn ping(&mut self) -> Result<(), ClientError> {
        match self.say(&Order::Ping {})? {
            Reply::Pong => Ok(()),
            _ => Err(self.unclear()),
        }
    }

    /// From now on hears what is new.
    ///
    /// # Errors
    /// When it cannot be reached any more.
    pub fn watch(mut self) -> Result<Watching, ClientError> {
        let failed = |error| ClientError::Io { name: self.name.clone(), error };
        self.frames.write(&Order::Watch {}).map_err(failed)?;
        self.frames.stream().set_read_timeout(Some(SILENT)).map_err(failed)?;
        Ok(Watching(self))
    }

    /// Says something and hears the reply. Whoever sends us away may have gone before all was said, and has told why.
    fn say(&mut self, line: &impl serde::Serialize) -> Result<Reply, ClientError> {
        let said = self.frames.write(line);
        match (self.read(), said) {
            (Err(ClientError::Io { name, .. }), Err(error)) => Err(ClientError::Io { name, error }),
            (heard, _) => heard,
        }
    }

    fn read(&mut self) -> Result<Reply, ClientError> {
        let gone = || io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended");
        match self.frames.read().and_then(|read| read.ok_or_else(gone)) {
            Ok(Reply::Error(trouble)) => Err(ClientError::Trouble(trouble)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(ClientError::Io { name: self.name.clone(), error }),
        }
    }

    fn unclear(&self) -> ClientError {
        ClientError::Unclear(self.name.clone())
    }
}

/// A connection that hears what is new.
#[derive(Debug)]
pub struct Watching(Client);

impl Watching {
    /// Something that ends the wait for news from another thread.
    ///
    /// # Errors
    /// When no descriptor can be had.
    pub fn stopper(&self) -> io::Result<UnixStream> {
        self.0.frames.stream().try_clone()
    }
}

/// News, one after the other; with nothing in it when all that is new is that the other side is still there. What waits
/// already comes first, in one piece. After an error nothing more comes.
impl Iterator for Watching {
    type Item = Result<Heard, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.0.read() {
            Ok(Reply::Heard(heard)) => Ok(heard),
            Ok(_) => Err(self.0.unclear()),
            Err(error) => Err(error),
        })
    }
}

fn secret(place: &Place, name: &str) -> io::Result<Secret> {
    let mut file: fs::File = place.open_file(&seat::key_of(name), OFlags::RDONLY)?;
    let meta = file.metadata()?;
    if meta.uid() != geteuid().as_raw() || meta.mode() & 0o077 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "its secret is not ours alone"));
    }
    let mut text = String::new();
    (&mut file).take(128).read_to_string(&mut text)?;
    Secret::of(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its secret is none"))
}

/// Whoever listens is this user too.
fn is_ours(stream: &UnixStream) -> io::Result<()> {
    let there = getsockopt(stream, PeerCredentials)?;
    if there.uid() == geteuid().as_raw() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "somebody else listens there"))
    }
}
