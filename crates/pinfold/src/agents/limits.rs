//! Limits of what an agent may use up.

use std::time::Duration;

use serde_json::Value;

/// The limits of an agent, with all agents below it. A field that is `None` is no limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentLimits {
    /// Answers of the model.
    pub turns: Option<u64>,
    /// Tokens, those that go in and those that come out.
    pub tokens: Option<u64>,
    /// Money, in millionths of the unit that prices are given in.
    pub cost: Option<u64>,
    /// Time from start to end.
    pub time: Option<Duration>,
    /// Bytes that tools answer.
    pub bytes: Option<u64>,
    /// Agents that are started.
    pub agents: Option<u64>,
    /// Pages that are fetched.
    pub fetches: Option<u64>,
}

impl AgentLimits {
    /// The names of the limits, as definitions write them.
    pub const NAMES: &'static [&'static str] =
        &["turns", "tokens", "cost", "time", "bytes", "agents", "fetches"];

    /// Sets the limit of a name.
    ///
    /// # Errors
    /// What the value should be.
    pub(super) fn set(&mut self, name: &str, value: &Value) -> Result<(), &'static str> {
        const COUNT: &str = "a whole number above 0";
        let count = || value.as_u64().filter(|n| *n > 0).ok_or(COUNT);
        match name {
            "turns" => self.turns = Some(count()?),
            "tokens" => self.tokens = Some(count()?),
            "bytes" => self.bytes = Some(size(value).ok_or("a size such as 512K or 10M")?),
            "agents" => self.agents = Some(count()?),
            "fetches" => self.fetches = Some(count()?),
            "cost" => self.cost = Some(millionths(value).ok_or("an amount such as 0.50")?),
            "time" => self.time = Some(time(value).ok_or("a time such as 90s, 10m or 2h")?),
            _ => return Err("a limit that is known"),
        }
        Ok(())
    }

    /// Both: of each limit the lower.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            turns: lower(self.turns, other.turns),
            tokens: lower(self.tokens, other.tokens),
            cost: lower(self.cost, other.cost),
            time: lower(self.time, other.time),
            bytes: lower(self.bytes, other.bytes),
            agents: lower(self.agents, other.agents),
            fetches: lower(self.fetches, other.fetches),
        }
    }
}

/// An amount of money in millionths.
fn millionths(value: &Value) -> Option<u64> {
    const MAX_MONEY: f64 = 1e9;
    let amount = value.as_f64().filter(|amount| *amount > 0.0 && *amount <= MAX_MONEY)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 10^15, which an f64 holds exactly"
    )]
    Some((amount * 1e6).round() as u64)
}

/// `90s`, `10m`, `2h`, or seconds as a number.
fn time(value: &Value) -> Option<Duration> {
    let (number, unit) = with_unit(value)?;
    let seconds = match unit.as_str() {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// `512K`, `10M`, or bytes as a number.
fn size(value: &Value) -> Option<u64> {
    let (number, unit) = with_unit(value)?;
    let factor: u64 = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

fn with_unit(value: &Value) -> Option<(u64, String)> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits)?.to_owned();
    let number: u64 = digits.trim().parse().ok()?;
    (number > 0).then_some((number, unit))
}
