//! The values that variables may have anywhere in a line and in the lines within it.

use std::collections::{BTreeMap, BTreeSet};

use pinfold_shell::{ChangedBy, NewValue, Part, RedirectKind, Script, VariableChange, VariableTable, Word};

use super::super::is_system_path;
use super::super::pieces::PossibleText;
use super::super::startup_files::STARTUP_NAMES;
use super::CommandTexts;
use super::texts::{TextLimits, Texts, of_format, tokens};

/// Most values that one variable may have.
const MAX_VALUES: usize = 1_024;

/// Rounds in which the changes of a line are gone through: a value may come from one further on, by a loop or a function.
const ROUNDS: usize = 2;

/// The values of variables.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    by_name: BTreeMap<String, BTreeSet<PossibleText>>,
    /// Texts that may stand in place of them, by `${NAME-word}`.
    operands: BTreeMap<String, BTreeSet<PossibleText>>,
}

/// Returns whether a parameter is an argument, of a script or a function, or of the last command.
pub(super) fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*" | "_") || name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether programs or code are looked for in the folders that a variable, or a setting of a program, lists.
fn is_search_path(name: &str) -> bool {
    !matches!(name, "CDPATH" | "MANPATH" | "INFOPATH")
        && name.len() >= 4
        && (name.ends_with("LIB")
            || name.get(name.len() - 4..).is_some_and(|end| end.eq_ignore_ascii_case("path")))
}

impl Values {
    /// The values that scripts give. `told`: what words say that are an assignment to the program that they are for.
    pub(super) fn new(
        scripts: &[(&Script, bool)],
        told: &[(String, PossibleText)],
        limits: &mut TextLimits,
    ) -> Self {
        let mut values = Self::default();
        for (name, value) in told {
            values.add(name, [value.clone()]);
        }
        let asks = scripts.iter().any(|(script, _)| asks_for_arguments(script));
        for _ in 0..ROUNDS {
            for (script, sure) in scripts {
                values.read(script, *sure, asks, limits);
            }
        }
        limits.exceeded |= values.by_name.values().any(|values| values.len() > MAX_VALUES);
        values
    }

    /// The values of a variable.
    pub(super) fn get(&self, name: &str) -> impl Iterator<Item = &PossibleText> {
        self.by_name.get(name).into_iter().flatten()
    }

    /// Texts that may stand in place of the value of a variable.
    pub(super) fn operands(&self, name: &str) -> impl Iterator<Item = &PossibleText> {
        self.operands.get(name).into_iter().flatten()
    }

    /// The folders in which the line says that programs are looked for. Those of the system are not among them.
    pub(super) fn searched(&self) -> BTreeSet<String> {
        let lists = self.by_name.iter().filter(|(name, _)| is_search_path(name) || *name == "path");
        let folders = lists.flat_map(|(_, values)| values).flat_map(|value| {
            let folders = value.text.split(':').filter(|_| value.open.is_none());
            folders.map(|folder| if folder.is_empty() { "." } else { folder }.to_owned())
        });
        folders.filter(|folder| !is_system_path(&format!("{folder}/x"))).collect()
    }

    /// Files that programs run which start in a home that the line gives them.
    pub(super) fn started(&self) -> impl Iterator<Item = PossibleText> {
        let homes = ["HOME", "ZDOTDIR", "XDG_CONFIG_HOME"].into_iter().flat_map(|name| self.get(name));
        homes.flat_map(|home| {
            STARTUP_NAMES.iter().map(|names| home.with_suffix("/").with_suffix(&names.join("/")))
        })
    }

    fn add(&mut self, name: &str, values: impl IntoIterator<Item = PossibleText>) {
        let own = self.by_name.entry(name.to_owned()).or_default();
        own.extend(values.into_iter().filter(|value| !value.text.is_empty()));
    }

    fn read(&mut self, script: &Script, sure: bool, asks: bool, limits: &mut TextLimits) {
        for operand in &script.operands {
            let texts = Texts { values: self, limits, sure }.of_word(&operand.value);
            self.operands.entry(operand.name.clone()).or_default().extend(texts);
        }
        if asks {
            self.read_arguments(script, sure, limits);
        }
        let table = VariableTable::from_script(script);
        let mut changes: Vec<_> = table
            .names()
            .flat_map(|name| {
                table.changes(name).iter().map(move |change| (place(script, change), name, *change))
            })
            .collect();
        changes.sort_by_key(|(place, ..)| *place);
        for (_, name, change) in changes {
            let values = self.of_change(script, name, change, sure, limits);
            self.add(name, values);
        }
    }

    /// Every word of a command may be an argument of a function, of a script, or what `set` makes one.
    fn read_arguments(&mut self, script: &Script, sure: bool, limits: &mut TextLimits) {
        for command in &script.commands {
            for word in command.words.iter().skip(1).filter(|word| !is_own(word)) {
                let texts = Texts { values: self, limits, sure }.of_word(word);
                self.add("@", texts);
            }
        }
    }

