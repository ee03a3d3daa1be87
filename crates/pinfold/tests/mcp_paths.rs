//! Arguments of tools of other servers: whichever way a server takes a text for a path, rules hold for the place.

use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use pinfold::policy::{Bases, Decision, Effect, Policy};
use pinfold::{Plan, RawCall, Session};
use pinfold_gate_testkit::rules::{bases, rule};
use pinfold_gate_testkit::session::open;
use pinfold_testkit::TempTree;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A home with a folder in it, and a session that allows the server and denies some places.
struct World {
    _tree: TempTree,
    home: PathBuf,
    root: PathBuf,
    session: Session,
}

const ALLOWED: &str = "mcp__m";
const DENIED: [&str; 3] = ["Read(./secrets/**)", "Edit(./secrets/**)", "Edit(./locked.txt)"];

impl World {
    fn new() -> Self {
        let tree = TempTree::new()
            .with_dirs(
                ["root/src", "root/a/b", "root/.git/hooks", "other/place"].map(|dir| format!("home/{dir}")),
            )
            .with_files(
                [
                    "root/secrets/key",
                    "root/src/a.rs",
                    "root/locked.txt",
                    "root/.env",
                    ".ssh/id_rsa",
                    ".bashrc",
                ]
                .map(|file| format!("home/{file}")),
                "text\n",
            );
        let (home, root) = (tree.path("home"), tree.path("home/root"));
        // For the kernel `far/..` is another folder than for a program that takes `..` as text.
        tree.link("home/root/far", home.join("other/place"));
        tree.link("home/root/dangling", "secrets/not-there");
        tree.link("home/root/~", "secrets");
        let bases = Bases { home: vec![home.clone()], ..bases(&root) };
        let rules = [(Effect::Allow, ALLOWED)].into_iter().chain(DENIED.map(|rule| (Effect::Deny, rule)));
        let mut plan = Plan::for_folder(&root);
        plan.policy = Policy::default().with_rules(rules.map(|(effect, text)| rule(effect, text)), &bases);
        plan.home = Some(home.clone());
        Self { _tree: tree, home, root, session: open(plan) }
    }

    fn decides(&self, tool: &str, input: Value) -> Decision {
        let raw = RawCall::new(format!("mcp__m__{tool}"), input);
        self.session.check(&raw).map_or(Decision::Deny, |considered| considered.verdict.decision)
    }

    /// Whether some server would open a denied place for this text: one that hands it to the kernel, one that takes `..`
    /// as text, each with and without putting a home for `~`, cutting blanks off and taking a URL apart.
    fn leaks(&self, text: &str) -> bool {
        let behind = text.split_once(':').map(|(_, rest)| rest.trim_start_matches('/').to_owned());
        let texts = [Some(text.to_owned()), Some(text.trim().to_owned()), behind];
        let homes = |text: String| {
            let expanded = text.strip_prefix("~/").map(|rest| self.home.join(rest));
            [Some(PathBuf::from(&text)), expanded]
        };
        let all = texts.into_iter().flatten().flat_map(homes).flatten().map(|path| self.root.join(path));
        let opened = all.flat_map(|path| [path.clone(), lexical(&path)]);
        opened
            .filter_map(|path| path.canonicalize().ok())
            .any(|real| real.starts_with(self.root.join("secrets")))
    }
}

fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

static WORLD: LazyLock<World> = LazyLock::new(World::new);

#[test]
fn rules_and_guards_hold_whatever_a_text_is_called_and_however_it_is_written() {
    let world = &*WORLD;
    for line in include_str!("mcp_paths/cases.jsonl").lines() {
        let put = |text: &str, path: &Path| line.replace(text, &path.display().to_string());
        let line = put("$ROOT", &world.root).replace("$HOMEDIR", &world.home.display().to_string());
        let case: Value = serde_json::from_str(&line).unwrap();
        let decision = world.decides(case["tool"].as_str().unwrap(), case["input"].clone());
        assert_eq!(json!(decision.as_str()), case["decision"], "{line}");
    }
}

/// No system call takes such a text; a program that normalises it opens what is left.
#[test]
fn no_text_is_too_long_to_name_a_denied_place() {
    let world = &*WORLD;
    let long_name = "n".repeat(300);
    for many in [1, 3_000, 100_000] {
        for text in [
            format!("secrets/key{}", "/.".repeat(many)),
            format!("secrets/key{}", "/".repeat(many)),
            format!("{}secrets/key", "x/../".repeat(many)),
            format!("{}/{long_name}/../secrets/key", world.root.display()),
        ] {
            for name in ["q", "uri", "text"] {
                let decision = world.decides("read_file", json!({name: text}));
                assert_eq!(decision, Decision::Deny, "{name}: {many} times, {} bytes", text.len());
            }
        }
    }
    let decision = world.decides("read_file", json!({"q": format!("src/a.rs{}", "/.".repeat(3_000))}));
    assert_eq!(decision, Decision::Allow, "the control");
}

/// Names that say path, text, address, or nothing.
fn name() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "path", "file", "source", "dest", "text", "content", "data", "query", "uri", "url", "id", "input",
        "config", "path_2", "fname", "value", "command",
    ]);
    prop_oneof![known.prop_map(str::to_owned), "[a-zA-Z_ ]{1,10}"]
}

/// A known scheme in front of a host: no server takes that for a path of this machine.
fn is_of_another_machine(text: &str) -> bool {
    const SHORT: [&str; 10] = ["ftp", "ftps", "git", "gs", "http", "s3", "sftp", "ssh", "ws", "wss"];
    text.split_once("://").is_some_and(|(scheme, _)| SHORT.contains(&scheme))
}

/// The argument in objects and lists.
fn nested(name: &str, text: &str, shape: u8) -> Value {
    match shape {
        0 => json!({name: text}),
        1 => json!({name: [text]}),
        2 => json!({"x": {name: text}}),
        3 => json!({name: {"inner": text}}),
        4 => json!({"path": "src/a.rs", name: {"path": "src/a.rs", "other": text}}),
        _ => json!({"items": [{"name": "src/a.rs"}, {name: {"text": [text]}}]}),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_that_some_server_takes_for_a_denied_place_is_let_through(
        tool in prop::sample::select(vec!["read_file", "open", "list", "search_text", "summarize"]),
        name in name(),
        front in prop::sample::select(vec!["", "", "./", "~/", "~/root/", " ", "/", "//"]),
        scheme in "([a-z0-9+.-]{0,4}:/{0,3})?",
        steps in prop::collection::vec(prop::sample::select(vec!["..", ".", "a", "b", "far", "~", "root", "src", ""]), 0..5),
        end in prop::sample::select(vec!["secrets/key", "secrets", "key", "secrets/../secrets/key", "root/secrets/key"]),
        between in prop::sample::select(vec!["/", "/", "//", "/./", "/x/../", "/./x/.././"]),
        behind in prop::sample::select(vec!["", "", "/", "//", "/.", "/./", "/x/..", "/x/../", "/./.", " /"]),
        shape in 0u8..6,
    ) {
        let world = &*WORLD;
        let steps: String = steps.iter().map(|step| format!("{step}/")).collect();
        let begin = if scheme.is_empty() { front } else { scheme.as_str() };
        let text = format!("{begin}{steps}{}{behind}", end.replace('/', between));
        prop_assume!(world.leaks(&text) && text.contains('/') && !is_of_another_machine(&text));
        let decision = world.decides(tool, nested(&name, &text, shape));
        prop_assert_eq!(decision, Decision::Deny, "{}", nested(&name, &text, shape));
    }
}
