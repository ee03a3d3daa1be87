//! The escape sequences between a screen and a dialog on it.
//!
//! [xterm control sequences](https://invisible-island.net/xterm/ctlseqs/ctlseqs.html)

/// Ends whatever sequence was begun and not ended, so that nothing of ours is taken for a part of it: cancel, and the
/// end of a string for those that do not know the former.
pub(crate) const CANCEL: &str = "\x18\x1b\\";

/// The alternate screen, cleared, with the cursor hidden. The other one keeps its content and its cursor.
pub(crate) const ENTER: &str = "\x1b[?1049h\x1b[m\x1b[r\x1b[H\x1b[2J\x1b[?25l";

/// Pasted texts can be told from typed ones.
pub(crate) const MARK_PASTE: &str = "\x1b[?2004h";

/// Back to where [`ENTER`] was said, cursor and all.
pub(crate) const LEAVE: &str = "\x1b[m\x1b[?1049l";

/// The cursor shows, pasted texts come as if typed.
pub(crate) const USUAL: &str = "\x1b[?25h\x1b[?2004l";
