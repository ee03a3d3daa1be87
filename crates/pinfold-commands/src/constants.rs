//! Variables that a line sets to plain text and uses further on: `D=/; rm -rf $D` is `rm -rf /`.
//!
//! No order is kept: every value that a name gets anywhere in the line counts. Where it also gets text that is not known, the
//! values that are known are tried all the same, and nothing relies on them.

use std::sync::Arc;

use pinfold_shell::{ChangedName, NewValue, Part, Script, VariableChange, VariableTable, Word, changes_by};

use super::invocation::Invocation;

/// More values than this of one name are not tried; the name counts as unknown.
const VALUES_AT_MOST: usize = 64;

/// Variables that the line sets.
#[derive(Debug)]
pub(crate) struct Constants<'a> {
    table: VariableTable<'a>,
    /// In the order of the names.
    values: Vec<(&'a str, KnownValues<'a>)>,
}

/// The values of one name, as far as they are known.
#[derive(Debug)]
struct KnownValues<'a> {
    values: Vec<Value<'a>>,
    /// There is no other value.
    complete: bool,
}

/// A value that is known without running anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    /// Also `~` and `$HOME`, which are as good as known.
    Parts(&'a [Part]),
}

impl<'a> Value<'a> {
    /// The value of an assignment.
    fn from_word(word: &'a Word) -> Option<Self> {
        Self::from_parts(word, is_home)
    }

    /// A word that a loop goes over: wildcards in it stand for what they match.
    fn from_element(word: &'a Word) -> Option<Self> {
        Self::from_parts(word, |part| is_home(part) || matches!(part, Part::Glob(_)))
    }

    /// The value in an argument: what stands behind `NAME=`, of which this is the literal start.
    fn from_argument(word: &'a Word, text: &'a str) -> Option<Self> {
        match word.parts.get(1..) {
            None | Some([]) => Some(Self::Text(text)),
            Some(rest) if text.is_empty() => rest.iter().all(is_home).then_some(Self::Parts(rest)),
            Some(_) => None,
        }
    }

    fn from_parts(word: &'a Word, is_known: impl Fn(&Part) -> bool) -> Option<Self> {
        let known = |part: &Part| matches!(part, Part::Literal(_)) || is_known(part);
        match word.as_static() {
            Some(text) => Some(Self::Text(text)),
            None => word.parts.iter().all(known).then_some(Self::Parts(&word.parts)),
        }
    }
}

fn is_home(part: &Part) -> bool {
    matches!(part, Part::Tilde(_)) || matches!(part, Part::Parameter { name, .. } if name == "HOME")
}

/// Values that the line gives to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AssignedValues<'c, 'a> {
    /// One of these.
    Values(&'c [Value<'a>]),
    /// Something that is not known.
    Unknown,
    /// The line does not set it.
    Nowhere,
}

impl<'a> KnownValues<'a> {
    fn from_changes(changes: &[VariableChange<'a>]) -> Self {
        let mut known = Self { values: Vec::new(), complete: true };
        for change in changes {
            known.add(change.value);
        }
        known
    }

    fn add(&mut self, value: NewValue<'a>) {
        match value {
            NewValue::Word(word) => self.push(Value::from_word(word)),
            NewValue::Each(words) => words.iter().for_each(|word| self.push(Value::from_element(word))),
            // The name alone is the first one.
            NewValue::List(words) => {
                self.push(words.first().and_then(Value::from_word));
                self.complete = false;
            }
            NewValue::Argument { word, text, altered } => {
                self.push(Value::from_argument(word, text));
                self.complete &= !altered;
            }
            NewValue::Kept { altered } => self.complete &= !altered,
            NewValue::Appended(_) | NewValue::Removed | NewValue::Number | NewValue::Unknown => {
                self.complete = false;
            }
        }
    }

    fn push(&mut self, value: Option<Value<'a>>) {
        match value {
            Some(value) if self.values.len() < VALUES_AT_MOST => self.values.push(value),
            _ => self.complete = false,
        }
    }
}

impl<'a> Constants<'a> {
    pub(crate) fn from_script(script: &'a Script) -> Self {
        let table = VariableTable::from_script(script);
        let values =
            table.names().map(|name| (name, KnownValues::from_changes(table.changes(name)))).collect();
        Self { table, values }
    }

    /// Everything that the line changes.
    pub(crate) fn table(&self) -> &VariableTable<'a> {
        &self.table
    }

