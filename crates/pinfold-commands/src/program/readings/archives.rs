//! Archives and compression.

use std::borrow::Cow;

use Operation::{Read, Write};
use Purpose::Command;
use pinfold_shell::{Part, Word};

use super::super::super::words::literal;
use super::super::{Arg, InvocationEffects, OptionEffect, Purpose};
use crate::Operation;

const RUNS: &str = "runs the program that it names";

/// The archive and the operands of `tar`, old style (`tar xf a`) and new.
pub(super) fn tar(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    let named = |wanted: &[&str]| {
        args.iter().any(|arg| matches!(arg, Arg::Option { known: Some(known), .. } if known.names().any(|name| wanted.contains(&name))))
    };
    let chosen = |letter: &str, long: &[&str]| {
        args.iter().any(|arg| match arg {
            Arg::Option { name, .. } => {
                (!name.starts_with("--") && name.ends_with(letter))
                    || name.len() > 3 && long.iter().any(|long| long.starts_with(name))
            }
            Arg::Operand(_) => false,
        })
    };
    // `tar xzf a.tar`: the first word is a cluster without its dash, its values follow in order.
    let old = !matches!(args.first(), Some(Arg::Option { .. }));
    let mut bundle = "";
    if old && let Some(first) = words.next() {
        bundle = first.as_static().unwrap_or("");
        for letter in bundle.chars() {
            match letter {
                'f' => archive(effects, words.next(), bundle.contains(['c', 'r', 'u', 'A'])),
                'C' => into(effects, words.next()),
                'I' | 'F' => {
                    words.next();
                    effects.exclude_option("option", bundle, RUNS);
                }
                'b' | 'H' | 'K' | 'L' | 'N' | 'V' | 'X' | 'T' | 'g' => {
                    words.next();
                }
                'P' => effects.exclude_option("option", bundle, "lets an archive write anywhere"),
                _ => {}
            }
        }
    }
    let creates = bundle.contains(['c', 'r', 'u', 'A'])
        || chosen("c", &["--create"])
        || chosen("r", &["--append"])
        || chosen("u", &["--update"])
        || chosen("A", &["--catenate", "--concatenate"]);
    let extracts = bundle.contains('x') || chosen("x", &["--extract", "--get"]);
    for arg in args {
        if let Arg::Option { known: Some(known), value, .. } = arg {
            match known.effect {
                OptionEffect::Archive => archive(effects, value.as_deref(), creates),
                OptionEffect::Into if extracts => into(effects, value.as_deref()),
                _ => {}
            }
        }
    }
    if extracts && !named(&["-C"]) && !bundle.contains('C') && !chosen("O", &["--to-stdout"]) {
        effects.write_in_folder(Command);
    }
    if creates {
        packed(effects, args, old);
    }
}

/// Claims the files that are packed. Each `-C` holds for the operands behind it.
fn packed(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>], old: bool) {
    let mut folder: Option<&Word> = None;
    let mut words = Vec::new();
    for arg in args {
        match arg {
            Arg::Option { known: Some(known), value: Some(value), .. }
                if matches!(known.effect, OptionEffect::Into) =>
            {
                folder = Some(value);
            }
            Arg::Option { .. } => {}
            Arg::Operand(word) => words.push((*word, folder)),
        }
    }
    // The cluster of old, and the values that it takes.
    let mut taken = 0;
    if old && let Some((bundle, _)) = words.first() {
        let letters = bundle.as_static().unwrap_or_default();
        let valued: Vec<char> = letters.chars().filter(|letter| "fCIFbHKLNVXTg".contains(*letter)).collect();
        taken = 1 + valued.len();
        let at = valued.iter().position(|letter| *letter == 'C').map(|at| at + 1);
        let into = at.and_then(|at| words.get(at)).map(|(word, _)| *word);
        for (_, folder) in &mut words {
            *folder = folder.or(into);
        }
    }
    words.iter().take(taken).for_each(|(word, _)| effects.mark_no_path(word));
    for (word, folder) in words.into_iter().skip(taken) {
        match folder.map(|folder| member_path(folder, word)) {
            None => effects.search(Cow::Owned(word.clone()), false),
            Some(Some(inside)) => effects.search(Cow::Owned(inside), false),
            Some(None) => effects.exclude_unknown_read(),
        }
    }
}

