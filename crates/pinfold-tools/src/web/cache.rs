//! Recently fetched pages by address. Every call is judged before the cache is read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pinfold_egress::{FetchMethod, FetchedPage};
use pinfold_host::WebUrl;

/// Time that a page is taken for what it was.
const FRESH: Duration = Duration::from_mins(15);

/// Number of pages that are kept.
const MAX_PAGES: usize = 64;

/// Bytes of them that are kept.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Pages, the latest last.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pages: VecDeque<CachedPage>,
}

#[derive(Debug)]
struct CachedPage {
    url: WebUrl,
    came: Instant,
    answer: Arc<FetchedPage>,
}

impl Cache {
    pub(super) fn get(&self, url: &WebUrl, method: FetchMethod) -> Option<Arc<FetchedPage>> {
        let fresh = |page: &&CachedPage| page.url == *url && page.came.elapsed() < FRESH;
        let found = self.pages.iter().rev().find(fresh).filter(|_| method == FetchMethod::Get)?;
        Some(Arc::clone(&found.answer))
    }

    /// Keeps what a host answered, unless it says not to or it is no lasting answer.
    pub(super) fn put(&mut self, url: &WebUrl, method: FetchMethod, answer: &Arc<FetchedPage>) {
        let lasting = matches!(answer.status, 200 | 301 | 302 | 303 | 307 | 308);
        let control = answer.headers.get_all("cache-control");
        let stored =
            !control.iter().any(|value| value.to_str().is_ok_and(|value| value.contains("no-store")));
        if !lasting || !stored || method != FetchMethod::Get || answer.body.len() > MAX_BYTES {
            return;
        }
        self.pages.retain(|page| page.url != *url && page.came.elapsed() < FRESH);
        self.pages.push_back(CachedPage {
            url: url.clone(),
            came: Instant::now(),
            answer: Arc::clone(answer),
        });
        while self.pages.len() > MAX_PAGES || self.bytes() > MAX_BYTES {
            self.pages.pop_front();
        }
    }

    fn bytes(&self) -> usize {
        self.pages.iter().map(|page| page.answer.body.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(len: usize, headers: &[(&'static str, &'static str)]) -> Arc<FetchedPage> {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        Arc::new(FetchedPage { status: 200, headers: headers.collect(), body: vec![0; len] })
    }

    #[test]
    fn few_pages_are_kept_and_not_much_of_them() {
        let url = |i: usize| WebUrl::parse(&format!("https://a.b/{i}")).unwrap();
        let mut cache = Cache::default();
        for i in 0..200 {
            cache.put(&url(i), FetchMethod::Get, &answer(1, &[]));
        }
        assert!(
            cache.get(&url(199), FetchMethod::Get).is_some()
                && cache.get(&url(0), FetchMethod::Get).is_none()
        );
        assert!(cache.get(&url(199), FetchMethod::Head).is_none());
        for i in 0..10 {
            cache.put(&url(i), FetchMethod::Get, &answer(8 << 20, &[]));
        }
        assert!(cache.bytes() <= MAX_BYTES && cache.get(&url(9), FetchMethod::Get).is_some());
        cache.put(&url(500), FetchMethod::Get, &answer(1, &[("cache-control", "private, no-store")]));
        assert!(cache.get(&url(500), FetchMethod::Get).is_none());
    }
}
