//! What processes try outside is asked about while they wait, and a yes is done by the supervisor as the process asked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::runs::{RunBed, TIERS, no, yes};
use pinfold::audit::Ruled;
use pinfold::consent::Choice;
use pinfold_sandbox::Tier;

#[test]
fn yes_does_it_and_no_is_permission_denied() {
    for tier in TIERS {
        let bed = RunBed::new();
        let script = "echo one > $OUT/f && cat $OUT/f";
        let ran = bed.run(tier, script, no);
        assert!(ran.said.contains("f: Permission denied"), "{tier}: {}", ran.said);
        assert!(!bed.outside.join("f").exists());
        assert_eq!(ran.tried.refused[0].program, "bash");
        assert!(ran.tried.refused[0].why.contains("not there"), "{:?}", ran.tried.refused);

        let ran = bed.run(tier, script, yes);
        assert_eq!(ran.said, "one\n", "{tier}");
        assert_eq!(ran.acts(), ["create f"]);
        let [done] = ran.tried.approved.as_slice() else { panic!("{:?}", ran.tried) };
        assert_eq!((done.did, &done.place, done.times), ("create", &bed.outside.join("f"), 1));
        assert!(ran.tried.refused.is_empty(), "{:?}", ran.tried.refused);
        let process = ran.asked[0].asker.process.as_ref().unwrap();
        assert_eq!(process.program, "bash");
        assert!(
            process.command_line.ends_with("'echo one > $OUT/f && cat $OUT/f'"),
            "{}",
            process.command_line
        );
    }
}

/// Every kind of operation: what is asked, and that it is done as the kernel would have done it.
#[test]
fn each_deed_is_done_as_it_was_asked_for() {
    for tier in TIERS {
        for (script, asked) in [
            ("echo x > $OUT/new", "create new"),
            ("echo x > $OUT/old; cat $OUT/old", "overwrite old"),
            ("echo x >> $OUT/old; cat $OUT/old", "write old"),
            ("exec 3<> $OUT/old; cat <&3; echo x >&3; cat $OUT/old", "write old|read old"),
            ("mkdir -m 700 $OUT/d", "make directory (mode 0700) d"),
            ("rm -f $OUT/old", "remove old"),
            ("rmdir $OUT/empty", "remove empty directory empty"),
            ("mv $OUT/old $OUT/renamed", "move away old|give it the name renamed"),
            ("mv -f $OUT/old $OUT/other; cat $OUT/other", "move away old|put it in place of other"),
            ("ln $OUT/old $OUT/second", "give a second name to old|make a hard link to it at second"),
            ("ln -s old $OUT/link; readlink $OUT/link", "make a link that leads to `old` at link"),
            ("perl -e 'truncate(\"$ENV{OUT}/old\", 3) or die'; cat $OUT/old", "cut to 3 bytes old"),
            ("chmod 600 $OUT/old", "set mode 0600 of old"),
            ("perl -e 'utime(undef, undef, \"$ENV{OUT}/old\") or die'", "set the times to now of old"),
            ("touch -d @1000000 $OUT/old", "write old"),
            ("chown $(id -u) $OUT/old", "set owner UID:- of old"),
            ("echo in > in && mv in $OUT/moved && cat $OUT/moved", "move away in|give it the name moved"),
            ("mv $OUT/old here && cat here", "move away old|give it the name here"),
        ] {
            let free = RunBed::new();
            let held = RunBed::new();
            for bed in [&free, &held] {
                fs::write(bed.outside.join("old"), "old\ntext\n").unwrap();
                fs::write(bed.outside.join("other"), "other\n").unwrap();
                fs::create_dir(bed.outside.join("empty")).unwrap();
            }
            // The control: the same without a sandbox.
            let control = std::process::Command::new("bash")
                .args(["-c", script])
                .env("OUT", &free.outside)
                .current_dir(&free.folder)
                .output()
                .unwrap();
            assert!(control.status.success(), "{script}: {control:?}");
            let ran = held.run(tier, script, yes);
            assert_eq!(ran.said.as_bytes(), control.stdout, "{tier} {script}");
            let asked = asked.replace("UID", &fs::metadata(&held.folder).unwrap().uid().to_string());
            assert_eq!(ran.acts().join("|"), asked, "{tier} {script}");
            assert_eq!(looks(&held), looks(&free), "{tier} {script}");
        }
    }
}

