//! Indexes and lists of conflicts: replaced by what stays in the working tree, and changed in no other way.

use std::fs;

use pinfold_sandbox::{Attempt, Detail, Intent, SyscallHandler as _};

use super::{Bed, FILE, GIT_DIRS, LINK, Run, entries, index, with_all_kinds};

#[test]
fn an_index_is_replaced_by_one_that_stays_in_the_working_tree() {
    let bed = with_all_kinds();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for git_dir in GIT_DIRS {
        for name in ["index", "sharedindex.0123"] {
            let (lock, target) = (format!("{git_dir}/index.lock"), format!("{git_dir}/{name}"));
            let _ = fs::remove_file(bed.at(&format!("{git_dir}/index")));
            for (path, expected) in [("dir/file", true), ("../../x", false), (".git/hooks/x", false)] {
                run.locks(&lock, index(path));
                assert_eq!(run.renames(&lock, &target), expected, "{target}: {path}");
            }
            run.locks(&lock, "no index");
            assert!(!run.renames(&lock, &target), "{target}");
        }
    }
}

#[test]
fn an_index_is_changed_in_no_other_way() {
    let bed = with_all_kinds();
    for git_dir in GIT_DIRS {
        bed.file(&format!("{git_dir}/index"), index("file"));
    }
    bed.file("w/good", index("file"));
    bed.dir("w/.git/own");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for git_dir in GIT_DIRS {
        let at = format!("{git_dir}/index");
        assert!(!run.tries(Intent::Write, &at, Detail::None), "{at}");
        assert!(!run.tries(Intent::Create, &at, Detail::None), "{at}");
        assert!(!run.names("w/good", &at), "a file with two names: {at}");
        assert!(!run.names(&at, "w/other"), "another name to write through: {at}");
        assert!(!run.exchanges("w/good", &at) && !run.exchanges(&at, "w/good"), "{at}");
        assert!(run.renames("w/good", &at), "what is in it counts, and not its name: {at}");
        assert!(run.tries(Intent::Remove, &at, Detail::None), "git makes a new one: {at}");
        assert!(run.tries(Intent::Create, &format!("{at}.lock"), Detail::Exclusive), "{at}");
    }
    assert!(!run.renames("w/.git/own", "w/.git/worktrees/new"), "with an index in it");
    run.locks("w/.git/refs/heads/index.lock", "0123\n");
    assert!(run.renames("w/.git/refs/heads/index.lock", "w/.git/refs/heads/index"), "a branch of that name");
}

#[test]
fn what_was_looked_at_is_what_becomes_the_index() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    run.locks("w/.git/index.lock", index("file"));
    assert!(run.renames("w/.git/index.lock", "w/.git/index"));
    // By a descriptor that was open before.
    bed.file("w/.git/index.lock", index("../x"));
    let (lock, at) = (bed.at("w/.git/index.lock"), bed.at("w/.git/index"));
    let attempts = [
        Attempt::new(1, Intent::MoveFrom, lock.clone()).with_detail(Detail::To(at.clone())),
        Attempt::new(1, Intent::MoveTo, at).with_detail(Detail::From(lock)),
    ];
    assert_eq!(run.observer.content_for(&attempts), Some(index("file")));
    assert_eq!(run.observer.content_for(&attempts), None, "once");
}

#[test]
fn a_shared_part_counts_together_with_the_index_that_names_it() {
    let bed = Bed::new();
    let name = "07".repeat(20);
    let (own, base) = ("w/.git/index", format!("w/.git/sharedindex.{name}"));
    let mut split = entries(&[("a/b", FILE)]);
    let end = split.len() - 20;
    split.splice(end.., [b"link".to_vec(), vec![0, 0, 0, 20], vec![7; 20], vec![0; 20]].concat());
    bed.file(own, &split);
    bed.file("w/link", entries(&[("a", LINK)]));
    bed.file("w/file", entries(&[("c", FILE)]));
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    assert!(!run.renames("w/link", &base), "an entry of the index would lie below it");
    assert!(run.renames("w/file", &base));
    assert!(run.renames("w/link", "w/.git/sharedindex.08"), "no index names it");
    bed.file(&base, entries(&[("a", LINK)]));
    bed.file("w/new", &split);
    assert!(!run.renames("w/new", own), "the other way round");
}

#[test]
fn a_list_of_conflicts_is_replaced_by_one_that_stays_in_the_working_tree() {
    let bed = with_all_kinds();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for git_dir in GIT_DIRS {
        let (lock, target) = (format!("{git_dir}/MERGE_RR.lock"), format!("{git_dir}/MERGE_RR"));
        for (path, expected) in [("dir/file", true), ("../../x", false), ("/etc/passwd", false)] {
            run.locks(&lock, format!("{}\t{path}\0", "0".repeat(40)));
            assert_eq!(run.renames(&lock, &target), expected, "{target}: {path}");
        }
        assert!(!run.tries(Intent::Create, &target, Detail::None), "{target}");
    }
}

#[test]
fn in_a_new_repository_an_index_is_written_as_any_file_unless_it_lies_in_another() {
    let bed = Bed::new();
    fs::remove_dir_all(bed.at("w/.git")).unwrap();
    let boundary = bed.boundary();
    for nested in [false, true] {
        if nested {
            bed.0.make_git_dir("w/.git");
        }
        let mut run = Run::new(&bed, &boundary);
        let top = format!("w/new-{nested}");
        for part in ["", "/.git", "/.git/refs", "/.git/objects"] {
            run.makes_dir(&format!("{top}{part}"));
        }
        for name in ["index", "MERGE_RR"] {
            let at = format!("{top}/.git/{name}");
            assert_eq!(
                run.tries(Intent::Create, &at, Detail::None),
                !nested,
                "{at}: `cp -a` of a repository"
            );
        }
    }
}
