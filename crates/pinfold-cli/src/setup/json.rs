//! Entries in the lists below `hooks` of a JSON file; comments, order and layout of all else stay.

use jsonc_parser::cst::CstNode;
use pinfold_dialects::jsonc::{input, parsed};
use serde_json::Value;

use super::agents::HookEntry;

/// The text with our entries at the end of their lists, each once. `fresh`: what a file begins as where there is none.
pub(super) fn add_entries(
    before: Option<&str>,
    agent: &str,
    fresh: &str,
    entries: &[HookEntry],
) -> Result<String, String> {
    if let Some(text) = before
        && standing(text, agent)?
            == entries.iter().map(|e| (e.event.to_owned(), e.value.clone())).collect::<Vec<_>>()
    {
        return Ok(text.to_owned());
    }
    let cleared = before.map(|text| remove_entries(text, agent, fresh)).transpose()?.flatten();
    let root = parsed(cleared.as_deref().unwrap_or(fresh))?;
    let top = root.object_value().ok_or("it is no object")?;
    let hooks = top.object_value_or_create("hooks").ok_or("`hooks` is no object")?;
    for entry in entries {
        let list = hooks
            .array_value_or_create(entry.event)
            .ok_or_else(|| format!("`{}` is no list", entry.event))?;
        let first = list.elements().is_empty();
        list.append(input(&entry.value));
        if first {
            list.ensure_multiline();
        }
    }
    let text = root.to_string();
    // What the library wrote is believed when it can be read, and says what was meant.
    let stands = standing(&text, agent)?;
    let meant =
        |entry: &HookEntry| stands.iter().any(|(event, value)| event == entry.event && *value == entry.value);
    if entries.iter().all(meant) {
        Ok(text)
    } else {
        Err("it has a name twice, so that what counts is not known".into())
    }
}

/// The text without our entries, and without lists that only they were in; `None` where nothing is left but what a file
/// begins as.
pub(super) fn remove_entries(text: &str, agent: &str, fresh: &str) -> Result<Option<String>, String> {
    if standing(text, agent)?.is_empty() {
        return Ok(Some(text.to_owned()));
    }
    let root = parsed(text)?;
    let top = root.object_value().ok_or("it is no object")?;
    let Some(hooks) = top.object_value("hooks") else { return Ok(Some(text.to_owned())) };
    for property in hooks.properties() {
        let Some(list) = property.array_value() else { continue };
        let ours: Vec<CstNode> =
            list.elements().into_iter().filter(|element| is_ours(element, agent)).collect();
        if ours.is_empty() {
            continue;
        }
        let all = ours.len() == list.elements().len();
        if all { property.remove() } else { ours.into_iter().for_each(CstNode::remove) }
    }
    if hooks.properties().is_empty()
        && let Some(property) = top.get("hooks")
    {
        property.remove();
    }
    let rest = root.to_string();
    Ok((!is_bare(&rest, fresh)).then_some(rest))
}

/// Returns whether a text has no more in it than a fresh file.
fn is_bare(text: &str, fresh: &str) -> bool {
    let marks = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect::<String>();
    marks(text) == marks(fresh)
}

/// The entries of ours that stand in a text, with their events, in order.
pub(super) fn standing(text: &str, agent: &str) -> Result<Vec<(String, Value)>, String> {
    let all = value(text)?;
    let lists = all.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let ours = lists.flat_map(|(event, list)| {
        let entries = list.as_array().into_iter().flatten();
        let ours = entries.filter(|entry| commands(entry).any(|command| is_our_command(command, agent)));
        ours.map(|entry| (event.clone(), entry.clone())).collect::<Vec<_>>()
    });
    Ok(ours.collect())
}

/// All that a text says, as the agent reads it.
pub(super) fn value(text: &str) -> Result<Value, String> {
    let value = parsed(text)?.to_serde_value().unwrap_or(Value::Null);
    if value.is_object() { Ok(value) } else { Err("it is no object".to_owned()) }
}

/// The commands of an entry.
pub(super) fn commands(entry: &Value) -> impl Iterator<Item = &str> {
    let hooks = entry.get("hooks").and_then(Value::as_array).into_iter().flatten();
    // Some agents have the command in the entry itself.
    hooks.chain([entry]).filter_map(|hook| hook.get("command")?.as_str())
}

