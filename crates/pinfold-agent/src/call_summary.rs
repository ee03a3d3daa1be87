//! A call in a few words: `Bash(git diff)`, `Write(src/a.rs)`, `run_agent(adapters in packages/adapters)`.

use serde_json::Value;

/// Longest short form of a call, for readers of progress.
const MAX_LEN: usize = 120;

/// The fields that say what a call is about, by tools.
const ABOUT: &[&str] =
    &["command", "file_path", "path", "source", "pattern", "name", "agent", "bash_id", "url"];

/// A call in a few words, with nothing in it that acts on a screen.
pub(crate) fn short(tool: &str, input: &Value) -> String {
    let text = |name: &&str| input.get(*name).and_then(Value::as_str);
    let about = ABOUT.iter().find_map(text).unwrap_or_default();
    let folder = input.get("folder").and_then(Value::as_str).map(|folder| format!(" in {folder}"));
    let said = format!("{about}{}", folder.unwrap_or_default());
    let mut shown: String = said.chars().take(MAX_LEN).flat_map(visible).collect();
    if said.chars().nth(MAX_LEN).is_some() {
        shown.push('…');
    }
    let tool: String = tool.chars().take(MAX_LEN).flat_map(visible).collect();
    if shown.is_empty() { tool } else { format!("{tool}({shown})") }
}

fn visible(c: char) -> impl Iterator<Item = char> {
    let plain = matches!(c, '"' | '\'' | '\\');
    let (kept, escaped) = if plain { (Some(c), None) } else { (None, Some(c.escape_debug())) };
    kept.into_iter().chain(escaped.into_iter().flatten())
}
