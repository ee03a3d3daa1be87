//! Edits of an agent's files: everything else in their texts stays as it was written.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject};
use serde_json::Value;

use crate::import::NotRead;
use crate::jsonc::{input, parsed};

/// One file of an agent, and what is to stand in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedFile {
    /// Its name below the agent's folder.
    pub name: &'static str,
    pub(super) content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// Entries of a JSON file with others.
    Json(Vec<Edit>),
    /// Keys at the head of a TOML file with others, each with its value as it is written.
    Head(Vec<(&'static str, String)>),
    /// A file of ours alone.
    Own(String),
}

/// One change of a JSON file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Edit {
    /// An entry of a list more.
    Include(&'static [&'static str], String),
    /// A value where none stands.
    Say(&'static [&'static str], Value),
    /// A word of a permission where none stands, or a looser one.
    Narrow(&'static [&'static str], &'static str),
    /// Patterns with a word each, of which the last one that fits decides.
    Order(&'static [&'static str], Order),
}

/// Patterns of one permission: what holds first, what is allowed after that, and what is asked about or denied at last.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Order {
    pub(super) first: Option<&'static str>,
    pub(super) allowed: Vec<String>,
    pub(super) narrowed: Vec<(String, &'static str)>,
}

/// The first line of a file of ours.
pub(super) fn header(agent: &str) -> String {
    format!("# Written by `pinfold export {agent}`, and written anew by it: what is changed here is lost.\n")
}

impl ExportedFile {
    /// Returns the text with every entry put in; entries of others are only narrowed. `None`: there is no file, and nothing to write in one.
    ///
    /// # Errors
    /// When the existing text is not understood, or was written by others.
    pub fn written(&self, before: Option<&str>) -> Result<Option<String>, NotRead> {
        match (&self.content, before) {
            (Content::Own(text), None) if text.lines().count() < 2 => Ok(None),
            (Content::Own(text), Some(there)) if first_line(there) != first_line(text) => {
                Err(NotRead("the file is not pinfold's".to_owned()))
            }
            (Content::Own(text), _) => Ok(Some(text.clone())),
            (Content::Head(keys), _) => head(before.unwrap_or_default(), keys).map(Some),
            (Content::Json(edits), _) => json(before.unwrap_or("{}\n"), edits).map(Some),
        }
    }

    /// Returns `true` if the file is ours alone.
    pub fn is_ours(&self) -> bool {
        matches!(self.content, Content::Own(_))
    }

    /// Returns the settings that the agent reads from a text of this file; `None` for a file of ours alone.
    ///
    /// # Errors
    /// When it is not understood.
    pub fn settings(&self, text: &str) -> Result<Option<Value>, NotRead> {
        match self.content {
            Content::Json(_) => crate::import::json(text).map(Some),
            Content::Head(_) => toml_value(text).map(Some),
            Content::Own(_) => Ok(None),
        }
    }
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().next()
}

fn toml_value(text: &str) -> Result<Value, NotRead> {
    toml::from_str(text).map_err(|e| NotRead(format!("it cannot be read: {}", e.message())))
}

const BEGIN: &str = "# >>> pinfold export\n";
const END: &str = "# <<< pinfold export\n";

