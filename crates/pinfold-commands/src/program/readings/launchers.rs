//! Programs that start others, and shells.

use std::borrow::Cow;

use Operation::Write;
use Purpose::Aside;
use pinfold_shell::Word;

use super::super::super::words::literal;
use super::super::{Arg, InvocationEffects, Purpose, StartedProgram};
use crate::Operation;

/// `timeout [options] duration command…`.
pub(super) fn timeout(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((duration, command)) = words.split_first() else { return };
    let known = duration.as_static().is_some_and(|text| {
        let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        digits > 0 && digits + number.matches('.').count().min(1) == number.len()
    });
    effects.exact &= known;
    effects.start(command);
}

/// `su [options] [-] [user [args]]`; `runuser -u user -- command`.
pub(super) fn su(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let by_user =
        args.iter().any(|arg| matches!(arg, Arg::Option { known: Some(known), .. } if known.is_named("-u")));
    if by_user {
        effects.start(&words);
    } else if effects.started.is_empty() {
        effects.input = super::super::StandardInput::Commands;
    }
}

/// `xargs [options] [command…]`: more arguments follow, wherever they are put.
pub(super) fn xargs(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if words.is_empty() {
        return;
    }
    effects.start(&words);
    effects.mark_last_open_ended();
}

/// `parallel [options] command… [::: arguments]`.
pub(super) fn parallel(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let command: Vec<_> = words
        .iter()
        .copied()
        .take_while(|word| !word.as_static().is_some_and(|text| text.starts_with(":::")))
        .collect();
    match command.as_slice() {
        [] => effects.started.push(StartedProgram::unknown()),
        [line] if !line.as_static().is_some_and(is_one_word) => {
            effects.start_line(Cow::Owned((*line).clone()));
        }
        _ => effects.start(&command),
    }
    effects.mark_last_open_ended();
}

fn is_one_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/' | b'+'))
}

/// `find places… expression`.
pub(super) fn find(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let options =
        words.iter().take_while(|word| matches!(word.as_static(), Some("-H" | "-L" | "-P"))).count();
    let rest = words.get(options..).unwrap_or_default();
    let starts_expression = |word: &&Word| {
        word.as_static().is_some_and(|text| text.starts_with('-') || matches!(text, "(" | "!" | ")" | ","))
    };
    let places = rest.iter().take_while(|word| !starts_expression(word)).count();
    let (places, expression) = rest.split_at(places.min(rest.len()));
    for place in places {
        effects.touch(Cow::Owned((*place).clone()), Operation::List, Purpose::Command);
    }
    let mut left = expression.iter();
    let mut deletes = false;
    while let Some(word) = left.next() {
        match word.as_static() {
            Some(option @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                effects.exclude_option("option", option, "runs what follows for what it finds");
                let command: Vec<_> = left
                    .by_ref()
                    .take_while(|word| !matches!(word.as_static(), Some(";" | "+")))
                    .copied()
                    .collect();
                effects.start(&command);
                effects.mark_last_open_ended();
            }
            Some("-delete") => deletes = true,
            Some("-fprint" | "-fprint0" | "-fls" | "-fprintf") => {
                if let Some(file) = left.next() {
                    effects.touch(Cow::Owned((*file).clone()), Write, Aside);
                }
            }
            Some("-files0-from" | "-newer" | "-anewer" | "-cnewer" | "-samefile") => {
                if let Some(file) = left.next() {
                    effects.touch(Cow::Owned((*file).clone()), Operation::Read, Purpose::Command);
                }
            }
            Some(
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex" | "-iregex"
                | "-lname" | "-ilname" | "-type" | "-xtype" | "-size" | "-mtime" | "-mmin" | "-ctime"
                | "-cmin" | "-atime" | "-amin" | "-perm" | "-user" | "-group" | "-uid" | "-gid" | "-maxdepth"
                | "-mindepth" | "-printf" | "-inum" | "-links" | "-fstype" | "-regextype" | "-used"
                | "-context" | "-D",
            ) => {
                left.next().into_iter().for_each(|word| effects.mark_no_path(word));
            }
            Some(_) => {}
            None => {
                effects.exclude_option(
                    "option",
                    "-exec",
                    "may stand in a word that is known only at run time",
                );
            }
        }
    }
    if deletes {
        if places.is_empty()
            && let Some(word) = words.first()
        {
            effects.touch(Cow::Owned(literal(".", word)), Operation::Edit, Purpose::Command);
        }
        for place in places {
            effects.touch(Cow::Owned((*place).clone()), Operation::Edit, Purpose::Command);
        }
    }
}

/// `fd [options] pattern folders… -x command…`: all that follows is the command, up to `;`.
pub(super) fn fd(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let runs = |word: &&Word| {
        word.as_static().is_some_and(|text| match text.strip_prefix("--") {
            Some(long) => long.len() > 2 && ["exec", "exec-batch"].iter().any(|name| name.starts_with(long)),
            None => text.starts_with('-') && text.contains(['x', 'X']),
        })
    };
    let Some(at) = words.iter().position(runs) else { return };
    let (Some(option), Some(command)) = (words.get(at), words.get(at + 1..)) else { return };
    effects.exclude_option(
        "option",
        option.as_static().unwrap_or_default(),
        "runs what follows for what it finds",
    );
    let ends = |word: &&Word| word.as_static() != Some(";");
    let command: Vec<_> = command.iter().take_while(|word| ends(word)).copied().collect();
    effects.start(&command);
    effects.mark_last_open_ended();
}

