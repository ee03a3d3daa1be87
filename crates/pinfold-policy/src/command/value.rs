//! What a word may turn out to be, as far as the line itself gives its variables their values.

use std::cell::OnceCell;
use std::collections::HashSet;

use pinfold_shell::{Assignment, Part, Script, SimpleCommand, Word};

/// Programs that print names and numbers of their own, and nothing that they are told to print.
const PLAIN: &[&str] =
    &["pwd", "uname", "whoami", "hostname", "id", "nproc", "arch", "mktemp", "realpath", "date", "wc"];

/// Subcommands of git that do the same with [`PLAIN_GIT_OPTIONS`].
const PLAIN_GIT: &[&str] = &[
    "rev-parse",
    "merge-base",
    "describe",
    "ls-files",
    "branch",
    "symbolic-ref",
    "rev-list",
    "write-tree",
    "diff",
];

const PLAIN_GIT_OPTIONS: &[&str] = &[
    "--short",
    "--abbrev-ref",
    "--show-toplevel",
    "--show-prefix",
    "--show-current",
    "--tags",
    "--abbrev=0",
    "--verify",
    "--git-dir",
    "--name-only",
    "--all",
    "--always",
    "--count",
    "--cached",
    "--others",
    "--modified",
    "--exclude-standard",
    "--fork-point",
    "--staged",
    "--long",
    "--symbolic-full-name",
    "--is-inside-work-tree",
    "-n",
    "-1",
    "-q",
    "--quiet",
    "--",
];

/// Builtins that put something into a variable.
const READERS: &[&str] = &[
    "read",
    "mapfile",
    "readarray",
    "printf",
    "getopts",
    "declare",
    "export",
    "local",
    "typeset",
    "readonly",
];

/// The values that a line gives to variables.
pub(super) struct Values<'s> {
    script: &'s Script,
    /// Variables whose value may start with a dash.
    dashed: OnceCell<HashSet<&'s str>>,
}

impl<'s> Values<'s> {
    pub(super) fn of(script: &'s Script) -> Self {
        Self { script, dashed: OnceCell::new() }
    }

    /// Whether a word may start with a dash. A variable that the line does not set comes from whoever started the
    /// shell, and names of files are not looked at: those that start with a dash are a matter of the program.
    pub(super) fn may_be_option(&self, word: &Word) -> bool {
        match word.parts.first() {
            None | Some(Part::Glob(_) | Part::Tilde(_) | Part::Process | Part::Arithmetic) => false,
            Some(Part::Literal(text)) => text.starts_with('-'),
            Some(Part::Brace(words)) => words.is_empty() || words.iter().any(|word| self.may_be_option(word)),
            Some(Part::Substitution { .. }) => !self.prints_plainly(word),
            Some(Part::Parameter { name, .. }) => {
                is_positional(name) || self.dashed.get_or_init(|| self.all_dashed()).contains(name.as_str())
            }
        }
    }

    /// Every variable that the line may give such a value. One that gets its value from another counts.
    fn all_dashed(&self) -> HashSet<&'s str> {
        let commands = self.script.commands.iter();
        let assignments = commands.flat_map(|command| &command.assignments).chain(&self.script.loops);
        let assigned = assignments.filter(|one| self.assigns_dash(one)).map(|one| one.name.as_str());
        let read = self.script.commands.iter().flat_map(read_into);
        assigned.chain(read).collect()
    }

    fn assigns_dash(&self, assignment: &Assignment) -> bool {
        let dashed = |word: &Word| match word.parts.first() {
            Some(Part::Parameter { .. }) => true,
            _ => self.may_be_option(word),
        };
        let value = assignment.elements.is_empty() && dashed(&assignment.value);
        assignment.appends || value || assignment.elements.iter().any(dashed)
    }

    /// Whether the only substitution of a word is `$(pwd)`.
    pub(super) fn prints_folder(&self, word: &Word) -> bool {
        let substitutions =
            word.parts.iter().filter(|part| matches!(part, Part::Substitution { .. })).count();
        let mut inside = self.inside(word);
        substitutions == 1
            && inside.next().is_some_and(|command| {
                command.redirects.is_empty()
                    && matches!(command.words.as_slice(), [pwd] if pwd.as_static() == Some("pwd"))
            })
            && inside.next().is_none()
    }

    /// The commands in the substitutions of a word.
    fn inside(&self, word: &Word) -> impl Iterator<Item = &'s SimpleCommand> {
        let commands = &self.script.commands;
        let first = commands.partition_point(|command| command.span.start < word.span.start);
        let end = word.span.end;
        commands.iter().skip(first).take_while(move |command| command.span.end <= end)
    }

    /// Whether every command in the substitutions of a word prints nothing that starts with a dash.
    fn prints_plainly(&self, word: &Word) -> bool {
        let mut any = false;
        for command in self.inside(word) {
            any = true;
            if !is_plain(command) {
                return false;
            }
        }
        any
    }
}

fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*") || name != "0" && name.bytes().all(|b| b.is_ascii_digit())
}

fn is_plain(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter().map(Word::as_static);
    match words.next() {
        Some(Some("git")) => {
            let subcommand = words.next().flatten().is_some_and(|name| PLAIN_GIT.contains(&name));
            let known = |word: Option<&str>| {
                word.is_some_and(|text| !text.starts_with('-') || PLAIN_GIT_OPTIONS.contains(&text))
            };
            subcommand && words.all(known)
        }
        Some(Some(program)) => {
            PLAIN.contains(&program) && words.all(|word| word.is_some_and(|text| !text.starts_with("+-")))
        }
        Some(None) | None => false,
    }
}

/// The names that a builtin puts something into.
fn read_into(command: &SimpleCommand) -> impl Iterator<Item = &str> {
    let builtin = command.words.first().and_then(Word::as_static).is_some_and(|name| READERS.contains(&name));
    let named = command.words.iter().skip(1).filter(move |_| builtin);
    named.map(|word| word.literal_prefix().split(['=', '+', '[']).next().unwrap_or_default())
}
