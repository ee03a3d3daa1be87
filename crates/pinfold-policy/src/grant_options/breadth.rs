//! Widest standing grant of a command: data, and its lookup.
//!
//! One table for every source of standing grants: the dialog, hooks, learnt rules. A program that is not in it
//! may be granted as the very command it is, never wider.

use std::collections::HashMap;
use std::sync::LazyLock;

use pinfold_commands::read_only;
use pinfold_commands::{CommandClaim, Invocation, ProgramKind, program_kind, subcommand_kind};

use crate::pattern::CommandPattern;

const WORDS: &str = include_str!("words.txt");

/// Class of a command for standing grants, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CommandBreadth {
    /// No class of its own.
    Plain,
    /// Runs code from files of the folder, or changes more than its words name.
    Exactly,
    /// Connects to other machines.
    Reaches,
    /// Destroys data for good.
    Destroys,
    /// Starts any program that it is given.
    Anything,
}

impl CommandBreadth {
    /// Returns whether anything standing may be about it.
    pub(super) fn may_stand(self) -> bool {
        self < Self::Destroys
    }
}

/// The widest standing grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Breadth {
    pub(super) kind: CommandBreadth,
    /// Number of leading words that identify the operation; the rest may be anything.
    pub(super) prefix: Option<usize>,
    /// Any arguments of the program are fine.
    pub(super) open: bool,
    /// Listed as an everyday command whose arguments matter.
    ordinary: bool,
}

const NOTHING: Breadth =
    Breadth { kind: CommandBreadth::Anything, prefix: None, open: false, ordinary: false };

struct Table {
    kinds: HashMap<&'static str, CommandBreadth>,
    /// Prefixes by program: the words behind it, with `*` for any.
    prefixes: HashMap<&'static str, Vec<Vec<&'static str>>>,
    open: Vec<&'static str>,
    ordinary: Vec<&'static str>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table =
        Table { kinds: HashMap::new(), prefixes: HashMap::new(), open: Vec::new(), ordinary: Vec::new() };
    for line in WORDS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(what) = words.next() else { continue };
        let kind = match what {
            "anything" => CommandBreadth::Anything,
            "destroys" => CommandBreadth::Destroys,
            "reaches" => CommandBreadth::Reaches,
            "exactly" => CommandBreadth::Exactly,
            "open" => {
                table.open.extend(words);
                continue;
            }
            "ordinary" => {
                table.ordinary.extend(words);
                continue;
            }
            _ => {
                let Some(program) = words.next().and_then(|word| word.strip_suffix(':')) else { continue };
                let prefixes = words.map(|word| word.split('+').collect());
                table.prefixes.entry(program).or_default().extend(prefixes);
                continue;
            }
        };
        table.kinds.extend(words.map(|word| (word, kind)));
    }
    table
});

/// Returns the widest standing grant of a command by its words; `None` stands for a word that is known only at run time.
pub(super) fn command_breadth(words: &[Option<&str>]) -> Breadth {
    let Some((Some(program), args)) = words.split_first() else { return NOTHING };
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let plain = unversioned(name);
    let own = [name, plain].into_iter().filter_map(by_name).max();
    let kind = own.unwrap_or(CommandBreadth::Plain).max(in_place(program));
    if kind == CommandBreadth::Anything {
        return NOTHING;
    }
    let below = [name, plain].into_iter().filter_map(|name| subcommand(name, args)).max();
    let prefix = [name, plain].into_iter().find_map(|name| prefix(name, args));
    let open =
        (TABLE.open.contains(&name) || read_only::is_in_catalog(name)) && kind == CommandBreadth::Plain;
    let ordinary = TABLE.ordinary.contains(&name) || below.or(own) == Some(CommandBreadth::Exactly);
    Breadth { kind: below.unwrap_or(kind), prefix, open, ordinary }
}

/// Returns the class of a program by the table, or by the catalog: one that starts others by its words is of that kind.
fn by_name(name: &str) -> Option<CommandBreadth> {
    TABLE.kinds.get(name).copied().or_else(|| by_catalog(program_kind(name)))
}

