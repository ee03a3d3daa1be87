//! Addresses that are asked: the same JSON is posted, the same JSON is the answer.
//!
//! Nobody is followed: a redirect is no answer, since it would take what the hook is told to somebody who is not named.
//! Certificates are judged by those that this machine trusts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::runner::{Came, MOST_ANSWER, Output};

/// Posts to addresses.
#[derive(Clone)]
pub(crate) struct Posts {
    shared: Arc<Shared>,
}

struct Shared {
    /// What header lines may name, as far as it is text.
    variables: BTreeMap<String, String>,
    /// Where the certificates of authorities lie, where somebody says.
    roots: Option<PathBuf>,
    /// Made when it is first needed; or why it cannot be.
    agent: OnceLock<Result<Agent, String>>,
    plain: OnceLock<Agent>,
}

impl fmt::Debug for Posts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posts").finish_non_exhaustive()
    }
}

/// Where systems keep the certificates of authorities, in one file.
const ROOTS: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

impl Posts {
    pub(crate) fn new(environment: &[(OsString, OsString)]) -> Self {
        let text = |(name, value): &(OsString, OsString)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        };
        let variables: BTreeMap<String, String> = environment.iter().filter_map(text).collect();
        let roots = variables.get("SSL_CERT_FILE").map(PathBuf::from);
        let shared = Shared { variables, roots, agent: OnceLock::new(), plain: OnceLock::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Posts, and waits for the answer no longer than its time.
    pub(crate) fn ask(
        &self,
        url: &str,
        headers: &[(String, String)],
        variables: &[String],
        body: &[u8],
        patience: Duration,
    ) -> Came {
        let agent = match self.shared.agent(url) {
            Ok(agent) => agent,
            Err(why) => return Came::NotAsked(why),
        };
        let mut request = agent.post(url).header("content-type", "application/json");
        for (name, line) in headers {
            match self.shared.filled(line, variables) {
                Ok(line) => request = request.header(name, line),
                Err(why) => return Came::NotAsked(why),
            }
        }
        let request = request.config().timeout_global(Some(patience)).build();
        match request.send(body) {
            Err(ureq::Error::Timeout(_)) => Came::Late(patience),
            Err(e) => Came::NotAsked(format!("it cannot be reached: {e}")),
            Ok(mut response) => {
                let status = response.status().as_u16();
                let limit = u64::try_from(MOST_ANSWER).unwrap_or(u64::MAX);
                match response.body_mut().with_config().limit(limit).read_to_vec() {
                    Ok(bytes) => Came::Answered { status, body: Output::whole(bytes) },
                    Err(ureq::Error::BodyExceedsLimit(_)) => {
                        Came::Answered { status, body: Output { bytes: Vec::new(), cut: true } }
                    }
                    Err(ureq::Error::Timeout(_)) => Came::Late(patience),
                    Err(e) => Came::NotAsked(format!("its answer cannot be read: {e}")),
                }
            }
        }
    }
}

impl Shared {
    fn agent(&self, url: &str) -> Result<Agent, String> {
        if url.starts_with("http://") {
            // No authority is needed where none is asked.
            return Ok(self.plain.get_or_init(|| made(RootCerts::Specific(Arc::default()))).clone());
        }
        self.agent.get_or_init(|| roots(self.roots.as_deref()).map(made)).clone()
    }

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

fn made(roots: RootCerts) -> Agent {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(crypto).build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .max_redirects(0)
        .http_status_as_error(false)
        // What the environment of this process says is not ours to know.
        .proxy(None)
        .user_agent("pinfold")
        .accept("application/json")
        .max_response_header_size(64 << 10)
        .build();
    config.new_agent()
}

/// The authorities that this machine trusts.
fn roots(named: Option<&Path>) -> Result<RootCerts, String> {
    let usual = || ROOTS.iter().map(Path::new).find(|path| path.exists());
    let path =
        named.or_else(usual).ok_or("no file with certificates of authorities is known; set SSL_CERT_FILE")?;
    let text = fs::read(path).map_err(|e| format!("`{}` cannot be read: {e}", path.display()))?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        Ok(_) | Err(_) => None,
    };
    let certificates: Vec<Certificate<'static>> = parse_pem(&text).filter_map(certificate).collect();
    if certificates.is_empty() {
        return Err(format!("no certificate stands in `{}`", path.display()));
    }
    Ok(RootCerts::Specific(Arc::new(certificates)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_may_be_named_are_put_in() {
        let posts = Posts::new(&[("TOKEN".into(), "s3cret".into()), ("BAD".into(), "a\r\nX: y".into())]);
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
