//! Lines of JSON on a socket, none longer than a limit.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest line that a server takes: an answer with a message.
pub(super) const FROM_CLIENT: u64 = 64 << 10;
/// The longest line that a client takes: a request with all its text.
pub(super) const FROM_SERVER: u64 = 64 << 20;

/// How long the other side may take to read one line.
const HURRY: Duration = Duration::from_secs(5);
/// How long it may take nothing at all.
const STUCK: Duration = Duration::from_secs(2);
const PIECE: usize = 64 << 10;

/// One side of a connection.
#[derive(Debug)]
pub(super) struct Frames {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    longest: u64,
}

impl Frames {
    pub(super) fn new(stream: UnixStream, longest: u64) -> io::Result<Self> {
        stream.set_write_timeout(Some(STUCK))?;
        Ok(Self { writer: stream.try_clone()?, reader: BufReader::new(stream), longest })
    }

    /// The next line; `None` at the end. A line that is too long, or that ends without a line feed, is an error.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        let read = (&mut self.reader).take(self.longest).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long, or has no end"));
        }
        serde_json::from_slice(&line)
            .map(Some)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }

    /// Whether something can be read without waiting, because it was read along with a line before.
    pub(super) fn has_more(&self) -> bool {
        !self.reader.buffer().is_empty()
    }

    /// Writes a line, in the time that one may take to read it.
    pub(super) fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let end = Instant::now() + HURRY;
        // In pieces, so that whoever reads a little now and then does not make it take for ever.
        for piece in line.chunks(PIECE) {
            if Instant::now() > end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.writer.write_all(piece)?;
        }
        Ok(())
    }

    pub(super) fn stream(&self) -> &UnixStream {
        &self.writer
    }
}
