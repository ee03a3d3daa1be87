//! Effects of well-known programs by their arguments: which options take a value, which of them write, read, run or load
//! something, and what the operands are. The data stands in `programs/*.txt`.
//!
//! The catalog names what matters and every option that takes a value of its own (so that the value is not taken
//! for an operand); an option that is not in them is taken for a flag that does nothing of this kind.

mod catalog;
mod effects;
mod readings;
mod scan;
mod setting;
mod slots;

#[cfg(test)]
pub(crate) use catalog::all;
pub(crate) use catalog::{
    Span, UNLISTED, command, find, find_or_unlisted, find_versioned, interpreter, kind, launchers,
};
pub(super) use effects::{
    InvocationEffects, NamedFileWord, StandardInput, StartedProgram, StartedWords, WorkDirUse,
};
use scan::scan;
pub(crate) use scan::{Arg, Scanned, first_operand, scan_as, scan_everywhere};
pub(super) use setting::query_goes_beyond;

use self::catalog::Interned;
use self::readings::OwnReading;
use crate::Operation;

/// One program, or one subcommand of a program.
pub(crate) struct Program {
    /// Its names: the last component of the program, or the word of the subcommand.
    names: Span,
    pub(crate) kind: ProgramKind,
    pub(super) style: Style,
    /// Options end at the first operand.
    pub(super) stops: bool,
    options: Span,
    pub(super) operands: Operands,
    /// Use of code or configuration in the folder that it works in.
    pub(super) folder: WorkDirUse,
    /// Use of a place that a word names and no row speaks of.
    pub(super) reach: Reach,
    /// An option without a row, and a first operand that is no known subcommand, may do anything.
    pub(super) closed: bool,
    /// Its subcommands, by the first operand. What a subcommand does not know is looked up here.
    commands: Span,
    /// Its read-only class, with options that were reviewed.
    pub(crate) read_only: ReadOnly,
    /// No option of it at all runs or writes anything, so that a word which turns out to be an option does not matter.
    pub(crate) tame: bool,
    safe: Span,
    /// The manual that the entry was read from, with its version; empty where none is known.
    manual: Interned,
}

/// Kind of a program: what it does with its words beside what they name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramKind {
    /// Does what it is there for.
    Plain,
    /// Starts the rest of its words and changes nothing about that which a rule could mean: `timeout`.
    Wrapper,
    /// Starts a program or a command line that its words name: `sudo`, `xargs`, `find`.
    Launcher,
    /// A shell whose command lines are read here: `sh`.
    Shell,
    /// A shell with a language of its own, so that its lines are code: `fish`.
    ForeignShell,
    /// Runs code of a language: `python3`.
    Interpreter,
}

impl ProgramKind {
    /// Returns whether its words can be a program, a command line or code, which it runs.
    pub fn launches(self) -> bool {
        self != Self::Plain
    }

    /// Returns whether it runs a language, that of a shell or another.
    pub(crate) fn runs_code(self) -> bool {
        match self {
            Self::Shell | Self::ForeignShell | Self::Interpreter => true,
            Self::Plain | Self::Wrapper | Self::Launcher => false,
        }
    }
}

/// Read-only class of a program: whether it does nothing but read, and what its operands may be then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadOnly {
    /// Not known to.
    No,
    /// No operands at all.
    None,
    /// Text that names no file; each has to be known.
    Text,
    /// Files and folders.
    Files,
    /// Files, none of which starts with `@`: such a one is read as options.
    Objects,
    /// Files and folders that are gone through, so that no folder may be among them that holds whole homes.
    Trees,
    /// At most so many files: a further one would be written.
    AtMost(u8),
    /// Text that starts so.
    Starting(char),
    /// A pattern, then as `Trees`. One of these options takes the pattern's place.
    Search(Span),
    /// Revisions and names in a repository.
    Any,
    /// As `Any`, but with one of these options only.
    With(Span),
    /// As `Any`, and the first argument is one of these words, or there are no operands.
    Verb(Span),
    /// As `Any`, and the first argument is one of these words.
    Needs(Span),
    /// Its arguments are a language of their own.
    Own(OwnCheck),
}

/// A language of arguments of which code says whether they only read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnCheck {
    Command,
    Find,
    Jq,
    Ps,
    Sed,
    Test,
    Xxd,
}

/// Use that a program makes of a place that one of its words names, where no row of the tables speaks of that word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Reach {
    /// Nothing: its words are text.
    Text,
    /// Reads it at most.
    Reads,
    /// Not known.
    #[default]
    Anything,
}

/// Style of options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// `-a`, `-ab`, `-ovalue`, `--long`, `--long=value`, abbreviations of long ones.
    Gnu,
    /// As `Gnu`, with `-o=value` too, as programs of Go write it.
    Go,
    /// `-name value`, `-name=value`; two dashes mean the same.
    Single,
    /// A compiler's: `-name`, `-name value`, `-namevalue`, `--name=value`.
    Glued,
    /// `-ab VALUE VALUE`: values stand in the next words alone, and letters go on behind one that takes a value (tree).
    Apart,
    /// Nothing is an option.
    Plain,
}

/// Options that do the same.
pub(crate) struct Options {
    names: Span,
    pub(crate) takes: Takes,
    pub(crate) effect: OptionEffect,
}

/// Value of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    /// None.
    Nothing,
    /// One: glued, behind `=`, or the next word.
    Value,
    /// One or none: glued or behind `=` only.
    Glued,
}

