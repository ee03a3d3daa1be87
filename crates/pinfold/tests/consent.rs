//! Questions and answers: a yes is for what was shown, what was not offered grants nothing, silence is no.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pinfold::audit::Memory;
use pinfold::consent::{
    Answer, Approver, ApproverResponse, Asking, By, Caller, Choice, Request, RequestedOperation, Via,
};
use pinfold::{Ambient, CallRequest, Decided, Plan, Question, RawCall, Ruling, Session};
use serde_json::json;

fn plan(folder: &Path) -> Plan {
    Plan::for_folder(folder)
}

fn session(folder: &Path) -> Session {
    Session::open(&Ambient::claim(), plan(folder), Arc::new(Memory::default())).unwrap()
}

fn write(path: &Path) -> RawCall {
    RawCall::new("Write", json!({"file_path": path, "content": "new\n"}))
}

fn question(session: &Session, raw: &RawCall) -> Question {
    match session.submit(raw) {
        Ruling::Question(question) => *question,
        Ruling::Permit(_) => panic!("it needs a question"),
        Ruling::Refusal(refusal) => panic!("{}", refusal.message),
    }
}

fn answer(request: &Request, choice: Choice) -> Answer {
    let by = By { via: Via::Embedder, who: None };
    Answer { id: request.id.clone(), digest: request.digest.clone(), choice, by }
}

/// Two folders side by side: one is the session's.
fn folders() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
    let bed = tempfile::tempdir().unwrap();
    let top = bed.path().canonicalize().unwrap();
    let (inside, outside) = (top.join("inside"), top.join("outside"));
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    (bed, inside, outside)
}

#[test]
fn a_yes_is_for_one_call_and_no_is_a_refusal_with_the_persons_words() {
    let (_bed, inside, outside) = folders();
    let session = session(&inside);
    let raw = write(&outside.join("a"));
    let asked = question(&session, &raw);
    let request = asked.request().clone();
    assert!(
        matches!(&request.operation, RequestedOperation::Change { files } if files[0].new && files[0].hunks[0].after == "new\n")
    );
    assert_eq!(request.why[0].step, "scope");

    let Ruling::Permit(permit) = session.answer(asked, &answer(&request, Choice::Yes)) else { panic!("yes") };
    permit.spend().1.next_write().unwrap().create_new(b"new\n").unwrap();
    assert!(outside.join("a").exists());

    let again = question(&session, &write(&outside.join("b")));
    let no =
        answer(again.request(), Choice::No { message: Some("use the folder".to_owned()), process: false });
    let Ruling::Refusal(refusal) = session.answer(again, &no) else { panic!("no") };
    assert!(refusal.message.contains("use the folder") && !refusal.approvable);
}

#[test]
fn what_changes_while_somebody_thinks_is_asked_afresh() {
    let (_bed, inside, outside) = folders();
    let session = session(&inside);
    std::fs::write(outside.join("other"), "other").unwrap();
    let place = outside.join("a");
    let asked = question(&session, &write(&place));
    let yes = answer(asked.request(), Choice::Yes);
    // The name now leads elsewhere.
    std::os::unix::fs::symlink(outside.join("other"), &place).unwrap();
    let Ruling::Question(anew) = session.answer(asked, &yes) else { panic!("it is another call now") };
    assert_ne!(anew.request().digest, yes.digest);
    // And the old answer is none for it.
    let Ruling::Question(_) = session.answer(*anew, &yes) else {
        panic!("the answer was to another question")
    };
    assert_eq!(std::fs::read_to_string(outside.join("other")).unwrap(), "other");
}

#[test]
fn a_script_that_changes_makes_another_question() {
    let (_bed, inside, _) = folders();
    std::fs::write(inside.join("run.sh"), "echo one\n").unwrap();
    let raw = RawCall::new("Bash", json!({"command": "sh run.sh"}));
    let digest = || {
        let mut plan = plan(&inside);
        plan.shells = Some(Arc::new(Held(inside.clone())));
        plan.policy = pinfold::policy::Policy::default();
        let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap();
        question(&session, &raw).request().digest.clone()
    };
    let before = digest();
    assert_eq!(before, digest());
    std::fs::write(inside.join("run.sh"), "echo two; rm x\n").unwrap();
    assert_ne!(before, digest());
}

#[derive(Debug)]
struct Held(std::path::PathBuf);

impl pinfold::ShellHost for Held {
    fn held(&self) -> pinfold::policy::ShellHold {
        pinfold::policy::ShellHold::Full
    }

    fn opens_network(&self) -> bool {
        false
    }

    fn folder(&self) -> &Path {
        &self.0
    }
}

