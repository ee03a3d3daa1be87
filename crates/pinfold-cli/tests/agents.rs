//! `pinfold hook`: what each agent is answered, and that whatever goes wrong is a no in its own form.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use pinfold_testkit::TempTree;
use pinfold_testkit::output::run_with_input;
use serde_json::{Value, json};

use crate::kit::Bed;

/// A home, and a project with a folder to work in and one beside it.
fn bed() -> Bed {
    let tree = TempTree::visible_inside().with_dirs(["project/.pinfold", "project/ws/sub", "project/out"]);
    Bed::in_tree(tree, "home", "project/ws")
}

impl Bed {
    fn filled(&self, text: &str) -> String {
        let place = |name: &str| self.tree.path(name).display().to_string();
        text.replace("${WS}", &place("project/ws")).replace("${OUT}", &place("project/out"))
    }

    /// Pinfold, as an agent starts it.
    fn started_by_agent(&self, args: &[&str]) -> Command {
        let mut command = self.command();
        command.args(args);
        // What agents tell their hooks.
        for name in ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "COPILOT_PROJECT_DIR", "CURSOR_PROJECT_DIR"]
        {
            command.env(name, &self.project);
        }
        command
    }

    fn hook(&self, agent: &str, args: &[&str], payload: &str) -> Output {
        if agent == "codex" {
            let begins = json!({"session_id": "s", "cwd": self.project, "hook_event_name": "SessionStart"});
            run_with_input(&mut self.started_by_agent(&["hook", "codex"]), &begins.to_string());
        }
        run_with_input(&mut self.started_by_agent(&[&["hook", agent], args].concat()), payload)
    }

    fn recorded(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.record().join("record.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Whether an answer is what was expected; `~` before a text means that it is somewhere in it.
fn fits(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            found.len() == expected.len()
                && expected
                    .iter()
                    .all(|(name, value)| found.get(name).is_some_and(|found| fits(found, value)))
        }
        (Value::String(found), Value::String(expected)) => match expected.strip_prefix('~') {
            Some(part) => found.contains(part),
            None => found == expected,
        },
        (found, expected) => found == expected,
    }
}