    fn of_change(
        &self,
        script: &Script,
        name: &str,
        change: VariableChange<'_>,
        sure: bool,
        limits: &mut TextLimits,
    ) -> Vec<PossibleText> {
        let mut texts = Texts { values: self, limits, sure };
        let mut found = match change.value {
            NewValue::Word(word) => texts.of_word(word),
            NewValue::Each(words) | NewValue::List(words) => {
                words.iter().flat_map(|word| texts.of_word(word)).collect()
            }
            NewValue::Appended(word) => {
                let own = Part::Parameter { name: name.to_owned(), quoted: true, plain: true };
                let parts = std::iter::once(&own).chain(&word.parts).cloned().collect();
                texts.of_word(&Word { parts, ..word.clone() })
            }
            NewValue::Argument { word, altered, .. } => {
                let said = texts.of_word(word);
                let mut values: Vec<PossibleText> =
                    said.iter().filter_map(assignment).map(|(_, value)| value).collect();
                if altered {
                    values.extend(self.others(&values));
                }
                values
            }
            NewValue::Kept { altered: true } => {
                let own: Vec<PossibleText> = self.get(name).cloned().collect();
                self.others(&own)
            }
            NewValue::Number => vec![PossibleText::default().with_open("[0-9]*")],
            NewValue::Unknown => from_command(script, change.by, &mut texts),
            NewValue::Kept { altered: false } | NewValue::Removed => Vec::new(),
        };
        // Without quotes a value falls into words.
        let separators: String = self.get("IFS").map(|text| text.text.as_str()).collect();
        let by_ifs = |value: &PossibleText| {
            let parts = value.text.split(|c| separators.contains(c)).map(PossibleText::plain);
            parts.collect::<Vec<_>>()
        };
        let parts: Vec<PossibleText> =
            found.iter().flat_map(|value| tokens(value).chain(by_ifs(value))).collect();
        found.extend(parts);
        found
    }

    /// The same values as `declare -u`, `-l` and `-n` make others of them.
    fn others(&self, values: &[PossibleText]) -> Vec<PossibleText> {
        let cases = values.iter().flat_map(|value| {
            [value.text.to_uppercase(), value.text.to_lowercase()]
                .map(|text| PossibleText { text, open: value.open })
        });
        cases.chain(values.iter().flat_map(|value| self.get(&value.text).cloned())).collect()
    }
}

/// Assignments in the words of commands: `env NAME=value`, `git -c name=value`.
pub(super) fn assigned_in_words(groups: &[CommandTexts<'_>]) -> Vec<(String, PossibleText)> {
    groups.iter().flat_map(|group| &group.texts).filter_map(assignment).collect()
}

/// Returns whether a word is itself the arguments.
fn is_own(word: &Word) -> bool {
    word.parts.iter().any(|part| matches!(part, Part::Parameter { name, .. } if is_positional(name)))
}

fn asks_for_arguments(script: &Script) -> bool {
    let set = script.commands.iter().flat_map(|command| &command.assignments).map(|set| &set.value);
    let over = script.loops.iter().flat_map(|over| &over.elements);
    let mut words = script.commands.iter().flat_map(|command| command.words.iter()).chain(set).chain(over);
    words.any(is_own)
}

/// Texts that a builtin which reads a variable is told: `read`, `printf -v`.
fn from_command(script: &Script, by: ChangedBy, texts: &mut Texts<'_>) -> Vec<PossibleText> {
    let ChangedBy::Command(at) = by else { return Vec::new() };
    let Some(command) = script.commands.get(at) else { return Vec::new() };
    let is_text = |kind| matches!(kind, RedirectKind::HereDocument | RedirectKind::HereString);
    let fed =
        command.redirects.iter().filter(|redirect| is_text(redirect.kind)).map(|redirect| &redirect.target);
    let piped = command.place.piped_from.and_then(|from| script.commands.get(from));
    let piped = piped.into_iter().flat_map(|from| from.words.iter());
    let words = command.words.iter().skip(1).chain(fed).chain(piped);
    let said: Vec<PossibleText> = words.flat_map(|word| texts.of_word(word)).collect();
    let made: Vec<PossibleText> = said.iter().filter_map(of_format).collect();
    [said, made].concat()
}

/// The place of a change in the text.
fn place(script: &Script, change: &VariableChange<'_>) -> usize {
    match change.by {
        ChangedBy::Command(at) => script.commands.get(at).map_or(0, |command| command.span.start),
        ChangedBy::Loop(at) => script.loops.get(at).map_or(0, |over| over.value.span.start),
        ChangedBy::Arithmetic => 0,
    }
}

/// `NAME=value` as a text.
fn assignment(text: &PossibleText) -> Option<(String, PossibleText)> {
    let (name, value) = text.text.split_once('=')?;
    let start = name.len() + 1;
    let name = name.strip_suffix('+').unwrap_or(name);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let is_name = !name.is_empty() && name.bytes().all(plain);
    let open = text.open.map(|open| open.saturating_sub(start));
    is_name.then(|| (name.to_owned(), PossibleText { text: value.to_owned(), open }))
}
