//! One program with its arguments, as it would be started.

use std::sync::Arc;

use pinfold_shell::Word;

use super::words::last_name;

/// One program with its arguments, as it would be started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Invocation {
    /// The program and its arguments. Braces are expanded: `git pu{sh,ll}` has three words. Without braces they are those of the
    /// script, shared with it.
    pub words: Arc<Vec<Word>>,
    /// Programs that start it, outermost first; empty for a command as it is written.
    pub through: Vec<LaunchingProgram>,
    /// More arguments follow that are not known here, as `xargs` adds them.
    pub open_ended: bool,
}

/// A program that starts another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchingProgram {
    /// Its name: `sudo`, `xargs`.
    pub name: String,
}

impl Invocation {
    /// A program with its arguments that others start, outermost first.
    pub(crate) fn new(words: Vec<Word>, through: Vec<LaunchingProgram>, open_ended: bool) -> Self {
        Self { words: Arc::new(words), through, open_ended }
    }

    /// The program by its last component, when that is known: `git` for `/usr/bin/git`.
    pub fn name(&self) -> Option<&str> {
        self.program().map(last_name)
    }

    /// The program as it is written, when that is known.
    pub fn program(&self) -> Option<&str> {
        self.words.first()?.as_static()
    }

    /// The arguments.
    pub fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The arguments as far as they are known, in order; `None` stands for one or more unknown ones.
    pub fn known_args(&self) -> impl Iterator<Item = Option<&str>> {
        self.args().iter().map(Word::as_static)
    }
}
