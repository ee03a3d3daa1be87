//! Changes rules and other entries in the text of a settings file, and nothing else: comments, layout, line ends and commas stay
//! as the person wrote them. A text that cannot be read in full is not changed.

use std::sync::Arc;

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};

use super::{BadSettings, STRICT, Settings};
use crate::rule::{Effect, Rule};
use crate::source::Layer;

/// A change of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsChange {
    /// A rule more, unless it stands there already.
    Add(Effect, Rule),
    /// A rule less, as it is written there: so one that cannot be read can go too.
    Remove(Effect, String),
    /// An entry of a list more, unless it stands there already.
    Include(List, String),
    /// A word where none stands. An existing word stays.
    Say(Word, String),
}

impl std::fmt::Display for SettingsChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Add(effect, rule) => write!(f, "{} {rule}", effect.as_str()),
            Self::Remove(effect, rule) => write!(f, "no {} {rule}", effect.as_str()),
            Self::Include(list, entry) => {
                let (section, key) = list.place();
                write!(f, "{section}.{key} {entry}")
            }
            Self::Say(word, said) => match word.place() {
                (Some(section), key) => write!(f, "{section}.{key} = {said}"),
                (None, key) => write!(f, "{key} = {said}"),
            },
        }
    }
}

/// A list of texts in a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// More folders.
    AdditionalDirectories,
    /// More places that can be written.
    Writable,
    /// Places guarded against writing.
    GuardsWrite,
    /// Places guarded against reading.
    GuardsRead,
    /// Hosts that can be reached.
    NetworkAllow,
    /// Hosts that cannot.
    NetworkDeny,
}

/// A setting that is one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The mode.
    DefaultMode,
    /// The conditions under which a command needs no question.
    Bash,
    /// The range of a command's writes.
    SandboxMode,
}

impl List {
    /// The section that it stands in, and its key there.
    pub fn place(self) -> (&'static str, &'static str) {
        match self {
            Self::AdditionalDirectories => ("permissions", "additionalDirectories"),
            Self::Writable => ("sandbox", "writable"),
            Self::GuardsWrite => ("guards", "write"),
            Self::GuardsRead => ("guards", "read"),
            Self::NetworkAllow => ("network", "allow"),
            Self::NetworkDeny => ("network", "deny"),
        }
    }
}

impl Word {
    /// The section that it stands in, if it stands in one, and its key there.
    pub fn place(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::DefaultMode => (Some("permissions"), "defaultMode"),
            Self::Bash => (None, "bash"),
            Self::SandboxMode => (Some("sandbox"), "mode"),
        }
    }
}

/// Initial text of a new file.
const EMPTY: &str = "{}\n";

/// The text of a file with all changes; `None` when it is so already. `before` is `None` for a file that is to be made.
///
/// # Errors
/// [`BadSettings`]: the file cannot be read as it is, and stays so.
pub fn edited(
    before: Option<&[u8]>,
    layer: Layer,
    file: &Arc<str>,
    changes: &[SettingsChange],
) -> Result<Option<String>, BadSettings> {
    let bytes = before.unwrap_or(EMPTY.as_bytes());
    Settings::parse(bytes, layer, file)?;
    let text = String::from_utf8_lossy(bytes);
    let (mark, text) = match text.strip_prefix('\u{FEFF}') {
        Some(rest) => ("\u{FEFF}", rest),
        None => ("", text.as_ref()),
    };
    let mut after = None;
    for change in changes {
        after = changed(after.as_deref().unwrap_or(text), change).or(after);
    }
    let Some(after) = after.map(|after| format!("{mark}{after}")) else { return Ok(None) };
    // What the library wrote is believed when it can be read, and not before.
    Settings::parse(after.as_bytes(), layer, file)?;
    Ok(Some(after))
}

/// The text was read before, so what is not there cannot be of another type.
fn changed(text: &str, change: &SettingsChange) -> Option<String> {
    let root = CstRootNode::parse(text, &STRICT).ok()?;
    let top = root.object_value()?;
    match change {
        SettingsChange::Add(effect, rule) => include(&top, ("permissions", effect.as_str()), rule.text())?,
        SettingsChange::Include(list, entry) => include(&top, list.place(), entry)?,
        SettingsChange::Say(word, said) => {
            let (section, key) = word.place();
            let section = match section {
                Some(section) => top.object_value_or_create(section)?,
                None => top,
            };
            if section.get(key).is_some() {
                return None;
            }
            section.append(key, CstInputValue::String(said.clone()));
        }
        SettingsChange::Remove(effect, rule) => {
            let list = top.object_value("permissions")?.array_value(effect.as_str())?;
            let standing: Vec<_> = standing(&list, rule.trim()).collect();
            if standing.is_empty() {
                return None;
            }
            standing.into_iter().for_each(CstNode::remove);
        }
    }
    Some(root.to_string())
}

/// A text more in the list of a section; `None` when it stands there.
fn include(top: &CstObject, (section, key): (&str, &str), text: &str) -> Option<()> {
    let list = top.object_value_or_create(section)?.array_value_or_create(key)?;
    if standing(&list, text).next().is_some() {
        return None;
    }
    let first = list.elements().is_empty();
    list.append(CstInputValue::String(text.to_owned()));
    if first {
        list.ensure_multiline();
    }
    Some(())
}

