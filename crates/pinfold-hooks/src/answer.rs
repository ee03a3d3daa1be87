//! The parsed answer of a hook.
//!
//! Accepted are the forms of the most used agent, today's and the older one, and those of others that mean the same.
//! Any part of an answer that is understood may restrict. An answer that is not understood in full gives nothing: it does
//! not allow, does not write another input and grants nothing, and where the hook fails closed it has said no.

use pinfold::consent::Update;
use pinfold::policy::grant_options::is_narrow;
use pinfold::policy::{Decision, Effect, HookEvent, Mode, Rule};
use serde_json::{Map, Value};

use crate::runner::{HookResult, Output};

/// The answer of a hook.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HookAnswer {
    /// Yes, no, or that a person is to be asked.
    pub(crate) decision: Option<Decision>,
    /// Why.
    pub(crate) reason: Option<String>,
    /// Another input.
    pub(crate) input: Option<Value>,
    /// Text for the model.
    pub(crate) context: Vec<String>,
    /// The reason why the agent should not go on after the event.
    pub(crate) blocked: Option<String>,
    /// The agent should stop: why.
    pub(crate) stop: Option<String>,
    /// A refused call should be tried again another way.
    pub(crate) retry: bool,
    /// Grants that go with a yes.
    pub(crate) updates: Vec<Update>,
    /// With a no, the agent should stop.
    pub(crate) interrupt: bool,
    /// For the person.
    pub(crate) notes: Vec<String>,
    /// The part that could not be understood.
    pub(crate) trouble: Option<String>,
}

/// The longest text of a hook that goes anywhere.
const MAX_TEXT_BYTES: usize = 10_000;

/// Understands what came.
pub(crate) fn understood(event: HookEvent, came: &HookResult) -> HookAnswer {
    let mut answer = HookAnswer::default();
    match came {
        HookResult::Late(timeout) => answer.wrong(format!("no answer within {} s", timeout.as_secs_f32())),
        HookResult::NotAsked(why) => answer.wrong(why.clone()),
        HookResult::Ended { code: Some(0), out, .. } => answer.read(event, out),
        HookResult::Ended { code: Some(2), out, err } => answer.refusal(event, out, err),
        HookResult::Ended { code, out, err } => {
            answer.read_object(event, out);
            let end = code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
            answer.wrong(with_words(format!("it ended with {end}"), err));
        }
        HookResult::Answered { status: 200..=299, body } => answer.read(event, body),
        HookResult::Answered { status: status @ 300..=399, .. } => {
            answer.wrong(format!("it answered with {status}, and redirects are not followed"));
        }
        HookResult::Answered { status, body } => {
            answer.wrong(with_words(format!("it answered with {status}"), body));
        }
    }
    answer.settled(event)
}

fn with_words(what: String, said: &Output) -> String {
    let text = said.text();
    let first = text.lines().next().unwrap_or_default();
    if first.is_empty() { what } else { format!("{what}: {}", cut(first, 200)) }
}

/// A text no longer than that.
fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns `true` if the event asks for a decision.
fn decides(event: HookEvent) -> bool {
    matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest)
}

/// Returns `true` if output that is not JSON is text for the model.
fn takes_text(event: HookEvent) -> bool {
    matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit)
}

/// Returns `true` if the event can be blocked.
fn can_block(event: HookEvent) -> bool {
    match event {
        HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure
        | HookEvent::UserPromptSubmit
        | HookEvent::Stop
        | HookEvent::SubagentStop
        | HookEvent::PreCompact => true,
        HookEvent::PreToolUse
        | HookEvent::PermissionRequest
        | HookEvent::PermissionDenied
        | HookEvent::SessionStart
        | HookEvent::SessionEnd
        | HookEvent::SubagentStart
        | HookEvent::Notification => false,
    }
}

impl HookAnswer {
    fn wrong(&mut self, what: String) {
        self.trouble.get_or_insert(what);
    }

    /// A decision counts only where one is asked for, and what gives something only in an answer that is understood
    /// in full.
    fn settled(mut self, event: HookEvent) -> Self {
        if !decides(event) {
            self.decision = None;
        }
        if self.trouble.is_some() {
            self.input = None;
            self.updates.clear();
            self.retry = false;
            if self.decision == Some(Decision::Allow) {
                self.decision = None;
            }
        }
        self
    }

