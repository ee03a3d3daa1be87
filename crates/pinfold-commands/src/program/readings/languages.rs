//! Interpreters. Inline code rides only on a rule that names its option; what is loaded in front of a script does
//! too.

use std::borrow::Cow;

use super::super::{Arg, InvocationEffects, Purpose, StandardInput, WorkDirUse};
use crate::Operation;

/// `m4 files…`: macros in files of the folder are code of the folder; those of its input are not known.
pub(super) fn macros(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        effects.touch(Cow::Owned(word.clone()), Operation::Read, Purpose::Command);
    }
    effects.folder = WorkDirUse::ExecutedFiles;
    effects.input = StandardInput::Script;
}

/// `deno run script`, `deno eval code`, `deno task name`.
pub(super) fn deno(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let Some(address) = words.iter().find(|word| word.literal_prefix().contains("://")) {
        effects.exclude_named(address.as_static(), "runs code from another host");
    }
    if let Some(verb @ ("eval" | "repl" | "install" | "upgrade" | "jupyter")) =
        words.first().and_then(|word| word.as_static())
    {
        effects.exclude_code(verb, "holds code, which no pattern can judge, or installs it");
    }
}

/// Consoles and runners take code from their input or their arguments.
pub(super) fn console(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let Some(verb @ ("runner" | "r" | "console" | "c" | "dbconsole")) =
        words.first().and_then(|word| word.as_static())
    {
        effects.exclude_code(verb, "holds code, which no pattern can judge");
    }
}
