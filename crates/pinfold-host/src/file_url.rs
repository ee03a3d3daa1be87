//! `file:` URLs, which name a path of this machine.

/// The path of a `file:` URL: host and fragments aside, percent signs taken apart.
pub fn file_url(text: &str) -> Option<String> {
    let (scheme, rest) = split_scheme(text)?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(behind) => behind.find('/').and_then(|at| behind.get(at..)).unwrap_or("/"),
        None => rest,
    };
    Some(percent_decoded(path))
}

/// `scheme:rest`, by [RFC 3986 §3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1), but for its length and what it begins with.
pub fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    (scheme.chars().all(plain) && !rest.starts_with(char::is_whitespace)).then_some((scheme, rest))
}

/// Bytes written as `%2e`. What is no byte stays as it is.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let decoded = if byte == b'%' { after.get(..2).and_then(hex) } else { None };
        bytes.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Two hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u8::from_str_radix(text, 16).ok()
}
