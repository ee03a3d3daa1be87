//! git and its subcommands.
//!
//! What git reads of a repository may name programs that it runs, so that every use of another folder counts; what
//! changes a repository counts more.

use std::borrow::Cow;

use Operation::{Delete, Edit, MakeDir, MoveFrom, MoveTo, Read, Write};
use Purpose::{Aside, Command};
use pinfold_shell::Word;

use super::super::super::tracked::{self as tracked_words, Limit};
use super::super::super::words::{literal, unmatched};
use super::super::{Arg, InvocationEffects, OptionEffect, Purpose, WorkDirUse};
use crate::Operation;

/// A subcommand that is not known: an alias of the repository, or a program of that name.
pub(super) fn alias(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if args.iter().any(|arg| arg.operand().is_some()) {
        effects.folder = WorkDirUse::ChangesRepository;
    }
}

/// Runs programs by its nature.
pub(super) fn never(effects: &mut InvocationEffects<'_>, _: &[Arg<'_>]) {
    effects.exclude_subcommand("runs programs that its arguments or settings name");
}

fn operands<'a>(args: &[Arg<'a>]) -> Vec<&'a Word> {
    args.iter().filter_map(Arg::operand).collect()
}

/// Returns whether one of these options is there.
fn has(args: &[Arg<'_>], wanted: &[&str]) -> bool {
    args.iter().any(|arg| match arg {
        Arg::Option { name, known, .. } => {
            wanted.contains(name)
                || known.is_some_and(|known| known.names().any(|name| wanted.contains(&name)))
                || cluster_has(name, wanted)
        }
        Arg::Operand(_) => false,
    })
}

/// `-vD`: the last letter of a cluster is what its part means.
fn cluster_has(name: &str, wanted: &[&str]) -> bool {
    let last = name.chars().last();
    !name.starts_with("--") && wanted.iter().any(|wanted| wanted.len() == 2 && wanted.chars().last() == last)
}

fn change(effects: &mut InvocationEffects<'_>) {
    effects.folder = WorkDirUse::ChangesRepository;
}

/// `git branch` lists; with a name it makes one, with several options it changes one.
pub(super) fn branch(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let lists = has(
        args,
        &[
            "-l",
            "--list",
            "--show-current",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ],
    );
    let other = has(
        args,
        &[
            "-d",
            "-D",
            "--delete",
            "-m",
            "-M",
            "--move",
            "-c",
            "-C",
            "--copy",
            "-u",
            "--set-upstream-to",
            "--unset-upstream",
        ],
    );
    if other || !lists && !operands(args).is_empty() {
        change(effects);
    } else {
        list(effects, args);
    }
}

/// Listing names runs nothing that the repository names, unless signatures are shown: `gpg.program` checks those.
/// [git-config(1)](https://git-scm.com/docs/git-config)
fn list(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let static_and_plain = |word: &Word| word.as_static().is_some_and(|word| !word.contains("signature"));
    let plain = |arg: &Arg<'_>| match arg {
        Arg::Option { value, .. } => value.as_deref().is_none_or(static_and_plain),
        Arg::Operand(word) => static_and_plain(word),
    };
    if args.iter().all(plain) {
        effects.folder = WorkDirUse::Nothing;
    }
}

/// `git tag` lists; with a name it makes one.
pub(super) fn tag(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let lists = has(args, &["-l", "--list", "-v", "--verify", "--contains", "--points-at", "-n"]);
    if has(args, &["-d", "--delete"]) || !lists && !operands(args).is_empty() {
        change(effects);
    } else if !has(args, &["-v", "--verify"]) {
        list(effects, args);
    }
}

/// `git remote`, `git remote show` and `git remote get-url` look.
pub(super) fn remote(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    if !matches!(words.first().map(|word| word.as_static()), None | Some(Some("show" | "get-url"))) {
        change(effects);
    }
    if let (Some(Some("add" | "set-url")), Some(address)) =
        (words.first().map(|word| word.as_static()), words.get(2))
    {
        effects.reach_host(address);
    }
}

/// `git stash list` and `git stash show` look.
pub(super) fn stash<'a>(effects: &mut InvocationEffects<'a>, args: &[Arg<'a>]) {
    if matches!(operands(args).first().and_then(|word| word.as_static()), Some("list" | "show")) {
        tracked_behind_verb(effects, args, &["list", "show"]);
    } else {
        change(effects);
    }
}

/// Words that only look.
const LOOKS: &[&str] =
    &["list", "show", "exists", "status", "ls-files", "env", "version", "diff", "ls-remote"];

/// Subcommands whose first word says whether they look.
pub(super) fn words_that_look(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    if !words.first().and_then(|word| word.as_static()).is_some_and(|word| LOOKS.contains(&word))
        && !words.is_empty()
    {
        change(effects);
    }
}

