//! A pipe writer: a sender writes as much as the pipe takes at once; a thread writes the rest, and no sender waits for
//! a reader that is gone.
//!
//! The descriptor is owned by the writing sender, and by the shared state otherwise: lines keep their order and are
//! never interleaved.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pinfold::consent::Caller;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{ReadWriteFlags, pwritev2};

/// The buffer for a slow reader, in bytes. Senders beyond it wait.
const WAITING: usize = 16 << 20;

/// The buffer where senders cannot wait, in bytes: beyond it the reader counts as gone.
const TOO_MUCH: usize = 160 << 20;

/// The bytes that are written at once: what a writable pipe takes without blocking.
/// [pipe(7)](https://man7.org/linux/man-pages/man7/pipe.7.html)
const PIECE: usize = 4096;

/// The interval at which the end is checked.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The descriptor.
#[derive(Debug)]
pub(crate) struct LineWriter {
    state: Mutex<WriterState>,
    changed: Condvar,
}

#[derive(Debug)]
struct WriterState {
    /// `None` while a sender writes, and once it is closed.
    end: Option<OwnedFd>,
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// No more lines are accepted; buffered ones are written until this time.
    Closing(Instant),
    /// The reader is gone, or everything was written.
    Closed,
}

/// The reader is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReaderGone;

impl LineWriter {
    /// Starts the thread that writes buffered lines. `gone` is called once, when the reader is gone.
    pub(crate) fn start(end: OwnedFd, gone: impl FnOnce() + Send + 'static) -> io::Result<Arc<Self>> {
        let state = WriterState { end: Some(end), lines: VecDeque::new(), bytes: 0, stage: Stage::Open };
        let writer = Arc::new(Self { state: Mutex::new(state), changed: Condvar::new() });
        let of_thread = Arc::clone(&writer);
        thread::Builder::new().name("pinfold-writer".into()).spawn(move || {
            if of_thread.write_all().is_err() {
                gone();
            }
            of_thread.drop_lines();
        })?;
        Ok(writer)
    }

