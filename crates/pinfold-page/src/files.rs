//! The page itself: three files, sent as they are, and what stands above every reply.

use hyper::Response;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// The path of each file, its kind, and its text.
const FILES: [(&str, &str, &str); 3] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/page.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../page/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../page/page.css")),
];

/// Nothing is loaded from elsewhere, nothing runs but the one script, no text becomes markup, no other page holds this
/// one in a frame. [CSP](https://www.w3.org/TR/CSP3/)
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

/// The file at a path: its kind and its text. It holds nothing of anybody.
pub(crate) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(at, ..)| *at == path).map(|(_, kind, text)| (*kind, *text))
}

/// A reply with what stands above each.
pub(crate) fn guarded<T>(mut reply: Response<T>) -> Response<T> {
    let headers: &mut HeaderMap = reply.headers_mut();
    for (name, value) in &ABOVE {
        headers.insert(name, HeaderValue::from_static(value));
    }
    reply
}
