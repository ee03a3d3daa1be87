//! What well-known programs do with their arguments, as data: which options take a value, which of them write,
//! read, run or load something, and what the operands are.
//!
//! The tables name what matters and every option that takes a value of its own (so that the value is not taken
//! for an operand); an option that is not in them is taken for a flag that does nothing of this kind.

mod act;
mod known;
mod scan;
mod setting;
mod table;

pub(super) use act::{Acts, FolderUse, Inner, InnerWords, Input, Touched, act};
pub(super) use scan::{Arg, scan};
pub(super) use setting::query_goes_beyond;
pub(super) use table::find;
#[cfg(test)]
pub(super) use table::starters;

use crate::claim::Operation;

/// One program, or one subcommand of a program.
pub(super) struct Program {
    /// Its names: the last component of the program, or the word of the subcommand.
    pub(super) names: &'static [&'static str],
    pub(super) style: Style,
    /// Options end at the first operand.
    pub(super) stops: bool,
    pub(super) options: &'static [Options],
    pub(super) operands: Operands,
    /// Whether it takes code or configuration from the folder that it works in.
    pub(super) folder: FolderUse,
    /// What it does with a place that a word names and no row speaks of.
    pub(super) reach: Reach,
    /// An option without a row, and a first operand that is no known subcommand, may do anything.
    pub(super) closed: bool,
    /// Its subcommands, by the first operand. What a subcommand does not know is looked up here.
    pub(super) commands: &'static [Program],
}

/// What a program does with a place that one of its words names, where no row of the tables speaks of that word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Reach {
    /// Nothing: its words are text.
    Text,
    /// It reads it at most.
    Reads,
    /// Not known.
    #[default]
    Anything,
}

/// How options are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `-a`, `-ab`, `-ovalue`, `--long`, `--long=value`, abbreviations of long ones.
    Gnu,
    /// As `Gnu`, with `-o=value` too, as programs of Go write it.
    Go,
    /// `-name value`, `-name=value`; two dashes mean the same.
    Single,
    /// A compiler's: `-name`, `-name value`, `-namevalue`, `--name=value`.
    Glued,
    /// Nothing is an option.
    Plain,
}

/// Options that do the same.
pub(super) struct Options {
    pub(super) names: &'static [&'static str],
    pub(super) takes: Takes,
    pub(super) does: Does,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// None.
    Nothing,
    /// One: glued, behind `=`, or the next word.
    Value,
    /// One or none: glued or behind `=` only.
    Glued,
}

/// What the operand or the value of an option is to the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The program is there for it.
    Command,
    /// Something else, beside the purpose.
    Aside,
}

/// What an option does.
#[derive(Clone, Copy)]
pub(super) enum Does {
    /// Nothing that matters here. What its value is, is not said.
    Nothing,
    /// Its value is text: a message, a pattern, a name of something that is no file.
    Text,
    /// Its value is a path that this is done to.
    Path(Operation, Purpose),
    /// Its value is the folder that it moves to.
    Folder,
    /// Its value is another folder that code is taken from.
    Source,
    /// Its value is a file in such a folder.
    FolderOf,
    /// It runs a program, loads code or opens a way to either; one clause for the person.
    Bars(&'static str),
    /// Its value is a command line that a shell runs.
    Line,
    /// It is inline code for the program's own language.
    Code,
    /// It makes the operands files that are changed in place.
    InPlace,
    /// The same; its value is the suffix of what was there.
    Suffix,
    /// It stands in for the first operand (`grep -e`).
    ForFirst,
    /// Its value is a file that is read, and it stands in for the first operand (`grep -f`).
    FirstFile,
    /// The first operand is a command line (`sh -c`).
    FirstIsLine,
    /// Its value is split into words in front of the operands (`env -S`).
    Words,
    /// Its value is a file that is written, or `|command`.
    Piped,
    /// Its value is `name=value` of a setting that may name programs (`git -c`).
    Setting,
    /// Its value is a file of settings; the program says whether it is read or written.
    ConfigFile,
    /// A file with a name of its own is written to the folder that it works in.
    Here,
    /// Its value is a format that may name a file (`curl -w`).
    WriteOut,
    /// Its value is `NAME=value` for a build, which may name programs.
    Define,
    /// Its value is an option for the compiler or the linker, which may name programs.
    Pass,
    /// Its value is a module of the language, in place of a script (`python -m`).
    Module,
    /// Its value is a place of this machine that a container gets.
    Mount,
    /// Its value is the network that a container gets.
    Network,
    /// Its value says where the result goes (`docker build -o`).
    Output,
    /// Its value is the folder that is filled; the program says when.
    Into,
    /// Its value is the archive; the program says whether it is made or read.
    Archive,
    /// Its value is a query, in a language that may run programs.
    Query,
    /// Its value is a script in sed's language, in place of the first operand.
    SedScript,
    /// Its value is where everything else goes (`cp -t`).
    Target,
    /// Its value is data, or with `@` in front a file that is read.
    AtFile,
    /// Its value is `name=@file` or `name=<file`.
    FormFile,
    /// Its value is data, `@file`, `name@file`, or `name=data`.
    Encoded,
    /// Its value is the name of a format, or a program for one.
    Format,
    /// Its value is a host or an address.
    Host,
    /// It makes the program another: the operands are not what they are without it.
    Otherwise(&'static Operands),
}

/// What the operands are.
#[derive(Clone, Copy)]
pub(super) enum Operands {
    /// Nothing that matters here.
    Nothing,
    /// Each is a path.
    Each(Operation, Purpose),
    /// As `Each`, but for the first one, which is a pattern, a mode or a script.
    AfterFirst(Operation, Purpose),
    /// The last is where the others go: what is done to them, and to it.
    Last(Operation, Operation),
    /// A program with its arguments, behind so many other operands.
    Command(usize),
    /// The same with `NAME=value` in front, as `env` and `sudo` take it.
    Environment,
    /// A program with its arguments that runs elsewhere: in a container, on another host.
    Elsewhere(usize),
    /// Words that are joined and given to a shell, behind so many other operands.
    Line(usize),
    /// A script of the program's language, then arguments for the script.
    Script,
    /// A script of a shell, then arguments for the script; without one, what is on standard input.
    ShellScript,
    /// Addresses.
    Hosts,
    /// It takes its own reading.
    Own(fn(&mut Acts<'_>, &[Arg<'_>])),
}

impl Program {
    pub(super) const fn options(self, options: &'static [Options]) -> Self {
        Self { options, ..self }
    }