/// Answers every question the same way.
#[derive(Debug)]
struct Always(Choice, AtomicUsize);

impl Approver for Always {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        assert!(still_asked());
        self.1.fetch_add(1, Ordering::Relaxed);
        ApproverResponse::Answer(answer(request, self.0.clone()))
    }
}

#[test]
fn whoever_can_be_asked_is_asked_once_for_each_call() {
    let (_bed, inside, outside) = folders();
    let approver = Arc::new(Always(Choice::Yes, AtomicUsize::new(0)));
    let asking = Asking { approver: approver.clone(), patience: Duration::from_mins(1), locations: None };
    let plan = plan(&inside).with_asking(asking);
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap();
    for name in ["a", "b"] {
        let Decided { outcome, .. } = session.decide(&write(&outside.join(name)));
        assert!(outcome.is_ok());
    }
    assert_eq!(approver.1.load(Ordering::Relaxed), 2);
    let Decided { outcome, .. } = session.decide(&write(&inside.join("c")));
    assert!(outcome.is_ok() && approver.1.load(Ordering::Relaxed) == 2, "inside nobody is asked");
}

#[test]
fn an_answer_after_the_deadline_is_silence() {
    let (_bed, inside, outside) = folders();
    let approver = Arc::new(Always(Choice::Yes, AtomicUsize::new(0)));
    let asking = Asking { approver, patience: Duration::ZERO, locations: None };
    let plan = plan(&inside).with_asking(asking);
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap();
    let refusal = session.decide(&write(&outside.join("a"))).outcome.err().unwrap();
    assert!(refusal.message.contains("no answer in time"));
}

#[test]
fn secrets_are_not_shown_and_count_all_the_same() {
    let (_bed, inside, outside) = folders();
    let session = session(&inside);
    let token = |last: char| format!("ghp_{}{last}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R");
    let raw = |token: &str| {
        let content = format!("GITHUB_TOKEN={token}\n");
        RawCall::new("Write", json!({"file_path": outside.join("env.txt"), "content": content}))
    };
    let [one, two] = ['x', 'y'].map(|last| question(&session, &raw(&token(last))).request().clone());
    let shown = serde_json::to_string(&one).unwrap();
    assert!(!shown.contains("ghp_a1B2") && shown.contains("[REDACTED:"), "{shown}");
    assert_ne!(one.digest, two.digest, "another secret is another deed");
}

/// Says the same to everybody, and counts how often it was asked.
#[derive(Debug)]
struct Counting(Choice, AtomicUsize);

impl Approver for Counting {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        self.1.fetch_add(1, Ordering::Relaxed);
        if still_asked() {
            ApproverResponse::Answer(answer(request, self.0.clone()))
        } else {
            ApproverResponse::NotAsked
        }
    }
}

#[derive(Debug)]
struct CannotAnswer;

impl Approver for CannotAnswer {
    fn ask(&self, _request: &Request, _still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        ApproverResponse::NoApprover("no approver is here".to_owned())
    }
}

#[test]
fn a_caller_who_can_be_asked_is_asked_first_and_one_who_is_gone_gets_nothing() {
    let (_bed, inside, outside) = folders();
    let of_session = Arc::new(Counting(Choice::no(), AtomicUsize::new(0)));
    let asking = Asking { approver: of_session.clone(), patience: Duration::from_mins(1), locations: None };
    let plan = plan(&inside).with_asking(asking);
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap();
    let of_caller = Counting(Choice::Yes, AtomicUsize::new(0));
    let raw = write(&outside.join("a"));
    let asks: Option<&dyn Approver> = Some(&of_caller);

    assert!(session.decide(&raw).outcome.is_err(), "whoever the session asks says no");
    assert!(
        session
            .decide(CallRequest::new(&raw).with_caller(Caller { asks, ..Caller::default() }))
            .outcome
            .is_ok()
    );
    let gone = || false;
    let other = write(&outside.join("b"));
    let outcome = session
        .decide(CallRequest::new(&other).with_caller(Caller {
            waits: Some(&gone),
            asks,
            ..Caller::default()
        }))
        .outcome;
    assert!(outcome.is_err(), "the yes of somebody who is gone counts for nothing");
    let asked = |of: &Counting| of.1.load(Ordering::Relaxed);
    assert_eq!((asked(&of_session), asked(&of_caller)), (1, 2));
    // Whoever cannot answer leaves it to the session.
    let third = write(&outside.join("c"));
    let caller = Caller { asks: Some(&CannotAnswer), ..Caller::default() };
    assert!(session.decide(CallRequest::new(&third).with_caller(caller)).outcome.is_err());
    assert_eq!(asked(&of_session), 2);
}