/// Meaning of an operand, or of the value of an option, to the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// The program is there for it.
    Command,
    /// Something else, beside the purpose.
    Aside,
}

/// Effect of an option. Each is named by its word in the catalog.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OptionEffect {
    /// Nothing that matters here. What its value is, is not said.
    Plain,
    /// The value is text: a message, a pattern, a name of something that is no file.
    Text,
    /// The value is a path that this is done to.
    Path(Operation, Purpose),
    /// The value is the folder that it moves to.
    WorksIn,
    /// The value is another folder that code is taken from.
    CodeFolder,
    /// The value is a file in such a folder.
    CodeFile,
    /// Runs a program, loads code or opens a way to either; one clause for the person.
    OnlyByName(Interned),
    /// The value is a command line that a shell runs.
    CommandLine,
    /// Inline code for the program's own language.
    Code,
    /// Makes the operands files that are changed in place.
    InPlace,
    /// The same; its value is the suffix of what was there.
    InPlaceSuffix,
    /// Stands in for the first operand (`grep -e`).
    ForFirst,
    /// The value is a file that is read, and it stands in for the first operand (`grep -f`).
    ForFirstFile,
    /// The first operand is a command line (`sh -c`).
    FirstIsCommandLine,
    /// The value is split into words in front of the operands (`env -S`).
    SplitWords,
    /// The value is a file that is written, or `|command`.
    WritesOrPipes,
    /// The value is `name=value` of a setting that may name programs (`git -c`).
    Setting,
    /// The value is a file of settings; the program says whether it is read or written.
    ConfigFile,
    /// A file with a name of its own is written to the folder that it works in.
    WritesHere,
    /// The value is a format that may name a file (`curl -w`).
    WriteOut,
    /// The value is `NAME=value` for a build, which may name programs.
    Define,
    /// The value is an option for the compiler or the linker, which may name programs.
    PassOn,
    /// The value is a module of the language, in place of a script (`python -m`).
    Module,
    /// The value is a place of this machine that a container gets.
    Mount,
    /// The value is the network that a container gets.
    ContainerNetwork,
    /// The value says where the result goes (`docker build -o`).
    BuildOutput,
    /// The value is the folder that is filled; the program says when.
    Into,
    /// The value is the archive; the program says whether it is made or read.
    Archive,
    /// The value is a query, in a language that may run programs.
    Query,
    /// The value is a script in sed's language, in place of the first operand.
    SedScript,
    /// The value is where everything else goes (`cp -t`).
    TargetFolder,
    /// The value is data, or with `@` in front a file that is read.
    AtFile,
    /// The value is `name=@file` or `name=<file`.
    FormFile,
    /// The value is data, `@file`, `name@file`, or `name=data`.
    EncodedFile,
    /// The value is the name of a format, or a program for one.
    Format,
    /// The value is a host or an address.
    Host,
    /// The value names a file of a commit behind a colon (`git config --blob`).
    Tracked,
    /// Reads files that its words do not name (`git cat-file --batch`).
    UnnamedFiles,
    /// Makes the program another: the operands are not what they are without it.
    Otherwise(Operands),
}

/// Kind of the operands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operands {
    /// Nothing that matters here.
    Nothing,
    /// Each is a path.
    Each(Operation, Purpose),
    /// As `Each`, but for the first one, which is a pattern, a mode or a script.
    AfterFirst(Operation, Purpose),
    /// The last is where the others go: what is done to them, and to it.
    Last(Operation, Operation),
    /// A program with its arguments, behind so many other operands.
    Command(u8),
    /// The same with `NAME=value` in front, as `env` and `sudo` take it.
    Environment,
    /// A program with its arguments that runs elsewhere: in a container, on another host.
    Elsewhere(u8),
    /// Words that are joined and given to a shell, behind so many other operands.
    Line(u8),
    /// A script of the program's language, then arguments for the script.
    Script,
    /// A script of a shell, then arguments for the script; without one, what is on standard input.
    ShellScript,
    /// Addresses.
    Hosts,
    /// Read by code of its own.
    Own(OwnReading),
}

/// Returns the entry of a program, or of its subcommand, by the words for it.
pub(crate) fn entry_of(words: &[&str]) -> Option<&'static Program> {
    let (program, commands) = words.split_first()?;
    let program = find_versioned(program)?;
    commands.iter().try_fold(program, |program, word| command(program, word))
}

/// Returns whether variables may be set in front of the program that it starts: `env A=1 make`.
pub(crate) fn takes_assignments(name: &str) -> bool {
    find(name).is_some_and(|program| matches!(program.operands, Operands::Environment))
}

/// Returns whether a program runs scripts in the language of awk.
pub(crate) fn is_awk(name: &str) -> bool {
    find(name).is_some_and(|program| matches!(program.operands, Operands::Own(OwnReading::AwkProgram)))
}

/// Returns whether a program runs scripts in the language of sed.
pub(crate) fn is_sed(name: &str) -> bool {
    find(name).is_some_and(|program| matches!(program.operands, Operands::Own(OwnReading::SedScript)))
}

/// Returns whether a program starts others for what it finds below the folders that it is told.
pub(super) fn is_search(name: &str) -> bool {
    find(name)
        .is_some_and(|program| matches!(program.operands, Operands::Own(OwnReading::Find | OwnReading::Fd)))
}
