use pinfold_policy::Layer;
use pinfold_policy::path_scopes::{ScopeViolationReason, terminal};
use pinfold_testkit::TempTree;
use serde_json::{Value, json};

use super::*;

/// `home/proj` with links out of it and into it, and `home/.ssh` with a key.
struct Bed(TempTree);

impl Bed {
    fn new() -> Self {
        let files = ["home/.ssh/id_rsa", "home/proj/a", "home/proj/secret/key", "home/notes"];
        let tree = TempTree::new().with_dirs(["home/proj/sub", "real/tmp"]).with_files(files, "x");
        for (name, target) in [
            ("home/proj/link", "home/.ssh/id_rsa"),
            ("home/proj/keys", "home/.ssh"),
            ("home/proj/dangling", "home/.ssh/new"),
            ("home/proj/loop", "home/proj/loop"),
            ("tmp", "real/tmp"),
        ] {
            tree.link(name, tree.path(target));
        }
        Self(tree)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path(path)
    }

    fn expand_context(&self) -> ExpandContext {
        ExpandContext {
            home: Some(self.path("home")),
            folder: self.path("home/proj"),
            variables: std::collections::BTreeMap::default(),
        }
    }

    fn draw(&self, section: &Value) -> Result<PathScopes, BadScope> {
        let scopes = ToolScopes::parse(section).unwrap();
        draw(&Ambient::claim(), &scopes, &Source::plain(Layer::User), &self.expand_context())
    }

    fn line(&self) -> WritableRoots {
        WritableRoots::new(
            Workspace::open(&Ambient::claim(), &self.path("home/proj")).unwrap(),
            Some(self.path("home")),
        )
    }

    fn read_no(&self, path_scopes: &PathScopes, path: &str) -> Option<ScopeViolationReason> {
        let resolution =
            self.line().resolve(&self.path("home/proj"), &PathClaim::new(path), LastLink::Follow);
        path_no(path_scopes, ScopedTool::File, Operation::Read, &resolution).map(|no| no.why)
    }

    fn command_no(&self, path_scopes: &PathScopes, command: &str) -> Option<ScopeViolationReason> {
        let audit = terminal::audit_line(command, &self.path("home/proj"), &self.expand_context());
        denial_text(path_scopes, ScopedTool::Terminal, &audit, &self.line()).map(|(no, _)| no.why)
    }
}

#[test]
fn links_are_followed_on_both_sides() {
    let bed = Bed::new();
    let tmp = bed.path("tmp").display().to_string();
    let section = json!({"file": {"allowed_paths": ["~/proj", tmp], "denied_paths": ["secret"]}});
    let path_scopes = bed.draw(&section).unwrap();
    let at = |path: &str| bed.path(path).display().to_string();
    for (path, passes) in [
        ("a".to_owned(), true),
        ("missing/a".to_owned(), true),
        ("~/proj/a".to_owned(), true),
        ("link".to_owned(), false),
        ("keys/id_rsa".to_owned(), false),
        ("keys/missing".to_owned(), false),
        ("dangling".to_owned(), false),
        ("loop".to_owned(), false),
        ("~/notes".to_owned(), false),
        ("secret/key".to_owned(), false),
        ("sub/../secret/key".to_owned(), false),
        ("sub/../a".to_owned(), true),
        ("/proc/self/cwd".to_owned(), false),
        (at("tmp/x"), true),
        (at("real/tmp/x"), true),
        (at("real/tmpx"), false),
        (at("home/proj/../proj/a"), true),
    ] {
        assert_eq!(
            bed.read_no(&path_scopes, &path).is_none(),
            passes,
            "{path}: {:?}",
            bed.read_no(&path_scopes, &path)
        );
    }
}

#[test]
fn an_entry_through_a_link_is_denied_by_both_names() {
    let bed = Bed::new();
    let path_scopes = bed.draw(&json!({"file": {"denied_paths": ["keys", "dangling"]}})).unwrap();
    for (path, passes) in
        [("keys/id_rsa", false), ("~/.ssh/id_rsa", false), ("~/.ssh/new", false), ("a", true)]
    {
        assert_eq!(bed.read_no(&path_scopes, path).is_none(), passes, "{path}");
    }
    let bad = bed.draw(&json!({"file": {"denied_paths": ["loop"]}})).unwrap_err();
    assert_eq!(
        bad.to_string(),
        "`tools.file.denied_paths[0]`: `loop` leads nowhere: the path leads through too many links"
    );
}

#[test]
fn a_command_is_held_to_what_its_words_name() {
    let bed = Bed::new();
    let path_scopes =
        bed.draw(&json!({"terminal": {"allowed_paths": ["~/proj"], "denied_paths": ["secret"]}})).unwrap();
    for (command, passes) in [
        ("cat a ./a ~/proj/a", true),
        ("git status --short", true),
        ("cat link", false),
        ("cat keys/id_rsa", false),
        ("cat secret/key", false),
        ("cat s*/key", false),
        ("cat sub/*", true),
        ("cat a*", true),
        ("cat li*", false),
        ("cat *", false),
        ("cat k*/id_rsa", false),
        ("cat k*/missing", false),
        ("cat */id_rsa", false),
        ("cat su*/../a", true),
        ("cat /pro?/self/root/etc/passwd", false),
        ("cd secret && cat key", false),
        ("cd sub && cat ../a", true),
        ("cd sub && cat ../../notes", false),
        ("cat ../notes", false),
        ("echo x > new", true),
        ("echo x > ../new", false),
        ("echo x > dangling", false),
        ("cat $HOME/notes", false),
        ("cat $(echo a)", false),
        ("echo loop", false),
        ("cat /dev/stdin < /dev/null", true),
        ("ls / ", false),
    ] {
        let no = bed.command_no(&path_scopes, command);
        assert_eq!(no.is_none(), passes, "{command}: {no:?}");
    }
}

#[test]
fn nothing_declared_says_nothing() {
    let bed = Bed::new();
    let path_scopes = bed.draw(&json!({})).unwrap();
    assert_eq!(bed.read_no(&path_scopes, "link"), None);
    assert_eq!(bed.command_no(&path_scopes, "cat $(x) /etc/passwd"), None);
}
