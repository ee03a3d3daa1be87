//! MCP servers that a repository declares: none of them is one that the person has allowed, whatever it is called.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use pinfold_testkit::output::both;
use serde_json::{Value, json};

use crate::kit::Bed;

/// An agent with a call of a server `m`, and the file in which a repository declares it.
struct Row {
    agent: &'static str,
    call: Value,
    file: &'static str,
    declares: &'static str,
}

fn rows() -> Vec<Row> {
    let usual = |event: &str, tool: &str| json!({"session_id": "s", "cwd": "CWD", "hook_event_name": event, "tool_name": tool, "tool_input": {}});
    let servers = r#"{"mcpServers": {"NAME": {"command": "COMMAND"}}}"#;
    let mut of_gemini = usual("BeforeTool", "mcp_m_go");
    of_gemini["mcp_context"] = json!({"server_name": "m", "tool_name": "go"});
    let of_copilot =
        json!({"sessionId": "s", "timestamp": 1, "cwd": "CWD", "toolName": "m-go", "toolArgs": "{}"});
    let of_cursor = json!({"conversation_id": "s", "hook_event_name": "beforeMCPExecution", "tool_name": "go", "tool_input": "{}", "command": "x", "workspace_roots": ["CWD"]});
    let row = |agent, call, file, declares| Row { agent, call, file, declares };
    vec![
        row("claude", usual("PreToolUse", "mcp__m__go"), ".mcp.json", servers),
        row(
            "codex",
            usual("PreToolUse", "mcp__m__go"),
            ".codex/config.toml",
            "[mcp_servers.NAME]\ncommand = 'COMMAND'",
        ),
        row("gemini", of_gemini, ".gemini/settings.json", servers),
        row("qwen", usual("PreToolUse", "mcp__m__go"), ".qwen/settings.json", servers),
        row("copilot", of_copilot.clone(), ".mcp.json", servers),
        row("copilot", of_copilot, ".github/mcp.json", servers),
        row(
            "opencode",
            usual("PreToolUse", "m_go"),
            "opencode.json",
            r#"{"mcp": {"NAME": {"command": ["COMMAND"]}}}"#,
        ),
        row("cursor", of_cursor, ".cursor/mcp.json", servers),
    ]
}

/// Everything that could be the person's own server, by every name that an agent gives its tool.
const SETTINGS: &str = r#"{"permissions": {"allow": ["mcp__m", "mcp__cursor", "m-go", "m_go"]}}"#;

fn bed() -> Bed {
    let bed = Bed::new();
    bed.put(".config/pinfold/settings.json", SETTINGS);
    bed
}

/// Whether the hook lets the call run without a question.
fn runs(bed: &Bed, row: &Row, args: &[&str]) -> bool {
    let said = |event: &Value| {
        let event = event.to_string().replace("CWD", bed.project.to_str().unwrap());
        let mut command = bed.command();
        for name in [
            "CLAUDE_PROJECT_DIR",
            "GEMINI_PROJECT_DIR",
            "QWEN_PROJECT_DIR",
            "COPILOT_PROJECT_DIR",
            "CURSOR_PROJECT_DIR",
        ] {
            command.env(name, &bed.project);
        }
        command
            .args(["hook", row.agent])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    if row.agent == "codex" {
        said(&json!({"session_id": "s", "cwd": "CWD", "hook_event_name": "SessionStart"}));
    }
    let output = said(&row.call);
    let told = both(&output);
    output.status.success() && !["deny", "ask", "block"].iter().any(|no| told.contains(&format!("\"{no}\"")))
}

fn declare(bed: &Bed, row: &Row, name: &str, command: &str) {
    let text = row.declares.replace("NAME", name).replace("COMMAND", command);
    bed.put(&format!("proj/{}", row.file), &text);
}

#[test]
fn a_server_of_a_repository_is_none_that_the_person_allowed() {
    for row in rows() {
        let (bed, what) = (bed(), format!("{} {}", row.agent, row.file));
        assert!(runs(&bed, &row, &[]), "{what}: the person's own");
        declare(&bed, &row, "m", "evil");
        assert!(!runs(&bed, &row, &[]), "{what}: the repository's");
        assert!(
            !runs(&bed, &row, &["--no-settings", "--allowedTools", "mcp__m,mcp__cursor,m-go,m_go"]),
            "{what}: without settings"
        );
        // Shown with its command, and trusted as it is.
        let shown = bed.said(&["trust", "--yes"]);
        assert!(
            shown.contains(row.file) && shown.contains("`m`") && shown.contains("evil"),
            "{what}: {shown}"
        );
        assert!(runs(&bed, &row, &[]), "{what}: trusted");
        declare(&bed, &row, "m", "other");
        assert!(!runs(&bed, &row, &[]), "{what}: another command");
        bed.put(&format!("proj/{}", row.file), "{[ nothing");
        assert!(!runs(&bed, &row, &[]), "{what}: not understood");
        fs::remove_file(bed.project.join(row.file)).unwrap();
        assert!(runs(&bed, &row, &[]), "{what}: gone");
    }
}

#[test]
fn a_name_that_begins_like_one_of_the_persons_is_none_of_them() {
    let row = &rows()[0];
    let bed = bed();
    declare(&bed, row, "m__evil", "evil");
    let call = |tool: &str| Row {
        call: {
            let mut call = row.call.clone();
            call["tool_name"] = tool.into();
            call
        },
        ..rows().remove(0)
    };
    assert!(!runs(&bed, &call("mcp__m__evil__exec"), &[]), "the rule `mcp__m` covers it");
    assert!(runs(&bed, &call("mcp__m__go"), &[]));
    declare(&bed, row, "other", "x");
    assert!(runs(&bed, row, &[]), "a server of another name");
}

#[test]
fn a_server_above_the_folder_of_the_agent_is_the_repositorys_too() {
    let row = &rows()[0];
    let mut bed = bed();
    declare(&bed, row, "m", "evil");
    fs::create_dir_all(bed.project.join("a/b")).unwrap();
    bed.project = bed.project.join("a/b");
    assert!(!runs(&bed, row, &[]));
    bed.said(&["trust", "--yes"]);
    assert!(runs(&bed, row, &[]));
}
