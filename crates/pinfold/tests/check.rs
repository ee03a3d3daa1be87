//! The interface of `pinfold check`, line by line: what each field does, and what cannot be read.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pinfold::audit::Memory;
use pinfold::check::{CheckAnswer, CheckService};
use pinfold::policy::merge::{Layered, merge};
use pinfold::policy::{Decision, Guards, Layer, Settings};
use pinfold::settings::Situation;
use pinfold::{Ambient, GuardSearch, GuardSearchArea, Plan, RawCall, Session};
use pinfold_testkit::TempTree;
use serde_json::{Value, json};

/// A folder that no machine has.
const PROJECT: &str = "/no-such-folder/u/proj";

fn desk() -> CheckService {
    CheckService::new(Ambient::claim(), PROJECT.into()).with_home(Some("/no-such-folder/u".into()))
}

fn answer(line: &Value) -> Result<CheckAnswer, String> {
    desk().answer(line.to_string().as_bytes()).map_err(|bad| bad.to_string())
}

/// A call with more fields.
fn with(mut call: Value, fields: &Value) -> Value {
    call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    call
}

fn bash(command: &str, fields: &Value) -> Value {
    with(json!({"tool": "Bash", "input": {"command": command}}), fields)
}

fn write(path: &str, fields: &Value) -> Value {
    with(json!({"tool": "Write", "input": {"file_path": path}}), fields)
}

fn read(path: &str, fields: &Value) -> Value {
    with(json!({"tool": "Read", "input": {"file_path": path}}), fields)
}

/// Git takes `REV:path` from the root of the repository, which may lie above the folder of the session.
#[test]
fn a_path_in_a_commit_counts_from_the_root_of_the_repository() {
    let tree = TempTree::new().with_dirs(["repo/.git", "repo/pkg/src", "repo/top"]);
    let (project, top) = (tree.path("repo/pkg"), tree.path("repo/top"));
    let deny = [format!("Read(/{}/**)", top.display()), "Read(/secrets/**)".to_owned()];
    let decision = |command: &str, rules: &Value| {
        let fields = json!({
            "cwd": project, "project_root": project, "scope": {"root": project, "display_root": project},
            "bash": "read-only", "rules": rules,
        });
        answer(&bash(command, &fields)).unwrap().decision
    };
    for command in ["git show HEAD:pkg/secrets/key", "git show HEAD:top/key", "git show HEAD:./secrets/key"] {
        assert_eq!(decision(command, &json!({ "deny": deny })), Decision::Deny, "{command}");
        assert_eq!(decision(command, &json!({})), Decision::Allow, "{command} without a rule");
    }
    assert_eq!(decision("git show HEAD:pkg/src/x.rs", &json!({ "deny": deny })), Decision::Allow);
}

/// A word of `git grep` is a revision where nothing stands at that path, and then all files of it are searched.
#[test]
fn a_word_of_git_grep_is_a_path_where_something_stands_there() {
    let tree =
        TempTree::new().with_dirs(["p/.git", "p/sub/deep"]).with_files(["p/secrets/key", "p/src/x.rs"], "x");
    let project = tree.path("p");
    let decision = |command: &str, deny: &[&str]| {
        let fields = json!({
            "cwd": project, "project_root": project, "scope": {"root": project, "display_root": project},
            "bash": "read-only", "rules": {"deny": deny},
        });
        answer(&bash(command, &fields)).unwrap().decision
    };
    for (command, is_denied) in [
        ("git grep x src", false),
        ("git grep -n x src/x.rs", false),
        ("git grep x src sub", false),
        ("git grep x src | head", false),
        ("git grep x main -- src", false),
        ("git grep x main src", false),
        ("git grep x main", true),
        ("git grep x main topic/a", true),
        ("git grep -e x v1.2", true),
        ("git grep x src --", true),
        ("git grep x main -- .", true),
        ("rm -r src; git grep x src", true),
        ("git switch old && git grep x src", true),
    ] {
        let allowed = decision(command, &["Read(./secrets/**)"]) == Decision::Allow;
        assert_eq!(allowed, !is_denied, "{command}");
        let without = decision(command, &[]) == Decision::Allow;
        assert!(without || command.contains("rm ") || command.contains("switch"), "{command} without a rule");
    }
}

