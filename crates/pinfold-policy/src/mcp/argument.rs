//! Arguments of a call that are paths, or could be: by their names, by how their values begin, by where they stand.
//!
//! # Invariant
//! Every text of a call is one of these: a path by its name, a text that is looked up as one, or a text of which a
//! person said that it is none. No text is left out because of its name alone, or because it could also be a URL. With a
//! text that is looked up goes every [reading](readings) of it, so that no way to write a place hides it.

use std::collections::HashSet;

use pinfold_commands::Assumption;
use pinfold_commands::PathText;
use serde_json::Value;

use super::key::{ArgumentName, Role};
use pinfold_host::file_url;

use super::reading::{begins_as_path, can_be_path, is_remote_url, readings};
use super::shape::Shape;
use crate::form::{BadField, describe_value};

/// More texts than any call has that is not made to keep us busy: each of them is looked up.
const MAX_TEXTS: usize = 50_000;

/// One text that is a path, or could be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathArgument {
    pub(super) path: PathText,
    pub(super) role: Role,
    /// Why it is taken for a path; `None`: its name says so.
    pub(super) supposed: Option<Assumption>,
}

/// Returns `true` if a text is an absolute path. Few servers take it for one below a folder of their own.
fn begins_as_root(text: &str) -> bool {
    text.trim_start().starts_with('/')
}

/// The arguments of a call, by their role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Arguments {
    /// Paths by their names first, then what else they can be read as, then what may be a path.
    pub(super) paths: Vec<PathArgument>,
    /// Arguments whose names may mean a path and whose values cannot.
    pub(super) odd: Vec<BadField>,
}

/// A value that is still to be looked at.
struct Pending<'a> {
    at: String,
    key: ArgumentName,
    shape: Option<&'a Shape>,
    value: &'a Value,
}

impl Arguments {
    /// Goes through objects and arrays at every depth, without going deeper itself.
    ///
    /// # Errors
    /// When an argument that names a path is no path, or there are more texts than can be looked up.
    pub(super) fn read(input: &Value, shape: Option<&Shape>) -> Result<Self, BadField> {
        let mut reader = ArgumentReader::default();
        let mut waiting = vec![Pending { at: String::new(), key: ArgumentName::Other, shape, value: input }];
        while let Some(Pending { at, key, shape, value }) = waiting.pop() {
            match value {
                Value::Object(fields) => {
                    let inner = |name: &String| {
                        ArgumentName::classify(name)
                            .known_as(shape.and_then(|shape| shape.field_shape(name)).and_then(Shape::kind))
                    };
                    let is_named = fields.keys().any(|name| inner(name).names_its_object(name));
                    for (name, value) in fields.iter().rev() {
                        reader.field_name(key, name);
                        let shape = shape.and_then(|shape| shape.field_shape(name));
                        let own = inner(name);
                        let own = match is_named {
                            true if own == ArgumentName::Other && name.eq_ignore_ascii_case("name") => {
                                own.inherit(key)
                            }
                            true => own,
                            false => own.inherit(key),
                        };
                        let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                        waiting.push(Pending { at, key: own, shape, value });
                    }
                }
                Value::Array(items) => waiting.extend(items.iter().enumerate().rev().map(|(i, value)| {
                    let at = format!("{at}[{i}]");
                    Pending { at, key, shape, value }
                })),
                Value::String(text) => reader.text(&at, key, text)?,
                Value::Null => {}
                Value::Bool(_) | Value::Number(_) => reader.no_text(&at, key, value)?,
            }
            if reader.found.paths.len() + reader.others.len() > MAX_TEXTS {
                let expected = format!("at most {MAX_TEXTS} texts that could be paths");
                return Err(BadField::new("", expected, "more"));
            }
        }
        let ArgumentReader { mut found, others, .. } = reader;
        found.paths.extend(others);
        Ok(found)
    }
}

#[derive(Default)]
struct ArgumentReader {
    found: Arguments,
    /// Arguments that are no paths by their names.
    others: Vec<PathArgument>,
    known: HashSet<(String, Role, Assumption)>,
}

