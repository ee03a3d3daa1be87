//! Who lets people in, and how: what the server says about its login, and what that one says about itself.

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use pinfold_render::visible;
use serde::Deserialize;
use serde_json::json;

use crate::challenge::Challenge;
use crate::speech::{Answer, Speech, no_answer};
use crate::{Place, Trouble};

/// What a server says about its login, by [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728#section-2).
#[derive(Debug, Deserialize)]
struct OfServer {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// What whoever lets people in says about itself, by [RFC 8414](https://www.rfc-editor.org/rfc/rfc8414#section-2).
#[derive(Debug, Deserialize)]
struct OfIssuer {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// A login as it can be done.
#[derive(Debug)]
pub(crate) struct Found {
    /// What the token is for, as the server calls itself.
    pub(crate) resource: String,
    /// What has to be allowed, as far as the server says it.
    pub(crate) scope: Option<String>,
    /// Who lets people in, as it calls itself.
    pub(crate) issuer: String,
    /// It says in its answer who it is.
    pub(crate) says_issuer: bool,
    /// Where the person says yes.
    pub(crate) authorize: Place,
    /// Where tokens are had.
    pub(crate) token: Place,
    /// Where we make ourselves known.
    pub(crate) register: Option<Place>,
    /// Where tokens are given back.
    pub(crate) revoke: Option<Place>,
    /// How we can show who we are; none said: by a password in a header.
    pub(crate) methods: Option<Vec<String>>,
}

/// What asks a server who we have to be.
const PROBE: &str = "2025-11-25";
const NEWEST: &str = "2026-07-28";
const LIST: &str = "tools/list";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Asks the server, and whoever lets people in.
pub(crate) async fn discover(speech: &Speech<'_>, server: &Place) -> Result<Found, Trouble> {
    let (wanted, challenge) = knock(speech, server).await?;
    let said = of_server(speech, server, challenge.about.as_deref()).await?;
    let (issuer, said) = match said {
        Some(said) => (issuer_of(server, &said)?, Some(said)),
        None if !wanted => {
            return Err(Trouble::new(format!("{server} wants no login")));
        }
        // Servers of older revisions let people in themselves.
        None => (server.origin(), None),
    };
    let about = of_issuer(speech, server, &issuer).await?;
    let resource = said.as_ref().map_or_else(|| server.to_string(), |said| said.resource.clone());
    let all = said.map(|said| said.scopes_supported).filter(|all| !all.is_empty());
    let scope = challenge.scope.or_else(|| all.map(|all| all.join(" ")));
    found(server, about, resource, scope)
}

/// Whether it wants to know who asks, and what it says then: at the first word, or when it is asked for something.
async fn knock(speech: &Speech<'_>, server: &Place) -> Result<(bool, Challenge), Trouble> {
    let mut heads = HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
    ]);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": PROBE,
        "capabilities": {},
        "clientInfo": {"name": "pinfold", "version": env!("CARGO_PKG_VERSION")},
    }});
    let mut answer = speech.send(&Method::POST, server, heads.clone(), hello.to_string().into()).await?;
    if !is_question(&answer) {
        let asks = if answer.status.is_success() {
            heads.extend(answer.headers.remove(SESSION).map(|session| (SESSION, session)));
            heads.insert(VERSION, HeaderValue::from_static(PROBE));
            json!({"jsonrpc": "2.0", "id": 1, "method": LIST})
        } else {
            // It knows no handshake any more.
            heads.insert(VERSION, HeaderValue::from_static(NEWEST));
            heads.insert(METHOD, HeaderValue::from_static(LIST));
            json!({"jsonrpc": "2.0", "id": 1, "method": LIST, "params": {"_meta": {
                "io.modelcontextprotocol/protocolVersion": NEWEST,
                "io.modelcontextprotocol/clientInfo": {"name": "pinfold", "version": env!("CARGO_PKG_VERSION")},
                "io.modelcontextprotocol/clientCapabilities": {},
            }}})
        };
        answer = speech.send(&Method::POST, server, heads, asks.to_string().into()).await?;
    }
    Ok((is_question(&answer), Challenge::read(&answer.headers)))
}

