//! Threads that pass bytes on between a pipe of a command's and what stays outside.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread::{self, JoinHandle};

use crate::streams::same;
use crate::sys;

/// Bytes taken at once: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// Streams to relay, before the command runs.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    input: Option<(File, PipeWriter)>,
    outputs: Vec<(PipeReader, File)>,
    /// The writing end of the first output, for a second one that leads to the same place.
    shared: Option<PipeWriter>,
}

/// Streams that are being relayed.
#[derive(Debug, Default)]
pub(crate) struct RelayedStreams {
    /// Open as long as input is wanted.
    wanted: Option<PipeWriter>,
    threads: Vec<JoinHandle<()>>,
}

impl Passing {
    /// A pipe with the bytes of `from`.
    pub(crate) fn input(&mut self, from: OwnedFd) -> io::Result<OwnedFd> {
        let (theirs, ours) = io::pipe()?;
        self.input = Some((from.into(), ours));
        Ok(theirs.into())
    }

    /// Creates a pipe whose bytes go to `to`. Two streams with one destination share a pipe, so that their order is kept.
    pub(crate) fn output(&mut self, to: OwnedFd) -> io::Result<OwnedFd> {
        if let (Some((_, first)), Some(pipe)) = (self.outputs.first(), &self.shared)
            && same(first.as_fd(), to.as_fd())
        {
            return Ok(pipe.try_clone()?.into());
        }
        let (ours, theirs) = io::pipe()?;
        self.outputs.push((ours, to.into()));
        self.shared = Some(theirs.try_clone()?);
        Ok(theirs.into())
    }

    /// Begins, once the command runs.
    ///
    /// # Errors
    /// When no thread is to be had.
    pub(crate) fn start(self) -> io::Result<RelayedStreams> {
        // Held here, the end of a command's output would not be seen.
        drop(self.shared);
        let mut flowing = RelayedStreams::default();
        if let Some((from, to)) = self.input {
            let (over, wanted) = io::pipe()?;
            flowing.wanted = Some(wanted);
            flowing.threads.push(thread_builder().spawn(move || pass_input(from, to, &over))?);
        }
        for (mut from, mut to) in self.outputs {
            // Where it cannot be written the command learns it the same way, when the pipe is closed.
            flowing.threads.push(thread_builder().spawn(move || drop(io::copy(&mut from, &mut to)))?);
        }
        Ok(flowing)
    }
}

fn thread_builder() -> thread::Builder {
    thread::Builder::new().name("pinfold-streams".into())
}

fn pass_input(mut from: File, mut to: PipeWriter, over: &PipeReader) {
    let mut piece = vec![0; PIECE];
    loop {
        match sys::poll([from.as_raw_fd(), over.as_raw_fd()], None) {
            Ok([0, 0]) => continue,
            Ok([_, 0]) => {}
            Ok(_) | Err(_) => return,
        }
        let read = match from.read(&mut piece) {
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                continue;
            }
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        if piece.get(..read).is_none_or(|bytes| to.write_all(bytes).is_err()) {
            return;
        }
    }
}

impl RelayedStreams {
    /// Passes on what the command has written last, once nothing of it runs any more.
    pub(crate) fn finish(self) {
        drop(self.wanted);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}
