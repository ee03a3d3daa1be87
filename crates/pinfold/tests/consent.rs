//! Questions and answers: a yes is for what was shown, what was not offered grants nothing, silence is no.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pinfold::consent::{ApprovalOptions, Approver, ApproverResponse, Caller, Choice, RequestedOperation};
use pinfold::policy::Policy;
use pinfold::{AssumedShells, CallRequest, GateResult, Plan, Question, RawCall, Ruling, Session};
use pinfold_gate_testkit::calls::write;
use pinfold_gate_testkit::session::{open, question};
use pinfold_gate_testkit::{TestApprover, answer};
use pinfold_testkit::TempTree;
use serde_json::json;

fn session(folder: &Path) -> Session {
    open(Plan::for_folder(folder))
}

fn asked_about(session: &Session, raw: &RawCall) -> Question {
    question(session.submit(raw))
}

/// Two folders side by side: one is the session's.
fn folders() -> (TempTree, PathBuf, PathBuf) {
    let tree = TempTree::new();
    let (inside, outside) = (tree.make_dir("inside"), tree.make_dir("outside"));
    (tree, inside, outside)
}

#[test]
fn a_yes_is_for_one_call_and_no_is_a_refusal_with_the_persons_words() {
    let (_bed, inside, outside) = folders();
    let session = session(&inside);
    let raw = write(outside.join("a"));
    let asked = asked_about(&session, &raw);
    let request = asked.request().clone();
    assert!(
        matches!(&request.operation, RequestedOperation::Change { files } if files[0].new && files[0].hunks[0].after == "new\n")
    );
    assert_eq!(request.why[0].step, "scope");

    let Ruling::Permit(permit) = session.answer(asked, &answer(&request, Choice::Yes)) else { panic!("yes") };
    permit.spend().1.next_write().unwrap().create_new(b"new\n").unwrap();
    assert!(outside.join("a").exists());

    let again = asked_about(&session, &write(outside.join("b")));
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
    let asked = asked_about(&session, &write(&place));
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
        let plan = Plan::for_folder(&inside)
            .with_shells(Arc::new(AssumedShells::in_folder(&inside)))
            .with_policy(Policy::default());
        let session = open(plan);
        asked_about(&session, &raw).request().digest.clone()
    };
    let before = digest();
    assert_eq!(before, digest());
    std::fs::write(inside.join("run.sh"), "echo two; rm x\n").unwrap();
    assert_ne!(before, digest());
}

#[test]
fn a_script_counts_wherever_its_command_stands_and_however_many_words_are_before_it() {
    let (_bed, inside, _) = folders();
    std::fs::create_dir(inside.join("sub")).unwrap();
    let many = "x ".repeat(100);
    let numbered = (0..100).map(|at| format!("x{at} ")).collect::<String>();
    for (command, script) in [
        ("cd sub && ./run.sh".to_owned(), "sub/run.sh"),
        ("cd sub && sh run.sh".to_owned(), "sub/run.sh"),
        ("cd sub && unheard-of run.sh".to_owned(), "sub/run.sh"),
        ("sh -c 'cd sub && ./run.sh'".to_owned(), "sub/run.sh"),
        ("env -C sub ./run.sh".to_owned(), "sub/run.sh"),
        ("git fetch --upload-pack='cd sub && ./run.sh' .".to_owned(), "sub/run.sh"),
        ("unheard-of --hook=sub/run.sh".to_owned(), "sub/run.sh"),
        ("mkdir -p a && cd a && ../run.sh".to_owned(), "run.sh"),
        (format!("echo {many}; ./run.sh"), "run.sh"),
        (format!("echo {numbered}; ./run.sh"), "run.sh"),
        (format!("unheard-of {numbered} run.sh"), "run.sh"),
    ] {
        let raw = RawCall::new("Bash", json!({"command": command}));
        let digest = || {
            let plan = Plan::for_folder(&inside)
                .with_shells(Arc::new(AssumedShells::in_folder(&inside)))
                .with_policy(Policy::default());
            asked_about(&open(plan), &raw).request().digest.clone()
        };
        std::fs::write(inside.join(script), "echo one\n").unwrap();
        let before = digest();
        assert_eq!(before, digest(), "{command}");
        std::fs::write(inside.join(script), "echo two; rm x\n").unwrap();
        assert_ne!(before, digest(), "{command}");
    }
}

