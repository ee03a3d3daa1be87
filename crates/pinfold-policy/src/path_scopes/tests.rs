use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinfold_commands::Operation;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::mcp::{McpCall, McpClass};
use crate::source::{Layer, Source};

fn expand_context() -> ExpandContext {
    let variables = [("FZ", "/srv/fz"), ("EMPTY", ""), ("TILDE", "~/deep")];
    ExpandContext {
        home: Some("/home/u".into()),
        folder: "/home/u/proj".into(),
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}

fn drawn_with(section: &Value, links: &[(&str, &str)]) -> Result<PathScopes, BadScope> {
    let links: BTreeMap<_, _> = links.iter().map(|(a, b)| (PathBuf::from(a), PathBuf::from(b))).collect();
    let resolve = |path: &Path| Ok(links.get(path).cloned().unwrap_or_else(|| path.to_owned()));
    ToolScopes::parse(section)?.draw(&Source::plain(Layer::User), &expand_context(), &resolve)
}

fn drawn(section: &Value) -> PathScopes {
    drawn_with(section, &[]).unwrap()
}

fn touched<'a>(operation: Operation, asked: &'a str, real: &'a str) -> ScopedPath<'a> {
    ScopedPath {
        operation,
        asked: Path::new(asked),
        leads: ScopedTarget::To(Path::new(real)),
        missing: false,
        folds_case: false,
        mention: PathMention::Named,
        pattern: None,
    }
}

fn why(
    path_scopes: &PathScopes,
    tool: ScopedTool<'_>,
    operation: Operation,
    path: &str,
) -> Option<ScopeViolationReason> {
    let real = tidy(Path::new(path));
    path_scopes.path_no(tool, &touched(operation, path, real.to_str().unwrap())).map(|no| no.why)
}

#[test]
fn lists_say_where_each_operation_may_go() {
    use Operation::{CopyFrom, Edit, MoveFrom, Read, Search, Write};
    let both = json!({"allowed_read_paths": ["~/proj", "~/Documents"], "allowed_write_paths": ["~/proj"]});
    let denied = |entry: &str| Some(ScopeViolationReason::Denied(entry.to_owned()));
    let outside = || Some(ScopeViolationReason::Outside);
    for (file, operation, path, expected) in [
        (&both, Read, "/home/u/Documents/n.md", None),
        (&both, Search, "/home/u/Documents", None),
        (&both, CopyFrom, "/home/u/Documents/n.md", None),
        (&both, Write, "/home/u/Documents/n.md", outside()),
        (&both, Edit, "/home/u/Documents/n.md", outside()),
        (&both, MoveFrom, "/home/u/Documents/n.md", outside()),
        (&both, Write, "/home/u/proj/a", None),
        (&both, Read, "/home/u/Documentsx/a", outside()),
        (&both, Read, "/home/u/Documents/../.ssh/id_rsa", outside()),
        (&both, Read, "/home/u/x/../proj/./a//b", None),
        (&json!({}), Write, "/etc/hosts", None),
        (&json!({"denied_paths": []}), Write, "/etc/hosts", None),
        (&json!({"allowed_write_paths": ["~/proj"]}), Read, "/etc/hosts", None),
        (&json!({"allowed_write_paths": ["~/proj"]}), Write, "/etc/hosts", outside()),
        (&json!({"allowed_read_paths": ["~/proj"]}), Write, "/etc/hosts", outside()),
        (&json!({"allowed_read_paths": ["~/proj"], "allowed_write_paths": ["/srv"]}), Write, "/srv/a", None),
        (&json!({"allowed_paths": []}), Read, "/home/u/proj/a", outside()),
        (&json!({"allowed_paths": ["/"]}), Read, "/etc/hosts", None),
        (
            &json!({"allowed_paths": ["~/proj"], "denied_paths": ["~/proj/secret"]}),
            Read,
            "/home/u/proj/a",
            None,
        ),
        (
            &json!({"allowed_paths": ["~/proj/secret/pub"], "denied_paths": ["~/proj/secret"]}),
            Read,
            "/home/u/proj/secret/pub/a",
            denied("~/proj/secret"),
        ),
        (&json!({"denied_paths": ["~/.ssh/"]}), Read, "/home/u/.ssh", denied("~/.ssh/")),
        (&json!({"denied_paths": ["~/.ssh"]}), Read, "/home/u/.sshx", None),
        (&json!({"allowed_paths": ["${FZ}"]}), Read, "/srv/fz/a", None),
        (&json!({"allowed_paths": ["$FZ/in"]}), Read, "/srv/fz/a", outside()),
        (&json!({"allowed_paths": ["${TILDE}"]}), Read, "/home/u/deep/a", None),
        (&json!({"allowed_paths": ["src"]}), Read, "/home/u/proj/src/a", None),
        (&json!({"allowed_paths": ["src/../lib/"]}), Read, "/home/u/proj/lib", None),
        // Each list that is there has to allow.
        (&json!({"allowed_paths": ["~/proj"], "allowed_read_paths": ["/"]}), Read, "/etc/hosts", outside()),
    ] {
        let path_scopes = drawn(&json!({"file": file}));
        assert_eq!(
            why(&path_scopes, ScopedTool::File, operation, path),
            expected,
            "{file} {operation:?} {path}"
        );
    }
}

#[test]
fn both_the_path_as_written_and_where_it_leads_have_to_pass() {
    let section = json!({"file": {"allowed_paths": ["~/proj", "/tmp"], "denied_paths": ["~/.ssh"]}});
    let path_scopes =
        drawn_with(&section, &[("/tmp", "/private/tmp"), ("/home/u/.ssh", "/vault/keys")]).unwrap();
    for (asked, real, passes) in [
        ("/home/u/proj/a", "/home/u/proj/a", true),
        ("/home/u/proj/link", "/home/u/.ssh/id_rsa", false),
        ("/home/u/proj/link", "/vault/keys/id_rsa", false),
        ("/home/u/proj/link", "/etc/passwd", false),
        ("/home/u/proj/link", "/home/u/proj/a", true),
        ("/tmp/x", "/private/tmp/x", true),
        ("/private/tmp/x", "/private/tmp/x", true),
        ("/elsewhere/x", "/home/u/proj/x", false),
        ("/home/u/.ssh/link", "/home/u/proj/x", false),
    ] {
        let no = path_scopes.path_no(ScopedTool::File, &touched(Operation::Read, asked, real));
        assert_eq!(no.is_none(), passes, "{asked} → {real}: {no:?}");
    }
}

#[test]
fn where_nobody_knows_the_way_a_scope_says_no() {
    let path_scopes = drawn(&json!({"file": {"denied_paths": ["/srv"]}}));
    let lost =
        ScopedPath { leads: ScopedTarget::Unknown, ..touched(Operation::Read, "/proc/self/root/srv", "/") };
    assert_eq!(path_scopes.path_no(ScopedTool::File, &lost).unwrap().why, ScopeViolationReason::Unknown);
    let nowhere =
        ScopedPath { leads: ScopedTarget::Nowhere, ..touched(Operation::Read, "/a/file/below", "/") };
    assert_eq!(path_scopes.path_no(ScopedTool::File, &nowhere), None);
    // Nothing is declared for the others.
    assert_eq!(path_scopes.path_no(ScopedTool::Terminal, &lost), None);
}

#[test]
fn a_word_that_may_be_no_path_counts_where_something_is_there() {
    let path_scopes =
        drawn(&json!({"terminal": {"allowed_paths": ["/srv"], "denied_paths": ["~/proj/secret"]}}));
    let word = |asked, real, missing| ScopedPath {
        mention: PathMention::Perhaps,
        missing,
        ..touched(Operation::Read, asked, real)
    };
    let passes = |touched| path_scopes.path_no(ScopedTool::Terminal, &touched).is_none();
    assert!(passes(word("/home/u/proj/status", "/home/u/proj/status", true)));
    assert!(!passes(word("/home/u/proj/notes", "/home/u/proj/notes", false)));
    assert!(!passes(word("/home/u/proj/secret", "/home/u/proj/secret", true)));
    assert!(!passes(word("/home/u/proj/link/new", "/etc/new", true)));
}

#[test]
fn a_pattern_does_not_reach_what_is_denied() {
    let path_scopes =
        drawn(&json!({"terminal": {"allowed_paths": ["~/proj"], "denied_paths": ["~/proj/a/secret"]}}));
    for (folder, pattern, passes) in [
        ("/home/u/proj", "*", true),
        ("/home/u/proj", "*.rs", true),
        ("/home/u/proj", "*/other", true),
        ("/home/u/proj", "*/secret", false),
        ("/home/u/proj", "*/*", false),
        ("/home/u/proj", "?/s*", false),
        ("/home/u/proj", "b*/s*", true),
        ("/home/u/proj", "[a-z]/secret/x", false),
        ("/home/u/proj", "**/x", false),
        ("/home/u/proj", "*/../a/secret", false),
        ("/home/u/proj/a", "s*", false),
        ("/home/u/proj/a", "s*/x/y", false),
        ("/home/u/proj/a/secret", "*", false),
        ("/home/u/proj/b", "*/*", true),
        ("/home/u", "*", false),
    ] {
        let touched = ScopedPath { pattern: Some(pattern), ..touched(Operation::Read, folder, folder) };
        let no = path_scopes.path_no(ScopedTool::Terminal, &touched);
        assert_eq!(no.is_none(), passes, "{folder} {pattern}: {no:?}");
    }
}

#[test]
fn sections_combine_by_narrowing() {
    let wide = drawn(
        &json!({"file": {"allowed_paths": ["~/proj", "/srv"]}, "terminal": {"allow_metacharacters": true}}),
    );
    let narrow =
        drawn(&json!({"file": {"allowed_paths": ["/srv"]}, "terminal": {"allowed_paths": ["/srv"]}}));
    for both in [wide.clone().and(narrow.clone()), narrow.and(wide)] {
        assert_eq!(why(&both, ScopedTool::File, Operation::Read, "/srv/a"), None);
        assert_eq!(
            why(&both, ScopedTool::File, Operation::Read, "/home/u/proj/a"),
            Some(ScopeViolationReason::Outside)
        );
        let blind = [terminal::Unauditable { what: terminal::UnauditableReason::HereString, span: 0..1 }];
        assert!(both.text_no(ScopedTool::Terminal, &blind).is_some(), "the stricter section decides");
    }
}

#[test]
fn text_is_audited_where_a_line_is_drawn_and_not_waived() {
    let blind = [terminal::Unauditable { what: terminal::UnauditableReason::Substitution, span: 0..1 }];
    for (terminal, refused) in [
        (json!({}), false),
        (json!({"denied_paths": []}), false),
        (json!({"denied_paths": ["~/.ssh"]}), true),
        (json!({"allowed_paths": []}), true),
        (json!({"allowed_paths": ["/"], "allow_metacharacters": true}), false),
    ] {
        let no = drawn(&json!({"terminal": terminal})).text_no(ScopedTool::Terminal, &blind);
        assert_eq!(no.is_some(), refused, "{terminal}");
    }
    let path_scopes = drawn(&json!({"terminal": {"denied_paths": ["~/.ssh"]}}));
    assert_eq!(path_scopes.text_no(ScopedTool::Terminal, &[]), None);
}

#[test]
fn a_tool_can_be_switched_off() {
    let path_scopes = drawn(
        &json!({"terminal": {"enabled": false}, "mcp__db": {"enabled": false}, "file": {"enabled": true}}),
    );
    let off = |tool| path_scopes.tool_no(tool).is_some();
    assert!(off(ScopedTool::Terminal) && off(ScopedTool::Mcp("mcp__db__query")));
    assert!(
        !off(ScopedTool::File) && !off(ScopedTool::Mcp("mcp__dbx__query")) && !off(ScopedTool::CodeExecution)
    );
}

#[test]
fn an_mcp_operation_has_to_say_what_it_does_where_a_line_is_drawn() {
    let scope = json!({"allowed_paths": ["~/proj"], "operations": {"Frobnicate": "read", "sync": "write"}});
    let path_scopes =
        drawn(&json!({"mcp__Filesystem__*": scope, "mcp__open": {}, "mcp__off": {"enabled": false}}));
    let call = |name: &str, input: &Value| McpCall::parse(name, input, None).unwrap().unwrap();
    for (name, input, why) in [
        ("mcp__filesystem__read_file", json!({}), None),
        ("mcp__filesystem__twiddle", json!({}), Some(ScopeViolationReason::UnknownOperation)),
        ("mcp__FILESYSTEM__TWIDDLE", json!({}), Some(ScopeViolationReason::UnknownOperation)),
        ("mcp__filesystem__FROBNICATE", json!({}), None),
        ("mcp__filesystem__list", json!({"from": 3}), Some(ScopeViolationReason::NoPath("from".to_owned()))),
        ("mcp__open__twiddle", json!({"from": 3}), None),
        ("mcp__other__twiddle", json!({}), None),
        ("mcp__off__read_file", json!({}), Some(ScopeViolationReason::Off)),
    ] {
        assert_eq!(path_scopes.mcp_no(&call(name, &input)).map(|no| no.why), why, "{name}");
    }
    for (name, class) in [
        ("mcp__filesystem__sync", McpClass::Write),
        ("mcp__filesystem__frobnicate", McpClass::Read),
        ("mcp__filesystem__move_file", McpClass::Move),
        ("mcp__other__sync", McpClass::Unknown),
    ] {
        assert_eq!(path_scopes.mcp_class(&call(name, &json!({}))), class, "{name}");
    }
}

#[test]
fn the_whole_of_a_folder_is_not_taken_with_a_denied_place_in_it() {
    let lists = json!({"allowed_paths": ["~/proj"], "denied_paths": ["~/proj/a/secret"]});
    let path_scopes = drawn(&json!({"file": lists, "mcp__fs": lists}));
    let (file, mcp) = (ScopedTool::File, ScopedTool::Mcp("mcp__fs__x"));
    for (tool, operation, path, passes) in [
        (file, Operation::Delete, "/home/u/proj/a", false),
        (file, Operation::MoveFrom, "/home/u/proj", false),
        (file, Operation::CopyFrom, "/home/u/proj/a", false),
        (file, Operation::Delete, "/home/u/proj/b", true),
        // A search of ours passes over what is denied.
        (file, Operation::Search, "/home/u/proj", true),
        (mcp, Operation::Search, "/home/u/proj", false),
        (mcp, Operation::Search, "/home/u/proj/b", true),
        (mcp, Operation::List, "/home/u/proj", true),
    ] {
        assert_eq!(
            why(&path_scopes, tool, operation, path).is_none(),
            passes,
            "{tool:?} {operation:?} {path}"
        );
    }
    assert!(path_scopes.denies(file, Path::new("/home/u/proj/a/secret/x"), false));
    assert!(!path_scopes.denies(file, Path::new("/home/u/proj/a"), false));
}

#[test]
fn a_no_names_the_list_and_where_else_it_could_go() {
    let path_scopes =
        drawn(&json!({"terminal": {"allowed_paths": ["~/proj", "/tmp"], "denied_paths": ["~/.ssh"]}}));
    let no = |path: &str| {
        path_scopes.path_no(ScopedTool::Terminal, &touched(Operation::Read, path, path)).unwrap()
    };
    let outside = no("/etc/passwd");
    assert_eq!(
        (outside.list.as_str(), &outside.allowed[..]),
        ("tools.terminal.allowed_paths", &["~/proj".to_owned(), "/tmp".to_owned()][..])
    );
    assert_eq!(outside.source.to_string(), "user");
    assert_eq!(no("/home/u/.ssh/id_rsa").list, "tools.terminal.denied_paths");
}

#[test]
fn what_is_wrong_in_a_section_is_named_with_a_mend() {
    for (section, words, hint) in [
        (json!([]), "`tools`: expected keys with values, found an array of 0", "write keys with values"),
        (
            json!({"terminl": {}}),
            "`tools.terminl`: there is no such tool to scope",
            "did you mean `terminal`?",
        ),
        (
            json!({"mcp__": {}}),
            "`tools.mcp__`: a server is missing",
            "write `mcp__SERVER__*`, or `mcp__*` for all",
        ),
        (
            json!({"terminal": {"alowed_paths": []}}),
            "`tools.terminal.alowed_paths`: there is no such key",
            "did you mean `allowed_paths`? known are: enabled, allowed_paths, denied_paths, allow_metacharacters",
        ),
        (
            json!({"terminal": {"allowed_paths": "~/proj"}}),
            "`tools.terminal.allowed_paths`: expected a list of paths, found a string",
            "put it in brackets",
        ),
        (
            json!({"file": {"denied_paths": null}}),
            "`tools.file.denied_paths`: expected a list of paths, found null",
            "leave the key out, or give it a value",
        ),
        (
            json!({"file": {"denied_paths": [null]}}),
            "`tools.file.denied_paths[0]`: expected a path as a string, found null",
            "in YAML a bare ~ is null: write \"~\" in quotes",
        ),
        (
            json!({"file": {"denied_paths": ["**/.env"]}}),
            "`tools.file.denied_paths[0]`: `**/.env` is a pattern, and entries are folders or files",
            "name the folder, and all below it is meant; for patterns write a rule",
        ),
        (
            json!({"file": {"denied_paths": [""]}}),
            "`tools.file.denied_paths[0]`: an empty path",
            "name a folder or a file, or leave it out",
        ),
        (
            json!({"terminal": {"enabled": "yes"}}),
            "`tools.terminal.enabled`: expected true or false, found a string",
            "write true or false",
        ),
        (
            json!({"mcp__fs": {"operations": {"x": "run"}}}),
            "`tools.mcp__fs.operations.x`: expected read or write, found `run`",
            "write `read` or `write`",
        ),
        (
            json!({"terminal": {"allowed_paths": ["/a", "${NOPE}/"]}}),
            "`tools.terminal.allowed_paths[1]`: the variable `NOPE` is not set",
            "set `NOPE`, or write the folder out",
        ),
        (
            json!({"terminal": {"allowed_paths": ["${EMPTY}/"]}}),
            "`tools.terminal.allowed_paths[0]`: the variable `EMPTY` is not set",
            "set `EMPTY`, or write the folder out",
        ),
        (
            json!({"terminal": {"allowed_paths": ["/a$"]}}),
            "`tools.terminal.allowed_paths[0]`: a `$` without the name of a variable",
            "write `${NAME}`",
        ),
        (
            json!({"terminal": {"denied_paths": ["~root/x"]}}),
            "`tools.terminal.denied_paths[0]`: other users' home folders are not looked up",
            "write the folder out, or `./~…` for a name",
        ),
    ] {
        let bad = drawn_with(&section, &[]).unwrap_err();
        assert_eq!((bad.to_string().as_str(), bad.hint.as_str()), (words, hint), "{section}");
    }
    let lost = |_: &Path| Err("it is a loop of links".to_owned());
    let section = ToolScopes::parse(&json!({"file": {"denied_paths": ["/a"]}})).unwrap();
    let bad = section.draw(&Source::plain(Layer::User), &expand_context(), &lost).unwrap_err();
    assert_eq!(bad.to_string(), "`tools.file.denied_paths[0]`: `/a` leads nowhere: it is a loop of links");
}

#[test]
fn the_schema_knows_the_keys_that_are_taken() {
    let schema = ToolScopes::schema();
    let keys = |tool: &Value| tool["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let tools = schema["properties"].as_object().unwrap().iter().map(|(name, tool)| (name.as_str(), tool));
    let mcp = ("mcp__x", &schema["patternProperties"]["^mcp__."]);
    let mut known = 0;
    for (name, tool) in tools.chain([mcp]) {
        for key in keys(tool) {
            let value = match key.as_str() {
                "enabled" | "allow_metacharacters" => json!(true),
                "operations" => json!({"x": "read"}),
                _ => json!(["/a"]),
            };
            ToolScopes::parse(&json!({name: {key.as_str(): value}})).unwrap();
            known += 1;
        }
    }
    assert_eq!(known, 4 + 5 + 4 + 6);
}

#[test]
fn case_is_folded_where_the_file_system_folds_it() {
    let path_scopes = drawn(&json!({"file": {"denied_paths": ["~/.ssh"]}}));
    let folded = |folds_case| ScopedPath {
        folds_case,
        ..touched(Operation::Read, "/home/u/.SSH/x", "/home/u/.SSH/x")
    };
    assert!(path_scopes.path_no(ScopedTool::File, &folded(true)).is_some());
    assert!(path_scopes.path_no(ScopedTool::File, &folded(false)).is_none());
}

proptest! {
    #[test]
    fn nothing_below_a_denied_place_passes_however_it_is_spelled(
        before in "(/|//|/\\./|/x/\\.\\./|/x/\\./y/\\.\\./\\.\\./){0,3}",
        between in "(/|//|/\\./|/z/\\.\\./){1,2}",
        below in "([a-z./]{0,12})",
    ) {
        let path_scopes = drawn(&json!({"terminal": {"allowed_paths": ["/"], "denied_paths": ["/vault/keys"]}}));
        let path = format!("{before}/vault{between}keys/{below}");
        let real = tidy(Path::new(&path));
        let no = why(&path_scopes, ScopedTool::Terminal, Operation::Read, &path);
        prop_assert_eq!(no.is_some(), real.starts_with("/vault/keys"), "{} is {}", path, real.display());
    }

    #[test]
    fn a_neighbour_of_a_place_is_not_in_it(name in "[a-z]{1,6}", more in "[a-z.-]{1,6}") {
        let path_scopes = drawn(&json!({"file": {"allowed_paths": [format!("/w/{name}")]}}));
        let passes = |path: &str| why(&path_scopes, ScopedTool::File, Operation::Read, path).is_none();
        let inside = format!("/w/{name}/{}", more.trim_matches('.'));
        let beside = format!("/w/{name}{more}");
        prop_assert!(passes(&inside));
        prop_assert!(!passes(&beside));
    }

    #[test]
    fn adding_a_section_never_allows_more(path in "(/[ab]){1,3}", one in "(/[ab]){1,2}", two in "(/[ab]){1,2}") {
        let first = drawn(&json!({"file": {"allowed_paths": [one]}}));
        let second = drawn(&json!({"file": {"denied_paths": [two]}}));
        let passes = |path_scopes: &PathScopes| why(path_scopes, ScopedTool::File, Operation::Write, &path).is_none();
        let both = first.clone().and(second.clone());
        prop_assert_eq!(passes(&both), passes(&first) && passes(&second));
    }

    #[test]
    fn no_section_panics(text in "\\PC{0,40}") {
        let _ = ToolScopes::parse(&json!({"terminal": {"allowed_paths": [text.clone()]}}))
            .map(|scopes| scopes.draw(&Source::plain(Layer::User), &expand_context(), &|path| Ok(path.to_owned())));
        let _ = ToolScopes::parse(&json!({text.as_str(): {text.as_str(): [text.clone()]}}));
    }
}
