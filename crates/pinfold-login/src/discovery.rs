//! Discovery of the authorization server (RFC 9728) and of its endpoints (RFC 8414).

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use pinfold_render::visible;
use serde::Deserialize;
use serde_json::json;

use crate::challenge::Challenge;
use crate::http_client::{HttpClient, OAuthResponse, invalid_response};
use crate::{Endpoint, LoginError};

/// Protected resource metadata ([RFC 9728 §2](https://www.rfc-editor.org/rfc/rfc9728#section-2)).
#[derive(Debug, Deserialize)]
struct ProtectedResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// Authorization server metadata ([RFC 8414 §2](https://www.rfc-editor.org/rfc/rfc8414#section-2)).
#[derive(Debug, Deserialize)]
struct AuthorizationServerMetadata {
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

/// The endpoints and parameters of a login.
#[derive(Debug)]
pub(crate) struct ServerMetadata {
    /// The resource that the access token is for (RFC 8707), as the server identifies itself.
    pub(crate) resource: String,
    /// The scope that the server requires, if it says one.
    pub(crate) scope: Option<String>,
    /// The issuer identifier of the authorization server.
    pub(crate) issuer: String,
    /// Authorization responses have the `iss` parameter (RFC 9207).
    pub(crate) requires_issuer: bool,
    /// The authorization endpoint.
    pub(crate) authorization_endpoint: Endpoint,
    /// The token endpoint.
    pub(crate) token_endpoint: Endpoint,
    /// The registration endpoint (RFC 7591).
    pub(crate) registration_endpoint: Option<Endpoint>,
    /// The revocation endpoint (RFC 7009).
    pub(crate) revocation_endpoint: Option<Endpoint>,
    /// The supported client authentication methods; default `client_secret_basic`.
    pub(crate) auth_methods: Option<Vec<String>>,
}

/// The protocol revision of the request that provokes a challenge.
const PROBE_VERSION: &str = "2025-11-25";
const NEWEST_VERSION: &str = "2026-07-28";
const LIST_TOOLS: &str = "tools/list";
const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Discovers the authorization server of a resource server.
pub(crate) async fn discover(http: &HttpClient<'_>, server: &Endpoint) -> Result<ServerMetadata, LoginError> {
    let (is_required, challenge) = probe_resource_metadata(http, server).await?;
    let metadata = fetch_resource_metadata(http, server, challenge.resource_metadata.as_deref()).await?;
    let (issuer, metadata) = match metadata {
        Some(metadata) => (select_issuer(server, &metadata)?, Some(metadata)),
        None if !is_required => {
            return Err(LoginError::new(format!("{server} requires no authorization")));
        }
        // Servers of older revisions are their own authorization server.
        None => (server.origin(), None),
    };
    let about = fetch_server_metadata(http, server, &issuer).await?;
    let resource = metadata.as_ref().map_or_else(|| server.to_string(), |metadata| metadata.resource.clone());
    let all = metadata.map(|metadata| metadata.scopes_supported).filter(|all| !all.is_empty());
    let scope = challenge.scope.or_else(|| all.map(|all| all.join(" ")));
    usable_metadata(server, about, resource, scope)
}

/// Provokes a challenge: with `initialize`, or else with the first request that needs authorization. Returns whether
/// authorization is required, and the challenge.
async fn probe_resource_metadata(
    http: &HttpClient<'_>,
    server: &Endpoint,
) -> Result<(bool, Challenge), LoginError> {
    let mut headers = HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
    ]);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": PROBE_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "pinfold", "version": env!("CARGO_PKG_VERSION")},
    }});
    let mut answer = http.send(&Method::POST, server, headers.clone(), hello.to_string().into()).await?;
    if !is_auth_challenge(&answer) {
        let request = if answer.status.is_success() {
            headers.extend(answer.headers.remove(SESSION_HEADER).map(|session| (SESSION_HEADER, session)));
            headers.insert(VERSION_HEADER, HeaderValue::from_static(PROBE_VERSION));
            json!({"jsonrpc": "2.0", "id": 1, "method": LIST_TOOLS})
        } else {
            // The newest revision has no handshake.
            headers.insert(VERSION_HEADER, HeaderValue::from_static(NEWEST_VERSION));
            headers.insert(METHOD_HEADER, HeaderValue::from_static(LIST_TOOLS));
            json!({"jsonrpc": "2.0", "id": 1, "method": LIST_TOOLS, "params": {"_meta": {
                "io.modelcontextprotocol/protocolVersion": NEWEST_VERSION,
                "io.modelcontextprotocol/clientInfo": {"name": "pinfold", "version": env!("CARGO_PKG_VERSION")},
                "io.modelcontextprotocol/clientCapabilities": {},
            }}})
        };
        answer = http.send(&Method::POST, server, headers, request.to_string().into()).await?;
    }
    Ok((is_auth_challenge(&answer), Challenge::parse(&answer.headers)))
}

