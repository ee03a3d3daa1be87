//! Injected secrets: the process has a placeholder, and the relay puts the secret in its place on the way to its host.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use pinfold_host::{Host, Name};
use rustls::{ClientConfig, ServerConfig};

use super::base64_fragments::fragments;
use super::ephemeral_ca::EphemeralCa;
use super::redactor::{self, Replacement, ResponseRedactor};
use crate::policy::ConnectRequest;
use crate::response::{self, RelayResponse};
use crate::tls;

/// A secret, and the host, port and header that it is for.
pub struct InjectedSecret {
    host: Name,
    port: u16,
    header: HeaderName,
    placeholder: String,
    value: String,
}

impl fmt::Debug for InjectedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InjectedSecret")
            .field("host", &self.host)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl InjectedSecret {
    /// A secret for one header of one host. `None` when the header's name or the value is not valid.
    pub fn new(host: Name, port: u16, header: &str, placeholder: String, value: String) -> Option<Self> {
        let header = header.parse().ok()?;
        let plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_graphic());
        plain.then_some(Self { host, port, header, placeholder, value })
    }

    fn is_for(&self, connect: &ConnectRequest) -> bool {
        self.port == connect.port && matches!(&connect.host, Host::Name(name) if *name == self.host)
    }

    /// Returns a header value with the secret in place of the placeholder: where the placeholder is the whole value,
    /// the whole credentials after a scheme, or the user or password of `Basic` (RFC 7617). Elsewhere it is not
    /// replaced.
    fn substitute(&self, text: &str) -> Option<String> {
        if text == self.placeholder {
            return Some(self.value.clone());
        }
        let (scheme, rest) = text.split_once(' ')?;
        if rest == self.placeholder {
            return Some(format!("{scheme} {}", self.value));
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let login = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
        let login = match login.split_once(':')? {
            (user, password) if password == self.placeholder => format!("{user}:{}", self.value),
            (user, password) if user == self.placeholder => format!("{}:{password}", self.value),
            _ => return None,
        };
        Some(format!("{scheme} {}", STANDARD.encode(login)))
    }
}

/// The secrets of one run.
pub struct SecretInjector {
    secrets: Vec<InjectedSecret>,
    ca: Arc<EphemeralCa>,
    /// TLS settings towards the hosts.
    client_config: Arc<ClientConfig>,
    /// TLS settings towards the process by host, each created when it is first needed.
    server_configs: Mutex<HashMap<Name, Arc<ServerConfig>>>,
    /// The secrets as they can appear in responses, plain and as base64 fragments, with their replacements.
    values: Vec<Replacement>,
    /// Whole credentials that were sent, with their replacements.
    credentials: Mutex<Vec<Replacement>>,
}

/// The most different credentials, since each is searched for in responses. A program sends one or two.
const MAX_CREDENTIALS: usize = 64;

/// Headers that ask for a part of a response, or another coding. `Request-Range` is an older name of `Range`, which Apache
/// httpd still answers.
const PARTIAL_OR_CODED: [HeaderName; 4] =
    [header::RANGE, HeaderName::from_static("request-range"), header::IF_RANGE, header::TE];

impl fmt::Debug for SecretInjector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretInjector").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}

impl SecretInjector {
    /// Secrets for hosts that are intercepted with certificates of `ca`.
    ///
    /// # Errors
    /// When this machine has no trust roots.
    pub fn new(secrets: Vec<InjectedSecret>, ca: Arc<EphemeralCa>) -> Result<Self, String> {
        let client_config = tls::client_config(None)?;
        let values = secrets.iter().filter(|secret| secret.value.len() >= redactor::MIN_SECRET);
        let values = values.flat_map(|secret| {
            let whole = (secret.value.clone(), secret.placeholder.clone());
            fragments(&secret.value, &secret.placeholder).chain([whole])
        });
        let values = values.collect();
        Ok(Self {
            secrets,
            ca,
            client_config,
            server_configs: Mutex::default(),
            values,
            credentials: Mutex::default(),
        })
    }

    /// Returns whether a connection is intercepted, since a secret belongs to its host.
    pub(crate) fn is_for(&self, connect: &ConnectRequest) -> bool {
        self.secrets.iter().any(|secret| secret.is_for(connect))
    }