#[test]
fn every_field_has_its_effect() {
    use Decision::{Allow, Ask, Deny};
    let none = json!({});
    let git = json!({"rules": {"allow": ["Bash(git *)"]}});
    for (line, decision, step) in [
        // Where nothing is said: the usual mode, interactive, the agent that the person started.
        (bash("git push", &none), Ask, "mode-default"),
        (read("a", &none), Allow, "mode-default"),
        (write("a", &none), Ask, "mode-default"),
        (write("../a", &none), Deny, "unresolved"),
        (write("/srv/a", &none), Ask, "scope"),
        // Modes, by their names and older ones.
        (write("a", &json!({"mode": "acceptEdits"})), Allow, "mode-default"),
        (write("a", &json!({"mode": "AskDangerous"})), Allow, "mode-default"),
        (write("a", &json!({"mode": ""})), Ask, "mode-default"),
        (write("a", &json!({"mode": "dontAsk"})), Deny, "mode-default"),
        (bash("make", &json!({"mode": "bypassPermissions"})), Allow, "bypass-mode"),
        // Nobody to ask.
        (write("a", &json!({"headless": true})), Deny, "headless"),
        (bash("make", &json!({"headless": true, "mode": "bypassPermissions"})), Deny, "deny-rule"),
        (
            bash(
                "make",
                &json!({"headless": true, "mode": "bypassPermissions", "scope": {"allow_bash": true}}),
            ),
            Allow,
            "bypass-mode",
        ),
        // Rules and grants.
        (bash("git push", &git), Allow, "allow-rule"),
        (bash("git push", &json!({"rules": {"allow": ["Bash"], "ask": ["Bash(git *)"]}})), Ask, "ask-rule"),
        (bash("git push", &json!({"rules": {"deny": ["Bash(git *)"]}})), Deny, "deny-rule"),
        (bash("git push", &json!({"session": {"allow": ["Bash(git push)"]}})), Allow, "session-grant"),
        (write("a", &json!({"session": {"allow": ["Edit"]}})), Allow, "session-grant"),
        (
            bash(
                "ls",
                &json!({"rules": {"ask": ["Bash"]}, "mode": "bypassPermissions", "ask_rules_in_bypass": true}),
            ),
            Ask,
            "ask-rule",
        ),
        // A rule that takes away and cannot be read takes all away.
        (read("a", &json!({"rules": {"deny": ["Bash(rm"]}})), Deny, "deny-rule"),
        (bash("rm x", &json!({"rules": {"allow": ["Bash(rm"]}})), Ask, "mode-default"),
        // The line.
        (
            write("b/x", &json!({"scope": {"root": format!("{PROJECT}/a"), "display_root": PROJECT}})),
            Ask,
            "scope",
        ),
        (
            write(
                "b/x",
                &json!({"scope": {"root": format!("{PROJECT}/a"), "display_root": PROJECT, "enforce_write": true}}),
            ),
            Deny,
            "deny-rule",
        ),
        (read("/etc/hosts", &json!({"reads": "workspace"})), Deny, "deny-rule"),
        (
            write("/srv/a", &json!({"additional_directories": ["/srv"], "mode": "acceptEdits"})),
            Allow,
            "mode-default",
        ),
        (
            write("/srv/a", &json!({"sandbox": {"writable": ["/srv"]}, "mode": "acceptEdits"})),
            Allow,
            "mode-default",
        ),
        (write("a", &json!({"sandbox": {"writable": ["/srv"]}, "mode": "acceptEdits"})), Ask, "scope"),
        (
            write("a", &json!({"sandbox": {"mode": "read_only"}, "mode": "bypassPermissions"})),
            Deny,
            "deny-rule",
        ),
        (
            write("a.pem", &json!({"sandbox": {"deny_write_globs": ["**/*.pem"]}, "mode": "acceptEdits"})),
            Ask,
            "scope",
        ),
        (read("a.key", &json!({"sandbox": {"deny_read_globs": ["./a.*"]}})), Ask, "scope"),
        (write("~/.bashrc", &json!({"mode": "bypassPermissions"})), Ask, "safeguard"),
        (read("a", &json!({"tools": {"file": {"allowed_read_paths": ["/srv"]}}})), Deny, "deny-rule"),
        // Relative paths and `./` start where the line says.
        (
            read(
                "x",
                &json!({"cwd": format!("{PROJECT}/a"), "project_root": PROJECT, "rules": {"deny": ["Read(./x)"]}}),
            ),
            Deny,
            "deny-rule",
        ),
        (
            read(
                "x",
                &json!({"cwd": format!("{PROJECT}/a"), "project_root": PROJECT, "rules": {"deny": ["Read(/x)"]}}),
            ),
            Allow,
            "mode-default",
        ),
        // Fewer questions.
        (bash("ls", &json!({"bash": "read-only"})), Allow, "mode-default"),
        (bash("make", &json!({"bash": "sandboxed"})), Allow, "mode-default"),
        // Back to the folder itself is no way out of it.
        (bash(&format!("cd {PROJECT} && git status"), &json!({"bash": "read-only"})), Allow, "mode-default"),
        (bash(&format!("cd {PROJECT}/ && git log -3"), &json!({"bash": "read-only"})), Allow, "mode-default"),
        (bash(&format!("git -C {PROJECT} status"), &json!({"bash": "read-only"})), Allow, "mode-default"),
        (bash(&format!("cd {PROJECT} && git status"), &json!({})), Ask, "mode-default"),
        (
            bash(&format!("cd {PROJECT} && git commit -m x"), &json!({"bash": "read-only"})),
            Ask,
            "mode-default",
        ),
        // A repository below may be of anyone's making.
        (
            bash(&format!("cd {PROJECT}/sub && git status"), &json!({"bash": "read-only"})),
            Ask,
            "mode-default",
        ),
        (bash("cd sub && git status", &json!({"bash": "read-only"})), Ask, "mode-default"),
        (
            bash(&format!("git -C {PROJECT} -C sub status"), &json!({"bash": "read-only"})),
            Ask,
            "mode-default",
        ),
        (bash("cd /srv/other && git status", &json!({"bash": "read-only"})), Ask, "mode-default"),
        (
            bash(&format!("cd {PROJECT}/../proj && git status"), &json!({"bash": "read-only"})),
            Ask,
            "mode-default",
        ),
        (
            bash(&format!("cd {PROJECT}; cd sub; git status"), &json!({"bash": "read-only"})),
            Ask,
            "mode-default",
        ),
        (bash("rm -rf build", &json!({"mode": "bypassPermissions"})), Ask, "safeguard"),
        (
            bash("rm -rf build", &json!({"mode": "bypassPermissions", "always_ask": "critical"})),
            Allow,
            "bypass-mode",
        ),
        (
            bash("rm -rf build", &json!({"mode": "bypassPermissions", "immune": "breaker"})),
            Allow,
            "bypass-mode",
        ),
        // An input that a known tool cannot take is an answer.
        (json!({"tool": "Write", "input": {"file_path": 7}}), Deny, "unresolved"),
        (json!({"tool": "Nobody", "input": {}}), Ask, "mode-default"),
    ] {
        let answer = answer(&line).unwrap_or_else(|bad| panic!("{line}: {bad}"));
        assert_eq!((answer.decision, answer.step), (decision, step), "{line}: {}", answer.reason);
        assert_eq!(answer.refusal.is_none(), decision == Allow, "{line}");
    }
}

