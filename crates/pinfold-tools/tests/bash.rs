//! Shells inside the line: what a command can say, do and reach, and that nothing of it stays.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::shells::{HOLDING, ShellBed, ask, bash, begin, until};
use pinfold::audit::{Memory, Ruled};
use pinfold::consent::Caller;
use pinfold::policy::{ExpandContext as DeclaredSurroundings, Layer, Source, ToolScopes};
use pinfold::{Ambient, CallRequest, RawCall, RefusalCode, Session, SessionError, draw};
use pinfold_sandbox::Tier;
use pinfold_testkit::TempTree;
use pinfold_tools::{CallEnding, ShellOptions, Shells, call};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    command: String,
    exit: i32,
    output: Option<String>,
    text: Option<String>,
    #[serde(default)]
    has: Vec<String>,
    /// The end of a path that has to be among the refused ones.
    refused: Option<String>,
}

#[test]
fn commands_behave_as_the_table_says() {
    for line in include_str!("shells/commands.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let bed = ShellBed::new();
        let reply = bash(&bed.session(), &bed.sourced(&case.command));
        let (text, data) = (reply.text(), &reply.structured);
        let about = format!("{}: {text}", case.name);
        assert_eq!(data["exit_code"], case.exit, "{about}");
        assert_eq!(data["held_by"], "full", "{about}");
        if let Some(output) = case.output {
            assert_eq!(data["output"], output, "{about}");
        }
        if let Some(expected) = case.text {
            assert_eq!(text, expected, "{}", case.name);
        }
        case.has.iter().for_each(|words| assert!(text.contains(words), "no `{words}` in {about}"));
        let refused = data["refused"].as_array().unwrap();
        let paths: Vec<&str> = refused.iter().map(|r| r["path"].as_str().unwrap()).collect();
        match case.refused {
            Some(end) => assert!(paths.iter().any(|p| p.ends_with(&end)), "{paths:?}: {about}"),
            None => assert!(case.exit == 0 || case.exit == 7 || paths.is_empty(), "{paths:?}: {about}"),
        }
        // What a model reads never says how the line is widened.
        for widening in ["--allow", "--add-dir", "--allow-feature", "--network"] {
            assert!(!text.contains(widening) && !data.to_string().contains(widening), "{about}");
        }
    }
}

/// Each refusal of the table is one of the line: the same command outside succeeds.
#[test]
fn what_the_table_refuses_would_have_happened() {
    for line in include_str!("shells/commands.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        if case.refused.is_some() || case.exit == 7 {
            let bed = ShellBed::new();
            let free =
                Command::new("bash").args(["-c", &case.command]).current_dir(&bed.root).output().unwrap();
            assert!(free.status.success(), "{}: {free:?}", case.name);
        }
    }
}

#[test]
fn output_of_any_length_is_bounded_in_memory_and_in_the_answer() {
    let bed = ShellBed::new();
    let before = peak_memory();
    let reply = bash(&bed.session(), "echo first; yes | head -c 100000000; echo last");
    let data = &reply.structured;
    assert_eq!(data["output_bytes"], 100_000_011);
    let output = data["output"].as_str().unwrap();
    assert!(output.starts_with("first\ny\n") && output.ends_with("y\nlast\n"));
    assert!(output.len() < 40_000 && output.contains("bytes left out"));
    assert!(data["left_out_bytes"].as_u64().unwrap() > 99_900_000);
    assert!(peak_memory() - before < 64 << 20, "the output was kept in memory");
}

/// The most memory that this process has had, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn when_the_time_is_over_everything_it_started_has_ended() {
    let bed = ShellBed::new();
    let session = bed.session();
    let id = begin(&session, HOLDING);
    until(&session, &id, "held");
    assert!(bed.is_locked(), "the control: while it runs somebody holds the lock");
    ask(&session, "KillBash", json!({"shell_id": id}));
    let reply = ask(&session, "Bash", json!({"command": HOLDING, "timeout": 500}));
    assert_eq!(reply.ended, CallEnding::Done);
    assert_eq!(
        (&reply.structured["timed_out"], &reply.structured["exit_code"]),
        (&json!(true), &json!(null))
    );
    assert!(reply.text().contains("[timed out after "), "{}", reply.text());
    assert!(!bed.is_locked());
}

