//! A terminal that no command uses while a dialog has it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use crate::ears::{Ears, size_of};
use crate::raw::Before;
use crate::screen::{CANCEL, ENTER, LEAVE, MARK_PASTE, USUAL};
use crate::stage::{Event, Size, Stage};

/// A stage on the terminal of this process, for programs that have it to themselves. What was typed before the dialog
/// could be read is forgotten: nobody is there for whom it was meant.
///
/// A signal that ends this process ends it after the terminal was put back.
pub struct Alone {
    terminal: File,
    before: Before,
    ears: Ears,
    /// What is written, until it is flushed.
    picture: Vec<u8>,
    ends: Ends,
}

impl Alone {
    /// Takes the terminal of this process, by whatever its standard streams lead to.
    ///
    /// # Errors
    /// When there is none, or this process is in its background: then nobody can be asked.
    pub fn open() -> io::Result<Self> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        if tcgetpgrp(&terminal)? != getpgrp() {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "in the background of the terminal"));
        }
        let before = Before::of(terminal.as_fd())?;
        let ends = Ends::register()?;
        before.make_raw(terminal.as_fd())?;
        let ears = Ears::new(size_of(&terminal));
        let mut stage = Self { terminal, before, ears, picture: Vec::new(), ends };
        stage.terminal.write_all(format!("{CANCEL}{ENTER}{MARK_PASTE}").as_bytes())?;
        Ok(stage)
    }

    fn put_back(&mut self) {
        let _ = self.terminal.write_all(format!("{CANCEL}{LEAVE}{USUAL}").as_bytes());
        self.before.restore(self.terminal.as_fd());
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.put_back();
    }
}

impl Write for Alone {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.picture.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.terminal.write_all(&self.picture)?;
        self.picture.clear();
        drop(self.ears.painted(self.terminal.as_fd()));
        Ok(())
    }
}

impl Stage for Alone {
    fn size(&self) -> Size {
        self.ears.size()
    }

    fn read_event(&mut self, timeout: Duration) -> io::Result<Option<Event>> {
        let wake = Some(self.ends.wake.as_fd());
        let event = self.ears.next(self.terminal.as_fd(), wake, timeout, &mut |_| {});
        if let Some(signal) = self.ends.signal() {
            self.put_back();
            low_level::emulate_default_handler(signal)?;
        }
        event
    }

    fn renew(&mut self) {
        drop(self.ears.take());
        self.ears.renew();
    }
}

/// The signals that would end this process, put off until the terminal was put back.
struct Ends {
    /// The number of the one that came, or zero.
    came: Arc<AtomicUsize>,
    wake: UnixStream,
    registered: Vec<SigId>,
}

impl Ends {
    fn register() -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        let mut ends = Self { came: Arc::default(), wake, registered: Vec::new() };
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or(0);
            ends.registered.push(flag::register_usize(signal, Arc::clone(&ends.came), number)?);
            ends.registered.push(low_level::pipe::register(signal, waker.try_clone()?)?);
        }
        Ok(ends)
    }

    fn signal(&self) -> Option<i32> {
        i32::try_from(self.came.load(Ordering::Relaxed)).ok().filter(|signal| *signal != 0)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            low_level::unregister(id);
        }
    }
}
