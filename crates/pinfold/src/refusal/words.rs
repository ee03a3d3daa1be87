//! Messages of refusals, by the reason of the decision.

use pinfold_host::HostRule;
use pinfold_policy::{
    Decision, Disguise, Located, Mode, Operation, Principal, Reason, ScopeViolation, SourcedRule,
};

use super::{Refusal, RefusalCode};

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
        let allowed_paths = match reason {
            Reason::PathScopes(hit) => hit.no.allowed.clone(),
            _ if self.operation.writes() => self.roots.to_vec(),
            _ => Vec::new(),
        };
        let path = Some(self.shown.to_owned());
        Refusal { path, allowed_paths, ..self.describe(reason).into_refusal(self.tool, approvable) }
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
            Reason::PathScopes(hit) => Words::path_scopes(&format!("`{shown}`"), &hit.no),
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
pub(super) fn ask(principal: &Principal) -> &'static str {
    match principal {
        Principal::Main => "It needs approval first; ask, or do without it.",
        Principal::Subagent(_) => "Defer it to the parent in your summary.",
    }
}

/// The words for reasons that can be about any part of a call. `subject` names the part.
pub(super) fn describe_any(subject: &str, reason: &Reason, ask: &'static str, hint: &'static str) -> Words {
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
            let why = "a part of it is known only at run time, and a rule may deny that".to_owned();
            match rule {
                Some(rule) => approval(why).with_rule(rule),
                None => approval(why),
            }
        }
        Reason::RuleNotRead(why) => denied(why.clone(), "Tell the user that this rule has to be mended"),
        Reason::PathScopes(scope) => Words::path_scopes(subject, &scope.no),
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
        Reason::NotAllowlistable(reason) => approval(format!("{}, so no rule can allow it", reason.why)),
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
        Reason::SpecialPurposeAddress(near) => denied(
            format!("{}, and no rule names it", near.reason()),
            "Do without it, and tell the user what is needed there",
        ),
        Reason::UnreachableHost(known) => {
            denied(known.leads_to.reason(), "Do without it, and tell the user what is needed there")
        }
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

pub(super) struct Words {
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

    /// The refusal of a tool call in these words, about no path.
    pub(super) fn into_refusal(self, tool: &str, approvable: bool) -> Refusal {
        Refusal {
            code: self.code,
            message: self.message,
            tool_name: tool.to_owned(),
            path: None,
            allowed_paths: Vec::new(),
            rule: self.rule,
            source: self.source,
            reason: self.reason,
            hint: self.hint.to_owned(),
            approvable,
            do_not_retry: true,
            id: None,
        }
    }

    fn path_scopes(subject: &str, no: &ScopeViolation) -> Self {
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
