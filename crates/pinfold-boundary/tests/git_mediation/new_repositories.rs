//! Directories that become repositories or worktrees during a run.

use std::fs;
use std::os::unix::fs::symlink;

use pinfold_sandbox::{Detail, Intent};

use super::{Bed, Run};

#[test]
fn a_directory_with_a_link_does_not_become_a_repository() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    for link in [false, true] {
        let mut run = Run::new(&bed, &boundary);
        let top = format!("w/bare-{link}");
        run.makes_dir(&top);
        run.makes_dir(&format!("{top}/refs"));
        run.makes_dir(&format!("{top}/objects"));
        if link {
            symlink("/etc", bed.at(&format!("{top}/logs"))).unwrap();
        }
        assert_eq!(run.tries(Intent::Create, &format!("{top}/HEAD"), Detail::None), !link);
    }
}

#[test]
fn a_directory_that_was_there_becomes_no_repository_by_its_last_part() {
    let bed = Bed::new();
    let head = "ref: refs/heads/main\n";
    for (top, parts) in [("w/half", &["refs"][..]), ("w/other", &["objects"])] {
        bed.file(&format!("{top}/HEAD"), head);
        for part in parts {
            bed.dir(&format!("{top}/{part}"));
        }
    }
    bed.file("w/head/HEAD", head);
    bed.file("w/common/commondir", "../half\n");
    bed.file("w/plain/file", "");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    assert!(!run.tries(Intent::MakeDir, "w/half/objects", Detail::None));
    assert!(!run.tries(Intent::MakeDir, "w/other/refs", Detail::None));
    assert!(!run.tries(Intent::Create, "w/head/commondir", Detail::None));
    assert!(!run.tries(Intent::Create, "w/common/HEAD", Detail::None));
    assert!(!run.renames("w/plain/file", "w/head/commondir"));
    for part in ["objects", "refs"] {
        assert!(run.tries(Intent::MakeDir, &format!("w/plain/{part}"), Detail::None), "it lacks more");
    }
    assert!(run.tries(Intent::Create, "w/plain/commondir", Detail::None), "it has no HEAD");
}

#[test]
fn a_directory_that_says_where_the_rest_of_a_repository_is_counts_as_one() {
    let bed = Bed::new();
    bed.file("w/linked/HEAD", "ref: refs/heads/main\n");
    bed.file("w/linked/commondir", "../elsewhere\n");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for held in ["commondir", "config", "hooks/pre-commit", "index"] {
        assert!(!run.tries(Intent::Create, &format!("w/linked/{held}"), Detail::None), "{held}");
    }
    assert!(!run.renames("w/linked", "w/moved"));
    assert!(run.tries(Intent::Create, "w/linked/COMMIT_EDITMSG", Detail::None));
}

#[test]
fn a_new_directory_that_becomes_a_repository_is_reported() {
    let bed = Bed::new();
    // Within a repository it becomes none.
    fs::remove_dir_all(bed.at("w/.git")).unwrap();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    // The second among directories in which nothing else that runs later is looked for.
    run.makes_dir("w/.cache");
    for new in ["w/new", "w/.cache/new"] {
        run.makes_dir(new);
        for (name, text) in [("commondir", "../own"), ("HEAD", "ref: refs/heads/main")] {
            let at = format!("{new}/{name}");
            assert!(run.tries(Intent::Create, &at, Detail::None), "{at}");
            bed.file(&at, text);
        }
    }
    let (_, _, changed) = run.observer.finish();
    let expected = [bed.at("w/.cache/new"), bed.at("w/new")];
    assert_eq!(boundary.settle(changed.as_ref()).new_repositories, expected);
}

#[test]
fn a_new_worktree_that_leads_out_is_reported() {
    for (head, expected) in [("ref: refs/heads/tree\n", 0), ("ref: ../../x\n", 1)] {
        let bed = Bed::new();
        let boundary = bed.boundary();
        let mut run = Run::new(&bed, &boundary);
        run.makes_dir("w/.git/worktrees");
        run.makes_dir("w/.git/worktrees/tree");
        run.makes_dir("w/tree");
        let dot_git = bed.at("w/tree/.git").display().to_string();
        let pointer = format!("gitdir: {}\n", bed.at("w/.git/worktrees/tree").display());
        for (name, text) in [
            ("w/.git/worktrees/tree/gitdir", format!("{dot_git}\n")),
            ("w/.git/worktrees/tree/HEAD", head.to_owned()),
            ("w/.git/worktrees/tree/commondir", "../..\n".to_owned()),
            ("w/tree/.git", pointer),
        ] {
            assert!(run.tries(Intent::Create, name, Detail::None), "{name}");
            bed.file(name, text);
        }
        let (_, _, changed) = run.observer.finish();
        assert_eq!(boundary.settle(changed.as_ref()).new_repositories.len(), expected, "{head}");
    }
}

