//! Compilers, build tools and package managers. They run code of the folder they work in; a rule on their name means
//! the folder of the call.

use std::borrow::Cow;

use Operation::{Read, Write};
use pinfold_shell::Word;

use super::super::{Arg, InvocationEffects, Purpose};
use crate::Operation;

/// The source of packages: code of others, which is run.
const OTHER_SOURCE: &str = "takes packages from another place than usual";

/// `ar [-]KEYS [member] archive [files…]`: only `p` and `t` leave the archive as it is, and `x` writes its members here.
pub(super) fn ar(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    let Some(keys) = words.next() else { return };
    effects.mark_no_path(keys);
    let letters = keys.as_static().unwrap_or_default();
    if letters.starts_with("--") || keys.as_static().is_none() {
        return effects.exclude_option(
            "option",
            keys.literal_prefix(),
            "may load a library, or change anything",
        );
    }
    let looks = letters.contains(['p', 't']) && !letters.contains(['d', 'm', 'q', 'r', 's', 'x']);
    if letters.contains('x') {
        effects.write_in_folder(Purpose::Command);
    }
    for word in words {
        effects.touch(Cow::Owned(word.clone()), if looks { Read } else { Write }, Purpose::Command);
    }
}

/// `//package:target`, `@repository//package`: labels of the workspace, which are no paths.
pub(super) fn labels(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let is_label = |word: &&Word| {
        let start = word.literal_prefix();
        start.strip_prefix('-').unwrap_or(start).starts_with("//") || start.starts_with('@')
    };
    args.iter().filter_map(Arg::operand).filter(is_label).for_each(|word| effects.mark_no_path(word));
}

/// `make target NAME=value`: a variable may be a program or hold a command.
pub(super) fn make(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let Some((name, value)) = word.literal_prefix().split_once('=') else { continue };
        let name = name.trim_end_matches([':', '?', '+', '!']);
        let names_program = super::super::super::environment::matters(name);
        // `NAME!=line` runs the line, and a recipe pastes the value into one.
        let runs = word.literal_prefix().contains("!=") || word.as_static().is_none();
        if names_program || runs || value.contains(['$', '`', ';', '|', '&', '<', '>', '\n']) {
            effects.exclude_option(
                "option",
                word.literal_prefix().split('=').next().unwrap_or_default(),
                "changes what the build runs",
            );
        }
    }
}

/// `cmake folder`: the folder may be the source or a build.
pub(super) fn cmake(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if let Some(folder) = args.iter().find_map(Arg::operand)
        && effects.sources.is_empty()
    {
        effects.sources.push(Cow::Owned(folder.clone()));
    }
}

/// A package that lies elsewhere, or is fetched from an address, is code of others that is run.
pub(super) fn installs(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let elsewhere = |text: &str| {
        text.starts_with(['/', '~'])
            || text.starts_with("..")
            || text.contains("://")
            || text.starts_with("git@")
            || text.starts_with("git+")
            || text.starts_with("file:")
            || text.starts_with("link:")
    };
    for arg in args {
        let word = match arg {
            Arg::Operand(word) => *word,
            Arg::Option { name: "-e" | "--editable", value: Some(value), .. } => value.as_ref(),
            Arg::Option { .. } => continue,
        };
        let tilde = matches!(word.parts.first(), Some(pinfold_shell::Part::Tilde(_)));
        if tilde || elsewhere(word.literal_prefix()) {
            effects.exclude_named(word.as_static(), OTHER_SOURCE);
        }
    }
}

/// Hands the words behind `--` to the compiler.
pub(super) fn to_compiler(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        if super::super::setting::passes_program(word) {
            effects.exclude_named(word.as_static(), "tells the compiler what may name a program");
        }
    }
}

/// Settings and scripts that later commands run by.
/// What `npm config` changes stands in the person's own file.
pub(super) fn npm_config(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    npm_changes(effects, args);
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if matches!(first, Some("set" | "delete" | "edit" | "fix")) {
        effects.write_at_home(".npmrc");
    }
}

/// `npm set` is short for `npm config set`.
pub(super) fn npm_set(effects: &mut InvocationEffects<'_>, _: &[Arg<'_>]) {
    effects.exclude_subcommand("changes what later commands run, or who may");
    effects.write_at_home(".npmrc");
}

pub(super) fn npm_changes(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(first, Some("get" | "list" | "ls")) {
        effects.exclude_subcommand("changes what later commands run, or who may");
    }
}

pub(super) fn changes_tools(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(first, Some("list" | "show" | "--version" | "dir" | "find")) {
        effects.exclude_subcommand("changes what is installed for all users, or publishes");
    }
}

pub(super) fn runs_package(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if args.iter().any(|arg| arg.operand().is_some()) {
        effects.exclude_subcommand("downloads a package and runs it");
    }
}

pub(super) fn bun(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let Some(("x", command)) =
        words.split_first().and_then(|(first, rest)| Some((first.as_static()?, rest)))
    {
        effects.start(command);
    }
}

pub(super) fn uv_tool(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    match words.first().and_then(|word| word.as_static()) {
        Some("run") => effects.start(words.get(1..).unwrap_or_default()),
        Some("list" | "dir") => {}
        _ => effects.exclude_subcommand("changes what is installed for all users"),
    }
}

pub(super) fn go_env(_: &mut InvocationEffects<'_>, _: &[Arg<'_>]) {}

pub(super) fn always_remote(effects: &mut InvocationEffects<'_>, _: &[Arg<'_>]) {
    effects.hosts.push(super::super::super::HostClaim::from_command(None));
}