#[test]
fn each_agent_is_answered_in_the_words_that_it_honours() {
    let cases: Vec<Value> =
        include_str!("agents/cases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut wrong = Vec::new();
    for case in &cases {
        let bed = bed();
        match &case["settings"] {
            Value::Null => {}
            Value::String(text) => bed.put_settings(text),
            settings => bed.put_settings(&settings.to_string()),
        }
        let args = case["args"].as_array().cloned().unwrap_or_default();
        let args: Vec<String> = args.iter().map(|arg| bed.filled(arg.as_str().unwrap())).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let agent = case["agent"].as_str().unwrap();
        let output = bed.hook(agent, &args, &bed.filled(&case["payload"].to_string()));
        let expect: Value = serde_json::from_str(&bed.filled(&case["expect"].to_string())).unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let found: Value = if out.is_empty() { Value::Null } else { serde_json::from_str(&out).unwrap() };
        let code = output.status.code().map(i64::from);
        let says = err.contains(expect["stderr"].as_str().unwrap_or(""));
        if !fits(&found, &expect["stdout"]) || code != expect["exit"].as_i64() || !says {
            wrong.push(format!("{}\n{code:?} {out}{err}", case["about"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The deed of the agent counts: the folder that a call chooses, a search that leaves nothing out, a path that it reads its own way.
#[test]
fn a_call_is_judged_as_the_agent_carries_it_out() {
    let bed = bed();
    bed.tree.write("home/.ssh/id_rsa", "KEY");
    bed.tree.write("project/ws/plain/a", "");
    for part in ["HEAD", "config", "objects/x", "refs/x"] {
        bed.tree.write(format!("project/ws/sub/{part}"), "[core]\n\tfsmonitor = touch x\n");
    }
    let home = bed.tree.path("home").display().to_string();
    let decision = |tool: &str, input: &Value| {
        let payload = json!({"session_id": "s", "cwd": "${WS}", "hook_event_name": "PreToolUse", "tool_name": tool,
                             "tool_input": input, "tool_use_id": "t", "client": "opencode"});
        let output = bed.hook("opencode", &[], &bed.filled(&payload.to_string().replace("${HOME}", &home)));
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        said["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or_default().to_owned()
    };
    let git = |workdir: &str| json!({"command": "git status", "description": "d", "workdir": workdir});
    let search = |path: &str| json!({"pattern": "KEY", "path": path});
    let read = |path: &str| json!({"filePath": path});
    let write = |path: &str| json!({"filePath": path, "content": "x"});
    for (tool, input, expected) in [
        ("bash", git("${WS}"), "allow"),
        ("bash", git("plain"), "allow"),
        ("bash", git("sub"), "deny"),
        ("bash", git("${WS}/sub"), "deny"),
        ("bash", git("${OUT}"), "deny"),
        ("grep", search("${WS}"), "allow"),
        ("grep", search("${HOME}"), "deny"),
        ("read", read("${WS}/plain/a"), "allow"),
        ("read", read("@${HOME}/.ssh/id_rsa"), "deny"),
        ("write", write("${WS}/new"), "allow"),
        ("write", write("${WS}/.envrc "), "deny"),
        ("write", write("@.envrc"), "deny"),
        ("write", write("\u{a0}x"), "deny"),
    ] {
        assert_eq!(decision(tool, &input), expected, "{tool} {input}");
    }
}

fn claude(event: &str, tool: &str, input: &Value) -> Value {
    json!({"session_id": "abc", "cwd": "${WS}", "hook_event_name": event, "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_1"})
}

#[test]
fn a_call_is_recorded_before_and_after_under_one_number() {
    let bed = bed();
    let input = json!({"file_path": "a.txt", "content": "x"});
    let before = claude("PreToolUse", "Write", &input).to_string();
    let mut after = claude("PostToolUse", "Write", &input);
    (after["tool_response"], after["duration_ms"]) = (json!({"type": "create"}), json!(23));
    assert_eq!(bed.hook("claude", &[], &bed.filled(&before)).status.code(), Some(0));
    let one = bed.recorded();
    assert_eq!(one.len(), 1, "nothing is abandoned: {one:?}");
    assert_eq!(bed.hook("claude", &[], &bed.filled(&after.to_string())).status.code(), Some(0));
    let both = bed.recorded();
    assert_eq!(both.len(), 2);
    assert_eq!((&both[0]["session"], &both[0]["id"]), (&both[1]["session"], &both[1]["id"]));
    assert_eq!((&both[0]["session"], &both[0]["kind"]), (&json!("claude-abc"), &json!("decision")));
    assert_eq!((&both[1]["kind"], &both[1]["end"]), (&json!("outcome"), &json!("done")));
    assert!(both[1]["ms"].as_u64().unwrap() >= 23, "{}", both[1]);
}

/// Which agent began, and where, stands in the record before its calls, and that it ended behind them.
#[test]
fn a_session_is_recorded_from_its_beginning_to_its_end() {
    for (agent, event, end) in [
        (
            "claude",
            json!({"session_id": "s", "cwd": "${WS}", "hook_event_name": "SessionStart", "source": "startup"}),
            json!({"session_id": "s", "cwd": "${WS}", "hook_event_name": "SessionEnd", "reason": "why"}),
        ),
        (
            "codex",
            json!({"session_id": "s", "cwd": "${WS}", "hook_event_name": "SessionStart"}),
            json!({"session_id": "s", "cwd": "${WS}", "hook_event_name": "SessionEnd", "reason": "why"}),
        ),
        (
            "gemini",
            json!({"session_id": "s", "cwd": "${WS}", "hook_event_name": "SessionStart", "source": "startup"}),
            json!({"session_id": "s", "cwd": "${WS}", "hook_event_name": "SessionEnd", "reason": "why"}),
        ),
        (
            "copilot",
            json!({"sessionId": "s", "cwd": "${WS}", "source": "new"}),
            json!({"sessionId": "s", "cwd": "${WS}", "reason": "why"}),
        ),
        (
            "cursor",
            json!({"conversation_id": "s", "workspace_roots": ["${WS}"], "hook_event_name": "sessionStart"}),
            json!({"conversation_id": "s", "workspace_roots": ["${WS}"], "hook_event_name": "sessionEnd", "reason": "why"}),
        ),
    ] {
        let bed = bed();
        let output =
            run_with_input(&mut bed.started_by_agent(&["hook", agent]), &bed.filled(&event.to_string()));
        assert_eq!(output.status.code(), Some(0), "{agent}: {}", String::from_utf8_lossy(&output.stderr));
        let log = bed.recorded();
        assert_eq!(log.len(), 1, "{agent}: {log:?}");
        let told =
            ["kind", "session", "program", "tier"].map(|field| log[0][field].as_str().unwrap().to_owned());
        assert_eq!(told, ["start", &format!("{agent}-s"), agent, "none"]);
        assert_eq!(log[0]["folder"], json!(bed.tree.path("project/ws")));
        let listed = bed.started_by_agent(&["log", "--all"]).output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stdout).contains(&format!("start    {agent}")));
        let output =
            run_with_input(&mut bed.started_by_agent(&["hook", agent]), &bed.filled(&end.to_string()));
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"{}\n"[..]), "{agent}: {output:?}");
        let log = bed.recorded();
        assert_eq!(log.len(), 2, "{agent}: {log:?}");
        let told =
            ["kind", "session", "end", "reason"].map(|field| log[1][field].as_str().unwrap().to_owned());
        assert_eq!(told, ["end", &format!("{agent}-s"), "closed", "why"]);
        let listed = bed.started_by_agent(&["log", "--all"]).output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stdout).contains("end      closed: why"));
        assert!(bed.started_by_agent(&["log", "verify"]).output().unwrap().status.success());
    }
}

/// Many agents, or one with many calls at once: each is answered, and the record is whole.
#[test]
fn a_flood_is_answered_and_the_record_holds() {
    let bed = bed();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let bed = &bed;
                scope.spawn(move || {
                    (0..8).all(|m| {
                        let mut write = claude(
                            "PreToolUse",
                            "Write",
                            &json!({"file_path": format!("{n}-{m}"), "content": "x"}),
                        );
                        write["tool_use_id"] = json!(format!("{n}-{m}"));
                        let said = bed.filled(&write.to_string());
                        let output = bed.hook("claude", &["--allowedTools", "Write"], &said);
                        String::from_utf8_lossy(&output.stdout).contains("\"allow\"")
                    })
                })
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
    assert_eq!(bed.recorded().len(), 64);
    let verified = bed.started_by_agent(&["log", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// An agent that stops in the middle of what it says is answered in time, and so is one that was killed there.
#[test]
fn what_ends_half_way_is_a_no() {
    for (agent, on_stdout) in CLOSED {
        let bed = bed();
        let whole = payload(&bed, agent);
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            let output = bed.hook(agent, &[], &whole[..cut]);
            is_closed(agent, *on_stdout, &output, "nothing is allowed");
        }
        let mut hook = bed.started_by_agent(&["hook", agent, "--timeout", "1s"]);
        let mut child =
            hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut open = child.stdin.take().unwrap();
        open.write_all(&whole.as_bytes()[..1]).unwrap();
        let output = child.wait_with_output().unwrap();
        drop(open);
        is_closed(agent, *on_stdout, &output, "judging took longer than 1 s");
    }
}

#[test]
fn a_call_that_failed_is_recorded_as_failed() {
    let bed = bed();
    let mut failed = claude("PostToolUseFailure", "Bash", &json!({"command": "false"}));
    failed["error"] = json!("exit 1");
    assert_eq!(bed.hook("claude", &[], &bed.filled(&failed.to_string())).status.code(), Some(0));
    let log = bed.recorded();
    assert_eq!((&log[0]["end"], &log[0]["reason"]), (&json!("failed"), &json!("exit 1")));
}

/// Nothing is touched: the deed is the agent's.
#[test]
fn nothing_is_done_here() {
    let bed = bed();
    let write = claude("PreToolUse", "Write", &json!({"file_path": "new/a.txt", "content": "x"}));
    bed.hook("claude", &[], &bed.filled(&write.to_string()));
    let names: Vec<_> =
        fs::read_dir(bed.tree.path("project/ws")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["sub"]);
}

const CLOSED: &[(&str, bool)] = &[
    ("claude", false),
    ("codex", false),
    ("gemini", false),
    ("qwen", false),
    ("copilot", true),
    ("cursor", true),
    ("hermes", true),
    ("opencode", false),
    ("pi", false),
];

/// Each of them in the form in which that agent reads a no: on standard output, or with the code 2 and a reason.
fn is_closed(agent: &str, on_stdout: bool, output: &Output, says: &str) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if on_stdout {
        let said: Value = serde_json::from_str(&out).unwrap();
        let no = said["decision"] == "block"
            || [&said["permissionDecision"], &said["permission"]].contains(&&json!("deny"));
        assert!(no && out.contains(says), "{agent}: {out}{err}");
    } else {
        assert_eq!((output.status.code(), out.as_ref()), (Some(2), ""), "{agent}: {err}");
        assert!(err.contains(says), "{agent}: {err}");
    }
}

#[test]
fn without_a_record_nothing_is_allowed() {
    for (agent, on_stdout) in CLOSED {
        let bed = bed();
        fs::write(bed.tree.path("home/.local"), "no folder").unwrap();
        let payload = payload(&bed, agent);
        let folder = bed.tree.path("project/ws").display().to_string();
        let output = bed.hook(agent, &["--folder", &folder], &payload);
        is_closed(agent, *on_stdout, &output, "nothing can be recorded");
    }
}

#[test]
fn what_takes_too_long_is_a_no_in_time() {
    for (agent, on_stdout) in CLOSED {
        let bed = bed();
        bed.put_settings(
            &json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sleep 20"}]}]}})
                .to_string(),
        );
        let started = Instant::now();
        let output = bed.hook(agent, &["--timeout", "1s"], &payload(&bed, agent));
        assert!(started.elapsed() < Duration::from_secs(10));
        is_closed(agent, *on_stdout, &output, "judging took longer than 1 s");
    }
}

fn payload(bed: &Bed, agent: &str) -> String {
    let path = bed.tree.path("project/ws/a").display().to_string();
    let cwd = bed.tree.path("project/ws");
    let event = match agent {
        "copilot" => {
            let call = json!({"sessionId": "s", "cwd": cwd, "toolName": "view", "toolArgs": {"path": path}});
            return call.to_string();
        }
        "gemini" => "BeforeTool",
        "hermes" => "pre_tool_call",
        "cursor" => "preToolUse",
        _ => "PreToolUse",
    };
    json!({"session_id": "s", "cwd": cwd, "hook_event_name": event, "tool_name": "unknown", "tool_input": {}})
        .to_string()
}

/// A hook of ours that writes another input cannot be obeyed: the agent would carry out its own.
#[test]
fn a_hook_that_rewrites_is_a_no() {
    let bed = bed();
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"file_path": "b", "content": "x"}}});
    let command = format!("echo '{answer}'");
    bed.put_settings(
        &json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}).to_string(),
    );
    let write = claude("PreToolUse", "Write", &json!({"file_path": "a", "content": "x"}));
    let output = bed.hook("claude", &[], &bed.filled(&write.to_string()));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("\"permissionDecision\":\"deny\"") && said.contains("wrote another input"),
        "{said}"
    );
}