#[test]
fn a_subagent_inherits_what_takes_away_and_nothing_else() {
    use Decision::{Allow, Ask, Deny};
    for (line, decision) in [
        // Without a definition the rules of the line are its own.
        (write("a", &json!({"agent": "w", "rules": {"allow": ["Write"]}})), Allow),
        (write("a", &json!({"agent": "w"})), Deny),
        (write("a", &json!({"agent": "main"})), Ask),
        (write("a", &json!({"agent": "w", "session": {"allow": ["Edit"]}})), Deny),
        // With one they are those of who started it.
        (write("a", &json!({"agent_def": {}, "rules": {"allow": ["Write"]}})), Deny),
        (read("a", &json!({"agent_def": {}, "rules": {"ask": ["Read"]}})), Allow),
        (read("a", &json!({"agent_def": {}, "rules": {"deny": ["Read"]}})), Deny),
        (write("a", &json!({"agent_def": {"mode": "acceptEdits"}})), Allow),
        (write("a", &json!({"agent_def": {"mode": "acceptEdits"}, "mode": "default"})), Deny),
        (write("a", &json!({"agent_def": {"mode": "explore"}, "mode": "bypassPermissions"})), Deny),
        // Its own list, in any of its forms; nothing else is let through.
        (bash("git diff", &json!({"agent_def": {"allow_tools": ["Bash(git diff)"]}})), Allow),
        (bash("git diff", &json!({"agent_def": {"allow_tools": "Read, Bash(git diff)"}})), Allow),
        (bash("git diff", &json!({"agent_def": {"allow_tools": {"Bash": "git diff"}}})), Allow),
        (
            bash(
                "git push",
                &json!({"agent_def": {"allow_tools": ["Bash(git diff)"], "mode": "bypassPermissions"}}),
            ),
            Deny,
        ),
        (
            bash(
                "make",
                &json!({"agent_def": {"allow_tools": {"Bash": false}, "mode": "bypassPermissions"}}),
            ),
            Deny,
        ),
        (
            bash("make", &json!({"agent_def": {"allow_tools": ["Bash(ma"], "mode": "bypassPermissions"}})),
            Deny,
        ),
        (
            bash("make", &json!({"agent_def": {"deny_tools": ["Bash(make)"], "mode": "bypassPermissions"}})),
            Deny,
        ),
        (bash("ls", &json!({"agent_def": {"deny_tools": ["Bash(ma"], "mode": "bypassPermissions"}})), Deny),
        // Its scope is always armed.
        (write("/srv/a", &json!({"agent_def": {"mode": "bypassPermissions"}})), Deny),
    ] {
        assert_eq!(answer(&line).unwrap().decision, decision, "{line}");
    }
}

