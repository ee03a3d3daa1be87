//! What is said to those who know something about a login: short requests, short answers.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use pinfold_egress::{Exchange, Mismatch, Unfetched};
use pinfold_net::http1::{self, BodyError};
use pinfold_render::visible;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{Place, Trouble};

/// How hosts are reached.
pub trait Way: Send + Sync {
    /// Reaches the host of a place, where it may be reached. Nothing is said to it yet.
    ///
    /// # Errors
    /// Why it is not reached.
    fn exchange(&self, place: &Place) -> Result<Exchange, Trouble>;
}

/// The longest answer.
const LONGEST: usize = 256 << 10;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest part of what is no answer that is told.
const SHOWN: usize = 200;

/// Speaks to hosts, each over one exchange.
pub(crate) struct Speech<'a> {
    way: &'a dyn Way,
    open: Mutex<HashMap<String, Arc<Exchange>>>,
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    /// What it says, where it is this.
    pub(crate) fn json<T: DeserializeOwned>(&self, from: &Place) -> Result<T, Trouble> {
        serde_json::from_slice(&self.body).map_err(|why| no_answer(from, &visible(&why.to_string())))
    }

    /// Why it is no answer, in its own words.
    pub(crate) fn refused(&self, from: &Place) -> Trouble {
        let said = String::from_utf8_lossy(self.body.get(..SHOWN).unwrap_or(&self.body));
        no_answer(from, &format!("{} {}", self.status, visible(said.trim())))
    }
}

/// What came from there cannot be used.
pub(crate) fn no_answer(from: &Place, why: &str) -> Trouble {
    Trouble::new(format!("the answer of {from} cannot be used: {why}"))
}

impl<'a> Speech<'a> {
    pub(crate) fn new(way: &'a dyn Way) -> Self {
        Self { way, open: Mutex::default() }
    }

    /// The exchange with a host, which is the same for all its addresses.
    pub(crate) fn with(&self, place: &Place) -> Result<Arc<Exchange>, Trouble> {
        // Each use leaves it whole.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(&place.origin()) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(self.way.exchange(place)?);
        open.insert(place.origin(), Arc::clone(&new));
        Ok(new)
    }

    /// Asks for what is known at a place.
    pub(crate) async fn get(&self, place: &Place) -> Result<Answer, Trouble> {
        self.send(&Method::GET, place, HeaderMap::new(), Bytes::new()).await
    }

    /// Says something in JSON.
    pub(crate) async fn post(&self, place: &Place, body: &impl serde::Serialize) -> Result<Answer, Trouble> {
        let body = serde_json::to_vec(body).map_err(|why| Trouble::new(why.to_string()))?;
        let heads = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        self.send(&Method::POST, place, heads, body.into()).await
    }

    pub(crate) async fn send(
        &self,
        method: &Method,
        place: &Place,
        mut heads: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, Trouble> {
        heads.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        let exchange = self.with(place)?;
        let all = async {
            let answer = exchange.send(method, place.url().target(), &heads, &body).await;
            let answer = answer.map_err(|why| unsent(place, &why))?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let body = read(place, answer).await?;
            Ok(Answer { status, headers, body })
        };
        timeout(PATIENCE, all).await.unwrap_or_else(|_| Err(Trouble::new(format!("{place} does not answer"))))
    }
}

/// What the library for grants says.
impl<'c> AsyncHttpClient<'c> for Speech<'_> {
    type Error = Unsaid;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, Unsaid>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let place = Place::parse(&request.uri().to_string()).map_err(|why| Unsaid(Trouble::new(why)))?;
            let (parts, body) = request.into_parts();
            let answer =
                self.send(&parts.method, &place, parts.headers, body.into()).await.map_err(Unsaid)?;
            let mut response = HttpResponse::new(answer.body);
            (*response.status_mut(), *response.headers_mut()) = (answer.status, answer.headers);
            Ok(response)
        })
    }
}

/// Something was not said, or not answered.
#[derive(Debug)]
pub(crate) struct Unsaid(pub(crate) Trouble);

impl fmt::Display for Unsaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)
    }
}

impl Error for Unsaid {}

async fn read(place: &Place, answer: Response<Incoming>) -> Result<Vec<u8>, Trouble> {
    // A stream of events does not end; nothing that is asked here is answered by one.
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        return Ok(Vec::new());
    }
    http1::read_body(answer.into_body(), LONGEST).await.map_err(|why| match why {
        BodyError::TooLarge => no_answer(place, "it is too long"),
        BodyError::Broken(why) => no_answer(place, &format!("it broke off ({why})")),
    })
}

/// Why nothing was said.
fn unsent(place: &Place, why: &Unfetched) -> Trouble {
    let unreached = |why: &str| Trouble::new(format!("{place} is not reached: {why}"));
    match why {
        Unfetched::Refused(Mismatch::Near(address, near)) => {
            unreached(&format!("it leads to {address}, and {}", near.why()))
                .mend(format!("if that is meant: --allow-host {address}"))
        }
        Unfetched::Refused(_) => unreached("it leads where a rule forbids it"),
        Unfetched::Unreachable(why) | Unfetched::Broken(why) | Unfetched::Encoded(why) => {
            unreached(&visible(why))
        }
        Unfetched::Late(_) | Unfetched::GivenUp => unreached("it does not answer"),
        Unfetched::TooLarge(_) => unreached("its answer is too long"),
    }
}
