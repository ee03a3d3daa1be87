//! The socket protocol: one JSON object per line. `docs/approvals.md` is its manual.

use jiff::Timestamp;
use pinfold::consent::{AnsweredBy, ApprovalChannel, Choice, GrantLifetime, Request, RequestedOperation};
use serde::{Deserialize, Serialize};

use crate::resolution::{AnswerError, ApproverNote, ResolvedRequest};

/// The protocol version.
pub const VERSION: u32 = 1;

/// The first line of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClientHello {
    pub(super) v: u32,
    pub(super) secret: String,
}

/// Every other line of a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum ClientMessage {
    // With braces, so that an unknown field is an error there too.
    /// Checks that the process is alive.
    Ping {},
    /// Lists the pending requests.
    List {},
    /// Shows one request in full.
    Show {
        /// Its identifier.
        id: String,
    },
    /// Answers a request.
    Answer {
        /// Its identifier.
        id: String,
        /// The digest of the operation that was shown.
        digest: String,
        /// The choice.
        answer: Choice,
        /// The kind of client.
        #[serde(default)]
        from: ClientKind,
        /// The name that the approver claims.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
    },
    /// Subscribes to events.
    Watch {},
    /// Lists the grants.
    Grants {},
    /// Revokes a grant.
    Revoke {
        /// The session of the grant.
        session: String,
        /// The number of the grant.
        number: u64,
    },
}

/// The kind of client that gives an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientKind {
    /// A terminal.
    #[default]
    Terminal,
    /// The web page.
    Page,
}

impl ClientKind {
    pub(super) fn approval_channel(self) -> ApprovalChannel {
        match self {
            Self::Terminal => ApprovalChannel::Socket,
            Self::Page => ApprovalChannel::Web,
        }
    }
}

/// Every line of the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ServerMessage {
    Hello(ServerHello),
    Pong,
    List(Vec<RequestSummary>),
    Show(Box<Request>),
    Answered,
    Grants(Vec<GrantSummary>),
    Revoked,
    Error(ProtocolError),
    Heard(EventBatch),
}

/// The server's identification.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ServerHello {
    pub(super) v: u32,
    /// The name of the socket.
    pub(super) name: String,
    pub(super) pid: u32,
}

/// Events since the last line. An empty one is a heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventBatch {
    /// New requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<RequestSummary>,
    /// Resolutions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<ResolvedRequest>,
    /// Messages for the approver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ApproverNote>,
}

/// A pending request, summarized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSummary {
    /// Its identifier.
    pub id: String,
    /// The digest of the operation.
    pub digest: String,
    /// The time of the request.
    pub asked_at: Timestamp,
    /// The deadline, after which it is denied.
    pub deadline: Timestamp,
    /// The session that asks.
    pub session: String,
    /// The agents from the main loop down.
    pub agents: Vec<String>,
    /// The folder.
    pub folder: String,
    /// The tool.
    pub tool: String,
    /// The beginning of the operation.
    pub brief: String,
    /// The reason, in one clause.
    pub why: String,
    /// Only yes and no are offered.
    pub always_ask: bool,
    /// The operation cannot be undone.
    pub destructive: bool,
}

/// The longest summary of an operation, in characters.
const MAX_BRIEF: usize = 160;

impl RequestSummary {
    pub(crate) fn from_request(request: &Request) -> Self {
        Self {
            id: request.id.clone(),
            digest: request.digest.clone(),
            asked_at: request.asked_at,
            deadline: request.deadline,
            session: request.asker.session.clone(),
            agents: request.asker.agents.clone(),
            folder: request.asker.folder.clone(),
            tool: request.tool.clone(),
            brief: brief(&request.operation),
            why: request.why.first().map(|why| why.reason.clone()).unwrap_or_default(),
            always_ask: request.always_ask,
            destructive: request.destructive,
        }
    }
}

fn brief(operation: &RequestedOperation) -> String {
    let text = match operation {
        RequestedOperation::Command { command, .. } => command.clone(),
        RequestedOperation::Change { files } => {
            files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(", ")
        }
        RequestedOperation::Patch { patch } => patch.clone(),
        RequestedOperation::Paths { acts } => {
            acts.iter().map(|act| format!("{} {}", act.operation, act.path)).collect::<Vec<_>>().join(", ")
        }
        RequestedOperation::Input { input } => input.clone(),
    };
    if text.chars().nth(MAX_BRIEF).is_none() {
        text
    } else {
        text.chars().take(MAX_BRIEF).chain(['…']).collect()
    }
}

/// A grant of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantSummary {
    /// The session that it applies to.
    pub session: String,
    /// Its number in the session.
    pub number: u64,
    /// Its scope, as a rule or in words.
    pub grant: String,
    /// The approver.
    pub by: AnsweredBy,
    /// The time of the grant.
    pub given_at: Timestamp,
    /// Its lifetime.
    pub lasts: GrantExpiry,
    /// The number of calls that it has allowed.
    pub used: u64,
}

/// The lifetime of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantExpiry {
    /// The session.
    Session,
    /// Until this time.
    Until(Timestamp),
    /// This many more calls.
    Calls(u32),
}

impl std::convert::From<GrantLifetime> for GrantExpiry {
    fn from(lasts: GrantLifetime) -> Self {
        match lasts {
            GrantLifetime::Session => Self::Session,
            GrantLifetime::Until(at) => Self::Until(at),
            GrantLifetime::Calls(left) => Self::Calls(left),
        }
    }
}

/// An error reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ProtocolError {
    /// The error code.
    pub code: ProtocolErrorCode,
    /// The message.
    pub message: String,
}

/// The code of an error reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolErrorCode {
    /// The client is not authorized.
    Refused,
    /// The line is malformed.
    Unclear,
    /// There is no such request or grant.
    NotFound,
    /// The request is now for another operation.
    OtherDigest,
    /// The request is resolved.
    Over,
    /// The choice was not offered.
    NotOffered,
    /// Too many clients are connected.
    Busy,
}

impl ProtocolError {
    pub(super) fn new(code: ProtocolErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl std::convert::From<AnswerError> for ProtocolError {
    fn from(not: AnswerError) -> Self {
        let code = match &not {
            AnswerError::Unknown(_) => ProtocolErrorCode::NotFound,
            AnswerError::OtherDigest(_) => ProtocolErrorCode::OtherDigest,
            AnswerError::Resolved(_) => ProtocolErrorCode::Over,
            AnswerError::NotOffered { .. } => ProtocolErrorCode::NotOffered,
        };
        Self::new(code, not.to_string())
    }
}
