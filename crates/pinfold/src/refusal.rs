//! Every no, in one envelope: where it was tried, where the line is, what to do instead.
//!
//! The code is stable; the words may improve. They are written for a model to act on.

use pinfold_host::HostRule;
use pinfold_policy::{
    BadCall, Decision, DeclaredNo, Disguise, Located, Mode, Operation, Principal, Reason, SourcedRule,
};
use serde::Serialize;

use crate::consent::Via;

/// Reason why a call did not happen, or did not come to an end. Stable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum RefusalCode {
    /// A write beyond the folder of this agent.
    OutOfScope,
    /// It needs approval first.
    RequiresApproval,
    /// Denied, whatever an approver says.
    Denied,
    /// Outside the places that settings hold the tool to.
    PathNotAllowed,
    /// The session only reads.
    ReadOnly,
    /// The path leads to an unknown place.
    Unresolved,
    /// The path looks inside and leads outside.
    Disguised,
    /// A FIFO, socket or device.
    SpecialFile,
    /// The file has to be read first.
    NotRead,
    /// The file changed since it was read.
    StaleRead,
    /// The tool or its input was not understood.
    InvalidInput,
    /// Nothing is there.
    NotFound,
    /// Something is there already.
    AlreadyExists,
    /// A folder stands where a file is needed.
    IsAFolder,
    /// Something else stands where a folder is needed.
    NotAFolder,
    /// A folder that is not empty.
    NotEmpty,
    /// The text to replace does not occur.
    NoMatch,
    /// The text to replace occurs more than once.
    NotUnique,
    /// The edit would change nothing.
    NoChange,
    /// More than the tool takes or returns.
    TooLarge,
    /// The content is not text.
    NotText,
    /// The new text has a word that stands for a secret where the file has the secret.
    Redacted,
    /// The place changed between the look and the deed; nothing was done.
    Changed,
    /// The budget of this session for fetches is spent.
    BudgetSpent,
    /// A host cannot be reached, or what it answers cannot be used.
    NotFetched,
    /// Shells are off in this session.
    BashNotAllowed,
    /// Nothing holds a shell to its line here, or less than was asked for.
    NotHeld,
    /// The decision could not be recorded, so nothing was done.
    NotRecorded,
    /// Another error of the system.
    Io,
}

impl RefusalCode {
    /// The code in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutOfScope => "OutOfScope",
            Self::RequiresApproval => "RequiresApproval",
            Self::Denied => "Denied",
            Self::PathNotAllowed => "PathNotAllowed",
            Self::ReadOnly => "ReadOnly",
            Self::Unresolved => "Unresolved",
            Self::Disguised => "Disguised",
            Self::SpecialFile => "SpecialFile",
            Self::NotRead => "NotRead",
            Self::StaleRead => "StaleRead",
            Self::InvalidInput => "InvalidInput",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::IsAFolder => "IsAFolder",
            Self::NotAFolder => "NotAFolder",
            Self::NotEmpty => "NotEmpty",
            Self::NoMatch => "NoMatch",
            Self::NotUnique => "NotUnique",
            Self::NoChange => "NoChange",
            Self::TooLarge => "TooLarge",
            Self::NotText => "NotText",
            Self::Redacted => "Redacted",
            Self::Changed => "Changed",
            Self::BudgetSpent => "BudgetSpent",
            Self::NotFetched => "NotFetched",
            Self::BashNotAllowed => "BashNotAllowed",
            Self::NotHeld => "NotHeld",
            Self::NotRecorded => "NotRecorded",
            Self::Io => "Io",
        }
    }
}

/// A no, in the one envelope of every way in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Which no.
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

/// The path that a refusal is about.
pub(crate) struct RefusedPath<'a> {
    pub(crate) tool: &'a str,
    pub(crate) principal: &'a Principal,
    /// The path as the caller knows it.
    pub(crate) shown: &'a str,
    pub(crate) operation: Operation,
    /// The folders that may be written, as the caller knows them.
    pub(crate) line: &'a str,
    /// The same, absolute.
    pub(crate) roots: &'a [String],
}

