//! The catalog of programs as `build.rs` compiled it from `programs/*.txt`: tables that refer to each other by index.

use super::readings::OwnReading;
use super::slots::{EMPTY, slots};
use super::{
    Operands, OptionEffect, Options, OwnCheck, Program, ProgramKind, Purpose, Reach, ReadOnly, Style, Takes,
    WorkDirUse,
};
use crate::Operation;

include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// A text of the catalog.
#[derive(Clone, Copy)]
pub(crate) struct Interned {
    at: u16,
    length: u8,
}

/// Rows of a table, one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    from: u16,
    to: u16,
}

impl Interned {
    /// Returns whether it is this text. Most are not, and are told by their length.
    fn is(self, text: &str) -> bool {
        let at = usize::from(self.at);
        usize::from(self.length) == text.len()
            && TEXT.as_bytes().get(at..at + text.len()) == Some(text.as_bytes())
    }

    /// The text.
    pub(crate) fn as_str(self) -> &'static str {
        let at = usize::from(self.at);
        TEXT.get(at..at + usize::from(self.length)).unwrap_or_default()
    }
}

impl std::fmt::Debug for Interned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

impl Span {
    fn rows<T>(self, table: &'static [T]) -> &'static [T] {
        table.get(usize::from(self.from)..usize::from(self.to)).unwrap_or_default()
    }

    /// Returns the first of these rows with a name, by the slots of its table.
    fn find<T>(
        self,
        name: &str,
        named: &[u16],
        table: &'static [T],
        is_named: fn(&T, &str) -> bool,
    ) -> Option<&'static T> {
        if self.from == self.to {
            return None;
        }
        for slot in slots(self.from, name, named.len()) {
            let row = named.get(slot).copied().filter(|row| *row != EMPTY)?;
            let own = table.get(usize::from(row)).filter(|_| (self.from..self.to).contains(&row));
            if let Some(found) = own.filter(|row| is_named(row, name)) {
                return Some(found);
            }
        }
        None
    }

    /// Returns whether one of the names in these rows is this.
    fn has_name(self, name: &str) -> bool {
        self.rows(&NAMES).iter().any(|own| own.is(name))
    }

    /// The names in these rows.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        self.rows(&NAMES).iter().map(|name| name.as_str())
    }
}

impl Program {
    /// Its names, or those of the subcommand.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.names()
    }

    /// Returns whether it has this name, or its subcommand this word.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.names.has_name(name)
    }

    /// Its options that only change what is read and how that is shown.
    pub(crate) fn safe_options(&self) -> impl Iterator<Item = &'static str> {
        self.safe.names()
    }

    /// The manual that the entry was read from, with its version.
    pub(crate) fn manual(&self) -> Option<&'static str> {
        Some(self.manual.as_str()).filter(|manual| !manual.is_empty())
    }

    /// Its own options, without those of the program that it is a subcommand of.
    pub(crate) fn options(&self) -> &'static [Options] {
        self.options.rows(&OPTIONS)
    }

    /// Its own option of that name.
    pub(crate) fn option(&self, name: &str) -> Option<&'static Options> {
        self.options.find(name, &OPTION_SLOTS, &OPTIONS, Options::is_named)
    }

    /// Its subcommands, by the first operand. What a subcommand does not know is looked up here.
    pub(crate) fn commands(&self) -> &'static [Program] {
        self.commands.rows(&PROGRAMS)
    }
}

impl Options {
    /// Returns whether this is one of their names: `-a`, `--all`.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.names.has_name(name)
    }

    /// Their names, with the dashes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.names()
    }
}

/// Returns the entry of a program, by its name.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    ALL.find(name, &PROGRAM_SLOTS, &PROGRAMS, Program::is_named)
}

