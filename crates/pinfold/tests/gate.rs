//! The gate over real folders: what comes out, in which words, and what is recorded.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pinfold::audit::{AuditEvent, Journal, Memory, Record};
use pinfold::policy::{Access, Interaction, Mode, Principal};
use pinfold::{Ambient, Outcome, Plan, RawCall, Refusal, RefusalCode, Ruling, Session};
use pinfold_gate_testkit::session::{kind, open_recorded, question, refusal};
use pinfold_testkit::TempTree;
use serde_json::{Value, json};

struct Bed {
    _tree: TempTree,
    root: PathBuf,
    outside: PathBuf,
    journal: Arc<Memory>,
}

impl Bed {
    fn new() -> Self {
        let tree = TempTree::new().with_dirs(["root/packages/adapters", "root/packages/core"]);
        let (root, outside) = (tree.path("root"), tree.make_dir("outside"));
        Self { _tree: tree, root, outside, journal: Arc::default() }
    }

    fn plan(&self) -> Plan {
        Plan::for_folder(&self.root)
    }

    fn session(&self, plan: Plan) -> Session {
        open_recorded(plan, self.journal.clone())
    }

    fn subagent(&self) -> Session {
        let mut plan = self.plan();
        plan.scope.root = self.root.join("packages/adapters");
        plan.scope.enforce_write = true;
        plan.principal = Principal::Subagent("adapters".into());
        plan.interaction = Interaction::Headless;
        self.session(plan)
    }
}

fn write(path: &str) -> RawCall {
    RawCall::new("Write", json!({"file_path": path, "content": "x"}))
}

fn asked(ruling: Ruling) -> Refusal {
    question(ruling).into_refusal()
}

#[test]
fn inside_is_permitted_outside_is_asked_about_and_reads_range_anywhere() {
    let bed = Bed::new();
    let session = bed.session(bed.plan());
    assert_eq!(kind(&session.submit(&write("a/b.txt"))), "permit");
    let no = asked(session.submit(&write(bed.outside.join("x").to_str().unwrap())));
    assert_eq!(no.code, RefusalCode::RequiresApproval);
    assert!(no.approvable);
    assert_eq!(no.allowed_paths, [bed.root.display().to_string()]);
    let read = RawCall::new("Read", json!({"file_path": bed.outside.join("x").to_str().unwrap()}));
    assert_eq!(kind(&session.submit(&read)), "permit");
}

#[test]
fn a_subagent_is_told_where_its_scope_ends_in_exactly_these_words() {
    let bed = Bed::new();
    let session = bed.subagent();
    assert_eq!(kind(&session.submit(&write("packages/adapters/x.ts"))), "permit");
    let no = serde_json::to_value(refusal(session.submit(&write("packages/core/src/x.ts")))).unwrap();
    assert_eq!(no["error"], "OutOfScope");
    assert_eq!(
        no["message"],
        "packages/core/src/x.ts is outside this scope (packages/adapters). Defer it to the parent in your summary."
    );
    assert_eq!(no["tool_name"], "Write");
    assert_eq!(no["approvable"], false);
    assert_eq!(no["do_not_retry"], true);
    assert_eq!(no["allowed_paths"], json!([bed.root.join("packages/adapters").display().to_string()]));
}

#[test]
fn a_separator_guards_the_scope_and_a_link_does_not_widen_it() {
    let bed = Bed::new();
    fs::create_dir(bed.root.join("packages/adapters-utils")).unwrap();
    std::os::unix::fs::symlink("../core", bed.root.join("packages/adapters/c")).unwrap();
    let session = bed.subagent();
    for path in ["packages/adapters-utils/x", "packages/adapters/c/x", "packages/adapters/../core/x"] {
        assert_eq!(refusal(session.submit(&write(path))).code, RefusalCode::OutOfScope, "{path}");
    }
}

#[test]
fn what_would_be_asked_is_refused_when_nobody_is_there() {
    let bed = Bed::new();
    let mut plan = bed.plan();
    plan.interaction = Interaction::Headless;
    let no = refusal(bed.session(plan).submit(&write("/etc/motd")));
    assert_eq!(no.code, RefusalCode::RequiresApproval);
    assert!(!no.approvable);
    assert!(bed.journal.records().iter().any(|r| r.event.decision().is_some_and(|told| (
        told.step.as_deref(),
        told.decision.as_deref()
    ) == (
        Some("headless"),
        Some("deny")
    ))));
}

#[test]
fn a_session_that_only_reads_changes_nothing() {
    let bed = Bed::new();
    let mut plan = bed.plan();
    plan.access = Access::ReadOnly;
    let session = bed.session(plan);
    assert_eq!(refusal(session.submit(&write("x"))).code, RefusalCode::ReadOnly);
    assert_eq!(kind(&session.submit(&RawCall::new("LS", json!({})))), "permit");
}