#[test]
fn a_background_shell_is_spoken_to_and_read_piece_by_piece() {
    let bed = ShellBed::new();
    let session = bed.session();
    let id = begin(&session, "while read -r line; do echo \"got $line\"; done; echo end; exit 4");
    let send = |input| ask(&session, "BashInput", input).structured["taken_bytes"].clone();
    assert_eq!(send(json!({"bash_id": id, "text": "a\n"})), 2);
    assert_eq!(until(&session, &id, "got a\n"), "got a\n");
    assert_eq!(send(json!({"shell_id": id, "input": "b\nc\n"})), 4);
    assert_eq!(until(&session, &id, "got c\n"), "got b\ngot c\n", "only what is new");
    assert_eq!(send(json!({"bash_id": id, "text": "x\ny\n", "close": true})), 4);
    let mut ended = ask(&session, "BashOutput", json!({"bash_id": id, "filter": "^end", "wait": 600_000}));
    let mut said = ended.structured["output"].as_str().unwrap().to_owned();
    while ended.structured["status"] == "running" {
        ended = ask(&session, "BashOutput", json!({"bash_id": id, "filter": "^end", "wait": 600_000}));
        said.push_str(ended.structured["output"].as_str().unwrap());
    }
    assert_eq!(said, "end\n", "the filter passes over the other lines");
    assert_eq!(ended.structured["exit_code"], 4);
    for tool in ["BashOutput", "KillBash"] {
        let gone = ask(&session, tool, json!({"shell_id": id}));
        assert_eq!((gone.ended, &gone.structured["error"]), (CallEnding::Failed, &json!("NotFound")));
    }
}

#[test]
fn input_that_nobody_reads_holds_nobody_up() {
    let bed = ShellBed::new();
    let session = bed.session();
    let id = begin(&session, "sleep 300");
    // More than a pipe holds, in pieces that a person could still read through.
    let text = "x".repeat(60_000);
    let taken = || {
        let reply = ask(&session, "BashInput", json!({"bash_id": id, "text": text}));
        reply.structured["taken_bytes"].as_u64().unwrap()
    };
    assert_eq!(taken(), 60_000);
    assert!(taken() < 60_000);
}

#[test]
fn a_background_shell_is_ended_with_all_it_started() {
    let bed = ShellBed::new();
    let session = bed.session();
    let id = begin(&session, HOLDING);
    until(&session, &id, "held");
    assert!(bed.is_locked());
    let reply = ask(&session, "KillBash", json!({"shell_id": id}));
    assert_eq!(reply.structured["killed"], true, "{}", reply.text());
    assert!(!bed.is_locked());
}

#[test]
fn background_shells_are_counted() {
    let bed = ShellBed::new();
    let session = bed.session();
    let names: Vec<String> = (0..32).map(|_| begin(&session, "exec sleep 300")).collect();
    let refused = ask(&session, "Bash", json!({"command": "true", "run_in_background": true}));
    assert_eq!(refused.ended, CallEnding::Failed);
    assert!(refused.text().contains("bash_32"), "{}", refused.text());
    ask(&session, "KillBash", json!({"shell_id": names[7]}));
    begin(&session, "exec sleep 300");
}

#[test]
fn background_shells_end_with_the_session_and_nothing_stays() {
    let bed = ShellBed::new();
    let session = bed.session();
    let id = begin(&session, HOLDING);
    until(&session, &id, "held");
    assert!(bed.is_locked());
    assert_eq!(bed.temporary(), 1);
    drop(session);
    assert!(!bed.is_locked());
    assert_eq!(bed.temporary(), 0);
    let left: Vec<_> = fs::read_dir(&bed.root).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the lock and the repository: {left:?}");
}

/// Not a test by itself: the session that [`a_killed_session_leaves_no_shell`] kills.
#[test]
#[ignore = "started by another test"]
fn session_that_is_killed() {
    let bed = ShellBed::new();
    let session = bed.session();
    let id = begin(&session, HOLDING);
    until(&session, &id, "held");
    fs::write(std::env::var_os("PINFOLD_TEST_READY").unwrap(), bed.root.to_str().unwrap()).unwrap();
    thread::sleep(Duration::from_mins(5));
}

