//! What may come back into a repository's configuration: keys that say which branch follows which.

use crate::hostile::snapshot::Entry;

/// Keys of a `branch` section that name no program.
const HARMLESS: [&str; 5] = ["remote", "pushremote", "merge", "rebase", "description"];

/// Whether two configurations are the same but for sections of branches that only say what these follow.
pub(super) fn only_tracking_came(before: &Entry, after: &Entry) -> bool {
    let (Some(old), Some(new)) = (before.text(), after.text()) else { return false };
    let remotes: Vec<&str> =
        old.lines().filter_map(|line| line.strip_prefix("[remote \"")?.strip_suffix("\"]")).collect();
    before.mode == after.mode && before.owner == after.owner && rest(&old, &remotes) == rest(&new, &remotes)
}

/// A configuration without its harmless sections of branches.
fn rest<'a>(text: &'a str, remotes: &[&str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut section: Vec<&str> = Vec::new();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.chain(["["]) {
        if line.starts_with('[') {
            if !is_tracking(&section, remotes) {
                kept.append(&mut section);
            }
            section.clear();
        }
        section.push(line);
    }
    kept
}

fn is_tracking(section: &[&str], remotes: &[&str]) -> bool {
    let [head, keys @ ..] = section else { return false };
    let harmless = |line: &&str| {
        let Some((key, value)) = line.split_once('=') else { return false };
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        let names_remote = key == "remote" || key == "pushremote";
        HARMLESS.contains(&key.as_str()) && (!names_remote || value == "." || remotes.contains(&value))
    };
    head.starts_with("[branch \"") && head.ends_with("\"]") && keys.iter().all(harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracking_may_come_and_nothing_else() {
        let base = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = /r\n";
        let remotes = ["origin"];
        let same = |more: &str| rest(base, &remotes) == rest(&format!("{base}{more}"), &remotes);
        assert!(same("[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n"));
        assert!(!same("[branch \"x\"]\n\tremote = ext::sh\n"));
        assert!(!same("[core]\n\tfsmonitor = x\n"));
        assert!(!same("[branch \"x\"]\n\tmerge = y\n[alias]\n\tst = !x\n"));
    }
}
