//! Deny rules about paths bind processes: of a run and of the `Bash` tool, on both tiers, for every user. The cases stand in
//! `tests/denied/cases.txt`; each wins with nothing around it.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use pinfold_tests::bed::Bed;
use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Tier, Who, each};
use serde_json::json;

/// Files for reading, and files for writing.
const READ: [&str; 3] = ["secrets/x", "key.pem", "deep/er/k.pem"];
const WRITTEN: [&str; 2] = ["conf/a", "locked.txt"];

struct Case {
    name: String,
    deny: Vec<String>,
    guards: Option<String>,
    before: Option<String>,
    sh: String,
    says: Option<String>,
}

fn cases() -> Vec<Case> {
    let text = include_str!("../denied/cases.txt");
    let blocks = text.split("\n[").skip(1);
    let case = |block: &str| {
        let value = |key: &str| block.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
        Case {
            name: block.split(']').next().expect("a name").to_owned(),
            deny: value("deny: ").iter().flat_map(|rules| rules.split("; ")).map(str::to_owned).collect(),
            guards: value("guards: "),
            before: value("before: "),
            sh: value("sh: ").expect("a script"),
            says: value("says: "),
        }
    };
    blocks.map(case).collect()
}

/// A bed with files and settings in it.
fn bed(who: Who, deny: &[String], guards: Option<&str>) -> Bed {
    let bed = Bed::new(who);
    let put = |at: &Path, text: &str| {
        fs::create_dir_all(at.parent().expect("a directory")).expect("it can be made");
        fs::write(at, text).expect("it can be written");
    };
    for name in READ {
        put(&bed.folder().join(name), "TOP-SECRET KEEP\n");
    }
    for name in WRITTEN {
        put(&bed.folder().join(name), "KEEP\n");
    }
    for name in ["private/x", "notes/n"] {
        put(&bed.home().join(name), "TOP-SECRET\n");
    }
    let settings = json!({"permissions": {"allow": ["Bash"], "deny": deny},
                          "sandbox": {"denyRead": guards.into_iter().collect::<Vec<_>>()}});
    put(&bed.home().join(".config/pinfold/settings.json"), &settings.to_string());
    bed.give();
    bed
}

fn bed_of(who: Who, case: &Case) -> Bed {
    let bed = bed(who, &case.deny, case.guards.as_deref());
    if let Some(before) = &case.before {
        let done = bed.free("sh").args(["-c", before]).status().expect("a shell");
        assert!(done.success(), "{}: {before}", case.name);
    }
    bed
}

/// What was got past the rules.
fn harm(bed: &Bed, printed: &str) -> Option<String> {
    let kept = |name: &&&str| fs::read_to_string(bed.folder().join(name)).is_ok_and(|t| t.contains("KEEP"));
    if printed.contains("TOP-SECRET") {
        return Some("it was read".to_owned());
    }
    // What a case has closed to its user is looked at all the same.
    let opened = bed.free("chmod").args(["-R", "u+rwX", "."]).output().expect("chmod can be started");
    assert!(opened.status.success(), "{}", describe(&opened));
    READ.iter().chain(&WRITTEN).find(|name| !kept(name)).map(|name| format!("`{name}` was changed"))
}

fn script(bed: &Bed, case: &Case) -> String {
    case.sh.replace("$H", &bed.home().display().to_string())
}

#[test]
fn each_case_wins_when_nothing_holds_it() {
    for case in cases() {
        let bed = bed_of(Who::present()[0], &case);
        let free = bed.free("sh").args(["-c", &script(&bed, &case)]).output().expect("a shell");
        assert!(harm(&bed, &describe(&free)).is_some(), "{}: harmless: {}", case.name, describe(&free));
    }
}

#[each(user, tier)]
fn a_process_of_a_run_is_held(who: Who, tier: Tier) {
    for case in cases() {
        let bed = bed_of(who, &case);
        let output = bed.sh(tier, &script(&bed, &case));
        let printed = describe(&output);
        // The report names what was tried, and a rule is no content.
        let harm = harm(&bed, &String::from_utf8_lossy(&output.stdout));
        assert_eq!(harm, None, "{}, {who}, {tier}: {printed}", case.name);
        let says = case.says.as_deref();
        assert!(says.is_none_or(|says| printed.contains(says)), "{}, {who}, {tier}: {printed}", case.name);
    }
}