    /// The output of a hook that ended well.
    fn read(&mut self, event: HookEvent, said: &Output) {
        let text = said.text();
        if text.is_empty() || text.starts_with('{') {
            return self.read_object(event, said);
        }
        if takes_text(event) {
            self.context.push(cut(&text, MAX_TEXT_BYTES));
        } else if decides(event) {
            self.wrong(format!(
                "what it said is no answer: {}",
                cut(text.lines().next().unwrap_or_default(), 200)
            ));
        }
    }

    fn read_object(&mut self, event: HookEvent, said: &Output) {
        if said.cut {
            return self.wrong("its answer is longer than any that is read".to_owned());
        }
        let text = said.text();
        if !text.starts_with('{') {
            return;
        }
        match serde_json::from_str::<Map<String, Value>>(&text) {
            Ok(object) => self.fields(event, &object),
            Err(e) => self.wrong(format!("its answer is no JSON: {e}")),
        }
    }

    /// A hook that ended with 2: a no, whatever else it says.
    fn refusal(&mut self, event: HookEvent, out: &Output, err: &Output) {
        self.read_object(event, out);
        // What it got wrong takes nothing from a no.
        self.trouble = None;
        (self.input, self.retry) = (None, false);
        self.updates.clear();
        let own = self.reason.take().filter(|_| matches!(self.decision, Some(Decision::Deny) | None));
        let words = Some(cut(&err.text(), MAX_TEXT_BYTES)).filter(|text| !text.is_empty());
        let why = own.or(self.blocked.take()).or(words).unwrap_or_else(|| "it said no".to_owned());
        if decides(event) {
            (self.decision, self.reason) = (Some(Decision::Deny), Some(why));
        } else if can_block(event) {
            self.blocked = Some(why);
        } else {
            self.notes.push(why);
        }
    }

    fn fields(&mut self, event: HookEvent, top: &Map<String, Value>) {
        let none = Map::new();
        let own = self.object(top, "hookSpecificOutput").unwrap_or(&none);
        let named = self.text(own, "hookEventName");
        if named.as_deref().is_some_and(|name| name != event.as_str()) {
            self.wrong(format!("its answer is one to `{}`", cut(&named.unwrap_or_default(), 80)));
            return;
        }
        if self.truth(top, "continue") == Some(false) {
            let why = self.text(top, "stopReason");
            self.stop = Some(why.unwrap_or_else(|| "a hook stops the agent".to_owned()));
        }
        let message = self.text(top, "systemMessage");
        self.notes.extend(message);
        for object in [own, top] {
            let text = self.text(object, "additionalContext");
            self.context.extend(text);
        }
        self.read_decisions(event, top, own);
        if decides(event) {
            for object in [own, top] {
                let input = self.object(object, "updatedInput").cloned();
                self.input = self.input.take().or(input.map(Value::Object));
            }
        }
        if event == HookEvent::PermissionDenied {
            self.retry = [own, top].into_iter().any(|object| self.truth(object, "retry") == Some(true));
        }
    }

    /// The words that decide, wherever they stand: of several the strictest.
    fn read_decisions(&mut self, event: HookEvent, top: &Map<String, Value>, own: &Map<String, Value>) {
        let mut said = Vec::new();
        for object in [own, top] {
            said.extend(self.read_decision(object, "permissionDecision"));
            match object.get("decision") {
                Some(Value::Object(decision)) => said.extend(self.read_permission_decision(event, decision)),
                _ => said.extend(self.read_decision(object, "decision")),
            }
        }
        said.extend(self.read_decision(top, "action"));
        let reasons = [
            (own, "permissionDecisionReason"),
            (top, "permissionDecisionReason"),
            (own, "reason"),
            (top, "reason"),
            (top, "message"),
        ];
        for (object, name) in reasons {
            let text = self.text(object, name);
            self.reason = self.reason.take().or(text);
        }
        let strictest = said.into_iter().max();
        match strictest {
            Some(Decision::Deny) if can_block(event) => {
                self.blocked = Some(self.reason.take().unwrap_or_else(|| "it said no".to_owned()));
            }
            word => self.decision = word,
        }
    }

