//! Words of the record's format.

use std::borrow::Cow;

/// A word of the format: a known one is written, any is read.
pub type FormatWord = Cow<'static, str>;