#[test]
fn an_answer_that_nobody_can_read_is_a_no() {
    let bed = bed();
    let mut command = bed.started_by_agent(&["hook", "claude"]);
    let full = fs::OpenOptions::new().write(true).open(Path::new("/dev/full")).unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let write = claude("PreToolUse", "Write", &json!({"file_path": "a", "content": "x"}));
    child.stdin.take().unwrap().write_all(bed.filled(&write.to_string()).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("nothing could be said"));
}

/// Whoever is reached at another terminal answers for an agent that cannot ask.
#[test]
fn an_agent_that_cannot_ask_is_answered_from_elsewhere() {
    let bed = bed();
    bed.put_settings(&json!({"approvals": {"socket": true}}).to_string());
    let call = json!({"session_id": "s", "cwd": "${WS}", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "make"}, "tool_use_id": "t"});
    let payload = bed.filled(&call.to_string());
    let begins =
        json!({"session_id": "s", "cwd": bed.tree.path("project/ws"), "hook_event_name": "SessionStart"});
    run_with_input(&mut bed.started_by_agent(&["hook", "codex"]), &begins.to_string());
    let mut hook = bed.started_by_agent(&["hook", "codex", "--timeout", "60s"]);
    let pipes = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut asking = pipes.spawn().unwrap();
    asking.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    let id = waiting(&bed);
    let approved = bed.started_by_agent(&["approve", &id, "--yes"]).stdin(Stdio::null()).output().unwrap();
    assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
    let output = asking.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "{}\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(bed.recorded().iter().any(|line| line["kind"] == "answer" && line["choice"] == "yes"));
}

