//! A response as text for a model.

use std::time::Instant;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use pinfold::{Failure, RefusalCode};
use pinfold_egress::FetchedPage;
use pinfold_host::WebUrl;

use super::markdown;

/// A page that can be read.
pub(super) struct ReadablePage {
    /// Media type of the content.
    pub(super) media: String,
    /// Title of the page.
    pub(super) title: Option<String>,
    /// Its text, of HTML as Markdown.
    pub(super) text: String,
}

/// Treatment of a kind of content.
#[derive(Debug, PartialEq, Eq)]
enum ContentForm {
    Html,
    Text,
    Other,
}

/// Kinds of content that are text and do not say so.
const TEXTS: [&str; 9] = [
    "application/ecmascript",
    "application/javascript",
    "application/json",
    "application/sql",
    "application/toml",
    "application/x-ndjson",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

impl ReadablePage {
    /// Reads what a host answered.
    ///
    /// # Errors
    /// When it is no text, or takes too long to be read.
    pub(super) fn parse(answer: &FetchedPage, url: &WebUrl, until: Instant) -> Result<Self, Failure> {
        let said = answer.headers.get("content-type").map(|said| String::from_utf8_lossy(said.as_bytes()));
        let said = said.unwrap_or_default();
        let media = media(&said, &answer.body);
        let form = form(&media);
        let no_text = |what: &str| {
            let message = format!("{url} is no text: {what}");
            Failure::plain(RefusalCode::NotText, message, "find a page that is text, HTML, JSON or XML")
        };
        if form == ContentForm::Other {
            return Err(no_text(&format!("it says that it is {media}")));
        }
        let text = decoded(&said, &answer.body, form == ContentForm::Html);
        if text.contains('\0') {
            return Err(no_text("it has NUL characters"));
        }
        if form == ContentForm::Html {
            let found = markdown::parse_html(&text, url, until)?;
            return Ok(Self {
                media,
                title: found.title.map(|title| plain(&title)),
                text: plain(&found.text),
            });
        }
        Ok(Self { media, title: None, text: plain(&text) })
    }
}

/// The kind of content, in lower case and without its parameters. Where nothing is said it is text or HTML: anything else
/// shows itself.
fn media(said: &str, body: &[u8]) -> String {
    let media = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !media.is_empty() {
        return plain(&media).chars().take(80).collect();
    }
    let start = body.get(..64).unwrap_or(body).trim_ascii_start().to_ascii_lowercase();
    let html = [&b"<!doctype html"[..], b"<html"].iter().any(|sign| start.starts_with(sign));
    (if html { "text/html" } else { "text/plain" }).to_owned()
}

fn form(media: &str) -> ContentForm {
    match media {
        "text/html" | "application/xhtml+xml" => ContentForm::Html,
        _ if media.starts_with("text/") || media.ends_with("+json") || media.ends_with("+xml") => {
            ContentForm::Text
        }
        _ if TEXTS.contains(&media) => ContentForm::Text,
        _ => ContentForm::Other,
    }
}

/// The text, by what a mark at its beginning says, the head, or the page itself. What says nothing is UTF-8, or what was
/// usual before it.
fn decoded(said: &str, body: &[u8], html: bool) -> String {
    let named = label(said.to_ascii_lowercase().as_bytes());
    let start = || label(&body.get(..1024).unwrap_or(body).to_ascii_lowercase()).filter(|_| html);
    let usual = || if std::str::from_utf8(body).is_ok() { UTF_8 } else { WINDOWS_1252 };
    let encoding = named.or_else(start).unwrap_or_else(usual);
    encoding.decode(body).0.into_owned()
}

/// The encoding behind the first `charset=` of a text in lower case.
fn label(text: &[u8]) -> Option<&'static Encoding> {
    const SIGN: &[u8] = b"charset=";
    let at = text.windows(SIGN.len()).position(|window| window == SIGN)?;
    let rest = text.get(at + SIGN.len()..)?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let end = rest.iter().position(|b| !b.is_ascii_graphic() || b"\"';,/>".contains(b)).unwrap_or(rest.len());
    Encoding::for_label(rest.get(..end)?)
}

/// Removes characters that are invisible to people but not to a model: control characters, bidirectional marks and the
/// letters of tags.
pub(super) fn plain(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{feff}')
            || matches!(c, '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(|c| !hidden(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_content_are_told_apart() {
        for (said, body, expected) in [
            ("text/html; charset=utf-8", "", ContentForm::Html),
            ("Application/XHTML+XML", "", ContentForm::Html),
            ("text/markdown", "", ContentForm::Text),
            ("application/json", "", ContentForm::Text),
            ("application/ld+json", "", ContentForm::Text),
            ("image/svg+xml", "", ContentForm::Text),
            ("", "  <!DOCTYPE html><p>", ContentForm::Html),
            ("", "hello", ContentForm::Text),
            ("application/octet-stream", "hello", ContentForm::Other),
            ("image/png", "", ContentForm::Other),
            ("application/pdf", "", ContentForm::Other),
            ("multipart/form-data", "", ContentForm::Other),
        ] {
            assert_eq!(form(&media(said, body.as_bytes())), expected, "{said}");
        }
    }

    #[test]
    fn letters_are_read_in_the_encoding_that_is_named() {
        for (said, body, html, expected) in [
            ("text/plain; charset=utf-8", &b"\xc3\xa4"[..], false, "ä"),
            ("text/plain; charset=iso-8859-1", b"\xe4", false, "ä"),
            ("text/plain; charset=\"Shift_JIS\"", b"\x83\x65", false, "テ"),
            ("text/plain; charset=no-such", b"\xc3\xa4", false, "ä"),
            ("text/plain", b"\xe4", false, "ä"),
            ("text/plain; charset=utf-8", b"\xff\xfea\0", false, "a"),
            ("text/html", b"<meta charset='iso-8859-1'>\xe4", true, "<meta charset='iso-8859-1'>ä"),
            ("text/plain", b"<meta charset=koi8-r>\xe4", false, "<meta charset=koi8-r>ä"),
            ("text/html; charset=", b"x", true, "x"),
        ] {
            assert_eq!(decoded(said, body, html), expected, "{said} {}", body.escape_ascii());
        }
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        assert_eq!(plain("a\u{202e}b\u{1b}[31mc\u{e0041}\u{200b}\td\r\n"), "ab[31mc\td\n");
    }
}
