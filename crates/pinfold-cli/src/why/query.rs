//! Query of `pinfold why`, as calls.

use std::path::Path;

use pinfold::RawCall;
use pinfold::audit::read::RecordName;
use serde_json::json;

use super::recorded;
use crate::args::{WhyArgs, WhyKind};
use crate::exit::{Failure, USAGE};
use crate::output;

/// The name in the record that is meant, if it is one.
pub(super) fn name(asked: &WhyArgs) -> Option<String> {
    let text = asked.what.join(" ");
    let kind = asked.kind.unwrap_or_else(|| taken_for(&text, asked.what.len()));
    (kind == WhyKind::Record).then_some(text)
}

/// The calls that are meant.
pub(super) fn calls(asked: &WhyArgs) -> Result<Vec<RawCall>, Failure> {
    let text = asked.what.join(" ");
    let kind = asked.kind.unwrap_or_else(|| taken_for(&text, asked.what.len()));
    calls_of(&text, kind)
}

/// The calls that a text means by itself.
pub(super) fn parse_calls(text: &str) -> Result<Vec<RawCall>, Failure> {
    calls_of(text, taken_for(text, text.split_whitespace().count()))
}

fn calls_of(text: &str, kind: WhyKind) -> Result<Vec<RawCall>, Failure> {
    Ok(match kind {
        WhyKind::Call => vec![RawCall::from_text(text).map_err(|mend| no_call(text, &mend))?],
        WhyKind::Path => ["Read", "Write"].map(|tool| RawCall::new(tool, json!({"file_path": text}))).into(),
        WhyKind::Host => vec![RawCall::new("WebFetch", json!({"url": address(text)}))],
        WhyKind::Command => vec![RawCall::new("Bash", json!({"command": text}))],
        WhyKind::Record => vec![recorded::call(text)?],
    })
}

fn no_call(text: &str, mend: &str) -> Failure {
    Failure::new(USAGE, format!("`{}` is no call", output::visible(text))).mend(mend)
}

/// Returns the kind of a query by its form. Several words are a command.
fn taken_for(text: &str, words: usize) -> WhyKind {
    let is_call = || {
        let (tool, rest) = text.split_once('(')?;
        let named = !tool.is_empty() && tool.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        (named && tool.starts_with(|c: char| c.is_ascii_uppercase()) && rest.ends_with(')')).then_some(())
    };
    if words == 1 && (text == "last" || RecordName::parse(text).is_some_and(|name| name.is_plain())) {
        WhyKind::Record
    } else if is_call().is_some() || text.starts_with("mcp__") {
        WhyKind::Call
    } else if text.contains("://") && !text.contains(char::is_whitespace) {
        WhyKind::Host
    } else if text.contains(char::is_whitespace) {
        WhyKind::Command
    } else if text.contains('/') || text.starts_with(['~', '.']) || Path::new(text).exists() {
        WhyKind::Path
    } else if is_host(text) {
        WhyKind::Host
    } else {
        WhyKind::Command
    }
}

/// A name with dots that ends like one.
fn is_host(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':');
    let name = text.split(':').next().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or_default();
    text.bytes().all(plain)
        && name.contains('.')
        && last.len() >= 2
        && last.bytes().all(|b| b.is_ascii_alphabetic())
}

fn address(text: &str) -> String {
    if text.contains("://") { text.to_owned() } else { format!("https://{text}/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_for_what_it_looks_like() {
        for (text, kind) in [
            ("Bash(git push)", WhyKind::Call),
            ("WebFetch(domain:github.com)", WhyKind::Call),
            ("mcp__fs__read", WhyKind::Call),
            ("git push --force", WhyKind::Command),
            ("make", WhyKind::Command),
            ("~/.ssh/config", WhyKind::Path),
            ("./a", WhyKind::Path),
            ("/etc/hosts", WhyKind::Path),
            (".env", WhyKind::Path),
            ("github.com", WhyKind::Host),
            ("api.github.com:443", WhyKind::Host),
            ("https://github.com/x", WhyKind::Host),
            ("last", WhyKind::Record),
            ("call-4711:3", WhyKind::Record),
            ("call-4711:3:1", WhyKind::Record),
            ("run-47:k1", WhyKind::Record),
            ("run-e9qryy4sncxt", WhyKind::Record),
            ("run-parts", WhyKind::Command),
            ("rm -rf (x)", WhyKind::Command),
        ] {
            let words = if text.contains(' ') { 2 } else { 1 };
            assert_eq!(taken_for(text, words), kind, "{text}");
        }
    }
}