    /// One of the words that decide.
    fn read_decision(&mut self, object: &Map<String, Value>, name: &str) -> Option<Decision> {
        let word = self.text(object, name)?;
        match word.as_str() {
            "allow" | "approve" => Some(Decision::Allow),
            // To decide later is to decide not now: a person does.
            "ask" | "defer" => Some(Decision::Ask),
            "deny" | "block" => Some(Decision::Deny),
            other => {
                self.wrong(format!("`{name}` says `{}`, which is no decision", cut(other, 80)));
                None
            }
        }
    }

    /// The answer to a question, with all that comes with it.
    fn read_permission_decision(
        &mut self,
        event: HookEvent,
        decision: &Map<String, Value>,
    ) -> Option<Decision> {
        if event != HookEvent::PermissionRequest {
            return None;
        }
        let message = self.text(decision, "message");
        self.reason = self.reason.take().or(message);
        self.interrupt |= self.truth(decision, "interrupt") == Some(true);
        let input = self.object(decision, "updatedInput").cloned();
        self.input = self.input.take().or(input.map(Value::Object));
        match decision.get("updatedPermissions") {
            None | Some(Value::Null) => {}
            Some(Value::Array(updates)) => updates.iter().for_each(|update| self.update(update)),
            Some(_) => self.wrong("`updatedPermissions` is no list".to_owned()),
        }
        self.read_decision(decision, "behavior")
    }

    /// Applies a change that a hook wants. A change that it may not make is reported, and changes nothing.
    fn update(&mut self, update: &Value) {
        let kind = update.get("type").and_then(Value::as_str).unwrap_or_default();
        let rules = update.get("addRules").or_else(|| update.get("rules").filter(|_| kind == "addRules"));
        let mode = update.get("setMode").or_else(|| update.get("mode").filter(|_| kind == "setMode"));
        match (rules, mode) {
            (Some(Value::Array(rules)), None) => {
                let behavior = update.get("behavior").and_then(Value::as_str).unwrap_or("allow");
                for rule in rules {
                    self.add_rule(behavior, rule);
                }
            }
            (None, Some(Value::String(word))) => match Mode::parse(word) {
                Ok(mode) if Update::may_set(mode) => self.updates.push(Update::SetMode(mode)),
                Ok(_) => self.notes.push(format!("a hook cannot set the mode `{word}`")),
                Err(bad) => self.notes.push(bad.to_string()),
            },
            _ => self.notes.push(format!("a hook cannot do this: {}", cut(&update.to_string(), 200))),
        }
    }

    fn add_rule(&mut self, behavior: &str, rule: &Value) {
        let field = |name: &str| rule.get(name).and_then(Value::as_str);
        let text = match (rule.as_str(), field("toolName"), field("ruleContent")) {
            (Some(text), ..) => text.to_owned(),
            (None, Some(tool), None) => tool.to_owned(),
            (None, Some(tool), Some(content)) => format!("{tool}({content})"),
            (None, None, _) => {
                return self.notes.push(format!("this is no rule: {}", cut(&rule.to_string(), 200)));
            }
        };
        match Rule::parse(&text) {
            Err(bad) => self.notes.push(format!("`{}` is no rule: {}", cut(&text, 200), bad.why)),
            Ok(_) if behavior != "allow" => {
                self.notes.push(format!(
                    "a hook cannot add `{behavior} {}`: write it into settings",
                    cut(&text, 200)
                ));
            }
            Ok(rule) if !is_narrow(&rule) => {
                self.notes.push(format!("a hook cannot add `{rule}`: it covers too much"));
            }
            Ok(rule) => {
                let rules = vec![rule.text().to_owned()];
                self.updates.push(Update::AddRules { effect: Effect::Allow, rules });
            }
        }
    }

    fn object<'o>(&mut self, object: &'o Map<String, Value>, name: &str) -> Option<&'o Map<String, Value>> {
        match object.get(name)? {
            Value::Null => None,
            Value::Object(found) => Some(found),
            _ => {
                self.wrong(format!("`{name}` is no object"));
                None
            }
        }
    }

    fn text(&mut self, object: &Map<String, Value>, name: &str) -> Option<String> {
        match object.get(name)? {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(cut(text, MAX_TEXT_BYTES)),
            _ => {
                self.wrong(format!("`{name}` is no text"));
                None
            }
        }
    }

    fn truth(&mut self, object: &Map<String, Value>, name: &str) -> Option<bool> {
        match object.get(name)? {
            Value::Null => None,
            Value::Bool(truth) => Some(*truth),
            _ => {
                self.wrong(format!("`{name}` is neither true nor false"));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
