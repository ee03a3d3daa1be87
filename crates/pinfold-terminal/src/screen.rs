//! The escape sequences between a screen and a dialog on it.
//!
//! [xterm control sequences](https://invisible-island.net/xterm/ctlseqs/ctlseqs.html)

/// Ends whatever sequence was begun and not ended, so that nothing of ours is taken for a part of it: cancel, and the
/// end of a string for those that do not know the former.
pub(crate) const CANCEL: &str = "\x18\x1b\\";

/// The alternate screen. The main one keeps its content, and where its cursor is.
pub(crate) const ENTER: &str = "\x1b[?1049h";

/// Back to where [`ENTER`] was said, cursor and all.
pub(crate) const LEAVE: &str = "\x1b[?1049l";

/// An empty screen without a cursor, in plain characters.
pub(crate) const PLAIN: &str = "\x0f\x1b(B\x1b[m\x1b[?6l\x1b[r\x1b[?7h\x1b[H\x1b[2J\x1b[?25l";

/// Pasted texts can be told from typed ones.
pub(crate) const MARK_PASTE: &str = "\x1b[?2004h";

/// They cannot.
pub(crate) const UNMARK_PASTE: &str = "\x1b[?2004l";

/// The cursor shows.
pub(crate) const SHOW_CURSOR: &str = "\x1b[?25h";

/// Begins a synchronized update (mode 2026), which terminals that know it show at once.
pub(crate) const TOGETHER: &str = "\x1b[?2026h";

/// Ends it.
pub(crate) const APART: &str = "\x1b[?2026l";
