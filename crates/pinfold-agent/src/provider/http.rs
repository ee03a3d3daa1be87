//! One request and its stream, again where that helps.
//!
//! Redirects are not followed: they would send the key and the conversation to a host that is not named. Certificates are
//! judged by those that this machine trusts.

use std::io::{BufReader, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use pinfold_net::{BlockingClient, ClientLimits, EventReader, HttpError};
use pinfold_scrub::Scrubber;
use serde_json::Value;

use super::TurnStream;
use crate::model::{ModelDelay, ModelError, ModelRequest, Turn};

/// The connections of a run.
pub(crate) struct Wire(BlockingClient);

/// One model's address.
pub(crate) struct Post {
    pub(crate) wire: Arc<Wire>,
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The key, so that it is in nothing that is told.
    pub(crate) key: Option<String>,
    /// The variable that it is in, for messages.
    pub(crate) variable: &'static str,
    /// The variable with another address, for messages.
    pub(crate) base_variable: &'static str,
    /// Silence after which a provider is reported.
    pub(crate) report_silence_after: Duration,
}

/// Number of tries of a request.
const TRIES: u32 = 5;

/// Wait before the second try; each further one waits twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest that is waited because a provider wants it.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// Interval of looks, between tries, whether the answer is still awaited.
const LOOK: Duration = Duration::from_millis(100);

/// Time limit for a connection.
const CONNECT: Duration = Duration::from_secs(20);

/// Longest silence of a provider: models think before they speak.
const SILENCE: Duration = Duration::from_mins(5);

/// Default silence after which a provider is reported: most answers begin before that.
pub(crate) const REPORT_SILENCE_AFTER: Duration = Duration::from_secs(15);

/// The longest answer that is read where something went wrong.
const MAX_ERROR_LEN: u64 = 64 << 10;

/// The longest event of a stream, in bytes.
const MAX_EVENT_LEN: usize = 16 << 20;

/// The longest answer: more than any model says at one time.
const MAX_ANSWER: u64 = 32 << 20;

/// Reason why a try came to nothing.
enum AttemptError {
    /// Another one can help, after so long at least.
    Again(String, Option<Duration>),
    /// None can.
    ForGood(ModelError),
}

impl Post {
    /// The turn that a model answers with.
    pub(crate) fn turn(
        &self,
        body: &str,
        reading: fn() -> Box<dyn TurnStream>,
        asked: &ModelRequest<'_>,
        heard: &mut dyn FnMut(&str),
    ) -> Result<Turn, ModelError> {
        let ModelRequest { is_awaited, on_delay, .. } = asked;
        let mut wait = FIRST_WAIT;
        let mut last = String::new();
        for attempt in 1..=TRIES {
            match self.send_watched(body, reading(), asked, heard) {
                Ok(turn) => return Ok(turn),
                Err(AttemptError::ForGood(error)) => return Err(error),
                Err(AttemptError::Again(why, at_least)) => {
                    if attempt < TRIES {
                        let time = at_least.unwrap_or(wait).min(MAX_WAIT);
                        let (wait_ms, why) = (millis(time), why.clone());
                        on_delay(ModelDelay::Retry { why, wait_ms, next_try: attempt + 1, tries: TRIES });
                        rest(time, is_awaited)?;
                        wait *= 2;
                    }
                    last = why;
                }
            }
        }
        let what = format!("the model did not answer, tried {TRIES} times: {last}");
        Err(ModelError::new(what, "look at the connection and the provider, then go on with --resume"))
    }

    /// Sends a request, and reports a provider that is silent for long.
    fn send_watched(
        &self,
        body: &str,
        reading: Box<dyn TurnStream>,
        asked: &ModelRequest<'_>,
        heard: &mut dyn FnMut(&str),
    ) -> Result<Turn, AttemptError> {
        let (came, coming) = channel();
        thread::scope(move |scope| {
            let watch = move || report_silence(&coming, self.report_silence_after, asked.on_delay);
            // Without a thread silence is not reported.
            let _ = thread::Builder::new().name("silence".to_owned()).spawn_scoped(scope, watch);
            self.send_once(body, reading, asked.is_awaited, &came, heard)
        })
    }

    /// `came` is told of each event, and dropped at the end.
    fn send_once(
        &self,
        body: &str,
        mut reading: Box<dyn TurnStream>,
        is_awaited: &(dyn Fn() -> bool + Sync),
        came: &Sender<()>,
        heard: &mut dyn FnMut(&str),
    ) -> Result<Turn, AttemptError> {
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let sent = self.wire.0.post_json(&self.url, &headers, body.as_bytes(), None);
        let response = sent.map_err(|error| match error {
            HttpError::NoTrustRoots(why) => AttemptError::ForGood(ModelError::new(
                why,
                "set SSL_CERT_FILE, or an address that begins with http://",
            )),
            error => {
                AttemptError::Again(format!("it cannot be reached: {}", shown(&error.to_string())), None)
            }
        })?;
        let status = response.status();
        if status != 200 {
            let after = response.header("retry-after");
            let after = after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
            let body = self.without_key(response.read_lossy(MAX_ERROR_LEN));
            return Err(self.refused(status, &body, after));
        }
        if is_page(response.header("content-type")) {
            return Err(self.page());
        }
        let stream = BufReader::new(response.into_reader()).take(MAX_ANSWER);
        let mut events = EventReader::new(stream, MAX_EVENT_LEN);
        loop {
            let broke_off =
                |e: std::io::Error| AttemptError::Again(format!("the answer broke off: {e}"), None);
            let Some(data) = events.next_event().map_err(broke_off)? else { break };
            // Silence that was reported is watched no more.
            let _ = came.send(());
            let data = String::from_utf8_lossy(&data).into_owned();
            if !is_awaited() {
                return Err(AttemptError::ForGood(given_up()));
            }
            if data.trim() == "[DONE]" {
                break;
            }
            let Ok(value) = serde_json::from_str::<Value>(&self.without_key(data)) else {
                return Err(AttemptError::Again("the answer is no JSON".to_owned(), None));
            };
            reading.event(&value, heard).map_err(|why| AttemptError::Again(shown(&why), None))?;
        }
        if events.into_inner().limit() == 0 {
            let what = format!("the answer has more than {} MiB", MAX_ANSWER >> 20);
            return Err(AttemptError::ForGood(ModelError::new(what, "look at the provider")));
        }
        reading
            .done()
            .ok_or_else(|| AttemptError::Again("the answer broke off before its end".to_owned(), None))
    }

    /// A provider may say the key again.
    fn without_key(&self, text: String) -> String {
        // Shorter ones are none, and could stand in any word.
        const SHORTEST: usize = 8;
        match &self.key {
            Some(key) if key.len() >= SHORTEST && text.contains(key.as_str()) => text.replace(key, "[key]"),
            Some(_) | None => text,
        }
    }

    /// A page for people where the answer of a model should be: no further try gets another one.
    fn page(&self) -> AttemptError {
        AttemptError::ForGood(ModelError::new(
            "a web page came instead of the model's answer: something between this machine and the provider answers",
            format!(
                "log in to the network (captive portal), or look at the proxy and the address in {}",
                self.base_variable
            ),
        ))
    }

    /// An answer that is no stream.
    fn refused(&self, status: u16, body: &str, after: Option<Duration>) -> AttemptError {
        let said = error_message(body);
        let what = format!("the provider answers {status}: {said}");
        match status {
            511 => self.page(),
            408 | 409 | 429 | 500..=599 => AttemptError::Again(what, after),
            401 | 403 => {
                AttemptError::ForGood(ModelError::new(what, format!("look at the key in {}", self.variable)))
            }
            404 => {
                AttemptError::ForGood(ModelError::new(what, "look at the name of the model and the address"))
            }
            300..=399 => {
                let what =
                    format!("the provider answers {status}, which leads elsewhere; that is not followed");
                AttemptError::ForGood(ModelError::new(what, "set the address that is meant"))
            }
            _ => AttemptError::ForGood(ModelError::new(
                what,
                "this is no fault of the connection: mend what it names",
            )),
        }
    }
}

/// Reports once that nothing came for so long, until the sender is gone.
fn report_silence(coming: &Receiver<()>, time: Duration, on_delay: &(dyn Fn(ModelDelay) + Sync)) {
    loop {
        match coming.recv_timeout(time) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                on_delay(ModelDelay::Silence { silent_ms: millis(time), limit_ms: millis(SILENCE) });
                return;
            }
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns true for a content type of pages for people.
fn is_page(content_type: Option<&str>) -> bool {
    let kind = content_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml"].iter().any(|page| kind.eq_ignore_ascii_case(page))
}

/// Waits before the next try, as long as the answer is awaited.
fn rest(time: Duration, is_awaited: &(dyn Fn() -> bool + Sync)) -> Result<(), ModelError> {
    let until = Instant::now() + time;
    loop {
        if !is_awaited() {
            return Err(given_up());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(LOOK));
    }
}

fn given_up() -> ModelError {
    ModelError::new("the caller gave up", "go on with --resume")
}

/// Returns a provider's error message: short, without secrets and control characters.
fn error_message(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let named = ["/error/message", "/message", "/0/error/message", "/error"];
    let text = named.iter().find_map(|path| value.pointer(path)?.as_str());
    shown(text.unwrap_or(body))
}

fn shown(text: &str) -> String {
    const MAX_SHOWN: usize = 400;
    let clean = Scrubber::default().scrub(text);
    clean.text.chars().take(MAX_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl Wire {
    pub(crate) fn new(roots: Option<PathBuf>) -> Self {
        Self(BlockingClient::new(roots, limits))
    }
}

fn limits(client: ClientLimits) -> ClientLimits {
    client
        .accept("text/event-stream")
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE))
        .max_response_header_size(64 << 10)
}
