//! Editors, databases, system tools, agents and media tools.

use std::borrow::Cow;

use Operation::{Edit, Read, Write};
use Purpose::Command;

use super::super::{Arg, InvocationEffects, Purpose};
use crate::Operation;

pub(super) fn in_namespace(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if words.first().and_then(|word| word.as_static()) == Some("exec") {
        effects.exclude_option("option", "exec", "runs the program that it names");
        effects.start(words.get(2..).unwrap_or_default());
    }
}

/// `ed file`: its input is a script that may run anything.
pub(super) fn line_editor(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        effects.touch(Cow::Owned(word.clone()), Edit, Command);
    }
    effects.input = super::super::StandardInput::Script;
}

/// Reads a program that opens files: the file decides what runs.
pub(super) fn opener(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if matches!(effects.name, "open" | "xdg-open" | "start" | "gio" | "kde-open")
        && args.iter().any(|arg| arg.operand().is_some())
    {
        effects.exclude_program(
            args.iter().find_map(Arg::operand),
            "starts whatever program the file or address belongs to",
        );
    }
}

/// Another agent, with modes and settings of its own.
pub(super) fn agent(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let asks = |word: &&pinfold_shell::Word| {
        matches!(word.as_static(), Some("--version" | "--help" | "-v" | "-h" | "version" | "help"))
    };
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if !words.iter().all(asks) || words.is_empty() {
        effects.exclude_program(None, "starts another agent, which has its own limits");
    }
}

/// `sqlite3 file 'commands'`: lines that start with a dot write files and run programs.
pub(super) fn sqlite(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((file, queries)) = words.split_first() else { return };
    // Wildcards match nothing that begins so, and stay what they are.
    let text = super::super::super::words::unmatched(file);
    if let Some(path) = text.as_deref().and_then(pinfold_host::file_url) {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        effects.touch_text(path, file, Edit, Command);
    } else if !matches!(file.as_static(), Some(":memory:" | "")) {
        effects.touch(Cow::Owned((*file).clone()), Edit, Command);
    }
    for query in queries {
        effects.judge_query(query);
    }
    effects.input = super::super::StandardInput::Queries;
}

/// Queries may come from its input.
pub(super) fn database(effects: &mut InvocationEffects<'_>, _: &[Arg<'_>]) {
    effects.input = super::super::StandardInput::Queries;
}

/// Only looking is let through.
pub(super) fn system_control(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
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
    if effects.name != "journalctl"
        && !first.is_none_or(|verb| looks.iter().any(|look| verb.starts_with(look)))
    {
        effects.exclude_program(args.iter().find_map(Arg::operand), "changes what the system runs");
    }
}

pub(super) fn crontab(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    effects.exclude_program(args.iter().find_map(Arg::operand), "changes what the system runs by itself");
}

pub(super) fn always(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    effects.exclude_program(args.iter().find_map(Arg::operand), "changes the system outside any folder");
}

/// The gate itself is a process too.
pub(super) fn kills(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let names_gate = |word: &pinfold_shell::Word| {
        word.as_static()
            .is_none_or(|text| text.to_ascii_lowercase().contains("pinfold") || matches!(text, "-1" | "1"))
    };
    if effects.name != "kill" && args.iter().filter_map(Arg::operand).any(names_gate) {
        effects.exclude_program(None, "may kill the supervisor of the sandbox");
    }
}

/// Images that are read, and the last that is written. What stands behind an option, or behind the name of a format
/// (`text:file`, `label:@file`), is read or written in its own way and stays a word that names a place.
pub(super) fn images(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let is_option = |word: &pinfold_shell::Word| word.literal_prefix().starts_with(['-', '+']);
    for (at, word) in words.iter().enumerate() {
        let behind =
            at.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|word| is_option(word));
        let prefixed = word.literal_prefix().contains([':', '@']);
        if at + 1 == words.len() && !prefixed {
            effects.touch(Cow::Owned((*word).clone()), Write, Command);
        } else if !behind && !prefixed && !is_option(word) {
            effects.touch(Cow::Owned((*word).clone()), Read, Command);
        }
    }
}

/// The last operand is written; with a scheme it is sent.
pub(super) fn ffmpeg(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if effects.name == "ffmpeg" {
        for word in args.iter().filter_map(Arg::operand) {
            if word.literal_prefix().contains("://") {
                effects.reach_host(word);
                effects.exclude_named(word.as_static(), "sends its output to another host");
                continue;
            }
            effects.touch(Cow::Owned(word.clone()), Write, Command);
        }
        return;
    }
    for word in args.iter().filter_map(Arg::operand) {
        effects.touch(Cow::Owned(word.clone()), Read, Command);
    }
}
