//! Who carries questions to a webhook: one thread that follows what waits, and one for each question.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pinfold::consent::{Answer, By, Request, Via};

use super::Webhook;
use super::talk::{Came, No, Talk};
use crate::broker::Shared;
use crate::over::Over;
use crate::responder::{Member, Place};
use crate::watch::Watch;

/// How many questions are carried at a time; the others wait their turn. Many, since one whose answer takes time is
/// carried for as long.
const MOST: usize = 128;
/// How long is waited after the first failure; after each further one twice as long, up to the most.
const BACK_OFF: Duration = Duration::from_secs(1);
const MOST_BACK_OFF: Duration = Duration::from_secs(30);
/// The longest reason that is passed on.
const LONGEST_WHY: usize = 200;
/// How soon it is noticed that everything is over.
const LOOK: Duration = Duration::from_millis(500);

/// Begins to carry questions, until it is sent away or the broker is gone.
pub(crate) fn start(shared: &Arc<Shared>, webhook: Webhook) -> io::Result<Member> {
    let place = Place::take(shared);
    let member = place.member();
    let talk = Arc::new(Talk::new(webhook));
    thread::Builder::new()
        .name("approvals-webhook".to_owned())
        .spawn(move || follow(&Arc::new(place), &talk))?;
    Ok(member)
}

fn follow(place: &Arc<Place>, talk: &Arc<Talk>) {
    let mut watch = Watch::new(Arc::clone(place.shared()));
    let mut turn: VecDeque<Arc<Request>> = VecDeque::new();
    let carried = Arc::new(AtomicUsize::new(0));
    loop {
        let news = watch.next(LOOK);
        if news.closed || place.is_leaving() {
            return;
        }
        turn.extend(news.asked);
        while carried.load(Ordering::Acquire) < MOST {
            let Some(request) = turn.pop_front() else { break };
            carried.fetch_add(1, Ordering::AcqRel);
            let (place, talk, done) = (Arc::clone(place), Arc::clone(talk), Carried(Arc::clone(&carried)));
            let work = move || {
                // A fault in here is no answer, like every other.
                let carry = AssertUnwindSafe(|| carry(&place, &talk, &request));
                if catch_unwind(carry).is_err() {
                    place.pass(&request);
                }
                drop(done);
            };
            if thread::Builder::new().name("approvals-courier".to_owned()).spawn(work).is_err() {
                break;
            }
        }
    }
}

/// One question that is carried.
struct Carried(Arc<AtomicUsize>);

impl Drop for Carried {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Carries one question: asks, asks again, and tells what came of it elsewhere.
fn carry(place: &Place, talk: &Talk, request: &Request) {
    let mut back_off = BACK_OFF;
    let mut poll: Option<String> = None;
    let mut is_posted = false;
    while let Some(left) = left(place, request) {
        is_posted = true;
        let came = match &poll {
            None => talk.ask(request, left),
            Some(url) => talk.poll(url, request, left),
        };
        let wait = match came {
            Ok(Came::Answer(choice, who)) => {
                let by = By { via: Via::Webhook, who: Some(name(talk.host(), who)) };
                let answer = Answer { id: request.id.clone(), digest: request.digest.clone(), choice, by };
                // One that does not count was late, or was not offered: both are told by what becomes of it.
                if place.shared().answer(answer).is_err() {
                    break;
                }
                return;
            }
            Ok(Came::Pending(url, after)) => {
                (poll, back_off) = (Some(url), BACK_OFF);
                after
            }
            Err(No::Yet(_)) => {
                let wait = back_off;
                back_off = back_off.saturating_mul(2).min(MOST_BACK_OFF);
                wait
            }
            Err(No::Ever(why)) => {
                // Words of others can be in it.
                let plain: String = why.chars().filter(|c| !c.is_control()).take(LONGEST_WHY).collect();
                let text = format!("the webhook did not answer: {plain}");
                place.shared().queue().tell(request, &text);
                place.pass(request);
                break;
            }
        };
        place.wait_over(request, wait);
    }
    // Whoever was told of it hears of its end, were it that nobody answered.
    if is_posted && let Some(over) = ended(place, request) {
        talk.tell(&over);
    }
}

/// How long there is still to answer.
fn left(place: &Place, request: &Request) -> Option<Duration> {
    let left = Duration::try_from(request.deadline.duration_since(Timestamp::now())).ok()?;
    (place.is_open(request) && !left.is_zero() && !place.is_leaving()).then_some(left)
}

/// What came of it, once it is over; `None` when that is not known in time.
fn ended(place: &Place, request: &Request) -> Option<Over> {
    let end = Instant::now() + LOOK;
    loop {
        let over = place.shared().queue().end_of(request).cloned();
        if over.is_some() || Instant::now() >= end {
            return over;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The longest name that whoever answers is given.
const LONGEST_WHO: usize = 64;

fn name(host: &str, who: Option<String>) -> String {
    let who = who.unwrap_or_default();
    let told: String =
        who.chars().filter(|c| c.is_alphanumeric() || " -_.@/".contains(*c)).take(LONGEST_WHO).collect();
    if told.is_empty() { host.to_owned() } else { format!("{told} ({host})") }
}
