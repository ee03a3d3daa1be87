//! Values of variables while a script runs: that of the environment, and every one that the script assigns, wherever it
//! does. Order is not tracked; one value more only makes the audit stricter.

use std::collections::BTreeSet;

use pinfold_commands::may_move;
use pinfold_commands::pieces::PossibleText;
use pinfold_shell::{NewValue, Script, VariableTable, Word, is_set_by_bash};

use super::marks;
use super::spelled::{Tail, expand};
use crate::path_scopes::expand::ExpandContext;

/// The variables of one script.
pub(super) struct Variables<'a> {
    around: &'a ExpandContext,
    /// Variables that the script sets.
    table: VariableTable<'a>,
    /// Names that what stands around it may have set.
    outer: BTreeSet<String>,
    /// Any name may hold something else than the text says.
    all_lost: bool,
    /// The script changes its folder.
    moves: bool,
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
    OneOf(Vec<PossibleText>),
    /// One of these, or something that is known only at run time.
    Perhaps(Vec<PossibleText>),
    /// A number.
    Number,
    /// Neither the environment nor the script sets it.
    Unset,
    /// Known only at run time.
    Unknown,
}

/// Words of one script that set variables; beyond, none is followed.
const MAX_VALUES: usize = 512;

impl<'a> Variables<'a> {
    /// `outer`: what a command around the text may have set.
    pub(super) fn from_script(
        script: &'a Script,
        around: &'a ExpandContext,
        outer: &TouchedVariables,
    ) -> Self {
        let table = VariableTable::from_script(script);
        let changes = table.names().flat_map(|name| table.changes(name));
        let values: usize = changes.map(|change| words_of(change.value).len()).sum();
        let any = table.any().is_some() || table.any_by_program() || values > MAX_VALUES;
        Self {
            around,
            table,
            outer: outer.names.clone(),
            all_lost: any || outer.all || !script.opaque.is_empty(),
            moves: script.commands.iter().any(may_move),
        }
    }

    /// The environment.
    pub(super) fn environment(&self) -> &'a ExpandContext {
        self.around
    }

    /// The value of `$name` or `${name…}`.
    pub(super) fn value(&self, name: &str, quoted: bool, plain: bool) -> VariableValue {
        if !plain {
            return VariableValue::Unknown;
        }
        let settled = self.is_untouched(name);
        match name {
            "?" | "#" | "$" | "!" | "PPID" | "UID" | "EUID" => return VariableValue::Number,
            // Once unset they are variables like others.
            "LINENO" | "SECONDS" | "RANDOM" if settled => return VariableValue::Number,
            "PWD" if settled && !self.moves => {
                let folder = self.around.folder.to_str();
                return folder.map_or(VariableValue::Unknown, |folder| {
                    one_of(vec![PossibleText::plain(folder)], quoted, false)
                });
            }
            "OLDPWD" if settled && !self.moves => {}
            "HOME" => {}
            _ if is_set_by_bash(name) => return VariableValue::Unknown,
            _ => {}
        }
        // What words are split at may be anything then.
        if !quoted && !self.is_untouched("IFS") {
            return VariableValue::Unknown;
        }
        let own = self.around.variable(name);
        let (given, mut lost) = self.given(name);
        lost |= self.all_lost || self.outer.contains(name);
        match (own, given.is_empty()) {
            (_, true) if lost => VariableValue::Unknown,
            (None, true) => VariableValue::Unset,
            // Before the script sets it, it holds what the environment says, or nothing.
            (own, _) => {
                let before = own.or((!lost).then_some(""));
                let values = before.map(PossibleText::plain).into_iter().chain(given).collect();
                one_of(values, quoted, lost)
            }
        }
    }

    /// The values that the script gives to a name, and whether it gives it others.
    fn given(&self, name: &str) -> (Vec<PossibleText>, bool) {
        let (mut values, mut lost, mut counts) = (Vec::new(), false, false);
        let outer = self.without_values();
        for change in self.table.changes(name) {
            match change.value {
                NewValue::Word(_) | NewValue::List(_) | NewValue::Each(_) => {}
                NewValue::Number => counts = true,
                NewValue::Argument { word, text, .. } => {
                    lost = true;
                    values.extend(word.as_static().map(|_| PossibleText::plain(text)));
                }
                NewValue::Appended(_) | NewValue::Kept { .. } | NewValue::Removed | NewValue::Unknown => {
                    lost = true;
                }
            }
            for word in words_of(change.value) {
                let (texts, blinds) = expand(word, &outer);
                lost |= !blinds.is_empty() || values.len() > MAX_VALUES;
                if values.len() <= MAX_VALUES && blinds.is_empty() {
                    values.extend(texts);
                }
            }
        }
        if counts {
            values.push(PossibleText::default().with_open(marks(Tail::Names)));
        }
        (values, lost)
    }

    /// Copies the variables without what the script sets: a value that is made of another variable is not followed.
    fn without_values(&self) -> Self {
        Self {
            around: self.around,
            table: VariableTable::default(),
            outer: self.touched().names,
            all_lost: self.all_lost,
            moves: self.moves,
        }
    }

    /// Returns the variables on which a nested script cannot rely.
    pub(super) fn touched(&self) -> TouchedVariables {
        let by_moves = ["PWD", "OLDPWD"].into_iter().filter(|_| self.moves);
        let own = self.table.names().chain(by_moves).map(str::to_owned);
        TouchedVariables { names: own.chain(self.outer.iter().cloned()).collect(), all: self.all_lost }
    }

    fn is_untouched(&self, name: &str) -> bool {
        !self.all_lost && !self.outer.contains(name) && self.table.changes(name).is_empty()
    }

    /// Returns whether `CDPATH` is set, or may be.
    pub(super) fn may_search(&self) -> bool {
        !matches!(self.value("CDPATH", true, true), VariableValue::Unset)
    }

    /// Returns the expansion of `~name`.
    pub(super) fn tilde(&self, name: &str) -> Option<String> {
        match name {
            "" if self.is_untouched("HOME") => self.around.variable("HOME").map(str::to_owned),
            "+" if self.is_untouched("PWD") && !self.moves => self.around.folder.to_str().map(str::to_owned),
            _ => None,
        }
    }
}

/// The words of which each is a value.
fn words_of(value: NewValue<'_>) -> &[Word] {
    match value {
        NewValue::Word(word) | NewValue::Appended(word) => std::slice::from_ref(word),
        NewValue::List(words) | NewValue::Each(words) => words,
        NewValue::Argument { .. }
        | NewValue::Kept { .. }
        | NewValue::Removed
        | NewValue::Number
        | NewValue::Unknown => &[],
    }
}

/// A value that the shell would split or match against files is several words.
fn one_of(values: Vec<PossibleText>, quoted: bool, lost: bool) -> VariableValue {
    let splits = |value: &PossibleText| {
        let fixed = value.text.get(..value.open.unwrap_or(value.text.len())).unwrap_or_default();
        fixed.contains([' ', '\t', '\n', '*', '?', '[', '\\'])
    };
    match (lost, quoted) {
        (_, false) if values.iter().any(splits) => VariableValue::Unknown,
        (true, _) => VariableValue::Perhaps(values),
        (false, _) => VariableValue::OneOf(values),
    }
}