/// Files that git-lfs keeps beside the repository; `install` and its kind write hooks and the person's own settings.
pub(super) fn lfs(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let verb = operands(args).first().and_then(|word| word.as_static());
    let known =
        ["track", "untrack", "fetch", "pull", "push", "checkout", "prune", "lock", "unlock", "locks", "logs"];
    if !verb.is_none_or(|verb| known.contains(&verb) || LOOKS.contains(&verb)) {
        effects.exclude_subcommand("changes settings, hooks or what later commands run");
    }
    words_that_look(effects, args);
}

/// `start` and `register` install a schedule, outside any folder.
pub(super) fn maintenance(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let verb = operands(args).first().and_then(|word| word.as_static());
    if verb != Some("run") && verb.is_some() {
        effects.exclude_subcommand("changes what the system runs by itself");
    }
    change(effects);
}

/// `git config` reads with one name and writes with more.
pub(super) fn config(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let looking = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--get-colorbool",
        "-l",
        "--list",
        "--show-origin",
    ];
    let first = words.first().and_then(|word| word.as_static());
    let changing = [
        "--unset",
        "--unset-all",
        "--add",
        "--replace-all",
        "--rename-section",
        "--remove-section",
        "-e",
        "--edit",
    ];
    let looks = has(args, &looking) && !has(args, &changing)
        || matches!(first, Some("get" | "list" | "get-color"))
        || words.len() < 2 && !has(args, &changing);
    let file = args.iter().find_map(|arg| match arg {
        Arg::Option { known: Some(known), value, .. } if matches!(known.effect, OptionEffect::ConfigFile) => {
            value.clone()
        }
        _ => None,
    });
    if looks {
        if let Some(file) = file {
            effects.touch(Cow::Owned(file.into_owned()), Read, Command);
        }
        return;
    }
    change(effects);
    let like = words.first().map_or_else(Word::default, |word| (*word).clone());
    if has(args, &["--global"]) {
        let home = Word {
            parts: vec![
                pinfold_shell::Part::Tilde(String::new()),
                pinfold_shell::Part::Literal("/.gitconfig".into()),
            ],
            ..like
        };
        effects.touch(Cow::Owned(home), Write, Command);
    } else if has(args, &["--system"]) {
        effects.touch(Cow::Owned(literal("/etc/gitconfig", &like)), Write, Command);
    } else if let Some(file) = file {
        effects.touch(Cow::Owned(file.into_owned()), Write, Command);
    } else {
        effects.touch(Cow::Owned(literal(".git/config", &like)), Write, Command);
    }
}

/// `git worktree add folder`, `remove`, `move`.
pub(super) fn worktree(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let Some((verb, rest)) = words.split_first() else { return };
    let verb = verb.as_static();
    if verb == Some("list") {
        return;
    }
    change(effects);
    let operation = if verb == Some("remove") { Delete } else { MakeDir };
    match (verb, rest) {
        (Some("add" | "remove"), [folder, ..]) => {
            effects.touch(Cow::Owned((*folder).clone()), operation, Command);
        }
        (Some("move"), [from, to, ..]) => {
            effects.touch(Cow::Owned((*from).clone()), MoveFrom, Command);
            effects.touch(Cow::Owned((*to).clone()), MoveTo, Command);
        }
        _ => {}
    }
}

pub(super) fn submodule(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let Some((verb, rest)) = words.split_first() else { return };
    match verb.as_static() {
        Some("status" | "summary") => {}
        Some("foreach") => {
            change(effects);
            effects.exclude_option("option", "foreach", "runs a command line in each submodule");
            let line =
                rest.iter().position(|word| !word.as_static().is_some_and(|text| text.starts_with('-')));
            effects.start_joined(rest.get(line.unwrap_or(rest.len())..).unwrap_or_default());
        }
        _ => change(effects),
    }
}

pub(super) fn bisect(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let Some((verb, rest)) = words.split_first() else { return };
    match verb.as_static() {
        Some("log" | "visualize" | "view" | "terms") => {}
        Some("run") => {
            change(effects);
            effects.exclude_option("option", "run", "runs a command at each step");
            effects.start(rest);
        }
        _ => change(effects),
    }
}

/// `git archive REV path…`: without a path, all that there is.
pub(super) fn archive<'a>(effects: &mut InvocationEffects<'a>, args: &[Arg<'a>]) {
    effects.reads_unnamed |= !operands(args).iter().skip(1).any(|word| names_path(word));
    tracked(effects, args);
}

/// Revisions and paths, told apart by the repository alone.
pub(super) fn tracked<'a>(effects: &mut InvocationEffects<'a>, args: &[Arg<'a>]) {
    args.iter().filter_map(Arg::operand).for_each(|word| effects.touch_tracked(Cow::Borrowed(word)));
}