/// Returns whether the server requires authorization.
fn is_auth_challenge(answer: &OAuthResponse) -> bool {
    matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Fetches protected resource metadata, from a URL on the server's own origin; `None` where the server has none.
async fn fetch_resource_metadata(
    http: &HttpClient<'_>,
    server: &Endpoint,
    metadata_url: Option<&str>,
) -> Result<Option<ProtectedResourceMetadata>, LoginError> {
    let all = match metadata_url {
        Some(url) => vec![url.to_owned()],
        None => server.well_known_urls("oauth-protected-resource"),
    };
    for text in all {
        let endpoint = Endpoint::parse(&text).map_err(|why| invalid_url(&text, &why))?;
        if endpoint.origin() != server.origin() {
            return Err(invalid_url(&text, "it is on another origin than the server"));
        }
        let answer = http.get(&endpoint).await?;
        if answer.status.is_client_error() && metadata_url.is_none() {
            continue;
        }
        if !answer.status.is_success() {
            return Err(answer.unexpected_status(&endpoint));
        }
        let metadata: ProtectedResourceMetadata = answer.json(&endpoint)?;
        let resource =
            Endpoint::parse(&metadata.resource).map_err(|why| invalid_url(&metadata.resource, &why))?;
        if !server.is_within(&resource) {
            let why = format!("it is about {}, not about {server}", visible(&metadata.resource));
            return Err(invalid_response(&endpoint, &why));
        }
        return Ok(Some(metadata));
    }
    Ok(None)
}

/// Selects the first authorization server.
fn select_issuer(server: &Endpoint, metadata: &ProtectedResourceMetadata) -> Result<String, LoginError> {
    let first = metadata.authorization_servers.first();
    let first = first.ok_or_else(|| LoginError::new(format!("{server} names no authorization server")))?;
    Endpoint::parse_named_by(server, first).map(|_| first.clone()).map_err(|why| invalid_url(first, &why))
}

async fn fetch_server_metadata(
    http: &HttpClient<'_>,
    server: &Endpoint,
    issuer: &str,
) -> Result<AuthorizationServerMetadata, LoginError> {
    let endpoint = Endpoint::parse_named_by(server, issuer).map_err(|why| invalid_url(issuer, &why))?;
    for text in metadata_urls(&endpoint) {
        let url = Endpoint::parse(&text).map_err(|why| invalid_url(&text, &why))?;
        let answer = http.get(&url).await?;
        if answer.status.is_client_error() {
            continue;
        }
        if !answer.status.is_success() {
            return Err(answer.unexpected_status(&url));
        }
        let metadata: AuthorizationServerMetadata = answer.json(&url)?;
        if !is_same_issuer(&metadata.issuer, issuer) {
            let why = format!("it is about {}, not about {}", visible(&metadata.issuer), visible(issuer));
            return Err(invalid_response(&url, &why));
        }
        return Ok(metadata);
    }
    Err(LoginError::new(format!("{endpoint} has no authorization server metadata")))
}

/// The URLs of authorization server metadata: of OAuth, and of `OpenID` Connect, which appends it to the path too.
fn metadata_urls(issuer: &Endpoint) -> Vec<String> {
    let first = |name: &str| issuer.well_known_urls(name).into_iter().next();
    let path = issuer.path().trim_end_matches('/');
    let behind =
        (!path.is_empty()).then(|| format!("{}{path}/.well-known/openid-configuration", issuer.origin()));
    [first("oauth-authorization-server"), first("openid-configuration"), behind]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns whether two issuer identifiers are equal. They are compared as strings (RFC 8414 §3.3), but for a final `/`,
/// about which servers are inconsistent.
fn is_same_issuer(one: &str, other: &str) -> bool {
    one.strip_suffix('/').unwrap_or(one) == other.strip_suffix('/').unwrap_or(other)
}

fn usable_metadata(
    server: &Endpoint,
    metadata: AuthorizationServerMetadata,
    resource: String,
    scope: Option<String>,
) -> Result<ServerMetadata, LoginError> {
    if !metadata.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        let why = "does not support PKCE (S256), so that a stolen code could be used";
        return Err(LoginError::new(format!("{} {why}", visible(&metadata.issuer))));
    }
    let endpoint = |text: &str| Endpoint::parse_named_by(server, text).map_err(|why| invalid_url(text, &why));
    let renewed = metadata.scopes_supported.iter().any(|scope| scope == OFFLINE_ACCESS);
    Ok(ServerMetadata {
        authorization_endpoint: endpoint(&metadata.authorization_endpoint)?,
        token_endpoint: endpoint(&metadata.token_endpoint)?,
        registration_endpoint: metadata.registration_endpoint.as_deref().map(endpoint).transpose()?,
        revocation_endpoint: metadata.revocation_endpoint.as_deref().map(endpoint).transpose()?,
        auth_methods: metadata.token_endpoint_auth_methods_supported,
        requires_issuer: metadata.authorization_response_iss_parameter_supported,
        scope: scope.map(|scope| if renewed { add_scope(scope, OFFLINE_ACCESS) } else { scope }),
        issuer: metadata.issuer,
        resource,
    })
}

/// The scope that requests a refresh token, where the server has it.
const OFFLINE_ACCESS: &str = "offline_access";

fn add_scope(scope: String, more: &str) -> String {
    if scope.split(' ').any(|one| one == more) { scope } else { format!("{scope} {more}") }
}

fn invalid_url(text: &str, why: &str) -> LoginError {
    LoginError::new(format!("`{}` is not used: {why}", visible(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_has_three_possible_urls() {
        let all = |text: &str| metadata_urls(&Endpoint::parse(text).unwrap());
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
