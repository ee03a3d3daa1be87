//! `WWW-Authenticate` challenges for bearer tokens: [RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3) and
//! [RFC 9728 §5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1).

use http_auth::ChallengeParser;
use hyper::StatusCode;
use hyper::header::{HeaderMap, WWW_AUTHENTICATE};

use crate::RefreshableLogin;

/// The parameters of a challenge that are used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// The URL of the protected resource metadata.
    pub(crate) resource_metadata: Option<String>,
    /// The scope that the request needs.
    pub(crate) scope: Option<String>,
    /// The error code.
    error: Option<String>,
}

impl Challenge {
    /// Parses the first bearer challenge.
    pub(crate) fn parse(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|line| line.to_str().ok());
        let all = lines.flat_map(|line| ChallengeParser::new(line).map_while(Result::ok));
        let mut bearer = all.filter(|challenge| challenge.scheme.eq_ignore_ascii_case("bearer"));
        let Some(found) = bearer.next() else { return Self::default() };
        let value = |name: &str| {
            let has_name = |(key, _): &&(&str, _)| key.eq_ignore_ascii_case(name);
            found.params.iter().find(has_name).map(|(_, value)| value.to_unescaped())
        };
        Self { resource_metadata: value("resource_metadata"), scope: value("scope"), error: value("error") }
    }
}

/// Keeps the characters that a scope may have ([RFC 6749 §3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)),
/// without those that are special within shell quotes: the hint is a command to copy.
fn shell_safe(scope: &str) -> String {
    scope.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '\'')).collect()
}

/// Returns a hint for the user about a response that requires other authorization. `login`: the login that was used.
pub fn challenge_hint(
    status: StatusCode,
    headers: &HeaderMap,
    server: &str,
    login: Option<&RefreshableLogin>,
) -> Option<String> {
    let again = format!("pinfold mcp login {server}");
    let challenge = Challenge::parse(headers);
    match (status, login) {
        (StatusCode::UNAUTHORIZED, Some(_)) => Some(format!("the login was rejected; log in again: {again}")),
        (StatusCode::UNAUTHORIZED, None) => {
            Some(format!("it requires authorization: {again}, or --header-env Authorization=VARIABLE"))
        }
        (StatusCode::FORBIDDEN, Some(login)) if challenge.error.as_deref() == Some("insufficient_scope") => {
            let scope =
                challenge.scope.map(|more| format!(" --scope '{}'", shell_safe(&login.scope_with(&more))));
            Some(format!("the login has insufficient scope: {again}{}", scope.unwrap_or_default()))
        }
        (StatusCode::FORBIDDEN, _) => Some("this user is not permitted to do that".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let one = |line: &&str| (WWW_AUTHENTICATE, HeaderValue::from_str(line).unwrap());
        lines.iter().map(one).collect()
    }

    #[test]
    fn the_first_bearer_challenge_is_parsed() {
        for (lines, about, scope) in [
            (
                &["Bearer resource_metadata=\"https://a/b\", scope=\"x y\""][..],
                Some("https://a/b"),
                Some("x y"),
            ),
            (&["bearer Scope=x"], None, Some("x")),
            (&["Basic realm=\"r\", Bearer scope=\"a\\\"b\""], None, Some("a\"b")),
            (&["Digest realm=x", "BEARER scope=z"], None, Some("z")),
            (&["Basic realm=\"scope=x\""], None, None),
            (&["Bearer scope=\"open"], None, None),
            (&["=,=", ""], None, None),
            (&[], None, None),
        ] {
            let found = Challenge::parse(&headers(lines));
            assert_eq!(
                (found.resource_metadata.as_deref(), found.scope.as_deref()),
                (about, scope),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn a_scope_in_a_hint_is_safe_in_a_shell() {
        assert_eq!(shell_safe("a:b c/d\x09e'; \"$(x)\\ é"), "a:b c/de; $(x) ");
    }
}
