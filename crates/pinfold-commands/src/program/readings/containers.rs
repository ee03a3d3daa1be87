//! Containers and clusters: what runs there runs elsewhere, but a mount or a wide right is a way back.

use std::borrow::Cow;

use Operation::{CopyFrom, CopyTo};

use super::super::{Acts, Arg, Purpose};
use crate::Operation;

/// `kubectl exec pod -- command…`.
pub(super) fn in_pod(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    acts.start(words.get(1..).unwrap_or_default());
    acts.elsewhere_last();
}

/// `docker cp container:path path`: either end may be here.
pub(super) fn container_copy(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let [from, to] = words.as_slice() {
        let here = |text: &str| !text.contains(':');
        if here(from.literal_prefix()) {
            acts.path(Cow::Owned((*from).clone()), CopyFrom, Purpose::Command);
        }
        if here(to.literal_prefix()) {
            acts.path(Cow::Owned((*to).clone()), CopyTo, Purpose::Command);
        }
    }
}

/// `podman unshare command…`: a program of this machine.
pub(super) fn in_user_namespace(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    acts.subcommand_bar("runs the program that it names on this machine");
    acts.start(&words);
}

pub(super) fn changes_engine(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(
        first,
        Some(
            "ls" | "list" | "inspect" | "show" | "df" | "info" | "view" | "get-contexts" | "current-context"
        )
    ) {
        acts.subcommand_bar("changes what later commands speak to, or opens a way there");
    }
}

/// `tool exec name -- command…`.
pub(super) fn machine(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let runs = words
        .iter()
        .position(|word| matches!(word.as_static(), Some("exec" | "ssh" | "enter" | "shell" | "run")));
    if let Some(at) = runs {
        acts.start(words.get(at + 2..).unwrap_or_default());
        acts.elsewhere_last();
    }
}
