//! Folders that are no project: whichever way in, a home, what lies above it and what holds programs are not granted.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::fs;
use std::process::{Command, Output};
use std::thread;

use pinfold_testkit::TempTree;
use pinfold_testkit::output::{both, run_with_input};
use serde_json::{Value, json};

use crate::kit::Bed;

/// A home with a project, a place for programs and a link to itself in it.
fn bed() -> Bed {
    let tree =
        TempTree::visible_inside().with_dirs(["p/.git", "tools/bin"].map(|dir| format!("homes/ana/{dir}")));
    tree.make_dir("homes/ana/.config/pinfold");
    tree.make_dir("homes/ana/p/.venv/bin");
    tree.write("homes/ana/p/.venv/pyvenv.cfg", "");
    tree.link("homes/ana/p/up", "..");
    tree.link("homes/ana/p/root", "/");
    Bed::in_tree(tree, "homes/ana", "homes/ana/p")
}

impl Bed {
    fn command_in(&self, here: &str, args: &[&str]) -> Command {
        let mut command = self.command();
        let programs = [self.at("tools/bin"), self.at("p/.venv/bin")].map(|at| at.display().to_string());
        let path = format!("/usr/bin:/bin:{}", programs.join(":"));
        command.args(args).current_dir(self.tree.path(here)).env("PATH", path);
        command
    }
}

/// Where a command is started, and the options with which it names another folder.
const NO_PROJECTS: [(&str, &[&str]); 9] = [
    ("homes/ana", &[]),
    ("homes", &[]),
    ("/", &[]),
    ("homes/ana/tools", &[]),
    ("homes/ana/p", &["--folder", ".."]),
    ("homes/ana/p", &["--folder", "up"]),
    ("homes/ana/p", &["--folder", "root"]),
    ("homes/ana/p", &["--folder", "//proc/self/root/"]),
    ("homes/ana/p", &["--add-dir", "up"]),
];

/// A session of the Model Context Protocol with one call.
fn mcp(tool: &str, input: &Value) -> String {
    let shake = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": input}});
    format!("{shake}\n{told}\n{call}\n")
}

