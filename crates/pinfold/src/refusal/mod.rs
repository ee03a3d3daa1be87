//! Refusals: the answer to a call that is not executed, with the path, the writable folders and the alternative.
//!
//! Codes are stable; messages may improve. They are written for a model to act on.

mod code;
mod words;

use pinfold_policy::{BadCall, Principal, Reason};
use serde::Serialize;

use crate::consent::ApprovalChannel;
pub use code::RefusalCode;
pub(crate) use words::RefusedPath;
use words::{ask, describe_any};

/// Answer to a call that is not executed, the same in every way in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Its kind.
    #[serde(rename = "error")]
    pub code: RefusalCode,
    /// The message: the place that was tried, the folder that may be written, the alternative.
    pub message: String,
    /// The tool, as said.
    pub tool_name: String,
    /// The path it is about, as the caller knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The places where the same would be allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_paths: Vec<String>,
    /// The rule or guard that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The source of that rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why, in one clause.
    pub reason: String,
    /// The alternative; it fits the reader that can act.
    pub hint: String,
    /// True if a person could allow the call.
    pub approvable: bool,
    /// The same call will never succeed in this session.
    pub do_not_retry: bool,
    /// `SESSION:CALL`: its name in the record, where it is there. `pinfold why` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Refusal {
    /// A part that is no path: a command, a host, a tool. `subject` names it.
    pub(crate) fn for_part(
        tool: &str,
        principal: &Principal,
        subject: &str,
        reason: &Reason,
        approvable: bool,
    ) -> Self {
        if let Some(refusal) = Self::for_shell(tool, reason) {
            return refusal;
        }
        let hint = match principal {
            Principal::Main => "tell the user what you need and why, or find another way",
            Principal::Subagent(_) => "finish the rest and report this in your summary",
        };
        let words = describe_any(subject, reason, ask(principal), hint);
        let scope = if let Reason::PathScopes(scope) = reason { Some(scope) } else { None };
        Self {
            path: scope.and_then(|scope| scope.word.clone()),
            allowed_paths: scope.map(|scope| scope.no.allowed.clone()).unwrap_or_default(),
            ..words.into_refusal(tool, approvable)
        }
    }

    /// A shell that may not run.
    fn for_shell(tool: &str, reason: &Reason) -> Option<Self> {
        let (code, message) = match reason {
            Reason::BashNotAllowed => (
                RefusalCode::BashNotAllowed,
                "bash execution is disabled in this mode — re-run with --allow-bash to enable",
            ),
            Reason::ShellNotHeld => (
                RefusalCode::NotHeld,
                "no shell was started: this machine or session cannot hold one to its folder. Use the file tools, \
                 or tell the user which command you would have run.",
            ),
            _ => return None,
        };
        let hint = "use the file tools, or tell the user which command you would have run";
        let message = message.to_owned();
        Some(Self {
            reason: message.clone(),
            message,
            do_not_retry: true,
            ..Self::plain(code, tool, None, "", hint)
        })
    }

    /// A call that was not understood.
    pub(crate) fn invalid(bad: &BadCall) -> Self {
        let hint = bad.hint();
        Self::plain(RefusalCode::InvalidInput, bad.tool(), None, &bad.to_string(), &hint)
    }

    /// A refusal or failure that no line and no rule is behind: the message says it all.
    pub fn plain(code: RefusalCode, tool: &str, path: Option<String>, message: &str, hint: &str) -> Self {
        Self {
            code,
            reason: message.to_owned(),
            message: if hint.ends_with('?') {
                format!("{message}; {hint}")
            } else {
                format!("{message}; {hint}.")
            },
            tool_name: tool.to_owned(),
            path,
            allowed_paths: Vec::new(),
            rule: None,
            source: None,
            hint: hint.to_owned(),
            approvable: false,
            do_not_retry: false,
            id: None,
        }
    }

    /// An overwrite or edit of a file that was not read in this session.
    pub(crate) fn not_read(tool: &str, shown: &str) -> Self {
        let message = format!("{shown} has not been read in this session");
        Self::plain(
            RefusalCode::NotRead,
            tool,
            Some(shown.to_owned()),
            &message,
            "read it first, then try again",
        )
    }

    /// An overwrite or edit of a file that changed since it was read.
    pub(crate) fn stale(tool: &str, shown: &str) -> Self {
        let message = format!("{shown} changed since it was read");
        Self::plain(
            RefusalCode::StaleRead,
            tool,
            Some(shown.to_owned()),
            &message,
            "read it again, then try again",
        )
    }

    /// A question was answered with no, `via` one of the ways, or not in time. A client can decline by itself: that is
    /// not the word of a person.
    pub(crate) fn declined(asked: &Self, message: Option<&str>, via: ApprovalChannel) -> Self {
        let why = match via {
            ApprovalChannel::Silence => "no answer in time: denied",
            ApprovalChannel::Client => "the request was declined at the client, by its user or automatically",
            ApprovalChannel::Judge => "the judge said no",
            ApprovalChannel::Terminal
            | ApprovalChannel::Socket
            | ApprovalChannel::Web
            | ApprovalChannel::Webhook
            | ApprovalChannel::Hook
            | ApprovalChannel::Embedder
            | ApprovalChannel::Earlier => "the approver said no",
        };
        let subject = asked.path.as_deref().unwrap_or(&asked.tool_name);
        let (told, why) = match message {
            Some(words) => (
                format!("{subject} was not done: {why}, with these words: {words}"),
                format!("{why}: {words}"),
            ),
            None => (
                format!(
                    "{subject} was not done: {why}. Do without it, or say in your answer why it is needed."
                ),
                why.to_owned(),
            ),
        };
        let hint = "do without it, or say in your answer why it is needed";
        Self {
            code: RefusalCode::Denied,
            message: told,
            reason: why,
            hint: hint.to_owned(),
            approvable: false,
            do_not_retry: true,
            ..asked.clone()
        }
    }

    /// The client does not wait for the call any more.
    pub(crate) fn gone(asked: &Self) -> Self {
        let why = "the process that wanted it gave up";
        let subject = asked.path.as_deref().unwrap_or(&asked.tool_name);
        Self { message: format!("{subject} was not done: {why}."), reason: why.to_owned(), ..asked.clone() }
    }

    /// The journal did not take the decision.
    pub(crate) fn not_recorded(tool: &str, error: &std::io::Error) -> Self {
        let message = format!("nothing was done, since the decision could not be recorded ({error})");
        Self::plain(
            RefusalCode::NotRecorded,
            tool,
            None,
            &message,
            "tell the user that the audit log cannot be written",
        )
    }
}