/// A word below a folder; `None` where it is known only at run time.
fn member_path(folder: &Word, word: &Word) -> Option<Word> {
    let text = word.as_static()?;
    if text.starts_with(['/', '~']) {
        return Some(word.clone());
    }
    let mut parts = folder.parts.clone();
    parts.push(Part::Literal(format!("/{text}")));
    Some(Word { parts: joined(parts), span: word.span.clone(), quoted: true })
}

/// Neighbouring pieces of text as one.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (out.last_mut(), part) {
            (Some(Part::Literal(text)), Part::Literal(more)) => text.push_str(&more),
            (_, part) => out.push(part),
        }
    }
    out
}

/// The archive itself: made, or read. `host:file` is on another host.
fn archive(effects: &mut InvocationEffects<'_>, word: Option<&Word>, creates: bool) {
    let Some(word) = word else { return };
    if super::super::super::host::is_remote(word.literal_prefix()) {
        effects.exclude_option("option", "-f", "reaches another host for the archive");
        return effects.reach_host(word);
    }
    let operation = if creates { Write } else { Read };
    effects.touch(Cow::Owned(word.clone()), operation, Command);
}

fn into(effects: &mut InvocationEffects<'_>, word: Option<&Word>) {
    if let Some(word) = word {
        effects.touch(Cow::Owned(word.clone()), Write, Command);
    }
}

/// `zip archive files…`.
pub(super) fn zip(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for (at, word) in args.iter().filter_map(Arg::operand).enumerate() {
        if at == 0 {
            effects.touch(Cow::Owned(word.clone()), Write, Command);
        } else {
            effects.search(Cow::Owned(word.clone()), false);
        }
    }
}

/// `unzip archive [members] [-d folder]`.
pub(super) fn unzip(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if let Some(word) = args.iter().find_map(Arg::operand) {
        effects.touch(Cow::Owned(word.clone()), Read, Command);
    }
    let shows = args.iter().any(
        |arg| matches!(arg, Arg::Option { name, .. } if name.ends_with(['l', 't', 'Z', 'v', 'p', 'c', 'z'])),
    );
    let folder = args.iter().find_map(|arg| match arg {
        Arg::Option { known: Some(known), value, .. } if matches!(known.effect, OptionEffect::Into) => {
            value.as_deref()
        }
        _ => None,
    });
    match folder {
        Some(folder) => into(effects, Some(folder)),
        None if !shows => effects.write_in_folder(Command),
        None => {}
    }
}

/// `7z x archive -ofolder`.
pub(super) fn seven(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let verb = words.first().and_then(|word| word.as_static()).unwrap_or_default();
    let extracts = matches!(verb, "x" | "e");
    let mut folder = false;
    let mut archive = true;
    for word in words.iter().skip(1) {
        let text = word.literal_prefix();
        if let Some(place) = text.strip_prefix("-o") {
            folder = true;
            effects.touch_text(place, word, Write, Command);
        } else if !text.starts_with('-') && archive {
            archive = false;
            let operation = if extracts || matches!(verb, "l" | "t") { Read } else { Write };
            effects.touch(Cow::Owned((*word).clone()), operation, Command);
        } else if !text.starts_with('-') && text.ends_with('/') && extracts {
            folder = true;
            effects.touch(Cow::Owned((*word).clone()), Write, Command);
        }
    }
    if extracts && !folder {
        effects.write_in_folder(Command);
    }
}

/// `cpio -i` writes what its input names.
pub(super) fn cpio(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let reads_archive = args.iter().any(|arg| matches!(arg, Arg::Option { name, .. } if *name == "--extract" || *name == "--pass-through" || !name.starts_with("--") && name.ends_with(['i', 'p', 'r'])));
    if reads_archive {
        effects.exclude_unknown_write();
    }
    for word in args.iter().filter_map(Arg::operand) {
        effects.touch(Cow::Owned(literal(word.as_static().unwrap_or_default(), word)), Read, Command);
    }
}

/// `jar cf archive files…`, `jar xf archive`.
pub(super) fn jar(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let letters = words.first().and_then(|word| word.as_static()).unwrap_or_default();
    if let Some(file) = words.get(1) {
        let operation = if letters.contains(['c', 'u']) { Write } else { Read };
        effects.touch(Cow::Owned((*file).clone()), operation, Command);
    }
    if letters.contains('x') {
        effects.write_in_folder(Command);
    }
}
