//! Parts of a command that are known only at run time, and the lines that it gives to shells.

use pinfold_shell::Script;

use super::state::{self, CommandFolders, EnteredFolders};
use super::working_directory::WorkingDirectory;

/// A line that a shell would read which a command starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerLine {
    /// The line, as it was parsed.
    pub script: Script,
    /// The folders that it may start in.
    pub starts_in: Vec<WorkingDirectory>,
    /// The folders of each of its commands, where it starts in the folder of the call.
    pub folders: Vec<CommandFolders>,
}

impl InnerLine {
    pub(super) fn new(script: Script, found: &EnteredFolders) -> Self {
        let folders = state::folders(&script);
        Self { script, starts_in: found.folders.clone(), folders }
    }
}

/// A part of what a command would run that its words do not say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unknown {
    /// The program.
    Program,
    /// The program that this one starts.
    Started(String),
    /// The arguments that this program adds from its input.
    Arguments(String),
    /// Code in a language of its own that this program is told.
    Code(String),
    /// Commands or code that this program takes from its input.
    Input(String),
    /// No table describes this program, and its words name another that it may start.
    MayStart {
        /// The program.
        program: String,
        /// The program that it may start.
        starts: String,
    },
    /// More programs, one in another, than are looked through.
    TooMuch,
}
