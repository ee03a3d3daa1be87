//! The record and those whom it is about: they neither read it nor write it, and every way in leaves its line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pinfold::audit::{ledger, verify};
use pinfold_tests::missing::{all_there, left_out};
use pinfold_tests::output::describe;
use pinfold_tests::processes::until;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Tier, Who, each};
use serde_json::Value;

fn place(bed: &Bed) -> PathBuf {
    bed.home().join(".local/state/pinfold/record")
}

/// Every line, after the chain was found whole.
fn lines(place: &Path) -> Vec<Value> {
    let files = ledger::opened(place).expect("the record can be opened");
    verify(&files, None)
        .expect("it can be read")
        .into_result()
        .unwrap_or_else(|mismatch| panic!("{mismatch}"));
    let text: String = files.iter().map(|(file, _)| fs::read_to_string(file).expect("a file")).collect();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What somebody inside could do to a file. The last ones take it away.
const DEEDS: [&str; 6] = [
    "cat RECORD/record.jsonl",
    "echo {} >> RECORD/record.jsonl",
    "flock -n RECORD/record.jsonl true",
    "ln RECORD/record.jsonl link",
    "mv RECORD elsewhere",
    "rm elsewhere/record.jsonl || rm RECORD/record.jsonl",
];

/// All of them, each telling whether it was done.
fn deeds(place: &Path) -> String {
    let each = DEEDS.iter().enumerate().map(|(i, deed)| format!("if {deed}; then echo done {i}; fi"));
    // What an earlier try left.
    let clean = "rm -rf link elsewhere".to_owned();
    std::iter::once(clean)
        .chain(each)
        .collect::<Vec<_>>()
        .join("\n")
        .replace("RECORD", &place.display().to_string())
}

/// Tokens of servers and what agents said: also where the directory is not there yet when a run begins.
#[each(user, tier)]
fn nobody_inside_reads_what_comes_beside_the_record_later(who: Who, tier: Tier) {
    let bed = Bed::new(who);
    let beside = place(&bed).with_file_name("mcp");
    let script = "touch begun; while [ ! -e /HOME/begun ]; do sleep 0.05; done; cat /HOME/.local/state/pinfold/mcp/token";
    let script = script.replace("/HOME", &bed.home().display().to_string());
    let mut run = bed.run(tier, &["--ask", "nobody"]);
    let run = run.args(["sh", "-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().expect("pinfold can be started");
    until("it has begun", || bed.folder().join("begun").exists());
    fs::create_dir_all(&beside).expect("a directory");
    fs::write(beside.join("token"), "said").expect("a file");
    bed.give();
    fs::write(bed.home().join("begun"), "").expect("a file");
    let output = run.wait_with_output().expect("it ends");
    assert!(!output.status.success() && output.stdout.is_empty(), "{who:?} {tier:?} {}", describe(&output));
}

#[each(user, tier)]
fn nobody_inside_reads_or_writes_the_record(who: Who, tier: Tier) {
    for (options, is_named) in [
        (&[][..], false),
        (&[][..], true),
        (&["--sandbox", "default-write"][..], false),
        (&["--sandbox", "default-write"][..], true),
    ] {
        let bed = Bed::new(who);
        let state = bed.outside().join("state");
        let place = if is_named { state.join("pinfold/record") } else { place(&bed) };
        let sh = |options: &[&str], script: &str| {
            let mut run = bed.run(tier, options);
            if is_named {
                run.env("XDG_STATE_HOME", &state);
            }
            run.args(["sh", "-c", script]).output().expect("a run")
        };
        sh(&[], "true");
        let output = sh(options, &deeds(&place));
        let case = format!("{who} {tier} {options:?} {is_named}: {}", describe(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{case}");
        let lines = lines(&place);
        assert_eq!(lines.iter().filter(|line| line["kind"] == "end").count(), 2, "{case}");
        // The control: without a sandbox each of them is done.
        let free = bed.free("sh").args(["-c", &deeds(&place)]).output().expect("a shell");
        let free = String::from_utf8_lossy(&free.stdout);
        assert_eq!(free.lines().filter(|line| line.starts_with("done ")).count(), DEEDS.len(), "{free}");
    }
}

fn pinfold_in(bed: &Bed, words: &[&str]) -> Command {
    let mut command = bed.free(pinfold());
    command.args(words);
    command
}

#[test]
fn no_tool_reads_or_writes_the_record_without_a_person() {
    let bed = Bed::new(Who::Ordinary);
    pinfold_in(&bed, &["call", "Ls", "{}"]).output().expect("a first line");
    let file = place(&bed).join("record.jsonl").display().to_string();
    for (tool, input) in [
        ("Read", format!(r#"{{"file_path":"{file}"}}"#)),
        ("Write", format!(r#"{{"file_path":"{file}","content":""}}"#)),
        ("Delete", format!(r#"{{"path":"{file}"}}"#)),
        ("CopyFile", format!(r#"{{"source":"{file}","destination":"copy"}}"#)),
        ("MoveFile", format!(r#"{{"source":"{file}","destination":"moved"}}"#)),
        ("Bash", format!(r#"{{"command":"cat {file}"}}"#)),
    ] {
        for mode in ["default", "bypassPermissions"] {
            let words = ["call", "--allow-bash", "--permission-mode", mode, tool, &input];
            let output = pinfold_in(&bed, &words).output().expect("a call");
            let text = String::from_utf8_lossy(&output.stdout);
            let writes = !matches!(tool, "Read" | "CopyFile" | "Bash");
            // In bypass a read through a tool is the person's word; a shell's is the kernel's.
            if mode == "default" || writes {
                assert_eq!(output.status.code(), Some(3), "{tool} {mode}: {}", describe(&output));
            }
            if tool == "Bash" {
                assert!(!text.contains("\\\"session\\\""), "{tool} {mode}: {}", describe(&output));
            }
        }
    }
    assert!(place(&bed).join("record.jsonl").exists());
}

#[test]
fn a_run_says_what_was_refused_to_it_under_names_that_are_told() {
    let bed = Bed::new(Who::Ordinary);
    let tier = if Tier::Full.is_possible_for(Who::Ordinary) { Tier::Full } else { Tier::LandlockOnly };
    let outside = bed.outside().join("x");
    let script = format!("echo x > {}; exit 7", outside.display());
    let output = bed.run(tier, &["--json"]).args(["sh", "-c", &script]).output().expect("a run");
    let report = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_str(report.lines().last().expect("a report")).expect("JSON");
    let lines = lines(&place(&bed));
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds, ["start", "refusal", "end"], "{lines:?}");
    let denial = &lines[1]["denial"];
    assert_eq!(denial["place"], outside.display().to_string());
    assert_eq!(denial["id"], report["refused"][0]["id"]);
    assert_eq!(denial["id"], format!("{}:k1", lines[0]["session"].as_str().expect("a name")));
    assert_eq!((&lines[2]["exit"], &lines[2]["refused"]), (&7.into(), &1.into()));
    // The name is enough to have it explained, and what holds now is what held then.
    let id = denial["id"].as_str().expect("a name");
    let why = pinfold_in(&bed, &["why", id]).output().expect("an explanation");
    let text = String::from_utf8_lossy(&why.stdout);
    assert_eq!(why.status.code(), Some(3), "{}", describe(&why));
    for part in ["refused by the kernel: it lies outside", "--allow-write", "is refused it now too"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A command that is not plainly without secrets is said at the end.
    assert!(lines[0]["command"].is_null() && lines[2]["command"].as_str().expect("it").contains("exit 7"));
}

/// Calls until one is refused, then a run, then with room again; on a disk that is small and full.
const ON_A_FULL_DISK: &str = r#"
mount -t tmpfs -o size=64k,mode=700 none "$STATE" || exit 77
call() {
  "$PINFOLD" call Write "{\"file_path\":\"$1\",\"content\":\"\"}" > "$STATE/../said"
}
call made-before && head -c 1000000 /dev/zero > "$STATE/fill" 2> "$STATE/../errors"
# What is left of a page takes some lines more.
for i in 1 2 3 4 5 6 7 8 9; do
  call "made-$i"; code=$?
  [ $code = 0 ] || break
done
echo "refused $i with $code: $(cat "$STATE/../said")"
"$PINFOLD" run -- touch made-by-a-run
echo "run $?"
rm "$STATE/fill"
call made-later
echo "later $?"
"$PINFOLD" log verify
"#;

#[test]
fn a_full_disk_means_no_record_and_no_deed_and_says_so() {
    const WHAT: &str = "a record on a full disk";
    if !all_there(WHAT, &["unshare", "mount"]) {
        return;
    }
    if !Who::present().contains(&Who::Superuser) {
        return left_out(WHAT, "only the superuser can mount a small one");
    }
    let bed = Bed::new(Who::Superuser);
    let state = bed.outside().join("state");
    fs::create_dir(&state).expect("a directory");
    let mut shell = bed.free("unshare");
    shell.args(["--mount", "--propagation", "private", "sh", "-c", ON_A_FULL_DISK]);
    shell.env("STATE", &state).env("XDG_STATE_HOME", &state).env("PINFOLD", pinfold());
    let output = shell.output().expect("a shell");
    if matches!(output.status.code(), Some(77 | 1)) {
        return left_out(WHAT, "nothing can be mounted here");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let refused = text.lines().find_map(|line| line.strip_prefix("refused ")).expect("a refusal");
    let (number, reply) = refused.split_once(" with 3: ").unwrap_or_else(|| panic!("{}", describe(&output)));
    let why = ["no storage space", "No space left on device"];
    assert!(reply.contains("could not be recorded") && why.iter().any(|why| reply.contains(why)), "{reply}");
    assert!(!bed.folder().join(format!("made-{number}")).exists(), "no record, no deed: {text}");
    assert!(
        text.contains("run 125\n") && !bed.folder().join("made-by-a-run").exists(),
        "{}",
        describe(&output)
    );
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("nothing can be recorded") && errors.contains("set XDG_STATE_HOME"), "{errors}");
    assert!(text.contains("later 0\n") && bed.folder().join("made-later").exists(), "{}", describe(&output));
    assert!(text.contains("the chain holds"), "{text}");
}

#[test]
fn a_run_that_cannot_be_recorded_does_not_start() {
    let bed = Bed::new(Who::Ordinary);
    fs::create_dir_all(bed.home().join(".local/state/pinfold")).expect("a directory");
    std::os::unix::fs::symlink(bed.outside(), place(&bed)).expect("a link");
    bed.give();
    let run = |options: &[&str]| {
        let mut run = bed.run(Tier::LandlockOnly, options);
        run.args(["sh", "-c", "echo x > made"]).output().expect("a run")
    };
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(125), "{}", describe(&output));
    assert!(!bed.folder().join("made").exists());
    assert!(fs::read_dir(bed.outside()).expect("a directory").next().is_none());
    assert!(run(&["--no-record"]).status.success());
    assert!(bed.folder().join("made").exists());
}
