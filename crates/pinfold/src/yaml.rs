//! YAML as JSON values, each with the line that it stands at.

use serde_json::Value;

#[cfg_attr(not(feature = "yaml"), path = "yaml/absent.rs")]
mod reader;

pub(crate) use reader::{parse, parse_fields};

/// A value of a mapping, and the line on which it begins, from 1.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) value: Value,
    pub(crate) line: u32,
}

/// Reason why a text is not read.
#[derive(Debug)]
pub(crate) struct YamlError {
    /// Line and column, from 1, where they are known.
    pub(crate) at: Option<(u32, u32)>,
    pub(crate) what: String,
    pub(crate) mend: &'static str,
}
