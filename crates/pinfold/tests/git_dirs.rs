//! Files by which a folder becomes a repository, or that say what git runs in one: asked about in every order, and ordinary
//! folders with the same names are not.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use pinfold::policy::{Effect, Policy};
use pinfold::{Plan, RawCall, Session};
use pinfold_gate_testkit::rules::{bases, rule};
use pinfold_gate_testkit::session::{is_permitted, open, question};
use pinfold_testkit::TempTree;
use serde::Deserialize;
use serde_json::{Value, json};

/// One call in a folder with these files, and what is decided.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Names that end in a slash are folders.
    #[serde(default)]
    there: Vec<String>,
    #[serde(default)]
    links: Vec<(String, String)>,
    tool: String,
    input: Value,
    decision: String,
}

/// A session that allows writing in its folder by each tool, so that nothing but guards asks.
fn session(root: &Path) -> Session {
    let mut plan = Plan::for_folder(root);
    let allowed = ["mcp__m", "file_append"].map(|text| rule(Effect::Allow, text));
    plan.policy = Policy::folder_is_granted().with_rules(allowed, &bases(root));
    open(plan)
}

fn put(file: &Path, content: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

#[test]
fn parts_of_a_git_directory_are_guarded_by_what_is_beside_them() {
    let mut wrong = Vec::new();
    for line in include_str!("git_dirs/cases.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let tree = TempTree::new().with_dirs(["root"]);
        for name in &case.there {
            let place = tree.path("root").join(name);
            if name.ends_with('/') {
                fs::create_dir_all(place).unwrap();
            } else {
                put(&place, "was\n");
            }
        }
        for (name, to) in &case.links {
            tree.link(format!("root/{name}"), to);
        }
        let session = session(&tree.path("root"));
        let verdict = session.check(&RawCall::new(&*case.tool, case.input)).unwrap().verdict;
        let guarded = verdict.step == "safeguard";
        if verdict.decision.as_str() != case.decision || guarded != (case.decision == "ask") {
            wrong.push(format!("{}: {:?} by {:?}", case.name, verdict.decision, verdict.step));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn write(path: &str, content: &str) -> RawCall {
    RawCall::new("Write", json!({"file_path": path, "content": content}))
}

/// Writes what is permitted of some files, one call after the other.
fn carry_out(root: &Path, parts: &[(&str, &str)]) -> usize {
    let session = session(root);
    let permitted = parts.iter().filter(|(name, content)| {
        let is_permitted = is_permitted(&session, &write(name, content));
        if is_permitted {
            put(&root.join(name), content);
        }
        is_permitted
    });
    permitted.count()
}

/// Returns whether git takes a folder for a bare repository.
fn is_repository(folder: &Path) -> bool {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["rev-parse", "--is-bare-repository"]);
    git.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "safe.directory").env("GIT_CONFIG_VALUE_0", "*");
    git.output().unwrap().status.success()
}

fn orders<'a>(parts: &[(&'a str, &'a str)]) -> Vec<Vec<(&'a str, &'a str)>> {
    if parts.is_empty() {
        return vec![Vec::new()];
    }
    let with_first = |first: usize| {
        let mut rest = parts.to_vec();
        let part = rest.remove(first);
        orders(&rest).into_iter().map(move |rest| [vec![part], rest].concat())
    };
    (0..parts.len()).flat_map(with_first).collect()
}

#[test]
fn in_no_order_is_a_repository_made_by_files_that_nobody_was_asked_about() {
    const PARTS: [(&str, &str); 5] = [
        ("x/HEAD", "ref: refs/heads/main\n"),
        ("x/objects/ab", "x"),
        ("x/refs/heads/x", "x"),
        ("x/config", "[core]\n\tfsmonitor = ./evil\n"),
        ("x/hooks/pre-commit", "x"),
    ];
    for order in orders(&PARTS) {
        let tree = TempTree::new().with_dirs(["root"]);
        assert!(carry_out(&tree.path("root"), &order) < PARTS.len(), "{order:?}");
        assert!(!is_repository(&tree.path("root/x")), "{order:?}");
    }
    // A file that is no reference at first, and becomes one.
    for (at, order) in orders(&PARTS[1..4]).into_iter().enumerate() {
        let tree = TempTree::new().with_dirs(["root"]);
        let root = tree.path("root");
        let mut order = order;
        order.insert(at % 4, ("x/HEAD", "x"));
        carry_out(&root, &order);
        let edit = json!({"file_path": "x/HEAD", "old_string": "x", "new_string": "ref: refs/heads/main"});
        if root.join("x/HEAD").exists() && is_permitted(&session(&root), &RawCall::new("Edit", edit)) {
            put(&root.join("x/HEAD"), "ref: refs/heads/main\n");
        }
        assert!(!is_repository(&root.join("x")), "{order:?}");
    }
    // The controls: the same files make one, and without the one that makes it all are written.
    let tree = TempTree::new().with_dirs(["root"]);
    for (name, content) in PARTS {
        put(&tree.path("root").join(name), content);
    }
    assert!(is_repository(&tree.path("root/x")));
    for order in orders(&PARTS[1..]) {
        let tree = TempTree::new().with_dirs(["root"]);
        assert_eq!(carry_out(&tree.path("root"), &order), order.len(), "{order:?}");
    }
}

#[test]
fn a_refusal_says_what_git_would_do_there() {
    let tree = TempTree::new().with_dirs(["root"]).with_files(["root/x/HEAD"], "ref: refs/heads/main\n");
    let ruling = session(&tree.path("root")).submit(&write("x/config", "[core]\n"));
    let no = question(ruling).into_refusal();
    assert!(no.message.contains("git takes a folder with these for a repository"), "{}", no.message);
    assert!(no.message.starts_with("x/config is guarded (HEAD, objects, refs)"), "{}", no.message);
}