#[test]
fn no_way_in_grants_a_folder_that_is_no_project() {
    let write = json!({"file_path": "made.txt", "content": "x"});
    let line = json!({"tool": "Write", "input": write}).to_string();
    let session = mcp("Write", &write);
    let ways: [(&[&str], &[&str], &str); 5] = [
        (&["run", "--ask", "nobody", "--no-record", "--allow-degraded"], &["--", "touch", "made.txt"], ""),
        (&["call", "--no-record"], &["Write", r#"{"file_path":"made.txt","content":"x"}"#], ""),
        (&["call", "--no-record", "--lines"], &[], &line),
        (&["mcp", "serve", "--no-record"], &[], &session),
        (
            &["mcp", "proxy", "--no-record", "--name", "m", "--allow-degraded"],
            &["--", "sh", "-c", "cat > made.txt"],
            &session,
        ),
    ];
    let try_way = |(way, rest, input): (&[&str], &[&str], &str)| {
        let bed = bed();
        for (here, options) in NO_PROJECTS {
            let output = run_with_input(&mut bed.command_in(here, &[way, options, rest].concat()), input);
            let told = both(&output);
            assert!(told.contains("is not a folder to work in"), "{way:?} {here} {options:?}\n{told}");
            let made =
                ["homes/ana/made.txt", "homes/made.txt", "homes/ana/tools/made.txt", "homes/ana/p/made.txt"];
            assert!(made.iter().all(|made| !bed.tree.path(made).exists()), "{way:?} {here} {options:?}");
        }
        // The control: a project, with its own programs on the PATH.
        let output = run_with_input(&mut bed.command_in("homes/ana/p", &[way, rest].concat()), input);
        assert!(!both(&output).contains("is not a folder"), "{way:?}\n{}", both(&output));
    };
    thread::scope(|scope| {
        for way in ways {
            scope.spawn(move || try_way(way));
        }
    });
}

#[test]
fn a_home_is_granted_once_it_is_said_twice_and_the_root_never() {
    let bed = bed();
    let call = |options: &[&str]| {
        let input = r#"{"file_path":"made.txt","content":"x"}"#;
        run_with_input(
            &mut bed
                .command_in("homes/ana", &[&["call", "--no-record"], options, &["Write", input]].concat()),
            "",
        )
    };
    assert_eq!(call(&["--folder", ".", "--allow-home"]).status.code(), Some(0));
    assert!(bed.tree.path("homes/ana/made.txt").exists());
    for options in [&["--folder", "."][..], &["--allow-home"], &["--folder", "/", "--allow-home"]] {
        assert_eq!(call(options).status.code(), Some(2), "{options:?}");
    }
}

/// What a hook says: its decision, or what it says instead.
fn decision(agent: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let said: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let word = match agent {
        "claude" | "qwen" | "codex" | "opencode" | "pi" => &said["hookSpecificOutput"]["permissionDecision"],
        "gemini" | "hermes" => &said["decision"],
        "cursor" => &said["permission"],
        _ => &said["permissionDecision"],
    };
    let silence = if output.status.code() == Some(0) { "silence" } else { "deny" };
    word.as_str().unwrap_or(silence).to_owned()
}

fn asked(bed: &Bed, agent: &str, here: &str, tool: &str, input: &Value, args: &[&str]) -> Output {
    let at = bed.tree.path(here);
    // A session of its own for each place.
    let session = format!("s{}{}", here.replace('/', "-"), args.len());
    let event = |name: &str| {
        json!({"session_id": session, "conversation_id": session, "cwd": at, "hook_event_name": name, "tool_name": tool,
               "tool_input": input, "tool_use_id": "t"})
    };
    let hook = |payload: &Value| {
        let mut command = bed.command_in(here, &[&["hook", agent, "--no-record"], args].concat());
        for name in ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "COPILOT_PROJECT_DIR", "CURSOR_PROJECT_DIR"]
        {
            command.env(name, &at);
        }
        run_with_input(&mut command, &payload.to_string())
    };
    if agent == "codex" {
        hook(&event("SessionStart"));
    }
    let before = match agent {
        "gemini" => "BeforeTool",
        "hermes" => "pre_tool_call",
        "cursor" => "preToolUse",
        _ => "PreToolUse",
    };
    hook(&event(before))
}

#[test]
fn a_hook_never_allows_where_its_agent_was_started_in_no_project() {
    for (agent, write, read, path, wants, reads) in [
        ("claude", "Write", "Read", "file_path", "ask", "silence"),
        ("qwen", "write_file", "read_file", "file_path", "ask", "silence"),
        ("gemini", "write_file", "read_file", "file_path", "deny", "silence"),
        ("codex", "apply_patch", "view_image", "path", "deny", "silence"),
        ("hermes", "write_file", "read_file", "path", "block", "silence"),
        ("opencode", "write", "read", "filePath", "deny", "allow"),
        ("pi", "write", "read", "path", "deny", "allow"),
        ("cursor", "Write", "Read", "file_path", "deny", "silence"),
    ] {
        let bed = bed();
        fs::write(bed.tree.path("homes/ana/notes.txt"), "x").unwrap();
        for (here, inside) in [
            ("homes/ana", "homes/ana"),
            ("/", "homes/ana"),
            ("homes", "homes/ana"),
            ("homes/ana/tools", "homes/ana/tools"),
        ] {
            let place = bed.tree.path(inside).join("made.txt");
            let input = if agent == "codex" {
                json!({"command": format!("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch\n", place.display())})
            } else {
                json!({path: place, "content": "x"})
            };
            let output = asked(&bed, agent, here, write, &input, &[]);
            assert_eq!(decision(agent, &output), wants, "{agent} {here} {}", both(&output));
            assert!(both(&output).contains("is not a folder to work in"), "{agent} {here} {}", both(&output));
            if agent != "cursor" {
                let input = json!({path: bed.tree.path("homes/ana/notes.txt")});
                let output = asked(&bed, agent, here, read, &input, &[]);
                assert_eq!(decision(agent, &output), reads, "{agent} {here} {}", both(&output));
            }
        }
        // The control: a project.
        let input = if agent == "codex" {
            json!({"command": "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch\n"})
        } else {
            json!({path: "made.txt", "content": "x"})
        };
        let said = decision(agent, &asked(&bed, agent, "homes/ana/p", write, &input, &[]));
        assert!(matches!(said.as_str(), "allow" | "silence"), "{agent} {said}");
        // And a home that was said twice.
        let home = bed.tree.path("homes/ana").display().to_string();
        let twice = asked(&bed, agent, "homes/ana", write, &input, &["--folder", &home, "--allow-home"]);
        assert!(matches!(decision(agent, &twice).as_str(), "allow" | "silence"), "{agent} {}", both(&twice));
    }
}

#[test]
fn where_the_agent_works_later_does_not_move_the_folder_of_its_session() {
    let bed = bed();
    fs::create_dir_all(bed.tree.path("homes/ana/other")).unwrap();
    for (agent, tool, path, no) in [
        ("hermes", "write_file", "path", "block"),
        ("opencode", "write", "filePath", "deny"),
        ("pi", "write", "path", "deny"),
    ] {
        let name = if agent == "hermes" { "pre_tool_call" } else { "PreToolUse" };
        let write = |cwd: &str, session: &str| {
            let event = json!({"session_id": session, "cwd": bed.tree.path(cwd), "hook_event_name": name, "tool_name": tool,
                               "tool_input": {path: bed.tree.path("homes/ana/other/made.txt"), "content": "x"}, "tool_use_id": "t"});
            let output = run_with_input(
                &mut bed.command_in("homes/ana/p", &["hook", agent, "--no-record"]),
                &event.to_string(),
            );
            decision(agent, &output)
        };
        assert_eq!(write("homes/ana/p", "one"), no, "{agent}: outside");
        assert_eq!(write("homes/ana/other", "one"), no, "{agent}: the model has moved");
        assert_ne!(write("homes/ana/other", "two"), no, "{agent}: another session, which began there");
    }
}
