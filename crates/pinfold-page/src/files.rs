//! The page's three files, and the headers of every response.

use hyper::Response;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Path, content type and text of each file.
const FILES: [(&str, &str, &str); 3] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/page.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../page/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../page/page.css")),
];

/// The content security policy: nothing is loaded from elsewhere, only the one script runs, no text becomes markup, and
/// no other page can frame this one. [CSP](https://www.w3.org/TR/CSP3/)
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

const ABOVE: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// The file at a path: content type and text. It has no data.
pub(crate) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(at, ..)| *at == path).map(|(_, kind, text)| (*kind, *text))
}

/// A response with the common headers.
pub(crate) fn guarded<T>(mut reply: Response<T>) -> Response<T> {
    let headers: &mut HeaderMap = reply.headers_mut();
    for (name, value) in &ABOVE {
        headers.insert(name, HeaderValue::from_static(value));
    }
    reply
}