#[test]
fn disguised_and_unresolved_paths_are_denied_with_their_reason() {
    let bed = Bed::new();
    std::os::unix::fs::symlink(&bed.outside, bed.root.join("out")).unwrap();
    std::os::unix::fs::symlink(bed.outside.join("none"), bed.root.join("dangling")).unwrap();
    fs::write(bed.root.join("f"), "x").unwrap();
    let session = bed.session(bed.plan());
    for (path, code) in [
        ("out/x", RefusalCode::Disguised),
        ("../outside/x", RefusalCode::Disguised),
        ("dangling", RefusalCode::Unresolved),
        ("f/x", RefusalCode::Unresolved),
        ("nul\0", RefusalCode::Unresolved),
        ("missing/../x", RefusalCode::NotFound),
    ] {
        let no = refusal(session.submit(&write(path)));
        assert_eq!(no.code, code, "{path}");
        assert!(no.do_not_retry && !no.approvable && !no.hint.is_empty(), "{no:?}");
    }
}

#[test]
fn the_folder_itself_is_neither_deleted_nor_moved() {
    let bed = Bed::new();
    let session = bed.session(bed.plan());
    for path in [".", "packages/..", bed.root.to_str().unwrap()] {
        let call = RawCall::new("Delete", json!({"path": path, "recursive": true}));
        assert_eq!(refusal(session.submit(&call)).code, RefusalCode::Denied, "{path}");
    }
}

#[test]
fn guarded_places_are_asked_about_under_every_name() {
    let bed = Bed::new();
    fs::create_dir_all(bed.root.join(".git/hooks")).unwrap();
    fs::write(bed.root.join("dotfile"), "x").unwrap();
    fs::create_dir(bed.root.join("plain")).unwrap();
    std::os::unix::fs::symlink(".git/hooks", bed.root.join("alias")).unwrap();
    std::os::unix::fs::symlink("dotfile", bed.root.join(".bashrc")).unwrap();
    let session = bed.session(bed.plan());
    for path in [".git/hooks/pre-commit", "alias/pre-commit", "plain/../.git/config", "sub/.git"] {
        let no = asked(session.submit(&write(path)));
        assert_eq!(no.source.as_deref(), Some("built-in guards"), "{path}");
    }
    // Through the guarded name the plain file behind it is asked about as well.
    let edit = RawCall::new("Delete", json!({"path": ".bashrc"}));
    asked(session.submit(&edit));
    assert_eq!(kind(&session.submit(&write(".gitattributes"))), "permit");
}

#[test]
fn a_folder_taken_as_a_whole_answers_for_what_is_in_it() {
    let bed = Bed::new();
    fs::create_dir_all(bed.root.join("vendor/lib/.git")).unwrap();
    fs::create_dir_all(bed.root.join("plain/lib")).unwrap();
    fs::create_dir_all(bed.outside.join("kit/.claude")).unwrap();
    fs::write(bed.outside.join("kit/.claude/settings.json"), "{}").unwrap();
    let session = bed.session(bed.plan());
    let delete =
        |path: &str| session.submit(&RawCall::new("Delete", json!({"path": path, "recursive": true})));
    asked(delete("vendor"));
    assert_eq!(kind(&delete("plain")), "permit");
    let kit = bed.outside.join("kit");
    let copy = RawCall::new("CopyFile", json!({"source": kit.to_str().unwrap(), "destination": "kit"}));
    asked(session.submit(&copy));
    // What comes with a copy is a write at its destination, which no mode lets pass; the control brings nothing.
    let mut plan = bed.plan();
    plan.policy.mode = Mode::BypassPermissions;
    let session = bed.session(plan);
    asked(session.submit(&copy));
    fs::remove_dir_all(kit.join(".claude")).unwrap();
    assert_eq!(kind(&session.submit(&copy)), "permit");
}

#[test]
fn a_file_with_another_name_is_asked_about_and_a_mere_name_may_go() {
    let bed = Bed::new();
    fs::write(bed.outside.join("f"), "x").unwrap();
    fs::hard_link(bed.outside.join("f"), bed.root.join("h")).unwrap();
    fs::write(bed.root.join("in"), "x").unwrap();
    let session = bed.session(bed.plan());
    let copy = RawCall::new("CopyFile", json!({"source": "in", "destination": "h", "overwrite": true}));
    assert!(asked(session.submit(&copy)).message.contains("2 names"));
    assert_eq!(kind(&session.submit(&RawCall::new("Delete", json!({"path": "h"})))), "permit");
}