/// Names, kinds, modes and content of what lies in the folder and outside.
fn looks(bed: &RunBed) -> Vec<String> {
    let mut looks = Vec::new();
    for top in [&bed.folder, &bed.outside] {
        for entry in fs::read_dir(top).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
            let then = if meta.mtime() == 1_000_000 { "then" } else { "" };
            let name = path.strip_prefix(top.parent().unwrap()).unwrap().display();
            looks.push(format!(
                "{name} {:o} {} {content:?}{then}",
                meta.mode(),
                if meta.is_dir() { 0 } else { meta.nlink() }
            ));
        }
    }
    looks.sort();
    looks
}

#[test]
fn one_place_is_asked_about_once_and_another_is_another_question() {
    for tier in TIERS {
        let bed = RunBed::new();
        let script = "for i in 1 2 3; do echo $i >> $OUT/log; done; touch $OUT/log; echo x > $OUT/b";
        let ran = bed.run(tier, script, yes);
        assert_eq!(ran.acts(), ["create log", "create b"], "{tier}: {}", ran.said);
        assert_eq!(fs::read_to_string(bed.outside.join("log")).unwrap(), "1\n2\n3\n");
    }
}

#[test]
fn a_grant_for_the_folder_lasts_for_the_session() {
    let bed = RunBed::new();
    fs::create_dir(bed.outside.join("d")).unwrap();
    let script = "for i in 1 2 3 4; do echo $i > $OUT/d/$i; done; echo x > $OUT/else";
    let ran = bed.run(Tier::Full, script, |request| {
        let folder = request.offer.session.iter().position(|width| width.says.contains("anything in"));
        folder.map_or(Choice::Yes, Choice::session)
    });
    assert_eq!(ran.said, "");
    assert_eq!(ran.acts(), ["create 1", "create else"]);
    assert_eq!(fs::read_dir(bed.outside.join("d")).unwrap().count(), 4);
}

#[test]
fn what_fails_anyway_is_no_question() {
    for tier in TIERS {
        let bed = RunBed::new();
        fs::create_dir(bed.outside.join("d")).unwrap();
        fs::write(bed.outside.join("f"), "f").unwrap();
        let script = "mkdir $OUT/d; rmdir $OUT/none; echo x > $OUT/no/ne; echo x > $OUT/d; rm -f $OUT/none; \
                      set -C; echo x > $OUT/f; true";
        let ran = bed.run(tier, script, |request| panic!("{request:?}"));
        for words in ["File exists", "No such file or directory", "Is a directory", "cannot overwrite"] {
            assert!(ran.said.contains(words), "{tier} {words}: {}", ran.said);
        }
        assert_eq!(fs::read_to_string(bed.outside.join("f")).unwrap(), "f");
    }
}

