//! The commands about settings, as a person calls them.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::kit::Bed;

const SHARED: &str = ".pinfold/settings.json";
const LOCAL: &str = ".pinfold/settings.local.json";

impl Bed {
    fn says(&self, name: &str, text: &str) -> &Self {
        fs::write(self.project.join(name), text).unwrap();
        self
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.project.join(name)).unwrap()
    }

    /// How a command ends, and what it complains of.
    fn fails(&self, args: &[&str]) -> (i32, String) {
        let output = self.pinfold(args);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn listed(&self) -> Value {
        serde_json::from_str(&self.said(&["rules", "list", "--json"])).unwrap()
    }
}

#[test]
fn the_published_schema_is_the_one_that_is_printed() {
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.schema.json");
    let printed = Bed::new().said(&["schema"]);
    assert_eq!(printed, fs::read_to_string(published).unwrap(), "pinfold schema > docs/settings.schema.json");
}

#[test]
fn the_first_file_is_read_and_is_written_once() {
    let bed = Bed::new();
    let said = bed.said(&["init"]);
    assert!(said.contains(".gitignore"), "{said}");
    let text = bed.text(SHARED);
    assert!(text.contains("$schema") && text.contains("// "));
    assert!(bed.said(&["rules", "test"]).contains("1 of 1"), "what stands there is read");
    assert_eq!(bed.listed()["mode"]["source"], "built-in", "no choice that a person has not made");
    let (code, complaint) = bed.fails(&["init"]);
    assert!(code != 0 && complaint.contains("already"), "{complaint}");
    assert_eq!(bed.text(SHARED), text);
    bed.said(&["init", "--user"]);
    assert!(bed.home.join(".config/pinfold/settings.json").is_file());
}

#[test]
fn an_ignore_file_that_is_no_file_is_not_waited_for() {
    // The control: what is ignored is not proposed.
    for (ignores, is_proposed) in [("file", false), ("pipe", true), ("link to a pipe", true)] {
        let bed = Bed::new();
        let ignore = bed.project.join(".gitignore");
        let pipe = bed.project.join("pipe");
        let made = |at: &Path| std::process::Command::new("mkfifo").arg(at).status().unwrap().success();
        match ignores {
            "file" => fs::write(&ignore, ".pinfold\n").unwrap(),
            "pipe" => assert!(made(&ignore)),
            _ => {
                assert!(made(&pipe));
                std::os::unix::fs::symlink(&pipe, &ignore).unwrap();
            }
        }
        assert_eq!(bed.said(&["init"]).contains("to .gitignore"), is_proposed, "{ignores}");
    }
}

#[test]
fn rules_are_added_listed_and_removed() {
    let bed = Bed::new();
    bed.said(&["rules", "add", "allow", "Bash(npm test)"]);
    bed.said(&["permissions", "add", "deny", "Write", "--user"]);
    let listed = bed.listed();
    assert_eq!(listed["rules"][0]["rule"], "Bash(npm test)");
    assert_eq!(listed["rules"][0]["source"], "local .pinfold/settings.local.json:4:7");
    assert_eq!(listed["rules"][1]["source"], "user ~/.config/pinfold/settings.json:4:7");
    assert!(bed.said(&["rules", "add", "allow", "Bash(npm test)"]).contains("stands already"));
    bed.said(&["rules", "remove", "allow", "Bash(npm test)"]);
    assert_eq!(
        bed.pinfold(&["rules", "remove", "allow", "Bash(npm test)"]).status.code(),
        Some(1),
        "it is gone"
    );
    assert_eq!(bed.listed()["rules"].as_array().unwrap().len(), 1);
    let (code, complaint) = bed.fails(&["rules", "add", "allow", "Bash(rm"]);
    assert!(code == 2 && complaint.contains("not closed"), "{complaint}");
}

