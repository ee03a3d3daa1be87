//! Delivery of approval requests to a webhook: one thread that watches the queue, and one per request.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pinfold::consent::{Answer, AnsweredBy, ApprovalChannel, Request};

use super::Webhook;
use super::client::{WebhookClient, WebhookFailure, WebhookReply};
use crate::broker::BrokerState;
use crate::resolution::ResolvedRequest;
use crate::responder::{Registration, ResponderHandle};
use crate::watch::QueueWatch;

/// Requests in delivery at a time; the others wait. Many, since each is in delivery until it is answered.
const MAX_DELIVERIES: usize = 128;
/// The delay after the first failure, doubled after each further one up to the maximum.
const FIRST_BACK_OFF: Duration = Duration::from_secs(1);
const MAX_BACK_OFF: Duration = Duration::from_secs(30);
/// The longest error message that is passed on, in characters.
const MAX_ERROR_CHARS: usize = 200;
/// The interval at which the end of the broker is noticed.
const POLL: Duration = Duration::from_millis(500);

/// Starts delivery, until the member is removed or the broker is dropped.
pub(crate) fn start(shared: &Arc<BrokerState>, webhook: Webhook) -> io::Result<ResponderHandle> {
    let registration = Registration::new(shared);
    let member = registration.member();
    let client = Arc::new(WebhookClient::new(webhook));
    thread::Builder::new()
        .name("approvals-webhook".to_owned())
        .spawn(move || follow(&Arc::new(registration), &client))?;
    Ok(member)
}

fn follow(registration: &Arc<Registration>, client: &Arc<WebhookClient>) {
    let mut watch = QueueWatch::new(Arc::clone(registration.shared()));
    let mut waiting: VecDeque<Arc<Request>> = VecDeque::new();
    let in_delivery = Arc::new(AtomicUsize::new(0));
    loop {
        let news = watch.next(POLL);
        if news.closed || registration.is_leaving() {
            return;
        }
        waiting.extend(news.asked);
        while in_delivery.load(Ordering::Acquire) < MAX_DELIVERIES {
            let Some(request) = waiting.pop_front() else { break };
            in_delivery.fetch_add(1, Ordering::AcqRel);
            let (registration, client, done) =
                (Arc::clone(registration), Arc::clone(client), DeliverySlot(Arc::clone(&in_delivery)));
            let work = move || {
                // A panic here is no answer, as any other failure.
                let deliver = AssertUnwindSafe(|| deliver(&registration, &client, &request));
                if catch_unwind(deliver).is_err() {
                    registration.pass(&request);
                }
                drop(done);
            };
            if thread::Builder::new().name("approvals-delivery".to_owned()).spawn(work).is_err() {
                break;
            }
        }
    }
}

/// One request in delivery.
struct DeliverySlot(Arc<AtomicUsize>);

impl Drop for DeliverySlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Delivers one request: posts, polls, retries, and reports its resolution by another approver.
fn deliver(registration: &Registration, client: &WebhookClient, request: &Request) {
    let mut back_off = FIRST_BACK_OFF;
    let mut poll: Option<String> = None;
    let mut is_posted = false;
    while let Some(left) = time_left(registration, request) {
        is_posted = true;
        let came = match &poll {
            None => client.request_approval(request, left),
            Some(url) => client.poll(url, request, left),
        };
        let wait = match came {
            Ok(WebhookReply::Answer(choice, who)) => {
                let by = AnsweredBy {
                    via: ApprovalChannel::Webhook,
                    who: Some(approver_name(client.host(), who)),
                };
                let answer = Answer { id: request.id.clone(), digest: request.digest.clone(), choice, by };
                // An answer that does not count was late or not offered. The resolution that is posted next says so.
                if registration.shared().answer(answer).is_err() {
                    break;
                }
                return;
            }
            Ok(WebhookReply::Pending(url, after)) => {
                (poll, back_off) = (Some(url), FIRST_BACK_OFF);
                after
            }
            Err(WebhookFailure::Temporary(_)) => {
                let wait = back_off;
                back_off = back_off.saturating_mul(2).min(MAX_BACK_OFF);
                wait
            }
            Err(WebhookFailure::Permanent(why)) => {
                // The text of the server can have control characters.
                let plain: String = why.chars().filter(|c| !c.is_control()).take(MAX_ERROR_CHARS).collect();
                let text = format!("the webhook did not answer: {plain}");
                registration.shared().queue().add_note(request, &text);
                registration.pass(request);
                break;
            }
        };
        registration.wait_over(request, wait);
    }
    // The webhook learns the resolution of every request that was posted to it, also when no approver answered.
    if is_posted && let Some(over) = resolution_of(registration, request) {
        client.report_resolution(&over);
    }
}

/// The time that is left to answer.
fn time_left(registration: &Registration, request: &Request) -> Option<Duration> {
    let left = Duration::try_from(request.deadline.duration_since(Timestamp::now())).ok()?;
    (registration.is_open(request) && !left.is_zero() && !registration.is_leaving()).then_some(left)
}

/// The resolution of a request, once there is one; `None` when it is not known in time.
fn resolution_of(registration: &Registration, request: &Request) -> Option<ResolvedRequest> {
    let end = Instant::now() + POLL;
    loop {
        let over = registration.shared().queue().resolution_of(request).cloned();
        if over.is_some() || Instant::now() >= end {
            return over;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The longest name of an approver, in characters.
const MAX_NAME_CHARS: usize = 64;

fn approver_name(host: &str, who: Option<String>) -> String {
    let who = who.unwrap_or_default();
    let told: String =
        who.chars().filter(|c| c.is_alphanumeric() || " -_.@/".contains(*c)).take(MAX_NAME_CHARS).collect();
    if told.is_empty() { host.to_owned() } else { format!("{told} ({host})") }
}
