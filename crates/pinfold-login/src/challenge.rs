//! What a server says when it wants to know who asks:
//! [RFC 6750, 3](https://www.rfc-editor.org/rfc/rfc6750#section-3) and [RFC 9728, 5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1).

use http_auth::ChallengeParser;
use hyper::StatusCode;
use hyper::header::{HeaderMap, WWW_AUTHENTICATE};

use crate::Renewal;

/// The parts of it that are used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where it says more about its login.
    pub(crate) about: Option<String>,
    /// What has to be allowed for what was asked.
    pub(crate) scope: Option<String>,
    /// What was wrong with what was said.
    error: Option<String>,
}

impl Challenge {
    /// The first one that asks for a token.
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|line| line.to_str().ok());
        let all = lines.flat_map(|line| ChallengeParser::new(line).map_while(Result::ok));
        let mut bearer = all.filter(|challenge| challenge.scheme.eq_ignore_ascii_case("bearer"));
        let Some(found) = bearer.next() else { return Self::default() };
        let value = |name: &str| {
            let of = |(said, _): &&(&str, _)| said.eq_ignore_ascii_case(name);
            found.params.iter().find(of).map(|(_, value)| value.to_unescaped())
        };
        Self { about: value("resource_metadata"), scope: value("scope"), error: value("error") }
    }
}

/// The letters that a scope may have ([RFC 6749, 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)), but for those
/// that mean something to a shell within quotes: what is shown may be typed.
fn plain(scope: &str) -> String {
    scope.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '\'')).collect()
}

/// What to do about an answer that says that somebody else has to ask. `login`: with the one that was said.
pub fn hint(
    status: StatusCode,
    headers: &HeaderMap,
    server: &str,
    login: Option<&Renewal>,
) -> Option<String> {
    let again = format!("pinfold mcp login {server}");
    let challenge = Challenge::read(headers);
    match (status, login) {
        (StatusCode::UNAUTHORIZED, Some(_)) => Some(format!("the login is not taken any more: {again}")),
        (StatusCode::UNAUTHORIZED, None) => {
            Some(format!("it wants to know who asks: {again}, or --header-env Authorization=VARIABLE"))
        }
        (StatusCode::FORBIDDEN, Some(login)) if challenge.error.as_deref() == Some("insufficient_scope") => {
            let scope = challenge.scope.map(|more| format!(" --scope '{}'", plain(&login.scope_with(&more))));
            Some(format!("the login does not allow that much: {again}{}", scope.unwrap_or_default()))
        }
        (StatusCode::FORBIDDEN, _) => Some("it does not let this person do that".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn said(lines: &[&str]) -> HeaderMap {
        let one = |line: &&str| (WWW_AUTHENTICATE, HeaderValue::from_str(line).unwrap());
        lines.iter().map(one).collect()
    }

    #[test]
    fn the_first_question_for_a_token_is_read() {
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
            let found = Challenge::read(&said(lines));
            assert_eq!((found.about.as_deref(), found.scope.as_deref()), (about, scope), "{lines:?}");
        }
    }

    #[test]
    fn what_is_shown_of_a_scope_may_be_typed() {
        assert_eq!(plain("a:b c/d\x09e'; \"$(x)\\ é"), "a:b c/de; $(x) ");
    }
}
