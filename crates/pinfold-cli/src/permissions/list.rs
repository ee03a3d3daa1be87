//! All that holds, printed.

use serde_json::{Value, json};

use super::controller::items;
use super::effective::EffectivePermissions;
use crate::output;
use crate::rules::json_of;

/// Renders the permissions for people: a line each, under headings.
pub(crate) fn text(effective: &EffectivePermissions) -> String {
    let (mut text, mut section) = (String::new(), "");
    for (item, _) in items(effective) {
        if section != item.section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = item.section;
            text = format!("{text}{gap}{section}\n");
        }
        let from: Vec<_> = std::iter::once(&item.from).chain(&item.notes).map(String::as_str).collect();
        let line = format!(
            "  {:<7} {:<40} {}",
            item.word,
            output::visible(&item.text),
            output::visible(&from.join(" · "))
        );
        text = format!("{text}{}\n", line.trim_end());
    }
    text
}

/// Renders the permissions as JSON: the output of `pinfold rules list --json` with counts, grants and trust.
pub(crate) fn json(effective: &EffectivePermissions) -> String {
    let mut all = json_of(&effective.merged);
    let rules = all.get_mut("rules").and_then(Value::as_array_mut);
    for (i, rule) in rules.into_iter().flatten().enumerate() {
        insert(rule, "decided", effective.decided(i).into());
    }
    let grants = effective.grants.iter().map(|grant| {
        let mut told = serde_json::to_value(&grant.shown).unwrap_or_default();
        insert(&mut told, "process", grant.process.as_str().into());
        told
    });
    let trusted: Vec<Value> = effective
        .trusted
        .iter()
        .map(|trusted| {
            let file = |(name, is_same): &(String, bool)| json!({"file": name, "as_trusted": is_same});
            json!({"folder": trusted.folder, "files": trusted.files.iter().map(file).collect::<Vec<_>>()})
        })
        .collect();
    insert(&mut all, "grants", grants.collect());
    insert(&mut all, "unreached", effective.unreached.clone().into());
    insert(&mut all, "trusted", trusted.into());
    output::json_lines(&all)
}

fn insert(into: &mut Value, name: &str, value: Value) {
    if let Some(object) = into.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
