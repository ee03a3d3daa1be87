//! Values that a word may have, as far as the line itself gives its variables their values.

use std::borrow::Cow;
use std::slice;

use pinfold_shell::{ChangedBy, NewValue, Part, Script, SimpleCommand, VariableChange, Word, is_set_by_bash};

use super::constants::{AssignedValues, Constants};

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

/// Most words that one may become; with more it is as good as not known.
const MAX_WORDS: usize = 64;

/// The values that a line gives to variables.
pub(crate) struct Values<'s> {
    script: &'s Script,
    constants: Constants<'s>,
}

impl<'s> Values<'s> {
    pub(super) fn new(script: &'s Script) -> Self {
        Self { script, constants: Constants::from_script(script) }
    }

    /// Values that the line gives to variables.
    pub(crate) fn constants(&self) -> &Constants<'s> {
        &self.constants
    }

    /// The words that a word of the command at `at` becomes, with the values that the line gives its variables. `None`:
    /// that is known only at run time. `~`, `$HOME`, `$PWD` and `$OLDPWD` stay as they are, unless the line sets them.
    pub(super) fn fill<'w>(&self, word: &'w Word, at: usize) -> Option<Cow<'w, [Word]>> {
        let mut given = false;
        for part in &word.parts {
            match part {
                Part::Literal(_) | Part::Glob(_) => {}
                Part::Tilde(user) => {
                    let stands_for = match user.as_str() {
                        "" => "HOME",
                        "+" => "PWD",
                        "-" => "OLDPWD",
                        _ => continue,
                    };
                    if self.constants.given(stands_for) != AssignedValues::Nowhere {
                        return None;
                    }
                }
                Part::Parameter { name, plain: true, .. } => {
                    given |= self.is_given(name, word, at)?;
                }
                // A word that is nothing else names a pipe.
                Part::Process if word.parts.len() == 1 => {}
                Part::Process
                | Part::Parameter { .. }
                | Part::Substitution { .. }
                | Part::Arithmetic
                | Part::Brace(_) => return None,
            }
        }
        if given {
            self.constants.every(word, MAX_WORDS).map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(slice::from_ref(word)))
        }
    }

    /// The same for a word that stays one.
    pub(super) fn fill_one(&self, word: Word, at: usize) -> Option<Word> {
        if word.as_static().is_some() {
            return Some(word);
        }
        let Cow::Owned(words) = self.fill(&word, at)? else { return Some(word) };
        let mut words = words.into_iter();
        words.next().filter(|_| words.next().is_none())
    }

    /// Returns whether the line gives a variable its values, all of which are known; `Some(false)`: it is the home directory or
    /// one of the folders that are tracked.
    fn is_given(&self, name: &str, word: &Word, at: usize) -> Option<bool> {
        let folder = matches!(name, "HOME" | "PWD" | "OLDPWD");
        match self.constants.given(name) {
            AssignedValues::Nowhere if folder => Some(false),
            AssignedValues::Values(_) if self.is_certain(name, word, at) => Some(true),
            AssignedValues::Values(_) | AssignedValues::Unknown | AssignedValues::Nowhere => None,
        }
    }

    /// Returns whether a variable has been given one of its values when a word is read: by a loop around it, or by an
    /// assignment in front of it that is made in any case, in its own shell or one around that. Otherwise it may hold
    /// what the environment gave it.
    fn is_certain(&self, name: &str, word: &Word, at: usize) -> bool {
        if is_set_by_bash(name) {
            return false;
        }
        let changes = self.constants.table().changes(name);
        let around = |change: &VariableChange<'_>| match change.by {
            ChangedBy::Loop(over) => self.script.loops.get(over).is_some_and(|over| {
                over.value.span.start <= word.span.start && word.span.end <= over.value.span.end
            }),
            ChangedBy::Command(_) | ChangedBy::Arithmetic => false,
        };
        if changes.iter().any(around) {
            return true;
        }
        let Some(here) = self.script.commands.get(at).filter(|here| here.place.function.is_none()) else {
            return false;
        };
        let shells: Vec<usize> = self.script.shells_around(here.place.shell).collect();
        let before = |change: &VariableChange<'_>| match (change.value, change.by) {
            (NewValue::Word(_), ChangedBy::Command(by)) if by < at => {
                self.script.commands.get(by).is_some_and(|by| {
                    by.words.is_empty() && is_made_in_any_case(by) && shells.contains(&by.place.shell)
                })
            }
            _ => false,
        };
        changes.iter().any(before)
    }

    /// Returns whether a word may start with a dash. A variable that the line does not set comes from the process that started the
    /// shell, and names of files are not looked at: those that start with a dash are a matter of the program.
    pub(super) fn may_be_option(&self, word: &Word) -> bool {
        match word.parts.first() {
            None | Some(Part::Glob(_) | Part::Tilde(_) | Part::Process | Part::Arithmetic) => false,
            Some(Part::Literal(text)) => text.starts_with('-'),
            Some(Part::Brace(words)) => words.is_empty() || words.iter().any(|word| self.may_be_option(word)),
            Some(Part::Substitution { .. }) => !self.prints_plainly(word),
            Some(Part::Parameter { name, .. }) => is_positional(name) || self.is_dashed(name),
        }
    }

    /// Returns whether the line may give a variable a value that starts with a dash. One that gets its value from another counts.
    fn is_dashed(&self, name: &str) -> bool {
        let table = self.constants.table();
        table.any().is_some() || table.changes(name).iter().any(|change| self.gives_dash(change.value))
    }

    fn gives_dash(&self, value: NewValue<'s>) -> bool {
        match value {
            NewValue::Word(word) => self.holds_dash(word),
            NewValue::Each(words) => words.iter().any(|word| self.holds_dash(word)),
            NewValue::Appended(_) | NewValue::Argument { .. } | NewValue::Kept { .. } | NewValue::Unknown => {
                true
            }
            NewValue::List(words) => words.iter().any(|word| self.holds_dash(word)),
            NewValue::Removed | NewValue::Number => false,
        }
    }

    fn holds_dash(&self, word: &Word) -> bool {
        match word.parts.first() {
            Some(Part::Parameter { .. }) => true,
            Some(Part::Brace(words)) => words.is_empty() || words.iter().any(|word| self.holds_dash(word)),
            _ => self.may_be_option(word),
        }
    }

    /// Returns whether the only substitution of a word is `$(pwd)`.
    pub(super) fn prints_folder(&self, word: &Word) -> bool {
        let substitutions =
            word.parts.iter().filter(|part| matches!(part, Part::Substitution { .. })).count();
        if substitutions != 1 {
            return false;
        }
        let mut inside = self.inside(word);
        inside.next().is_some_and(|command| {
            command.redirects.is_empty()
                && matches!(command.words.as_slice(), [pwd] if pwd.as_static() == Some("pwd"))
        }) && inside.next().is_none()
    }

    /// Returns whether a word is what git lists of the folder that the shell stands in, and nothing else: names below it.
    pub(super) fn lists_folder(&self, word: &Word) -> bool {
        let mut inside = self.inside(word);
        matches!(word.parts.as_slice(), [Part::Substitution { .. }])
            && inside.next().is_some_and(lists_files)
            && inside.next().is_none()
    }

    /// The commands in the substitutions of a word.
    fn inside(&self, word: &Word) -> impl Iterator<Item = &'s SimpleCommand> {
        let commands = &self.script.commands;
        let first = commands.partition_point(|command| command.span.start < word.span.start);
        let end = word.span.end;
        commands.iter().skip(first).take_while(move |command| command.span.end <= end)
    }

    /// Returns whether every command in the substitutions of a word prints nothing that starts with a dash.
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

/// Returns whether a command runs whatever happens before, and in the shell itself.
fn is_made_in_any_case(command: &SimpleCommand) -> bool {
    let place = &command.place;
    !place.conditional && place.function.is_none() && !place.background
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

/// `git ls-files` without an operand that leads out of the folder.
fn lists_files(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter().map(Word::as_static);
    let listing = words.next() == Some(Some("git")) && words.next() == Some(Some("ls-files"));
    let below = |text: &str| {
        if text.starts_with('-') {
            return PLAIN_GIT_OPTIONS.contains(&text);
        }
        !text.starts_with(['/', ':', '~']) && text.split('/').all(|name| name != "..")
    };
    listing
        && command.redirects.is_empty()
        && command.assignments.is_empty()
        && words.all(|word| word.is_some_and(below))
}
