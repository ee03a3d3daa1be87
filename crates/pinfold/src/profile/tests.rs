use std::path::PathBuf;

use super::*;

fn config(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("profiles")).unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join("profiles").join(name), text).unwrap();
    }
    folder
}

fn load(files: &[(&str, &str)], name: &str) -> Result<Profile, String> {
    let folder = config(files);
    let shown = |e: ProfileError| e.to_string().replace(&format!("{}/", folder.path().display()), "");
    Profile::load(&Ambient::claim(), folder.path(), name).map_err(shown)
}

const YAML: &str = "\
description: one agent
tools:
  terminal: {enabled: true, allowed_paths: [~/proj, \"${PROJECT_HOME}\", /tmp]}
  file:
    allowed_read_paths:
      - ~/proj
      - ~/Documents
    denied_paths: []
  mcp__filesystem__*:
    operations: {frobnicate: read}
";

const JSON: &str = r#"{
	"tools": {
		"terminal": {"enabled": true, "allowed_paths": ["~/proj", "${PROJECT_HOME}", "/tmp"]},
		"file": {"allowed_read_paths": ["~/proj", "~/Documents"], "denied_paths": []},
		"mcp__filesystem__*": {"operations": {"frobnicate": "read"}}
	}
}"#;

#[test]
fn yaml_and_json_say_the_same() {
    let yaml = load(&[("a.yaml", YAML)], "a").unwrap();
    let json = load(&[("a.json", JSON)], "a").unwrap();
    assert_eq!(yaml.scopes, json.scopes);
    assert_eq!(yaml.scopes.iter().count(), 3);
    assert_eq!(yaml.source.to_string(), "user profiles/a.yaml");
}

#[test]
fn a_profile_that_cannot_be_meant_is_named_with_a_mend() {
    let one = |text: &str| load(&[("a.yaml", text)], "a").unwrap_err();
    for (text, words) in [
        ("tools: {a: b", "profiles/a.yaml:1:8: line 1 column 8: unclosed bracket '{'; mend the YAML there"),
        (
            "tools: {}\ntools: {}\n",
            "profiles/a.yaml:2:1: line 2 column 1: duplicate mapping key: tools, set DuplicateKeyPolicy in Options if acceptable; mend the YAML there",
        ),
        (
            "tool: {}\n",
            "profiles/a.yaml: there is no such key: `tool`; known are: tools, description, $schema",
        ),
        ("description: x\n", "profiles/a.yaml: `tools` is missing; write `tools: {}` for none"),
        ("", "profiles/a.yaml: it holds no keys; write `tools:` in it"),
        (
            "tools:\n",
            "profiles/a.yaml: `tools`: expected keys with values, found null; leave the key out, or give it a value",
        ),
        (
            "tools: {terminal: {alowed_paths: []}}\n",
            "profiles/a.yaml: `tools.terminal.alowed_paths`: there is no such key; did you mean `allowed_paths`? \
             known are: enabled, allowed_paths, denied_paths, allow_metacharacters",
        ),
        (
            "tools: {file: {denied_paths: [~]}}\n",
            "profiles/a.yaml: `tools.file.denied_paths[0]`: expected a path as a string, found null; \
             in YAML a bare ~ is null: write \"~\" in quotes",
        ),
    ] {
        assert_eq!(one(text), words, "{text}");
    }
    assert!(one("tools: [*]\n").ends_with("a bare `*` begins an alias in YAML: write it in quotes"));
}

#[test]
fn the_one_profile_that_is_named_is_taken() {
    let both = [("a.yaml", "tools: {}\n"), ("a.json", "{\"tools\": {}}")];
    assert_eq!(
        load(&both, "a").unwrap_err(),
        "profiles/a.yaml: there is `profiles/a.json` beside it; keep one of them"
    );
    assert_eq!(
        load(&both, "b").unwrap_err(),
        "profiles/b.yaml: there is no such profile; write it, or name another"
    );
    for name in ["", "../a", "a/b", ".a", "a b"] {
        assert!(load(&both, name).unwrap_err().contains("no name of a profile"), "{name}");
    }
    let folder = config(&[]);
    std::fs::create_dir(folder.path().join("profiles/c.yaml")).unwrap();
    assert!(Profile::load(&Ambient::claim(), folder.path(), "c").is_err());
    assert!(Profile::load(&Ambient::claim(), &PathBuf::from("/nonexistent"), "c").is_err());
}
