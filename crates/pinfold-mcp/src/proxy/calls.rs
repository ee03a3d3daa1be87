//! One tool call: judged with its arguments, forwarded unchanged, and its result redacted.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold::consent::{Approver, BlockingRunner, Caller, GateResult, PermittedCall};
use pinfold::policy::HookDecision;
use pinfold::{CallRequest, Failure, Outcome, RawCall, Receipt, RefusalCode};
use pinfold_tools::HookNotes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::approver::{ElicitationApprover, ParkedForm, QUESTION};
use super::catalogue::DefinitionDoubt;
use super::client_messages::{ClientInfo, OURS};
use super::labelled_forms::mark_required;
use super::redact::clean;
use super::requests::{JudgedCall, PendingKind};
use super::{ProxyState, listing};
use crate::serve::{OpenSession, SessionRequest, reply, state_context};
use crate::wire::frame::{self, Id, Message, splice};
use crate::wire::strict::{self, is_plain};

/// The fields of a call that servers look up by name.
const FIELDS: [&str; 3] = ["name", "arguments", "_meta"];

/// The list methods, by the field of their result.
const LISTS: [(&str, &str); 3] = [
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// The prefix of tool names in rules.
const PREFIX: &str = "mcp__";

/// The client's identification in requests of the newest revision, as a JSON pointer.
const OF_PROTOCOL: &str = "io.modelcontextprotocol~1";

/// The revision in such requests.
const VERSION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// The longest call that is judged in less time than waking another thread, in bytes.
const BRIEF: usize = 16 << 10;

/// A call.
pub(crate) struct ProxiedCall {
    /// Its identifier: a new one, once the client has repeated it with an answer.
    id: Mutex<Id>,
    line: Vec<u8>,
    params: Value,
    tool: String,
    /// The method, where it is not a tool call.
    is_method: bool,
}

/// A call that was forwarded and waits for its response.
pub(crate) struct ForwardedCall {
    receipt: Receipt,
    permitted: Option<PermittedCall>,
    session: Arc<OpenSession>,
    /// Messages of hooks for the model.
    context: Vec<String>,
    /// A hook's reason to stop the agent.
    stop: Option<String>,
    /// Its result has no place for further text.
    is_method: bool,
}

impl ProxiedCall {
    /// Parses a call.
    ///
    /// # Errors
    /// Why servers could read it differently.
    pub(crate) fn parse(id: Id, line: Vec<u8>, params: Option<&str>) -> Result<Self, String> {
        let params = strict::parse(params.ok_or("`params` is missing")?)?;
        let fields = params.as_object().filter(|fields| is_plain(fields, &FIELDS));
        let fields = fields.ok_or("`params` has names that differ in case alone, or is no object")?;
        let tool = fields.get("name").and_then(Value::as_str).ok_or("`name` is no text")?.to_owned();
        if fields.get("arguments").is_some_and(|arguments| !arguments.is_object() && !arguments.is_null()) {
            return Err("`arguments` is no object".to_owned());
        }
        Ok(Self { id: Mutex::new(id), line, params, tool, is_method: false })
    }

    /// Parses a request of another method, which is judged like a call.
    ///
    /// # Errors
    /// As [`ProxiedCall::parse`].
    pub(crate) fn parse_method(
        id: Id,
        line: Vec<u8>,
        method: &str,
        params: Option<&str>,
    ) -> Result<Self, String> {
        let params = params.map_or(Ok(Value::Null), strict::parse)?;
        if !params.is_object() && !params.is_null() {
            return Err("`params` is no object".to_owned());
        }
        Ok(Self { id: Mutex::new(id), line, params, tool: method.to_owned(), is_method: true })
    }

    /// Returns whether it is not a tool call.
    pub(crate) fn is_method(&self) -> bool {
        self.is_method
    }

    /// Its arguments.
    fn arguments(&self) -> Value {
        if self.is_method {
            // The protocol's own fields are no arguments.
            let mut params = self.params.clone();
            params.as_object_mut().and_then(|params| params.remove("_meta"));
            return params;
        }
        self.params.get("arguments").cloned().unwrap_or(Value::Null)
    }

    pub(crate) fn id(&self) -> Id {
        self.id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves it to the identifier under which the client has repeated it.
    pub(crate) fn resume_as(&self, id: Id) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    /// Returns whether its revision has no server requests, so that an approval request is the response to the call.
    pub(crate) fn is_newest(&self) -> bool {
        self.params.pointer(VERSION).is_some()
    }

    /// The client, where each request identifies it.
    pub(crate) fn client(&self) -> Option<ClientInfo> {
        self.is_newest()
            .then(|| ClientInfo::from_fields(|at| self.params.pointer(&format!("/_meta/{OF_PROTOCOL}{at}"))))
    }

    /// The context that a state is bound to.
    pub(crate) fn state_context(&self) -> Vec<u8> {
        state_context(&self.tool, self.params.get("arguments").and_then(Value::as_object))
    }

    /// The parked call that it resumes, if its state is valid.
    pub(crate) fn resumed_call(&self, shared: &ProxyState) -> Option<ParkedForm> {
        let state = self.params.get("requestState")?.as_str()?;
        shared.parked.take(&self.state_context(), state).ok()?
    }

    /// The client's answer to the form.
    pub(crate) fn form_answer(&self) -> Option<&Value> {
        self.params.pointer("/inputResponses")?.get(QUESTION)
    }

    /// Its progress token.
    pub(crate) fn token(&self) -> Option<Value> {
        self.params.pointer("/_meta/progressToken").cloned()
    }

    /// Returns whether it can be judged without waiting, unless approval is needed: its session is open, the server's
    /// tools are known, and no hooks match.
    pub(crate) fn is_brief(&self, shared: &ProxyState) -> bool {
        if self.line.len() > BRIEF {
            return false;
        }
        let (_, wish) = self.session_request(shared);
        let is_known = self.is_method || shared.catalogue.is_current();
        let session = shared.sessions.find_open(0, &wish).filter(|_| is_known);
        session.is_some_and(|session| !session.session_as_is().session().has_hooks())
    }

    /// Its client, and the client's session.
    fn session_request(&self, shared: &ProxyState) -> (ClientInfo, SessionRequest) {
        let client = self.client().unwrap_or_else(|| shared.client());
        let wish = SessionRequest { asks: client.asks, narrowed: None };
        (client, wish)
    }

    /// Judges it, and forwards or answers it. Anything slow is done `aside`.
    pub(crate) fn execute(
        self,
        shared: &Arc<ProxyState>,
        judged: &JudgedCall,
        run_blocking: Option<&BlockingRunner<'_>>,
    ) {
        let waiting = Caller { run_blocking, ..Caller::default() };
        let unknown = || Err("what its server has is not known".to_owned());
        if !self.is_method
            && !shared.catalogue.is_current()
            && let Err(why) = waiting.take_time(unknown(), || listing::refresh(shared, &self.params))
        {
            return self.refuse(shared, &waiting, format!("the call was not made: {why}"));
        }
        let (client, wish) = self.session_request(shared);
        // In the newest revision only the response to a call can ask.
        let asks = (wish.asks && !(self.is_method && self.is_newest())).then_some(ElicitationApprover {
            shared,
            client: &client,
            call: &self,
            judged,
        });
        let session = match shared.sessions.find_or_open(0, wish) {
            Ok(session) => session,
            Err(why) => return self.refuse(shared, &waiting, why),
        };
        let doubt = if self.is_method { None } else { shared.catalogue.doubt(&self.tool) };
        if let Some(doubt) = doubt.as_ref().filter(|doubt| doubt.is_too_long) {
            let why =
                format!("{}, and it is too long to be shown: --repin takes it as it is now", doubt.reason);
            return self.refuse(shared, &waiting, format!("the call was not made: {why}"));
        }
        let waits = || !judged.gone.load(Ordering::SeqCst) && !shared.closing.load(Ordering::SeqCst);
        let asks = asks.as_ref().map(|asks| asks as &dyn Approver);
        let caller = Caller { waits: Some(&waits), asks, run_blocking };
        let shape = if self.is_method { None } else { shared.catalogue.shape(&self.tool) };
        let raw = RawCall::new(rule_name(&shared.name, &self.tool), self.arguments());
        let raw = RawCall { shape, is_method: self.is_method, ..raw };
        let attended = session.current_session();
        let hint = doubt.as_ref().map(doubt_word);
        let decided = attended.session().decide(CallRequest::new(&raw).with_hint(hint).with_caller(caller));
        let GateResult { outcome, mut context, stop, retry, permitted, .. } = decided;
        context.extend(attended.take_context());
        let permit = match outcome {
            Ok(permit) => permit,
            Err(refusal) if self.is_method => return self.is_not_passed_on(shared, &refusal.message),
            Err(refusal) => {
                let notes = HookNotes { context, stop, retry };
                let no = reply::result(notes.reply_to_refusal(&refusal), shared.manner);
                return self.answer(shared, &waiting, serde_json::to_value(no).unwrap_or_default());
            }
        };
        if let Some(doubt) = doubt
            && shared.catalogue.accept(&self.tool, &doubt)
        {
            shared.notify_list_changed();
        }
        let (_, _, receipt) = permit.spend();
        let id = self.id();
        let written =
            permitted.as_ref().map(|permitted| &permitted.raw().input).filter(|input| **input != raw.input);
        let is_method = self.is_method;
        let line = self.into_line(&id, written);
        let sent = ForwardedCall { receipt, permitted, session, context, stop, is_method };
        match shared.requests.mark_forwarded(&id, Box::new(sent)) {
            Err(sent) => sent.ends_with("the client took the call back", "make it again if it is wanted"),
            Ok(()) if shared.to_server.send_for(&waiting, line).is_err() => shared.take_all_pending(),
            Ok(()) => {}
        }
    }

    /// The call's line: unchanged, or with a new identifier or arguments of a hook.
    fn into_line(self, id: &Id, written: Option<&Value>) -> Vec<u8> {
        let params = match (frame::parse(&self.line), written) {
            (Ok(Message::Request { id: first, .. }), None) if first == *id => None,
            (Ok(Message::Request { params: Some(params), .. }), None) => Some(params.get().to_owned()),
            (_, written) => {
                let mut params = self.params;
                if let (true, Some(written)) = (self.is_method, written) {
                    let meta = params.get("_meta").cloned();
                    params = written.clone();
                    if let (Some(fields), Some(meta)) = (params.as_object_mut(), meta) {
                        fields.insert("_meta".to_owned(), meta);
                    }
                } else if let (Some(fields), Some(arguments)) = (params.as_object_mut(), written) {
                    fields.insert("arguments".to_owned(), arguments.clone());
                }
                Some(params.to_string())
            }
        };
        let method = json!(if self.is_method { &self.tool } else { "tools/call" });
        params.map_or(self.line, |params| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#).into_bytes()
        })
    }

    /// A refusal before it was judged.
    pub(crate) fn refuse(&self, shared: &ProxyState, waiting: &Caller<'_>, why: String) {
        if self.is_method {
            return self.is_not_passed_on(shared, &why);
        }
        self.answer(shared, waiting, serde_json::to_value(reply::error(why)).unwrap_or_default());
    }

    /// The refusal of another method: an empty list for list methods, otherwise an error.
    fn is_not_passed_on(&self, shared: &ProxyState, why: &str) {
        let id = self.id();
        if shared.requests.is_over(&id).is_none() {
            return;
        }
        let mut why = Value::from(why);
        clean(&mut why);
        match LISTS.iter().find(|(method, _)| *method == self.tool) {
            Some((_, list)) => shared.answer_client(&Caller::default(), &id, &json!({*list: []})),
            None => shared.refuse(Some(&id), OURS, why.as_str().unwrap_or_default()),
        }
    }

    fn answer(&self, shared: &ProxyState, waiting: &Caller<'_>, mut result: Value) {
        if let Some(result) = result.as_object_mut().filter(|_| self.is_newest()) {
            result.insert("resultType".to_owned(), "complete".into());
        }
        clean(&mut result);
        self.is_answered_with(shared, waiting, &result);
    }

    /// Answers it. `false`: it no longer waits.
    pub(crate) fn is_answered_with(&self, shared: &ProxyState, waiting: &Caller<'_>, result: &Value) -> bool {
        let id = self.id();
        let waits = shared.requests.is_over(&id).is_some();
        if waits {
            shared.answer_client(waiting, &id, result);
        }
        waits
    }
}

/// The tool's name in rules.
pub(crate) fn rule_name(server: &str, tool: &str) -> String {
    format!("{PREFIX}{server}__{tool}")
}

/// A doubt is decided by an approver, whatever was granted.
fn doubt_word(doubt: &DefinitionDoubt) -> HookDecision {
    let by = "what is known of the server".to_owned();
    HookDecision::doubt(doubt.reason.clone(), by, doubt.definition.clone())
}

impl ForwardedCall {
    /// Returns whether hooks have to be told its end, which is slow.
    pub(crate) fn has_hooks(&self) -> bool {
        self.permitted.is_some()
    }

    /// Handles a result.
    pub(crate) fn has_result(self, shared: &ProxyState, id: &Id, line: &[u8], result: &RawValue) {
        let mut answer = match strict::parse(result.get()) {
            Ok(answer @ Value::Object(_)) => answer,
            Ok(_) => return self.not_understood(shared, id, "it is no object"),
            Err(why) => return self.not_understood(shared, id, &why),
        };
        let mut changed = clean(&mut answer);
        match mark_required(&mut answer, &shared.name) {
            Ok(marked) => changed |= marked,
            Err(why) => return self.not_understood(shared, id, &why),
        }
        let failed = answer.get("isError") == Some(&Value::Bool(true));
        let failure = || failed_by_server("the server says that it failed");
        let is_method = self.is_method;
        let said = self.close(&if failed { Outcome::Failed(failure()) } else { Outcome::Done }, &answer);
        if !said.is_empty() && !is_method {
            changed = true;
            let mut said =
                json!(said.iter().map(|text| json!({"type": "text", "text": text})).collect::<Vec<_>>());
            clean(&mut said);
            if let (Some(content), Value::Array(said)) = (content_of(&mut answer), said) {
                content.extend(said);
            }
        }
        let line = if changed { splice(line, result, &answer.to_string()) } else { line.to_vec() };
        shared.to_client(line);
    }

    /// Handles an error.
    pub(crate) fn has_error(self, shared: &ProxyState, id: &Id, line: &[u8], error: &RawValue) {
        let Ok(mut answer) = strict::parse(error.get()) else {
            return self.not_understood(shared, id, "its error is none");
        };
        let changed = clean(&mut answer);
        let message =
            answer.get("message").and_then(Value::as_str).unwrap_or("the server says that it failed");
        self.close(&Outcome::Failed(failed_by_server(message)), &answer);
        let line = if changed { splice(line, error, &answer.to_string()) } else { line.to_vec() };
        shared.to_client(line);
    }

    fn not_understood(self, shared: &ProxyState, id: &Id, why: &str) {
        self.ends_with("the answer of the server is not understood", why);
        shared.not_understood(id, why);
    }

    /// Handles the lack of a response.
    pub(crate) fn ends_with(self, what: &str, hint: &str) {
        let failure = Failure::plain(RefusalCode::Io, what, hint);
        self.close(&Outcome::Failed(failure), &json!({}));
    }

    /// Records its end and tells hooks; returns messages for the model.
    fn close(self, outcome: &Outcome, answer: &Value) -> Vec<String> {
        let Self { receipt, permitted, session, mut context, mut stop, is_method: _ } = self;
        let done = *outcome == Outcome::Done;
        if let Err(error) = receipt.close(outcome) {
            context.push(format!("[the outcome could not be recorded: {error}; tell the user]"));
        }
        if let Some(permitted) = permitted {
            let said = session.session_as_is().session().post_tool_use(&permitted, done, answer);
            context.extend(said.blocked);
            context.extend(said.context);
            stop = stop.or(said.stop);
        }
        context.extend(stop.map(|why| format!("[a hook wants you to stop: {why}]")));
        context
    }
}

/// The content of a result, to which more is added.
fn content_of(answer: &mut Value) -> Option<&mut Vec<Value>> {
    answer.as_object_mut()?.entry("content").or_insert_with(|| json!([])).as_array_mut()
}

fn failed_by_server(message: &str) -> Failure {
    Failure::plain(RefusalCode::Io, message, "see what the server says about it")
}

/// Answers pending requests once the server is gone.
pub(crate) fn fail_pending(waiting: PendingKind) {
    match waiting {
        PendingKind::Call(sent) => sent.ends_with("the server has ended", "start it again"),
        PendingKind::Judging(judged) => judged.gone.store(true, Ordering::SeqCst),
        PendingKind::Ours(answer) => {
            // The requester may have cancelled it.
            let _ = answer.send(Err("the server has ended".to_owned()));
        }
        PendingKind::Plain | PendingKind::Handshake | PendingKind::List | PendingKind::Later => {}
    }
}

/// Methods beside calls whose results can have secrets.
pub(crate) fn pass_other_result(
    shared: &ProxyState,
    id: &Id,
    line: &[u8],
    outcome: frame::ResponseOutcome<'_>,
) {
    let (frame::ResponseOutcome::Result(part) | frame::ResponseOutcome::Error(part)) = outcome;
    let mut answer = match strict::parse(part.get()) {
        Ok(answer) => answer,
        Err(why) => return shared.not_understood(id, &why),
    };
    let line = if clean(&mut answer) { splice(line, part, &answer.to_string()) } else { line.to_vec() };
    shared.to_client(line);
}