#[test]
fn a_killed_session_leaves_no_shell() {
    let temp = TempTree::new();
    let ready = temp.top().join("ready");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "bash::session_that_is_killed"])
        .env("PINFOLD_TEST_READY", &ready)
        .env("TMPDIR", temp.top())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let root = loop {
        match fs::read_to_string(&ready) {
            Ok(root) if !root.is_empty() => break std::path::PathBuf::from(root),
            _ => assert_eq!(child.try_wait().unwrap(), None, "the session did not start"),
        }
        thread::sleep(Duration::from_millis(20));
    };
    let locked = || fs::File::create(root.join("lock")).unwrap().try_lock().is_err();
    assert!(locked());
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    while locked() {
        assert!(begun.elapsed() < Duration::from_mins(1), "a shell outlived its session");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn temporary_files_are_shared_by_the_shells_of_a_session_and_gone_with_it() {
    let bed = ShellBed::new();
    let session = bed.session();
    bash(&session, "echo kept > /tmp/note; echo too > $TMPDIR/other; mkdir -m 0 /tmp/closed");
    assert_eq!(bash(&session, "cat /tmp/note /var/tmp/other").structured["output"], "kept\ntoo\n");
    assert!(!fs::exists("/tmp/note").unwrap());
    drop(session);
    assert_eq!(bed.temporary(), 0);
    assert_eq!(bash(&bed.session(), "ls /tmp/note 2>/dev/null; :").structured["output"], "");
}

#[test]
fn secrets_and_what_bash_would_run_first_are_not_in_the_environment() {
    let bed = ShellBed::new();
    fs::write(bed.workspace.join("first.sh"), "echo ran first\n").unwrap();
    let first = bed.workspace.join("first.sh").to_str().unwrap().to_owned();
    let set = [
        ("GITHUB_TOKEN", "tok"),
        ("PLAIN", "seen"),
        ("BASH_ENV", &first),
        ("ENV", &first),
        ("SHELLOPTS", "xtrace"),
        ("BASH_FUNC_echo%%", "() { builtin echo pwned; }"),
    ];
    let command = "echo \"[$GITHUB_TOKEN] [$PLAIN]\"";
    let mut options = bed.options();
    options.request.environment.extend(set.map(|(n, v)| (n.into(), v.into())));
    let reply = bash(&bed.open(bed.plan(), options), command);
    assert_eq!(reply.structured["output"], "[] [seen]\n");
    let free = Command::new("bash").args(["-c", command]).envs(set).output().unwrap();
    let free = String::from_utf8(free.stdout).unwrap();
    assert_eq!(free, "pwned\npwned\n", "the control: both ran, the start-up file and the borrowed name");
}

#[test]
fn the_network_is_off_unless_the_person_opened_it() {
    let bed = ShellBed::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command = bed.sourced(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo through"));
    assert_ne!(bash(&bed.session(), &command).structured["exit_code"], 0);
    assert_eq!(bash(&bed.networked(), &command).structured["output"], "through\n");
    let reply = bash(&bed.session(), &bed.sourced("exec 3<>/dev/tcp/192.0.2.1/80"));
    assert!(reply.text().contains("the network is off"), "{}", reply.text());
}

#[test]
fn many_shells_run_side_by_side() {
    let bed = ShellBed::new();
    let session = bed.session();
    thread::scope(|scope| {
        for number in 0..20 {
            let session = &session;
            scope.spawn(move || {
                let command = format!("echo {number} > f{number}; sleep 0.1; cat f{number}");
                let reply = bash(session, &command);
                assert_eq!(reply.structured["output"], format!("{number}\n"), "{}", reply.text());
            });
        }
    });
    drop(session);
    assert_eq!(fs::read_dir(&bed.root).unwrap().count(), 21, "no placeholder stays");
}

#[test]
fn a_session_that_only_reads_has_shells_that_only_read() {
    let bed = ShellBed::new();
    let session = bed.reading();
    let reply = bash(&session, &bed.sourced("echo x > /tmp/t && cat /tmp/t; echo x > made"));
    assert_eq!(reply.structured["output"].as_str().unwrap().lines().next(), Some("x"));
    assert_eq!(reply.structured["exit_code"], 1);
    assert!(!bed.root.join("made").exists());
    let refused = reply.structured["refused"].as_array().unwrap();
    assert!(refused.iter().any(|r| r["path"] == bed.root.join("made").to_str().unwrap()), "{refused:?}");
}

#[test]
fn a_grant_of_the_person_does_not_widen_an_armed_scope() {
    let bed = ShellBed::new();
    let wide = || {
        let mut options = bed.options();
        options.request.allow_write = vec![bed.workspace.join("other")];
        options
    };
    let command = &bed.sourced("echo x > ../other/made");
    assert_eq!(bash(&bed.open(bed.plan(), wide()), command).structured["exit_code"], 1);
    let mut free = bed.plan();
    free.scope.enforce_write = false;
    assert_eq!(bash(&bed.open(free, wide()), command).structured["exit_code"], 0);
}

#[test]
fn less_than_the_full_tier_only_where_it_was_accepted() {
    let bed = ShellBed::new();
    let session = bed.degraded();
    let reply = bash(
        &session,
        &bed.sourced("echo x > made; cat made; echo y > $TMPDIR/t; cat $TMPDIR/t; echo x > ../other/made"),
    );
    assert_eq!(reply.structured["held_by"], "landlock");
    assert_eq!(reply.structured["exit_code"], 1, "{}", reply.text());
    assert!(reply.structured["output"].as_str().unwrap().starts_with("x\ny\n"));
    assert!(!bed.workspace.join("other/made").exists());
    let id = begin(&session, HOLDING);
    until(&session, &id, "held");
    assert!(bed.is_locked());
    drop(session);
    assert!(!bed.is_locked());

    let unaccepted = ShellOptions { strongest: Tier::Landlock, ..bed.options() };
    let refused = ask(&bed.open(bed.plan(), unaccepted), "Bash", json!({"command": "true"}));
    assert_eq!((refused.ended, &refused.structured["error"]), (CallEnding::Refused, &json!("NotHeld")));
}

#[test]
fn without_a_word_of_the_person_there_is_no_shell() {
    let bed = ShellBed::new();
    let mut plan = bed.plan();
    plan.scope.allow_bash = false;
    let session = bed.open(plan, bed.options());
    for (tool, input) in [
        ("Bash", json!({"command": "touch made"})),
        ("BashOutput", json!({"bash_id": "bash_1"})),
        ("KillBash", json!({"shell_id": "bash_1"})),
        ("BashInput", json!({"bash_id": "bash_1", "text": "x"})),
    ] {
        let reply = ask(&session, tool, input);
        assert_eq!(
            (reply.ended, &reply.structured["error"]),
            (CallEnding::Refused, &json!("BashNotAllowed"))
        );
        let words = "bash execution is disabled in this mode — re-run with --allow-bash to enable";
        assert_eq!(reply.structured["message"], words);
    }
    assert!(!bed.root.join("made").exists());
    let none = Session::open(&Ambient::claim(), bed.plan(), Arc::new(Memory::default())).unwrap();
    let reply = ask(&none, "Bash", json!({"command": "touch made"}));
    assert_eq!((reply.ended, &reply.structured["error"]), (CallEnding::Refused, &json!("NotHeld")));
}

#[test]
fn no_argument_of_a_call_says_where_it_runs_or_what_holds_it() {
    let bed = ShellBed::new();
    let session = bed.session();
    for (name, value) in [
        ("cwd", json!("/")),
        ("workdir", json!("/")),
        ("dangerouslyDisableSandbox", json!(true)),
        ("sandbox", json!("off")),
        ("network", json!("host")),
        ("env", json!({"X": "1"})),
    ] {
        let mut input = json!({"command": "true"});
        input[name] = value;
        let reply = ask(&session, "Bash", input);
        assert_eq!(
            (reply.ended, &reply.structured["error"]),
            (CallEnding::Refused, &json!("InvalidInput")),
            "{name}"
        );
    }
}

#[test]
fn shells_of_another_folder_are_not_taken() {
    let (bed, other) = (ShellBed::new(), ShellBed::new());
    let shells = Arc::new(Shells::from_plan(&other.plan(), other.options()).unwrap());
    let plan = bed.plan().with_shells(shells);
    let opened = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default()));
    assert!(matches!(opened, Err(SessionError::ShellsElsewhere(folder)) if folder == other.root));
}