#[test]
fn a_new_working_tree_is_looked_at_when_it_becomes_one() {
    let bed = Bed::new();
    bed.file("w/.git/config", "[core]\n\thooksPath = .githooks\n");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    run.makes_dir("w/wt");
    let hook = "w/wt/.githooks";
    assert!(run.tries(Intent::MakeDir, hook, Detail::None), "no working tree yet");
    run.makes_dir("w/.git/worktrees");
    run.makes_dir("w/.git/worktrees/wt");
    let ties = [
        ("w/.git/worktrees/wt/gitdir", format!("{}\n", bed.at("w/wt/.git").display())),
        ("w/wt/.git", format!("gitdir: {}\n", bed.at("w/.git/worktrees/wt").display())),
        ("w/.git/worktrees/wt/commondir", "../..\n".to_owned()),
    ];
    for (path, text) in ties {
        assert!(run.tries(Intent::Create, path, Detail::None), "{path}");
        bed.file(path, "");
        run.carried_out(Intent::Create, path);
        // It is looked at while it is written.
        let _ = run.tries(Intent::Create, "w/wt/file", Detail::None);
        bed.file(path, text);
    }
    assert!(!run.tries(Intent::MakeDir, hook, Detail::None));
    assert!(run.tries(Intent::Create, "w/wt/file", Detail::None));
}

#[test]
fn a_repository_is_found_among_dependencies_that_move() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    bed.dir("w/node_modules");
    for top in ["w/node_modules/p", "w/box/node_modules/p"] {
        bed.0.make_git_dir(&format!("{top}/.git"));
    }
    assert!(!run.renames("w/box", "w/other"), "one that was there");
    assert!(!run.renames("w/node_modules/p", "w/node_modules/q"), "one that was there, among dependencies");
    bed.file("w/node_modules/r/.vscode/tasks.json", "{}");
    assert!(run.renames("w/node_modules/r", "w/node_modules/s"), "names mean nothing there");
}

#[test]
fn no_worktree_is_put_around_a_repository_of_the_run() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    for own in [false, true] {
        let mut run = Run::new(&bed, &boundary);
        let (name, wt) = (format!("wt-{own}"), format!("w/wt-{own}"));
        run.makes_dir(&wt);
        run.makes_dir(&format!("{wt}/inner"));
        if own {
            run.makes_dir(&format!("{wt}/inner/.git"));
        }
        let git_dir = format!("w/.git/worktrees/{name}");
        if !own {
            run.makes_dir("w/.git/worktrees");
        }
        run.makes_dir(&git_dir);
        bed.file(&format!("{git_dir}/gitdir"), format!("{}\n", bed.at(&format!("{wt}/.git")).display()));
        assert_eq!(run.tries(Intent::Create, &format!("{wt}/.git"), Detail::None), !own);
    }
}

/// A worktree's `.git` file can be written to lead there.
#[test]
fn what_becomes_a_repository_within_another_one_names_no_program() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    let plain = "[core]\n\tbare = true\n";
    for (name, config, by_git, hook, expected) in [
        ("git", plain, true, false, true),
        ("hook", plain, true, true, false),
        ("program", "[core]\n\tfsmonitor = x\n", true, false, false),
        ("still-open", plain, false, false, false),
    ] {
        let mut run = Run::new(&bed, &boundary);
        let at = |below: &str| format!("w/{name}/{below}");
        for below in ["", "refs", "hooks"] {
            run.makes_dir(at(below).trim_end_matches('/'));
        }
        bed.file(&at("hooks/x.sample"), "");
        if hook {
            bed.file(&at("hooks/post-checkout"), "");
        }
        if by_git {
            run.replaces(&at("config.lock"), &at("config"), config);
        } else {
            bed.file(&at("config"), config);
        }
        bed.file(&at("HEAD"), "ref: refs/heads/main\n");
        assert_eq!(run.tries(Intent::MakeDir, &at("objects"), Detail::None), expected, "{name}");
    }
}

/// A `.git` file can name any repository, whichever expects it: its text is written without another call.
#[test]
fn no_git_file_in_an_old_working_tree_leads_to_an_untrusted_repository() {
    const PLAIN: &str = "[core]\n\tbare = false\n";
    const RUNS: &str = "[core]\n\tfsmonitor = ./x\n";
    for (order, git_file, config, expected) in [
        ("configured first", "w/old/wt/.git", PLAIN, (false, true)),
        ("configured first", "w/old/wt/.git", RUNS, (false, true)),
        ("configured first", "w/docs/.git", RUNS, (true, true)),
        ("pointer first", "w/old/wt/.git", PLAIN, (true, true)),
        ("pointer first", "w/old/wt/.git", RUNS, (true, false)),
        ("pointer first", "w/docs/.git", RUNS, (true, true)),
    ] {
        let bed = Bed::above_a_repository();
        let boundary = bed.boundary();
        let mut run = Run::new(&bed, &boundary);
        run.makes_dir("w/old/wt");
        run.makes_dir("w/old/.git/worktrees");
        run.makes_dir("w/old/.git/worktrees/wt");
        bed.file("w/old/.git/worktrees/wt/gitdir", format!("{}\n", bed.at(git_file).display()));
        run.makes_dir("w/own");
        run.makes_dir("w/own/.git");
        let configures = |run: &mut Run<'_>| {
            run.locks("w/own/.git/config.lock", config);
            run.renames("w/own/.git/config.lock", "w/own/.git/config")
        };
        let points = |run: &mut Run<'_>| run.tries(Intent::Create, git_file, Detail::None);
        let found = if order == "pointer first" {
            let pointed = points(&mut run);
            (pointed, configures(&mut run))
        } else {
            let renamed = configures(&mut run);
            (points(&mut run), renamed)
        };
        assert_eq!(found, expected, "{order}: {git_file} {config}");
        let hook = run.tries(Intent::Create, "w/own/.git/hooks/pre-commit", Detail::None);
        assert_eq!(hook, !found.0 || git_file == "w/docs/.git", "{order}: {git_file} {config}");
    }
}
