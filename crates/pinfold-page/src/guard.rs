//! Request checks: `Host` of this machine, the page's own `Origin`, and a paired browser.

use hyper::header::{self, HeaderMap};
use hyper::{Method, Request};
use pinfold_net::{is_own_host, single_header};

use crate::files;
use crate::pairing::{Browser, Pairing};

/// The header with the half of the keys that browsers do not share between ports.
pub(crate) const TOKEN: &str = "x-pinfold-token";

/// The refusal for pages elsewhere.
const OTHERS: &str = "only the page itself says this";

/// Checks a request before its content is read. A page elsewhere that resolves to this machine (DNS rebinding) has
/// another `Host`; a page elsewhere that sends requests here has another `Origin`.
pub(crate) fn refusal<T>(port: u16, request: &Request<T>) -> Option<&'static str> {
    let headers = request.headers();
    let Some(host) =
        single_header(headers, header::HOST.as_str()).filter(|host| is_own_host(host, port, &[]))
    else {
        return Some("this is not the name of the page");
    };
    let reads = request.method() == Method::GET;
    if reads && files::find(request.uri().path()).is_some() {
        return None;
    }
    let is_said = |name| headers.contains_key(name);
    if is_said("sec-fetch-site") && single_header(headers, "sec-fetch-site") != Some("same-origin") {
        return Some(OTHERS);
    }
    // Browsers leave out `Origin` for same-origin reads; with other methods they always send it.
    let origin =
        single_header(headers, header::ORIGIN.as_str()).and_then(|origin| origin.strip_prefix("http://"));
    if origin != Some(host) && (!reads || is_said(header::ORIGIN.as_str())) {
        return Some(OTHERS);
    }
    let is_json = single_header(headers, header::CONTENT_TYPE.as_str()) == Some("application/json");
    (!reads && !is_json).then_some("only JSON is said here")
}

/// The cookie's name, which differs by port: browsers share cookies between ports of a host.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("pinfold-approvals-{port}")
}

/// The browser that sent both halves of its keys.
pub(crate) fn browser(pairing: &Pairing, port: u16, headers: &HeaderMap) -> Option<Browser> {
    let wanted = cookie_name(port);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut named = pairs.filter(|(name, _)| *name == wanted).map(|(_, value)| value);
    // A page on another port can add a cookie of the same name: which one is valid is not known then.
    let (Some(cookie), None) = (named.next(), named.next()) else { return None };
    pairing.find(cookie, single_header(headers, TOKEN)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Headers = &'static [(&'static str, &'static str)];

    #[test]
    fn only_the_page_itself_says_more_than_show_me_the_page() {
        const HOST: (&str, &str) = ("host", "localhost:1");
        const ORIGIN: (&str, &str) = ("origin", "http://localhost:1");
        const JSON: (&str, &str) = ("content-type", "application/json");
        let cases: [(bool, &str, &str, Headers); 17] = [
            (true, "GET", "/", &[HOST]),
            (true, "GET", "/page.js", &[HOST, ("sec-fetch-site", "cross-site")]),
            (false, "GET", "/", &[]),
            (false, "GET", "/", &[HOST, HOST]),
            (false, "GET", "/", &[("host", "example.com:1")]),
            (true, "GET", "/events", &[HOST]),
            (true, "GET", "/events", &[HOST, ("sec-fetch-site", "same-origin")]),
            (false, "GET", "/events", &[HOST, ("sec-fetch-site", "same-site")]),
            (false, "GET", "/events", &[HOST, ("origin", "http://localhost:2")]),
            (true, "POST", "/answer", &[HOST, ORIGIN, JSON]),
            (false, "POST", "/answer", &[HOST, JSON]),
            (false, "POST", "/", &[HOST, JSON]),
            (false, "POST", "/answer", &[HOST, ("origin", "null"), JSON]),
            (false, "POST", "/answer", &[HOST, ("origin", "https://localhost:1"), JSON]),
            (false, "POST", "/answer", &[HOST, ("origin", "http://127.0.0.1:1"), JSON]),
            (false, "POST", "/answer", &[HOST, ORIGIN, ORIGIN, JSON]),
            (false, "POST", "/answer", &[HOST, ORIGIN, ("content-type", "text/plain")]),
        ];
        for (is_heard, method, path, headers) in cases {
            let mut request = Request::builder().method(method).uri(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let found = refusal(1, &request.body(()).unwrap());
            assert_eq!(found.is_none(), is_heard, "{method} {path} {headers:?}: {found:?}");
        }
    }
}
