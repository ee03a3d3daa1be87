//! Files by which a folder becomes a repository, or that say what git runs in one: asked about in every order, and ordinary
//! folders with the same names are not.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::os::unix::fs::symlink;
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
    /// Names that end in a slash are folders, and a file `HEAD` is a reference.
    #[serde(default)]
    there: Vec<String>,
    /// Files with this content.
    #[serde(default)]
    contents: Vec<(String, String)>,
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
                put(&place, if place.ends_with("HEAD") { "ref: refs/heads/main\n" } else { "was\n" });
            }
        }
        for (name, content) in &case.contents {
            put(&tree.path("root").join(name), content);
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

const PARTS: [(&str, &str); 5] = [
    ("x/HEAD", "ref: refs/heads/main\n"),
    ("x/objects/ab", "x"),
    ("x/refs/heads/x", "x"),
    ("x/config", "[core]\n\tfsmonitor = ./evil\n"),
    ("x/hooks/pre-commit", "x"),
];

#[test]
fn in_no_order_is_a_repository_made_by_files_that_nobody_was_asked_about() {
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

/// One way in which a tool of a server puts a part into `x`. In its input `$PART` is the path in `x`, `$TOP` the first name of it,
/// `$ONE` a folder with this part alone.
struct Way {
    tool: &'static str,
    input: &'static str,
    links: bool,
}

const WAYS: [Way; 11] = [
    Way { tool: "write_file", input: r#"{"path": "x/$PART", "content": "c"}"#, links: false },
    Way { tool: "do", input: r#"{"path": "x/$PART"}"#, links: false },
    Way { tool: "put", input: r#"{"where": "x/$PART", "what": "c"}"#, links: false },
    Way { tool: "create_file", input: r#"{"directory": "x", "filename": "$PART"}"#, links: false },
    Way { tool: "move_file", input: r#"{"source": "$ONE/$PART", "destination": "x/$PART"}"#, links: false },
    Way { tool: "move_file", input: r#"{"source": "$ONE/$TOP", "destination": "x"}"#, links: false },
    Way { tool: "copy_file", input: r#"{"destination": "x", "source": "$ONE/$TOP"}"#, links: false },
    Way { tool: "copy_directory", input: r#"{"source": "$ONE", "destination": "x"}"#, links: false },
    Way { tool: "sync", input: r#"{"from": "$ONE", "to": "x"}"#, links: false },
    Way { tool: "rename", input: r#"{"path": "x/was", "new_name": "$TOP"}"#, links: false },
    Way { tool: "create_link", input: r#"{"target": "$ONE/$TOP", "link_path": "x/$TOP"}"#, links: true },
];

impl Way {
    /// Puts what is permitted of some parts into an empty `x`, one call after the other.
    fn carry_out(&self, session: &Session, root: &Path, parts: &[(&str, &str)]) -> usize {
        let _ = fs::remove_dir_all(root.join("x"));
        put(&root.join("x/was"), "x");
        let permitted = parts.iter().filter(|(part, content)| {
            let (name, top, one) = staged(part);
            let input = self.input.replace("$PART", name).replace("$TOP", top).replace("$ONE", &one);
            let call = RawCall::new(format!("mcp__m__{}", self.tool), serde_json::from_str(&input).unwrap());
            let is_permitted = is_permitted(session, &call);
            let (from, to) = (root.join(one).join(top), root.join("x").join(top));
            match is_permitted {
                true if self.links && name == top => fs::hard_link(from, to).unwrap(),
                true if self.links => symlink(from, to).unwrap(),
                true => put(&root.join(part), content),
                false => {}
            }
            is_permitted
        });
        permitted.count()
    }
}

/// The path of a part in `x`, the first name of it, and a folder that has it alone.
fn staged(part: &str) -> (&str, &str, String) {
    let name = part.strip_prefix("x/").unwrap();
    let top = name.split('/').next().unwrap();
    (name, top, format!("one/of-{top}"))
}

#[test]
fn in_no_order_and_by_no_way_is_a_repository_made_by_a_server_that_nobody_was_asked_about() {
    let tree = TempTree::new().with_dirs(["root"]);
    let root = tree.path("root");
    for (part, content) in PARTS {
        let (name, _, one) = staged(part);
        put(&root.join(one).join(name), content);
    }
    for way in &WAYS {
        let session = session(&root);
        for order in orders(&PARTS) {
            let permitted = way.carry_out(&session, &root, &order);
            let said = format!("{} {}: {order:?}", way.tool, way.input);
            // What git looks for, as git itself would be a process for each order.
            let has_all = ["HEAD", "objects", "refs"].iter().all(|part| root.join("x").join(part).exists());
            assert!(permitted < PARTS.len() && !has_all, "{said}");
        }
        // The controls: without the one that makes a repository all are put, and with it they are one.
        for order in orders(&PARTS[1..]) {
            let permitted = way.carry_out(&session, &root, &order);
            assert_eq!(permitted, order.len(), "{} {}: {order:?}", way.tool, way.input);
        }
        put(&root.join(PARTS[0].0), PARTS[0].1);
        assert!(is_repository(&root.join("x")), "{} {}", way.tool, way.input);
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
