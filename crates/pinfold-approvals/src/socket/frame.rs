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
pub struct Frames {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    longest: u64,
}

impl Frames {
    /// Lines on a connection; what is read is no longer than `longest` bytes.
    ///
    /// # Errors
    /// When the connection has none of two sides.
    pub fn new(stream: UnixStream, longest: u64) -> io::Result<Self> {
        stream.set_write_timeout(Some(STUCK))?;
        Ok(Self { writer: stream.try_clone()?, reader: BufReader::new(stream), longest })
    }

    /// The next line; `None` at the end. A line that is too long, or that ends without a line feed, is an error.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        (&mut self.reader).take(self.longest).read_until(b'\n', &mut line)?;
        understood(line)
    }

    /// The same for a line that has to be there in time, all of it: a byte now and then does not prolong it.
    ///
    /// # Errors
    /// When it is late, too long, or not understood.
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
        understood(line)
    }

    /// Whether something can be read without waiting, because it was read along with a line before.
    pub(super) fn has_more(&self) -> bool {
        !self.reader.buffer().is_empty()
    }

    /// Writes a line, in the time that one may take to read it.
    ///
    /// # Errors
    /// When it is not read in time, or nobody is there.
    pub fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
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

    /// What was not read yet.
    pub fn into_reader(self) -> BufReader<UnixStream> {
        self.reader
    }

    pub(super) fn stream(&self) -> &UnixStream {
        &self.writer
    }
}

/// What a line says; `None` where there is none.
fn understood<T: DeserializeOwned>(mut line: Vec<u8>) -> io::Result<Option<T>> {
    let unclear = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => serde_json::from_slice(&line).map(Some).map_err(|error| unclear(error.to_string())),
        Some(_) => Err(unclear("a line is too long, or has no end".to_owned())),
    }
}
