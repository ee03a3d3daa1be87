//! Answers to approval requests.

use std::num::{NonZeroU32, NonZeroU64};

use jiff::{SignedDuration, Timestamp};
use pinfold_policy::Layer;
use serde::{Deserialize, Serialize};

use super::grant_lifetime::GrantLifetime;

/// An answer to one request. It counts only for the request with its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Which request, by its name.
    pub id: String,
    /// Which request, by what it is about.
    pub digest: String,
    /// The choice.
    pub choice: Choice,
    /// The approver. The channel that takes the answer in fills this field: it is never believed from outside.
    #[serde(skip_deserializing, default)]
    pub by: AnsweredBy,
}

/// The choice of an answer. A choice that was not offered counts as a no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "lowercase", from = "AnswerChoice")]
pub enum Choice {
    /// This call, once.
    Yes,
    /// All of this kind, until the session ends.
    Session {
        /// Index of the offered scope.
        scope: usize,
        /// The duration, where it is less.
        #[serde(skip_serializing_if = "Option::is_none")]
        bound: Option<Bound>,
    },
    /// From now on: a rule for each part.
    Always {
        /// Index of the offered scope, for each part in its order; the usual one where none is given.
        scopes: Vec<usize>,
        /// The settings file that the rules are written to.
        file: RuleFile,
    },
    /// No.
    No {
        /// Text for the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Nor anything else that the process which asks, or one that it starts, tries until it ends.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        process: bool,
    },
}

/// A choice as it is read. With braces, so that what does not belong into a yes is an error there too.
#[derive(Deserialize)]
#[serde(tag = "choice", rename_all = "lowercase", deny_unknown_fields)]
enum AnswerChoice {
    Yes {},
    Session {
        #[serde(default)]
        scope: usize,
        #[serde(default)]
        bound: Option<Bound>,
    },
    Always {
        #[serde(default)]
        scopes: Vec<usize>,
        #[serde(default)]
        file: RuleFile,
    },
    No {
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        process: bool,
    },
}

impl From<AnswerChoice> for Choice {
    fn from(said: AnswerChoice) -> Self {
        match said {
            AnswerChoice::Yes {} => Self::Yes,
            AnswerChoice::Session { scope, bound } => Self::Session { scope, bound },
            AnswerChoice::Always { scopes, file } => Self::Always { scopes, file },
            AnswerChoice::No { message, process } => Self::No { message, process },
        }
    }
}

/// The duration of a session grant, where it is less than the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// For so many seconds.
    For(NonZeroU64),
    /// For so many calls, the one that is asked about among them.
    Times(NonZeroU32),
}

impl Choice {
    /// All of this kind until the session ends, in one of the offered scopes.
    pub fn session(scope: usize) -> Self {
        Self::Session { scope, bound: None }
    }

    /// No to this call, without a message.
    pub const fn no() -> Self {
        Self::No { message: None, process: false }
    }

    /// The lifetime of the session grants of this choice.
    pub(crate) fn lasts(&self, now: Timestamp) -> GrantLifetime {
        match self {
            Self::Session { bound: Some(Bound::For(seconds)), .. } => {
                let after = SignedDuration::from_secs(i64::try_from(seconds.get()).unwrap_or(i64::MAX));
                GrantLifetime::Until(now.checked_add(after).unwrap_or(Timestamp::MAX))
            }
            Self::Session { bound: Some(Bound::Times(calls)), .. } => GrantLifetime::Calls(calls.get()),
            Self::Session { bound: None, .. } | Self::Yes | Self::Always { .. } | Self::No { .. } => {
                GrantLifetime::Session
            }
        }
    }
}

/// The settings file that a rule is written to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleFile {
    /// The person's own for this project.
    #[default]
    Local,
    /// The person's own for every project.
    User,
}

impl From<RuleFile> for Layer {
    fn from(file: RuleFile) -> Self {
        match file {
            RuleFile::Local => Self::Local,
            RuleFile::User => Self::User,
        }
    }
}

/// The approver of an answer, and the channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AnsweredBy {
    /// Which way the answer came in.
    pub via: ApprovalChannel,
    /// The identity, as far as the channel knows it: a user's name, a hook's command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

/// Which way an answer came in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ApprovalChannel {
    /// There was no answer in time.
    #[default]
    Silence,
    /// The dialog at the terminal of the session.
    Terminal,
    /// Another terminal, over the socket.
    Socket,
    /// The page.
    Web,
    /// A webhook.
    Webhook,
    /// The client of an MCP server, in a form of its own.
    Client,
    /// A hook of the settings.
    Hook,
    /// The judge of the mode `auto`, in place of an approver.
    Judge,
    /// The program that embeds the gate.
    Embedder,
    /// An answer that was given before, to a question that said what else it would cover.
    Earlier,
}

impl ApprovalChannel {
    /// The channel in a word, as records and the protocol have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Silence => "silence",
            Self::Terminal => "terminal",
            Self::Socket => "socket",
            Self::Web => "web",
            Self::Webhook => "webhook",
            Self::Client => "client",
            Self::Hook => "hook",
            Self::Judge => "judge",
            Self::Embedder => "embedder",
            Self::Earlier => "earlier",
        }
    }
}

impl Answer {
    /// Returns true if the call is permitted.
    pub fn is_yes(&self) -> bool {
        !matches!(self.choice, Choice::No { .. })
    }

    /// Makes the no of a request that was not answered in time.
    pub fn silence(id: &str, digest: &str) -> Self {
        Self { id: id.to_owned(), digest: digest.to_owned(), choice: Choice::no(), by: AnsweredBy::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_understood_in_full_or_not_at_all() {
        let read = |text: &str| serde_json::from_str::<Choice>(text).ok();
        let always = Choice::Always { scopes: vec![1], file: RuleFile::User };
        let good = [
            (r#"{"choice":"yes"}"#, Choice::Yes),
            (r#"{"choice":"session"}"#, Choice::session(0)),
            (r#"{"choice":"session","scope":2}"#, Choice::session(2)),
            (r#"{"choice":"always","scopes":[1],"file":"user"}"#, always),
            (r#"{"choice":"always"}"#, Choice::Always { scopes: Vec::new(), file: RuleFile::Local }),
            (r#"{"choice":"no"}"#, Choice::no()),
            (r#"{"choice":"no","process":true}"#, Choice::No { message: None, process: true }),
        ];
        for (text, choice) in good {
            assert_eq!(read(text), Some(choice.clone()), "{text}");
            let written = serde_json::to_string(&choice).unwrap();
            assert_eq!(read(&written), Some(choice), "{written}");
        }
        let bad = [
            r#"{"choice":"yes","scope":1}"#,
            r#"{"choice":"yes","digest":"another"}"#,
            r#"{"choice":"session","scopes":[1]}"#,
            r#"{"choice":"session","scope":-1}"#,
            r#"{"choice":"always","file":"project"}"#,
            r#"{"choice":"no","yes":true}"#,
            r#"{"choice":"Yes"}"#,
            r#""yes""#,
            "{}",
        ];
        for text in bad {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
