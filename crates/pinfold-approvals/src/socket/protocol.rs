//! What is said on a socket: one JSON object a line. `docs/approvals.md` is its manual.

use jiff::Timestamp;
use pinfold::consent::{By, Choice, Deed, GrantLifetime, Request, Via};
use serde::{Deserialize, Serialize};

use crate::over::{NotTaken, Note, Over};

/// The version of what is said.
pub const VERSION: u32 = 1;

/// The first line of whoever connects.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) v: u32,
    pub(super) secret: String,
}

/// Every line after it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Order {
    // With braces, so that what does not belong into a line is an error there too.
    /// Is somebody there?
    Ping {},
    /// What waits.
    List {},
    /// All of one request.
    Show {
        /// Its name.
        id: String,
    },
    /// An answer.
    Answer {
        /// To which request, by its name.
        id: String,
        /// To which request, by what it is about.
        digest: String,
        /// What was chosen.
        answer: Choice,
        /// Through what.
        #[serde(default)]
        from: From,
        /// A name that whoever answers gives themselves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
    },
    /// Whatever is new, from now on.
    Watch {},
    /// What was granted.
    Grants {},
    /// A grant less.
    Revoke {
        /// Of which session.
        session: String,
        /// Which one.
        number: u64,
    },
}

/// Through what an answer is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// A terminal.
    #[default]
    Terminal,
    /// The page.
    Page,
}

impl From {
    pub(super) fn via(self) -> Via {
        match self {
            Self::Terminal => Via::Socket,
            Self::Page => Via::Web,
        }
    }
}

/// What the other side says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reply {
    Hello(Answers),
    Pong,
    List(Vec<Waiting>),
    Show(Box<Request>),
    Answered,
    Grants(Vec<GrantShown>),
    Revoked,
    Error(Trouble),
    Heard(Heard),
}

/// Who asks here.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answers {
    pub(super) v: u32,
    /// The name of the socket.
    pub(super) name: String,
    pub(super) pid: u32,
}

/// What is new. With nothing in it, it says that the other side is still there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// What is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Waiting>,
    /// What is over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<Over>,
    /// What whoever answered should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// A request that waits, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its name.
    pub id: String,
    /// What it is about, as a digest.
    pub digest: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When silence becomes a no.
    pub deadline: Timestamp,
    /// Which session asks.
    pub session: String,
    /// The agents from the main loop down.
    pub agents: Vec<String>,
    /// The folder.
    pub folder: String,
    /// The tool.
    pub tool: String,
    /// The beginning of what would be done.
    pub brief: String,
    /// Why it is asked, in one clause.
    pub why: String,
    /// Only yes and no.
    pub immune: bool,
    /// It cannot be undone.
    pub destructive: bool,
}

/// How much of a deed stands in a list.
const BRIEF: usize = 160;

impl Waiting {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            id: request.id.clone(),
            digest: request.digest.clone(),
            asked_at: request.asked_at,
            deadline: request.deadline,
            session: request.asker.session.clone(),
            agents: request.asker.agents.clone(),
            folder: request.asker.folder.clone(),
            tool: request.tool.clone(),
            brief: brief(&request.deed),
            why: request.why.first().map(|why| why.reason.clone()).unwrap_or_default(),
            immune: request.immune,
            destructive: request.destructive,
        }
    }
}

fn brief(deed: &Deed) -> String {
    let text = match deed {
        Deed::Command { command, .. } => command.clone(),
        Deed::Change { files } => files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(", "),
        Deed::Patch { patch } => patch.clone(),
        Deed::Paths { acts } => {
            acts.iter().map(|act| format!("{} {}", act.operation, act.path)).collect::<Vec<_>>().join(", ")
        }
        Deed::Input { input } => input.clone(),
    };
    if text.chars().nth(BRIEF).is_none() { text } else { text.chars().take(BRIEF).chain(['…']).collect() }
}

/// A grant of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantShown {
    /// The session that it holds in.
    pub session: String,
    /// Its number there.
    pub number: u64,
    /// What it covers, as a rule or in words.
    pub grant: String,
    /// Who gave it.
    pub by: By,
    /// When.
    pub given_at: Timestamp,
    /// How long it holds.
    pub lasts: LastsShown,
    /// How many calls it let through.
    pub used: u64,
}

/// How long a grant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LastsShown {
    /// As long as the session.
    Session,
    /// Until then.
    Until(Timestamp),
    /// For so many calls more.
    Calls(u32),
}

impl std::convert::From<GrantLifetime> for LastsShown {
    fn from(lasts: GrantLifetime) -> Self {
        match lasts {
            GrantLifetime::Session => Self::Session,
            GrantLifetime::Until(at) => Self::Until(at),
            GrantLifetime::Calls(left) => Self::Calls(left),
        }
    }
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Trouble {
    /// Which kind.
    pub code: TroubleKind,
    /// In words.
    pub message: String,
}

/// Why something was not done, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// Whoever asks is not let in.
    Refused,
    /// What was said is not understood.
    Unclear,
    /// There is nothing of that name.
    NotFound,
    /// The request is another one by now.
    OtherDigest,
    /// The request is over.
    Over,
    /// What was chosen was not offered.
    NotOffered,
    /// Too many are connected.
    Busy,
}

impl Trouble {
    pub(super) fn new(code: TroubleKind, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl std::convert::From<NotTaken> for Trouble {
    fn from(not: NotTaken) -> Self {
        let code = match &not {
            NotTaken::Unknown(_) => TroubleKind::NotFound,
            NotTaken::Other(_) => TroubleKind::OtherDigest,
            NotTaken::Over(_) => TroubleKind::Over,
            NotTaken::NotOffered { .. } => TroubleKind::NotOffered,
        };
        Self::new(code, not.to_string())
    }
}
