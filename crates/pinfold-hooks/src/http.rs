//! Hooks behind an address: JSON is posted, JSON is the answer.
//!
//! Redirects are not followed: a redirect is no answer, since it would send the hook's input to a host that is not named.
//! Certificates are judged by those that this machine trusts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pinfold_net::{BlockingClient, ClientLimits, HttpError};

use crate::runner::{HookResult, MAX_ANSWER, Output};

/// Posts to addresses.
#[derive(Clone)]
pub(crate) struct HttpPosts {
    shared: Arc<Shared>,
}

struct Shared {
    /// Variables that header lines may name, as far as they are text.
    variables: BTreeMap<String, String>,
    client: BlockingClient,
}

impl fmt::Debug for HttpPosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posts").finish_non_exhaustive()
    }
}

impl HttpPosts {
    pub(crate) fn new(environment: &[(OsString, OsString)]) -> Self {
        let text = |(name, value): &(OsString, OsString)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        };
        let variables: BTreeMap<String, String> = environment.iter().filter_map(text).collect();
        let client = BlockingClient::new(variables.get("SSL_CERT_FILE").map(Into::into), limits);
        let shared = Shared { variables, client };
        Self { shared: Arc::new(shared) }
    }

    /// Posts, and waits for the answer no longer than its time.
    pub(crate) fn ask(
        &self,
        url: &str,
        headers: &[(String, String)],
        variables: &[String],
        body: &[u8],
        timeout: Duration,
    ) -> HookResult {
        let mut filled = Vec::with_capacity(headers.len());
        for (name, line) in headers {
            match self.shared.filled(line, variables) {
                Ok(line) => filled.push((name.as_str(), line)),
                Err(why) => return HookResult::NotAsked(why),
            }
        }
        let headers: Vec<(&str, &str)> = filled.iter().map(|(name, line)| (*name, line.as_str())).collect();
        let response = match self.shared.client.post_json(url, &headers, body, Some(timeout)) {
            Ok(response) => response,
            Err(HttpError::TimedOut) => return HookResult::Late(timeout),
            Err(HttpError::NoTrustRoots(why)) => return HookResult::NotAsked(why),
            Err(error) => return HookResult::NotAsked(format!("it cannot be reached: {error}")),
        };
        let status = response.status();
        match response.read(u64::try_from(MAX_ANSWER).unwrap_or(u64::MAX)) {
            Ok(bytes) => HookResult::Answered { status, body: Output::whole(bytes) },
            Err(HttpError::TooLarge) => {
                HookResult::Answered { status, body: Output { bytes: Vec::new(), cut: true } }
            }
            Err(HttpError::TimedOut) => HookResult::Late(timeout),
            Err(error) => HookResult::NotAsked(format!("its answer cannot be read: {error}")),
        }
    }
}

impl Shared {
    /// A header line with its variables put in.
    fn filled(&self, line: &str, may: &[String]) -> Result<String, String> {
        let mut filled = String::with_capacity(line.len());
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('$') {
            filled.push_str(before);
            let (name, after) = name(after);
            if name.is_empty() {
                filled.push('$');
                rest = after;
                continue;
            }
            let value = may.iter().find(|own| *own == name).and_then(|own| self.variables.get(own));
            let value = value.filter(|value| !value.chars().any(char::is_control));
            filled.push_str(value.ok_or_else(|| format!("the variable `{name}` of its headers is not set"))?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// The name behind a dollar sign, `NAME` or `{NAME}`, and what follows; an empty one where there is none.
fn name(after: &str) -> (&str, &str) {
    let inner = after.strip_prefix('{');
    let text = inner.unwrap_or(after);
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let closed = match inner {
        Some(_) => rest.strip_prefix('}'),
        None => Some(rest),
    };
    match closed {
        Some(rest) if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => (name, rest),
        Some(_) | None => ("", after),
    }
}

/// Limits of a post; its time is given with each.
fn limits(client: ClientLimits) -> ClientLimits {
    client.accept("application/json").max_response_header_size(64 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_may_be_named_are_put_in() {
        let posts = HttpPosts::new(&[("TOKEN".into(), "s3cret".into()), ("BAD".into(), "a\r\nX: y".into())]);
        let may: Vec<String> = ["TOKEN", "UNSET", "BAD"].map(str::to_owned).into();
        for (line, filled) in [
            ("plain", Ok("plain")),
            ("Bearer $TOKEN", Ok("Bearer s3cret")),
            ("Bearer ${TOKEN}!", Ok("Bearer s3cret!")),
            ("$TOKEN$TOKEN", Ok("s3crets3cret")),
            ("costs $5 or $", Ok("costs $5 or $")),
            ("${TOKEN", Ok("${TOKEN")),
            ("$UNSET", Err("UNSET")),
            ("$OTHER", Err("OTHER")),
            ("$BAD", Err("BAD")),
        ] {
            match (posts.shared.filled(line, &may), filled) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{line}"),
                (Err(why), Err(name)) => assert!(why.contains(name), "{line}: {why}"),
                (found, expected) => panic!("{line}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
