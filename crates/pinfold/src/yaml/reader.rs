//! The reader, behind a library.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::{Field, YamlError};

/// Parses a whole text.
pub(crate) fn parse(text: &str) -> Result<Value, YamlError> {
    serde_saphyr::from_str(text).map_err(|error| unreadable(&error))
}

/// Parses a mapping at the top of a text, with the line of each of its values.
pub(crate) fn parse_fields(text: &str) -> Result<BTreeMap<String, Field>, YamlError> {
    let fields: BTreeMap<String, Spanned<Value>> =
        serde_saphyr::from_str(text).map_err(|error| unreadable(&error))?;
    let field = |(name, field): (String, Spanned<Value>)| {
        let line = number(field.referenced.line()).max(1);
        (name, Field { value: field.value, line })
    };
    Ok(fields.into_iter().map(field).collect())
}

fn unreadable(error: &serde_saphyr::Error) -> YamlError {
    let what = error.to_string();
    // The first line says it; a picture of the place follows, which the place itself replaces.
    let what = what.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mend = if what.contains("anchor or alias") {
        "a bare `*` begins an alias in YAML: write it in quotes"
    } else {
        "mend the YAML there"
    };
    let at = error.location().map(|at| (number(at.line()), number(at.column())));
    YamlError { at, what, mend }
}

fn number(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
