//! The way in does not change the verdict: one table of calls, through every way in, decision and step.
//!
//! Cases stand in `tests/ways_in/cases.jsonl`, what a way may say otherwise in `tests/ways_in/differences.txt`.

use std::collections::{BTreeMap, BTreeSet};

use pinfold_tests::ways_in::{Case, Difference, Seen, Way, cases, person};
use pinfold_tests::{Tier, each};

/// What a way is expected to say; `None` where it has no such call.
fn expected(
    case: &Case,
    way: &str,
    all: &BTreeMap<String, Difference>,
    used: &mut BTreeSet<String>,
) -> Option<Seen> {
    let as_the_case = || Seen { decision: case.decision.clone(), step: case.step.clone() };
    // What holds for every call of a way does not hold for this one.
    if case.differs.get(way).is_some_and(|name| name == "-") {
        return Some(as_the_case());
    }
    if let Some(name) = case.differs.get(way) {
        let difference = all.get(name).unwrap_or_else(|| panic!("{}: no difference `{name}`", case.name));
        assert!(difference.is_for(way), "{}: `{name}` is not for {way}", case.name);
        used.insert(name.clone());
        return difference.seen();
    }
    let whenever = all.iter().find(|(_, difference)| {
        difference.is_for(way) && difference.holds_whenever(&case.decision, &case.step)
    });
    match whenever {
        Some((name, difference)) => {
            used.insert(name.clone());
            difference.seen()
        }
        None => Some(as_the_case()),
    }
}

