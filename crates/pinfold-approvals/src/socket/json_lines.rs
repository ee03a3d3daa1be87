//! Lines of JSON on a socket, within limits of size and time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest line that a server reads, in bytes: an answer with a message.
pub(super) const FROM_CLIENT: u64 = 64 << 10;
/// The longest line that a client reads, in bytes: a full request.
pub(super) const FROM_SERVER: u64 = 64 << 20;

/// The time limit for the peer to read one line.
const LINE_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for the peer to read anything.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
const PIECE: usize = 64 << 10;

/// One side of a connection.
#[derive(Debug)]
pub struct JsonLines {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    longest: u64,
}

impl JsonLines {
    /// Wraps a connection; lines of at most `longest` bytes are read.
    ///
    /// # Errors
    /// When the descriptor cannot be duplicated.
    pub fn new(stream: UnixStream, longest: u64) -> io::Result<Self> {
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        Ok(Self { writer: stream.try_clone()?, reader: BufReader::new(stream), longest })
    }

    /// Reads the next line; `None` at the end. A line that is too long, or has no line feed, is an error.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        (&mut self.reader).take(self.longest).read_until(b'\n', &mut line)?;
        parse_line(line)
    }

    /// Reads the next line, all of it within a time limit: single bytes do not extend it.
    ///
    /// # Errors
    /// When it is late, too long, or malformed.
    pub fn read_within<T: DeserializeOwned>(&mut self, most: Duration) -> io::Result<Option<T>> {
        let end = Instant::now() + most;
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') && line.len() as u64 <= self.longest {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.writer.set_read_timeout(Some(left))?;
            let come = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                come => come?,
            };
            let piece = come.iter().position(|byte| *byte == b'\n').map_or(come.len(), |at| at + 1);
            if piece == 0 {
                break;
            }
            line.extend(come.iter().take(piece));
            self.reader.consume(piece);
        }
        self.writer.set_read_timeout(None)?;
        parse_line(line)
    }

    /// Returns whether bytes of a further line were read already.
    pub(super) fn has_more(&self) -> bool {
        !self.reader.buffer().is_empty()
    }

    /// Writes a line within the time limit.
    ///
    /// # Errors
    /// When it is not read in time, or the peer is gone.
    pub fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let end = Instant::now() + LINE_TIMEOUT;
        // In pieces, so that a peer that reads slowly cannot extend the time without limit.
        for piece in line.chunks(PIECE) {
            if Instant::now() > end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.writer.write_all(piece)?;
        }
        Ok(())
    }

    /// The bytes that were not read yet.
    pub fn into_reader(self) -> BufReader<UnixStream> {
        self.reader
    }

    pub(super) fn stream(&self) -> &UnixStream {
        &self.writer
    }
}

/// Parses a line; `None` where there is none.
fn parse_line<T: DeserializeOwned>(mut line: Vec<u8>) -> io::Result<Option<T>> {
    let unclear = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => serde_json::from_slice(&line).map(Some).map_err(|error| unclear(error.to_string())),
        Some(_) => Err(unclear("a line is too long, or has no line feed".to_owned())),
    }
}
