//! The files that hooks and the judge of settings run: an agent that could write one would run what it likes outside
//! of every wall.
//!
//! Found are files that a command names, as program or as script; what those read in turn is not known.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pinfold_policy::merge::Merged;
use pinfold_policy::{Claims, HookKind, RawCall, ToolCall};
use serde_json::json;

/// Files that interpreters run, by how their names end.
const SCRIPTS: &[&str] =
    &["sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "lua", "awk", "jq"];

/// The files that hooks and the judge run, resolved. Commands start in `folder` and are told where the `project` lies.
pub(super) fn programs(merged: &Merged, folder: &Path, project: &Path) -> Vec<PathBuf> {
    let hooks = merged.hooks.iter().flat_map(|layer| layer.value.all());
    let hooks = hooks.map(|(_, hook)| hook.value.asks.clone());
    let judge = merged.judge.iter().map(|judge| judge.value.hook().asks);
    let named = hooks.chain(judge).flat_map(|asks| match &asks {
        HookKind::Command { command, args: Some(args), .. } => {
            std::iter::once(command.clone()).chain(args.iter().cloned()).collect()
        }
        HookKind::Command { command, args: None, .. } => known_words(&with_known_variables(command, project)),
        HookKind::Http { .. } => Vec::new(),
    });
    let mut found: Vec<PathBuf> = named.filter_map(|word| program(folder, &word)).collect();
    found.sort();
    found.dedup();
    found
}

/// A command line as it is for a hook: the variables that it is told are known.
fn with_known_variables(command: &str, project: &Path) -> String {
    let project = project.to_string_lossy();
    let names = ["PINFOLD_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "PWD"];
    names.iter().fold(command.to_owned(), |command, name| {
        command.replace(&format!("${{{name}}}"), &project).replace(&format!("${name}"), &project)
    })
}

/// The words of a command line that are known, through every launcher.
fn known_words(command: &str) -> Vec<String> {
    let raw = RawCall::new("Bash", json!({"command": command}));
    let Ok(call) = ToolCall::parse_for_verdict(&raw) else { return Vec::new() };
    let claims = Claims::from_call(&call);
    let readings = claims.commands.iter().flat_map(|command| &command.readings);
    readings
        .flat_map(|reading| reading.words.iter())
        .filter_map(|word| Some(word.as_static()?.to_owned()))
        .collect()
}

/// The file, if it is one that is run, or would be if it were made.
fn program(folder: &Path, word: &str) -> Option<PathBuf> {
    let path = folder.join(word);
    let Ok(real) = path.canonicalize() else {
        let named =
            word.contains('/').then(|| Some((path.parent()?.canonicalize().ok()?, path.file_name()?)));
        return named.flatten().map(|(parent, name)| parent.join(name));
    };
    let metadata = fs::metadata(&real).ok().filter(fs::Metadata::is_file)?;
    let runs = metadata.permissions().mode() & 0o111 != 0;
    let script = real.extension().and_then(|end| end.to_str()).is_some_and(|end| SCRIPTS.contains(&end));
    (runs || script).then_some(real)
}

#[cfg(test)]
mod tests {
    use pinfold_policy::merge::{Layered, merge};
    use pinfold_policy::{Layer, Settings};

    use super::*;

    #[test]
    fn what_hooks_run_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for (name, mode) in [
            ("a.sh", 0o644),
            ("b", 0o755),
            ("c.py", 0o644),
            ("notes.md", 0o644),
            ("d e.sh", 0o644),
            ("f.js", 0o644),
        ] {
            fs::write(top.join(name), "").unwrap();
            fs::set_permissions(top.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        std::os::unix::fs::symlink("b", top.join("alias")).unwrap();
        for (hook, expected) in [
            (json!({"command": "./b --check"}), &["b"][..]),
            (json!({"command": "./alias"}), &["b"]),
            (json!({"command": "sh a.sh notes.md"}), &["a.sh"]),
            (
                json!({"command": "\"$CLAUDE_PROJECT_DIR\"/a.sh && timeout 5 python3 ${PINFOLD_PROJECT_DIR}/c.py"}),
                &["a.sh", "c.py"],
            ),
            (json!({"command": "sh -c 'sudo ./b'"}), &["b"]),
            (json!({"command": "sh 'd e.sh'"}), &["d e.sh"]),
            (json!({"command": "node", "args": ["f.js", "notes.md"]}), &["f.js"]),
            (json!({"command": "cat notes.md missing"}), &[]),
            (json!({"command": "./missing no/such/folder"}), &["missing"]),
        ] {
            let mut hook = hook;
            hook["type"] = json!("command");
            let text = json!({"hooks": {"Stop": [{"hooks": [hook]}]}}).to_string();
            let settings = Settings::parse(text.as_bytes(), Layer::User, &"f".into()).unwrap();
            let merged = merge(&[Layered { settings, trusted: true }]);
            let expected: Vec<PathBuf> = expected.iter().map(|name| top.join(name)).collect();
            let found: Vec<_> =
                programs(&merged, &top, &top).into_iter().filter(|path| path.starts_with(&top)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
