//! What the actor says about each call: a line on standard output, read by the machine outside.

use std::fmt;
use std::path::{Path, PathBuf};

/// How one call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its name.
    pub call: String,
    /// What the kernel said: `ok`, or the name of the error.
    pub result: String,
    /// The places it was about, as far as they could be found out before it: without links, absolute.
    pub places: Vec<PathBuf>,
}

impl Logged {
    /// Whether the kernel did it.
    pub fn is_done(&self) -> bool {
        self.result == "ok"
    }

    /// Whether the kernel refused it for want of permission.
    pub fn is_refused(&self) -> bool {
        matches!(self.result.as_str(), "EACCES" | "EPERM" | "EROFS" | "EBUSY" | "EXDEV")
    }

    /// Whether it was about this place.
    pub fn is_about(&self, place: &Path) -> bool {
        self.places.iter().any(|known| known == place)
    }

    /// Reads a line. `None`: it is none of the actor's.
    pub fn read(line: &str) -> Option<Self> {
        let mut fields = line.strip_prefix(MARK)?.split('\t').map(str::to_owned);
        let (call, result) = (fields.next()?, fields.next()?);
        Some(Self { call, result, places: fields.map(PathBuf::from).collect() })
    }
}

/// What each line of the actor begins with: commands that it starts print as well.
const MARK: &str = "\u{1}";

impl fmt::Display for Logged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{}\t{}", self.call, self.result)?;
        self.places.iter().try_for_each(|place| write!(f, "\t{}", place.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let logged = Logged {
            call: "rename".into(),
            result: "EROFS".into(),
            places: vec!["/a".into(), "/b c".into()],
        };
        assert_eq!(Logged::read(&logged.to_string()), Some(logged));
        assert_eq!(Logged::read("Initialized empty Git repository"), None);
    }
}
