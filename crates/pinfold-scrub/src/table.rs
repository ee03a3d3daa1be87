//! All kinds, read from `kinds.txt`.

use std::str::FromStr as _;
use std::sync::{LazyLock, OnceLock};

use crate::conditions::FormCondition;
use crate::edge::Edge;
use crate::keywords::MAX_WORD_LEN;
use crate::kind::{Form, SecretKind};

/// The data: [`SecretKind`]s in the order in which they are preferred where two begin at the same place.
pub(crate) const DATA: &str = include_str!("kinds.txt");

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(DATA).unwrap_or_else(|_| Table::empty()));

/// All kinds.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) kinds: Vec<SecretKind>,
    /// Parts of patterns that have a name.
    pub(crate) parts: Vec<(&'static str, &'static str)>,
    /// Words that would be a part of the secret, in order: needed where a text goes on.
    beginnings: OnceLock<Vec<String>>,
}

impl Table {
    /// The table of this crate.
    pub(crate) fn get() -> &'static Self {
        &TABLE
    }

    fn empty() -> Self {
        Self { kinds: Vec::new(), parts: Vec::new(), beginnings: OnceLock::new() }
    }

    /// Reads data.
    pub(crate) fn new(data: &'static str) -> Result<Self, String> {
        let mut table = Self::empty();
        let mut form = Draft::default();
        for (number, line) in data.lines().enumerate() {
            let line = line.trim();
            table.take(line, &mut form).map_err(|why| format!("line {}: {why}: `{line}`", number + 1))?;
        }
        form.is_empty()?;
        Ok(table)
    }

    fn take(&mut self, line: &'static str, form: &mut Draft) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            form.is_empty()?;
            let (words, names, forms) = (Vec::new(), Vec::new(), Vec::new());
            self.kinds.push(SecretKind { name, about: "", words, names, forms });
            return Ok(());
        }
        let (key, value) = line.split_once(char::is_whitespace).ok_or("a word and its value")?;
        let value = value.trim_start();
        if key == "part" {
            let (name, part) = value.split_once(char::is_whitespace).ok_or("a name and a pattern")?;
            self.parts.push((name, part.trim_start()));
            return Ok(());
        }
        let kind = self.kinds.last_mut().ok_or("a kind comes first")?;
        match key {
            "is" => kind.about = value,
            "words" => kind.words.extend(value.split_whitespace()),
            "names" => kind.names.extend(value.split_whitespace()),
            "edge" => form.edge = Some(edge(value)?),
            "lead" => form.lead = Some(value),
            "keep" => form.keep = usize::from_str(value).map_err(|error| error.to_string())?,
            "when" => form.when = Some(FormCondition::parse(value).ok_or("no such condition")?),
            "body" => kind.forms.push(std::mem::take(form).done(value)),
            // The tests read these.
            "hit" | "miss" => {}
            _ => return Err("no such word".to_owned()),
        }
        Ok(())
    }

    /// Returns how many bytes at the end of a text may be the beginning of a word that is a part of a secret.
    pub(crate) fn begun(&self, text: &[u8]) -> usize {
        let words = self.beginnings.get_or_init(|| self.beginnings());
        let longest = text.len().min(MAX_WORD_LEN.saturating_sub(1));
        let is_begun = |len: &usize| {
            let end = text.get(text.len() - len..).unwrap_or_default();
            let next = words.partition_point(|word| word.as_bytes() < end);
            words.get(next).is_some_and(|word| word.as_bytes().starts_with(end))
        };
        (1..=longest).rev().find(is_begun).unwrap_or(0)
    }

    fn beginnings(&self) -> Vec<String> {
        let kinds = self.kinds.iter().filter(|kind| kind.may_begin_with_its_word());
        let mut words: Vec<String> = kinds.flat_map(SecretKind::spellings).collect();
        words.sort_unstable();
        words
    }
}

/// A form of which not everything was read yet.
#[derive(Default)]
struct Draft {
    edge: Option<Edge>,
    lead: Option<&'static str>,
    keep: usize,
    when: Option<FormCondition>,
}

impl Draft {
    /// Checks that the bytes behind the last body are none: they belong to no form.
    fn is_empty(&self) -> Result<(), String> {
        let Self { edge, lead, keep, when } = self;
        let empty = edge.is_none() && lead.is_none() && *keep == 0 && when.is_none();
        empty.then_some(()).ok_or_else(|| "a form without a body ends before this".to_owned())
    }

    fn done(self, body: &'static str) -> Form {
        let Self { edge, lead, keep, when } = self;
        let (edge, when) = (edge.unwrap_or(Edge::Word), when.unwrap_or(FormCondition::Random));
        Form { edge, lead, body, keep, when, automata: OnceLock::new() }
    }
}

fn edge(value: &str) -> Result<Edge, String> {
    match value {
        "any" => Ok(Edge::Any),
        "word" => Ok(Edge::Word),
        "digit" => Ok(Edge::Digit),
        "alnum" => Ok(Edge::Alnum),
        "dash" => Ok(Edge::Dash),
        _ => Err("no such edge".to_owned()),
    }
}