#[test]
fn a_folder_that_was_exchanged_is_not_entered() {
    let bed = ShellBed::new();
    let session = bed.session();
    bash(&session, "true");
    fs::rename(&bed.root, bed.workspace.join("moved")).unwrap();
    fs::create_dir(&bed.root).unwrap();
    let reply = ask(&session, "Bash", json!({"command": "touch made"}));
    assert_eq!((reply.ended, &reply.structured["error"]), (CallEnding::Failed, &json!("NotHeld")));
    assert!(!bed.root.join("made").exists());
}

#[test]
fn a_repository_that_a_command_makes_is_told_of_and_held_for_the_next() {
    let bed = ShellBed::new();
    let session = bed.session();
    let made = bash(
        &session,
        &bed.sourced(
            // A lock is made as git makes it: by a call that would not open another's.
            "mkdir -p sub/.git/hooks sub/.git/objects sub/.git/refs && set -C && \
        echo 'ref: refs/heads/main' > sub/.git/HEAD && echo '[core]' > sub/.git/config.lock && \
        mv sub/.git/config.lock sub/.git/config && echo x > sub/.git/hooks/a.sample",
        ),
    );
    assert_eq!(made.structured["exit_code"], 0, "{}", made.text());
    assert!(made.text().contains("made a new repository"), "{}", made.text());
    let next = bash(&session, &bed.sourced("echo evil > sub/.git/hooks/b"));
    assert_eq!(next.structured["exit_code"], 1, "{}", next.text());
}