#[test]
fn what_is_known_of_an_argument_counts_before_its_name() {
    use Decision::{Allow, Ask};
    let call = |input: Value, fields: Value| {
        let rules = json!({"rules": {"allow": ["mcp__s"]}});
        with(with(json!({"tool": "mcp__s__write_file", "input": input}), &rules), &fields)
    };
    for (input, fields, decision) in [
        (json!({"f": "/srv/a"}), json!({}), Allow),
        (json!({"f": "/srv/a"}), json!({"shape": {"f": "path"}}), Ask),
        (json!({"f": [{"g": "/srv/a"}]}), json!({"shape": {"f": {"*": "path"}}}), Ask),
        (json!({"path": "/srv/a"}), json!({}), Ask),
        (json!({"path": "/srv/a"}), json!({"shape": {"path": "text"}}), Allow),
        (json!({"path": "/srv/a"}), json!({"shape": {"path": "text"}, "trusted": false}), Ask),
    ] {
        let line = call(input, fields);
        assert_eq!(answer(&line).unwrap().decision, decision, "{line}");
    }
    let bad = call(json!({}), json!({"shape": {"f": "file"}}));
    assert!(answer(&bad).unwrap_err().contains("`shape.f`"), "{:?}", answer(&bad));
}

#[test]
fn a_line_that_is_not_trusted_narrows_and_widens_nothing() {
    use Decision::{Ask, Deny};
    for (line, decision) in [
        (bash("make", &json!({"trusted": false, "rules": {"allow": ["Bash"]}})), Ask),
        (bash("make", &json!({"trusted": false, "mode": "bypassPermissions"})), Ask),
        (bash("make", &json!({"trusted": false, "bash": "sandboxed"})), Ask),
        (bash("make", &json!({"trusted": false, "rules": {"deny": ["Bash"]}})), Deny),
        (write("a", &json!({"trusted": false, "mode": "dontAsk"})), Deny),
        (write("/srv/a", &json!({"trusted": false, "additional_directories": ["/"]})), Ask),
        (write("/srv/a", &json!({"trusted": false, "sandbox": {"writable": ["/"]}})), Ask),
        (
            bash(
                "rm -rf build",
                &json!({"trusted": false, "immune": "breaker", "session": {"allow": ["Bash"]}}),
            ),
            Ask,
        ),
    ] {
        let answer = answer(&line).unwrap();
        assert_eq!(answer.decision, decision, "{line}");
    }
    let answer = answer(&bash("make", &json!({"trusted": false, "rules": {"allow": ["Bash"]}}))).unwrap();
    assert!(answer.warnings.iter().any(|warning| warning.contains("`allow Bash` does not count")));
}

