//! Editors, databases, system tools, agents and media tools.

use std::borrow::Cow;

use Operation::{Edit, Read, Write};
use Purpose::Command;

use super::super::{Acts, Arg, Purpose};
use crate::Operation;

pub(super) fn in_namespace(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if words.first().and_then(|word| word.as_static()) == Some("exec") {
        acts.option_bar("option", "exec", "runs the program that it names");
        acts.start(words.get(2..).unwrap_or_default());
    }
}

/// `ed file`: its input is a script that may run anything.
pub(super) fn line_editor(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        acts.path(Cow::Owned(word.clone()), Edit, Command);
    }
    acts.input = super::super::Input::Script;
}

/// Reads a program that opens files: the file decides what runs.
pub(super) fn opener(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if matches!(acts.name, "open" | "xdg-open" | "start" | "gio" | "kde-open")
        && args.iter().any(|arg| arg.operand().is_some())
    {
        acts.program_bar(
            args.iter().find_map(Arg::operand),
            "starts whatever program the file or address belongs to",
        );
    }
}

/// Another agent, with modes and settings of its own.
pub(super) fn agent(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let asks = |word: &&pinfold_shell::Word| {
        matches!(word.as_static(), Some("--version" | "--help" | "-v" | "-h" | "version" | "help"))
    };
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if !words.iter().all(asks) || words.is_empty() {
        acts.program_bar(None, "starts another agent, which has its own limits");
    }
}

/// `sqlite3 file 'commands'`: lines that start with a dot write files and run programs.
pub(super) fn sqlite(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((file, queries)) = words.split_first() else { return };
    // Wildcards match nothing that begins so, and stay what they are.
    let text = super::super::super::words::unmatched(file);
    if let Some(path) = text.as_deref().and_then(pinfold_host::file_url) {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        acts.path_text(path, file, Edit, Command);
    } else if !matches!(file.as_static(), Some(":memory:" | "")) {
        acts.path(Cow::Owned((*file).clone()), Edit, Command);
    }
    for query in queries {
        acts.query(query);
    }
    acts.input = super::super::Input::Queries;
}

/// Queries may come from its input.
pub(super) fn database(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.input = super::super::Input::Queries;
}

/// Only looking is let through.
pub(super) fn system_control(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let looks = [
        "status",
        "list-units",
        "list-unit-files",
        "show",
        "cat",
        "is-active",
        "is-enabled",
        "is-failed",
        "list",
        "help",
        "get-default",
    ];
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if acts.name != "journalctl" && !first.is_none_or(|verb| looks.iter().any(|look| verb.starts_with(look)))
    {
        acts.program_bar(args.iter().find_map(Arg::operand), "changes what the system runs");
    }
}

pub(super) fn crontab(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    acts.program_bar(args.iter().find_map(Arg::operand), "changes what the system runs by itself");
}

pub(super) fn always(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    acts.program_bar(args.iter().find_map(Arg::operand), "changes the system outside any folder");
}

/// The gate itself is a process too.
pub(super) fn kills(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let names_gate = |word: &pinfold_shell::Word| {
        word.as_static()
            .is_none_or(|text| text.to_ascii_lowercase().contains("pinfold") || matches!(text, "-1" | "1"))
    };
    if acts.name != "kill" && args.iter().filter_map(Arg::operand).any(names_gate) {
        acts.program_bar(None, "may kill the supervisor of the sandbox");
    }
}

/// Images that are read, and the last that is written. What stands behind an option, or behind the name of a format
/// (`text:file`, `label:@file`), is read or written in its own way and stays a word that names a place.
pub(super) fn images(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let is_option = |word: &pinfold_shell::Word| word.literal_prefix().starts_with(['-', '+']);
    for (at, word) in words.iter().enumerate() {
        let behind =
            at.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|word| is_option(word));
        let prefixed = word.literal_prefix().contains([':', '@']);
        if at + 1 == words.len() && !prefixed {
            acts.path(Cow::Owned((*word).clone()), Write, Command);
        } else if !behind && !prefixed && !is_option(word) {
            acts.path(Cow::Owned((*word).clone()), Read, Command);
        }
    }
}

/// The last operand is written; with a scheme it is sent.
pub(super) fn ffmpeg(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if acts.name == "ffmpeg" {
        for word in args.iter().filter_map(Arg::operand) {
            if word.literal_prefix().contains("://") {
                acts.host(word);
                acts.named_bar(word.as_static(), "sends its output to another host");
                continue;
            }
            acts.path(Cow::Owned(word.clone()), Write, Command);
        }
        return;
    }
    for word in args.iter().filter_map(Arg::operand) {
        acts.path(Cow::Owned(word.clone()), Read, Command);
    }
}