fn names_path(word: &Word) -> bool {
    unmatched(word).is_some_and(|text| !tracked_words::names_no_path(&text))
}

fn tracked_behind_verb<'a>(effects: &mut InvocationEffects<'a>, args: &[Arg<'a>], verbs: &[&str]) {
    let words = operands(args);
    let is_verb = |word: &&Word| word.as_static().is_some_and(|text| verbs.contains(&text));
    let skip = usize::from(words.first().is_some_and(is_verb));
    words.iter().skip(skip).for_each(|word| effects.touch_tracked(Cow::Borrowed(word)));
}

/// `git grep pattern REV… path…`.
pub(super) fn grep<'a>(effects: &mut InvocationEffects<'a>, args: &[Arg<'a>]) {
    let stands_in = |arg: &Arg<'_>| {
        matches!(arg, Arg::Option { known: Some(known), value: Some(_), .. }
            if matches!(known.effect, OptionEffect::ForFirst | OptionEffect::ForFirstFile))
    };
    let pattern = usize::from(!args.iter().any(stands_in));
    let words = operands(args);
    let behind_dashes = effects.behind_dashes;
    let before_dashes = operands(args.get(..behind_dashes.unwrap_or(args.len())).unwrap_or(args)).len();
    words.iter().take(pattern).for_each(|word| effects.mark_no_path(word));
    words.iter().skip(pattern).for_each(|word| effects.touch_tracked(Cow::Borrowed(word)));
    let mut perhaps = Vec::new();
    for (at, word) in words.into_iter().enumerate().skip(pattern) {
        let limit = unmatched(word).map_or(Limit::No, |text| tracked_words::limit(&text));
        match limit {
            Limit::Yes => return,
            // Behind `--` are paths alone, and with it everything in front of it is a revision.
            Limit::Perhaps if at >= before_dashes => return,
            Limit::Perhaps if behind_dashes.is_none() => perhaps.extend(word.as_static()),
            Limit::Perhaps | Limit::No => {}
        }
    }
    effects.search_tracked(perhaps);
}

/// `git reflog show REV path…`.
pub(super) fn reflog<'a>(effects: &mut InvocationEffects<'a>, args: &[Arg<'a>]) {
    words_that_look(effects, args);
    tracked_behind_verb(effects, args, &["show", "list", "exists", "expire", "delete"]);
}

/// `git merge-file current base other`: the first gets the result, unless that is printed.
pub(super) fn merge_file<'a>(effects: &mut InvocationEffects<'a>, args: &[Arg<'a>]) {
    tracked(effects, args);
    let prints = has(args, &["-p", "--stdout", "--object-id"]);
    if let Some(first) = operands(args).first().filter(|_| !prints) {
        effects.touch(Cow::Borrowed(first), Edit, Command);
    }
}

/// `git bundle create file …`.
pub(super) fn bundle(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    if let [verb, file, ..] = words.as_slice() {
        let creates = verb.as_static() == Some("create");
        let (operation, purpose) = if creates { (Write, Aside) } else { (Read, Command) };
        effects.touch(Cow::Owned((*file).clone()), operation, purpose);
    }
}

/// The first operand may be an address.
pub(super) fn remote_first(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if let Some(address) = operands(args).first() {
        address_of(effects, address);
    }
}

/// `git clone address [folder]`.
pub(super) fn clone(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let Some(address) = words.first() else { return };
    address_of(effects, address);
    if let Some(folder) = words.get(1) {
        return effects.touch(Cow::Owned((*folder).clone()), MakeDir, Command);
    }
    let named = address.as_static().map(|text| {
        let text = text.trim_end_matches('/');
        let name = text.rsplit(['/', ':']).next().unwrap_or(text);
        name.strip_suffix(".git").unwrap_or(name)
    });
    match named {
        Some(name) if !name.is_empty() => effects.touch(Cow::Owned(literal(name, address)), MakeDir, Command),
        _ => effects.exclude_unknown_write(),
    }
}

/// An address that git would reach; `ext::` runs what stands behind it.
fn address_of(effects: &mut InvocationEffects<'_>, address: &Word) {
    let start = address.literal_prefix();
    if start.contains("::") && !start.starts_with('[') {
        effects.exclude_option(
            "option",
            start.split("::").next().unwrap_or(start),
            "runs a helper for the address",
        );
    } else if super::super::super::host::is_remote(start) {
        effects.reach_host(address);
    } else if start.starts_with(['/', '.']) && effects.command_word() != Some("push") {
        effects.touch(Cow::Owned(address.clone()), Read, Command);
    } else if address.as_static().is_none() && start.is_empty() {
        effects.hosts.push(super::super::super::HostClaim::from_command(None));
    }
}