impl RefusedPath<'_> {
    /// Writes the refusal. `approvable`: a person could still allow the call.
    pub(crate) fn refusal(&self, reason: &Reason, approvable: bool) -> Refusal {
        let words = self.describe(reason);
        let writes = self.operation.writes();
        Refusal {
            code: words.code,
            message: words.message,
            tool_name: self.tool.to_owned(),
            path: Some(self.shown.to_owned()),
            allowed_paths: match reason {
                Reason::Declared(hit) => hit.no.allowed.clone(),
                _ if writes => self.roots.to_vec(),
                _ => Vec::new(),
            },
            rule: words.rule,
            source: words.source,
            reason: words.reason,
            hint: words.hint.to_owned(),
            approvable,
            do_not_retry: true,
            id: None,
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table: one entry for each reason")]
    fn describe(&self, reason: &Reason) -> Words {
        let shown = self.shown;
        let line = self.line;
        match reason {
            Reason::OutOfScope => Words::new(
                RefusalCode::OutOfScope,
                format!("{shown} is outside this scope ({line}). {}", self.scope_hint()),
                "a write outside the scope of this agent",
                "finish what is inside the scope and report this change in your summary",
            ),
            Reason::ReadOnly => Words::new(
                RefusalCode::ReadOnly,
                format!(
                    "{shown} was not changed: this session only reads. Describe the change instead of making it."
                ),
                "the session only reads",
                "describe the change in your answer",
            ),
            Reason::Unresolved(why) => Words::new(
                if why.missing { RefusalCode::NotFound } else { RefusalCode::Unresolved },
                format!("{shown} was not touched: {}. Name the place by a plain path.", why.reason),
                &why.reason,
                "list the folder and name the place by a plain path",
            ),
            Reason::Disguised(Disguise::Link) => Words::new(
                RefusalCode::Disguised,
                format!(
                    "{shown} leads through a link out of the folder that may be written ({line}). Write to a place inside."
                ),
                "a link leads out of the folder",
                "choose a path inside, or name the real place outside plainly so that approval can be asked for",
            ),
            Reason::Disguised(Disguise::DotDot) => Words::new(
                RefusalCode::Disguised,
                format!(
                    "{shown} climbs with `..` out of the folder that may be written ({line}). Write to a place inside."
                ),
                "`..` climbs out of the folder",
                "choose a path inside, or name the real place outside plainly so that approval can be asked for",
            ),
            Reason::Special(kind) => Words::new(
                RefusalCode::SpecialFile,
                format!("{shown} is a {kind}, not a file. Only files and folders are read and written."),
                &format!("it is a {kind}"),
                "leave it alone; use a file",
            ),
            Reason::TheLineItself => Words::new(
                RefusalCode::Denied,
                format!(
                    "{shown} is the folder that this session works in ({line}). Name something inside it."
                ),
                "it is the folder itself",
                "name the files and folders inside it instead",
            ),
            Reason::WriteOutside => Words::new(
                RefusalCode::RequiresApproval,
                format!("{shown} is outside the folder that may be written ({line}). {}", self.ask()),
                "a write outside the folder",
                self.hint(),
            ),
            Reason::GuardedWrite(hit) | Reason::Sensitive(hit) => Words::new(
                RefusalCode::RequiresApproval,
                format!("{shown} is guarded ({}): {}. {}", hit.pattern, hit.why, self.ask()),
                &hit.why,
                self.hint(),
            )
            .with_guard(&hit.pattern),
            Reason::GuardedRead(hit) => Words::new(
                RefusalCode::RequiresApproval,
                format!("{shown} is guarded against reading ({}): {}. {}", hit.pattern, hit.why, self.ask()),
                &hit.why,
                self.hint(),
            )
            .with_guard(&hit.pattern),
            Reason::OtherNames(names) => Words::new(
                RefusalCode::RequiresApproval,
                format!(
                    "{shown} has {names} names (hard links), and the others may lie outside ({line}). {}",
                    self.ask()
                ),
                &format!("the file has {names} names"),
                self.hint(),
            ),
            Reason::OtherMount => Words::new(
                RefusalCode::RequiresApproval,
                format!(
                    "{shown} lies in another mount below the folder ({line}), which may show files from outside. {}",
                    self.ask()
                ),
                "another file system is mounted there",
                self.hint(),
            ),
            Reason::ReadOutside => Words::new(
                RefusalCode::Denied,
                format!("{shown} is outside the folder that may be read ({line}). Read a place inside."),
                "a read outside the folder, in a session that reads only there",
                "choose a place inside, or tell the user what you need to know",
            ),
            Reason::NoFolder => Words::new(
                RefusalCode::NotFound,
                format!("{shown} is no folder, so no agent can work in it. Create it first."),
                "an agent works in a folder that is there",
                "create the folder, or name one that is there",
            ),
            Reason::Declared(hit) => Words::declared(&format!("`{shown}`"), &hit.no),
            other => describe_any(&format!("`{shown}`"), other, self.ask(), self.hint()),
        }
    }

    fn ask(&self) -> &'static str {
        ask(self.principal)
    }

    /// The hint for a place outside a scope that no answer opens.
    fn scope_hint(&self) -> &'static str {
        match self.principal {
            Principal::Main => "Leave it as it is, and report it in your summary.",
            Principal::Subagent(_) => "Defer it to the parent in your summary.",
        }
    }

    fn hint(&self) -> &'static str {
        match self.principal {
            Principal::Main => "tell the user what you need there and why, or find a way inside the folder",
            Principal::Subagent(_) => "finish the rest and report this in your summary",
        }
    }
}

