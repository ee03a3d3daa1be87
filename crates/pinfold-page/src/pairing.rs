//! Pairing of browsers: a code from the terminal is exchanged for keys.

use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pinfold_approvals::AccessSecret;

/// 32 letters and digits that cannot be confused, five bits each.
/// [Crockford's base 32](https://www.crockford.com/base32.html)
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The length of a code: forty bits, of which five values can be tried.
const LONG: usize = 8;
/// The validity of a code.
const LASTS: Duration = Duration::from_mins(5);
/// The wrong try that voids a code.
const TRIES: u32 = 5;
/// The validity of a pairing.
const PAIRED: Duration = Duration::from_hours(12);
/// The most paired browsers; a further one replaces the oldest.
const MAX_BROWSERS: usize = 8;

/// A code that pairs one browser, once. It is shown to the user only.
#[derive(Clone)]
pub struct PairingCode(String);

impl fmt::Display for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.0.split_at_checked(LONG / 2).unwrap_or((&self.0, ""));
        write!(f, "{first}-{second}")
    }
}

impl fmt::Debug for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

/// The keys of a paired browser: a cookie that scripts cannot read, and a token that is not shared between ports.
#[derive(Clone)]
pub(crate) struct BrowserKeys {
    pub(crate) cookie: AccessSecret,
    pub(crate) token: AccessSecret,
}

/// A paired browser, by a number that is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Browser(u64);

/// Reason why a browser was not paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairingError {
    /// The code is wrong.
    Wrong,
    /// The code is wrong, and it was the last try.
    WrongAndDead,
    /// There is no valid code.
    NoCode,
    /// The system has no randomness.
    NoKeys,
}

/// The paired browsers, and the current code.
#[derive(Default)]
pub(crate) struct Pairing {
    open: Mutex<Option<CurrentCode>>,
    paired: Mutex<PairedBrowser>,
}

struct CurrentCode {
    code: String,
    until: Instant,
    tries: u32,
}

#[derive(Default)]
struct PairedBrowser {
    latest: u64,
    all: Vec<(Browser, BrowserKeys, Instant)>,
}

impl Pairing {
    /// Generates a code. The previous one is void.
    pub(crate) fn new_code(&self) -> io::Result<PairingCode> {
        let random = AccessSecret::new()?;
        let letter = |byte: &u8| LETTERS.get(usize::from(byte % 32)).map(|letter| char::from(*letter));
        let code: String = random.bytes().iter().filter_map(letter).take(LONG).collect();
        let until = Instant::now() + LASTS;
        *lock(&self.open) = Some(CurrentCode { code: code.clone(), until, tries: TRIES });
        Ok(PairingCode(code))
    }

    /// Pairs the browser that sends the code. A try counts before it is compared, so that concurrent tries count too.
    pub(crate) fn pair(&self, said: &str) -> Result<BrowserKeys, PairingError> {
        let said: String = said.chars().filter(char::is_ascii_alphanumeric).take(2 * LONG).collect();
        let said = said.to_ascii_uppercase().replace(['I', 'L'], "1").replace('O', "0");
        let mut open = lock(&self.open);
        if open.as_ref().is_some_and(|now| now.until <= Instant::now()) {
            *open = None;
        }
        let Some(now) = open.as_mut() else { return Err(PairingError::NoCode) };
        now.tries = now.tries.saturating_sub(1);
        let (is_right, is_last) = (AccessSecret::is_same(&now.code, &said), now.tries == 0);
        if is_right || is_last {
            *open = None;
        }
        drop(open);
        match (is_right, is_last) {
            (true, _) => self.admit().map_err(|_| PairingError::NoKeys),
            (false, true) => Err(PairingError::WrongAndDead),
            (false, false) => Err(PairingError::Wrong),
        }
    }

    fn admit(&self) -> io::Result<BrowserKeys> {
        let keys = BrowserKeys { cookie: AccessSecret::new()?, token: AccessSecret::new()? };
        let mut paired = lock(&self.paired);
        if paired.all.len() == MAX_BROWSERS {
            paired.all.remove(0);
        }
        paired.latest += 1;
        let browser = Browser(paired.latest);
        paired.all.push((browser, keys.clone(), Instant::now() + PAIRED));
        Ok(keys)
    }