/// The name of the question that waits.
fn waiting(bed: &Bed) -> String {
    for _ in 0..200 {
        let list = bed.started_by_agent(&["approvals", "--list", "--json"]).output().unwrap();
        let text = String::from_utf8(list.stdout).unwrap();
        if let Some(at) = text.find("codex-s:") {
            return text[at..].split('"').next().unwrap().to_owned();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nothing waits")
}

/// A model can name the folder that a command starts in; it does not become the one that was granted.
#[test]
fn the_folder_that_was_granted_is_not_chosen_by_a_model() {
    let bed = bed();
    for agent in ["claude", "codex", "gemini", "qwen", "copilot", "cursor"] {
        let (event, tool) = match agent {
            "gemini" => ("BeforeTool", "write_file"),
            "cursor" => ("preToolUse", "Write"),
            _ => ("PreToolUse", "Write"),
        };
        let (tool, input) = match agent {
            "codex" => {
                ("apply_patch", json!({"command": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"}))
            }
            "qwen" => ("write_file", json!({"file_path": "a", "content": "x"})),
            "copilot" => ("create", json!({"path": "a", "file_text": "x"})),
            _ => (tool, json!({"file_path": "a", "content": "x"})),
        };
        let call = json!({"session_id": "s", "cwd": bed.tree.path("project/out"), "hook_event_name": event, "tool_name": tool,
            "tool_input": input, "tool_use_id": "t"});
        let output = bed.hook(agent, &["--headless"], &call.to_string());
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("outside the folder") && said.contains("\"deny\""), "{agent}: {said}");
    }
}

/// Where it is not known which folder was granted, nothing is.
#[test]
fn without_a_folder_nothing_is_allowed() {
    let bed = bed();
    for agent in ["claude", "codex", "gemini", "qwen", "copilot", "cursor"] {
        let mut command = bed.started_by_agent(&["hook", agent]);
        for name in ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "COPILOT_PROJECT_DIR", "CURSOR_PROJECT_DIR"]
        {
            command.env_remove(name);
        }
        let output = run_with_input(&mut command, &payload(&bed, agent));
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && err.contains("folder"), "{agent}: {err}");
    }
}

/// One list, by either name.
#[test]
fn profiles_are_what_agents_are_given() {
    let bed = bed();
    let listed = |word: &str| bed.started_by_agent(&[word, "--json"]).output().unwrap().stdout;
    let profiles: Value = serde_json::from_slice(&listed("profiles")).unwrap();
    assert_eq!(listed("profiles"), listed("agents"));
    assert!(profiles.as_array().unwrap().iter().any(|profile| profile["name"] == "claude"));
}