/// The principal that could allow it.
fn ask(principal: &Principal) -> &'static str {
    match principal {
        Principal::Main => "It needs approval first; ask, or do without it.",
        Principal::Subagent(_) => "Defer it to the parent in your summary.",
    }
}

/// The words for reasons that can be about any part of a call. `subject` names the part.
fn describe_any(subject: &str, reason: &Reason, ask: &'static str, hint: &'static str) -> Words {
    let approval = |why: String| {
        Words::new(
            RefusalCode::RequiresApproval,
            format!("{subject} was not done yet: {why}. {ask}"),
            &why,
            hint,
        )
    };
    let denied = |why: String, instead: &'static str| {
        let end = if why.ends_with('?') { "" } else { "." };
        let message = format!("{subject} was not done: {why}{end} {instead}.");
        Words::new(RefusalCode::Denied, message, &why, instead)
    };
    match reason {
        Reason::DenyRule(rule) => {
            denied(format!("the rule {} denies it", rule.rule), "Find another way, or do without it")
                .with_rule(rule)
        }
        Reason::AskRule(rule) => {
            approval(format!("the rule {} asks for approval", rule.rule)).with_rule(rule)
        }
        Reason::MayBeDenied(rule) => {
            let why = "a part of it is known only by running it, and a rule may deny that".to_owned();
            match rule {
                Some(rule) => approval(why).with_rule(rule),
                None => approval(why),
            }
        }
        Reason::RuleNotRead(why) => denied(why.clone(), "Tell the user that this rule has to be mended"),
        Reason::Declared(scope) => Words::declared(subject, &scope.no),
        Reason::NotListed => denied(
            "the definition of this agent does not list it".to_owned(),
            "Use the tools that are listed, and report the rest in your summary",
        ),
        Reason::Hook(word) if word.is_doubt() => approval(word.reason.clone()).with_hook(&word.by),
        Reason::Hook(word) => match word.decision {
            Decision::Deny => {
                denied(format!("a hook denies it: {}", word.reason), "Find another way, or do without it")
            }
            Decision::Ask | Decision::Allow => approval(format!("a hook asks for approval: {}", word.reason)),
        }
        .with_hook(&word.by),
        Reason::Safeguard(safeguard) => {
            approval(format!("it {}", safeguard.about)).with_safeguard(safeguard.id)
        }
        Reason::Barred(bar) => approval(format!("{}, so no rule can allow it", bar.why)),
        Reason::Mode(Mode::DontAsk) => denied(
            "nothing allows it, and the mode dontAsk asks no approver".to_owned(),
            "Do without it, or report what you would have done",
        ),
        Reason::Mode(Mode::Explore) => {
            denied("this agent only reads".to_owned(), "Report what you would have changed in your summary")
        }
        Reason::Mode(mode) => approval(format!("the mode {} asks about it", mode.as_str())),
        Reason::UnknownHost => approval("no rule allows this host".to_owned()),
        Reason::HostDenied(rule) => {
            let why = format!("the rule `{}` denies it", rule.value);
            denied(why, "Find another way, or do without it").with_host_rule(rule)
        }
        Reason::NearAddress(near) => denied(
            format!("{}, and no rule names it", near.reason()),
            "Do without it, and tell the user what is needed there",
        ),
        Reason::BareAddress => approval("it is an address without a name".to_owned()),
        Reason::UnusualPort(port) => {
            approval(format!("port {port} is none at which hosts are usually reached"))
        }
        Reason::BashNotAllowed => {
            denied("it would have a shell, which is off here".to_owned(), "Do without the shell")
        }
        _ => denied("no step of the judgement allows it".to_owned(), "Do without it"),
    }
}