impl ArgumentReader {
    fn text(&mut self, at: &str, key: ArgumentName, text: &str) -> Result<(), BadField> {
        if let ArgumentName::Path(role, strict) = key
            && text.is_empty()
        {
            let bad = BadField::new(at, "a path", "an empty string");
            if strict && role == Role::Plain {
                return Err(bad);
            }
            self.found.odd.push(bad);
            return Ok(());
        }
        if text.is_empty() || key == ArgumentName::NoPath {
            return Ok(());
        }
        let begins = file_url(text).is_some() || begins_as_path(text);
        if text.contains('\0') {
            let is_path = matches!(key, ArgumentName::Path(..)) || begins;
            let bad = BadField::new(at, "a path without NUL bytes", "a NUL byte");
            return if is_path { Err(bad) } else { Ok(()) };
        }
        match key {
            ArgumentName::NoPath => {}
            ArgumentName::Path(role, _) => self.named(role, text),
            ArgumentName::Within(role) if can_be_path(text) => self.named(role, text),
            ArgumentName::Address if file_url(text).is_some() => self.local(text),
            ArgumentName::Address if begins => self.named(Role::Plain, text),
            ArgumentName::Address if is_remote_url(text) => {
                self.supposed(Role::Plain, text, Assumption::Prose);
            }
            ArgumentName::ContentWithin(role) if begins => self.supposed(role, text, Assumption::Evident),
            ArgumentName::ContentWithin(role) => self.supposed(role, text, Assumption::Text),
            ArgumentName::Content => self.supposed(Role::Plain, text, Assumption::Prose),
            ArgumentName::Other if begins => self.supposed(Role::Plain, text, Assumption::Evident),
            ArgumentName::Address | ArgumentName::Within(_) | ArgumentName::Other => {
                self.supposed(Role::Plain, text, Assumption::Text);
            }
        }
        Ok(())
    }

    /// Names of fields are texts like others: `{"contents": {"src/a.rs": "…"}}`.
    fn field_name(&mut self, above: ArgumentName, name: &str) {
        if above == ArgumentName::NoPath
            || name.is_empty()
            || name.contains('\0')
            || !name.contains(['/', '.', '~'])
        {
            return;
        }
        let (role, is_path) = match above {
            ArgumentName::Path(role, _) | ArgumentName::Within(role) | ArgumentName::ContentWithin(role) => {
                (role, true)
            }
            ArgumentName::Address | ArgumentName::Content | ArgumentName::Other | ArgumentName::NoPath => {
                (Role::Plain, false)
            }
        };
        let supposed = match begins_as_path(name) {
            true if is_path => Assumption::Evident,
            _ if is_path => Assumption::Text,
            _ => Assumption::Prose,
        };
        self.supposed(role, name, supposed);
    }

    fn no_text(&mut self, at: &str, key: ArgumentName, value: &Value) -> Result<(), BadField> {
        let ArgumentName::Path(_, strict) = key else { return Ok(()) };
        let bad = BadField::new(at, "a path as a string", describe_value(value));
        if strict {
            return Err(bad);
        }
        self.found.odd.push(bad);
        Ok(())
    }

    /// A path by its name: it is always what it says, and whatever else it can be read as.
    fn named(&mut self, role: Role, text: &str) {
        self.found.paths.push(PathArgument { path: PathText::new(text), role, supposed: None });
        if let Some(local) = file_url(text).filter(|local| local != text && !local.is_empty()) {
            self.readings(role, &local, Assumption::Reading);
            self.found.paths.push(PathArgument { path: PathText::new(local), role, supposed: None });
        }
        self.readings(role, text, Assumption::Reading);
    }

    /// A `file:` URL under the name of an address.
    fn local(&mut self, text: &str) {
        let local = file_url(text).filter(|local| !local.is_empty()).unwrap_or_else(|| "/".to_owned());
        self.readings(Role::Plain, &local, Assumption::Reading);
        self.found.paths.push(PathArgument { path: PathText::new(local), role: Role::Plain, supposed: None });
        self.supposed(Role::Plain, text, Assumption::Text);
    }

    fn supposed(&mut self, role: Role, text: &str, supposed: Assumption) {
        let is_word = !text.contains(['/', '.', '~']);
        if supposed == Assumption::Prose && is_word {
            return;
        }
        if can_be_path(text) {
            self.other(role, text.to_owned(), supposed);
        }
        self.readings(role, text, supposed);
    }

    fn readings(&mut self, role: Role, text: &str, supposed: Assumption) {
        for reading in readings(text) {
            let is_below_a_root = begins_as_root(text) && reading.starts_with("./");
            let supposed = match supposed {
                _ if is_below_a_root => Assumption::Prose,
                Assumption::Text if begins_as_path(&reading) => Assumption::Evident,
                supposed => supposed,
            };
            self.other(role, reading, supposed);
        }
    }

    fn other(&mut self, role: Role, text: String, supposed: Assumption) {
        if self.known.insert((text.clone(), role, supposed)) {
            self.others.push(PathArgument { path: PathText::new(text), role, supposed: Some(supposed) });
        }
    }
}
