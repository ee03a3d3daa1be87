//! The web client of a session, with its cache and its budget.

mod budget;
mod cache;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use pinfold::policy::Policy;
use pinfold::{Failure, RefusalCode, WebHost};
use pinfold_egress::{AddressPolicy, FetchClient, FetchError, FetchMethod, FetchedPage, HostMismatch};
use pinfold_host::WebUrl;

use budget::Spent;
use cache::Cache;

/// The largest page that is fetched. A model reads far less; what is larger is a download.
pub(crate) const LARGEST_PAGE: u64 = 8 * 1024 * 1024;

/// Fetches the pages of one session ([`Plan::web`](pinfold::Plan::web)): keeps what came lately, and counts how much it
/// was. Nothing is opened before the first page is fetched.
#[derive(Debug, Default)]
pub struct Web {
    client: FetchClient,
    kept: Mutex<WebState>,
}

#[derive(Debug, Default)]
struct WebState {
    /// Policy under which the pages of the cache were fetched.
    policy: Weak<Policy>,
    cache: Cache,
    spent: Spent,
}

impl WebHost for Web {
    fn fork(&self) -> Arc<dyn WebHost> {
        Arc::new(Self { client: self.client.fork(), ..Self::default() })
    }
}

impl Web {
    /// One that trusts the authorities in a file instead of the system's.
    pub fn trusting(roots: impl Into<PathBuf>) -> Self {
        Self { client: FetchClient::with_roots(roots), ..Self::default() }
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
        let answer = Arc::new(fetched.map_err(|why| failure(url, &why))?);
        kept.cache.put(url, method, &answer);
        Ok(answer)
    }

    /// Returns the pages that are kept under these rules: when they change, none that came under others.
    fn kept(&self, policy: &Arc<Policy>) -> MutexGuard<'_, WebState> {
        // What is held is whole after each change.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::ptr::eq(kept.policy.as_ptr(), Arc::as_ptr(policy)) {
            kept.policy = Arc::downgrade(policy);
            kept.cache = Cache::default();
        }
        kept
    }
}

fn failure(url: &WebUrl, why: &FetchError) -> Failure {
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
        FetchError::TimedOut(after) => {
            unfetched(format!("it took longer than {} seconds", after.as_secs().max(1)), "try it later")
        }
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

fn refused(mismatch: &HostMismatch) -> String {
    match mismatch {
        HostMismatch::NearAddress(address, near) => {
            format!("it leads to {address}, and {}; no rule names that address", near.reason())
        }
        HostMismatch::DeniedAddress(address) => format!("it leads to {address}, which a rule denies"),
        HostMismatch::AskedAddress(address) => {
            format!("it leads to {address}, which a rule asks about: an approval of a name does not open it")
        }
        HostMismatch::ServerName(_)
        | HostMismatch::HostHeader(_)
        | HostMismatch::ConflictingLengths
        | HostMismatch::TransferCoding
        | HostMismatch::Http2Cleartext
        | HostMismatch::Malformed => "it is another host".to_owned(),
    }
}
