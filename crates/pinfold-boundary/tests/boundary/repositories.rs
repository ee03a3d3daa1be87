//! Git directories of a boundary: writable but for what runs, and no other one by a pointer.

use std::fs;

use super::Bed;

#[test]
fn a_plain_repository_is_writable_but_for_what_runs() {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    let boundary = bed.compile(|_| {});
    for writable in [
        "w/f",
        "w/.git/index",
        "w/.git/HEAD",
        "w/.git/refs/heads/x",
        "w/.git/objects/ab/c",
        "w/.git/packed-refs",
    ] {
        assert_eq!(bed.access(&boundary, writable), "writable", "{writable}");
    }
    for held in [
        "w/.git",
        "w/.git/hooks",
        "w/.git/hooks/x",
        "w/.git/config",
        "w/.git/info/attributes",
        "w/.git/commondir",
        "w/.git/objects/info/alternates",
        "w/.vscode/tasks.json",
        "w/.mcp.json",
        "w/.pinfold/settings.json",
    ] {
        assert_eq!(bed.access(&boundary, held), "held", "{held}");
    }
    assert_eq!(bed.access(&boundary, "outside"), "outside");
}

/// A main repository in `main` with a linked worktree at `w`; `back` is what its `gitdir` file says.
fn worktree(bed: &Bed, back: &str) {
    bed.0.make_git_dir("main/.git");
    bed.dir("main/.git/worktrees/w");
    bed.file("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    bed.file("main/.git/worktrees/w/commondir", "../..\n");
    bed.file("main/.git/worktrees/w/gitdir", &format!("{back}\n"));
    bed.file("w/.git", &format!("gitdir: {}\n", bed.at("main/.git/worktrees/w").display()));
}

#[test]
fn a_linked_worktree_reaches_its_repository_and_not_its_siblings() {
    let bed = Bed::new();
    worktree(&bed, &bed.at("w/.git").display().to_string());
    let boundary = bed.compile(|_| {});
    for writable in [
        "main/.git/refs/heads/w",
        "main/.git/objects/ab/c",
        "main/.git/worktrees/w/index",
        "main/.git/packed-refs",
    ] {
        assert_eq!(bed.access(&boundary, writable), "writable", "{writable}");
    }
    for held in [
        "main/.git/HEAD",
        "main/.git/config",
        "main/.git/hooks/x",
        "main/.git/worktrees/w/commondir",
        "w/.git",
    ] {
        assert_eq!(bed.access(&boundary, held), "held", "{held}");
    }
    assert_eq!(bed.access(&boundary, "main/f"), "outside");
}

#[test]
fn a_pointer_that_is_not_pointed_back_at_grants_nothing() {
    let bed = Bed::new();
    worktree(&bed, &bed.at("another/.git").display().to_string());
    let boundary = bed.compile(|_| {});
    assert_eq!(bed.access(&boundary, "main/.git/refs/heads/w"), "outside");
    assert_eq!(bed.access(&boundary, "w/.git"), "held");
    assert!(
        boundary.notes().iter().any(|n| n.contains("does not name it in turn")),
        "{:?}",
        boundary.notes()
    );
}

#[test]
fn a_planted_git_directory_does_not_lend_another_repository() {
    let bed = Bed::new();
    bed.0.make_git_dir("main/.git");
    // Everything in `w` was written by an agent earlier: its pointers agree with each other.
    bed.dir("w/g");
    bed.file("w/g/HEAD", "ref: refs/heads/w\n");
    bed.file("w/g/commondir", &bed.at("main/.git").display().to_string());
    bed.file("w/g/gitdir", &bed.at("w/.git").display().to_string());
    bed.file("w/.git", &format!("gitdir: {}\n", bed.at("w/g").display()));
    let boundary = bed.compile(|_| {});
    assert_eq!(bed.access(&boundary, "main/.git/refs/heads/x"), "outside");
}

#[test]
fn a_submodule_is_believed_when_its_repository_names_it() {
    for (worktree, expected) in [("../../../w", "writable"), ("../../../other", "outside")] {
        let bed = Bed::new();
        bed.0.make_git_dir("super/.git/modules/x");
        bed.dir("super/.git/w");
        bed.dir("super/.git/other");
        bed.dir("other");
        let at = bed.at("super/.git/modules/x");
        let worktree = at.join(worktree).to_string_lossy().replace("super/.git/modules/x/../../../", "");
        bed.file("super/.git/modules/x/config", &format!("[core]\n\tworktree = {worktree}\n"));
        bed.file("w/.git", &format!("gitdir: {}\n", at.display()));
        let boundary = bed.compile(|_| {});
        assert_eq!(bed.access(&boundary, "super/.git/modules/x/index"), expected, "{worktree}");
    }
}

#[test]
fn what_the_configuration_names_in_the_folder_is_held() {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    bed.file("w/.git/config", "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../team.cfg\n[filter \"x\"]\n\tclean = ./clean.sh %f\n[remote \"o\"]\n\turl = ./f\n");
    bed.file("w/.githooks/pre-commit", "");
    bed.file("w/clean.sh", "");
    bed.file("w/f", "");
    let boundary = bed.compile(|_| {});
    for held in ["w/.githooks/pre-commit", "w/clean.sh", "w/team.cfg"] {
        assert_eq!(bed.access(&boundary, held), "held", "{held}");
    }
    assert_eq!(bed.access(&boundary, "w/f"), "writable");
}

/// The person's own configuration counts in every repository, and so does what it includes.
#[test]
fn what_the_configuration_of_the_person_names_in_a_repository_is_held() {
    let hooks = |path: &str| format!("[core]\n\thooksPath = {path}\n");
    for (file, text, held, writable) in [
        ("home/.gitconfig", hooks(".githooks"), "w/.githooks/pre-commit", "w/x/.githooks/y"),
        ("home/.gitconfig", hooks("tools/git/hooks"), "w/tools/git/hooks/pre-commit", "w/tool"),
        ("home/.config/git/config", hooks("here"), "w/here/pre-commit", "w/her"),
        ("home/.gitconfig", hooks("~/../w/deep/hooks"), "w/deep/hooks/pre-commit", "w/x"),
        ("home/.gitconfig", "[filter \"x\"]\n\tclean = ./clean.sh %f\n".to_owned(), "w/clean.sh", "w/clean"),
        ("home/.gitconfig", "[include]\n\tpath = ~/more/git.cfg\n".to_owned(), "w/more/pre-commit", "w/x"),
        (
            "home/.gitconfig",
            "[includeIf \"gitdir:x\"]\n\tpath = more/git.cfg\n".to_owned(),
            "w/more/pre-commit",
            "w/x",
        ),
    ] {
        let bed = Bed::new();
        bed.0.make_git_dir("w/.git");
        bed.file("w/clean.sh", "");
        bed.file(file, &text);
        bed.file("home/more/git.cfg", "[include]\n\tpath = git.cfg\n[core]\n\thooksPath = more\n");
        let boundary = bed.compile(|_| {});
        assert_eq!(bed.access(&boundary, held), "held", "{text}");
        assert_eq!(bed.access(&boundary, writable), "writable", "{text}");
    }
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    bed.file("home/.gitconfig", &hooks("/etc"));
    let boundary = bed.compile(|_| {});
    assert_eq!(bed.access(&boundary, "w/x"), "writable", "what lies outside is held anyway");
    // The same in a configuration of the repository.
    for path in ["~/../w/own/hooks", "own/hooks"] {
        let bed = Bed::new();
        bed.0.make_git_dir("w/.git");
        bed.file("w/.git/config", &hooks(path));
        let boundary = bed.compile(|_| {});
        assert_eq!(bed.access(&boundary, "w/own/hooks/pre-commit"), "held", "{path}");
    }
}

/// Whatever git reads of a configuration that is odd to us, it does not read more than is held.
#[test]
fn what_an_odd_configuration_names_is_held_too() {
    let hooks = b"hooksPath = .githooks\n".as_slice();
    for (name, config, extension) in [
        ("plain", [b"[core]\n", hooks].concat(), false),
        ("no UTF-8", [b"[user]\n\tname = Jos\xe9\n[core]\n", hooks].concat(), true),
        ("headers on one line", [b"[user][core] ", hooks].concat(), false),
        ("a subsection in two parts", [b"[filter.a \"b\"]\nclean = ./x\n[core]\n", hooks].concat(), false),
        ("a backslash at the end", [b"[core]\n", hooks, b"x = y\\"].concat(), false),
        ("a key outside", [b"x = y\n[core]\n", hooks].concat(), false),
        ("a switch without a value", [b"[extensions]\nworktreeConfig\n[core]\n", hooks].concat(), true),
    ] {
        let bed = Bed::new();
        bed.0.make_git_dir("w/.git");
        fs::write(bed.at("w/.git/config"), config).unwrap();
        bed.file("w/.githooks/pre-commit", "");
        let boundary = bed.compile(|_| {});
        assert_eq!(bed.access(&boundary, "w/.githooks/pre-commit"), "held", "{name}");
        let own = bed.access(&boundary, "w/.git/config.worktree");
        assert_eq!(own == "held", extension, "{name}: {own}");
    }
}