/// Returns the subcommand of that name.
pub(crate) fn command(program: &'static Program, name: &str) -> Option<&'static Program> {
    program.commands.find(name, &PROGRAM_SLOTS, &PROGRAMS, Program::is_named)
}

/// Entry for a program without one: its words are read as most programs read theirs.
pub(crate) static UNLISTED: Program = Program {
    names: NOTHING,
    kind: ProgramKind::Plain,
    style: Style::Gnu,
    stops: false,
    options: NOTHING,
    operands: Operands::Nothing,
    folder: WorkDirUse::ExecutedFiles,
    reach: Reach::Anything,
    closed: false,
    commands: NOTHING,
    read_only: ReadOnly::No,
    tame: false,
    safe: NOTHING,
    manual: Interned { at: 0, length: 0 },
};

const NOTHING: Span = Span { from: 0, to: 0 };

/// Returns the entry of a program, by its name, also that of a shell or an interpreter with a version behind it that the catalog
/// does not have: `lua5.2`.
pub(crate) fn find_versioned(name: &str) -> Option<&'static Program> {
    find(name).or_else(|| {
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        // Without a version it is the same name.
        find(Some(bare).filter(|bare| bare.len() < name.len())?).filter(|program| program.kind.runs_code())
    })
}

/// Returns the same; an empty entry for a program without.
pub(crate) fn find_or_unlisted(name: &str) -> &'static Program {
    find_versioned(name).unwrap_or(&UNLISTED)
}

/// Every program.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Program> {
    ALL.rows(&PROGRAMS).iter()
}

/// A shell or an interpreter by its name, also with a version behind it.
pub(crate) fn interpreter(name: &str) -> Option<&'static Program> {
    find_versioned(name).filter(|program| program.kind.runs_code())
}

/// Returns the kind of a program, by its name, also with a version behind it; nothing for one without an entry.
pub(crate) fn kind(name: &str) -> Option<ProgramKind> {
    find_versioned(name).map(|program| program.kind)
}

/// The programs that run a program, a line or code that they are told, and subcommands that do: `sudo`, `docker run`.
pub(crate) fn launchers() -> Vec<String> {
    let mut found = Vec::new();
    for program in ALL.rows(&PROGRAMS) {
        program.names.names().for_each(|name| add_starters(program, name, &mut found));
    }
    found
}

fn add_starters(program: &'static Program, words: &str, found: &mut Vec<String>) {
    if program.kind.launches() {
        found.push(words.to_owned());
    }
    for command in program.commands() {
        for name in command.names.names() {
            add_starters(command, &format!("{words} {name}"), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each name of each program, subcommand and option is found where looking at each row finds it first.
    fn is_found(program: &'static Program) {
        for command in program.commands() {
            for name in command.names() {
                let first = program.commands().iter().find(|command| command.is_named(name)).unwrap();
                assert!(std::ptr::eq(super::command(program, name).unwrap(), first), "{name}");
            }
            is_found(command);
        }
        for name in program.options().iter().flat_map(Options::names) {
            let first = program.options().iter().find(|options| options.is_named(name)).unwrap();
            assert!(std::ptr::eq(program.option(name).unwrap(), first), "{name}");
        }
        assert!(
            command(program, "no-such-command").is_none() && program.option("--no-such-option").is_none()
        );
    }

    #[test]
    fn every_program_is_found_by_each_of_its_names() {
        for program in all() {
            for name in program.names() {
                let first = all().find(|program| program.is_named(name)).unwrap();
                assert!(std::ptr::eq(find(name).unwrap(), first), "{name}");
            }
            is_found(program);
        }
        assert!(find("").is_none() && find("no-such-program").is_none());
    }

    #[test]
    fn a_kind_stands_in_the_entry_or_follows_from_its_operands() {
        for (name, is) in [
            ("timeout", Some(ProgramKind::Wrapper)),
            ("gtimeout", Some(ProgramKind::Launcher)),
            ("sudo", Some(ProgramKind::Launcher)),
            ("xargs", Some(ProgramKind::Launcher)),
            ("sh", Some(ProgramKind::Shell)),
            ("zsh-5.9", Some(ProgramKind::ForeignShell)),
            ("python3.99", Some(ProgramKind::Interpreter)),
            ("gawk", Some(ProgramKind::Interpreter)),
            ("git", Some(ProgramKind::Plain)),
            ("no-such-program", None),
        ] {
            assert_eq!(kind(name), is, "{name}");
        }
    }
}