#[test]
fn every_way_in_says_the_same() {
    let all = Difference::all();
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    for case in cases() {
        let driven = case.driven();
        for way in Way::ALL {
            let Some(expected) = expected(&case, way.name(), &all, &mut used) else { continue };
            let seen = driven.seen(way);
            if seen != expected {
                wrong.push(format!("{}: {}: {seen:?}, expected {expected:?}", case.name, way.name()));
            }
        }
        if driven.judge_was_asked() != case.judged {
            wrong.push(format!("{}: the judge was asked: {}", case.name, !case.judged));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    if std::env::var_os("ONLY").is_none() {
        let elsewhere = |name: &str| name.starts_with("run-") || name.starts_with("inside-");
        let whole: BTreeSet<String> = all.keys().filter(|name| !elsewhere(name)).cloned().collect();
        let idle: Vec<_> = whole.difference(&used).collect();
        assert!(idle.is_empty(), "differences that no case has: {idle:?}");
    }
}

/// What is allowed is said as a yes only where a rule, a grant, the judge or the class of what only reads is behind it.
#[test]
fn a_hook_says_yes_to_no_more_than_was_said_or_is_harmless() {
    let mut wrong = Vec::new();
    for case in cases() {
        let all = Difference::all();
        let Some(seen) = expected(&case, "hook", &all, &mut BTreeSet::new()) else { continue };
        let answer = match seen.decision.as_str() {
            "ask" if case.judged => "allow",
            "allow" => {
                case.hook.as_deref().unwrap_or_else(|| panic!("{}: what does the hook say?", case.name))
            }
            other => other,
        };
        let said = case.driven().hooked();
        if said != answer {
            wrong.push(format!("{}: the hook says {said}, expected {answer}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Inside a run the shell of the agent is held, and judged like one of our own tools.
#[each(tier)]
fn a_hook_inside_a_run_says_what_our_own_tools_say(tier: Tier) {
    let all = Difference::all();
    if !tier.is_possible_for(person()) {
        return;
    }
    let mut wrong = Vec::new();
    for case in cases() {
        let way = if case.differs.contains_key("inside") { "inside" } else { "call" };
        let Some(own) = expected(&case, way, &all, &mut BTreeSet::new()) else { continue };
        let held = case.tool == "Bash" && own.step != "bypass-mode";
        let own = if case.judged { "allow" } else { own.decision.as_str() };
        let said = case.driven().hooked_inside(tier);
        let agrees = match own {
            // What holds it says so.
            "allow" if held => said == "allow",
            "allow" => said == "allow" || said == "silence",
            other => said == other,
        };
        let private = tier != Tier::Full && case.differs.get("hook").is_some_and(|name| name == "own-tmp");
        if !agrees && !private {
            wrong.push(format!("{}: the hook inside says {said}, our tools {own}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{tier:?}: {}", wrong.join("\n"));
}

/// What is allowed can be done by a process of a run, and what is not cannot.
#[test]
fn a_process_of_a_run_can_do_what_is_allowed() {
    if !Tier::Full.is_possible_for(person()) {
        return;
    }
    let all = Difference::all();
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    for case in cases() {
        let Some(run) = &case.run else { continue };
        let named = case.differs.get("run");
        if let Some(name) = named {
            assert!(all.get(name).is_some_and(|known| known.is_for("run")), "{}: `{name}`", case.name);
            used.insert(name.clone());
        }
        assert_eq!(run.done == (case.decision == "allow"), named.is_none(), "{}: a difference", case.name);
        let (done, told) = case.driven().done_in_a_run(&run.sh);
        if done != run.done {
            wrong.push(format!("{}: done: {done}\n{told}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if std::env::var_os("ONLY").is_none() {
        let idle: Vec<_> =
            all.keys().filter(|name| name.starts_with("run-") && !used.contains(*name)).collect();
        assert!(idle.is_empty(), "differences that no case has: {idle:?}");
    }
}

/// A command of which only the hold of the kernel says that it needs no question.
const HELD: &str = "make --version";

/// What stands around a hook that is no run: a name, and a script that ends in `exec "$@"`.
const NO_RUNS: [(&str, &str); 7] = [
    ("nothing", "exec \"$@\""),
    ("the marks of a run in the environment", "PINFOLD=1 PINFOLD_RUN=run-1 TMPDIR=/tmp/x exec \"$@\""),
    ("no way to more rights, and the marks", "PINFOLD=1 exec setpriv --no-new-privs \"$@\""),
    (
        "a sandbox of another kind",
        "PINFOLD=1 exec bwrap --unshare-all --die-with-parent --bind / / --proc /proc --dev /dev \"$@\"",
    ),
    (
        "the same with a filter of system calls that lets everything through",
        "printf '\\006\\000\\000\\000\\000\\000\\377\\177' > \"$HOME/filter\"
         PINFOLD=1 exec bwrap --unshare-all --bind / / --proc /proc --dev /dev --seccomp 9 \"$@\" 9< \"$HOME/filter\"",
    ),
    (
        "a process table of its own, with what is looked for laid out as files",
        "PINFOLD=1 exec unshare --user --map-root-user --mount sh -c '
         mount -t tmpfs none /proc && mkdir -p /proc/self/fd &&
         printf \"NoNewPrivs:\\t1\\nSeccomp:\\t2\\n\" > /proc/self/status &&
         for n in 0 1 2 3; do echo \"{}\" > /proc/pinfold-attestation-$n; done; exec \"$@\"' sh \"$@\"",
    ),
    (
        "its status alone faked over the kernel's own table",
        "PINFOLD=1 exec unshare --user --map-root-user --mount sh -c '
         printf \"NoNewPrivs:\\t1\\nSeccomp:\\t2\\n\" > \"$HOME/status\" &&
         mount --bind \"$HOME/status\" /proc/$$/status; exec \"$@\"' sh \"$@\"",
    ),
];

/// Only the supervisor of a run says that a hook is inside it: what a program outside every run can arrange does not.
#[test]
fn nothing_but_a_run_passes_for_one() {
    let case = cases_with(HELD);
    let own_words = case.driven();
    for (about, around) in NO_RUNS {
        let (said, told) = own_words.hooked_around(around);
        // Where the machine does not let it be arranged, nothing was asked.
        assert!(said != "allow", "{about}: {told}");
        assert!(said == "ask" || about != "nothing", "{about}: {said}: {told}");
    }
    for tier in Tier::ALL {
        if tier.is_possible_for(person()) {
            assert_eq!(case.driven().hooked_inside(tier), "allow", "the control, {tier:?}");
        }
    }
}

fn cases_with(command: &str) -> Case {
    let text = serde_json::json!({"name": "a held command", "tool": "Bash", "input": {"command": command},
                                  "decision": "allow", "step": "mode-default"});
    serde_json::from_value(text).expect("a case")
}
