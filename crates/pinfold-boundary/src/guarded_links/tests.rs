use std::collections::BTreeSet;

use pinfold_testkit::TempTree;

use super::*;

struct LinkBed(TempTree);

impl LinkBed {
    /// Directories (`NAME/`), files (`NAME`) and links (`NAME -> TEXT`).
    fn new(names: &[&str]) -> Self {
        Self(TempTree::new().with_names(names))
    }

    fn protected(&self) -> BTreeSet<String> {
        let guards = Guards::default();
        let mut look = LinkSearch::new(&guards, None, Bounds::START);
        look.search_folder(self.0.top());
        let (found, gap) = look.finish();
        assert_eq!(gap, None);
        let name = |linked: &Linked| linked.place.strip_prefix(self.0.top()).unwrap().display().to_string();
        found.iter().map(name).collect()
    }
}

#[test]
fn what_guarded_names_lead_to_is_held() {
    for (names, expected) in [
        (&[".envrc -> config/envrc", "config/envrc"][..], &[".envrc", "config/envrc"][..]),
        // It need not be there.
        (&[".envrc -> config/envrc"], &[".envrc", "config/envrc"]),
        // A directory on the way is a link.
        (&[".mcp.json -> l/mcp.json", "l -> x", "x/mcp.json"], &[".mcp.json", "l", "x/mcp.json"]),
        // Links in a guarded directory, and in one that a guarded name leads to.
        (&[".vscode/tasks.json -> ../t.json", "t.json"], &[".vscode/tasks.json", "t.json"]),
        (
            &[".vscode -> tools/vscode", "tools/vscode/tasks.json -> ../../t.json", "t.json"],
            &[".vscode", "tools/vscode", "tools/vscode/tasks.json", "t.json"],
        ),
        // At a depth, and from a guarded name that is several names long.
        (&["app/.claude -> ../c", "c/"], &["app/.claude", "c"]),
        (&[".config -> dots", "dots/fish/"], &[".config", "dots/containers", "dots/fish"]),
        // The parts of git directories that name programs.
        (&[".git/hooks -> ../hooks", "hooks/"], &[".git/hooks", "hooks"]),
        (
            &[".git/hooks/pre-commit -> ../../scripts/check", "scripts/check"],
            &[".git/hooks/pre-commit", "scripts/check"],
        ),
        (&[".git/config -> ../gitconfig"], &[".git/config", "gitconfig"]),
        (&["r.git/HEAD", "r.git/objects/", "r.git/refs/", "r.git/hooks -> ../h"], &["h", "r.git/hooks"]),
        // Plain links are nothing.
        (&["docs -> text", "text/", "src/lib.rs", ".git/refs/x -> ../y", ".env.example -> text"], &[]),
        // What others publish is not acted on.
        (&["node_modules/p/.vscode -> ../../x"], &[]),
    ] {
        let protected = LinkBed::new(names).protected();
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        let is_right = if names[0].starts_with(".config") {
            expected.is_subset(&protected)
        } else {
            expected == protected
        };
        assert!(is_right, "{names:?}: {protected:?}");
    }
}

#[test]
fn what_guarded_names_of_the_home_lead_to_is_held() {
    for (names, expected) in [
        (&["home/.bashrc -> ../dots/bashrc", "dots/bashrc"][..], &["home/.bashrc", "dots/bashrc"][..]),
        (&["home/.bashrc -> ../dots/bashrc"], &["home/.bashrc", "dots/bashrc"]),
        (
            &["home/.config/pinfold/settings.json -> ../../../dots/pf.json", "dots/pf.json"],
            &["home/.config/pinfold/settings.json", "dots/pf.json"],
        ),
        (&["home/.config/pinfold -> ../../dots/pf", "dots/pf/"], &["home/.config/pinfold", "dots/pf"]),
        // By way of another link in the folder, and with links in what is led to.
        (
            &["home/.gitconfig -> ../dots/way", "dots/way -> git", "dots/git"],
            &["home/.gitconfig", "dots/way", "dots/git"],
        ),
        (
            &["home/.vscode -> ../dots/code", "dots/code/tasks.json -> ../t.json", "dots/t.json"],
            &["home/.vscode", "dots/code", "dots/code/tasks.json", "dots/t.json"],
        ),
        // Elsewhere, no name that counts, and no link.
        (&["home/.bashrc -> ../other/bashrc", "other/bashrc"], &[]),
        (&["home/notes -> ../dots/notes", "dots/notes"], &[]),
        (&["home/.bashrc", "dots/bashrc"], &[]),
    ] {
        let bed = LinkBed::new(names);
        bed.0.make_dir("home");
        bed.0.make_dir("dots");
        let (guards, home) = (Guards::default(), bed.0.path("home"));
        let mut look = LinkSearch::new(&guards, Some(&home), Bounds::START);
        look.search_granted(&[bed.0.path("dots")], &[]);
        let (found, _) = look.finish();
        let name = |linked: &Linked| linked.place.strip_prefix(bed.0.top()).unwrap().display().to_string();
        let protected: BTreeSet<String> = found.iter().map(name).collect();
        assert_eq!(protected, expected.iter().map(ToString::to_string).collect(), "{names:?}");
    }
}

#[test]
fn one_directory_is_looked_at_with_what_is_guarded_in_it() {
    let bed = LinkBed::new(&[".vscode/tasks.json -> ../t.json", "app/.envrc -> ../e", ".idea -> i"]);
    let guards = Guards::default();
    let mut look = LinkSearch::new(&guards, None, Bounds::START);
    look.directly_in(bed.0.top());
    let (found, _) = look.finish();
    let places: BTreeSet<&Path> =
        found.iter().map(|linked| linked.place.strip_prefix(bed.0.top()).unwrap()).collect();
    assert_eq!(places, [".idea", ".vscode/tasks.json", "i", "t.json"].map(Path::new).into());
    assert!(found.iter().all(|linked| linked.kind == GuardKind::Autorun));
    let led_to = found.iter().find(|linked| linked.place.ends_with("t.json")).unwrap();
    assert!(led_to.why.contains("/.vscode/tasks.json` leads there: agents"), "{led_to:?}");
}

#[test]
fn a_link_may_stand_on_the_way_to_guarded_names() {
    let guards = Guards::default();
    let through: Vec<PathBuf> = names_through(&guards, Path::new("/w/.config/systemd")).collect();
    assert_eq!(through, [Path::new("/w/.config/systemd/user")]);
    assert_eq!(names_through(&guards, Path::new("/w/src")).count(), 0);
}
