//! Errors in a settings file: position, problem, and the text to write instead.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::source::Source;

/// One place in a settings file that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSetting {
    /// Position.
    pub source: Source,
    /// The bytes it takes in the text, for a picture of the place.
    pub span: Range<usize>,
    /// The text there, and the problem with it.
    pub what: String,
    /// The text to write instead; empty when there is nothing better to say.
    pub mend: String,
}

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.what)?;
        if self.mend.is_empty() { Ok(()) } else { write!(f, "; {}", self.mend) }
    }
}

/// All that cannot be meant in one file. None of the file is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSettings {
    /// Text of the file, for an excerpt of each position; empty when it was not even text.
    pub text: Arc<str>,
    /// Each place, in the order of the file; never empty.
    pub bad: Vec<BadSetting>,
}

impl BadSettings {
    pub(crate) fn one(text: &str, bad: BadSetting) -> Self {
        Self { text: text.into(), bad: vec![bad] }
    }
}

impl fmt::Display for BadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, bad) in self.bad.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            bad.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for BadSettings {}
