//! git inside a granted folder: {layouts} × {operations that work} × {attacks that do not}.
//!
//! Every operation has to end as it does without pinfold, and every attack has to win without it: an attack that
//! never wins would prove nothing.

use std::process::Output;

use pinfold_testkit::tree::snapshot;
use pinfold_tests::git_bed::{GitBed, Section, sections};
use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Tier, Who, each};

/// What a person does in a repository after the agent is done. Runs hooks, the file system monitor, filters.
const VICTIM: &str = "git status; git commit -q --allow-empty -m v; cd \"$F\" && git status; cd \"$F/sub\" && git commit -q --allow-empty -m v; \
                      cd \"$G\" && git worktree list";

fn layouts() -> Vec<Section> {
    sections(include_str!("../git/layouts.txt"), &["folder", "repo"])
}

fn attacks() -> Vec<Section> {
    sections(include_str!("../git/attacks.txt"), &["on", "took"])
}

/// In a layout, where it can be tried here.
fn with_layout(who: Who, name: &str, test: impl Fn(&GitBed, &Section)) {
    if all_there("the git matrix", &["git", "cp", "sh"]) && Tier::Full.is_possible_for(who) {
        let layout = layouts().into_iter().find(|l| l.name == name).expect("a layout of the list");
        test(&GitBed::new(who, &layout), &layout);
    }
}

/// A script that does every operation and says how each ended.
fn operations() -> String {
    let mut script = String::from("export GIT_EDITOR=true\n");
    for line in include_str!("../git/operations.txt").lines().filter(|l| !l.starts_with('#')) {
        match line.strip_prefix("! ") {
            Some(shell) => script.extend([shell, "\n"]),
            None => script.extend([
                "if said=$(git ",
                line,
                " 2>&1 </dev/null); then echo 'ok ",
                line,
                "'; else echo \"failed ",
                line,
                ": $said\"; fi\n",
            ]),
        }
    }
    script
}

fn failed(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("ok status"), "{}", describe(output));
    text.lines().filter(|l| l.starts_with("failed")).map(str::to_owned).collect()
}

fn every_operation_works_as_it_does_outside(who: Who, name: &str) {
    with_layout(who, name, |bed, layout| {
        let free = bed.free(&operations());
        assert_eq!(failed(&free), Vec::<String>::new(), "{}: does not even work outside", layout.name);
        bed.reset();
        let confined = bed.confined(&operations());
        assert_eq!(failed(&confined), Vec::<String>::new(), "{}", layout.name);
        assert!(confined.status.success(), "{}: {}", layout.name, describe(&confined));
    });
}

fn tracking_stored_inside_is_there_outside(who: Who, name: &str) {
    with_layout(who, name, |bed, layout| {
        let stored = bed.confined(
            "git checkout -q -b mine origin/other && { git config core.pager ./x || echo refused; }",
        );
        assert!(stored.status.success(), "{}: {}", layout.name, describe(&stored));
        let outside = bed.free("git rev-parse --abbrev-ref mine@{upstream}; git config --local core.pager");
        assert_eq!(String::from_utf8_lossy(&outside.stdout), "origin/other\n", "{}", layout.name);
        // A private copy is there for the repository that the folder belongs to; in another one nothing else is stored.
        let copied = !["nested", "bare"].contains(&layout.name.as_str());
        let said = if copied { "core.pager" } else { "refused" };
        assert!(
            describe(&stored).contains(said),
            "{}: what was not kept is said: {}",
            layout.name,
            describe(&stored)
        );
    });
}

fn every_attack_wins_outside_and_loses_inside(who: Who, name: &str) {
    with_layout(who, name, |bed, layout| {
        // That an attack wins outside needs to be shown once, not for every user.
        let shown = Who::present().first() != Some(&who);
        let mut wrong = Vec::new();
        for attack in attacks() {
            let on = attack.key("on").expect("an attack says where it applies");
            if on != "all" && !on.split(' ').any(|name| name == layout.name) {
                continue;
            }
            bed.reset();
            if !shown {
                let free = bed.free(&attack.script);
                if !took(bed, &attack) {
                    wrong.push(format!("{}: harmless even outside: {}", attack.name, describe(&free)));
                }
                bed.reset();
            }
            let confined = bed.confined(&attack.script);
            if took(bed, &attack) {
                wrong.push(format!("{}: {}", attack.name, describe(&confined)));
            }
        }
        assert!(wrong.is_empty(), "{} as {}:\n{}", layout.name, bed.who(), wrong.join("\n"));
    });
}