#[test]
fn what_is_said_to_a_shell_is_recorded_before_and_how_it_ended_after() {
    let bed = ShellBed::new();
    let session = bed.session();
    bash(&session, "echo hi; exit 3");
    let records = bed.journal.records();
    let [decision, outcome] = &records[..] else { panic!("{records:?}") };
    let decided = decision.event.decision().unwrap();
    assert_eq!(
        (decided.ruling, decided.input()),
        (Ruled::Permit, Some(json!({"command": "echo hi; exit 3"})))
    );
    let ended = outcome.event.outcome().unwrap();
    assert_eq!((&*ended.end, &ended.code), ("done", &None));
    assert_eq!(decision.id, outcome.id);
    let mut plan = bed.plan();
    plan.scope.allow_bash = false;
    ask(&bed.open(plan, bed.options()), "Bash", json!({"command": "ls"}));
    let last = bed.journal.records().pop().unwrap();
    let refused = last.event.decision().unwrap();
    assert_eq!(refused.code.as_deref(), Some(RefusalCode::BashNotAllowed.as_str()));
    assert_eq!(refused.input(), Some(json!({"command": "ls"})));
}

/// A scope that is declared for the terminal holds its words, and in the kernel what stands behind them.
#[test]
fn a_declared_scope_holds_the_words_and_what_they_hide() {
    let bed = ShellBed::new();
    fs::create_dir(bed.root.join("secret")).unwrap();
    fs::write(bed.root.join("secret/key"), "key\n").unwrap();
    fs::write(
        bed.root.join("hides.sh"),
        "cat ../other/read-me; cat secret/key; echo x > secret/new; echo ended\n",
    )
    .unwrap();
    let root = bed.root.display();
    let section = json!({"terminal": {"allowed_paths": [format!("{root}")], "denied_paths": [format!("{root}/secret")]}});
    let scopes = ToolScopes::parse(&section).unwrap();
    let around = DeclaredSurroundings { folder: bed.workspace.clone(), ..DeclaredSurroundings::default() };
    let mut plan = bed.plan();
    plan.policy.path_scopes = draw(&Ambient::claim(), &scopes, &Source::plain(Layer::User), &around).unwrap();
    plan.policy.around = around;
    let held = bed.open(plan, bed.options());
    let free = bed.session();

    // In words, refused before anything runs.
    for command in ["cat ../other/read-me", "cat secret/key", "cat s*/key", "cat $(echo a)"] {
        let reply = ask(&held, "Bash", json!({"command": command}));
        let data = &reply.structured;
        assert_eq!(data["error"], "PathNotAllowed", "{command}: {data}");
        assert_eq!(
            (&data["tool_name"], &data["allowed_paths"]),
            (&json!("Bash"), &json!([format!("{root}")]))
        );
        assert!(data["hint"].is_string(), "{data}");
    }
    assert_eq!(
        ask(&held, "Bash", json!({"command": "cat ../other/read-me"})).structured["path"],
        "../other/read-me"
    );

    // Behind words, refused by the kernel; the control reads and writes.
    let output = |session: &Session| bash(session, "bash hides.sh 2>/dev/null").structured["output"].clone();
    assert_eq!(output(&held), "ended\n");
    assert!(!bed.root.join("secret/new").exists());
    assert_eq!(output(&free), "read\nkey\nended\n");
    assert!(bed.root.join("secret/new").exists());
}

/// Nothing of a command goes on that nobody waits for.
#[test]
fn a_command_ends_when_its_caller_does_not_wait_any_more() {
    let bed = ShellBed::new();
    let session = bed.session();
    let began = Instant::now();
    // They wait until the command holds its lock.
    let waits = || !bed.is_locked();
    let caller = Caller { waits: Some(&waits), ..Caller::default() };
    let raw = RawCall::new("Bash", json!({"command": HOLDING}));
    let reply = call(&session, CallRequest::new(&raw).with_caller(caller));
    assert_eq!(reply.structured["killed"], true, "{}", reply.structured);
    assert!(began.elapsed() < Duration::from_mins(1) && !bed.is_locked());
    // And one that ends while they wait is as always.
    let waits = || true;
    let caller = Caller { waits: Some(&waits), ..Caller::default() };
    let raw = RawCall::new("Bash", json!({"command": "echo here"}));
    assert_eq!(call(&session, CallRequest::new(&raw).with_caller(caller)).structured["output"], "here\n");
}
