//! Channels to approvers: the values that only this section has.

use std::time::Duration;

use jsonc_parser::ast::Value;
use serde::Serialize;
use serde_json::json;

use super::reader::{SettingsReader, quoted, span};
use super::value::Setting;

/// Time limit for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalTimeout(pub Duration);

/// Longest wait: a longer task has to be confirmed once a day.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);

impl ApprovalTimeout {
    /// Reads `90s`, `10m`, `2h`.
    ///
    /// # Errors
    /// What is wrong with it, and what to write.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match text.get(digits.len()..) {
            Some("s") => 1,
            Some("m") => 60,
            Some("h") => 3600,
            Some(_) | None => return Err("write a whole number and a unit: `90s`, `10m`, `2h`"),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err("write a whole number and a unit: `90s`, `10m`, `2h`");
        }
        let seconds = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        match seconds.map(Duration::from_secs) {
            Some(time) if !time.is_zero() && time <= MAX_TIMEOUT => Ok(Self(time)),
            Some(_) | None => Err("write a time between one second and 24 hours"),
        }
    }
}

impl Serialize for ApprovalTimeout {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}s", self.0.as_secs()))
    }
}

impl Setting for ApprovalTimeout {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let text = String::read(value, reader)?;
        Self::parse(&text)
            .map_err(|mend| reader.report(span(value), format!("{} is no time", quoted(&text)), mend))
            .ok()
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "pattern": "^[0-9]+[smh]$", "examples": ["10m"]})
    }
}

/// The address that questions are sent to. Its answer decides, so it is either this machine or protected against reading and
/// changes on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebhookUrl(String);

/// Addresses of this machine, for which no encryption is needed.
const LOOPBACK: [&str; 3] = ["http://127.0.0.1", "http://[::1]", "http://localhost"];

impl WebhookUrl {
    /// Takes an address, unless it could be read on the way.
    ///
    /// # Errors
    /// The problem.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let plain = |c: char| {
            c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
        };
        if !text.chars().all(plain) {
            return Err("it holds characters that no address has");
        }
        let rest = text.strip_prefix("https://").or_else(|| {
            let here = LOOPBACK.iter().find_map(|here| text.strip_prefix(here))?;
            (here.is_empty() || here.starts_with([':', '/', '?'])).then(|| text.trim_start_matches("http://"))
        });
        let Some(rest) = rest else {
            return Err("it begins with neither `https://` nor an address of this machine");
        };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        match host {
            "" => Err("it names no host"),
            host if host.contains('@') => Err("a name or password stands in it; use `secretEnv`"),
            _ if text.contains('#') => Err("it points into a page"),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for WebhookUrl {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let text = String::read(value, reader)?;
        Self::parse(&text)
            .map_err(|why| {
                reader.report(
                    span(value),
                    format!("{} cannot be a webhook: {why}", quoted(&text)),
                    "write `https://…`",
                );
            })
            .ok()
    }

    fn schema() -> serde_json::Value {
        json!({
            "type": "string",
            "pattern": r"^(https://|http://(127\.0\.0\.1|\[::1\]|localhost)([:/?]|$))",
            "examples": ["https://approvals.example.com/pinfold"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_numbers_with_a_unit() {
        assert_eq!(ApprovalTimeout::parse("90s"), Ok(ApprovalTimeout(Duration::from_secs(90))));
        assert_eq!(ApprovalTimeout::parse("10m"), Ok(ApprovalTimeout(Duration::from_mins(10))));
        assert_eq!(ApprovalTimeout::parse("24h"), Ok(ApprovalTimeout(MAX_TIMEOUT)));
        for wrong in
            ["", "m", "10", "10 m", "-1m", "+1m", "1.5h", "0s", "25h", "99999999999999999999h", "1d", "١m"]
        {
            assert!(ApprovalTimeout::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_encryption_only_this_machine_is_asked() {
        for right in [
            "https://example.com",
            "https://example.com:8443/x?y=1",
            "http://127.0.0.1:80/x",
            "http://localhost",
            "http://[::1]:9/",
        ] {
            assert!(WebhookUrl::parse(right).is_ok(), "{right}");
        }
        for wrong in [
            "http://example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com/",
            "http://127.0.0.10/",
            "http://localhost@example.com/",
            "https://user:word@example.com/",
            "https://",
            "https:///x",
            "HTTPS://example.com",
            "ftp://example.com",
            "https://exa mple.com",
            "https://example.com/#x",
            "https://example.com\\@evil.example",
            "javascript:x",
        ] {
            assert!(WebhookUrl::parse(wrong).is_err(), "{wrong}");
        }
    }
}