    pub(crate) fn client_config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.client_config)
    }

    /// TLS settings that present a certificate for the host to the process.
    pub(crate) fn server_config(&self, name: &Name) -> Result<Arc<ServerConfig>, String> {
        let mut server_configs = self.server_configs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = server_configs.get(name) {
            return Ok(Arc::clone(config));
        }
        let config = self.ca.server_config(name)?;
        server_configs.insert(name.clone(), Arc::clone(&config));
        Ok(config)
    }

    /// Redacts a response.
    pub(crate) fn redact(&self, original: RelayResponse) -> RelayResponse {
        let values = self.values.iter().chain(&*self.credentials()).cloned().collect();
        match ResponseRedactor::new(values) {
            Ok(Some(redactor)) => redactor.redact(original),
            Ok(None) => original,
            Err(_) => {
                let text = "pinfold: the response could not be searched for the secret\n";
                response::plain(StatusCode::BAD_GATEWAY, text.to_owned())
            }
        }
    }

    fn credentials(&self) -> MutexGuard<'_, Vec<Replacement>> {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records credentials to be searched for in responses. False when there are too many; they must not be sent then.
    fn remember(&self, credential: Replacement) -> bool {
        let mut credentials = self.credentials();
        let is_known = credentials.contains(&credential);
        let has_room = credentials.len() < MAX_CREDENTIALS;
        if !is_known && has_room {
            credentials.push(credential);
        }
        is_known || has_room
    }

    /// Injects the secrets of the connection's host, and asks for a response that can be searched: whole and not
    /// compressed. `TRACE` gets no secret, since it echoes the request (RFC 9110 §9.3.8).
    pub(crate) fn inject<B>(&self, connect: &ConnectRequest, request: &mut Request<B>) {
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for name in PARTIAL_OR_CODED {
            headers.remove(name);
        }
        if request.method() == Method::TRACE {
            return;
        }
        for secret in self.secrets.iter().filter(|secret| secret.is_for(connect)) {
            inject(secret, request.headers_mut(), |login| self.remember(login));
        }
    }
}

/// Injects one secret. A header that occurs twice is ambiguous and gets none. Credentials that hide the secret in
/// base64 are recorded first.
fn inject(
    secret: &InjectedSecret,
    headers: &mut HeaderMap,
    remember: impl FnOnce(Replacement) -> bool,
) -> Option<()> {
    let mut all = headers.get_all(&secret.header).iter();
    let (Some(original), None) = (all.next(), all.next()) else { return None };
    let original = original.to_str().ok()?.to_owned();
    let placed = secret.substitute(&original)?;
    let mut value = HeaderValue::try_from(&placed).ok()?;
    value.set_sensitive(true);
    if let Some((sent, original)) =
        credentials_of(&placed, &original).filter(|(sent, _)| !sent.contains(&secret.value))
    {
        remember((sent, original)).then_some(())?;
    }
    headers.insert(&secret.header, value);
    Some(())
}

