//! A terminal that no command uses while a dialog has it.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use crate::host_tty::HostTty;
use crate::key_input::{KeyInput, KeySource, is_ready};
use crate::screen::{CANCEL, ENTER, LEAVE, MARK_PASTE, PLAIN, SHOW_CURSOR, UNMARK_PASTE};
use crate::surface::{DialogSurface, SurfaceEvent, TerminalSize};

/// Time limit for the terminal to accept output.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);

/// A dialog surface on the terminal of this process, for programs that have it to themselves. Keys typed before the
/// dialog could be read are dropped: no other program waits for them.
///
/// A signal that ends this process ends it after the terminal was put back.
#[derive(Debug)]
pub struct ExclusiveTty {
    own: OwnTty,
    ears: KeyInput,
    /// Output that is not flushed yet.
    picture: Vec<u8>,
}

/// The terminal, and what can end this process meanwhile.
#[derive(Debug)]
struct OwnTty {
    person: Arc<HostTty>,
    ends: DeferredSignals,
}

impl KeySource for OwnTty {
    fn size(&self) -> TerminalSize {
        self.person.size()
    }

    fn wait(&self, wait: Duration) -> io::Result<bool> {
        is_ready(self.person.as_fd(), Some(self.ends.wake.as_fd()), wait)
    }

    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        self.person.read()
    }

    fn early(&self, _: &[u8]) {}
}

impl ExclusiveTty {
    /// Takes the terminal of this process, by whatever its standard streams lead to.
    ///
    /// # Errors
    /// When there is none, or this process is in its background (`NotFound`): then there is no approver.
    pub fn open() -> io::Result<Self> {
        let unavailable =
            || io::Error::new(io::ErrorKind::NotFound, "no terminal, or in the background of it");
        let person = HostTty::open()?.ok_or_else(unavailable)?;
        let ends = DeferredSignals::register()?;
        let ears = KeyInput::new(person.size());
        let stage = Self { own: OwnTty { person, ends }, ears, picture: Vec::new() };
        stage.own.person.make_raw()?;
        stage.own.person.set_aside(true);
        stage.own.person.write(format!("{CANCEL}{ENTER}{PLAIN}{MARK_PASTE}").as_bytes(), OUTPUT_TIMEOUT)?;
        Ok(stage)
    }

    fn put_back(&mut self) {
        let back = format!("{CANCEL}{UNMARK_PASTE}{LEAVE}{SHOW_CURSOR}");
        let _ = self.own.person.write(back.as_bytes(), OUTPUT_TIMEOUT);
        self.own.person.set_aside(false);
        self.own.person.restore();
    }
}

impl Drop for ExclusiveTty {
    fn drop(&mut self) {
        self.put_back();
    }
}

impl Write for ExclusiveTty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.picture.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.own.person.write(&std::mem::take(&mut self.picture), OUTPUT_TIMEOUT)?;
        self.ears.painted(&self.own);
        Ok(())
    }
}

impl DialogSurface for ExclusiveTty {
    fn size(&self) -> TerminalSize {
        self.ears.size()
    }

    fn read_event(&mut self, timeout: Duration) -> io::Result<Option<SurfaceEvent>> {
        let event = self.ears.next(&self.own, timeout);
        if let Some(signal) = self.own.ends.signal() {
            self.put_back();
            low_level::emulate_default_handler(signal)?;
        }
        event
    }

    fn renew(&mut self) {
        drop(self.ears.take());
        self.ears.renew();
    }

    fn delivered_until(&self) -> Option<Instant> {
        self.ears.delivered_until()
    }
}

/// The signals that would end this process.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// No stage is open: the signals do what they would have done. A handler that was set once stays for as long as the
/// process, so without this they would do nothing after the first dialog.
static NONE_OPEN: AtomicBool = AtomicBool::new(true);
/// Number of open surfaces.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// The signals that would end this process, put off until the terminal was put back.
#[derive(Debug)]
struct DeferredSignals {
    /// The number of the one that came, or zero.
    came: Arc<AtomicUsize>,
    wake: UnixStream,
    registered: Vec<SigId>,
}

impl DeferredSignals {
    fn register() -> io::Result<Self> {
        static USUAL: Once = Once::new();
        let mut usual = Ok(());
        USUAL.call_once(|| {
            let mut ending = ENDING.into_iter();
            usual = ending
                .try_for_each(|signal| flag::register_conditional_default(signal, &NONE_OPEN).map(drop));
        });
        usual?;
        let (wake, waker) = UnixStream::pair()?;
        OPEN.fetch_add(1, Ordering::SeqCst);
        let mut ends = Self { came: Arc::default(), wake, registered: Vec::new() };
        for signal in ENDING {
            let number = usize::try_from(signal).unwrap_or(0);
            ends.registered.push(flag::register_usize(signal, Arc::clone(&ends.came), number)?);
            ends.registered.push(low_level::pipe::register(signal, waker.try_clone()?)?);
        }
        NONE_OPEN.store(false, Ordering::SeqCst);
        Ok(ends)
    }

    fn signal(&self) -> Option<i32> {
        i32::try_from(self.came.load(Ordering::Relaxed)).ok().filter(|signal| *signal != 0)
    }
}

impl Drop for DeferredSignals {
    fn drop(&mut self) {
        if OPEN.fetch_sub(1, Ordering::SeqCst) == 1 {
            NONE_OPEN.store(true, Ordering::SeqCst);
        }
        for id in self.registered.drain(..) {
            low_level::unregister(id);
        }
        // A signal that came after the last read.
        if let Some(signal) = self.signal() {
            let _ = low_level::emulate_default_handler(signal);
        }
    }
}