    /// The browser that has both halves of the same keys.
    pub(crate) fn find(&self, cookie: &str, token: &str) -> Option<Browser> {
        let mut found = None;
        // All pairs are compared in full, whichever matches (constant time).
        for (browser, keys, _) in &self.current().all {
            if keys.cookie.matches(cookie) & keys.token.matches(token) {
                found = Some(*browser);
            }
        }
        found
    }

    /// Returns whether a browser is still paired.
    pub(crate) fn is_paired(&self, browser: Browser) -> bool {
        self.current().all.iter().any(|(paired, ..)| *paired == browser)
    }

    fn current(&self) -> MutexGuard<'_, PairedBrowser> {
        let mut paired = lock(&self.paired);
        let now = Instant::now();
        paired.all.retain(|(_, _, until)| now < *until);
        paired
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_pairs_once() {
        let pairing = Pairing::default();
        assert_eq!(pairing.pair("").err(), Some(PairingError::NoCode));
        let code = pairing.new_code().unwrap();
        let text = code.to_string();
        assert_eq!((text.len(), text.as_bytes()[4], format!("{code:?}").as_str()), (9, b'-', "Code"));
        let keys = pairing.pair(&format!(" {} ", text.to_lowercase())).unwrap();
        assert_eq!(pairing.pair(&text).err(), Some(PairingError::NoCode), "it was used");
        let (cookie, token) = (keys.cookie.as_str(), keys.token.as_str());
        let browser = pairing.find(cookie, token).unwrap();
        assert!(pairing.is_paired(browser));
        for (cookie, token) in [(cookie, cookie), (token, token), (token, cookie), (cookie, ""), ("", "")] {
            assert_eq!(pairing.find(cookie, token), None);
        }
        let other = pairing.pair(&pairing.new_code().unwrap().to_string()).unwrap();
        assert_eq!(pairing.find(cookie, other.token.as_str()), None, "halves of two are nothing");
        assert_ne!(pairing.find(other.cookie.as_str(), other.token.as_str()), Some(browser));
    }

    #[test]
    fn letters_that_look_alike_are_the_same() {
        let pairing = Pairing::default();
        let text = loop {
            let text = pairing.new_code().unwrap().to_string();
            if text.contains(['0', '1']) {
                break text;
            }
        };
        assert!(pairing.pair(&text.replace('0', "o").replace('1', "l")).is_ok());
    }

    #[test]
    fn a_code_dies_after_a_few_wrong_ones_however_many_try_at_once() {
        let pairing = Pairing::default();
        let code = pairing.new_code().unwrap().to_string();
        let outcomes: Vec<PairingError> = std::thread::scope(|scope| {
            let tries: Vec<_> =
                (0..50).map(|_| scope.spawn(|| pairing.pair("UUUUUUUU").err().unwrap())).collect();
            tries.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let count = |what| outcomes.iter().filter(|outcome| **outcome == what).count();
        assert_eq!((count(PairingError::Wrong), count(PairingError::WrongAndDead)), (4, 1));
        assert_eq!(pairing.pair(&code).err(), Some(PairingError::NoCode));
        let first = pairing.new_code().unwrap().to_string();
        let second = pairing.new_code().unwrap().to_string();
        assert!(pairing.pair(&first).is_err() && pairing.pair(&second).is_ok(), "the older one is void");
    }

    #[test]
    fn a_code_lasts_five_minutes_and_a_pairing_half_a_day() {
        let pairing = Pairing::default();
        let code = pairing.new_code().unwrap().to_string();
        let until = lock(&pairing.open).as_ref().unwrap().until;
        assert!(until <= Instant::now() + LASTS);
        lock(&pairing.open).as_mut().unwrap().until = Instant::now();
        assert_eq!(pairing.pair(&code).err(), Some(PairingError::NoCode));
        let keys = pairing.pair(&pairing.new_code().unwrap().to_string()).unwrap();
        lock(&pairing.paired).all[0].2 = Instant::now();
        assert_eq!(pairing.find(keys.cookie.as_str(), keys.token.as_str()), None);
    }

    #[test]
    fn only_so_many_are_paired() {
        let pairing = Pairing::default();
        let pair = || pairing.pair(&pairing.new_code().unwrap().to_string()).unwrap();
        let first = pair();
        let browser = pairing.find(first.cookie.as_str(), first.token.as_str()).unwrap();
        for _ in 0..MAX_BROWSERS {
            pair();
        }
        assert!(!pairing.is_paired(browser));
        assert_eq!(pairing.find(first.cookie.as_str(), first.token.as_str()), None);
    }
}
