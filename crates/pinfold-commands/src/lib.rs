//! Effects of a command line: each simple command with the programs it would start, what they would write and read,
//! which hosts they would reach, and why a rule may not be enough to let it through.
//!
//! Pure: nothing is looked up. A word that is known only at run time stays unknown here.
//!
//! ```
//! use pinfold_commands::{Operation, analyze};
//!
//! let line = "cd core && sudo rm -rf ./build > log";
//! let effects = analyze(line, &pinfold_shell::parse(line));
//! let programs: Vec<_> = effects.commands[1].readings.iter().map(|reading| reading.name()).collect();
//! assert_eq!(programs, [Some("sudo"), Some("rm")]);
//! assert!(effects.paths.iter().any(|path| path.operation == Operation::Delete));
//! ```
//!
//! # Vocabulary
//! [`analyze()`], [`possible_files`], [`CommandEffects`], [`CommandClaim`], [`Invocation`], [`PathClaim`], [`NotAllowlistable`], [`SafeguardHit`].
//!
//! # Invariants
//! 1. No file, no clock, no environment: the same text has the same effects.
//! 2. What launchers, shells and interpreters would run is among the readings, or a [`NotAllowlistable`] says that it is not known.
//! 3. A command that no rule may allow never only reads.
//!
//! # What this does not see
//! The use that a program makes of what it reads, and the content of a script that is run by name. Files of a repository that git reads
//! without a word for them: an object by its hash, all that a commit changes.

mod analyze;
mod awk;
mod builtin;
mod constants;
mod environment;
#[cfg(test)]
mod generated_docs;
mod hidden;
mod host;
mod inputs;
mod invocation;
mod links;
mod name_map;
mod named;
mod opaque;
mod operation;
mod path_claim;
pub mod pieces;
mod possible_files;
pub(crate) mod program;
pub mod read_only;
pub mod safeguard;
mod sed;
mod startup_files;
mod state;
#[cfg(test)]
mod tests;
mod touch;
mod tracked;
mod tracked_claims;
mod unknown;
mod value;
pub mod wild;
mod words;
mod working_directory;
mod wrapper;

pub use invocation::{Invocation, LaunchingProgram};
pub use named::NamedPlace;
pub use operation::Operation;
pub use path_claim::{Assumption, Origin, PathClaim, PathText};
pub use possible_files::{Moves, NamedFrom, Patterns, PossibleFiles, possible_files};
pub use program::ProgramKind;
pub use startup_files::startup_files;
pub use state::{CommandFolders, may_move, searches_cdpath};
pub use unknown::{InnerLine, Unknown};
pub use working_directory::{BaseDirectory, EMPTY_DEVICES, WorkingDirectory};

use std::sync::LazyLock;

use pinfold_host::{Host, WebUrl};
use pinfold_shell::{Script, Span};

/// One simple command, understood as far as its words go. It is a part of the call like a path.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about one command")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandClaim {
    /// Place in the command line.
    pub span: Span,
    /// Every reading that a deny rule, an ask rule or a safeguard looks at: as written first, then what wrappers
    /// and launchers (`sudo`, `env`, `xargs`, `find -exec`, `sh -c`, …) would run, outermost first.
    pub readings: Vec<Invocation>,
    /// Index of the reading that allow rules look at.
    allowable: usize,
    /// Why no rule may allow it, if so.
    pub not_allowlistable: Vec<NotAllowlistable>,
    /// Effects that need a person whatever rules and modes say.
    pub safeguards: Vec<SafeguardHit>,
    /// Does nothing but read what it names, and says it.
    pub read_only: bool,
    /// Folders that a `cd` or `-C` may lead it to: it does nothing but read where each of them is the folder of the call.
    /// Empty where that does not count.
    pub read_dirs: Vec<PathText>,
    /// Without effect beyond the shell it stands in: `cd` within the folder, `true`, an assignment that changes
    /// nothing else.
    pub inert: bool,
    /// Other folders than that of the call that it works in and takes something from. Several, where it depends on
    /// what happens before; it has to be right in each.
    pub work_dirs: Vec<WorkFolder>,
    /// Folders that it, or what it starts, may run in, other than that of the call.
    pub exec_dirs: Vec<PathText>,
    /// May run, or start a program, in a folder that is known only at run time, or where paths are not ours.
    pub runs_anywhere: bool,
    /// Its use of the folder of the call, where it may work there.
    pub start_dir_use: WorkDirUse,
    /// Places that its words name, of which it is not known what it does with them.
    pub named: Vec<NamedPlace>,
    /// A word that is known only at run time may name any file.
    pub may_name_any_file: bool,
    /// The words of programs that are not known, and code, which may start any program that they name.
    pub unanalyzed: Vec<String>,
    /// Lines for shells that it starts, at any depth, and values of options that are run like one.
    pub inner_lines: Vec<InnerLine>,
    /// Parts of it that are known only at run time, each once.
    pub unknown: Vec<Unknown>,
    /// The folders that it may stand in, and those that it takes its shell to.
    pub folders: CommandFolders,
}

