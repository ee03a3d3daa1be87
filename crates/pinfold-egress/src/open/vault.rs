//! Secrets that stay outside: what stands inside in the place of each, and where the relay puts it in.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use pinfold_host::{Host, Name};
use rustls::{ClientConfig, ServerConfig};

use super::authority::Authority;
use super::echo::{self, Echo, Told};
use super::fragment::fragments;
use crate::doorkeeper::Ask;
use crate::http::{self, Said};
use crate::tls;

/// A secret with all that says where it belongs.
pub struct Secret {
    host: Name,
    port: u16,
    header: HeaderName,
    placeholder: String,
    value: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("host", &self.host)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Secret {
    /// A secret for one header of one host. `None` when no header can have that name or that value.
    pub fn new(host: Name, port: u16, header: &str, placeholder: String, value: String) -> Option<Self> {
        let header = header.parse().ok()?;
        let plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_graphic());
        plain.then_some(Self { host, port, header, placeholder, value })
    }

    fn is_for(&self, ask: &Ask) -> bool {
        self.port == ask.port && matches!(&ask.host, Host::Name(name) if *name == self.host)
    }

    /// A header value with the secret in it, where the placeholder is all of it, all behind the name of a scheme, or the
    /// user or the password of the scheme `Basic`. Anywhere else it stays a placeholder.
    fn placed(&self, text: &str) -> Option<String> {
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

/// The secrets of one run, and what is needed to put them in.
pub struct Vault {
    secrets: Vec<Secret>,
    authority: Arc<Authority>,
    /// How the hosts themselves are verified.
    verifying: Arc<ClientConfig>,
    /// How the hosts are played, each made when it is first asked for.
    played: Mutex<HashMap<Name, Arc<ServerConfig>>>,
    /// What must not come back, and what stands inside in its place: the secrets, and what stands of them in a login.
    values: Vec<Told>,
    /// The same for whole logins, as they are made.
    logins: Mutex<Vec<Told>>,
}

/// How many different logins are made, since each is looked for in answers. A program has one or two.
const MOST_LOGINS: usize = 64;

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}

impl Vault {
    /// Secrets, for hosts that are played under the name of this authority inside, and verified by those of this machine
    /// outside.
    ///
    /// # Errors
    /// When this machine trusts nobody.
    pub fn new(secrets: Vec<Secret>, authority: Arc<Authority>) -> Result<Self, String> {
        let verifying = tls::client_config(None)?;
        let told = secrets.iter().filter(|secret| secret.value.len() >= echo::SHORTEST);
        let values = told.flat_map(|secret| {
            let whole = (secret.value.clone(), secret.placeholder.clone());
            fragments(&secret.value, &secret.placeholder).chain([whole])
        });
        let values = values.collect();
        Ok(Self { secrets, authority, verifying, played: Mutex::default(), values, logins: Mutex::default() })
    }

    /// Whether a connection is opened, since a secret belongs there.
    pub(crate) fn is_for(&self, ask: &Ask) -> bool {
        self.secrets.iter().any(|secret| secret.is_for(ask))
    }

    pub(crate) fn verifying(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.verifying)
    }

    /// How a host is played inside.
    pub(crate) fn played(&self, name: &Name) -> Result<Arc<ServerConfig>, String> {
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = played.get(name) {
            return Ok(Arc::clone(config));
        }
        let config = self.authority.play(name)?;
        played.insert(name.clone(), Arc::clone(&config));
        Ok(config)
    }

    /// An answer in which no secret stands.
    pub(crate) fn cleaned(&self, said: Said) -> Said {
        let told = self.values.iter().chain(&*self.logins()).cloned().collect();
        match Echo::of(told) {
            Ok(Some(echo)) => echo.cleaned(said),
            Ok(None) => said,
            Err(_) => {
                let text = "pinfold: it cannot be seen whether a secret stands in the answer of the host\n";
                http::plain(StatusCode::BAD_GATEWAY, text.to_owned())
            }
        }
    }

    fn logins(&self) -> MutexGuard<'_, Vec<Told>> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a login will be looked for in answers. One that is not is not made either.
    fn remembers(&self, login: Told) -> bool {
        let mut logins = self.logins();
        let is_known = logins.contains(&login);
        let has_room = logins.len() < MOST_LOGINS;
        if !is_known && has_room {
            logins.push(login);
        }
        is_known || has_room
    }

    /// Puts in what belongs into a request, and asks for an answer that can be looked into: whole, and not packed. Whoever
    /// asks for its own words back gets none of it.
    pub(crate) fn fill<B>(&self, ask: &Ask, request: &mut Request<B>) {
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.remove(header::RANGE);
        headers.remove(header::IF_RANGE);
        headers.remove(header::TE);
        if request.method() == Method::TRACE {
            return;
        }
        for secret in self.secrets.iter().filter(|secret| secret.is_for(ask)) {
            fill(secret, request.headers_mut(), |login| self.remembers(login));
        }
    }
}

