//! Containers and clusters: what runs there runs elsewhere, but a mount or a wide right is a way back.

use std::borrow::Cow;

use Operation::{CopyFrom, CopyTo};

use super::super::{Arg, InvocationEffects, Purpose};
use crate::Operation;

/// `kubectl exec pod -- command…`.
pub(super) fn in_pod(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    effects.start(words.get(1..).unwrap_or_default());
    effects.mark_last_elsewhere();
}

/// `docker cp container:path path`: either end may be here.
pub(super) fn container_copy(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let [from, to] = words.as_slice() {
        let here = |text: &str| !text.contains(':');
        if here(from.literal_prefix()) {
            effects.touch(Cow::Owned((*from).clone()), CopyFrom, Purpose::Command);
        }
        if here(to.literal_prefix()) {
            effects.touch(Cow::Owned((*to).clone()), CopyTo, Purpose::Command);
        }
    }
}

/// `podman unshare command…`: a program of this machine.
pub(super) fn in_user_namespace(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    effects.exclude_subcommand("runs the program that it names on this machine");
    effects.start(&words);
}

pub(super) fn changes_engine(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(
        first,
        Some(
            "ls" | "list" | "inspect" | "show" | "df" | "info" | "view" | "get-contexts" | "current-context"
        )
    ) {
        effects.exclude_subcommand("changes what later commands speak to, or opens a way there");
    }
}

/// `tool exec name -- command…`.
pub(super) fn machine(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let runs = words
        .iter()
        .position(|word| matches!(word.as_static(), Some("exec" | "ssh" | "enter" | "shell" | "run")));
    if let Some(at) = runs {
        effects.start(words.get(at + 2..).unwrap_or_default());
        effects.mark_last_elsewhere();
    }
}