/// `flock file command…`, `flock file -c line`.
pub(super) fn flock(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((file, command)) = words.split_first() else { return };
    if file.as_static().is_none_or(|text| !text.bytes().all(|b| b.is_ascii_digit())) {
        effects.touch(Cow::Owned((*file).clone()), Write, Aside);
    }
    match command {
        [option, line] if matches!(option.as_static(), Some("-c" | "--command")) => {
            effects.start_line(Cow::Owned((*line).clone()));
        }
        _ => effects.start(command),
    }
}

/// `gdb [options] program`, `gdb --args program…`: what the debugger is told at its prompt is not known.
pub(super) fn debugger(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    effects.start(&words);
}

/// `ssh [options] host [command…]`: the rest is joined and read by a shell over there.
pub(super) fn ssh(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((host, command)) = words.split_first() else { return };
    effects.reach_host(host);
    effects.start_joined(command);
    effects.mark_last_elsewhere();
}

/// `trap 'line' signals…`.
pub(super) fn trap(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    match words.as_slice() {
        [line, _, ..] if !matches!(line.as_static(), Some("-" | "--" | "-l" | "-p" | "")) => {
            effects.start_line(Cow::Owned((*line).clone()));
        }
        _ => {}
    }
}

/// Launchers whose options are not told apart: every word that is no option may be the program.
pub(super) fn first_program(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let is_option = |word: &Word| word.as_static().is_some_and(|text| text.starts_with('-'));
    let first = words.iter().position(|word| !is_option(word)).unwrap_or(words.len());
    // The value of an option in front may be taken for it; what stands behind is then looked at too.
    for at in [first, first + 1] {
        effects.start(words.get(at..).unwrap_or_default());
    }
}

/// Terminals that go on by themselves and start the program behind their options: `dtach -A socket -z program`.
pub(super) fn some_program(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    multiplexer(effects, args);
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let is_option = |word: &Word| word.as_static().is_some_and(|text| text.starts_with('-'));
    // Values of options in front of it may be taken for it.
    let starts = words.iter().enumerate().filter(|(_, word)| !is_option(word)).map(|(at, _)| at);
    for at in starts.take(MAX_STARTS) {
        effects.start(words.get(at..).unwrap_or_default());
    }
}

/// Number of words of a terminal that goes on by itself that may be the program.
const MAX_STARTS: usize = 4;

/// `sh -s arguments…`: the commands come from its input all the same.
pub(super) fn from_input(effects: &mut InvocationEffects<'_>, _: &[Arg<'_>]) {
    effects.input = super::super::StandardInput::Commands;
}

/// `at time`: the commands come from its input.
pub(super) fn at(effects: &mut InvocationEffects<'_>, _: &[Arg<'_>]) {
    effects.input = super::super::StandardInput::Commands;
}

/// Terminals that go on by themselves: what they are told is a line, wherever it stands.
pub(super) fn multiplexer(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    for (at, word) in words.iter().enumerate() {
        let starts = matches!(
            word.as_static(),
            Some(
                "new-session"
                    | "new"
                    | "new-window"
                    | "neww"
                    | "split-window"
                    | "splitw"
                    | "respawn-pane"
                    | "send-keys"
                    | "send"
                    | "run-shell"
                    | "run"
                    | "stuff"
                    | "-X"
                    | "-dm"
                    | "-dmS"
                    | "if-shell"
                    | "pipe-pane"
                    | "popup"
                    | "display-popup"
            )
        );
        if starts {
            let rest: Vec<_> = words
                .get(at + 1..)
                .unwrap_or_default()
                .iter()
                .copied()
                .filter(|word| !word.as_static().is_some_and(|text| text.starts_with('-')))
                .collect();
            effects.exclude_option(
                "option",
                word.as_static().unwrap_or_default(),
                "runs a command in a terminal of its own",
            );
            for line in &rest {
                effects.start_line(Cow::Owned((*line).clone()));
            }
            effects.start(&rest);
            return;
        }
    }
}

/// `bwrap options command…`: options have values of their own; the program is whatever stands first without a dash
/// and is no path.
pub(super) fn sandbox(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let dashes = words.iter().position(|word| word.as_static() == Some("--"));
    let starts = |word: &&Word| word.as_static().is_some_and(|text| !text.starts_with(['-', '/']));
    let at = dashes.map(|at| at + 1).or_else(|| words.iter().position(starts)).unwrap_or(words.len());
    effects.start(words.get(at..).unwrap_or_default());
}

/// `tool options -- command…`, `tool exec folder command…`.
pub(super) fn behind_dashes(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let dashes = words.iter().position(|word| word.as_static() == Some("--"));
    let exec = words.iter().position(|word| matches!(word.as_static(), Some("exec" | "run")));
    match (dashes, exec) {
        (Some(at), _) => effects.start(words.get(at + 1..).unwrap_or_default()),
        (None, Some(at)) => {
            let skip = if effects.name == "direnv" { 2 } else { 1 };
            effects.start(words.get(at + skip..).unwrap_or_default());
        }
        (None, None) => effects.start(&words),
    }
}

/// Each operand is a command line.
pub(super) fn lines(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        effects.start_line(Cow::Owned(word.clone()));
    }
}
