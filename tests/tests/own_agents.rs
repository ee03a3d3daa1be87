//! Agents of our own through the binary: the four examples of the README, each by its one command; runs that are stopped
//! and go on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Who, each};
use serde_json::{Value, json};

mod apart;
mod judge;
mod kept;
mod leases;
mod limits;
mod models;
mod rules;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the top").join("examples/agents")
}

/// Copies a folder to where every user can read it.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, at) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copied(&path, &at);
        } else {
            fs::copy(&path, &at).expect("a copy");
        }
    }
}

/// Runs an example as a person would.
fn example(who: Who, name: &str) -> (String, String) {
    let bed = Bed::new(who);
    copied(&examples(), &bed.outside().join("agents"));
    bed.give();
    let mut command = bed.free("sh");
    command.arg(bed.outside().join("agents/try.sh")).arg(name).env("PINFOLD", pinfold());
    let output = command.stdin(Stdio::null()).output().expect("sh can be started");
    assert!(output.status.success(), "{name}: {}", describe(&output));
    let left: Vec<_> = fs::read_dir(bed.home()).expect("home").flatten().map(|e| e.file_name()).collect();
    let example = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("pinfold-example");
    assert!(!left.iter().any(example), "it takes everything away: {left:?}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr))
}

#[each(user)]
fn a_definition_holds_with_four_outcomes(who: Who) {
    if !all_there("four outcomes", &["git"]) {
        return;
    }
    let (said, told) = example(who, "test-perm");
    let results: Vec<&str> = said.lines().collect();
    let expected = [
        ("RESULT: Bash(git diff --stat) -> ALLOWED", ""),
        ("RESULT: Bash(git diff && git status) -> DENIED: the definition of this agent does not list it", ""),
        ("RESULT: Bash(git stash list) -> DENIED: the rule Bash(git stash*) denies it", ""),
        ("RESULT: Bash(git diff && rm -rf /tmp/dummy) -> DENIED: ", "and it removes"),
    ];
    assert_eq!(results.len(), expected.len(), "{said}\n{told}");
    for (result, (start, also)) in results.iter().zip(expected) {
        assert!(result.starts_with(start) && result.contains(also), "{result}\n{told}");
    }
}

#[each(user)]
fn a_child_defers_to_its_parent(who: Who) {
    let (said, told) = example(who, "adapters");
    let line = "packages/core/src/ports/FileSystem.ts is outside this scope (packages/adapters). Defer it to the parent in your summary.";
    assert!(told.contains(line), "{told}");
    assert!(told.contains("adapters: Write(packages/adapters/src/LocalFileSystem.ts) -> ALLOWED"), "{told}");
    assert!(
        said.contains("Edit(packages/core/src/ports/FileSystem.ts) -> ALLOWED"),
        "the parent does it: {said}"
    );
    assert!(said.contains("adapters in packages/adapters (acceptEdits): done"), "the tree: {said}");
    assert!(
        said.contains(&format!("deferred: Edit(packages/core/src/ports/FileSystem.ts): {line}")),
        "{said}"
    );
}

#[each(user)]
fn a_person_lets_a_file_outside_be_written_and_is_asked_once(who: Who) {
    let (said, told) = example(who, "nginx");
    let (alone, asked) = said.split_once("--- a person says yes").expect("two parts");
    assert!(alone.contains("DENIED: a write outside the folder"), "{said}\n{told}");
    assert!(alone.trim_end().ends_with("worker_processes 1;"), "nothing was written: {said}");
    assert_eq!(asked.matches("approved").count(), 1, "asked once: {said}\n{told}");
    assert_eq!(asked.matches("nginx.conf) -> ALLOWED").count(), 3, "{said}\n{told}");
    assert!(asked.trim_end().ends_with("worker_processes 8;"), "both writes came through: {said}");
}

#[each(user)]
fn agent_b_sees_nothing_of_agent_a(who: Who) {
    let (said, told) = example(who, "tenants");
    assert_eq!(told.matches("DENIED: the path is under the denied `${AGENT_A}`").count(), 4, "{told}");
    assert!(told.contains("Read(~/.ssh/id_ed25519) -> DENIED"), "{told}");
    assert_eq!(told.matches("Read(notes.md) -> ALLOWED").count(), 4, "the control: {told}");
    assert!(said.contains("it has seen nothing of agent A"), "{said}");
    assert!(!said.contains("a diagnosis") && !told.contains("a diagnosis"), "{said}\n{told}");
}

/// A bed with a script, and runs in it.
struct Runs {
    bed: Bed,
}

impl Runs {
    fn new(who: Who, turns: &[Value]) -> Self {
        let bed = Bed::new(who);
        let script: String = turns.iter().map(|turn| turn.to_string() + "\n").collect();
        fs::write(bed.outside().join("script.jsonl"), script).expect("a script");
        bed.give();
        Self { bed }
    }

    fn agent(&self, words: &[&str]) -> Output {
        let mut command = self.bed.free(pinfold());
        command.arg("agent").args(words).stdin(Stdio::null());
        command.output().expect("pinfold can be started")
    }

    fn spawned(&self, words: &[&str], script: &str) -> Child {
        let mut command = self.bed.free(pinfold());
        command.args(["agent", "run", "--script"]).arg(self.bed.outside().join(script)).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("pinfold can be started")
    }

    /// Says something in the settings of the person.
    fn settings(&self, says: &Value) {
        let place = self.bed.home().join(".config/pinfold");
        fs::create_dir_all(&place).expect("a folder");
        fs::write(place.join("settings.json"), says.to_string()).expect("a file");
        self.bed.give();
    }

    fn run(&self, words: &[&str]) -> Output {
        let script = self.bed.outside().join("script.jsonl");
        let script = script.to_str().expect("a plain path");
        self.agent(&[&["run", "--script", script], words].concat())
    }
}

fn write(path: &str) -> Value {
    json!({"tool": "Write", "input": {"file_path": path, "content": "x\n"}})
}

#[each(user)]
fn a_run_that_needs_a_person_goes_on_once_one_is_there(who: Who) {
    let probe = Bed::new(who);
    let outside = probe.outside().join("a.txt");
    let calls = [write("in.txt"), write(outside.to_str().expect("plain")), write("after.txt")];
    let runs = Runs::new(who, &[json!({"calls": calls}), json!({"say": "{{results}}"})]);
    let parked = runs.run(&["--park", "--prompt", "go"]);
    assert_eq!(parked.status.code(), Some(4), "{}", describe(&parked));
    assert!(!runs.bed.folder().join("after.txt").exists() && !outside.exists());
    let err = String::from_utf8_lossy(&parked.stderr).into_owned();
    let token = err.split("--resume ").nth(1).expect("how to go on").trim().to_owned();

    // Nobody has come, and nobody is waited for any more.
    let alone = runs.run(&["--resume", &token, "--ask", "nobody"]);
    assert_eq!(alone.status.code(), Some(0), "{}", describe(&alone));
    assert!(runs.bed.folder().join("after.txt").exists() && !outside.exists());
    let text = String::from_utf8_lossy(&alone.stdout).into_owned();
    assert!(text.contains("a.txt) -> DENIED") && text.contains("Write(in.txt) -> ALLOWED"), "{text}");
    let over = runs.run(&["--resume", &token]);
    assert_eq!(over.status.code(), Some(2), "it came to its end: {}", describe(&over));
}

#[each(user)]
fn the_shell_of_a_child_is_held_to_its_folder_by_the_kernel(who: Who) {
    // No look at the words says where these lead.
    let command = "sh -c 'd=$(printf ..); s=$(printf state); echo x > $d/b/stolen; echo x > own; cat ~/.local/$s/pinfold/agents/*'";
    let bash = json!({"tool": "Bash", "input": {"command": command}});
    let start = json!({"tool": "run_agent", "input": {"name": "worker", "folder": "a", "task": "go"}});
    let turns = [
        json!({"calls": [bash, start]}),
        json!({"say": "{{results}}"}),
        json!({"agent": "worker", "calls": [bash]}),
    ];
    let runs = Runs::new(who, &turns);
    for folder in ["a", "b", "../b"] {
        fs::create_dir_all(runs.bed.folder().join(folder)).expect("a folder");
    }
    runs.bed.give();
    let output = runs.run(&["--allow-bash", "--allowed-tools", "Agent", "--json", "--prompt", "go"]);
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let at = |below: &str| runs.bed.folder().join(below).exists();
    assert!(at("own"), "the control: the first agent writes in the folder");
    assert!(at("a/own"), "the child writes in its own: {}", describe(&output));
    assert!(!at("b/stolen"), "and not beside it: {}", describe(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("{\\\"event\\\""), "what is kept of runs is out of sight: {text}");
}

#[test]
fn a_limit_and_too_many_denials_have_codes_of_their_own() {
    let who = Who::present()[0];
    let many: Vec<Value> = (0..9).map(|n| json!({"calls": [write(&format!("f{n}"))]})).collect();
    let limited = Runs::new(who, &many).run(&["--max-turns", "3", "--prompt", "go"]);
    assert_eq!(limited.status.code(), Some(5), "{}", describe(&limited));
    let denied: Vec<Value> = (0..9).map(|n| json!({"calls": [write(&format!("/etc/f{n}"))]})).collect();
    let stopped = Runs::new(who, &denied).run(&["--prompt", "go"]);
    assert_eq!(stopped.status.code(), Some(3), "{}", describe(&stopped));
    assert!(
        String::from_utf8_lossy(&stopped.stderr).contains("3 calls in a row were denied"),
        "{}",
        describe(&stopped)
    );
}

#[test]
fn events_are_json_lines_and_the_tree_is_kept() {
    let who = Who::present()[0];
    let turns = [json!({"say": "hello", "calls": [write("a.txt")]}), json!({"say": "done"})];
    let runs = Runs::new(who, &turns);
    let output = runs.run(&["--json", "--prompt", "go"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names, ["started", "told", "turn", "called", "turn", "ended"], "{text}");
    assert_eq!((&events[3]["how"], &events[3]["short"]), (&json!("allowed"), &json!("Write(a.txt)")));
    let tree = runs.agent(&["tree", "--json"]);
    let nodes: Value = serde_json::from_slice(&tree.stdout).expect("JSON");
    assert_eq!((&nodes[0]["id"], &nodes[0]["ending"]["how"]), (&json!("main"), &json!("done")));
}

#[test]
fn definitions_are_listed_shown_and_checked() {
    let who = Who::present()[0];
    let runs = Runs::new(who, &[]);
    let agents = runs.bed.folder().join(".pinfold/agents");
    fs::create_dir_all(&agents).expect("a folder");
    fs::write(agents.join("good.md"), "---\nname: good\nallow_tools: [\"Bash(make *)\"]\n---\nDo it.\n")
        .expect("a file");
    runs.bed.give();
    let text = |output: Output| (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned());
    let (code, listed) = text(runs.agent(&["list"]));
    assert!(code == Some(0) && listed.contains("good") && listed.contains("not trusted"), "{listed}");
    let (code, shown) = text(runs.agent(&["show", "good"]));
    assert!(
        code == Some(0) && shown.contains("allow    Bash(make *)  (project .pinfold/agents/good.md:3:"),
        "{shown}"
    );
    assert_eq!(text(runs.agent(&["check"])).0, Some(0));

    fs::write(agents.join("bad.md"), "---\nname: bad\nmode: explor\n---\n").expect("a file");
    let (code, bad) = text(runs.agent(&["check"]));
    assert!(code == Some(2) && bad.contains("bad.md:3:7") && bad.contains("write `mode: explore`"), "{bad}");
    let refused = runs.run(&["--prompt", "go"]);
    assert_eq!(refused.status.code(), Some(2), "nothing starts beside it: {}", describe(&refused));
    let unknown = runs.run(&["--type", "nobody", "--prompt", "go"]);
    assert_eq!(unknown.status.code(), Some(2));
}

fn bash(command: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": command}})
}