#[test]
fn what_cannot_be_meant_is_an_error_of_the_line() {
    let call = |fields: Value| bash("ls", &fields).to_string();
    for (line, part) in [
        (String::new(), "the line is no call"),
        ("[]".to_owned(), "the line is no call"),
        (r#"{"tool":"Read","input":{}} x"#.to_owned(), "the line is no call"),
        (r#"{"tool":"Read"}"#.to_owned(), "`input` is missing"),
        (r#"{"input":{}}"#.to_owned(), "`tool` is missing"),
        (r#"{"tool":7,"input":{}}"#.to_owned(), "something else than the name"),
        (r#"{"tool":"Read","input":{},"tool":"Write"}"#.to_owned(), "`tool` stands here twice"),
        (
            r#"{"tool":"Read","input":{},"mode":"auto","mode":"default"}"#.to_owned(),
            "`mode` stands here twice",
        ),
        (call(json!({"rule": {}})), "no field `rule`; did you mean `rules`?"),
        (call(json!({"rules": {"alow": []}})), "no field `alow` in `rules`; did you mean `allow`?"),
        (call(json!({"scope": {"root_dir": "/a"}})), "did you mean `root`?"),
        (call(json!({"rules": {"deny": "Bash"}})), "`rules.deny` is not a list of texts"),
        (call(json!({"mode": "DEFAULT"})), "did you mean `default`?"),
        (call(json!({"mode": "explore"})), "a mode of subagents only"),
        (call(json!({"agent_def": {"mode": "yolo"}})), "`agent_def.mode`"),
        (call(json!({"bash": "always"})), "`bash`: `always` is none of"),
        (call(json!({"immune": "none"})), "`immune`"),
        (call(json!({"always_ask": "none"})), "`always_ask`"),
        (
            call(json!({"immune": "medium", "always_ask": "medium"})),
            "`immune` is the former name of `always_ask`",
        ),
        (call(json!({"sandbox": {"mode": "loose"}})), "`sandbox.mode`"),
        (call(json!({"cwd": "proj"})), "`cwd` is not an absolute path"),
        (call(json!({"headless": "yes"})), "`headless` is not true or false"),
        (call(json!({"scope": {"root": "/a", "display_root": "/b"}})), "does not lie inside"),
        (call(json!({"project_root": "/etc/hosts"})), "is not a folder"),
        (call(json!({"tools": {"terminl": {}}})), "did you mean `terminal`?"),
    ] {
        let bad = desk().answer(line.as_bytes()).unwrap_err().to_string();
        assert!(bad.contains(part), "{line}: {bad}");
    }
}

#[test]
fn an_answer_says_who_decided_and_what_is_touched() {
    let line = with(
        bash("git push --force && curl -o out https://a.b/c", &json!({"rules": {"deny": ["Bash(curl *)"]}})),
        &json!({"id": {"any": ["value", 1]}}),
    );
    let told = serde_json::to_value(answer(&line).unwrap()).unwrap();
    assert_eq!(told["id"], json!({"any": ["value", 1]}));
    assert_eq!((&told["rule"], &told["source"]), (&json!("Bash(curl *)"), &json!("call")));
    assert_eq!(told["claims"]["commands"], json!(["git push --force", "curl -o out https://a.b/c"]));
    assert_eq!(told["claims"]["writes"], json!([format!("{PROJECT}/out")]));
    assert_eq!(told["claims"]["hosts"][0], "a.b");
    assert_eq!(told["refusal"]["error"], "Denied");

    let told = serde_json::to_value(answer(&bash("git push --force", &json!({}))).unwrap()).unwrap();
    assert_eq!((&told["step"], &told["safeguard"]), (&json!("safeguard"), &json!("force-push")));
    let keys: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    let stable = ["id", "decision", "step", "reason", "rule", "source", "safeguard", "refusal", "claims"];
    assert_eq!(keys, stable);
}

#[test]
fn a_trace_has_every_step_up_to_the_one_that_decided() {
    let answer = answer(&bash("ls && make", &json!({"rules": {"allow": ["Bash(ls)"]}}))).unwrap();
    let trace = answer.trace();
    let of = |part: &str| trace.iter().find(|trace| trace.part.part == part).unwrap();
    let ls = of("`ls`");
    assert_eq!(
        (ls.part.step, ls.part.rule.as_deref(), ls.part.decides),
        ("allow-rule", Some("Bash(ls)"), false)
    );
    assert_eq!(
        ls.no_opinion,
        [
            "deny-rule",
            "unresolved",
            "hook-deny",
            "safeguard",
            "doubt",
            "hook-ask",
            "bypass-mode",
            "session-grant",
            "ask-rule"
        ]
    );
    let make = of("`make`");
    assert!(make.part.decides);
    assert_eq!(make.no_opinion.last(), Some(&"hook-allow"));
    assert!(answer.change().contains("Bash(make)"));
}

#[test]
fn a_desk_sees_what_changes_between_two_lines() {
    let bed = tempfile::tempdir().unwrap();
    let top = bed.path().canonicalize().unwrap();
    let (project, outside) = (top.join("proj"), top.join("outside"));
    std::fs::create_dir(&outside).unwrap();
    let line = write("sub/x", &json!({"cwd": project, "mode": "acceptEdits"})).to_string();
    let mut desk = desk();
    let mut decide = || desk.answer(line.as_bytes()).unwrap().decision;
    assert_eq!(decide(), Decision::Allow, "a folder that is not there");
    std::fs::create_dir(&project).unwrap();
    std::os::unix::fs::symlink(&outside, project.join("sub")).unwrap();
    assert_eq!(decide(), Decision::Deny, "it appeared, with a link that leads out");
    std::fs::rename(&project, top.join("moved")).unwrap();
    std::fs::create_dir(&project).unwrap();
    assert_eq!(decide(), Decision::Allow, "another took its place");
}

fn layered(layer: Layer, text: &Value, trusted: bool) -> Layered {
    let settings = Settings::parse(text.to_string().as_bytes(), layer, &"f.json".into()).unwrap();
    Layered { settings, trusted }
}

#[test]
fn settings_stand_behind_a_line() {
    let backed = |layers: Vec<Layered>, line: &Value| {
        let backing = move |project: &Path| {
            assert_eq!(project, Path::new(PROJECT));
            Ok(layers.clone())
        };
        desk().backed_by(Box::new(backing)).answer(line.to_string().as_bytes()).unwrap()
    };
    let user = |permissions: Value| layered(Layer::User, &json!({"permissions": permissions}), true);
    let managed = |permissions: Value| layered(Layer::Managed, &json!({"permissions": permissions}), true);
    let allowed = user(json!({"allow": ["Bash(make)"]}));
    let answer = backed(vec![allowed.clone()], &bash("make", &json!({})));
    assert_eq!((answer.decision, answer.source.as_deref()), (Decision::Allow, Some("user f.json:1:26")));
    // A line is as strong as a flag.
    let answer =
        backed(vec![user(json!({"defaultMode": "acceptEdits"}))], &write("a", &json!({"mode": "default"})));
    assert_eq!(answer.decision, Decision::Ask);
    let bypass = bash("make", &json!({"mode": "bypassPermissions"}));
    let answer = backed(vec![managed(json!({"disableBypassPermissionsMode": true}))], &bypass);
    assert_eq!(answer.decision, Decision::Ask);
    // Nobody inherits allow rules.
    let answer = backed(vec![allowed], &bash("make", &json!({"agent": "w"})));
    assert_eq!(answer.decision, Decision::Deny);
}

#[test]
fn home_is_where_the_line_says() {
    let tools = json!({"terminal": {"allowed_paths": ["~/proj"]}});
    for command in ["cat ~/proj/a", "cat ${HOME}/proj/a", "cat $HOME/proj/a"] {
        let line = bash(
            command,
            &json!({"home": "/no-such-folder/v", "tools": tools, "rules": {"allow": ["Bash"]}}),
        );
        let variables = [("HOME".to_owned(), "/root".to_owned())].into();
        let answer = desk().with_variables(variables).answer(line.to_string().as_bytes()).unwrap();
        assert_eq!(answer.decision, Decision::Allow, "{command}: {}", answer.reason);
    }
}

#[test]
fn settings_that_cannot_be_used_answer_no_line() {
    let mut desk = desk().backed_by(Box::new(|_| Err("it is broken".to_owned())));
    let bad = desk.answer(read("a", &json!({})).to_string().as_bytes()).unwrap_err();
    assert_eq!(bad.to_string(), "it is broken");
}

/// What is answered about a call is what is decided when it is made.
#[test]
fn a_line_and_a_session_decide_alike() {
    let bed = tempfile::tempdir().unwrap();
    let top = bed.path().canonicalize().unwrap();
    let (project, home) = (top.join("proj"), top.join("home"));
    for folder in [&project.join("src"), &home.join(".ssh"), &top.join("outside")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::os::unix::fs::symlink(top.join("outside"), project.join("link")).unwrap();
    std::fs::write(project.join("a"), "x").unwrap();
    std::fs::hard_link(project.join("a"), project.join("b")).unwrap();
    let rules = json!({"allow": ["Write", "Read(~/.ssh/known_hosts)"], "ask": ["Edit(./src/**)"], "deny": ["Read(**/.env)"]});
    let settings = layered(Layer::User, &json!({"permissions": rules}), true);
    let plan = Plan::for_folder(&project).with_home(home.clone());
    let situation = Situation { project: project.clone(), ..Situation::default() };
    let plan = plan.with_settings(&Ambient::claim(), &merge(&[settings]), &situation).unwrap();
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap();
    let mut desk = CheckService::new(Ambient::claim(), project).with_home(Some(home));
    let mut decisions = HashSet::new();
    for tool in ["Read", "Write", "Edit", "Delete", "LS", "MakeDir"] {
        for path in [
            "a",
            "b",
            "new/x",
            "src/a",
            "link/x",
            "../x",
            "/etc/hosts",
            "/srv/x",
            "~/.ssh/id_rsa",
            "~/.bashrc",
            ".env",
            ".git/config",
            ".",
        ] {
            let input = json!({"path": path});
            let line = json!({"tool": tool, "input": input, "rules": rules});
            let answered = desk.answer(line.to_string().as_bytes()).unwrap().decision;
            let considered = session.check(&RawCall::new(tool, input)).unwrap().verdict.decision;
            assert_eq!(answered, considered, "{tool} {path}");
            decisions.insert(answered.as_str());
        }
    }
    assert_eq!(decisions.len(), 3, "all three were seen");
}

/// A look that finds `found` in the first folder, and counts how often it was made.
#[derive(Debug, Default)]
struct CountedSearch(AtomicUsize);

impl GuardSearch for CountedSearch {
    fn search(&self, area: &GuardSearchArea<'_>) -> Guards {
        self.0.fetch_add(1, Ordering::Relaxed);
        let found = area.folders.first().unwrap().join("found");
        area.guards.clone().with_run(&found, "something leads there")
    }
}

#[test]
fn guarded_places_are_looked_for_when_a_line_would_write_and_anew_for_the_next_burst() {
    let tree = TempTree::new().with_dirs(["proj"]);
    let project = tree.path("proj").canonicalize().unwrap();
    let search = Arc::new(CountedSearch::default());
    let made = || search.0.load(Ordering::Relaxed);
    let mut desk = CheckService::new(Ambient::claim(), project).with_guard_search(search.clone());
    let edits = json!({"mode": "acceptEdits"});
    let line = |call: Value| call.to_string();
    let first = line(read("found", &edits));
    assert_eq!(desk.answer(first.as_bytes()).unwrap().decision, Decision::Allow);
    assert_eq!(made(), 0, "a read needs no look");
    let found = line(write("found", &edits));
    assert_eq!(desk.answer_with_last(found.as_bytes()).unwrap().decision, Decision::Ask);
    let other = line(write("other", &edits));
    assert_eq!(desk.answer_with_last(other.as_bytes()).unwrap().decision, Decision::Allow);
    assert_eq!(made(), 1, "one look for lines that come together");
    assert_eq!(desk.answer(other.as_bytes()).unwrap().decision, Decision::Allow);
    assert_eq!(made(), 2, "what was there may have changed since");
}
