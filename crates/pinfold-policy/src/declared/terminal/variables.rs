//! Values of variables while a script runs: that of the environment, and every one that the script assigns, wherever it
//! does. Order is not tracked; one value more only makes the audit stricter.

use std::collections::{BTreeMap, BTreeSet};

use pinfold_shell::{Assignment, Script, Setter, SimpleCommand, Word};

use super::programs::builtin;
use pinfold_commands::pieces::Spelled;

use super::spelled::{expand, name_set_by};
use crate::declared::expand::ExpandContext;

/// The variables of one script.
pub(super) struct Variables<'a> {
    around: &'a ExpandContext,
    /// The values that the script gives to names.
    given: BTreeMap<&'a str, Vec<&'a Word>>,
    /// Names that the script sets to what is known only by running.
    lost: BTreeSet<String>,
    /// The script sets a name that is itself known only by running.
    all_lost: bool,
    /// The script changes its folder.
    pub(super) moves: bool,
}

/// Variables that may hold something else than the environment says.
#[derive(Debug, Clone, Default)]
pub(super) struct TouchedVariables {
    names: BTreeSet<String>,
    /// Any of them may.
    all: bool,
}

impl TouchedVariables {
    /// Adds the variables that the words of a command set for the program that it starts: `env NAME=value`.
    pub(super) fn with_words(mut self, words: &[Option<&str>]) -> Self {
        let set = words.iter().flatten().filter_map(|word| word.split_once('=')).map(|(name, _)| name);
        self.names.extend(set.map(str::to_owned));
        self.all |= words.contains(&None);
        self
    }
}

/// Value of a variable.
pub(super) enum VariableValue {
    /// One of these.
    OneOf(Vec<Spelled>),
    /// A number.
    Number,
    /// Neither the environment nor the script sets it.
    Unset,
    /// Known only by running.
    Unknown,
}

/// Builtins that change the folder.
const MOVERS: &[&str] = &["cd", "pushd", "popd", "chdir"];
/// Words of one script that set variables; beyond, none is followed.
const MOST_VALUES: usize = 512;

impl<'a> Variables<'a> {
    /// `outer`: what a command around the text may have set.
    pub(super) fn from_script(
        script: &'a Script,
        around: &'a ExpandContext,
        outer: &TouchedVariables,
    ) -> Self {
        let mut own = Self {
            around,
            given: BTreeMap::new(),
            lost: outer.names.clone(),
            all_lost: outer.all || !script.opaque.is_empty(),
            moves: false,
        };
        script.loops.iter().for_each(|set| own.assign(set));
        for command in &script.commands {
            command.assignments.iter().for_each(|set| own.assign(set));
            own.set_by(command);
        }
        let values: usize = own.given.values().map(Vec::len).sum();
        own.all_lost |= values > MOST_VALUES;
        own
    }

    fn assign(&mut self, set: &'a Assignment) {
        if set.appends {
            self.lost.insert(set.name.clone());
        }
        let given = self.given.entry(&set.name).or_default();
        if set.elements.is_empty() {
            given.push(&set.value);
        } else {
            given.extend(&set.elements);
        }
    }

    fn set_by(&mut self, command: &'a SimpleCommand) {
        let Some((name, args)) = builtin(&command.words) else { return };
        self.moves |= name.is_none_or(|name| MOVERS.contains(&name));
        let sets = |name: &str| match Setter::from_name(name) {
            Some(Setter::ByOption(letter)) => {
                args.iter().any(|word| word.literal_prefix().starts_with(&format!("-{letter}")))
            }
            Some(Setter::Declares | Setter::Reads | Setter::Counts | Setter::Removes) => true,
            None => false,
        };
        if !name.is_none_or(sets) {
            return;
        }
        // A name that stands for another one.
        let refers =
            |word: &Word| word.literal_prefix().starts_with('-') && word.literal_prefix().contains('n');
        self.all_lost |= matches!(name, Some("declare" | "typeset" | "local")) && args.iter().any(refers);
        for word in args {
            match name_set_by(word) {
                Some(name) => {
                    self.lost.insert(name.to_owned());
                }
                None => self.all_lost |= !word.literal_prefix().starts_with('-'),
            }
        }
        // What `read`, `mapfile` and `getopts` set when no name is given.
        self.lost.extend(["REPLY", "MAPFILE", "OPTARG"].map(str::to_owned));
    }

    /// The value of `$name` or `${name…}`.
    pub(super) fn value(&self, name: &str, quoted: bool, plain: bool) -> VariableValue {
        if !plain {
            return VariableValue::Unknown;
        }
        match name {
            "?" | "#" | "$" | "!" | "PPID" | "UID" | "EUID" | "LINENO" | "SECONDS" | "RANDOM" => {
                return VariableValue::Number;
            }
            _ => {}
        }
        if self.all_lost || self.lost.contains(name) || (self.moves && matches!(name, "PWD" | "OLDPWD")) {
            return VariableValue::Unknown;
        }
        // What words are split at may be anything then.
        if !quoted && (self.lost.contains("IFS") || self.given.contains_key("IFS")) {
            return VariableValue::Unknown;
        }
        let own = self.around.variable(name);
        let Some(given) = self.given.get(name) else {
            return own.map_or(VariableValue::Unset, |value| one_of(vec![Spelled::plain(value)], quoted));
        };
        // Before the script sets it, it holds what the environment says, or nothing.
        let mut values = vec![Spelled::plain(own.unwrap_or_default())];
        let outer = Variables { given: BTreeMap::new(), lost: self.names(), ..self.bare() };
        for word in given {
            let (texts, blinds) = expand(word, &outer);
            if !blinds.is_empty() || values.len() > MOST_VALUES {
                return VariableValue::Unknown;
            }
            values.extend(texts);
        }
        one_of(values, quoted)
    }

    /// Copies the variables without those that the script sets.
    fn bare(&self) -> Self {
        Self {
            around: self.around,
            given: BTreeMap::new(),
            lost: BTreeSet::new(),
            all_lost: self.all_lost,
            moves: self.moves,
        }
    }

    /// Every name that the script touches: a value that is made of another variable is not followed.
    fn names(&self) -> BTreeSet<String> {
        self.given.keys().map(|name| (*name).to_owned()).chain(self.lost.iter().cloned()).collect()
    }

    /// Returns the variables on which a nested script cannot rely.
    pub(super) fn touched(&self) -> TouchedVariables {
        TouchedVariables { names: self.names(), all: self.all_lost }
    }

    /// Returns the expansion of `~name`.
    pub(super) fn tilde(&self, name: &str) -> Option<String> {
        let untouched =
            |name: &str| !self.all_lost && !self.lost.contains(name) && !self.given.contains_key(name);
        match name {
            "" if untouched("HOME") => self.around.variable("HOME").map(str::to_owned),
            "+" if untouched("PWD") && !self.moves => self.around.folder.to_str().map(str::to_owned),
            _ => None,
        }
    }
}

/// A value that the shell would split or match against files is several words.
fn one_of(values: Vec<Spelled>, quoted: bool) -> VariableValue {
    let splits = |value: &Spelled| {
        let fixed = value.text.get(..value.open.unwrap_or(value.text.len())).unwrap_or_default();
        fixed.contains([' ', '\t', '\n', '*', '?', '[', '\\'])
    };
    if !quoted && values.iter().any(splits) { VariableValue::Unknown } else { VariableValue::OneOf(values) }
}