/// Whether it wants to know who asks.
fn is_question(answer: &Answer) -> bool {
    matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// What the server says about its login, where it says it: at a place of its own.
async fn of_server(
    speech: &Speech<'_>,
    server: &Place,
    about: Option<&str>,
) -> Result<Option<OfServer>, Trouble> {
    let all = match about {
        Some(about) => vec![about.to_owned()],
        None => server.well_known("oauth-protected-resource"),
    };
    for text in all {
        let place = Place::parse(&text).map_err(|why| at(&text, &why))?;
        if place.origin() != server.origin() {
            return Err(at(&text, "it is on another host than the server"));
        }
        let answer = speech.get(&place).await?;
        if answer.status.is_client_error() && about.is_none() {
            continue;
        }
        if !answer.status.is_success() {
            return Err(answer.refused(&place));
        }
        let said: OfServer = answer.json(&place)?;
        let resource = Place::parse(&said.resource).map_err(|why| at(&said.resource, &why))?;
        if !server.is_within(&resource) {
            let why = format!("it is about {}, not about {server}", visible(&said.resource));
            return Err(no_answer(&place, &why));
        }
        return Ok(Some(said));
    }
    Ok(None)
}

/// The first of those who let people in whom we may speak to.
fn issuer_of(server: &Place, said: &OfServer) -> Result<String, Trouble> {
    let first = said.authorization_servers.first();
    let first = first.ok_or_else(|| Trouble::new(format!("{server} does not say who lets people in")))?;
    Place::named_by(server, first).map(|_| first.clone()).map_err(|why| at(first, &why))
}

async fn of_issuer(speech: &Speech<'_>, server: &Place, issuer: &str) -> Result<OfIssuer, Trouble> {
    let place = Place::named_by(server, issuer).map_err(|why| at(issuer, &why))?;
    for text in about_issuer(&place) {
        let at_text = Place::parse(&text).map_err(|why| at(&text, &why))?;
        let answer = speech.get(&at_text).await?;
        if answer.status.is_client_error() {
            continue;
        }
        if !answer.status.is_success() {
            return Err(answer.refused(&at_text));
        }
        let said: OfIssuer = answer.json(&at_text)?;
        if !is_same(&said.issuer, issuer) {
            let why = format!("it is about {}, not about {}", visible(&said.issuer), visible(issuer));
            return Err(no_answer(&at_text, &why));
        }
        return Ok(said);
    }
    Err(Trouble::new(format!("{place} does not say how it lets people in")))
}

/// Where that may stand: as for OAuth, and as for `OpenID`, which has it behind the path too.
fn about_issuer(issuer: &Place) -> Vec<String> {
    let first = |name: &str| issuer.well_known(name).into_iter().next();
    let path = issuer.path().trim_end_matches('/');
    let behind =
        (!path.is_empty()).then(|| format!("{}{path}/.well-known/openid-configuration", issuer.origin()));
    [first("oauth-authorization-server"), first("openid-configuration"), behind]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether both are one: they are compared as they are written, but for a last `/`, which some write and some do not.
fn is_same(one: &str, other: &str) -> bool {
    one.strip_suffix('/').unwrap_or(one) == other.strip_suffix('/').unwrap_or(other)
}

fn found(server: &Place, said: OfIssuer, resource: String, scope: Option<String>) -> Result<Found, Trouble> {
    if !said.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        let why = "cannot tell our code from a stolen one (it does not say that it knows S256)";
        return Err(Trouble::new(format!("{} {why}", visible(&said.issuer))));
    }
    let place = |text: &str| Place::named_by(server, text).map_err(|why| at(text, &why));
    let renewed = said.scopes_supported.iter().any(|scope| scope == RENEWED);
    Ok(Found {
        authorize: place(&said.authorization_endpoint)?,
        token: place(&said.token_endpoint)?,
        register: said.registration_endpoint.as_deref().map(place).transpose()?,
        revoke: said.revocation_endpoint.as_deref().map(place).transpose()?,
        methods: said.token_endpoint_auth_methods_supported,
        says_issuer: said.authorization_response_iss_parameter_supported,
        scope: scope.map(|scope| if renewed { with(scope, RENEWED) } else { scope }),
        issuer: said.issuer,
        resource,
    })
}

/// What is asked for so that a login can be renewed, where it has to be asked for.
const RENEWED: &str = "offline_access";

fn with(scope: String, more: &str) -> String {
    if scope.split(' ').any(|one| one == more) { scope } else { format!("{scope} {more}") }
}

fn at(text: &str, why: &str) -> Trouble {
    Trouble::new(format!("nothing is said to `{}`: {why}", visible(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_may_stand_at_three_places() {
        let all = |text: &str| about_issuer(&Place::parse(text).unwrap());
        assert_eq!(
            all("https://a.example/"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            all("https://a.example/t/1"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t/1",
                "https://a.example/.well-known/openid-configuration/t/1",
                "https://a.example/t/1/.well-known/openid-configuration"
            ]
        );
    }
}
