//! `pinfold permissions` on a terminal: what is to be seen, removed, tried.

use std::fs;
use std::path::PathBuf;

use pinfold_tests::product::pinfold;
use pinfold_tests::tmux::Tmux;
use tempfile::TempDir;

const LOCAL: &str = "{\n  // mine\n  \"permissions\": {\n    \"allow\": [\"Bash(make *)\", \"Bash(npm test)\"],\n    \"deny\": [\"Bash(curl *)\"]\n  }\n}\n";

/// A project with settings, and the screen in a window.
struct Screen {
    tmux: Tmux,
    file: PathBuf,
    _folder: TempDir,
}

impl Screen {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (project, home) = (folder.path().join("proj"), folder.path().join("home"));
        fs::create_dir_all(project.join(".pinfold")).expect("a folder");
        fs::create_dir(&home).expect("a folder");
        let file = project.join(".pinfold/settings.local.json");
        fs::write(&file, LOCAL).expect("a file");
        let (project, home, program) = (project.display(), home.display(), pinfold().display());
        let line = format!("cd {project} && HOME={home} {program} permissions; echo ended; exec cat");
        Self { tmux: Tmux::start(24, 80, &line), file, _folder: folder }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).expect("the file")
    }
}

#[test]
fn a_rule_is_removed_after_a_look_at_where_it_stands() {
    if !Tmux::is_there_for("removing a rule on the screen") {
        return;
    }
    let screen = Screen::open();
    let all = screen.tmux.expect("q quit");
    assert!(
        all.contains("Bash(npm test)") && all.contains("local .pinfold/settings.local.json:4:31"),
        "{all}"
    );
    // Keys count once the screen could be seen.
    std::thread::sleep(std::time::Duration::from_millis(500));
    screen.tmux.press(&["/"]);
    screen.tmux.type_in("npm");
    screen.tmux.expect("1 of 4");
    screen.tmux.press(&["Enter", "d"]);
    let asked = screen.tmux.expect("remove it?");
    assert!(asked.contains(".pinfold/settings.local.json:4:31") && asked.contains("> n  No"), "{asked}");
    screen.tmux.press(&["Enter"]);
    screen.tmux.expect_gone("remove it?");
    assert_eq!(screen.text(), LOCAL, "enter alone removes nothing");
    screen.tmux.press(&["d", "y"]);
    screen.tmux.expect("removed from");
    let text = screen.text();
    assert!(!text.contains("npm") && text.contains("// mine") && text.contains("Bash(make *)"), "{text}");
    screen.tmux.press(&["q"]);
    screen.tmux.expect("ended");
}

#[test]
fn a_call_is_tried_against_all() {
    if !Tmux::is_there_for("trying a call on the screen") {
        return;
    }
    let screen = Screen::open();
    screen.tmux.expect("q quit");
    std::thread::sleep(std::time::Duration::from_millis(500));
    screen.tmux.press(&["t"]);
    screen.tmux.expect("call:");
    screen.tmux.type_in("curl https://example.org");
    screen.tmux.press(&["Enter"]);
    let told = screen.tmux.expect("a rule denies it");
    assert!(told.contains("Bash(curl *)  (local .pinfold/settings.local.json:5:"), "{told}");
    screen.tmux.press(&["t"]);
    screen.tmux.type_in("NoTool(x");
    screen.tmux.press(&["Enter"]);
    screen.tmux.press(&["q"]);
    screen.tmux.expect("q quit");
    screen.tmux.press(&["q"]);
    screen.tmux.expect("ended");
}