/// A block at the head, where keys belong to no table; what the rest says by itself is not said again.
fn head(before: &str, keys: &[(&'static str, String)]) -> Result<String, NotRead> {
    let rest = match before.split_once(BEGIN).and_then(|(above, rest)| Some((above, rest.split_once(END)?.1)))
    {
        Some((above, below)) => format!("{above}{below}"),
        None => before.to_owned(),
    };
    let standing = toml_value(&rest)?;
    // A table that another tool or the user wrote takes no key from elsewhere.
    let is_there = |key: &str| standing.get(key.split('.').next().unwrap_or(key)).is_some();
    let lines: String = keys
        .iter()
        .filter(|(key, _)| !is_there(key))
        .map(|(key, value)| format!("{key} = {value}\n"))
        .collect();
    let after = if lines.is_empty() { rest } else { format!("{BEGIN}{lines}{END}{rest}") };
    // Believed when it can be read.
    toml_value(&after)?;
    Ok(after)
}

fn json(before: &str, edits: &[Edit]) -> Result<String, NotRead> {
    crate::import::json(before)?;
    let root = parsed(before).map_err(NotRead)?;
    let top = root.object_value().ok_or_else(|| NotRead("it is no object".to_owned()))?;
    let mut lists = BTreeMap::new();
    for edit in edits {
        match edit {
            Edit::Include(path, entry) => match lists.entry(*path) {
                Entry::Occupied(list) => list.into_mut(),
                Entry::Vacant(place) => place.insert(StringList::find_or_create(&top, path)?),
            }
            .include(entry),
            Edit::Say(path, value) => insert_missing(&top, path, value)?,
            Edit::Narrow(path, word) => narrow(&top, path, word)?,
            Edit::Order(path, order) => put_in_order(&top, path, order)?,
        }
    }
    let after = root.to_string();
    crate::import::json(&after)?;
    Ok(after)
}

fn other_type(path: &[&str]) -> NotRead {
    NotRead(format!("`{}` is something else there", path.join(".")))
}

/// The object that holds the last key of a path, and that key.
fn holder<'p>(top: &CstObject, path: &'p [&'p str]) -> Result<(CstObject, &'p str), NotRead> {
    let (last, above) = path.split_last().ok_or_else(|| other_type(path))?;
    let mut object = top.clone();
    for key in above {
        object = object.object_value_or_create(key).ok_or_else(|| other_type(path))?;
    }
    Ok((object, last))
}

/// A list of a file, with the strings that stand in it.
struct StringList {
    array: CstArray,
    strings: HashSet<String>,
}

impl StringList {
    fn find_or_create(top: &CstObject, path: &[&str]) -> Result<Self, NotRead> {
        let (object, key) = holder(top, path)?;
        let array = object.array_value_or_create(key).ok_or_else(|| other_type(path))?;
        let strings = array.elements().into_iter().filter_map(|e| e.as_string_lit()?.decoded_value().ok());
        let strings = strings.collect();
        Ok(Self { array, strings })
    }

    /// Appends a string that is not in the list.
    fn include(&mut self, entry: &str) {
        if !self.strings.insert(entry.to_owned()) {
            return;
        }
        let is_first = self.array.elements().is_empty();
        self.array.append(CstInputValue::String(entry.to_owned()));
        if is_first {
            self.array.ensure_multiline();
        }
    }
}

fn insert_missing(top: &CstObject, path: &[&str], value: &Value) -> Result<(), NotRead> {
    let (object, key) = holder(top, path)?;
    if object.get(key).is_none() {
        object.append(key, input(value));
    }
    Ok(())
}

fn narrow(top: &CstObject, path: &[&str], word: &str) -> Result<(), NotRead> {
    let (object, key) = holder(top, path)?;
    let Some(there) = object.get(key) else { return insert_missing(top, path, &word.into()) };
    let standing = there.value().and_then(|value| value.as_string_lit()?.decoded_value().ok());
    match (standing.as_deref(), word) {
        (Some("deny"), _) | (Some("ask"), "ask") => {}
        _ => there.set_value(CstInputValue::String(word.to_owned())),
    }
    Ok(())
}

/// Puts into an existing object only entries that narrow, at its end; an allow could widen the others.
fn put_in_order(top: &CstObject, path: &[&str], order: &Order) -> Result<(), NotRead> {
    let (object, key) = holder(top, path)?;
    let Some(there) = object.get(key) else {
        let made = object.object_value_or_create(key).ok_or_else(|| other_type(path))?;
        let word = |word: &str| CstInputValue::String(word.to_owned());
        let first = order.first.filter(|_| !order.narrowed.iter().any(|(pattern, _)| pattern == "*"));
        let first = first.map(|said| ("*", said));
        let allowed = order.allowed.iter().map(|pattern| (pattern.as_str(), "allow"));
        let narrowed = order.narrowed.iter().map(|(pattern, said)| (pattern.as_str(), *said));
        for (pattern, said) in first.into_iter().chain(allowed).chain(narrowed) {
            made.append(pattern, word(said));
        }
        return Ok(());
    };
    if let Some(word) = there.value().and_then(|value| value.as_string_lit()?.decoded_value().ok()) {
        there.set_value(CstInputValue::Object(vec![("*".to_owned(), CstInputValue::String(word))]));
    }
    let standing = object.object_value(key).ok_or_else(|| other_type(path))?;
    for (pattern, said) in &order.narrowed {
        let now = standing.get(pattern).and_then(|p| p.value()?.as_string_lit()?.decoded_value().ok());
        if now.as_deref() == Some("deny") || now.as_deref() == Some(said) && is_last(&standing, pattern) {
            continue;
        }
        if let Some(there) = standing.get(pattern) {
            there.remove();
        }
        standing.append(pattern, CstInputValue::String((*said).to_owned()));
    }
    Ok(())
}

/// Returns `true` if no entry behind this one could take it back.
fn is_last(object: &CstObject, pattern: &str) -> bool {
    let named = |property: &jsonc_parser::cst::CstObjectProp| {
        property.name().and_then(|name| name.decoded_value().ok()).is_some_and(|name| name == pattern)
    };
    let behind = object.properties().into_iter().skip_while(|property| !named(property)).skip(1);
    !behind.into_iter().any(|property| {
        property.value().and_then(|value| value.as_string_lit()?.decoded_value().ok()).as_deref()
            == Some("allow")
    })
}
