//! Patterns of others, in our words. Where two readings are possible, an allow takes the narrower one and a deny the wider.

use pinfold_policy::rule::Effect;

/// A pattern for paths in the manner of `.gitignore`, as rules of ours. `None`: it cannot be said.
///
/// There a name covers what lies beneath it, also where a `*` stood for it; here a deny says so.
pub(super) fn ignored_paths(effect: Effect, pattern: &str) -> Option<Vec<String>> {
    let allows = effect == Effect::Allow;
    if pattern.starts_with('!') || pattern.contains('\\') {
        return None;
    }
    let pattern = match pattern.contains(['[', ']']) {
        true if allows => return None,
        true => strip_classes(pattern)?,
        false => pattern.to_owned(),
    };
    let last = pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let names_directories = last.contains(['*', '?']) && last != "**";
    let mut patterns = vec![pattern.clone()];
    if !allows && names_directories {
        patterns.push(format!("{}/**", pattern.trim_end_matches('/')));
    }
    Some(patterns)
}

/// Each class of characters as any one character.
fn strip_classes(pattern: &str) -> Option<String> {
    let mut rest = pattern;
    let mut found = String::new();
    while let Some((before, after)) = rest.split_once('[') {
        // A bracket directly behind the first one belongs to the class.
        let skipped = usize::from(after.starts_with(']'));
        let end = after.get(skipped..)?.find(']')? + skipped;
        found.push_str(before);
        found.push('?');
        rest = after.get(end + 1..)?;
    }
    found.push_str(rest);
    (!found.contains(']')).then_some(found)
}

/// A command that begins with these words, as a rule of ours. `None` where a word could mean more than itself.
pub(super) fn begins_with(words: &[&str]) -> Option<String> {
    let plain = |word: &&str| {
        !word.is_empty() && !word.contains(['*', '?', '(', ')', ' ', '\t', '\n', ':', '"', '\''])
    };
    (!words.is_empty() && words.iter().all(plain)).then(|| format!("Bash({}:*)", words.join(" ")))
}
