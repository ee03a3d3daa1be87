//! The HTTP client for metadata, registration and tokens: short requests, bounded responses.

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
use pinfold_egress::{EgressViolation, FetchError, OriginClient};
use pinfold_net::http1::{self, BodyError};
use pinfold_render::visible;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{Endpoint, LoginError};

/// The policy for hosts, and the connections to them.
pub trait Connector: Send + Sync {
    /// Returns a client for the endpoint's host, if the host is allowed. Nothing is sent yet.
    ///
    /// # Errors
    /// When the host is not allowed.
    fn connect(&self, endpoint: &Endpoint) -> Result<OriginClient, LoginError>;
}

/// The largest response, in bytes.
const MAX_RESPONSE: usize = 256 << 10;

/// The time limit for a request and its response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of an unexpected response that are shown.
const MAX_SHOWN: usize = 200;

/// Sends requests, with one connection pool per origin.
pub(crate) struct HttpClient<'a> {
    connector: &'a dyn Connector,
    clients: Mutex<HashMap<String, Arc<OriginClient>>>,
}

/// A response.
pub(crate) struct OAuthResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Vec<u8>,
}

impl OAuthResponse {
    /// Parses the body as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, from: &Endpoint) -> Result<T, LoginError> {
        serde_json::from_slice(&self.body).map_err(|why| invalid_response(from, &visible(&why.to_string())))
    }

    /// The error for an unexpected status, with the beginning of the body.
    pub(crate) fn unexpected_status(&self, from: &Endpoint) -> LoginError {
        let body = String::from_utf8_lossy(self.body.get(..MAX_SHOWN).unwrap_or(&self.body));
        invalid_response(from, &format!("{} {}", self.status, visible(body.trim())))
    }
}

/// The error for a response that is not valid.
pub(crate) fn invalid_response(from: &Endpoint, why: &str) -> LoginError {
    LoginError::new(format!("the response of {from} cannot be used: {why}"))
}

impl<'a> HttpClient<'a> {
    pub(crate) fn new(connector: &'a dyn Connector) -> Self {
        Self { connector, clients: Mutex::default() }
    }

    /// The client for an endpoint's origin, shared by all endpoints there.
    pub(crate) fn client_for(&self, endpoint: &Endpoint) -> Result<Arc<OriginClient>, LoginError> {
        // A panic cannot leave the map half changed.
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get(&endpoint.origin()) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(self.connector.connect(endpoint)?);
        clients.insert(endpoint.origin(), Arc::clone(&new));
        Ok(new)
    }

    /// Sends a `GET` request.
    pub(crate) async fn get(&self, endpoint: &Endpoint) -> Result<OAuthResponse, LoginError> {
        self.send(&Method::GET, endpoint, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a `POST` request with a JSON body.
    pub(crate) async fn post(
        &self,
        endpoint: &Endpoint,
        body: &impl serde::Serialize,
    ) -> Result<OAuthResponse, LoginError> {
        let body = serde_json::to_vec(body).map_err(|why| LoginError::new(why.to_string()))?;
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        self.send(&Method::POST, endpoint, headers, body.into()).await
    }

    pub(crate) async fn send(
        &self,
        method: &Method,
        endpoint: &Endpoint,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<OAuthResponse, LoginError> {
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        let client = self.client_for(endpoint)?;
        let all = async {
            let answer = client.send(method, endpoint.url().target(), &headers, &body).await;
            let answer = answer.map_err(|why| transport_error(endpoint, &why))?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let body = read_body(endpoint, answer).await?;
            Ok(OAuthResponse { status, headers, body })
        };
        timeout(TIMEOUT, all)
            .await
            .unwrap_or_else(|_| Err(LoginError::new(format!("{endpoint} does not respond"))))
    }
}

/// The HTTP client of the `oauth2` crate.
impl<'c> AsyncHttpClient<'c> for HttpClient<'_> {
    type Error = RequestError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, RequestError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let endpoint = Endpoint::parse(&request.uri().to_string())
                .map_err(|why| RequestError(LoginError::new(why)))?;
            let (parts, body) = request.into_parts();
            let answer = self
                .send(&parts.method, &endpoint, parts.headers, body.into())
                .await
                .map_err(RequestError)?;
            let mut response = HttpResponse::new(answer.body);
            (*response.status_mut(), *response.headers_mut()) = (answer.status, answer.headers);
            Ok(response)
        })
    }
}

/// A request that was not sent, or has no valid response.
#[derive(Debug)]
pub(crate) struct RequestError(pub(crate) LoginError);

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for RequestError {}

async fn read_body(endpoint: &Endpoint, answer: Response<Incoming>) -> Result<Vec<u8>, LoginError> {
    // An event stream does not end, and is no response to any request here.
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        return Ok(Vec::new());
    }
    http1::read_body(answer.into_body(), MAX_RESPONSE).await.map_err(|why| match why {
        BodyError::TooLarge => invalid_response(endpoint, "it is too large"),
        BodyError::Broken(why) => invalid_response(endpoint, &format!("it was cut off ({why})")),
    })
}

/// The error for a request without a response.
fn transport_error(endpoint: &Endpoint, why: &FetchError) -> LoginError {
    let unreachable = |why: &str| LoginError::new(format!("{endpoint} cannot be reached: {why}"));
    match why {
        FetchError::Refused(EgressViolation::SpecialPurposeAddress(address, near)) => {
            unreachable(&format!("it resolves to {address}, and {}", near.reason()))
                .with_hint(format!("if that is meant: --allow-host {address}"))
        }
        FetchError::Refused(_) => unreachable("it resolves to an address that a rule denies"),
        FetchError::Unreachable(why) | FetchError::Malformed(why) | FetchError::UnsupportedCoding(why) => {
            unreachable(&visible(why))
        }
        FetchError::TimedOut(..) | FetchError::Cancelled => unreachable("it does not respond"),
        FetchError::TooLarge(_) => unreachable("its response is too large"),
    }
}
