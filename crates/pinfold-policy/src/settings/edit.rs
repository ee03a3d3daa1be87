//! Changes the rules in the text of a settings file, and nothing else: comments, layout, line ends and commas stay
//! as the person wrote them. A text that cannot be read in full is not changed.

use std::sync::Arc;

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstRootNode};

use super::{BadSettings, STRICT, Settings};
use crate::rule::{Effect, Rule};
use crate::source::Layer;

/// What is to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A rule more, unless it stands there already.
    Add(Effect, Rule),
    /// A rule less, as it is written there: so one that cannot be read can go too.
    Remove(Effect, String),
}

/// What a new file starts as.
const EMPTY: &str = "{}\n";

/// The changed text of a file; `None` when it is so already. `before` is `None` for a file that is to be made.
///
/// # Errors
/// [`BadSettings`]: the file cannot be read as it is, and stays so.
pub fn edited(
    before: Option<&[u8]>,
    layer: Layer,
    file: &Arc<str>,
    change: &Change,
) -> Result<Option<String>, BadSettings> {
    let bytes = before.unwrap_or(EMPTY.as_bytes());
    Settings::parse(bytes, layer, file)?;
    let text = String::from_utf8_lossy(bytes);
    let (mark, text) = match text.strip_prefix('\u{FEFF}') {
        Some(rest) => ("\u{FEFF}", rest),
        None => ("", text.as_ref()),
    };
    let Some(changed) = changed(text, change) else { return Ok(None) };
    let changed = format!("{mark}{changed}");
    // What the library wrote is believed when it can be read, and not before.
    Settings::parse(changed.as_bytes(), layer, file)?;
    Ok(Some(changed))
}

/// The text was read before, so what is not there cannot be of another type.
fn changed(text: &str, change: &Change) -> Option<String> {
    let root = CstRootNode::parse(text, &STRICT).ok()?;
    let top = root.object_value()?;
    match change {
        Change::Add(effect, rule) => {
            let permissions = top.object_value_or_create("permissions")?;
            let list = permissions.array_value_or_create(effect.word())?;
            if standing(&list, rule.text()).next().is_some() {
                return None;
            }
            let first = list.elements().is_empty();
            list.append(CstInputValue::String(rule.text().to_owned()));
            if first {
                list.ensure_multiline();
            }
        }
        Change::Remove(effect, rule) => {
            let list = top.object_value("permissions")?.array_value(effect.word())?;
            let standing: Vec<_> = standing(&list, rule.trim()).collect();
            if standing.is_empty() {
                return None;
            }
            standing.into_iter().for_each(CstNode::remove);
        }
    }
    Some(root.to_string())
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

    fn edit(before: Option<&str>, change: &Change) -> Option<String> {
        edited(before.map(str::as_bytes), Layer::User, &"f".into(), change).unwrap()
    }

    fn add(effect: Effect, rule: &str) -> Change {
        Change::Add(effect, Rule::parse(rule).unwrap())
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
        let after = edit(Some(before), &Change::Remove(Effect::Deny, "Write".to_owned())).unwrap();
        assert_eq!(after, before.replace("      \"Write\",\n", ""));
        assert_eq!(edit(Some(before), &Change::Remove(Effect::Allow, "Write".to_owned())), None);
    }

    #[test]
    fn a_rule_that_cannot_be_read_can_be_removed() {
        let before = r#"{"permissions": {"allow": ["Read", "Bash(rm"]}}"#;
        let after = edit(Some(before), &Change::Remove(Effect::Allow, "Bash(rm".to_owned())).unwrap();
        assert_eq!(after, r#"{"permissions": {"allow": ["Read"]}}"#);
    }

    #[test]
    fn what_cannot_be_read_is_not_changed() {
        let change = add(Effect::Deny, "Write");
        for before in
            ["", "{", "[]", "{\"permissions\": {}, \"permissions\": {}}", "{\"permissions\": []}", "{'a': 1}"]
        {
            assert!(edited(Some(before.as_bytes()), Layer::User, &"f".into(), &change).is_err(), "{before}");
        }
    }
}