fn is_our_command(command: &str, agent: &str) -> bool {
    command.contains("pinfold") && command.contains(&format!(" hook {agent}"))
}

fn is_ours(element: &CstNode, agent: &str) -> bool {
    let value = element.to_serde_value().unwrap_or(Value::Null);
    commands(&value).any(|command| is_our_command(command, agent))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries() -> Vec<HookEntry> {
        let entry = |event| HookEntry {
            event,
            value: json!({"matcher": "*", "hooks": [{"type": "command", "command": "/bin/pinfold hook claude", "timeout": 9}]}),
        };
        vec![entry("PreToolUse"), entry("SessionStart")]
    }

    #[test]
    fn what_was_put_in_is_what_is_taken_out() {
        for before in [
            "{\n  // mine\n  \"model\": \"x\", // always\n}\n",
            "{\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]} // mine\n\t\t]\n\t}\n}",
            "{\"a\": 1}",
            "{\r\n  \"a\": 1\r\n}\r\n",
        ] {
            let after = add_entries(Some(before), "claude", "{}\n", &entries()).unwrap();
            assert_eq!(standing(&after, "claude").unwrap().len(), 2, "{after}");
            assert_eq!(
                add_entries(Some(&after), "claude", "{}\n", &entries()).unwrap(),
                after,
                "a second time"
            );
            let mine = before.lines().find(|line| line.contains("mine"));
            assert!(mine.is_none_or(|line| after.contains(line.trim_end_matches(" // mine"))), "{after}");
            let undone = remove_entries(&after, "claude", "{}\n").unwrap().unwrap();
            assert_eq!(value(&undone).unwrap(), value(before).unwrap());
            // What stood on one line stands on several then; all else is as it was.
            assert!(undone == before || !before.contains('\n'), "{undone}");
        }
    }

    #[test]
    fn a_file_that_was_made_for_it_goes_with_it() {
        let after = add_entries(None, "claude", "{}\n", &entries()).unwrap();
        assert_eq!(remove_entries(&after, "claude", "{}\n").unwrap(), None);
    }

    #[test]
    fn an_older_entry_of_ours_is_replaced() {
        let mut older = entries();
        older[0].value["hooks"][0]["timeout"] = json!(1);
        let before = add_entries(None, "claude", "{}\n", &older).unwrap();
        let after = add_entries(Some(&before), "claude", "{}\n", &entries()).unwrap();
        assert_eq!(standing(&after, "claude").unwrap().len(), 2, "{after}");
        assert!(!after.contains("\"timeout\": 1\n"));
    }

    #[test]
    fn what_cannot_be_read_or_counted_on_is_not_changed() {
        for before in [
            "",
            "{",
            "[]",
            "{\"hooks\": []}",
            "{\"hooks\": {\"PreToolUse\": {}}}",
            "{\"hooks\": {}, \"hooks\": {}}",
        ] {
            assert!(add_entries(Some(before), "claude", "{}\n", &entries()).is_err(), "{before}");
        }
    }

    #[test]
    fn hooks_of_others_stay() {
        let before = "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"command\": \"pinfold hook codex\"}]}]}}";
        assert_eq!(remove_entries(before, "claude", "{}\n").unwrap().as_deref(), Some(before));
    }

    #[test]
    fn what_a_file_begins_as_goes_with_it() {
        let fresh = "{\n  \"version\": 1\n}\n";
        let entry = HookEntry {
            event: "preToolUse",
            value: json!({"command": "/bin/pinfold hook cursor", "failClosed": true}),
        };
        let after = add_entries(None, "cursor", fresh, std::slice::from_ref(&entry)).unwrap();
        assert_eq!(value(&after).unwrap()["version"], 1);
        assert_eq!(remove_entries(&after, "cursor", fresh).unwrap(), None);
        let theirs = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [\n      {\"command\": \"mine\"}\n    ]\n  }\n}\n";
        let after = add_entries(Some(theirs), "cursor", fresh, std::slice::from_ref(&entry)).unwrap();
        assert_eq!(remove_entries(&after, "cursor", fresh).unwrap().as_deref(), Some(theirs));
    }
}
