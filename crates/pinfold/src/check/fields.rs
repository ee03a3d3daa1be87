//! Takes values out of the fields of a line, and says which of them cannot be meant.

use std::path::PathBuf;

use pinfold_policy::mode::UnknownChoice;
use pinfold_policy::tool::nearest_name;
use serde_json::{Map, Value};

use super::bad_line::BadLine;

/// Reads one field; `at` is its name for messages.
pub(super) struct CheckField<'a>(pub(super) &'a str, pub(super) &'a Value);

impl<'a> CheckField<'a> {
    pub(super) fn wrong(&self, expected: &str) -> BadLine {
        BadLine(format!("`{}` is not {expected}", self.0))
    }

    pub(super) fn text(&self) -> Result<&'a str, BadLine> {
        self.1.as_str().ok_or_else(|| self.wrong("a text"))
    }

    pub(super) fn flag(&self) -> Result<bool, BadLine> {
        self.1.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    pub(super) fn path(&self) -> Result<PathBuf, BadLine> {
        let path = PathBuf::from(self.text()?);
        if path.is_absolute() && !path.as_os_str().as_encoded_bytes().contains(&0) {
            Ok(path)
        } else {
            Err(self.wrong("an absolute path"))
        }
    }

    pub(super) fn texts(&self) -> Result<Vec<String>, BadLine> {
        let list = self.1.as_array().ok_or_else(|| self.wrong("a list of texts"))?;
        let texts = list.iter().map(|text| text.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().ok_or_else(|| self.wrong("a list of texts"))
    }

    pub(super) fn choice<T>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, UnknownChoice>,
    ) -> Result<T, BadLine> {
        parse(self.text()?).map_err(|bad| BadLine(format!("`{}`: {bad}", self.0)))
    }

    /// The entries of an object that has no others than these; those that are null are not there.
    pub(super) fn entries(
        &self,
        known: &[&'static str],
    ) -> Result<impl Iterator<Item = (String, &'a str, &'a Value)>, BadLine> {
        let object: &'a Map<String, Value> = self.1.as_object().ok_or_else(|| self.wrong("an object"))?;
        if let Some(name) = object.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(no_such(self.0, name, known));
        }
        let said = object.iter().filter(|(_, value)| !value.is_null());
        let outer = self.0;
        Ok(said.map(move |(name, value)| (format!("{outer}.{name}"), name.as_str(), value)))
    }
}

/// A name that is not known where it stands, with the nearest that is.
pub(super) fn no_such(outer: &str, name: &str, known: &[&'static str]) -> BadLine {
    const SHOWN: usize = 80;
    let shown: String = name.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let place = if outer.is_empty() { String::new() } else { format!(" in `{outer}`") };
    BadLine(format!("there is no field `{shown}`{place}; did you mean `{}`?", nearest_name(name, known)))
}