impl CommandClaim {
    /// The reading that allow rules look at: wrappers that change nothing (`timeout`, `nice`, …) are taken off.
    pub fn allowable(&self) -> &Invocation {
        static NOTHING: LazyLock<Invocation> = LazyLock::new(Invocation::default);
        self.readings.get(self.allowable).unwrap_or_else(|| &NOTHING)
    }

    /// Only assignments and redirects: nothing runs, and what would be written is a part of its own.
    pub fn has_no_command(&self) -> bool {
        self.allowable().words.is_empty()
    }

    /// Returns whether it starts another program than the one it names; wrappers that change nothing are not counted.
    pub fn launches(&self) -> bool {
        self.readings.iter().flat_map(|reading| &reading.through).any(|by| !wrapper::is_name(&by.name))
    }

    /// Returns whether it is a condition: it looks, says nothing, and changes nothing.
    pub fn is_condition(&self) -> bool {
        self.inert && matches!(self.allowable().program(), Some("test" | "[" | "[["))
    }

    /// Returns whether it does nothing but read, or goes to another folder to do so.
    pub fn only_reads(&self) -> bool {
        self.read_only || self.inert && self.allowable().name() == Some("cd")
    }
}

/// A folder that a command works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFolder {
    /// The folder, from the folder of the call if it is relative.
    pub path: PathText,
    /// Use that the command makes of it.
    pub takes: WorkDirUse,
}

/// Use that a command makes of the folder that it works in, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum WorkDirUse {
    /// Nothing but the files that it names.
    #[default]
    Nothing,
    /// A repository's settings, which may name programs, without changing the repository.
    Repository,
    /// The same, and it changes the repository.
    ChangesRepository,
    /// Code or settings of its own that it runs by: scripts, build files.
    ExecutedFiles,
}

/// Why no rule may allow a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAllowlistable {
    /// A stable name: `env-assignment`, `dynamic-program`, `launcher`, …
    pub id: &'static str,
    /// One clause for the person and the model: `PATH= changes which program runs`.
    pub why: String,
    /// A rule that holds this word literally means it, and is not held up: `-e` for `node -e …`. A word of the rule
    /// that goes on behind it with `=` counts.
    pub lifted_by: Option<String>,
}

impl NotAllowlistable {
    fn new(id: &'static str, why: impl Into<String>) -> Self {
        Self { id, why: why.into(), lifted_by: None }
    }
}

/// A safeguard that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SafeguardHit {
    /// Its stable name: `force-push`.
    pub id: &'static str,
    /// One clause: `rewrites a remote branch`.
    pub about: &'static str,
    /// Severity: which settings of `alwaysAsk` keep it.
    pub severity: Severity,
}

/// Severity of an effect, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Dangerous or suspicious; `alwaysAsk: medium` keeps it.
    Medium,
    /// The loss cannot be undone: disks, history of others; `alwaysAsk: high` keeps it too.
    High,
    /// A root or home directory goes, or its kind: always kept.
    Critical,
}