struct Words {
    code: RefusalCode,
    message: String,
    reason: String,
    hint: &'static str,
    rule: Option<String>,
    source: Option<String>,
}

impl Words {
    fn new(code: RefusalCode, message: String, reason: &str, hint: &'static str) -> Self {
        Self { code, message, reason: reason.to_owned(), hint, rule: None, source: None }
    }

    fn declared(subject: &str, no: &DeclaredNo) -> Self {
        let why = no.why.clause();
        let message = match no.allowed.as_slice() {
            [] => format!("{subject} was not done: {why} ({}). {}.", no.list, capitalized(no.hint())),
            allowed => {
                let allowed = allowed.join(", ");
                format!("{subject} was not done: {why} ({allowed}). {}.", capitalized(no.hint()))
            }
        };
        let words = Self::new(RefusalCode::PathNotAllowed, message, &why, no.hint());
        Self { rule: Some(no.list.clone()), source: Some(no.source.to_string()), ..words }
    }

    fn with_rule(self, rule: &SourcedRule) -> Self {
        Self { rule: Some(rule.rule.text().to_owned()), source: Some(rule.source.to_string()), ..self }
    }

    fn with_host_rule(self, rule: &Located<HostRule>) -> Self {
        Self { rule: Some(rule.value.to_string()), source: Some(rule.source.to_string()), ..self }
    }

    fn with_hook(self, by: &str) -> Self {
        Self { source: Some(by.to_owned()), ..self }
    }

    fn with_safeguard(self, id: &str) -> Self {
        Self { rule: Some(id.to_owned()), source: Some("built-in safeguards".to_owned()), ..self }
    }

    fn with_guard(self, guard: &str) -> Self {
        Self { rule: Some(guard.to_owned()), source: Some("built-in guards".to_owned()), ..self }
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
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
        let scope = if let Reason::Declared(scope) = reason { Some(scope) } else { None };
        Self {
            code: words.code,
            message: words.message,
            tool_name: tool.to_owned(),
            path: scope.and_then(|scope| scope.word.clone()),
            allowed_paths: scope.map(|scope| scope.no.allowed.clone()).unwrap_or_default(),
            rule: words.rule,
            source: words.source,
            reason: words.reason,
            hint: words.hint.to_owned(),
            approvable,
            do_not_retry: true,
            id: None,
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
    pub(crate) fn declined(asked: &Self, message: Option<&str>, via: Via) -> Self {
        let why = match via {
            Via::Silence => "no answer in time: denied",
            Via::Client => "the request was declined at the client, by its user or automatically",
            Via::Judge => "the judge said no",
            Via::Terminal
            | Via::Socket
            | Via::Web
            | Via::Webhook
            | Via::Hook
            | Via::Embedder
            | Via::Earlier => "the approver said no",
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