    pub(super) const fn style(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Options end at the first operand.
    pub(super) const fn stops(self) -> Self {
        Self { stops: true, ..self }
    }

    /// It takes code or configuration from the folder that it works in.
    pub(super) const fn at_home(self) -> Self {
        Self { folder: FolderUse::Code, ..self }
    }

    /// Its words are text, whatever they look like.
    pub(super) const fn says(self) -> Self {
        Self { reach: Reach::Text, ..self }
    }

    /// It does nothing but read, whatever its words are.
    pub(super) const fn looks(self) -> Self {
        Self { reach: Reach::Reads, ..self }
    }

    /// The rows are complete: what has none may do anything.
    pub(super) const fn closed(self) -> Self {
        Self { closed: true, ..self }
    }

    pub(super) const fn commands(self, commands: &'static [Program]) -> Self {
        Self { commands, ..self }
    }
}

pub(super) const fn program(names: &'static [&'static str], operands: Operands) -> Program {
    Program {
        names,
        style: Style::Gnu,
        stops: false,
        options: &[],
        operands,
        folder: FolderUse::Nothing,
        reach: Reach::Anything,
        closed: false,
        commands: &[],
    }
}

const fn options(names: &'static [&'static str], takes: Takes, does: Does) -> Options {
    Options { names, takes, does }
}

/// Options with a value that is text, whatever it looks like.
pub(super) const fn text(names: &'static [&'static str]) -> Options {
    options(names, Takes::Value, Does::Text)
}

/// Options with a value that does not matter, unless it names a place.
pub(super) const fn takes(names: &'static [&'static str]) -> Options {
    options(names, Takes::Value, Does::Nothing)
}

/// Options without a value. Only those need a line that a dangerous one could be taken for an abbreviation of.
pub(super) const fn flag(names: &'static [&'static str], does: Does) -> Options {
    options(names, Takes::Nothing, does)
}

/// Options with a value that matters.
pub(super) const fn with(names: &'static [&'static str], does: Does) -> Options {
    options(names, Takes::Value, does)
}

/// Options with an optional value.
pub(super) const fn maybe(names: &'static [&'static str], does: Does) -> Options {
    options(names, Takes::Glued, does)
}

/// Options whose value is a file that is written beside the purpose.
pub(super) const fn writes(names: &'static [&'static str]) -> Options {
    with(names, Does::Path(Operation::Write, Purpose::Aside))
}

/// Options whose value is a file that is read.
pub(super) const fn reads(names: &'static [&'static str]) -> Options {
    with(names, Does::Path(Operation::Read, Purpose::Command))
}

/// Options whose value is a program that is run.
pub(super) const fn runs(names: &'static [&'static str]) -> Options {
    with(names, Does::Bars("runs the program that it names"))
}

/// Options whose value is code or configuration that is loaded.
pub(super) const fn loads(names: &'static [&'static str]) -> Options {
    with(names, Does::Bars("loads code or settings from where it says"))
}