/// A header that stands there twice has two readings, and gets nothing. A login in which the secret is hidden has to be
/// remembered first.
fn fill(secret: &Secret, headers: &mut HeaderMap, remembers: impl FnOnce(Told) -> bool) -> Option<()> {
    let mut all = headers.get_all(&secret.header).iter();
    let (Some(said), None) = (all.next(), all.next()) else { return None };
    let said = said.to_str().ok()?.to_owned();
    let placed = secret.placed(&said)?;
    let mut value = HeaderValue::try_from(&placed).ok()?;
    value.set_sensitive(true);
    if let Some((sent, said)) = login(&placed, &said).filter(|(sent, _)| !sent.contains(&secret.value)) {
        remembers((sent, said)).then_some(())?;
    }
    headers.insert(&secret.header, value);
    Some(())
}

/// What stands behind the name of a scheme, as it is sent and as it was said.
fn login(placed: &str, said: &str) -> Option<Told> {
    let ((_, sent), (_, said)) = (placed.split_once(' ')?, said.split_once(' ')?);
    Some((sent.to_owned(), said.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doorkeeper::Way;

    const STANDS: &str = "pinfold_token_0123";

    fn secret() -> Secret {
        let host = Name::parse("github.com").unwrap();
        Secret::new(host, 443, "Authorization", STANDS.to_owned(), "s3cret".to_owned()).unwrap()
    }

    fn ask(host: &str, port: u16) -> Ask {
        Ask { host: Host::parse(host).unwrap(), port, way: Way::Direct, from: 1 }
    }

    #[test]
    fn a_secret_stands_only_where_it_belongs() {
        let basic = |login: &str| format!("Basic {}", STANDARD.encode(login));
        for (said, sent) in [
            (STANDS.to_owned(), Some("s3cret".to_owned())),
            (format!("Bearer {STANDS}"), Some("Bearer s3cret".to_owned())),
            (format!("token {STANDS}"), Some("token s3cret".to_owned())),
            (basic(&format!("x-access-token:{STANDS}")), Some(basic("x-access-token:s3cret"))),
            (basic(&format!("{STANDS}:")), Some(basic("s3cret:"))),
            (basic(&format!("a:{STANDS}x")), None),
            (basic(&format!("a:b:{STANDS}")), None),
            (format!("Bearer {STANDS}x"), None),
            (format!("Bearer  {STANDS}"), None),
            (format!("Bearer {STANDS} "), None),
            (format!("Bearer x,{STANDS}"), None),
            (format!("Digest response=\"{STANDS}\""), None),
            ("Basic !!!".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(secret().placed(&said), sent, "{said}");
        }
    }

    #[test]
    fn no_other_host_port_header_or_method_gets_it() {
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
            fill(&secret, &mut map, |_| true);
            map.iter().any(|(_, value)| value.to_str().unwrap().contains("s3cret"))
        };
        assert!(filled(&[("authorization", STANDS)]));
        assert!(!filled(&[("authorization", STANDS), ("Authorization", STANDS)]));
        assert!(!filled(&[("x-authorization", STANDS), ("cookie", STANDS)]));
        assert!(!format!("{secret:?}").contains("s3cret"));
    }

    #[test]
    fn a_login_that_would_not_be_looked_for_is_not_made() {
        let authority = Arc::new(Authority::new(&[Name::parse("github.com").unwrap()]).unwrap());
        let long = Secret { value: "s3cret-s3cret".to_owned(), ..secret() };
        let vault = Vault::new(vec![long], authority).unwrap();
        let sent = |user: usize| {
            let mut request = Request::new(());
            let login = format!("Basic {}", STANDARD.encode(format!("user{user}:{STANDS}")));
            request.headers_mut().insert(header::AUTHORIZATION, login.parse().unwrap());
            vault.fill(&ask("github.com", 443), &mut request);
            let sent = request.headers().get(header::AUTHORIZATION).unwrap().to_str().unwrap().to_owned();
            (sent != login).then_some(sent)
        };
        let mut made = 0;
        for user in (0..3 * MOST_LOGINS).chain(0..3) {
            let Some(sent) = sent(user) else { continue };
            made += 1;
            let told = http::plain(StatusCode::OK, String::new());
            let (mut head, body) = told.into_parts();
            head.headers.insert("x-told", sent.parse().unwrap());
            // As it is, and cut off behind the secret.
            head.headers.insert("x-cut", sent[..sent.len() - 3].parse().unwrap());
            let cleaned = vault.cleaned(hyper::Response::from_parts(head, body));
            for name in ["x-told", "x-cut"] {
                let told = cleaned.headers().get(name).unwrap().to_str().unwrap();
                let hidden = fragments("s3cret-s3cret", "").any(|(part, _)| told.contains(&part));
                assert!(!hidden, "{user}: {told}");
            }
        }
        assert_eq!(made, MOST_LOGINS + 3, "the first ones are made, and made again");
    }

    #[test]
    fn what_no_header_can_have_is_no_secret() {
        for value in ["", "a b", "a\r\nx: y", "ä", "a\0"] {
            let host = Name::parse("a.b").unwrap();
            assert!(
                Secret::new(host, 443, "authorization", STANDS.to_owned(), value.to_owned()).is_none(),
                "{value:?}"
            );
        }
    }
}
