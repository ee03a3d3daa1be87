//! The reader of a build without the feature `yaml`: every text is refused.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Field, YamlError};

/// Refuses every text. JSON is refused too: the library is what notices keys that stand there twice.
pub(crate) fn parse(_text: &str) -> Result<Value, YamlError> {
    Err(absent())
}

/// Refuses every text.
pub(crate) fn parse_fields(_text: &str) -> Result<BTreeMap<String, Field>, YamlError> {
    Err(absent())
}

fn absent() -> YamlError {
    YamlError {
        at: None,
        what: "this build reads no profiles and no definitions of agents".to_owned(),
        mend: "build `pinfold` with its feature `yaml`",
    }
}
