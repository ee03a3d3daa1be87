//! Programs that read, compare, search and change text.

use std::borrow::Cow;

use Operation::{Edit, Read, Search, Write};
use Purpose::{Aside, Command};
use pinfold_shell::Word;

use super::super::super::words::known_start;
use super::super::super::{awk, sed};
use super::super::{Arg, InvocationEffects, Purpose};
use crate::Operation;

/// Returns whether one of these options is there.
fn has(args: &[Arg<'_>], wanted: &[&str]) -> bool {
    args.iter().any(|arg| match arg {
        Arg::Option { known: Some(known), .. } => wanted.iter().any(|name| known.is_named(name)),
        _ => false,
    })
}

/// `grep [options] pattern file…`: with `-r` folders are gone through, and without a file this one is.
pub(super) fn grep(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let recurses = |arg: &Arg<'_>| match arg {
        Arg::Option { known: Some(known), value: Some(value), .. } => {
            (known.is_named("-d") || known.is_named("--directories"))
                && value.as_static().is_none_or(|text| text.starts_with("rec"))
        }
        _ => false,
    };
    let recursive = effects.name == "rgrep" || has(args, &["-r"]) || args.iter().any(recurses);
    let operation = if recursive { Search } else { Read };
    let files = behind_pattern(effects, args);
    if files.is_empty() && recursive {
        effects.touch_folder(Search, false);
    }
    for file in files {
        effects.touch(Cow::Owned(file), operation, Command);
    }
}

/// `rg [options] pattern place…`: without a place this folder is searched, unless something is piped into it. Names that
/// start with a dot are passed over, if nothing says otherwise.
pub(super) fn ripgrep(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let strange = |arg: &Arg<'_>| matches!(arg, Arg::Option { known: None, name, .. } if name.len() > 2 || matches!(*name, "-a" | "-f" | "-t"));
    let all = effects.name == "ack" || has(args, &["-u"]) || effects.name == "ag" && args.iter().any(strange);
    let files = behind_pattern(effects, args);
    if files.is_empty() {
        effects.default_search = Some(!all);
    }
    for file in files {
        effects.search(Cow::Owned(file), !all);
    }
}

/// The operands behind the pattern, which an option may stand in for.
fn behind_pattern(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) -> Vec<Word> {
    let given = has(args, &["-e", "-f"]);
    let mut words = args.iter().filter_map(Arg::operand);
    if !given && let Some(pattern) = words.next() {
        effects.mark_no_path(pattern);
    }
    words.cloned().collect()
}

/// `jq [options] filter file…`. Some options take a name and a value, others a name and a file.
pub(super) fn jq(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    let (mut filter, mut only_text, mut ended) = (false, false, false);
    while let Some(word) = words.next() {
        let text = word.as_static().unwrap_or_else(|| known_start(word));
        let short = text.starts_with('-') && !text.starts_with("--");
        match text {
            "--" if !ended => ended = true,
            _ if ended && !filter => {
                filter = true;
                effects.mark_no_path(word);
            }
            _ if ended && only_text => effects.mark_no_path(word),
            _ if ended => effects.touch(Cow::Owned(word.clone()), Read, Command),
            "--arg" | "--argjson" | "--slurpfile" | "--rawfile" | "--argfile" => {
                effects.mark_no_path(word);
                words.next().into_iter().for_each(|name| effects.mark_no_path(name));
                let Some(value) = words.next() else { return };
                if text.ends_with("file") {
                    effects.touch(Cow::Owned(value.clone()), Read, Command);
                } else {
                    effects.mark_no_path(value);
                }
            }
            "--indent" => words.next().into_iter().for_each(|value| effects.mark_no_path(value)),
            "--args" | "--jsonargs" => only_text = true,
            "-L" | "--library-path" => {
                effects.exclude_option("option", text, "loads code from where it says");
            }
            _ if short && text.contains('L') => {
                effects.exclude_option("option", text, "loads code from where it says");
            }
            "--from-file" => {
                filter = true;
                words
                    .next()
                    .into_iter()
                    .for_each(|file| effects.touch(Cow::Owned(file.clone()), Read, Command));
            }
            _ if short && text.contains('f') => {
                filter = true;
                words
                    .next()
                    .into_iter()
                    .for_each(|file| effects.touch(Cow::Owned(file.clone()), Read, Command));
            }
            _ if text.starts_with('-') && text.len() > 1 => effects.mark_no_path(word),
            _ if !filter => {
                filter = true;
                effects.mark_no_path(word);
            }
            _ if only_text => effects.mark_no_path(word),
            _ => effects.touch(Cow::Owned(word.clone()), Read, Command),
        }
    }
}

/// `xxd [infile [outfile]]`.
pub(super) fn xxd(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    input_output(effects, args);
}

/// The first operand is read, the second written.
pub(super) fn input_output(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for (at, word) in args.iter().filter_map(Arg::operand).enumerate() {
        let (operation, purpose) = if at == 0 { (Read, Command) } else { (Write, Aside) };
        effects.touch(Cow::Owned(word.clone()), operation, purpose);
    }
}

/// `sed [options] script file…`.
pub(super) fn sed_script(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    if !has(args, &["-e", "-f"])
        && let Some(script) = words.next()
    {
        effects.mark_no_path(script);
        sed::script(effects, script);
    }
    let operation = if has(args, &["-i"]) { Edit } else { Read };
    for word in words {
        effects.touch(Cow::Owned(word.clone()), operation, Command);
    }
    // The suffix of `-i` with a slash says another folder for what was there.
    let suffix = args.iter().find_map(|arg| match arg {
        Arg::Option { known: Some(known), value: Some(value), .. } if known.is_named("-i") => Some(value),
        _ => None,
    });
    match suffix.map(|suffix| (suffix.as_static(), suffix)) {
        Some((Some(text), suffix)) if text.contains('/') => {
            effects.touch_text(&text.replace('*', "_"), suffix, Write, Aside);
        }
        Some((None, _)) => effects.exclude_unknown_write(),
        Some((Some(_), _)) | None => {}
    }
}

/// `awk [options] program file…`; `name=value` among the files is an assignment.
pub(super) fn awk_program(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let elsewhere = |arg: &Arg<'_>| match arg {
        Arg::Option { known: Some(known), .. } => known.is_named("-f") || known.is_named("-e"),
        _ => false,
    };
    let mut words = args.iter().filter_map(Arg::operand);
    if !args.iter().any(elsewhere)
        && let Some(program) = words.next()
    {
        effects.mark_no_path(program);
        match program.as_static().map(awk::does_more) {
            None => effects.exclude_script("is known only at run time"),
            Some(Some(why)) => effects.exclude_script(why),
            Some(None) => {}
        }
    }
    for word in words {
        effects.touch(Cow::Owned(word.clone()), Read, Command);
    }
}

/// `patch [original [patchfile]]`; without an original the patch itself names what is changed.
pub(super) fn patch(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    match words.next() {
        Some(original) => effects.touch(Cow::Owned(original.clone()), Edit, Command),
        None => effects.exclude_unknown_write(),
    }
    if let Some(changes) = words.next() {
        effects.touch(Cow::Owned(changes.clone()), Read, Command);
    }
}

/// `split file prefix`: what is written starts with the prefix.
pub(super) fn pieces(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    if let Some(file) = words.next() {
        effects.touch(Cow::Owned(file.clone()), Read, Command);
    }
    if effects.name == "split"
        && let Some(prefix) = words.next()
    {
        effects.touch(Cow::Owned(prefix.clone()), Write, Command);
    }
}
