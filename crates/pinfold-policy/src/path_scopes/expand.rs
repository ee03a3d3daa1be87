//! Expansion of `~`, `$NAME` and `${NAME}` in an entry, and plain spelling of an absolute path.
//!
//! Promise: a variable that is not set never becomes nothing, since `${NAME}/` would then be the root.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Values for the expansion of entries and words. Plain data: the caller that may read the environment fills it in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExpandContext {
    /// Home directory that `~` stands for.
    pub home: Option<PathBuf>,
    /// The folder that relative entries start from; absolute.
    pub folder: PathBuf,
    /// The environment. `HOME` is read from `home` where it is missing here.
    pub variables: BTreeMap<String, String>,
}

impl ExpandContext {
    /// The value of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let home = || if name == "HOME" { self.home.as_deref()?.to_str() } else { None };
        self.variables.get(name).map(String::as_str).or_else(home)
    }
}

/// An entry as an absolute path, spelled plainly. The error is a clause with its mend.
pub(super) fn entry(text: &str, around: &ExpandContext) -> Result<PathBuf, (String, String)> {
    let text = variables(text, around)?;
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = around.home.as_deref().filter(|home| home.is_absolute()).ok_or_else(|| {
                ("there is no home folder to put for `~`".to_owned(), "write the folder out".to_owned())
            })?;
            home.join(rest.trim_start_matches('/'))
        }
        Some(_) => {
            let problem = "other users' home folders are not looked up".to_owned();
            return Err((problem, "write the folder out, or `./~…` for a name".to_owned()));
        }
        None => around.folder.join(&text),
    };
    if path.is_absolute() {
        Ok(tidy(&path))
    } else {
        Err(("a relative path, and no folder to start from".to_owned(), "write it from `/` on".to_owned()))
    }
}

/// `text` with the values of its variables.
fn variables(text: &str, around: &ExpandContext) -> Result<String, (String, String)> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (name, left) = name(after).ok_or_else(|| {
            let problem = "a `$` without the name of a variable".to_owned();
            (problem, "write `${NAME}`".to_owned())
        })?;
        let value = around.variable(name).filter(|value| !value.is_empty()).ok_or_else(|| {
            let problem = format!("the variable `{name}` is not set");
            (problem, format!("set `{name}`, or write the folder out"))
        })?;
        out.push_str(value);
        rest = left;
    }
    out.push_str(rest);
    Ok(out)
}

/// The name behind a `$`, in braces or not, and what follows it.
fn name(after: &str) -> Option<(&str, &str)> {
    let (name, left) = match after.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => after.split_at(after.find(|c: char| !is_name(c)).unwrap_or(after.len())),
    };
    let starts = name.starts_with(|c: char| is_name(c) && !c.is_ascii_digit());
    (starts && name.chars().all(is_name)).then_some((name, left))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// An absolute path in words: no `.`, no doubled slashes, `..` taken by the words alone. What the file system makes
/// of it is another question, and both answers count.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}