fn standing<'a>(list: &CstArray, rule: &'a str) -> impl Iterator<Item = CstNode> + use<'a> {
    list.elements().into_iter().filter(move |element| {
        element
            .as_string_lit()
            .and_then(|text| text.decoded_value().ok())
            .is_some_and(|text| text.trim() == rule)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(before: Option<&str>, change: &SettingsChange) -> Option<String> {
        edited(before.map(str::as_bytes), Layer::User, &"f".into(), std::slice::from_ref(change)).unwrap()
    }

    fn add(effect: Effect, rule: &str) -> SettingsChange {
        SettingsChange::Add(effect, Rule::parse(rule).unwrap())
    }

    #[test]
    fn a_rule_comes_in_and_all_else_stays() {
        let change = add(Effect::Allow, "Bash(npm test)");
        for (before, after) in [
            (None, "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(npm test)\"\n    ]\n  }\n}\n"),
            (
                Some(
                    "{\n\t// mine\n\t\"permissions\": {\n\t\t\"allow\": [\n\t\t\t\"Read\", // always\n\t\t],\n\t},\n}\n",
                ),
                "{\n\t// mine\n\t\"permissions\": {\n\t\t\"allow\": [\n\t\t\t\"Read\", // always\n\t\t\t\"Bash(npm test)\",\n\t\t],\n\t},\n}\n",
            ),
            (
                Some("{\r\n  \"bash\": \"ask\"\r\n}\r\n"),
                "{\r\n  \"bash\": \"ask\",\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Bash(npm test)\"\r\n    ]\r\n  }\r\n}\r\n",
            ),
            (
                Some("\u{FEFF}{\n  \"permissions\": {\"allow\": [\"Read\"]}\n}"),
                "\u{FEFF}{\n  \"permissions\": {\"allow\": [\"Read\", \"Bash(npm test)\"]}\n}",
            ),
        ] {
            let found = edit(before, &change).unwrap();
            assert_eq!(found, after, "{before:?}");
            assert_eq!(edit(Some(&found), &change), None, "a second time");
        }
    }

    #[test]
    fn a_rule_goes_and_its_neighbours_stay() {
        let before = "{\n  \"permissions\": {\n    \"deny\": [\n      \"Read(./a)\", // one\n      \"Write\",\n      \"Edit\" // three\n    ]\n  }\n}";
        let after = edit(Some(before), &SettingsChange::Remove(Effect::Deny, "Write".to_owned())).unwrap();
        assert_eq!(after, before.replace("      \"Write\",\n", ""));
        assert_eq!(edit(Some(before), &SettingsChange::Remove(Effect::Allow, "Write".to_owned())), None);
    }

    #[test]
    fn a_rule_that_cannot_be_read_can_be_removed() {
        let before = r#"{"permissions": {"allow": ["Read", "Bash(rm"]}}"#;
        let after = edit(Some(before), &SettingsChange::Remove(Effect::Allow, "Bash(rm".to_owned())).unwrap();
        assert_eq!(after, r#"{"permissions": {"allow": ["Read"]}}"#);
    }

    #[test]
    fn what_cannot_be_read_is_not_changed() {
        let change = add(Effect::Deny, "Write");
        for before in
            ["", "{", "[]", "{\"permissions\": {}, \"permissions\": {}}", "{\"permissions\": []}", "{'a': 1}"]
        {
            assert!(
                edited(Some(before.as_bytes()), Layer::User, &"f".into(), std::slice::from_ref(&change))
                    .is_err(),
                "{before}"
            );
        }
    }
    #[test]
    fn several_changes_come_in_at_once_and_a_word_that_stands_stays() {
        let changes = [
            add(Effect::Deny, "Write"),
            SettingsChange::Include(List::NetworkAllow, "example.org".to_owned()),
            SettingsChange::Include(List::NetworkAllow, "example.org".to_owned()),
            SettingsChange::Say(Word::Bash, "sandboxed".to_owned()),
            SettingsChange::Say(Word::SandboxMode, "read-only".to_owned()),
        ];
        let before = "{\n  // mine\n  \"bash\": \"ask\"\n}\n";
        let after = edited(Some(before.as_bytes()), Layer::User, &"f".into(), &changes).unwrap().unwrap();
        let read = Settings::parse(after.as_bytes(), Layer::User, &"f".into()).unwrap().says;
        assert!(after.contains("// mine") && after.contains("\"bash\": \"ask\""), "{after}");
        assert_eq!((read.network.allow.len(), read.permissions.deny.len()), (1, 1));
        assert_eq!(read.sandbox.mode.map(|mode| mode.value), Some(crate::settings::SandboxMode::ReadOnly));
        let again = edited(Some(after.as_bytes()), Layer::User, &"f".into(), &changes).unwrap();
        assert_eq!(again, None);
    }

    #[test]
    fn an_entry_that_means_nothing_is_not_written() {
        let change = SettingsChange::Include(List::NetworkAllow, "https://example.org/".to_owned());
        assert!(edited(None, Layer::User, &"f".into(), &[change]).is_err());
    }
}
