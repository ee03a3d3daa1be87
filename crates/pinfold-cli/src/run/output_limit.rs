//! A limit on what a command prints: its output passes through us, and its end comes when there is too much.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use pinfold_sandbox::Remote;

/// The reading ends of a command's output, until the command runs.
pub(super) struct Relay {
    limit: u64,
    streams: [File; 2],
    /// Targets of the streams, if not our own.
    to: [Option<OwnedFd>; 2],
}

/// Output that is on its way.
pub(super) struct PrintedOutput {
    limit: u64,
    printed: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// The relay, and the writing ends for the command's standard output and error. These lead to `to`, or to our own.
    pub(super) fn new(limit: u64, to: [Option<OwnedFd>; 2]) -> io::Result<(Self, [OwnedFd; 2])> {
        let (out, command_out) = io::pipe()?;
        let (error, command_error) = io::pipe()?;
        let streams = [OwnedFd::from(out).into(), OwnedFd::from(error).into()];
        Ok((Self { limit, streams, to }, [command_out.into(), command_error.into()]))
    }

    /// Passes output on until the streams end, or `remote` is killed for printing too much.
    pub(super) fn start(self, remote: &Arc<Remote>) -> PrintedOutput {
        let printed = Arc::new(AtomicU64::new(0));
        let [out, error] = self.streams;
        let [to_out, to_error] =
            self.to.map(|to| to.map(|to| Box::new(File::from(to)) as Box<dyn Write + Send>));
        let pass = |from: File, to: Box<dyn Write + Send>| {
            let (printed, remote, limit) = (Arc::clone(&printed), Arc::clone(remote), self.limit);
            thread::spawn(move || pass_on(from, to, &printed, limit, &remote))
        };
        let threads = vec![
            pass(out, to_out.unwrap_or_else(|| Box::new(io::stdout()))),
            pass(error, to_error.unwrap_or_else(|| Box::new(io::stderr()))),
        ];
        PrintedOutput { limit: self.limit, printed, threads }
    }
}

impl PrintedOutput {
    /// Waits for the last of it. True when there was too much.
    pub(super) fn finish(self) -> bool {
        for thread in self.threads {
            let _ = thread.join();
        }
        self.printed.load(Ordering::Relaxed) > self.limit
    }
}

fn pass_on(mut from: File, mut to: Box<dyn Write>, printed: &AtomicU64, limit: u64, remote: &Remote) {
    let mut buffer = [0u8; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let before = printed.fetch_add(read as u64, Ordering::Relaxed);
        let room = usize::try_from(limit.saturating_sub(before)).unwrap_or(usize::MAX).min(read);
        let written = buffer.get(..room).map_or(Ok(()), |part| to.write_all(part).and_then(|()| to.flush()));
        if room < read {
            let _ = remote.kill();
            return;
        }
        if written.is_err() {
            // The reader is gone; the command gets a closed pipe in turn once this thread stops reading.
            return;
        }
    }
}
