//! Commands that do nothing but read: programs that only look, with options that were reviewed one by one.
//!
//! The catalog names what is let through (`read-only` and `safe` in `programs/*.txt`). An option that runs something, writes something, or reads a file as
//! options, patterns or configuration is not in them; nor is an option that is cut short, or one they do not know.
//! What a command reads is a claim like any other and is judged besides; here it only has to be known.
//!
//! The trap: a word that is known only at run time may turn out to be an option. A glob is one such word, since a
//! file may be named `--output=x`.

mod expression;
mod git;
mod operands;
mod strict;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use expression::may_be_read_as_bsd;

use pinfold_shell::{Assignment, Redirect, RedirectKind, SimpleCommand, Word};

use crate::Invocation;
use crate::program::{OwnCheck, Program, ReadOnly, Scanned, find};
use crate::wrapper;

/// The folders in which a command only reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadsIn {
    /// In any folder.
    Anywhere,
    /// In the folder of the call, since git runs what a repository's settings name: after it moved to each of these folders, the
    /// first of which is from where the command stands.
    Repository(Vec<Word>),
}

/// Returns where a simple command only reads; nothing if it may do more. `invocation` is what it runs once wrappers that
/// change nothing are taken off; `scanned`: its arguments as its program reads them.
///
/// Commands that read nothing and only say something (`echo`) are not among these.
pub(crate) fn read_dirs<'a>(
    command: &SimpleCommand,
    invocation: &'a Invocation,
    scanned: Option<&Scanned<'a>>,
) -> Option<ReadsIn> {
    let (name, args) = (plain_program(command, invocation)?, invocation.args());
    if name == "git" {
        let folders = git::folders_read_in(args, scanned)?;
        return Some(ReadsIn::Repository(folders.into_iter().cloned().collect()));
    }
    find(name).filter(|program| only_reads_with(program, name, args, scanned)).map(|_| ReadsIn::Anywhere)
}

/// The program's name, if nothing around it does more than read.
fn plain_program<'a>(command: &SimpleCommand, invocation: &'a Invocation) -> Option<&'a str> {
    let is_plain = !command.place.background
        && command.assignments.iter().all(is_harmless)
        && command.redirects.iter().all(only_reads)
        && !invocation.open_ended
        && invocation.through.iter().all(|through| writes_nothing(&through.name));
    program(invocation).filter(|_| is_plain)
}

/// Returns whether a name is that of a wrapper that writes nothing itself, as `nohup` does.
fn writes_nothing(name: &str) -> bool {
    wrapper::is_name(name) && name != "nohup"
}

/// The program's name, if it is one that the system has: given without a folder, or in one of the system's.
fn program(invocation: &Invocation) -> Option<&str> {
    let program = invocation.program()?;
    ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"]
        .iter()
        .find_map(|folder| program.strip_prefix(folder))
        .or(Some(program))
        .filter(|name| !name.contains('/'))
}

fn only_reads_with<'a>(
    program: &'static Program,
    name: &str,
    args: &'a [Word],
    scanned: Option<&Scanned<'a>>,
) -> bool {
    match program.read_only {
        ReadOnly::No => false,
        ReadOnly::Own(OwnCheck::Command) => expression::command(args),
        ReadOnly::Own(OwnCheck::Find) => expression::find(program, args),
        ReadOnly::Own(OwnCheck::Jq) => expression::jq(program, args),
        ReadOnly::Own(OwnCheck::Ps) => expression::ps(args),
        ReadOnly::Own(OwnCheck::Sed) => expression::sed(program, args, scanned),
        ReadOnly::Own(OwnCheck::Test) => expression::test(name, args),
        ReadOnly::Own(OwnCheck::Xxd) => expression::xxd(args),
        kind => strict::read(program, args, scanned)
            .is_some_and(|arguments| operands::accept(kind, args, &arguments)),
    }
}

/// Returns whether a program of this name only reads with any of its reviewed options, whatever its operands are.
pub fn is_in_catalog(name: &str) -> bool {
    find(name).is_some_and(|program| !matches!(program.read_only, ReadOnly::No | ReadOnly::Own(_)))
}

/// Returns whether a variable in front changes only how things are shown.
fn is_harmless(assignment: &Assignment) -> bool {
    let Some(value) = assignment.value.as_static() else { return false };
    let shows = matches!(
        assignment.name.as_str(),
        "LANG"
            | "LANGUAGE"
            | "TZ"
            | "TERM"
            | "NO_COLOR"
            | "CLICOLOR"
            | "FORCE_COLOR"
            | "COLUMNS"
            | "LINES"
            | "GIT_OPTIONAL_LOCKS"
    ) || assignment.name.starts_with("LC_");
    // A value that is a path would be read.
    let is_path = value.starts_with(['/', '.', ':']) || value.contains("..");
    assignment.elements.is_empty() && shows && !is_path
}

/// Returns whether a redirect writes nothing that stays.
fn only_reads(redirect: &Redirect) -> bool {
    match redirect.kind {
        // bash itself connects to what these name.
        RedirectKind::Read if redirect.target.literal_prefix().starts_with("/dev/tcp") => false,
        RedirectKind::Read if redirect.target.literal_prefix().starts_with("/dev/udp") => false,
        RedirectKind::Read => words::names_files(&redirect.target),
        RedirectKind::Write | RedirectKind::Append => redirect.target.as_static() == Some("/dev/null"),
        RedirectKind::ReadWrite => false,
        RedirectKind::Duplicate | RedirectKind::HereDocument | RedirectKind::HereString => true,
    }
}