#[test]
fn a_yes_to_more_words_than_are_looked_up_is_for_no_other_moment() {
    let (_bed, inside, _) = folders();
    let after_yes = |words: usize| {
        let numbered = (0..words).map(|at| format!("x{at} ")).collect::<String>();
        let raw = RawCall::new("Bash", json!({"command": format!("unheard-of {numbered}")}));
        let plan = Plan::for_folder(&inside)
            .with_shells(Arc::new(AssumedShells::in_folder(&inside)))
            .with_policy(Policy::default());
        let session = open(plan);
        let asked = asked_about(&session, &raw);
        let yes = answer(asked.request(), Choice::Yes);
        session.answer(asked, &yes)
    };
    let Ruling::Question(_) = after_yes(20_000) else { panic!("it is not known what was shown") };
    let Ruling::Permit(_) = after_yes(100) else { panic!("the same with fewer words is permitted") };
}

#[test]
fn whoever_can_be_asked_is_asked_once_for_each_call() {
    let (_bed, inside, outside) = folders();
    let approver = Arc::new(TestApprover::with_response(|request, still_asked| {
        assert!(still_asked());
        ApproverResponse::Answer(answer(request, Choice::Yes))
    }));
    let session = open(Plan::for_folder(&inside).with_asking(approver.asking()));
    for name in ["a", "b"] {
        let GateResult { outcome, .. } = session.decide(&write(outside.join(name)));
        assert!(outcome.is_ok());
    }
    assert_eq!(approver.count(), 2);
    let GateResult { outcome, .. } = session.decide(&write(inside.join("c")));
    assert!(outcome.is_ok() && approver.count() == 2, "inside nobody is asked");
}

#[test]
fn an_answer_after_the_deadline_is_silence() {
    let (_bed, inside, outside) = folders();
    let asking =
        ApprovalOptions { timeout: Duration::ZERO, ..TestApprover::with_answer(Choice::Yes).asking() };
    let session = open(Plan::for_folder(&inside).with_asking(asking));
    let refusal = session.decide(&write(outside.join("a"))).outcome.err().unwrap();
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
    let [one, two] = ['x', 'y'].map(|last| asked_about(&session, &raw(&token(last))).request().clone());
    let shown = serde_json::to_string(&one).unwrap();
    assert!(!shown.contains("ghp_a1B2") && shown.contains("[REDACTED:"), "{shown}");
    assert_ne!(one.digest, two.digest, "another secret is another deed");
}

/// Answers alike whenever the request is still asked.
fn counting(choice: Choice) -> Arc<TestApprover> {
    Arc::new(TestApprover::with_response(move |request, still_asked| {
        if still_asked() {
            ApproverResponse::Answer(answer(request, choice.clone()))
        } else {
            ApproverResponse::NotAsked
        }
    }))
}

#[test]
fn a_caller_who_can_be_asked_is_asked_first_and_one_who_is_gone_gets_nothing() {
    let (_bed, inside, outside) = folders();
    let of_session = counting(Choice::no());
    let session = open(Plan::for_folder(&inside).with_asking(of_session.asking()));
    let of_caller = counting(Choice::Yes);
    let raw = write(outside.join("a"));
    let asks: Option<&dyn Approver> = Some(&*of_caller);

    assert!(session.decide(&raw).outcome.is_err(), "whoever the session asks says no");
    assert!(
        session
            .decide(CallRequest::new(&raw).with_caller(Caller { asks, ..Caller::default() }))
            .outcome
            .is_ok()
    );
    let gone = || false;
    let other = write(outside.join("b"));
    let outcome = session
        .decide(CallRequest::new(&other).with_caller(Caller {
            waits: Some(&gone),
            asks,
            ..Caller::default()
        }))
        .outcome;
    assert!(outcome.is_err(), "the yes of somebody who is gone counts for nothing");
    assert_eq!((of_session.count(), of_caller.count()), (1, 2));
    // Whoever cannot answer leaves it to the session.
    let third = write(outside.join("c"));
    let unable = TestApprover::default();
    unable.queue_response(ApproverResponse::NoApprover("no approver is here".to_owned()));
    let caller = Caller { asks: Some(&unable), ..Caller::default() };
    assert!(session.decide(CallRequest::new(&third).with_caller(caller)).outcome.is_err());
    assert_eq!(of_session.count(), 2);
}