#[test]
fn a_project_widens_once_a_person_has_said_so() {
    let bed = Bed::new();
    bed.says(SHARED, r#"{"permissions": {"allow": ["Bash(make)"], "deny": ["Write"]}}"#);
    let before = bed.said(&["rules", "list"]);
    assert!(before.contains("is not trusted") && !before.contains("allow  Bash(make)"), "{before}");
    let (code, complaint) = bed.fails(&["trust"]);
    assert!(code == 2 && complaint.contains("cannot ask without a terminal"), "{complaint}");
    assert!(bed.said(&["trust", "--yes"]).contains("allow Bash(make)"), "what is trusted is shown");
    assert!(bed.said(&["rules", "list"]).contains("allow  Bash(make)"));
    assert!(bed.said(&["trust", "--withdraw"]).contains("not trusted any more"));
    assert!(!bed.said(&["rules", "list"]).contains("allow  Bash(make)"));
}

#[test]
fn settings_that_cannot_be_read_stop_with_a_line_each() {
    let bed = Bed::new();
    bed.says(LOCAL, "{\n  \"bash\": \"never\",\n  \"perm\": 1\n}");
    let (code, complaint) = bed.fails(&["rules", "list"]);
    assert_eq!(code, 2);
    for line in
        ["local .pinfold/settings.local.json:2:11: `never`", "local .pinfold/settings.local.json:3:3: `perm`"]
    {
        assert!(complaint.lines().any(|told| told.trim_start().starts_with(line)), "{complaint}");
    }
    let text = bed.text(LOCAL);
    assert_eq!(bed.fails(&["rules", "add", "allow", "Read"]).0, 2);
    assert_eq!(bed.text(LOCAL), text, "a file that cannot be read is never written");
}

#[test]
fn what_init_writes_asks_no_more_than_nothing_does() {
    let bed = Bed::new();
    bed.said(&["init"]);
    let settings = bed.project.join(SHARED);
    assert!(settings.exists());
    bed.said(&["call", "Write", r#"{"file_path":"a.txt","content":"hi"}"#]);
    assert!(bed.project.join("a.txt").exists());
    // The control: the same where a person chose the mode.
    bed.says(SHARED, r#"{"permissions": {"defaultMode": "default"}}"#);
    bed.fails(&["call", "Write", r#"{"file_path":"b.txt","content":"hi"}"#]);
    assert!(!bed.project.join("b.txt").exists());
}

#[test]
fn flags_are_one_layer_of_several() {
    let bed = Bed::new();
    bed.says(LOCAL, r#"{"permissions": {"defaultMode": "dontAsk"}}"#);
    let said =
        bed.said(&["rules", "list", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(a b),Read"]);
    for part in ["mode   acceptEdits", "allow  Bash(a b)", "allow  Read", "command line"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        bed.fails(&["rules", "list", "--permission-mode", "acceptEdit"])
            .1
            .contains("did you mean `acceptEdits`")
    );
}

#[test]
fn words_of_a_file_do_not_act_on_the_terminal() {
    let bed = Bed::new();
    bed.says(
        SHARED,
        "{\"permissions\": {\"additionalDirectories\": [\"/a\\u001b[2Jb\\u202e\"]}, \"x\\u001b\": 1}",
    );
    let (_, complaint) = bed.fails(&["rules", "list"]);
    assert!(!complaint.contains('\u{1b}') && complaint.contains("\\u{1b}"), "{complaint:?}");
}

#[test]
fn rules_that_are_not_what_they_seem_are_told() {
    let bed = Bed::new();
    bed.says(LOCAL, r#"{"permissions": {"allow": ["Bash(npm run *)"], "deny": ["Read(./.env)"]}}"#);
    assert_eq!(bed.said(&["rules", "lint"]), "", "nothing to say");
    bed.says(
        LOCAL,
        r#"{"permissions": {"allow": ["bash", "Bash(git*)", "Bash(rm"], "deny": ["Read(/etc/passwd)"]}}"#,
    );
    let lint = bed.pinfold(&["rules", "lint"]);
    let said = String::from_utf8(lint.stdout).unwrap();
    assert_eq!(lint.status.code(), Some(1));
    for part in [
        ":1:28: `bash` is no rule: no tool is called `bash` does not count: did you mean `Bash`?",
        "part-of-a-word",
        "bracket is not closed",
        "write `Read(//etc/passwd)`",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json: Value = serde_json::from_slice(&bed.pinfold(&["rules", "lint", "--json"]).stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 4);
}

/// A setting that would be taken for a protection, and protects nothing.
#[test]
fn a_deny_rule_about_a_tool_that_there_is_not_stops_everything() {
    let bed = Bed::new();
    for (name, mend) in [
        ("bash", "did you mean `Bash`?"),
        ("Edi", "did you mean `Edit`?"),
        ("Raed", "did you mean `Read`?"),
        ("Bsh", "did you mean `Bash`?"),
        ("Edti", "did you mean `Edit`?"),
        ("Bahs", "did you mean `Bash`?"),
        ("Gerp", "did you mean `Grep`?"),
        ("Golb", "did you mean `Glob`?"),
        ("Taks", "did you mean `Task`?"),
        ("LSS", "did you mean `LS`?"),
    ] {
        bed.says(LOCAL, &format!("{{\"permissions\": {{\n  \"deny\": [\"{name}\"]\n}}}}"));
        let (_, complaint) = bed.fails(&["rules", "list"]);
        for part in ["settings.local.json:2:12", &format!("no tool is called `{name}`"), mend] {
            assert!(complaint.contains(part), "{part}: {complaint}");
        }
        bed.says(LOCAL, "{}");
        let (_, complaint) = bed.fails(&["rules", "add", "deny", name]);
        assert!(complaint.contains(mend), "{complaint}");
    }
    bed.says(
        LOCAL,
        r#"{"permissions": {"deny": ["Bash", "mcp__s__t", "computer_use", "NewToolOfAnAgent", "LS", "NotebookRead", "Run"]}}"#,
    );
    assert!(bed.said(&["rules", "list"]).contains("computer_use"), "the control");
}

#[test]
fn settings_are_held_to_what_they_expect_of_themselves() {
    let bed = Bed::new();
    let tests = r#""tests": [
        {"call": "Bash(git push)", "expect": "ask"},
        {"call": "Bash(npm test)", "expect": "allow"},
        {"call": "Read(./.env)", "expect": "deny"},
        {"call": "Write(./a)", "expect": "allow", "mode": "acceptEdits"}
    ]"#;
    let says = |allow: &str| {
        format!(
            r#"{{"permissions": {{"allow": [{allow}], "ask": ["Bash(git push)"], "deny": ["Read(./.env)"]}}, {tests}}}"#
        )
    };
    bed.says(LOCAL, &says(r#""Bash(npm test)""#));
    assert!(bed.said(&["rules", "test"]).contains("4 of 4"));
    bed.says(LOCAL, &says(""));
    let output = bed.pinfold(&["rules", "test"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("`Bash(npm test)` is expected to be allowed; it is asked about"), "{said}");
}

#[test]
fn every_key_is_told_in_the_documentation() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md")).unwrap();
    let (page, _) = page.split_once("## Every key").expect("the table from the schema, which has them all");
    let schema: Value = serde_json::from_str(&Bed::new().said(&["schema"])).unwrap();
    let mut seen = 0;
    for (key, value) in schema["properties"].as_object().unwrap() {
        let below =
            value["properties"].as_object().into_iter().flatten().map(|(below, _)| format!("{key}.{below}"));
        let keys: Vec<_> = below.collect();
        for key in if keys.is_empty() { vec![key.clone()] } else { keys } {
            let told = page.contains(&format!("`{key}`"))
                || page.contains(&format!("permissions.{key}`, also at the top"));
            assert!(told, "{key}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}
