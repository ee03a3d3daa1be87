//! The surface that a dialog is drawn on, and its events.

use std::io;
use std::time::{Duration, Instant};

/// Silence that has to follow the painting of a dialog before a key is an answer to it. Long enough that a person
/// in the middle of typing is not taken at a word meant for the program; shorter than reading anything takes.
pub const QUIET: Duration = Duration::from_millis(300);

/// A terminal that is a dialog's alone for a while.
///
/// The stage is made with the alternate screen up, cleared, the cursor hidden, and the terminal in raw mode; the dialog
/// writes text and escape sequences and ends each picture with [`flush`](io::Write::flush). It need not, and should not,
/// switch modes or screens itself: dropping the stage puts everything back.
///
/// Raw means that Ctrl-C is a key like others.
pub trait DialogSurface: io::Write {
    /// The size at the moment. It changes only by [`SurfaceEvent::Resized`].
    fn size(&self) -> TerminalSize;

    /// Waits for the next event, no longer than `timeout`; `None` when there was none. A surface on which keys do not
    /// count yet waits too: see [`SurfaceEvent::Ready`].
    ///
    /// # Errors
    /// When the terminal cannot be read. There is no answer then.
    fn read_event(&mut self, timeout: Duration) -> io::Result<Option<SurfaceEvent>>;

    /// Says that something else is going to be shown, a next question for instance. What is typed counts again only
    /// after the next [`flush`](io::Write::flush) and a quiet moment; what was typed before is not an answer to it.
    fn renew(&mut self);

    /// Returns bytes to the program that they were typed for, before anything that is typed later. Where no program
    /// waits for input they are dropped.
    fn give_back(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// The clock that [`KeyTiming`] is told by.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// The moment up to which all that was typed has come as an event; `None` when that is not known.
    fn delivered_until(&self) -> Option<Instant>;
}

/// Size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Lines. Never zero.
    pub rows: u16,
    /// Cells in a line. Never zero.
    pub columns: u16,
}

/// An event at a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SurfaceEvent {
    /// The painted picture was there for a quiet moment: from here on keys are delivered. Comes once after the first
    /// [`flush`](io::Write::flush) and once after each [`DialogSurface::renew`].
    Ready {
        /// Time at which the picture was painted.
        painted: Instant,
        /// Time of the last key before that, for the program or not, as far as it is known.
        typed: Option<Instant>,
    },
    /// A key.
    Key(Key, KeyTiming),
    /// A text that was pasted, whole, with its control characters. Never an answer; for a field of text perhaps.
    Paste(String, KeyTiming),
    /// A report of the terminal, or its answer to a query of the program.
    Report(KeyTiming),
    /// The window has another size. Everything is to be painted again; keys go on counting.
    Resized(TerminalSize),
    /// The terminal or the request is gone: the window was closed, or the subject of the question has ended.
    Gone,
}

/// The times of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTiming {
    /// The bytes, as the terminal sent them.
    pub bytes: Vec<u8>,
    /// Earliest time of the key: there was nothing to be read at this moment.
    pub since: Instant,
    /// Latest time of the key: it had been read by then.
    pub at: Instant,
    /// Set if one read returned nothing else. Keys of a person come one by one; keys that come together were pasted, sent by a
    /// program, or typed ahead.
    pub alone: bool,
}

/// A key with what was held down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// Control was held down.
    pub ctrl: bool,
    /// Alt was held down.
    pub alt: bool,
    /// Shift was held down, where that is not told by the character.
    pub shift: bool,
}

impl Key {
    /// A key by itself.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    /// A letter with Control, in lower case.
    pub const fn ctrl(letter: char) -> Self {
        Self { code: KeyCode::Char(letter), ctrl: true, alt: false, shift: false }
    }
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyCode {
    /// A character that can be printed; letters with Control are in lower case.
    Char(char),
    /// The one that ends a line.
    Enter,
    /// Escape by itself.
    Escape,
    /// The tabulator; with `shift` the one that goes back.
    Tab,
    /// Takes away what stands before the cursor.
    Backspace,
    /// Takes away what stands under the cursor.
    Delete,
    /// Insert.
    Insert,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// A function key by its number.
    Function(u8),
}
