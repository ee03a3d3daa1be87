//! The web client of a session, with its cache and its budget.

mod budget;
mod cache;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use pinfold::policy::Policy;
use pinfold::{Failure, RefusalCode, WebHost};
use pinfold_egress::{
    AddressPolicy, EgressViolation, FetchClient, FetchError, FetchMethod, FetchStage, FetchedPage,
};
use pinfold_host::{Host, UnreachableAddress, WebUrl};

use budget::FetchUsage;
use cache::Cache;

/// The largest page that is fetched. A model reads far less; what is larger is a download.
pub(crate) const LARGEST_PAGE: u64 = 8 * 1024 * 1024;

/// Fetches the pages of one session ([`Plan::web`](pinfold::Plan::web)): keeps what came lately, and counts how much it
/// was. Nothing is opened before the first page is fetched.
#[derive(Debug)]
pub struct Web {
    client: FetchClient,
    timeout: Duration,
    kept: Mutex<WebState>,
}

#[derive(Debug, Default)]
struct WebState {
    /// Policy under which the pages of the cache were fetched.
    policy: Weak<Policy>,
    cache: Cache,
    spent: FetchUsage,
    /// Hosts and ports that led to an address that no approval of the host opens, and when.
    refused: BTreeMap<(String, u16), (UnreachableAddress, Instant)>,
}

/// Time that a page with all its redirects may take, where nothing else is set.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45);

/// Time for which a host is refused without a question after it led to an address that no approval opens: by then its name
/// may lead elsewhere.
const REFUSED: Duration = Duration::from_mins(10);

/// Most such hosts that are remembered before all are forgotten.
const MAX_REFUSED: usize = 1000;

impl Default for Web {
    fn default() -> Self {
        Self { client: FetchClient::default(), timeout: DEFAULT_TIMEOUT, kept: Mutex::default() }
    }
}

impl WebHost for Web {
    fn fork(&self) -> Arc<dyn WebHost> {
        Arc::new(Self { client: self.client.fork(), timeout: self.timeout, ..Self::default() })
    }

    fn refused_address(&self, host: &Host, port: u16) -> Option<UnreachableAddress> {
        let kept = self.lock();
        let (refused, at) = kept.refused.get(&(host.to_string(), port))?;
        (at.elapsed() < REFUSED).then_some(*refused)
    }
}

impl Web {
    /// One that trusts the authorities in a file instead of the system's.
    pub fn trusting(roots: impl Into<PathBuf>) -> Self {
        Self { client: FetchClient::with_roots(roots), ..Self::default() }
    }

    /// The same with another limit for the time that a page with all its redirects may take; 45 seconds without.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The time that a page with all its redirects may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Fetches a page, from the cache where it is recent. The call has been judged.
    pub(crate) fn get(
        &self,
        url: &WebUrl,
        method: FetchMethod,
        policy: &Arc<Policy>,
        until: Instant,
        waits: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<FetchedPage>, Failure> {
        if let Some(answer) = self.kept(policy).cache.get(url, method) {
            return Ok(answer);
        }
        let most = self.kept(policy).spent.take(policy.fetches, LARGEST_PAGE)?;
        let timeout = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let fetched =
            self.client.fetch(url, method, &*policy.hosts as &dyn AddressPolicy, most, timeout, waits);
        let mut kept = self.kept(policy);
        // What was too much has come all the same.
        let came = match &fetched {
            Ok(fetched) => fetched.body.len() as u64,
            Err(FetchError::TooLarge(_)) => most,
            Err(_) => 0,
        };
        kept.spent.give_back(most.saturating_sub(came));
        if let Err(FetchError::Refused(mismatch)) = &fetched
            && let Some(address) = mismatch.unreachable_address()
        {
            kept.remember_refused(url, address);
        }
        let answer = Arc::new(fetched.map_err(|why| failure(url, &why, self.timeout))?);
        kept.cache.put(url, method, &answer);
        Ok(answer)
    }

    /// Returns the pages that are kept under these rules: when they change, none that came under others.
    fn kept(&self, policy: &Arc<Policy>) -> MutexGuard<'_, WebState> {
        let mut kept = self.lock();
        if !std::ptr::eq(kept.policy.as_ptr(), Arc::as_ptr(policy)) {
            kept.policy = Arc::downgrade(policy);
            kept.cache = Cache::default();
        }
        kept
    }

    fn lock(&self) -> MutexGuard<'_, WebState> {
        // What is held is whole after each change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WebState {
    fn remember_refused(&mut self, url: &WebUrl, address: UnreachableAddress) {
        if self.refused.len() >= MAX_REFUSED {
            self.refused.clear();
        }
        self.refused.insert((url.host().to_string(), url.port()), (address, Instant::now()));
    }
}

fn failure(url: &WebUrl, why: &FetchError, timeout: Duration) -> Failure {
    let unfetched = |why: String, hint: &str| {
        Failure::plain(RefusalCode::NotFetched, format!("{url} was not fetched: {why}"), hint)
    };
    match why {
        FetchError::Refused(mismatch) => Failure::plain(
            RefusalCode::Denied,
            format!("{url} was not fetched: {}", refused(mismatch)),
            "do without it, and tell the user what is needed there",
        ),
        FetchError::Unreachable(why) => unfetched(why.clone(), "look at the address, then decide"),
        FetchError::Malformed(why) => {
            unfetched(format!("its answer is broken ({why})"), "look at the address, then decide")
        }
        // What the client was given is what redirects had left.
        FetchError::TimedOut(_, stage) => unfetched(timed_out(timeout, *stage), "try it later"),
        FetchError::Cancelled => unfetched("the caller gave up".to_owned(), "fetch it again if it is wanted"),
        FetchError::TooLarge(most) => Failure::plain(
            RefusalCode::TooLarge,
            format!("{url} is larger than {} KiB", most >> 10),
            "find a smaller page",
        ),
        FetchError::UnsupportedCoding(how) => unfetched(
            format!("it comes compressed in a way that is not understood ({})", how.escape_debug()),
            "find another page",
        ),
    }
}

fn timed_out(timeout: Duration, stage: FetchStage) -> String {
    let at = match stage {
        FetchStage::Connect => "connecting to the host",
        FetchStage::Response => "waiting for its answer",
        FetchStage::Content => "reading its content",
    };
    format!("it timed out after {} s, redirects included, while {at}", timeout.as_secs_f64())
}

fn refused(mismatch: &EgressViolation) -> String {
    let address = mismatch.unreachable_address();
    address.map_or_else(|| "it is another host".to_owned(), |address| address.reason())
}
