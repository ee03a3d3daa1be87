//! Programs that make, move, change and remove files.

use std::borrow::Cow;

use Operation::{CopyFrom, CopyTo, Read, Write};
use Purpose::Command;

use super::super::super::words::{known_start, strip_start};
use super::super::{Arg, InvocationEffects, Purpose};
use crate::Operation;

/// `mknod name type …`.
pub(super) fn first_written(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if let Some(word) = args.iter().find_map(Arg::operand) {
        effects.touch(Cow::Owned(word.clone()), Write, Command);
    }
}

/// `mktemp` without a template makes a file in the folder for temporary ones.
pub(super) fn temporary(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        effects.touch(Cow::Owned(word.clone()), Write, Command);
    }
}

/// `dd if=a of=b`.
pub(super) fn dd(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let start = known_start(word);
        if start.starts_with("of=") {
            effects.touch(Cow::Owned(strip_start(word, 3)), Write, Command);
        } else if start.starts_with("if=") {
            effects.touch(Cow::Owned(strip_start(word, 3)), Read, Command);
        } else if !start.contains('=') && word.as_static().is_none() {
            effects.exclude_unknown_write();
        }
    }
}

/// Either end may be on another host.
pub(super) fn rsync(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    super::remote_copy(effects, args, CopyFrom, CopyTo);
}