    /// Returns whether the line gives a name a value, or may do so.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.table.any().is_some() || self.table.changes(name).iter().any(|change| change.value.is_given())
    }

    fn known(&self, name: &str) -> Option<&KnownValues<'a>> {
        let at = self.values.binary_search_by_key(&name, |(own, _)| own).ok()?;
        self.values.get(at).map(|(_, known)| known)
    }

    pub(crate) fn given(&self, name: &str) -> AssignedValues<'_, 'a> {
        if self.table.any().is_some() {
            return AssignedValues::Unknown;
        }
        match self.known(name) {
            Some(KnownValues { values, complete: true }) if !values.is_empty() => {
                AssignedValues::Values(values)
            }
            Some(KnownValues { complete: false, .. }) => AssignedValues::Unknown,
            Some(_) | None => AssignedValues::Nowhere,
        }
    }

    /// The words of a list that the line makes.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<&'a Word>> {
        let lists = self.table.changes(name).iter().filter_map(|change| match change.value {
            NewValue::List(words) => Some(words),
            _ => None,
        });
        let words: Vec<_> = lists.flatten().collect();
        (!words.is_empty()).then_some(words)
    }

    /// The command with the values in their places, once for each value of the name that has the most; nothing
    /// for a command without any.
    pub(crate) fn put_into(&self, reading: &Invocation) -> Vec<Invocation> {
        let rounds =
            reading.words.iter().flat_map(|word| &word.parts).map(|part| self.values_of(part).len()).max();
        (0..rounds.unwrap_or_default())
            .map(|round| Invocation {
                words: Arc::new(
                    reading.words.iter().flat_map(|word| self.put_into_word(word, round)).collect(),
                ),
                ..Invocation::default()
            })
            .collect()
    }

    /// Every word that this one can become, with each value in each place; `None` when they are more than `most`.
    pub(crate) fn every(&self, word: &Word, most: usize) -> Option<Vec<Word>> {
        let count_values = |part| self.values_of(part).len().max(1);
        let count = word.parts.iter().try_fold(1, |count: usize, part| {
            count.checked_mul(count_values(part)).filter(|count| *count <= most)
        })?;
        let mut made = Vec::with_capacity(count);
        for at in 0..count {
            made.push(without_parts(word));
            // So many of those that follow have the same values up to here.
            let mut alike = count;
            for part in &word.parts {
                let values = self.values_of(part);
                alike /= values.len().max(1);
                match values.get(at / alike.max(1) % values.len().max(1)) {
                    Some(value) => put(&mut made, *value, part),
                    None => push(&mut made, part.clone()),
                }
            }
        }
        made.retain(|made| made.quoted || !made.parts.is_empty());
        Some(made)
    }

    fn values_of(&self, part: &Part) -> &[Value<'a>] {
        match part {
            Part::Parameter { name, plain: true, .. } => {
                self.known(name).map_or(&[], |known| known.values.as_slice())
            }
            _ => &[],
        }
    }

    /// The word, or the words that an unquoted value falls into.
    fn put_into_word(&self, word: &Word, round: usize) -> Vec<Word> {
        let mut words = vec![without_parts(word)];
        for part in &word.parts {
            let values = self.values_of(part);
            let value = values.get(round.checked_rem(values.len()).unwrap_or_default());
            match value {
                Some(value) => put(&mut words, *value, part),
                None => push(&mut words, part.clone()),
            }
        }
        words.retain(|made| made.quoted || !made.parts.is_empty());
        words
    }
}

/// A word in the place of another, to which nothing was added yet.
fn without_parts(word: &Word) -> Word {
    Word { parts: Vec::new(), span: word.span.clone(), quoted: word.quoted }
}

/// Adds the value of a parameter to the last word.
fn put(words: &mut Vec<Word>, value: Value<'_>, part: &Part) {
    match (value, part) {
        (Value::Text(text), Part::Parameter { quoted: false, .. }) => split_into(words, text),
        (Value::Text(text), _) => push(words, Part::Literal(text.to_owned())),
        (Value::Parts(parts), _) => parts.iter().for_each(|part| push(words, part.clone())),
    }
}

/// Adds an unquoted value to the last word; its blanks start new ones.
fn split_into(words: &mut Vec<Word>, value: &str) {
    for (at, piece) in value.split_ascii_whitespace().enumerate() {
        if at > 0 {
            words.push(Word::default());
        }
        let (literal, glob) = piece.split_at(piece.find(['*', '?', '[']).unwrap_or(piece.len()));
        for part in [Part::Literal(literal.to_owned()), Part::Glob(glob.to_owned())] {
            push(words, part);
        }
    }
}

fn push(words: &mut [Word], part: Part) {
    let Some(word) = words.last_mut() else { return };
    match (word.parts.last_mut(), part) {
        (_, Part::Glob(glob)) if glob.is_empty() => {}
        (Some(Part::Literal(text)), Part::Literal(more)) => text.push_str(&more),
        (Some(_), Part::Literal(more)) if more.is_empty() => {}
        (_, part) => word.parts.push(part),
    }
}

/// Returns whether the words are a builtin that sets a variable which this names: `export A=1`, `read A`, `printf -v A`.
pub(crate) fn sets_variable(words: &[Word], names: impl Fn(&str) -> bool) -> bool {
    let mut sets = false;
    changes_by(words, |name, value| {
        sets |= value.is_given() && matches!(name, ChangedName::Known(name) if names(name));
    });
    sets
}