#[each(user)]
fn the_bash_tool_is_held(who: Who) {
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    for case in cases() {
        let bed = bed_of(who, &case);
        // Words are denied by words; what they do not say is left to the kernel.
        fs::write(bed.folder().join("script"), script(&bed, &case)).expect("a script");
        bed.give();
        for command in [script(&bed, &case), "sh ./script".to_owned()] {
            let input = json!({ "command": command }).to_string();
            let mut call = bed.free(pinfold());
            call.args(["call", "--allow-bash", "Bash", &input]);
            let output = call.output().expect("pinfold can be started");
            let harm = harm(&bed, &String::from_utf8_lossy(&output.stdout));
            assert_eq!(harm, None, "{}, {who}: {command}: {}", case.name, describe(&output));
        }
    }
}

/// The control: beside what is denied everything goes on, for names that come later too.
#[each(user, tier)]
fn what_no_rule_denies_is_read_and_written(who: Who, tier: Tier) {
    let deny = ["Read(./secrets/**)", "Edit(./locked.txt)", "Read(**/*.pem)"];
    let bed = bed(who, &deny.map(str::to_owned), None);
    // With Landlock alone what appears beside a hidden place can be read and not run.
    let runs = if tier == Tier::Full { "./run" } else { "sh run" };
    let script = "set -e; echo new > fresh; cat fresh; mkdir d; echo more > d/f; cat d/f; mv d e; cat e/f; \
                  cat locked.txt; echo changed > conf/a; cat conf/a; printf '#!/bin/sh\necho ran\n' > run; \
                  chmod 755 run; $RUN; git init -q r; git -C r status --short; rm -r e fresh";
    let output = bed.sh(tier, &script.replace("$RUN", runs));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed, "new\nmore\nmore\nKEEP\nchanged\nran\n", "{who}, {tier}: {}", describe(&output));
}

/// Made from outside while the run goes on: nothing could hide it.
#[each(user, tier)]
fn what_appears_during_the_run_is_looked_at_when_it_is_read(who: Who, tier: Tier) {
    let bed = bed(who, &["Read(./later/**)", "Read(*.key)"].map(str::to_owned), None);
    let script = "touch started; until [ -e free/there ]; do sleep 0.02; done; cat later/x; cat $PWD/later/x; \
                  cat a.key; cd later; cat x; cat ../free/there";
    let mut running = bed.run(tier, &[]);
    running.args(["sh", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = running.spawn().expect("pinfold can be started");
    let folder = bed.folder();
    while !folder.join("started").exists() {
        sleep(Duration::from_millis(10));
    }
    for directory in ["later", "made"] {
        fs::create_dir(folder.join(directory)).expect("it is new");
    }
    for name in ["later/x", "a.key"] {
        fs::write(folder.join(name), "TOP-SECRET\n").expect("it is new");
    }
    fs::write(folder.join("made/there"), "there\n").expect("it is new");
    bed.give();
    fs::rename(folder.join("made"), folder.join("free")).expect("it is there");
    let output = running.wait_with_output().expect("it ends");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed, "there\n", "{who}, {tier}: {}", describe(&output));
}

/// `--deny-read` of a place that is not there yet: it is not made there, and what outside puts there is not read.
#[each(user, tier)]
fn what_the_command_line_denies_is_held_when_it_appears_later(who: Who, tier: Tier) {
    for (made, script) in [
        ("later", "echo TOP-SECRET > later; cat later"),
        ("sub/later", "mkdir sub; echo TOP-SECRET > sub/later; cat sub/later"),
        ("later", "echo TOP-SECRET > x; mv x later; cat later"),
    ] {
        let bed = Bed::new(who);
        let run =
            |options: &[&str]| bed.run(tier, options).args(["sh", "-c", script]).output().expect("a run");
        let output = run(&["--deny-read", made]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("TOP-SECRET"), "{who}, {tier}, {made}: {}", describe(&output));
        let free = run(&["--deny-read", "other"]);
        assert!(String::from_utf8_lossy(&free.stdout).contains("TOP-SECRET"), "control: {}", describe(&free));
    }
}
