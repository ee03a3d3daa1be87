//! Limits of a reading, and the ways in which it ends early.

/// Bytes of text that are read without doubt. Longer texts are read all the same, and opaque.
pub(crate) const MAX_TEXT: usize = 64 * 1024;

/// Deepest nesting of constructs. It bounds the recursion of the parser: each level takes a few
/// kilobytes of stack, and threads with two megabytes are common.
pub(crate) const MAX_NESTING: usize = 48;

/// Simple commands in a text that is still understood.
pub(crate) const MAX_COMMANDS: usize = 1000;

/// Simple commands that are listed at all, for rules that deny.
pub(crate) const MAX_LISTED: usize = 32 * 1024;

/// Redirects of one command, with those of the compound commands around it.
pub(crate) const MAX_REDIRECTS: usize = 64;

/// Words that a sequence such as `{1..9}` is expanded into.
pub(crate) const MAX_SEQUENCE: i128 = 256;

/// Opening braces in a word whose alternatives are told apart.
pub(crate) const MAX_BRACES: usize = 32;

/// Parts that are called opaque one by one.
pub(crate) const MAX_OPAQUE: usize = 64;

/// The rest of the text, up to the next border, cannot be read. Why is on the list already.
#[derive(Debug)]
pub(crate) struct Stop;
