//! The changes that a patch would make: files, and lines of them. Nothing here looks at a file.
//!
//! Two dialects are read: the envelope between `*** Begin Patch` and `*** End Patch` that coding agents
//! write, and unified diffs as `diff -u` and `git diff` print them.

mod envelope;
mod unified;

use std::fmt;

use pinfold_commands::PathText;

/// Most files of one patch: a bound on held directories, far above the number that a change by hand touches.
pub const MAX_FILES: usize = 500;

/// A patch, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    files: Vec<FileChange>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// A new file.
    Add {
        /// Its name.
        path: PathText,
        /// Its whole content.
        content: String,
    },
    /// A file that goes away.
    Delete {
        /// Its name.
        path: PathText,
        /// The deleted lines by the diff; an envelope has none.
        hunks: Vec<Hunk>,
    },
    /// A file with changed lines, a new name, or both.
    Update {
        /// Its name before.
        path: PathText,
        /// Its name after, when it changes.
        move_to: Option<PathText>,
        /// The changes, in the order of the file.
        hunks: Vec<Hunk>,
    },
}

/// A run of changed lines with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// Lines to look for first, one after the other, before the hunk itself (`@@ fn main`).
    pub anchors: Vec<String>,
    /// The line the hunk starts at, counted from 1, when the dialect says so.
    pub start: Option<u64>,
    /// The lines, in order, without their line break.
    pub lines: Vec<HunkLine>,
    /// The hunk touches the end of the file.
    pub at_end: bool,
    /// The old file's last line, which this hunk names, has no line break.
    pub old_unended: bool,
    /// The new file's last line, which this hunk names, has no line break.
    pub new_unended: bool,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    /// Stands in both.
    Keep(String),
    /// Stands in the old file only.
    Remove(String),
    /// Stands in the new file only.
    Insert(String),
}

/// Why a text is not a patch: the line, counted from 1, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPatch {
    /// The line of the patch, counted from 1.
    pub line: usize,
    /// The expected text.
    pub expected: String,
}

impl BadPatch {
    fn new(line: usize, expected: impl Into<String>) -> Self {
        Self { line, expected: expected.into() }
    }
}

impl fmt::Display for BadPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the patch: expected {}", self.line, self.expected)
    }
}

impl Patch {
    /// Reads a patch in either dialect.
    ///
    /// # Errors
    /// [`BadPatch`] names the line; a patch that names one file twice is refused, since the order in which
    /// two changes of one file are meant is a guess.
    pub fn parse(text: &str) -> Result<Self, BadPatch> {
        let files = if envelope::looks_like(text) {
            envelope::parse(text)?
        } else if let Some(line) = envelope::line_with_marker(text) {
            // Lenient readers find the envelope behind anything, and pass over the diff.
            return Err(BadPatch::new(
                line,
                "`*** Begin Patch` as the first line, or a diff without such markers",
            ));
        } else {
            unified::parse(text)?
        };
        if files.is_empty() {
            return Err(BadPatch::new(1, "`*** Begin Patch`, or a unified diff with `---` and `+++` lines"));
        }
        if files.len() > MAX_FILES {
            return Err(BadPatch::new(1, format!("at most {MAX_FILES} files")));
        }
        let mut names: Vec<_> = files.iter().flat_map(FileChange::names).collect();
        names.sort_unstable_by_key(|n| n.as_os_str());
        if let Some([twice, _]) = names.array_windows().find(|[a, b]| a == b) {
            let name = twice.as_os_str().to_string_lossy().into_owned();
            return Err(BadPatch::new(1, format!("each file once, `{name}` is named twice")));
        }
        Ok(Self { files })
    }

    /// The files, in the order of the patch.
    pub fn files(&self) -> &[FileChange] {
        &self.files
    }
}

impl FileChange {
    /// The names this change touches: one, or two when the file moves.
    fn names(&self) -> impl Iterator<Item = &PathText> {
        let (first, second) = match self {
            Self::Add { path, .. } | Self::Delete { path, .. } => (path, None),
            Self::Update { path, move_to, .. } => (path, move_to.as_ref()),
        };
        std::iter::once(first).chain(second)
    }
}

#[cfg(test)]
mod tests;