fn took(bed: &GitBed, attack: &Section) -> bool {
    if let Some(test) = attack.key("took") {
        return bed.free(test).status.success();
    }
    // How the commands end says nothing: the attack may have broken the repository.
    bed.free(VICTIM);
    bed.ran().exists()
}

fn a_run_that_writes_nothing_leaves_nothing(who: Who, name: &str) {
    let status = "GIT_OPTIONAL_LOCKS=0 git status --porcelain --ignored -uall";
    with_layout(who, name, |bed, layout| {
        let before = (snapshot(&bed.folder()), bed.free(status).stdout);
        let inside = bed.confined(status);
        assert_eq!(inside.stdout, before.1, "{}: status inside: {}", layout.name, describe(&inside));
        let after = (snapshot(&bed.folder()), bed.free(status).stdout);
        assert_eq!(after, before, "{}", layout.name);
        let whole = snapshot(&bed.tree()).into_iter().filter(|l| l.contains("/.git")).count();
        assert!(whole > 0, "{}: the snapshot sees git directories", layout.name);
    });
}

/// Not even what it is held by stays, where the kernel can hand calls over.
#[each(user)]
fn a_run_that_is_killed_leaves_nothing_in_its_folder(who: Who) {
    with_layout(who, "plain", |bed, _| {
        let before = snapshot(&bed.folder());
        let script = format!(
            "'{}' run --folder \"$F\" -- sh -c 'echo > \"$F/started\"; sleep 60' & run=$!
             for i in $(seq 300); do [ -e \"$F/started\" ] && break; sleep 0.1; done
             rm \"$F/started\" && kill -9 $run; wait $run; echo $?",
            pinfold().display()
        );
        let killed = bed.free(&script);
        assert!(describe(&killed).contains("137"), "{}", describe(&killed));
        assert_eq!(snapshot(&bed.folder()), before);
    });
}

#[each(user)]
fn a_worktree_made_inside_is_known_and_one_that_lies_is_told(who: Who) {
    let lies = [
        // Written down like one, and then leading to a directory of the run's own.
        "git init -q own; mkdir -p $G/worktrees/lie; echo $PWD/lie/.git > $G/worktrees/lie/gitdir; \
         mkdir lie; echo \"gitdir: $PWD/own/.git\" > lie/.git",
        // A true one with another repository behind it.
        "git init -q own; git worktree add -q -b lie lie; echo $PWD/own/.git > $G/worktrees/lie/commondir",
        // A true one with configuration, or commands to run, of its own.
        "git worktree add -q -b lie lie; printf '[core]\n\tfsmonitor = x\n' > $G/worktrees/lie/config.worktree",
        "git worktree add -q -b lie lie; mkdir $G/worktrees/lie/rebase-merge",
    ];
    with_layout(who, "plain", |bed, _| {
        let made = bed.confined("git worktree add -q -b more more && git -C more status");
        assert!(made.status.success(), "{}", describe(&made));
        assert!(made.stderr.is_empty(), "nothing to look at: {}", describe(&made));
        for script in lies {
            bed.reset();
            let made = bed.confined(script);
            assert!(describe(&made).contains("/lie/.git\n"), "{script}: {}", describe(&made));
        }
        bed.reset();
        let refused = bed.confined("mkdir lie; echo \"gitdir: $PWD/own/.git\" > lie/.git");
        assert!(!refused.status.success(), "nobody expects it: {}", describe(&refused));
    });
}

/// One module for each layout, so that they run side by side.
macro_rules! matrix {
    ($($module:ident: $layout:literal),* $(,)?) => {
        $(mod $module {
            use pinfold_tests::{Who, each};

            #[each(user)]
            fn every_operation_works_as_it_does_outside(who: Who) {
                super::every_operation_works_as_it_does_outside(who, $layout);
            }

            #[each(user)]
            fn tracking_stored_inside_is_there_outside(who: Who) {
                super::tracking_stored_inside_is_there_outside(who, $layout);
            }

            #[each(user)]
            fn every_attack_wins_outside_and_loses_inside(who: Who) {
                super::every_attack_wins_outside_and_loses_inside(who, $layout);
            }

            #[each(user)]
            fn a_run_that_writes_nothing_leaves_nothing(who: Who) {
                super::a_run_that_writes_nothing_leaves_nothing(who, $layout);
            }
        })*

        #[test]
        fn every_layout_of_the_list_is_tried() {
            let listed: Vec<String> = layouts().into_iter().map(|l| l.name).collect();
            assert_eq!(listed, [$($layout),*]);
        }
    };
}

matrix! {
    plain: "plain",
    worktree: "worktree",
    submodule: "submodule",
    superproject: "superproject",
    nested: "nested",
    bare: "bare",
    bare_worktree: "bare-worktree",
}
