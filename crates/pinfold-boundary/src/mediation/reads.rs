//! Selection of the opens for reading that are observed: those whose path names something that may not be read.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold_policy::{DeniedPattern, Guards, KernelProtection};

/// Names by which a path is worth a look. Most paths have none of them, and nothing else is asked about those.
#[derive(Debug, Default)]
pub(crate) struct ReadNames {
    names: HashSet<OsString>,
    /// Suffixes of names (`.pem`), for patterns that begin with `*`.
    suffixes: Vec<Vec<u8>>,
    /// A pattern is too wide to be told by names.
    any: bool,
    /// A match of a pattern may be named relative to a directory that the pattern matches.
    relative: bool,
}

impl ReadNames {
    /// Names of the places that are guarded for reading, of those that are hidden, and of patterns that deny reading.
    pub(crate) fn new<'p>(
        guards: &Guards,
        hidden: impl Iterator<Item = &'p Path>,
        denied: impl Iterator<Item = DeniedPattern<'p>>,
    ) -> Self {
        let mut all = Self::default();
        for guard in
            guards.read_list().iter().filter(|guard| guard.kernel_protection() != KernelProtection::Asked)
        {
            all.add_pattern(guard.pattern().as_bytes());
        }
        denied.for_each(|pattern| all.add_denied(&pattern));
        all.names.extend(hidden.filter_map(Path::file_name).map(OsStr::to_owned));
        all
    }

    /// Adds the names of places that a guarded name leads to, there or yet to come.
    #[must_use]
    pub(crate) fn with_ends(mut self, ends: &[PathBuf]) -> Self {
        self.names.extend(ends.iter().filter_map(|end| end.file_name()).map(OsStr::to_owned));
        self
    }

    /// All opens are looked at.
    #[must_use]
    pub(crate) fn all(self) -> Self {
        Self { any: true, ..self }
    }

    fn add_denied(&mut self, pattern: &DeniedPattern<'_>) {
        let text = pattern.text();
        self.add_pattern(&text);
        // An existing directory is hidden, and no process works in it.
        let appears_later = || !pattern.is_whole() || pattern.place().symlink_metadata().is_err();
        self.relative |= text.ends_with(b"*") && appears_later();
    }

    /// The last component of a pattern tells it; a wild one by what follows its star, or the one before.
    fn add_pattern(&mut self, pattern: &[u8]) {
        let mut components = pattern.rsplit(|byte| *byte == b'/').filter(|component| !component.is_empty());
        for component in components.by_ref() {
            match component {
                b"**" => {}
                [b'*', rest @ ..] if !rest.is_empty() && !is_wild(rest) => {
                    return self.suffixes.push(rest.to_vec());
                }
                wild if is_wild(wild) => {}
                plain => {
                    self.names.insert(OsStr::from_bytes(plain).to_owned());
                    return;
                }
            }
        }
        self.any = true;
    }

    /// A link of the run's own that leads to such a place: its name is worth a look too.
    pub(crate) fn add_link(&mut self, link: &Path, text: &OsStr) {
        if self.matches(text) {
            self.names.extend(link.file_name().map(OsStr::to_owned));
        }
    }

    /// Notes that such a link has another name now.
    pub(crate) fn rename_link(&mut self, link: &Path, before: &Path) {
        let is_link = || link.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if let Some(name) = before.file_name()
            && self.names.contains(name)
            && is_link()
        {
            self.add_link(link, name);
        }
    }

    /// Returns whether a path, as a caller wrote it, is worth a look.
    pub(crate) fn matches(&self, path: &OsStr) -> bool {
        let bytes = path.as_bytes();
        self.any
            || self.relative && (!bytes.starts_with(b"/") || bytes.starts_with(b"/proc/"))
            || path.as_bytes().split(|byte| *byte == b'/').any(|component| {
                self.names.contains(OsStr::from_bytes(component))
                    || self.suffixes.iter().any(|suffix| component.ends_with(suffix))
            })
    }
}

fn is_wild(component: &[u8]) -> bool {
    component.iter().any(|byte| matches!(byte, b'*' | b'?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_worth_a_look_by_any_of_its_names() {
        let mut names =
            ReadNames::new(&Guards::default(), [Path::new("/h/private")].into_iter(), std::iter::empty());
        for pattern in ["/w/secrets/**", "**/*.pem", "**/key-??"] {
            names.add_pattern(pattern.as_bytes());
        }
        assert!(names.any, "a pattern without a plain name is worth every look");
        names.any = false;
        for (path, expected) in [
            ("/home/u/.ssh/id_rsa", true),
            ("x/../.ssh/id_rsa", true),
            ("../private/x", true),
            ("secrets", true),
            ("a/b.pem", true),
            ("/usr/lib/libc.so", false),
            ("src/main.rs", false),
        ] {
            assert_eq!(names.matches(OsStr::new(path)), expected, "{path}");
        }
        assert!(!names.matches(OsStr::new("innocent")));
        names.add_link(Path::new("/w/innocent"), OsStr::new("/home/u/.ssh/id_rsa"));
        assert!(names.matches(OsStr::new("innocent")));
    }
}
