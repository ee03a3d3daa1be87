//! Variables that a line sets to plain text and uses further on: `D=/; rm -rf $D` is `rm -rf /`.
//!
//! No order is kept: every value that a name gets anywhere in the line counts. A name that also gets text that is
//! not known counts as unknown.

use std::collections::HashMap;
use std::sync::Arc;

use pinfold_shell::{Part, Script, Setter, SimpleCommand, Word};

use super::invocation::Invocation;
use super::words::known_start as known;

/// More values than this of one name are not tried; the name counts as unknown.
const VALUES_AT_MOST: usize = 64;

/// What the line sets.
#[derive(Debug, Default)]
pub(crate) struct Constants<'a> {
    values: HashMap<&'a str, Option<Vec<Value<'a>>>>,
    /// `name=(words)`: all words that a list gets.
    lists: HashMap<&'a str, Vec<&'a Word>>,
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

/// What a name is given by the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given<'c, 'a> {
    /// One of these.
    Values(&'c [Value<'a>]),
    /// Something that is not known.
    Unknown,
    /// The line does not set it.
    Nowhere,
}

impl<'a> Constants<'a> {
    pub(crate) fn from_script(script: &'a Script) -> Self {
        let mut constants = Self::default();
        for assignment in script.commands.iter().flat_map(|command| &command.assignments) {
            if assignment.elements.is_empty() {
                let value = if assignment.appends { None } else { Value::from_word(&assignment.value) };
                constants.add(&assignment.name, value);
            } else {
                constants.lists.entry(&assignment.name).or_default().extend(&assignment.elements);
            }
        }
        for over in &script.loops {
            for element in &over.elements {
                constants.add(&over.name, Value::from_element(element));
            }
        }
        for name in &script.numbers {
            constants.add(name, None);
        }
        for command in &script.commands {
            constants.add_builtin(command);
        }
        constants
    }

    fn add(&mut self, name: &'a str, value: Option<Value<'a>>) {
        let values = self.values.entry(name).or_insert_with(|| Some(Vec::new()));
        match (values.as_mut(), value) {
            (Some(list), Some(value)) if list.len() < VALUES_AT_MOST => list.push(value),
            _ => *values = None,
        }
    }

    /// Builtins that set variables by name.
    fn add_builtin(&mut self, command: &'a SimpleCommand) {
        let Some((program, args)) = command.words.split_first() else { return };
        match Setter::from_name(known(program)) {
            Some(Setter::Declares) => {
                // `-l`, `-u`, `-i`, `-n`, `-a`: what the name gets is not what is written.
                let changes = |word: &Word| {
                    known(word)
                        .strip_prefix('-')
                        .is_some_and(|letters| letters.contains(['a', 'A', 'c', 'i', 'l', 'n', 'u']))
                };
                let changes = args.iter().any(changes);
                for word in args {
                    if changes {
                        self.add(known(word).split(['=', '+']).next().unwrap_or_default(), None);
                        continue;
                    }
                    match (word.as_static(), known(word).split_once('=')) {
                        (Some(_), Some((name, value))) => self.add(name, Some(Value::Text(value))),
                        (None, Some((name, _))) => self.add(name, None),
                        // `declare -n r`: whatever another name holds.
                        (_, None) => {}
                    }
                }
            }
            Some(Setter::Reads) => {
                for word in args {
                    self.add(known(word), None);
                }
            }
            Some(Setter::ByOption(letter)) => match (args, glued(args, letter)) {
                ([_, name, ..], Some("")) => self.add(known(name), None),
                (_, Some(name)) => self.add(name, None),
                (_, None) => {}
            },
            // What was given before counts all the same, and numbers are listed by themselves.
            Some(Setter::Changes) | None => {}
        }
    }

    pub(crate) fn given(&self, name: &str) -> Given<'_, 'a> {
        match self.values.get(name) {
            Some(Some(values)) => Given::Values(values),
            Some(None) => Given::Unknown,
            None => Given::Nowhere,
        }
    }

    /// The words of a list that the line makes.
    pub(crate) fn list(&self, name: &str) -> Option<&[&'a Word]> {
        self.lists.get(name).map(Vec::as_slice)
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
        let mut lines = vec![vec![Word { parts: Vec::new(), ..word.clone() }]];
        for part in &word.parts {
            let values = self.values_of(part);
            if values.is_empty() {
                for words in &mut lines {
                    push(words, part.clone());
                }
                continue;
            }
            if lines.len() * values.len() > most {
                return None;
            }
            let with = |(words, value): (&Vec<Word>, &Value<'a>)| {
                let mut words = words.clone();
                put(&mut words, *value, part);
                words
            };
            lines = lines
                .iter()
                .flat_map(|words| values.iter().map(move |value| (words, value)))
                .map(with)
                .collect();
        }
        let made = lines.into_iter().flatten().filter(|made| made.quoted || !made.parts.is_empty());
        Some(made.collect())
    }

    fn values_of(&self, part: &Part) -> &[Value<'a>] {
        match part {
            Part::Parameter { name, plain: true, .. } => match self.given(name) {
                Given::Values(values) => values,
                Given::Unknown | Given::Nowhere => &[],
            },
            _ => &[],
        }
    }

    /// The word, or the words that an unquoted value falls into.
    fn put_into_word(&self, word: &Word, round: usize) -> Vec<Word> {
        let mut words = vec![Word { parts: Vec::new(), ..word.clone() }];
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
    let Some((program, args)) = words.split_first() else { return false };
    let is_meant = |word: &Word| names(known(word).split(['=', '+', '[']).next().unwrap_or_default());
    match Setter::from_name(known(program)) {
        Some(Setter::Declares) => args.iter().any(|word| known(word).contains('=') && is_meant(word)),
        Some(Setter::Reads) => args.iter().any(is_meant),
        Some(Setter::ByOption(letter)) => match (args, glued(args, letter)) {
            ([_, variable, ..], Some("")) => is_meant(variable),
            (_, Some(name)) => names(name),
            (_, None) => false,
        },
        Some(Setter::Changes) | None => false,
    }
}

/// Value in the same word behind an option of one letter.
fn glued(args: &[Word], letter: char) -> Option<&str> {
    known(args.first()?).strip_prefix('-')?.strip_prefix(letter)
}
