//! The folders that each command of a script can stand in: where it starts, and wherever a `cd` in front can lead.
//!
//! A command behind `cd x &&` stands in `x`. Otherwise a `cd` may have failed, or stand in a loop, so a relative word
//! is claimed from every folder that the script ever stands in, and all have to be within the scope.

use pinfold_shell::{Script, SimpleCommand, Span, Word};

use super::programs::builtin;
use super::spelled::expand;
use super::variables::{VariableValue, Variables};
use crate::declared::expand::tidy;

/// The folders of one script, absolute.
pub(super) struct Folders {
    /// Each folder that the script stands in at some time.
    all: Vec<String>,
    /// Working directories of single commands, where they are certain.
    certain: Vec<Option<Vec<String>>>,
    /// The first change of folder that is known only by running.
    pub(super) unknown: Option<Span>,
}

/// More folders than an honest line goes through.
const MOST_FOLDERS: usize = 32;

impl Folders {
    pub(super) fn from_script(script: &Script, start: &[String], variables: &Variables<'_>) -> Self {
        let mut own = Self { all: start.to_vec(), certain: Vec::new(), unknown: None };
        // Where each command leaves its shell if it succeeds.
        let mut left: Vec<Option<Vec<String>>> = Vec::with_capacity(script.commands.len());
        for command in &script.commands {
            let certain = predecessor(script, command).and_then(|at| left.get(at).cloned().flatten());
            let to = target(command, variables);
            left.push(match to {
                None => certain.clone(),
                Some(to) => own.go(to, command, certain.as_deref()),
            });
            own.certain.push(certain);
        }
        own
    }

    /// The folders that the command at this position can stand in.
    pub(super) fn working_folders(&self, index: usize) -> &[String] {
        self.certain.get(index).and_then(Option::as_deref).unwrap_or(&self.all)
    }

    /// Every folder.
    pub(super) fn all(&self) -> &[String] {
        &self.all
    }

    fn go(&mut self, to: Target, command: &SimpleCommand, certain: Option<&[String]>) -> Option<Vec<String>> {
        let climbs = matches!(&to, Target::To(to) if to.split('/').any(|name| name == ".."));
        // Run again and again it would climb further each time.
        let again = command.place.repeats && certain.is_none();
        let Target::To(to) = to else { return self.lost(command) };
        if climbs && again {
            return self.lost(command);
        }
        let written: Vec<String> = if to.starts_with('/') {
            vec![to]
        } else {
            certain.unwrap_or(&self.all).iter().map(|folder| format!("{folder}/{to}")).collect()
        };
        let mut reached = Vec::new();
        for written in written {
            // bash takes `..` by the words, the kernel by the links.
            if climbs {
                reached.push(tidy(written.as_ref()).to_string_lossy().into_owned());
            }
            reached.push(written);
        }
        for folder in &reached {
            if !self.all.contains(folder) {
                self.all.push(folder.clone());
            }
        }
        if self.all.len() > MOST_FOLDERS {
            self.all.truncate(MOST_FOLDERS);
            return self.lost(command);
        }
        Some(reached)
    }

    fn lost<T>(&mut self, command: &SimpleCommand) -> Option<T> {
        self.unknown.get_or_insert_with(|| command.span.clone());
        None
    }
}

/// The command that has to succeed in the same shell before this one runs.
fn predecessor(script: &Script, command: &SimpleCommand) -> Option<usize> {
    let at = command.place.after?;
    let front = script.commands.get(at)?;
    (front.place.shell == command.place.shell && front.place.function == command.place.function).then_some(at)
}

enum Target {
    To(String),
    Unknown,
}

/// Returns the folder that a command changes to.
fn target(command: &SimpleCommand, variables: &Variables<'_>) -> Option<Target> {
    let (name, args) = builtin(&command.words)?;
    let is_option = |word: &&Word| matches!(word.as_static(), Some("-L" | "-P" | "-e" | "-@" | "--"));
    let operand = args.iter().find(|word| !is_option(word));
    let Some(name) = name else { return Some(Target::Unknown) };
    match (name, operand) {
        ("cd" | "chdir", None) => Some(variables.tilde("").map_or(Target::Unknown, Target::To)),
        ("cd" | "chdir" | "pushd", Some(operand)) => Some(named(operand, variables)),
        ("pushd", None) | ("popd", _) => Some(Target::Unknown),
        _ => None,
    }
}

fn named(operand: &Word, variables: &Variables<'_>) -> Target {
    let (texts, blinds) = expand(operand, variables);
    let [one] = texts.as_slice() else { return Target::Unknown };
    // A plain name is looked up in CDPATH first; `-` and `+1` are places that were left before.
    let by_path = !one.text.starts_with(['/', '.'])
        && !matches!(variables.value("CDPATH", true, true), VariableValue::Unset);
    let rotates = one.text.starts_with(['-', '+']);
    if !blinds.is_empty() || one.open.is_some() || one.text.is_empty() || by_path || rotates {
        return Target::Unknown;
    }
    Target::To(one.text.clone())
}
