//! One call of a tool: judged with its arguments, passed on as it came, and its answer without secrets.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold::consent::{Approver, Aside, Caller, Decided, PermittedCall};
use pinfold::policy::HookWord;
use pinfold::{CallRequest, Failure, Outcome, RawCall, Receipt, RefusalCode};
use pinfold_tools::HookNotes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::asks::{Asked, Asks, QUESTION};
use super::catalogue::Doubt;
use super::clean::clean;
use super::of_client::{Client, OURS};
use super::requests::{Judged, Waiting};
use super::theirs::mark_required;
use super::{Shared, listing};
use crate::serve::{Room, Wish, about, reply};
use crate::wire::frame::{self, Id, Message, spliced};
use crate::wire::strict::{self, is_plain};

/// The fields of a call that its server looks for by name.
const FIELDS: [&str; 3] = ["name", "arguments", "_meta"];

/// What methods list, by the field of their result.
const LISTS: [(&str, &str); 3] = [
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// How the name of every tool of a server begins, for rules.
const PREFIX: &str = "mcp__";

/// Where requests of the newest revision say who makes them; the slash is written as pointers have it.
const OF_PROTOCOL: &str = "io.modelcontextprotocol~1";

/// Where they say which revision that is.
const VERSION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// The longest call that is looked through in less time than it takes another thread to wake up.
const BRIEF: usize = 16 << 10;

/// A call as it came.
pub(crate) struct Call {
    /// Its number: another one, once the client has made it again with an answer.
    id: Mutex<Id>,
    line: Vec<u8>,
    params: Value,
    tool: String,
    /// It is no tool that is called, but another method of the protocol, by this name.
    is_method: bool,
}

/// A call that was let through and waits for its answer.
pub(crate) struct Sent {
    receipt: Receipt,
    permitted: Option<PermittedCall>,
    room: Arc<Room>,
    /// What hooks want the model to read.
    context: Vec<String>,
    /// A hook wants the agent to stop, and why.
    stop: Option<String>,
    /// Its result has no place for words of ours.
    is_method: bool,
}

impl Call {
    /// Understands a call.
    ///
    /// # Errors
    /// Why it is none that every server reads alike.
    pub(crate) fn of(id: Id, line: Vec<u8>, params: Option<&str>) -> Result<Self, String> {
        let params = strict::parse(params.ok_or("`params` is missing")?)?;
        let fields = params.as_object().filter(|fields| is_plain(fields, &FIELDS));
        let fields = fields.ok_or("`params` has names that differ in case alone, or is no object")?;
        let tool = fields.get("name").and_then(Value::as_str).ok_or("`name` is no text")?.to_owned();
        if fields.get("arguments").is_some_and(|arguments| !arguments.is_object() && !arguments.is_null()) {
            return Err("`arguments` is no object".to_owned());
        }
        Ok(Self { id: Mutex::new(id), line, params, tool, is_method: false })
    }

    /// Understands a request of another method, which is judged like a call.
    ///
    /// # Errors
    /// As those of [`Call::of`].
    pub(crate) fn of_method(
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

    /// Whether it is no call of a tool.
    pub(crate) fn is_method(&self) -> bool {
        self.is_method
    }

    /// What it is called with.
    fn arguments(&self) -> Value {
        if self.is_method {
            // What the protocol itself adds is no argument.
            let mut params = self.params.clone();
            params.as_object_mut().and_then(|params| params.remove("_meta"));
            return params;
        }
        self.params.get("arguments").cloned().unwrap_or(Value::Null)
    }

    pub(crate) fn id(&self) -> Id {
        self.id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The client has made it again, under this number.
    pub(crate) fn goes_on_as(&self, id: Id) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    /// Whether its revision has no requests of a server, so that a question is the answer to the call.
    pub(crate) fn is_newest(&self) -> bool {
        self.params.pointer(VERSION).is_some()
    }

    /// The client behind it, where each request says that.
    pub(crate) fn client(&self) -> Option<Client> {
        self.is_newest().then(|| Client::of(|at| self.params.pointer(&format!("/_meta/{OF_PROTOCOL}{at}"))))
    }

    /// What a state is bound to.
    pub(crate) fn about(&self) -> Vec<u8> {
        about(&self.tool, self.params.get("arguments").and_then(Value::as_object))
    }

    /// The call that it goes on with, if its state is one of ours.
    pub(crate) fn goes_on_with(&self, shared: &Shared) -> Option<Asked> {
        let state = self.params.get("requestState")?.as_str()?;
        shared.parked.take(&self.about(), state).ok()?
    }

    /// What the client answers to our question.
    pub(crate) fn answered(&self) -> Option<&Value> {
        self.params.pointer("/inputResponses")?.get(QUESTION)
    }

    /// What progress is told under.
    pub(crate) fn token(&self) -> Option<Value> {
        self.params.pointer("/_meta/progressToken").cloned()
    }

    /// Whether it is judged without waiting for anybody, unless a person is asked: its session is open, what its server has
    /// is known, and no programs are asked about it.
    pub(crate) fn is_brief(&self, shared: &Shared) -> bool {
        if self.line.len() > BRIEF {
            return false;
        }
        let (_, wish) = self.wish(shared);
        let is_known = self.is_method || shared.catalogue.is_current();
        let room = shared.rooms.known(0, &wish).filter(|_| is_known);
        room.is_some_and(|room| !room.attended().session().has_hooks())
    }

    /// The client behind it, and the session that is for it.
    fn wish(&self, shared: &Shared) -> (Client, Wish) {
        let client = self.client().unwrap_or_else(|| shared.client());
        let wish = Wish { asks: client.asks, narrowed: None };
        (client, wish)
    }

    /// Judges it, and passes it on or answers it. What takes its time is done `aside`.
    pub(crate) fn carry_out(self, shared: &Arc<Shared>, judged: &Judged, aside: Option<&Aside<'_>>) {
        let waiting = Caller { aside, ..Caller::default() };
        let unknown = || Err("what its server has is not known".to_owned());
        if !self.is_method
            && !shared.catalogue.is_current()
            && let Err(why) = waiting.take_time(unknown(), || listing::refresh(shared, &self.params))
        {
            return self.no(shared, &waiting, format!("the call was not made: {why}"));
        }
        let (client, wish) = self.wish(shared);
        // By the newest revision only the answer to a call can be a question.
        let asks = (wish.asks && !(self.is_method && self.is_newest())).then_some(Asks {
            shared,
            client: &client,
            call: &self,
            judged,
        });
        let room = match shared.rooms.enter(0, wish) {
            Ok(room) => room,
            Err(why) => return self.no(shared, &waiting, why),
        };
        let doubt = if self.is_method { None } else { shared.catalogue.doubt(&self.tool) };
        if let Some(doubt) = doubt.as_ref().filter(|doubt| doubt.is_too_long) {
            let why =
                format!("{}, and it is too long to be shown: --repin takes it as it is now", doubt.reason);
            return self.no(shared, &waiting, format!("the call was not made: {why}"));
        }
        let waits = || !judged.gone.load(Ordering::SeqCst) && !shared.closing.load(Ordering::SeqCst);
        let asks = asks.as_ref().map(|asks| asks as &dyn Approver);
        let caller = Caller { waits: Some(&waits), asks, aside };
        let shape = if self.is_method { None } else { shared.catalogue.shape(&self.tool) };
        let raw = RawCall::new(rule_name(&shared.name, &self.tool), self.arguments());
        let raw = RawCall { shape, is_method: self.is_method, ..raw };
        let attended = room.now();
        let hint = doubt.as_ref().map(word);
        let decided = attended.session().decide(CallRequest::new(&raw).with_hint(hint).with_caller(caller));
        let Decided { outcome, mut context, stop, retry, permitted, .. } = decided;
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
            shared.say_that_the_list_has_changed();
        }
        let (_, _, receipt) = permit.spend();
        let id = self.id();
        let written =
            permitted.as_ref().map(|permitted| &permitted.raw().input).filter(|input| **input != raw.input);
        let is_method = self.is_method;
        let line = self.into_line(&id, written);
        let sent = Sent { receipt, permitted, room, context, stop, is_method };
        match shared.requests.let_through(&id, Box::new(sent)) {
            Err(sent) => sent.ends_with("the client took the call back", "make it again if it is wanted"),
            Ok(()) if shared.to_server.send_for(&waiting, line).is_err() => shared.server_is_gone(),
            Ok(()) => {}
        }
    }

    /// As it came; under another number, where it was made again, or with the arguments that a hook wrote.
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

    /// A no of our own, before anything was judged.
    pub(crate) fn no(&self, shared: &Shared, waiting: &Caller<'_>, why: String) {
        if self.is_method {
            return self.is_not_passed_on(shared, &why);
        }
        self.answer(shared, waiting, serde_json::to_value(reply::error(why)).unwrap_or_default());
    }

    /// A no to a method that is no call: what is listed by it is an empty list, as tools are, anything else an error.
    fn is_not_passed_on(&self, shared: &Shared, why: &str) {
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

    fn answer(&self, shared: &Shared, waiting: &Caller<'_>, mut result: Value) {
        if let Some(result) = result.as_object_mut().filter(|_| self.is_newest()) {
            result.insert("resultType".to_owned(), "complete".into());
        }
        clean(&mut result);
        self.is_answered_with(shared, waiting, &result);
    }

    /// Answers it. `false`: nobody waits for an answer.
    pub(crate) fn is_answered_with(&self, shared: &Shared, waiting: &Caller<'_>, result: &Value) -> bool {
        let id = self.id();
        let waits = shared.requests.is_over(&id).is_some();
        if waits {
            shared.answer_client(waiting, &id, result);
        }
        waits
    }
}

/// What rules call a tool.
pub(crate) fn rule_name(server: &str, tool: &str) -> String {
    format!("{PREFIX}{server}__{tool}")
}

/// A doubt is for a person, whatever was granted.
fn word(doubt: &Doubt) -> HookWord {
    let by = "what is known of the server".to_owned();
    HookWord::doubt(doubt.reason.clone(), by, doubt.definition.clone())
}

impl Sent {
    /// Whether programs of the person's have to be told how it ended, which takes its time.
    pub(crate) fn has_hooks(&self) -> bool {
        self.permitted.is_some()
    }

    /// The server has answered with a result.
    pub(crate) fn has_result(self, shared: &Shared, id: &Id, line: &[u8], result: &RawValue) {
        let mut answer = match strict::parse(result.get()) {
            Ok(answer @ Value::Object(_)) => answer,
            Ok(_) => return self.not_understood(shared, id, "it is no object"),
            Err(why) => return self.not_understood(shared, id, &why),
        };
        let mut changed = clean(&mut answer);
        changed |= mark_required(&mut answer, &shared.name);
        let failed = answer.get("isError") == Some(&Value::Bool(true));
        let failure = || failed_by_server("the server says that it failed");
        let is_method = self.is_method;
        let said = self.closes(&if failed { Outcome::Failed(failure()) } else { Outcome::Done }, &answer);
        if !said.is_empty() && !is_method {
            changed = true;
            let mut said =
                json!(said.iter().map(|text| json!({"type": "text", "text": text})).collect::<Vec<_>>());
            clean(&mut said);
            if let (Some(content), Value::Array(said)) = (content_of(&mut answer), said) {
                content.extend(said);
            }
        }
        let line = if changed { spliced(line, result, &answer.to_string()) } else { line.to_vec() };
        shared.to_client(line);
    }

    /// The server has answered with an error.
    pub(crate) fn has_error(self, shared: &Shared, id: &Id, line: &[u8], error: &RawValue) {
        let Ok(mut answer) = strict::parse(error.get()) else {
            return self.not_understood(shared, id, "its error is none");
        };
        let changed = clean(&mut answer);
        let message =
            answer.get("message").and_then(Value::as_str).unwrap_or("the server says that it failed");
        self.closes(&Outcome::Failed(failed_by_server(message)), &answer);
        let line = if changed { spliced(line, error, &answer.to_string()) } else { line.to_vec() };
        shared.to_client(line);
    }

    fn not_understood(self, shared: &Shared, id: &Id, why: &str) {
        self.ends_with("the answer of the server is not understood", why);
        shared.not_understood(id, why);
    }

    /// It will have no answer.
    pub(crate) fn ends_with(self, what: &str, hint: &str) {
        let failure = Failure::plain(RefusalCode::Io, what, hint);
        self.closes(&Outcome::Failed(failure), &json!({}));
    }

    /// Records how it ended and tells hooks; what they and we have to say to the model.
    fn closes(self, outcome: &Outcome, answer: &Value) -> Vec<String> {
        let Self { receipt, permitted, room, mut context, mut stop, is_method: _ } = self;
        let done = *outcome == Outcome::Done;
        if let Err(error) = receipt.close(outcome) {
            context.push(format!("[the outcome could not be recorded: {error}; tell the person]"));
        }
        if let Some(permitted) = permitted {
            let said = room.attended().session().after(&permitted, done, answer);
            context.extend(said.blocked);
            context.extend(said.context);
            stop = stop.or(said.stop);
        }
        context.extend(stop.map(|why| format!("[a hook wants you to stop: {why}]")));
        context
    }
}

/// The pieces of a result, to which more are added.
fn content_of(answer: &mut Value) -> Option<&mut Vec<Value>> {
    answer.as_object_mut()?.entry("content").or_insert_with(|| json!([])).as_array_mut()
}

fn failed_by_server(message: &str) -> Failure {
    Failure::plain(RefusalCode::Io, message, "see what the server says about it")
}

/// What a request that waits for the server has to be told once the server has gone.
pub(crate) fn lost(waiting: Waiting) {
    match waiting {
        Waiting::Call(sent) => sent.ends_with("the server has ended", "start it again"),
        Waiting::Judged(judged) => judged.gone.store(true, Ordering::SeqCst),
        Waiting::Ours(answer) => {
            // Whoever asked does not wait any more.
            let _ = answer.send(Err("the server has ended".to_owned()));
        }
        Waiting::Plain | Waiting::Greeting | Waiting::List | Waiting::Later => {}
    }
}

/// Lines that are answered by a result that has secrets in it, beside those of calls.
pub(crate) fn later(shared: &Shared, id: &Id, line: &[u8], outcome: frame::Outcome<'_>) {
    let (frame::Outcome::Result(part) | frame::Outcome::Error(part)) = outcome;
    let mut answer = match strict::parse(part.get()) {
        Ok(answer) => answer,
        Err(why) => return shared.not_understood(id, &why),
    };
    let line = if clean(&mut answer) { spliced(line, part, &answer.to_string()) } else { line.to_vec() };
    shared.to_client(line);
}