/// The credentials after the scheme, as sent and as received from the process.
fn credentials_of(placed: &str, original: &str) -> Option<Replacement> {
    let ((_, sent), (_, original)) = (placed.split_once(' ')?, original.split_once(' ')?);
    Some((sent.to_owned(), original.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ConnectMethod;

    const PLACEHOLDER: &str = "pinfold_token_0123";

    fn secret() -> InjectedSecret {
        let host = Name::parse("github.com").unwrap();
        InjectedSecret::new(host, 443, "Authorization", PLACEHOLDER.to_owned(), "s3cret".to_owned()).unwrap()
    }

    fn ask(host: &str, port: u16) -> ConnectRequest {
        ConnectRequest {
            host: Host::parse(host).unwrap(),
            port,
            method: ConnectMethod::Direct,
            source_port: 1,
        }
    }

    #[test]
    fn a_secret_replaces_its_placeholder_only_in_known_forms() {
        let basic = |login: &str| format!("Basic {}", STANDARD.encode(login));
        for (original, sent) in [
            (PLACEHOLDER.to_owned(), Some("s3cret".to_owned())),
            (format!("Bearer {PLACEHOLDER}"), Some("Bearer s3cret".to_owned())),
            (format!("token {PLACEHOLDER}"), Some("token s3cret".to_owned())),
            (basic(&format!("x-access-token:{PLACEHOLDER}")), Some(basic("x-access-token:s3cret"))),
            (basic(&format!("{PLACEHOLDER}:")), Some(basic("s3cret:"))),
            (basic(&format!("a:{PLACEHOLDER}x")), None),
            (basic(&format!("a:b:{PLACEHOLDER}")), None),
            (format!("Bearer {PLACEHOLDER}x"), None),
            (format!("Bearer  {PLACEHOLDER}"), None),
            (format!("Bearer {PLACEHOLDER} "), None),
            (format!("Bearer x,{PLACEHOLDER}"), None),
            (format!("Digest response=\"{PLACEHOLDER}\""), None),
            ("Basic !!!".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(secret().substitute(&original), sent, "{original}");
        }
    }

    #[test]
    fn no_other_host_port_or_header_gets_the_secret() {
        let secret = secret();
        assert!(secret.is_for(&ask("GitHub.com.", 443)));
        for (host, port) in [
            ("github.com", 8443),
            ("api.github.com", 443),
            ("github.com.evil.example", 443),
            ("127.0.0.1", 443),
        ] {
            assert!(!secret.is_for(&ask(host, port)), "{host} {port}");
        }
        let filled = |headers: &[(&str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            }
            inject(&secret, &mut map, |_| true);
            map.iter().any(|(_, value)| value.to_str().unwrap().contains("s3cret"))
        };
        assert!(filled(&[("authorization", PLACEHOLDER)]));
        assert!(!filled(&[("authorization", PLACEHOLDER), ("Authorization", PLACEHOLDER)]));
        assert!(!filled(&[("x-authorization", PLACEHOLDER), ("cookie", PLACEHOLDER)]));
        assert!(!format!("{secret:?}").contains("s3cret"));
    }

    #[test]
    fn responses_are_asked_for_whole_and_plain() {
        let ca = Arc::new(EphemeralCa::new(&[Name::parse("github.com").unwrap()]).unwrap());
        let injector = SecretInjector::new(vec![secret()], ca).unwrap();
        let mut request = Request::new(());
        for name in ["Range", "Request-Range", "If-Range", "TE", "Accept-Encoding", "X-Other"] {
            request.headers_mut().insert(name.parse::<HeaderName>().unwrap(), "bytes=17-24".parse().unwrap());
        }
        injector.inject(&ask("github.com", 443), &mut request);
        let mut left: Vec<_> = request.headers().iter().map(|(name, _)| name.as_str()).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept-encoding", "x-other"]);
        assert_eq!(request.headers().get("accept-encoding").unwrap(), "identity");
    }

    #[test]
    fn credentials_that_would_not_be_redacted_are_not_sent() {
        let ca = Arc::new(EphemeralCa::new(&[Name::parse("github.com").unwrap()]).unwrap());
        let long = InjectedSecret { value: "s3cret-s3cret".to_owned(), ..secret() };
        let injector = SecretInjector::new(vec![long], ca).unwrap();
        let sent = |user: usize| {
            let mut request = Request::new(());
            let login = format!("Basic {}", STANDARD.encode(format!("user{user}:{PLACEHOLDER}")));
            request.headers_mut().insert(header::AUTHORIZATION, login.parse().unwrap());
            injector.inject(&ask("github.com", 443), &mut request);
            let sent = request.headers().get(header::AUTHORIZATION).unwrap().to_str().unwrap().to_owned();
            (sent != login).then_some(sent)
        };
        let mut made = 0;
        for user in (0..3 * MAX_CREDENTIALS).chain(0..3) {
            let Some(sent) = sent(user) else { continue };
            made += 1;
            let values = response::plain(StatusCode::OK, String::new());
            let (mut head, body) = values.into_parts();
            head.headers.insert("x-values", sent.parse().unwrap());
            // Whole, and truncated after the secret.
            head.headers.insert("x-cut", sent[..sent.len() - 3].parse().unwrap());
            let redacted = injector.redact(hyper::Response::from_parts(head, body));
            for name in ["x-values", "x-cut"] {
                let values = redacted.headers().get(name).unwrap().to_str().unwrap();
                let hidden = fragments("s3cret-s3cret", "").any(|(part, _)| values.contains(&part));
                assert!(!hidden, "{user}: {values}");
            }
        }
        assert_eq!(made, MAX_CREDENTIALS + 3, "the first ones are made, and made again");
    }

    #[test]
    fn values_that_no_header_can_have_are_not_secrets() {
        for value in ["", "a b", "a\r\nx: y", "ä", "a\0"] {
            let host = Name::parse("a.b").unwrap();
            assert!(
                InjectedSecret::new(host, 443, "authorization", PLACEHOLDER.to_owned(), value.to_owned())
                    .is_none(),
                "{value:?}"
            );
        }
    }
}
