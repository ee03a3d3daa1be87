//! Compilers, build tools and package managers. They run code of the folder they work in; a rule on their name means
//! the folder of the call.

use std::borrow::Cow;

use Operation::{Read, Write};
use pinfold_shell::Word;

use super::super::{Acts, Arg, Purpose};
use crate::Operation;

/// The source of packages: code of others, which is run.
const OTHER_SOURCE: &str = "takes packages from another place than usual";

/// `ar [-]KEYS [member] archive [files…]`: only `p` and `t` leave the archive as it is, and `x` writes its members here.
pub(super) fn ar(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    let Some(keys) = words.next() else { return };
    acts.take(keys);
    let letters = keys.as_static().unwrap_or_default();
    if letters.starts_with("--") || keys.as_static().is_none() {
        return acts.option_bar("option", keys.literal_prefix(), "may load a library, or change anything");
    }
    let looks = letters.contains(['p', 't']) && !letters.contains(['d', 'm', 'q', 'r', 's', 'x']);
    if letters.contains('x') {
        acts.write_in_folder(Purpose::Command);
    }
    for word in words {
        acts.path(Cow::Owned(word.clone()), if looks { Read } else { Write }, Purpose::Command);
    }
}

/// `//package:target`, `@repository//package`: labels of the workspace, which are no paths.
pub(super) fn labels(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let is_label = |word: &&Word| {
        let start = word.literal_prefix();
        start.strip_prefix('-').unwrap_or(start).starts_with("//") || start.starts_with('@')
    };
    args.iter().filter_map(Arg::operand).filter(is_label).for_each(|word| acts.take(word));
}

/// `make target NAME=value`: a variable may be a program or hold a command.
pub(super) fn make(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let Some((name, value)) = word.literal_prefix().split_once('=') else { continue };
        let name = name.trim_end_matches([':', '?', '+', '!']);
        let names_program = super::super::super::environment::matters(name);
        // `NAME!=line` runs the line, and a recipe pastes the value into one.
        let runs = word.literal_prefix().contains("!=") || word.as_static().is_none();
        if names_program || runs || value.contains(['$', '`', ';', '|', '&', '<', '>', '\n']) {
            acts.option_bar(
                "option",
                word.literal_prefix().split('=').next().unwrap_or_default(),
                "changes what the build runs",
            );
        }
    }
}

/// `cmake folder`: the folder may be the source or a build.
pub(super) fn cmake(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if let Some(folder) = args.iter().find_map(Arg::operand)
        && acts.sources.is_empty()
    {
        acts.sources.push(Cow::Owned(folder.clone()));
    }
}

/// A package that lies elsewhere, or is fetched from an address, is code of others that is run.
pub(super) fn installs(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
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
            acts.named_bar(word.as_static(), OTHER_SOURCE);
        }
    }
}

/// Hands the words behind `--` to the compiler.
pub(super) fn to_compiler(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        if super::super::setting::passes_program(word) {
            acts.named_bar(word.as_static(), "tells the compiler what may name a program");
        }
    }
}

/// Settings and scripts that later commands run by.
/// What `npm config` changes stands in the person's own file.
pub(super) fn npm_config(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    npm_changes(acts, args);
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if matches!(first, Some("set" | "delete" | "edit" | "fix")) {
        acts.at_home(".npmrc");
    }
}

/// `npm set` is short for `npm config set`.
pub(super) fn npm_set(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.subcommand_bar("changes what later commands run, or who may");
    acts.at_home(".npmrc");
}

pub(super) fn npm_changes(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(first, Some("get" | "list" | "ls")) {
        acts.subcommand_bar("changes what later commands run, or who may");
    }
}

pub(super) fn changes_tools(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(first, Some("list" | "show" | "--version" | "dir" | "find")) {
        acts.subcommand_bar("changes what is installed for all users, or publishes");
    }
}

pub(super) fn runs_package(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if args.iter().any(|arg| arg.operand().is_some()) {
        acts.subcommand_bar("downloads a package and runs it");
    }
}

pub(super) fn bun(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let Some(("x", command)) =
        words.split_first().and_then(|(first, rest)| Some((first.as_static()?, rest)))
    {
        acts.start(command);
    }
}

pub(super) fn uv_tool(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    match words.first().and_then(|word| word.as_static()) {
        Some("run") => acts.start(words.get(1..).unwrap_or_default()),
        Some("list" | "dir") => {}
        _ => acts.subcommand_bar("changes what is installed for all users"),
    }
}

pub(super) fn go_env(_: &mut Acts<'_>, _: &[Arg<'_>]) {}

pub(super) fn always_remote(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.hosts.push(super::super::super::HostClaim::of_command(None));
}