/// A host that a call would reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostClaim {
    /// The host, lower case, without port; `None` when it is known only at run time.
    pub host: Option<String>,
    /// Exactly where, when pinfold itself connects: what a command reaches is for its relay to see.
    pub at: Option<(Host, u16)>,
    /// A tool reaches it by itself. What a command reaches is asked about with the command, and held by its relay.
    pub of_tool: bool,
}

impl HostClaim {
    /// A host that a command names.
    pub fn from_command(host: Option<String>) -> Self {
        Self { host, at: None, of_tool: false }
    }

    /// A host that a third-party tool reaches and that nothing in its call names.
    pub fn unknown() -> Self {
        Self { host: None, at: None, of_tool: true }
    }

    /// The host of a page that is fetched.
    pub fn from_url(url: &WebUrl) -> Self {
        let at = Some((url.host().clone(), url.port()));
        Self { host: Some(url.host().to_string()), at, of_tool: true }
    }
}

/// Everything the commands of one command line would do, as far as it can be told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandEffects {
    /// Every simple command, in the order of the text.
    pub commands: Vec<CommandClaim>,
    /// Paths that they would write and read. Relative paths start from the folder of the call; a `cd` on the way is
    /// already part of them.
    pub paths: Vec<PathClaim>,
    /// The hosts they would reach.
    pub hosts: Vec<HostClaim>,
    /// Why no rule may allow the line as a whole, if so: a part that was not understood, an unknown file.
    pub not_allowlistable: Vec<NotAllowlistable>,
    /// Effects of the line as a whole that need a person: hidden characters, fork bombs, too many parts.
    pub safeguards: Vec<SafeguardHit>,
    /// Names that it gives to what has another.
    links: Vec<links::Link>,
}

/// The programs of the catalog that run a program, a line or code that they are told, and subcommands that do: `sudo`,
/// `docker run`.
pub fn launchers() -> Vec<String> {
    program::launchers()
}

/// Directories that only root can change on an ordinary system: a program there is the one its name says.
const SYSTEM: [&str; 6] =
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// Returns whether a program is named by its place in one of the system's directories.
pub fn is_system_path(program: &str) -> bool {
    let in_it =
        |dir: &str| program.strip_prefix(dir).is_some_and(|name| !name.is_empty() && !name.contains('/'));
    SYSTEM.iter().any(|dir| in_it(dir))
}

/// Returns the kind of a program, by its name, also with a version behind it: `python3.12`. Nothing for one that the catalog
/// does not have.
pub fn program_kind(name: &str) -> Option<ProgramKind> {
    program::kind(name)
}

/// Returns the kind of a program with subcommands by their words: `docker run`. Nothing when the catalog has no such program,
/// or no such subcommand of it.
pub fn subcommand_kind(words: &[&str]) -> Option<ProgramKind> {
    program::entry_of(words).map(|entry| entry.kind)
}

/// Returns the manual that the entry of a program was read from, with its version: `GNU coreutils 9.1`. Nothing for a program
/// without an entry, and for an entry of which none is known.
pub fn manual(name: &str) -> Option<&'static str> {
    program::find(name)?.manual()
}

/// Returns whether a program, or one of its subcommands, starts what it is told: `sudo`, `docker`, `docker run`.
pub fn can_launch(words: &[&str]) -> bool {
    let starts = |program: &program::Program| program.kind.launches();
    program::entry_of(words).is_some_and(|entry| starts(entry) || entry.commands().iter().any(starts))
}

/// Returns whether a program of this name runs scripts in the language of awk.
pub fn is_awk(name: &str) -> bool {
    program::is_awk(name)
}

/// Returns whether a program of this name runs scripts in the language of sed.
pub fn is_sed(name: &str) -> bool {
    program::is_sed(name)
}

/// Returns whether the tables describe a program of this name.
pub fn is_in_catalog(name: &str) -> bool {
    program::find(name).is_some()
}

/// Analyzes `script`, read from `text`.
pub fn analyze(text: &str, script: &Script) -> CommandEffects {
    analyze::analyze(text, script)
}
