//! One kind of secret, as it stands in `kinds.txt`.

use std::sync::OnceLock;

use crate::conditions::FormCondition;
use crate::edge::Edge;
use crate::engine::Automaton;
use crate::spelling::spellings;
use crate::value::KeyedValue;

/// A kind of secret.
#[derive(Debug)]
pub struct SecretKind {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Words of which one has to be there, letter by letter.
    pub(crate) words: Vec<&'static str>,
    /// Words that may be written in small letters, in capitals, or with a capital at their beginning.
    pub(crate) names: Vec<&'static str>,
    pub(crate) forms: Vec<Form>,
}

impl SecretKind {
    /// The name that its marker carries: `github-token`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A description in one clause.
    pub fn description(&self) -> &'static str {
        self.about
    }

    /// The words of which one has to be there for anything to be looked at.
    pub fn keywords(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.words.iter().chain(&self.names).copied()
    }

    /// Every spelling of its words.
    pub(crate) fn spellings(&self) -> Vec<String> {
        spellings(&self.words, &self.names)
    }

    /// Returns `true` if a form of it begins with one of its words, so that the word is a part of the secret.
    pub(crate) fn may_begin_with_its_word(&self) -> bool {
        self.forms.iter().any(|form| form.lead.is_none())
    }
}

/// One way to write a kind of secret. Matching begins at the word.
#[derive(Debug)]
pub(crate) struct Form {
    /// The condition on the bytes before the word.
    pub(crate) edge: Edge,
    /// The text between the word and the secret, if the word is not the beginning of the secret.
    pub(crate) lead: Option<&'static str>,
    /// The secret, and behind it `keep` bytes that belong to its form but stay.
    pub(crate) body: &'static str,
    pub(crate) keep: usize,
    /// The condition on the secret beyond its form.
    pub(crate) when: FormCondition,
    pub(crate) automata: OnceLock<Result<Automata, String>>,
}

/// The patterns of a form, ready to be run.
#[derive(Debug)]
pub(crate) struct Automata {
    pub(crate) lead: Option<Automaton>,
    pub(crate) body: Automaton,
}

impl Form {
    /// Compiled when they are needed first. `None` where the data is wrong, which a test finds.
    pub(crate) fn automata(&self, parts: &[(&'static str, &'static str)]) -> Option<&Automata> {
        self.automata.get_or_init(|| self.compile(parts)).as_ref().ok()
    }

    pub(crate) fn compile(&self, parts: &[(&'static str, &'static str)]) -> Result<Automata, String> {
        let automaton = |pattern: &str| Automaton::new(&with_parts(pattern, parts));
        Ok(Automata { lead: self.lead.map(automaton).transpose()?, body: automaton(self.body)? })
    }

    pub(crate) fn accepts(&self, value: &KeyedValue<'_>) -> bool {
        self.when.holds(value)
    }
}

/// `<NAME>` in a pattern stands for a part that is defined at the top of the data. Parts may use those before them.
pub(crate) fn with_parts(pattern: &str, parts: &[(&'static str, &'static str)]) -> String {
    let mut pattern = pattern.to_owned();
    for (name, part) in parts.iter().rev() {
        pattern = pattern.replace(&format!("<{name}>"), &format!("(?:{part})"));
    }
    pattern
}
