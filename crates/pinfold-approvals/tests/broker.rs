//! Each request has one end, nobody hangs, and what was not offered grants nothing.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use pinfold::consent::answer::RuleFile;
use pinfold::consent::{Answer, ApprovalChannel, Approver, ApproverResponse, Choice, Request};
use pinfold_approvals::{
    AnswerError, Broker, ClosureResponder, PendingRequest, RequestResolution, ResolvedRequest, Responder,
};

use crate::kit::{answer, by, no, request};
use jiff::{SignedDuration, Timestamp};

const LONG: Duration = Duration::from_secs(20);

/// Somebody who says yes to everything.
fn yes() -> impl Responder {
    ClosureResponder::new(by(), |showing: &PendingRequest<'_>| {
        showing.resolution().is_none().then_some(Choice::Yes)
    })
}

fn is_yes(heard: &ApproverResponse) -> bool {
    matches!(heard, ApproverResponse::Answer(answer) if answer.is_yes())
}

/// Asks on a thread of its own.
fn ask(broker: &Arc<Broker>, request: &Request) -> thread::JoinHandle<ApproverResponse> {
    let (broker, request) = (Arc::clone(broker), request.clone());
    thread::spawn(move || broker.ask(&request, &|| true))
}

/// Waits until so many requests wait.
fn until_waiting(broker: &Broker, count: usize) {
    let end = Instant::now() + LONG;
    while broker.waiting().len() != count {
        assert!(Instant::now() < end, "{count} wait: {broker:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn with_nobody_there_the_answer_is_there_at_once() {
    let broker = Broker::default();
    let before = Instant::now();
    let heard = broker.ask(&request("s:1", LONG), &|| true);
    assert!(matches!(heard, ApproverResponse::NoApprover(why) if why.contains("no approver is available")));
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_hundred_threads_ask_at_once_and_one_dialog_is_shown_at_a_time() {
    let broker = Arc::new(Broker::default());
    let (shown, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (inside, log) = (Arc::clone(&shown), Arc::clone(&seen));
    let show = move |showing: &PendingRequest<'_>| {
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one dialog at a time");
        log.lock().unwrap().push(showing.request().id.clone());
        thread::sleep(Duration::from_micros(200));
        inside.fetch_sub(1, Ordering::SeqCst);
        let odd = showing.request().id.ends_with(['1', '3', '5', '7', '9']);
        Some(if odd { Choice::Yes } else { no() })
    };
    broker.add(ClosureResponder::new(by(), show)).unwrap();
    let start = Barrier::new(100);
    thread::scope(|scope| {
        for i in 0..100 {
            let (broker, start) = (&broker, &start);
            scope.spawn(move || {
                start.wait();
                let heard = broker.ask(&request(&format!("s:{i}"), LONG), &|| true);
                assert_eq!(is_yes(&heard), i % 2 == 1, "{i}: {heard:?}");
            });
        }
    });
    let mut seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 100);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 100, "each was shown once");
    assert!(broker.waiting().is_empty());
}

#[test]
fn the_first_answer_wins_and_the_rest_are_told_who_and_what() {
    for _ in 0..200 {
        let broker = Arc::new(Broker::default());
        let _open = broker.open_channel();
        let asked = request("s:1", LONG);
        let asking = ask(&broker, &asked);
        until_waiting(&broker, 1);
        let start = Barrier::new(2);
        let taken = thread::scope(|scope| {
            let give = |choice: Choice| {
                let (broker, start, answer) = (&broker, &start, answer(&asked, choice));
                scope.spawn(move || {
                    start.wait();
                    broker.answer(answer)
                })
            };
            [give(Choice::Yes), give(no())].map(|thread| thread.join().unwrap())
        });
        let heard = asking.join().unwrap();
        let [to_yes, to_no] = taken;
        assert_ne!(to_yes.is_ok(), to_no.is_ok());
        assert_eq!(is_yes(&heard), to_yes.is_ok());
        let Some(Err(AnswerError::Resolved(over))) = [to_yes, to_no].into_iter().find(Result::is_err) else {
            panic!("the other is told")
        };
        let RequestResolution::Answered { answer, by } = over.how else { panic!("an approver answered") };
        assert_eq!((answer == Choice::Yes, by.via), (is_yes(&heard), ApprovalChannel::Embedder));
    }
}

/// Shows until it is over, and remembers what it was told.
struct Waits(mpsc::Sender<Option<ResolvedRequest>>);

impl Responder for Waits {
    fn approver(&self) -> pinfold::consent::AnsweredBy {
        by()
    }

    fn show(&mut self, showing: &PendingRequest<'_>) -> Option<Choice> {
        self.0.send(None).unwrap();
        assert!(showing.wait_resolution(LONG).is_some());
        // Too late: it must not count.
        Some(Choice::Yes)
    }

    fn resolved(&mut self, over: &ResolvedRequest) {
        self.0.send(Some(over.clone())).unwrap();
    }
}

#[test]
fn a_dialog_is_told_when_somebody_else_has_answered() {
    let broker = Arc::new(Broker::default());
    let (tell, told) = mpsc::channel();
    broker.add(Waits(tell)).unwrap();
    let asked = request("s:1", LONG);
    let asking = ask(&broker, &asked);
    assert_eq!(told.recv_timeout(LONG).unwrap(), None, "it is shown");
    broker
        .answer(answer(&asked, Choice::No { message: Some("not now".to_owned()), process: false }))
        .unwrap();
    assert!(!is_yes(&asking.join().unwrap()));
    let over = told.recv_timeout(LONG).unwrap().unwrap();
    let said = matches!(&over.how, RequestResolution::Answered { answer: Choice::No { message: Some(m), process: false }, .. } if m == "not now");
    assert!(said, "{over:?}");
}

#[test]
fn an_answer_counts_for_its_digest_and_for_what_was_offered() {
    let broker = Arc::new(Broker::default());
    let _open = broker.open_channel();
    let asked = request("s:1", LONG);
    let asking = ask(&broker, &asked);
    until_waiting(&broker, 1);
    let give = |change: &dyn Fn(&mut Answer), choice: Choice| {
        let mut answer = answer(&asked, choice);
        change(&mut answer);
        broker.answer(answer)
    };
    let same = |_: &mut Answer| {};
    let other = give(&|a| a.digest = "another".to_owned(), Choice::Yes);
    assert!(matches!(other, Err(AnswerError::OtherDigest(_))), "{other:?}");
    let unknown = give(&|a| a.id = "s:2".to_owned(), Choice::Yes);
    assert!(matches!(unknown, Err(AnswerError::Unknown(_))), "{unknown:?}");
    for choice in [
        Choice::session(2),
        Choice::Always { scopes: vec![2], file: RuleFile::default() },
        Choice::Always { scopes: vec![0, 0], file: RuleFile::default() },
    ] {
        let refused = give(&same, choice);
        assert!(matches!(refused, Err(AnswerError::NotOffered { .. })), "{refused:?}");
    }
    assert_eq!(broker.waiting().len(), 1, "none of these was an answer");
    give(&same, Choice::session(1)).unwrap();
    assert!(is_yes(&asking.join().unwrap()));

    let mut always_ask = request("s:3", LONG);
    always_ask.always_ask = true;
    let asking = ask(&broker, &always_ask);
    until_waiting(&broker, 1);
    let refused = broker.answer(answer(&always_ask, Choice::session(0)));
    assert!(matches!(refused, Err(AnswerError::NotOffered { .. })));
    broker.answer(answer(&always_ask, Choice::Yes)).unwrap();
    assert!(is_yes(&asking.join().unwrap()));
}

#[test]
fn silence_is_no_and_an_answer_at_the_deadline_counts_or_is_late_but_never_both() {
    for i in 0..20_i32 {
        let broker = Arc::new(Broker::default());
        let _open = broker.open_channel();
        let asked = request("s:1", Duration::from_millis(150));
        let asking = ask(&broker, &asked);
        until_waiting(&broker, 1);
        let at = asked.deadline + SignedDuration::from_micros(500) * (i - 10);
        thread::sleep(Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default());
        let taken = broker.answer(answer(&asked, Choice::Yes));
        let heard = asking.join().unwrap();
        assert_eq!(taken.is_ok(), is_yes(&heard), "{taken:?} {heard:?}");
        if let Err(refused) = taken {
            assert!(
                matches!(&refused, AnswerError::Resolved(over) if over.how == RequestResolution::Silence),
                "{refused:?}"
            );
            assert!(
                matches!(heard, ApproverResponse::Answer(answer) if answer.by.via == ApprovalChannel::Silence)
            );
        }
    }
}

#[test]
fn what_hangs_and_what_panics_keeps_nobody_waiting_beyond_the_deadline() {
    let broker = Arc::new(Broker::default());
    let release = Arc::new(AtomicBool::new(false));
    let held = Arc::clone(&release);
    let hangs = move |_: &PendingRequest<'_>| {
        while !held.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        Some(Choice::Yes)
    };
    broker.add(ClosureResponder::new(by(), hangs)).unwrap();
    let heard = broker.ask(&request("s:1", Duration::from_millis(50)), &|| true);
    assert!(!is_yes(&heard), "{heard:?}");
    release.store(true, Ordering::Relaxed);

    let broker = Arc::new(Broker::default());
    let member = broker
        .add(ClosureResponder::new(by(), |_: &PendingRequest<'_>| panic!("a fault of the dialog")))
        .unwrap();
    let before = Instant::now();
    let heard = broker.ask(&request("s:1", LONG), &|| true);
    assert!(matches!(heard, ApproverResponse::NoApprover(_)), "{heard:?}");
    assert!(before.elapsed() < Duration::from_secs(5) && !member.is_connected());

    // Somebody who is still there is asked instead.
    broker
        .add(ClosureResponder::new(by(), |_: &PendingRequest<'_>| panic!("a fault of the dialog")))
        .unwrap();
    broker.add(yes()).unwrap();
    for i in 0..10 {
        assert!(is_yes(&broker.ask(&request(&format!("s:{i}"), LONG), &|| true)));
    }
}

#[test]
fn a_thread_that_panics_while_it_asks_takes_its_request_along() {
    let broker = Arc::new(Broker::default());
    let _open = broker.open_channel();
    let mut watch = broker.watch();
    let other = Arc::clone(&broker);
    let panics = thread::spawn(move || other.ask(&request("s:1", LONG), &|| panic!("a fault of the gate")));
    until_waiting(&broker, 1);
    broker.granted();
    assert!(panics.join().is_err());
    assert!(broker.waiting().is_empty());
    let mut over = Vec::new();
    while over.is_empty() {
        over = watch.next(LONG).over;
    }
    assert_eq!(over[0].how, RequestResolution::Gone);
    // And the broker goes on.
    let asked = request("s:2", LONG);
    let asking = ask(&broker, &asked);
    until_waiting(&broker, 1);
    broker.answer(answer(&asked, Choice::Yes)).unwrap();
    assert!(is_yes(&asking.join().unwrap()));
}

#[test]
fn responders_come_and_go() {
    let broker = Arc::new(Broker::default());
    let first = broker.add(ClosureResponder::new(by(), |showing: &PendingRequest<'_>| {
        showing.wait_resolution(LONG);
        None
    }));
    let first = first.unwrap();
    let asking = ask(&broker, &request("s:1", LONG));
    until_waiting(&broker, 1);
    let second = broker.add(ClosureResponder::new(by(), |_: &PendingRequest<'_>| None)).unwrap();
    first.leave();
    // The second leaves it to others, and there are none.
    assert!(matches!(asking.join().unwrap(), ApproverResponse::NoApprover(_)));
    assert!(!first.is_connected() && second.is_connected());
    broker.add(yes()).unwrap();
    assert!(is_yes(&broker.ask(&request("s:2", LONG), &|| true)));
}

#[test]
fn what_was_granted_is_not_asked_about_again_nor_shown() {
    let broker = Arc::new(Broker::default());
    let granted = Arc::new(AtomicBool::new(false));
    let shown = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&shown);
    let show = move |_: &PendingRequest<'_>| {
        count.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(50));
        Some(Choice::session(0))
    };
    broker.add(ClosureResponder::new(by(), show)).unwrap();
    thread::scope(|scope| {
        for i in 0..50 {
            let (broker, granted) = (&broker, &granted);
            scope.spawn(move || {
                let heard =
                    broker.ask(&request(&format!("s:{i}"), LONG), &|| !granted.load(Ordering::SeqCst));
                if is_yes(&heard) {
                    // The gate needs a moment until what was granted holds.
                    thread::sleep(Duration::from_millis(20));
                    granted.store(true, Ordering::SeqCst);
                    broker.granted();
                } else {
                    assert_eq!(heard, ApproverResponse::NotAsked);
                }
            });
        }
    });
    assert_eq!(shown.load(Ordering::SeqCst), 1);
}

#[test]
fn settings_that_were_written_elsewhere_are_noticed() {
    let broker = Arc::new(Broker::default());
    let _open = broker.open_channel();
    let changed = Arc::new(AtomicBool::new(false));
    let look = Arc::clone(&changed);
    broker.before_evaluation(move || look.store(true, Ordering::SeqCst));
    let before = Instant::now();
    let heard = broker.ask(&request("s:1", LONG), &|| !changed.load(Ordering::SeqCst));
    assert_eq!(heard, ApproverResponse::NotAsked);
    assert!(before.elapsed() < Duration::from_secs(3));
}

#[test]
fn somebody_elsewhere_is_waited_for_until_they_go() {
    let broker = Arc::new(Broker::default());
    let there = Arc::new(AtomicBool::new(true));
    let look = Arc::clone(&there);
    broker.set_elsewhere_check(move || look.load(Ordering::SeqCst));
    let asking = ask(&broker, &request("s:1", LONG));
    until_waiting(&broker, 1);
    there.store(false, Ordering::SeqCst);
    assert!(matches!(asking.join().unwrap(), ApproverResponse::NoApprover(_)));
}

#[test]
fn whoever_answered_hears_that_a_rule_was_not_written() {
    struct Told(mpsc::Sender<String>);
    impl Responder for Told {
        fn approver(&self) -> pinfold::consent::AnsweredBy {
            by()
        }
        fn show(&mut self, _: &PendingRequest<'_>) -> Option<Choice> {
            Some(Choice::Always { scopes: Vec::new(), file: RuleFile::default() })
        }
        fn notify(&mut self, text: &str) {
            self.0.send(text.to_owned()).unwrap();
        }
    }
    let broker = Broker::default();
    let (tell, told) = mpsc::channel();
    broker.add(Told(tell)).unwrap();
    let mut watch = broker.watch();
    let asked = request("s:1", LONG);
    assert!(is_yes(&broker.ask(&asked, &|| true)));
    broker.show_message(&asked, "the rule was not written: the disk is full");
    assert!(told.recv_timeout(LONG).unwrap().contains("disk is full"));
    let news = watch.next(LONG);
    assert_eq!((news.over.len(), news.notes.len()), (1, 1));
}

#[test]
fn a_watcher_that_is_slow_misses_steps_and_nothing_else() {
    let broker = Arc::new(Broker::default());
    let mut watch = broker.watch();
    broker.add(yes()).unwrap();
    for i in 0..1000 {
        assert!(is_yes(&broker.ask(&request(&format!("s:{i}"), LONG), &|| true)));
    }
    let news = watch.next(Duration::ZERO);
    assert!(news.asked.is_empty() && news.over.len() == 256, "{}", news.over.len());
    assert_eq!(news.over.last().unwrap().id, "s:999");
    assert!(watch.next(Duration::ZERO).is_empty());
    drop(broker);
    assert!(watch.next(LONG).closed);
}