#[test]
fn overwriting_needs_a_read_and_a_read_that_is_still_true() {
    let bed = Bed::new();
    fs::write(bed.root.join("f"), "one").unwrap();
    let session = bed.session(bed.plan());
    let no = refusal(session.submit(&write("f")));
    assert_eq!(no.code, RefusalCode::NotRead);
    assert!(
        no.message.contains("f has not been read") && no.message.contains("read it first"),
        "{}",
        no.message
    );
    assert!(!no.do_not_retry);

    let read = |session: &Session| {
        let Ruling::Permit(permit) = session.submit(&RawCall::new("Read", json!({"file_path": "f"}))) else {
            panic!()
        };
        let (_, mut targets, receipt) = permit.spend();
        let target = targets.next_read().unwrap();
        let (_, version) = target.open_file().unwrap();
        target.mark_read(version);
        receipt.close(&Outcome::Done).unwrap();
    };
    read(&session);
    assert_eq!(kind(&session.submit(&write("f"))), "permit");
    fs::write(bed.root.join("f"), "other").unwrap();
    assert_eq!(refusal(session.submit(&write("f"))).code, RefusalCode::StaleRead);
    read(&session);
    let Ruling::Permit(permit) = session.submit(&write("f")) else { panic!() };
    // It changes between verdict and deed: the deed fails and the change stays.
    fs::write(bed.root.join("f"), "late").unwrap();
    let (_, mut targets, receipt) = permit.spend();
    let failure = targets.next_write().unwrap().replace(b"mine").unwrap_err();
    assert_eq!(failure.code, RefusalCode::StaleRead);
    receipt.close(&Outcome::Failed(failure)).unwrap();
    assert_eq!(fs::read_to_string(bed.root.join("f")).unwrap(), "late");
}

#[test]
fn a_call_that_is_not_understood_is_refused_and_recorded() {
    let bed = Bed::new();
    let session = bed.session(bed.plan());
    for (tool, input) in [("Writ", json!({})), ("Write", json!({"content": "x"})), ("Write", Value::Null)] {
        let no = refusal(session.submit(&RawCall::new(tool, input)));
        assert_eq!(no.code, RefusalCode::InvalidInput);
    }
    assert_eq!(bed.journal.records().len(), 3);
}

#[test]
fn considering_needs_no_content_and_leaves_no_record() {
    let bed = Bed::new();
    let session = bed.session(bed.plan());
    let considered = session.check(&RawCall::new("Edit", json!({"file_path": "/etc/motd"}))).unwrap();
    assert_eq!(considered.verdict.decision, pinfold::policy::Decision::Ask);
    assert_eq!(considered.verdict.step, "scope");
    assert!(session.check(&RawCall::new("Edit", json!({"old_string": "a"}))).is_err());
    assert!(bed.journal.records().is_empty());
}

#[test]
fn every_permit_ends_in_the_record() {
    let bed = Bed::new();
    let session = bed.session(bed.plan());
    drop(session.submit(&write("x")));
    let ends: Vec<_> = bed.journal.records().into_iter().map(|record| record.event).collect();
    assert!(
        matches!(&ends[..], [AuditEvent::Decision(_), AuditEvent::Outcome(told)] if told.end == "abandoned"),
        "{ends:?}"
    );
}

struct Full;

impl Journal for Full {
    fn append(&self, _: &Record) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }
}

#[test]
fn no_record_no_deed() {
    let bed = Bed::new();
    let session = Session::open(&Ambient::claim(), bed.plan(), Arc::new(Full)).unwrap();
    for path in ["x", "/etc/motd", "../outside/x"] {
        assert_eq!(refusal(session.submit(&write(path))).code, RefusalCode::NotRecorded, "{path}");
    }
}

#[test]
fn records_are_one_json_object_a_line() {
    let bed = Bed::new();
    let log = bed.outside.join("log");
    let file = fs::OpenOptions::new().append(true).create(true).open(&log).unwrap();
    let journal = Arc::new(pinfold::audit::JsonLines::new(file));
    let session = Session::open(&Ambient::claim(), bed.plan(), journal).unwrap();
    drop(session.submit(&write("x")));
    drop(session.submit(&write("../outside/\ny")));
    let lines = fs::read_to_string(&log).unwrap();
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 3, "{lines}");
    assert_eq!(records[0]["kind"], "decision");
    assert_eq!(records[0]["ruling"], "permit");
    assert_eq!(records[0]["paths"][0]["asked"], "x");
    assert_eq!(records[1]["end"], "abandoned");
    assert_eq!(records[1]["id"], records[0]["id"]);
    assert_eq!(records[2]["code"], "Disguised");
    assert_eq!(records[2]["v"], 2);
}