#[test]
fn what_is_held_inside_or_hidden_stays_a_wall() {
    for tier in TIERS {
        let bed = RunBed::new();
        for part in [".git/hooks", ".git/objects", ".git/refs", ".vscode"] {
            fs::create_dir_all(bed.folder.join(part)).unwrap();
        }
        fs::write(bed.folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(bed.folder.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
        fs::create_dir(bed.home.join(".aws")).unwrap();
        fs::write(bed.home.join(".aws/credentials"), "secret").unwrap();
        fs::write(bed.folder.join("f"), "f").unwrap();
        let script = "echo x > .git/hooks/pre-commit; echo x > .vscode/tasks.json; echo x > .mcp.json; \
                      mv f .git/hooks/pre-push; mkdir -p sub && echo x > sub/.git; \
                      echo x > $HOME/.aws/credentials; ln $OUT/../home/.aws/credentials here; \
                      echo x > /proc/sys/kernel/hostname; echo x > /sys/kernel/mm/ksm/run; true";
        let ran = bed.run(tier, script, |request| panic!("{request:?}"));
        assert!(!bed.folder.join(".git/hooks/pre-commit").exists(), "{tier}: {}", ran.said);
        assert!(!bed.folder.join("here").exists() && !bed.folder.join("sub/.git").exists());
        assert_eq!(fs::read_to_string(bed.home.join(".aws/credentials")).unwrap(), "secret");
        // The control: the same place, unguarded.
        let ran = bed.run(tier, "echo x > $HOME/.plain", yes);
        assert_eq!(ran.acts(), ["create .plain"], "{tier}");
    }
}

#[test]
fn sensitive_places_offer_nothing_standing() {
    let bed = RunBed::new();
    let ran = bed.run(Tier::Full, "echo x >> $HOME/.bashrc; echo y >> $HOME/.bashrc", |request| {
        assert!(request.always_ask && request.offer.session.is_empty() && request.offer.always.is_empty());
        Choice::Yes
    });
    assert_eq!(ran.asked.len(), 2, "{}", ran.said);
    assert_eq!(fs::read_to_string(bed.home.join(".bashrc")).unwrap(), "x\ny\n");
}

#[test]
fn private_places_of_a_run_are_its_own_business() {
    let bed = RunBed::new();
    let script = "echo a > /tmp/a && echo b > /dev/shm/b && cat /tmp/a /dev/shm/b; echo c > /run/c; echo d > /dev/null";
    let ran = bed.run(Tier::Full, script, |request| panic!("{request:?}"));
    assert!(ran.said.contains("a\nb\n"), "{}", ran.said);
    assert!(!std::path::Path::new("/run/c").exists());
}

#[test]
fn every_question_and_its_end_is_in_the_record() {
    let bed = RunBed::new();
    bed.run(Tier::Full, "echo x > $OUT/a", yes);
    bed.run(Tier::Full, "echo x > $OUT/b", no);
    let records = bed.journal.records();
    let words: Vec<_> = records
        .iter()
        .map(|record| {
            assert_eq!(record.tool, "Process");
            let (decided, answered) = (record.event.decision(), record.event.answer());
            let ended = record.event.outcome().map(|outcome| outcome.end.to_string());
            let ruled = decided.map(|told| {
                if told.ruling == Ruled::Question {
                    assert_eq!(told.process.as_ref().unwrap().program, "bash");
                }
                format!("{:?}", told.ruling)
            });
            ruled.or(answered.map(|told| told.choice.to_string())).or(ended).unwrap()
        })
        .collect();
    assert_eq!(words, ["Question", "yes", "Permit", "done", "Question", "no", "Refusal"]);
}

#[test]
fn the_mode_of_what_is_made_is_what_its_maker_said() {
    for tier in TIERS {
        let bed = RunBed::new();
        let script = "umask 077; echo x > $OUT/a; mkdir $OUT/d; umask 0; echo x > $OUT/b; mkdir $OUT/e";
        bed.run(tier, script, yes);
        let mode = |name: &str| fs::metadata(bed.outside.join(name)).unwrap().permissions().mode() & 0o7777;
        let modes = ["a", "d", "b", "e"].map(mode);
        assert_eq!(modes, [0o600, 0o700, 0o666, 0o777], "{tier}");
    }
}

/// A question about a process that is gone is nobody's question.
#[test]
fn a_question_is_taken_back_when_nobody_waits_for_its_answer() {
    let mut bed = RunBed::new();
    bed.waits = true;
    let ran = bed.run(Tier::Full, "(echo x > $OUT/f) & sleep 0.3; kill -9 $!; wait; true", no);
    assert_eq!(ran.acts(), ["create f"], "{}", ran.said);
    let reasons = || -> Vec<String> {
        let records = bed.journal.records();
        records.iter().filter_map(|r| r.event.decision().and_then(|d| d.reason.clone())).collect()
    };
    while reasons().len() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(reasons(), ["a write outside the folder", "the process that wanted it gave up"]);
}