fn by_catalog(kind: Option<ProgramKind>) -> Option<CommandBreadth> {
    kind.filter(|kind| kind.launches()).map(|_| CommandBreadth::Anything)
}

/// A program that is named by its place runs what stands in a file there.
fn in_place(program: &str) -> CommandBreadth {
    if program.contains('/') && !pinfold_commands::is_system_path(program) {
        CommandBreadth::Exactly
    } else {
        CommandBreadth::Plain
    }
}

/// `python` for `python3.12`.
fn unversioned(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-')
}

/// Returns the class of a subcommand by its nearest entry. Behind options of the program itself it may be any word.
fn subcommand(name: &str, args: &[Option<&str>]) -> Option<CommandBreadth> {
    let entry = |words: &[&str]| {
        let words = [&[name], words].concat();
        TABLE.kinds.get(words.join("+").as_str()).copied().or_else(|| by_catalog(subcommand_kind(&words)))
    };
    match args.first() {
        Some(Some(first)) if !first.starts_with(['-', '+']) => {
            let known: Vec<&str> = args.iter().map_while(|word| *word).collect();
            (1..=known.len().min(2)).rev().find_map(|count| entry(known.get(..count)?))
        }
        Some(Some(_)) => {
            let known: Vec<&str> = args.iter().flatten().copied().collect();
            known.windows(1).chain(known.windows(2)).filter_map(entry).max()
        }
        Some(None) => TABLE.prefixes.contains_key(name).then_some(CommandBreadth::Anything),
        None => None,
    }
}

/// Returns the number of words that identify the subcommand.
fn prefix(name: &str, args: &[Option<&str>]) -> Option<usize> {
    let takes = |wanted: &str, word: Option<&str>| match word {
        Some(word) => word == wanted || (wanted == "*" && !word.starts_with('-')),
        None => false,
    };
    let matches = |prefix: &&Vec<&str>| {
        prefix.len() <= args.len() && prefix.iter().zip(args).all(|(wanted, word)| takes(wanted, *word))
    };
    Some(1 + TABLE.prefixes.get(name)?.iter().find(matches)?.len())
}

/// The words of a command, as far as they are known.
pub(super) fn known(invocation: &Invocation) -> Vec<Option<&str>> {
    invocation.words.iter().map(pinfold_shell::Word::as_static).collect()
}

/// Returns the widest standing grant of a command with all that it starts.
pub(super) fn of_claim(claim: &CommandClaim) -> Breadth {
    let breadth = command_breadth(&known(claim.allowable()));
    if claim.launches() { NOTHING } else { breadth }
}

/// Returns whether a yes to all plain commands covers it: a program that is listed or only reads, by its name alone, that starts
/// nothing else, reaches no other machine and destroys nothing.
pub(crate) fn is_plain(claim: &CommandClaim) -> bool {
    let here = claim.allowable().program().is_some_and(|name| !name.contains('/'));
    let Breadth { kind, prefix, open, ordinary } = of_claim(claim);
    let listed = claim.read_only || prefix.is_some() || open || ordinary;
    claim.not_allowlistable.is_empty() && (claim.inert || here && listed && kind <= CommandBreadth::Exactly)
}

/// Returns whether a pattern leaves no more open than the table lets it.
pub(super) fn is_narrow(pattern: &CommandPattern) -> bool {
    let words: Vec<Option<&str>> = pattern.leading().iter().map(|word| Some(&**word)).collect();
    let Breadth { kind, prefix, open, .. } = command_breadth(&words);
    match (kind, pattern.is_exact()) {
        (CommandBreadth::Plain, false) => open || prefix.is_some(),
        (CommandBreadth::Plain | CommandBreadth::Exactly | CommandBreadth::Reaches, true) => true,
        (CommandBreadth::Exactly | CommandBreadth::Reaches, false)
        | (CommandBreadth::Destroys | CommandBreadth::Anything, _) => false,
    }
}

/// Returns whether what a pattern names talks to no other machine.
pub(super) fn stays_here(pattern: &CommandPattern) -> bool {
    let words: Vec<Option<&str>> = pattern.leading().iter().map(|word| Some(&**word)).collect();
    command_breadth(&words).kind < CommandBreadth::Reaches
}

#[cfg(test)]
mod tests;