    /// Sends a line. Waits while the reader is slow.
    pub(crate) fn send(&self, line: Vec<u8>) -> Result<(), ReaderGone> {
        let mut state = self.state();
        while state.bytes > WAITING && state.stage == Stage::Open {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.push(state, line)
    }

    /// Sends a line, and calls `meanwhile` while it waits.
    pub(crate) fn send_for(&self, caller: &Caller<'_>, line: Vec<u8>) -> Result<(), ReaderGone> {
        let state = self.state();
        if state.bytes > WAITING {
            drop(state);
            return caller.take_time(Err(ReaderGone), || self.send(line));
        }
        self.push(state, line)
    }

    /// Sends a line without waiting: a reader that leaves too much unread counts as gone.
    pub(crate) fn offer(&self, line: Vec<u8>) -> Result<(), ReaderGone> {
        let state = self.state();
        if state.bytes > TOO_MUCH {
            return Err(ReaderGone);
        }
        self.push(state, line)
    }

    fn push<'a>(
        &'a self,
        mut state: MutexGuard<'a, WriterState>,
        mut line: Vec<u8>,
    ) -> Result<(), ReaderGone> {
        if state.stage != Stage::Open {
            return Err(ReaderGone);
        }
        line.push(b'\n');
        // Queued lines go first, so a direct write is possible only when the queue is empty.
        let end = if state.lines.is_empty() { state.end.take() } else { None };
        match end {
            None => {
                state.bytes += line.len();
                state.lines.push_back(line);
            }
            Some(end) => {
                drop(state);
                let rest = line.split_off(write_at_once(&end, &line));
                state = self.state();
                state.end = Some(end);
                if !rest.is_empty() {
                    state.bytes += rest.len();
                    state.lines.push_front(rest);
                }
                if state.lines.is_empty() && state.stage == Stage::Open {
                    // The thread has nothing to write.
                    return Ok(());
                }
            }
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// More is buffered than an active reader leaves unread.
    pub(crate) fn is_too_much(&self) -> bool {
        self.state().bytes > TOO_MUCH
    }

    /// Accepts no more lines, writes buffered ones within a time limit, and closes.
    pub(crate) fn close(&self, within: Duration) {
        let mut state = self.state();
        if state.stage == Stage::Open {
            state.stage = Stage::Closing(Instant::now() + within);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Finishes, and waits until it is closed.
    pub(crate) fn finish(&self, within: Duration) {
        self.close(within);
        let over = Instant::now() + within + Duration::from_secs(1);
        let mut state = self.state();
        while state.stage != Stage::Closed && Instant::now() < over {
            let left = over.saturating_duration_since(Instant::now());
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The thread: writes lines in order, until there are no more.
    fn write_all(&self) -> io::Result<()> {
        while let Some((end, line)) = self.next() {
            // An error means that the reader is gone: the descriptor is closed.
            self.write(&end, &line)?;
            self.state().end = Some(end);
            self.changed.notify_all();
        }
        Ok(())
    }

    /// The next line and the descriptor, once both are available; `None` when everything was written.
    fn next(&self) -> Option<(OwnedFd, Vec<u8>)> {
        let mut state = self.state();
        loop {
            if state.lines.is_empty() && state.stage != Stage::Open && state.end.is_some() {
                return None;
            }
            if !state.lines.is_empty()
                && let Some(end) = state.end.take()
                && let Some(line) = state.lines.pop_front()
            {
                state.bytes -= line.len();
                return Some((end, line));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&self, end: &OwnedFd, line: &[u8]) -> io::Result<()> {
        let mut rest = line;
        while !rest.is_empty() {
            match write_piece(end, rest, &LOOK)? {
                0 if self.is_late() => return Err(io::ErrorKind::TimedOut.into()),
                written => rest = rest.get(written..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    fn is_late(&self) -> bool {
        matches!(self.state().stage, Stage::Closing(until) if Instant::now() >= until)
    }

    fn drop_lines(&self) {
        let mut state = self.state();
        state.stage = Stage::Closed;
        state.end = None;
        state.lines.clear();
        state.bytes = 0;
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes what can be written without blocking, and returns how much. Errors are left to the thread, which writes the
/// rest.
fn write_at_once(end: &OwnedFd, line: &[u8]) -> usize {
    // In one system call, so that the reader wakes up once.
    let mut written = pwritev2(end, &[IoSlice::new(line)], AT_THE_END, ReadWriteFlags::NOWAIT).unwrap_or(0);
    while let Some(rest) = line.get(written..).filter(|rest| !rest.is_empty()) {
        match write_piece(end, rest, &Timespec::default()) {
            Ok(0) | Err(_) => break,
            Ok(more) => written += more,
        }
    }
    written
}

/// The offset argument that means the current position.
const AT_THE_END: u64 = u64::MAX;

/// Writes a piece once the descriptor is writable, and returns its length; 0 on timeout.
fn write_piece(end: &OwnedFd, text: &[u8], within: &Timespec) -> io::Result<usize> {
    let mut fds = [PollFd::new(end, PollFlags::OUT)];
    let written = match poll(&mut fds, Some(within)) {
        Ok(0) => Ok(0),
        Ok(_) => rustix::io::write(end, text.get(..PIECE).unwrap_or(text)),
        Err(error) => Err(error),
    };
    match written {
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(0),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, pipe};
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn lines_of_several_senders_come_whole_and_each_in_its_order() {
        const LINES: usize = 300;
        let (reader, writer) = pipe().unwrap();
        let sent = LineWriter::start(writer.into(), || ()).unwrap();
        let of_sender = |sender: usize| {
            let sent = Arc::clone(&sent);
            // Sizes below, at and beyond the pipe's capacity.
            let line =
                move |number: usize| format!("{sender} {number} {}", "x".repeat(number.pow(3) % 90_000));
            thread::spawn(move || (0..LINES).for_each(|number| sent.send(line(number).into()).unwrap()))
        };
        let senders: Vec<_> = (0..4).map(of_sender).collect();
        let mut next = [0; 4];
        let mut lines = BufReader::with_capacity(700, reader).lines();
        for line in lines.by_ref().take(4 * LINES).map(Result::unwrap) {
            let parts: Vec<&str> = line.split(' ').collect();
            let [sender, number, rest] = parts[..] else { panic!("{line}") };
            let (sender, number): (usize, usize) = (sender.parse().unwrap(), number.parse().unwrap());
            assert_eq!((number, rest.len()), (next[sender], number.pow(3) % 90_000));
            next[sender] += 1;
        }
        for sender in senders {
            sender.join().unwrap();
        }
        sent.send(b"last".to_vec()).unwrap();
        sent.finish(Duration::from_secs(5));
        assert_eq!(lines.map(Result::unwrap).collect::<Vec<_>>(), ["last"]);
        assert_eq!(sent.send(b"late".to_vec()), Err(ReaderGone));
    }

    #[test]
    fn a_reader_that_is_gone_is_told_of_and_one_that_does_not_read_holds_nobody_up() {
        for leaves in [true, false] {
            let (told, gone) = channel();
            let (reader, writer) = pipe().unwrap();
            let sent = LineWriter::start(writer.into(), move || told.send(()).unwrap()).unwrap();
            let reader = (!leaves).then_some(reader);
            for _ in 0..3 {
                // By the second line the thread may have noticed.
                let _ = sent.offer(vec![b'x'; 1 << 20]);
            }
            sent.finish(Duration::from_millis(10));
            gone.recv_timeout(Duration::from_secs(5)).unwrap();
            assert_eq!(sent.offer(b"late".to_vec()), Err(ReaderGone));
            drop(reader);
        }
    }
}
