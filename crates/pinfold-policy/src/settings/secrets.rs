//! Secrets that stay outside: what stands inside in their place, and where the way out puts them in.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use jsonc_parser::ast::Value;
use pinfold_host::{Name, Scheme};
use serde::Serialize;
use serde_json::json;

use super::reader::{SettingsReader, quoted, span};
use super::section::section;
use super::value::Setting;

/// Secrets, each under the name of the variable that has its placeholder inside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Secrets(pub BTreeMap<String, SecretSetting>);

/// One secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretSetting {
    /// The one host that it is for.
    pub host: SecretHost,
    /// The header that has it, in lower case.
    pub header: String,
    /// Its source.
    pub from: SecretFrom,
}

/// The host of a secret: always within TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHost {
    /// Its name.
    pub name: Name,
    /// Its port.
    pub port: u16,
}

/// The source of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretFrom {
    /// A variable of the environment outside.
    Env(String),
    /// A file; blanks and line breaks around the secret do not count. `~/` is the home directory.
    File(PathBuf),
}

section! {
    /// One secret as it is written.
    SecretSection needs ["host", "from"] {
        /// The one host that it is for, with `:PORT` if it is not 443.
        host = "host": Option<String>,
        /// The header that has it; `authorization` where nothing is said.
        header = "header": Option<String>,
        /// The source: `{"env": "NAME"}` or `{"file": "~/.config/token"}`.
        from = "from": FromSection,
    }
}

section! {
    /// The source of a secret, as it is written: one of both.
    FromSection {
        /// A variable of the environment outside.
        env = "env": Option<String>,
        /// A file.
        file = "file": Option<String>,
    }
}

impl Serialize for SecretHost {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}:{}", self.name, self.port))
    }
}

impl Serialize for Secrets {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}

impl SecretHost {
    fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok().filter(|port| *port != 0)?),
            None => (text, Scheme::Https.usual_port()),
        };
        Some(Self { name: Name::parse(name)?, port })
    }
}

/// Headers that say how a request is understood, and never who sends it.
const FRAMING: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The header in lower case, if it can have a secret.
fn header(text: &str) -> Option<String> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let lower = text.to_ascii_lowercase();
    (plain && !FRAMING.contains(&lower.as_str())).then_some(lower)
}

/// A name that a shell can say.
fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl SecretSection {
    /// Returns the setting, or the problem with it.
    fn into_setting(self) -> Result<SecretSetting, (String, &'static str)> {
        let host = self.host.unwrap_or_default();
        let host = SecretHost::parse(&host)
            .ok_or_else(|| (format!("{} is not one host", quoted(&host)), "write a name as `github.com`"))?;
        let header_said = self.header.as_deref().unwrap_or("authorization");
        let header = header(header_said).ok_or_else(|| {
            (
                format!("{} is no header for a secret", quoted(header_said)),
                "write `authorization` or `x-api-key`",
            )
        })?;
        let from = match (self.from.env, self.from.file) {
            (Some(name), None) if is_variable(&name) => SecretFrom::Env(name),
            (None, Some(file)) if file.starts_with('/') || file.starts_with("~/") => {
                SecretFrom::File(file.into())
            }
            _ => {
                let what = "it does not say where the secret is".to_owned();
                return Err((what, "write {\"env\": \"NAME\"}, or {\"file\": …} with a path from / or ~/"));
            }
        };
        Ok(SecretSetting { host, header, from })
    }
}

impl Setting for Secrets {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::Object(object) = value else {
            return reader.wrong_type(value, "names of variables with their secrets");
        };
        let mut seen = HashSet::with_capacity(object.properties.len());
        let mut secrets = BTreeMap::new();
        for entry in &object.properties {
            if !reader.is_first(entry, &mut seen) {
                continue;
            }
            let name = entry.name.as_str();
            if !is_variable(name) {
                let what = format!("{} is no name of a variable", quoted(name));
                reader.report(span(&entry.name), what, "write a name as `GITHUB_TOKEN`");
                continue;
            }
            match SecretSection::read(&entry.value, reader)?.into_setting() {
                Ok(secret) => drop(secrets.insert(name.to_owned(), secret)),
                Err((what, mend)) => reader.report(span(&entry.value), what, mend),
            }
        }
        Some(Self(secrets))
    }

    fn schema() -> serde_json::Value {
        json!({"type": "object", "additionalProperties": SecretSection::schema(),
            "examples": [{"GITHUB_TOKEN": {"host": "github.com", "header": "authorization", "from": {"env": "GITHUB_TOKEN"}}}]})
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::settings::Settings;
    use crate::source::Layer;

    fn read(text: &str) -> Result<Secrets, String> {
        let text = format!("{{\"network\": {{\"secrets\": {text}}}}}");
        let settings =
            Settings::parse(text.as_bytes(), Layer::User, &Arc::from("f")).map_err(|e| e.to_string())?;
        Ok(settings.says.network.secrets.unwrap().value)
    }

    #[test]
    fn a_secret_has_one_host_one_header_and_one_place() {
        let secrets = read(
            r#"{"TOKEN": {"host": "GitHub.com", "from": {"env": "GH"}},
                "KEY": {"host": "api.example:8443", "header": "X-Api-Key", "from": {"file": "~/.key"}}}"#,
        )
        .unwrap();
        let token = &secrets.0["TOKEN"];
        assert_eq!((token.host.name.as_str(), token.host.port), ("github.com", 443));
        assert_eq!(
            (token.header.as_str(), &token.from),
            ("authorization", &SecretFrom::Env("GH".to_owned()))
        );
        let key = &secrets.0["KEY"];
        assert_eq!((key.host.port, key.header.as_str()), (8443, "x-api-key"));
        for bad in [
            r#"{"TOKEN": {"host": "github.com"}}"#,
            r#"{"TOKEN": {"from": {"env": "A"}}}"#,
            r#"{"TOKEN": {"host": "*.github.com", "from": {"env": "A"}}}"#,
            r#"{"TOKEN": {"host": "*", "from": {"env": "A"}}}"#,
            r#"{"TOKEN": {"host": "127.0.0.1", "from": {"env": "A"}}}"#,
            r#"{"TOKEN": {"host": "github.com:0", "from": {"env": "A"}}}"#,
            r#"{"TOKEN": {"host": "github.com", "from": {}}}"#,
            r#"{"TOKEN": {"host": "github.com", "from": {"env": "A", "file": "/b"}}}"#,
            r#"{"TOKEN": {"host": "github.com", "from": {"file": "relative"}}}"#,
            r#"{"TOKEN": {"host": "github.com", "from": {"env": "A=B"}}}"#,
            r#"{"TOKEN": {"host": "github.com", "header": "Host", "from": {"env": "A"}}}"#,
            r#"{"TOKEN": {"host": "github.com", "header": "a: b", "from": {"env": "A"}}}"#,
            r#"{"A-B": {"host": "github.com", "from": {"env": "A"}}}"#,
            r#"{"TOKEN": {"host": "github.com", "value": "x", "from": {"env": "A"}}}"#,
            r#"["TOKEN"]"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
