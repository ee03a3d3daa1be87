//! A profile: declared path scopes under a name, chosen when a session starts.
//!
//! `profiles/NAME.yaml` or `profiles/NAME.json` beside the person's settings. One profile holds at a time; nothing of
//! another is merged in.

use std::path::Path;

use pinfold_paths::Ambient;
use pinfold_policy::path_scopes::{BadScope, ToolScopes};
use pinfold_policy::{Layer, Source};

use crate::settings::file;
use crate::yaml::{self, YamlError};

/// A profile, read from its file by [`Profile::load`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The scopes of each tool.
    pub scopes: ToolScopes,
    /// The file.
    pub source: Source,
}

/// Why a profile cannot be used. No session starts without the profile it was to have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}; {mend}")]
#[non_exhaustive]
pub struct ProfileError {
    /// Which file, or which name.
    pub at: String,
    /// The error, in one clause.
    pub what: String,
    /// The remedy.
    pub mend: String,
}

impl ProfileError {
    fn new(at: impl Into<String>, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into(), mend: mend.into() }
    }
}

/// The endings that a profile can have.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
/// The keys of a profile.
const KEYS: &str = "known are: tools, description, $schema";

impl Profile {
    /// Reads the profile of this name below `config`, the folder of the person's settings.
    ///
    /// # Errors
    /// [`ProfileError`] when there is no such file, or more than one, or something in it cannot be meant.
    pub fn load(ambient: &Ambient, config: &Path, name: &str) -> Result<Self, ProfileError> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            let mend = "name a file below `profiles` without its ending";
            return Err(ProfileError::new(format!("profile `{name}`"), "this is no name of a profile", mend));
        }
        let mut found = Vec::new();
        for ending in ENDINGS {
            let shown = format!("profiles/{name}.{ending}");
            let read = file::read(ambient, &config.join(&shown))
                .map_err(|trouble| ProfileError::new(&shown, trouble.what, trouble.mend))?;
            found.extend(read.map(|read| (shown, read.bytes)));
        }
        match found.as_slice() {
            [(shown, bytes)] => Self::parse(name, shown, bytes),
            [] => {
                let at = config.join("profiles").join(format!("{name}.yaml"));
                Err(ProfileError::new(
                    at.display().to_string(),
                    "there is no such profile",
                    "write it, or name another",
                ))
            }
            [(one, _), (other, _), ..] => {
                Err(ProfileError::new(one, format!("there is `{other}` beside it"), "keep one of them"))
            }
        }
    }

    /// Understands the text of a profile. JSON is YAML too.
    fn parse(name: &str, shown: &str, bytes: &[u8]) -> Result<Self, ProfileError> {
        let bad = |what: String, mend: &str| ProfileError::new(shown, what, mend);
        if bytes.len() > pinfold_policy::settings::MAX_BYTES {
            return Err(bad("it is longer than any profile".to_owned(), "keep only `tools` in it"));
        }
        let text = std::str::from_utf8(bytes).map_err(|e| bad(e.to_string(), "write it in UTF-8"))?;
        let value = yaml::parse(text).map_err(|error| unreadable(shown, error))?;
        let object =
            value.as_object().ok_or_else(|| bad("it holds no keys".to_owned(), "write `tools:` in it"))?;
        if let Some(key) =
            object.keys().find(|key| !matches!(key.as_str(), "tools" | "description" | "$schema"))
        {
            return Err(bad(format!("there is no such key: `{key}`"), KEYS));
        }
        let tools = object
            .get("tools")
            .ok_or_else(|| bad("`tools` is missing".to_owned(), "write `tools: {}` for none"))?;
        let scopes = ToolScopes::parse(tools).map_err(|e| profile_error(shown, &e))?;
        let source = Source { layer: Layer::User, file: Some(shown.into()), at: None };
        Ok(Self { name: name.to_owned(), scopes, source })
    }
}

fn profile_error(shown: &str, bad: &BadScope) -> ProfileError {
    ProfileError::new(shown, bad.to_string(), bad.hint.clone())
}

fn unreadable(shown: &str, error: YamlError) -> ProfileError {
    let at = error.at.map_or_else(|| shown.to_owned(), |(line, column)| format!("{shown}:{line}:{column}"));
    ProfileError::new(at, error.what, error.mend)
}

#[cfg(test)]
mod tests;
