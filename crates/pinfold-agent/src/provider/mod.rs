//! Models over HTTP: four dialects, one road. A conversation becomes a request, a stream of events becomes a turn.
//!
//! Promise: a key stands in one header and nowhere else; whatever a provider answers ends in a turn or in an error that
//! says what to do.
//! Trap: what stands in a conversation goes to the provider. Tools answer without secrets, files are not clean of secrets.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod responses;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::model::{AgentIdentity, Model, ModelError, ModelRequest, Models, Turn, Usage};
use http::{Post, Wire};

/// Models over HTTP.
pub struct Providers {
    variables: BTreeMap<String, String>,
    /// The model of agents whose definition names none.
    usual: Option<String>,
    price: Option<Price>,
    wire: Arc<Wire>,
    report_silence_after: Duration,
}

/// Price of a million tokens, in millionths of the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Of those that go in.
    pub input: u64,
    /// Of those that come out.
    pub output: u64,
}

impl Price {
    fn cost(self, usage: Usage) -> u64 {
        const MILLION: u128 = 1_000_000;
        let of = |price: u64, tokens: u64| u128::from(price) * u128::from(tokens);
        let cost = of(self.input, usage.input).saturating_add(of(self.output, usage.output));
        u64::try_from(cost / MILLION).unwrap_or(u64::MAX)
    }
}

impl Providers {
    /// `variables`: the environment, from which keys and addresses are taken. `usual`: the model of agents whose definition
    /// names none.
    pub fn new(variables: BTreeMap<String, String>, usual: Option<String>, price: Option<Price>) -> Self {
        let roots = variables.get("SSL_CERT_FILE").map(Into::into);
        Self {
            variables,
            usual,
            price,
            wire: Arc::new(Wire::new(roots)),
            report_silence_after: http::REPORT_SILENCE_AFTER,
        }
    }

    /// Reports a provider that has sent nothing for so long ([`ModelDelay::Silence`](crate::ModelDelay::Silence)). Default:
    /// 15 seconds.
    #[must_use]
    pub fn with_silence_reported_after(mut self, time: Duration) -> Self {
        self.report_silence_after = time;
        self
    }
}

/// The environment holds keys, and stays out of every log.
impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Providers").field("usual", &self.usual).finish_non_exhaustive()
    }
}

/// One way to speak to models.
pub(crate) struct Dialect {
    /// Prefix of the name of a model: `anthropic:NAME`.
    name: &'static str,
    /// The variable with the key.
    key: &'static str,
    /// A server of one's own needs none.
    key_is_needed: bool,
    /// The variable with another address.
    base: &'static str,
    usual_base: &'static str,
    /// The address, from its base and the name of the model.
    url: fn(&str, &str) -> String,
    /// The header lines with the key.
    headers: fn(&str) -> Vec<(&'static str, String)>,
    body: fn(&ModelRequest<'_>, &str) -> Value,
    reading: fn() -> Box<dyn TurnStream>,
}

/// All of them.
const DIALECTS: [Dialect; 4] = [anthropic::DIALECT, responses::DIALECT, chat::DIALECT, gemini::DIALECT];

/// A turn as it comes in.
pub(crate) trait TurnStream {
    /// One event of the stream. Words are handed to `heard`.
    ///
    /// # Errors
    /// What the provider says went wrong.
    fn event(&mut self, data: &Value, heard: &mut dyn FnMut(&str)) -> Result<(), String>;

    /// The turn, if its end has come.
    fn done(self: Box<Self>) -> Option<Turn>;
}

impl Models for Providers {
    fn model(&self, _: &AgentIdentity, named: Option<&str>) -> Result<Box<dyn Model>, ModelError> {
        let known = DIALECTS.iter().map(|dialect| format!("{}:NAME", dialect.name)).collect::<Vec<_>>();
        let mend = format!("name it as {}", known.join(", "));
        let said = named
            .or(self.usual.as_deref())
            .ok_or_else(|| ModelError::new("no model is named for this agent", mend.as_str()))?;
        let (provider, model) = said.split_once(':').ok_or_else(|| {
            ModelError::new(format!("`{said}` does not say whose model it is"), mend.as_str())
        })?;
        let dialect = DIALECTS
            .iter()
            .find(|dialect| dialect.name == provider)
            .ok_or_else(|| ModelError::new(format!("there is no provider `{provider}`"), mend.as_str()))?;
        plain(model)?;
        let variable = |name: &str| self.variables.get(name).filter(|value| !value.is_empty());
        let key = variable(dialect.key).cloned();
        if key.is_none() && dialect.key_is_needed {
            let what = format!("there is no key for {provider}");
            return Err(ModelError::new(what, format!("set {} in the environment", dialect.key)));
        }
        let base = variable(dialect.base).map_or(dialect.usual_base, String::as_str).trim_end_matches('/');
        let post = Post {
            wire: Arc::clone(&self.wire),
            url: (dialect.url)(base, model),
            headers: key.as_deref().map(dialect.headers).unwrap_or_default(),
            key,
            variable: dialect.key,
            base_variable: dialect.base,
            report_silence_after: self.report_silence_after,
        };
        Ok(Box::new(Remote { dialect, model: model.to_owned(), post, price: self.price }))
    }
}

/// The name of a model becomes a part of an address.
fn plain(model: &str) -> Result<(), ModelError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '@');
    if !model.is_empty() && model.chars().all(fits) && !model.contains("..") {
        return Ok(());
    }
    Err(ModelError::new("that is no name of a model", "use letters, digits, `-`, `_`, `.`, `/` and `:`"))
}

/// A model over HTTP.
struct Remote {
    dialect: &'static Dialect,
    model: String,
    post: Post,
    price: Option<Price>,
}

impl Model for Remote {
    fn answer(&mut self, asked: &ModelRequest<'_>, heard: &mut dyn FnMut(&str)) -> Result<Turn, ModelError> {
        let body = (self.dialect.body)(asked, &self.model).to_string();
        let mut turn = self.post.turn(&body, self.dialect.reading, asked, heard)?;
        if let Some(price) = self.price {
            turn.usage.cost = price.cost(turn.usage);
        }
        Ok(turn)
    }
}

/// The input of a call as it came in, in pieces. What is no JSON is handed on as it is: the gate says that it is no input.
pub(crate) fn input(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// A number of tokens.
pub(crate) fn tokens(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path)?.as_u64()
}

/// A text.
pub(crate) fn text<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    value.pointer(path)?.as_str()
}

/// Returns the most tokens of an answer, where few are left. Never more than every model can answer with.
pub(crate) fn little(asked: &ModelRequest<'_>) -> Option<u64> {
    const MAX_SHORT_ANSWER: u64 = 4_096;
    // What providers take at least.
    const MIN_TOKENS: u64 = 16;
    asked.max_tokens.filter(|most| *most <= MAX_SHORT_ANSWER).map(|most| most.max(MIN_TOKENS))
}
