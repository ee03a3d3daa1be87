//! One call: executed on a thread of its own, while the connection stays responsive. A short one is executed in place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pinfold::consent::{Approver, Caller};
use pinfold::policy::ToolName;
use pinfold::{CallRequest, RawCall};
use pinfold_tools::{CallEnding, Content};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, InputRequest, InputRequests, InputRequiredResult, ProgressNotificationParam, ProgressToken,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::approver::{AnswerSlot, CallEvent, ElicitationApprover, FormRequest};
use super::pending_calls::{Parkable, state_context};
use super::sessions::OpenSession;
use super::{ServerState, SessionRequest, reply, roots};
use crate::form::{ElicitationForm, FormResult};
use crate::tool_list::WORKSPACE;

/// The interval of progress notifications: shorter than any client's silence limit.
const PROGRESS: Duration = Duration::from_secs(10);

/// The name of the one form in a client's response.
const QUESTION: &str = "consent";

/// The refusal where a client's roots do not intersect the folder.
const NOTHING_LEFT: &str = "[the roots of this client lie outside the folder of this server, or it did not list them when it was asked, so nothing can be written; tell the user]";

/// A running call.
struct RunningCall {
    events: mpsc::UnboundedReceiver<CallEvent>,
    /// Its caller no longer waits.
    gone: AbandonGuard,
    /// Its slot among the known calls.
    _place: OwnedSemaphorePermit,
}

/// A call that waits for an answer between two requests.
pub(crate) struct ParkedCall {
    underway: RunningCall,
    form: ElicitationForm,
    answer: AnswerSlot,
}

impl Parkable for ParkedCall {
    fn is_over(&self) -> bool {
        self.answer.is_closed()
    }
}

/// Marks a call as abandoned, at the latest when the last holder drops it.
#[derive(Default)]
struct AbandonGuard(Arc<AtomicBool>);

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Executes a call, or resumes one that waited for an answer.
pub(crate) async fn call(
    shared: &Arc<ServerState>,
    mut request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let answers = request.input_responses.take();
    let waited = match request.request_state.take() {
        Some(state) => {
            shared.parked.take(&state_context(&request.name, request.arguments.as_ref()), &state).map_err(
                |_| ErrorData::invalid_params("requestState is not one that was given for this call", None),
            )?
        }
        None => None,
    };
    let underway = match waited {
        Some(ParkedCall { underway, form, answer }) => {
            let said = answers.as_ref().and_then(|answers| answers.get(QUESTION));
            let said = said.map(|said| form.read(said, &client(&context)));
            // Without a receiver the call has ended meanwhile, and reports that itself.
            answer.send(said.unwrap_or(FormResult::Nothing("the client sent no answer")));
            underway
        }
        // A call that ended while its answer was on the way is executed and judged again.
        None => match start_call(shared, &request, &context).await? {
            Ok(underway) => underway,
            Err(refused) => return Ok((*refused).into()),
        },
    };
    follow_call(shared, underway, &request, &context).await
}

/// Starts a call. The inner error is a result: no session, no such workspace.
async fn start_call(
    shared: &Arc<ServerState>,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Result<RunningCall, Box<CallToolResult>>, ErrorData> {
    let Ok(place) = Arc::clone(&shared.places).try_acquire_owned() else {
        return Err(ErrorData::internal_error("too many calls wait at once: wait for some of them", None));
    };
    let mut arguments = request.arguments.clone().unwrap_or_default();
    let folder = match folder(shared, &mut arguments) {
        Ok(folder) => folder,
        Err(why) => return Ok(Err(Box::new(reply::error(why)))),
    };
    let asks = can_ask(context);
    let narrowed = narrow_to_roots(shared, folder, context).await;
    let raw = RawCall::new(request.name.as_ref(), Value::Object(arguments));
    let turn = Arc::clone(&shared.turns).acquire_owned().await;
    let (events, received) = mpsc::unbounded_channel();
    let gone = AbandonGuard::default();
    let wish = SessionRequest { asks, narrowed };
    let session = shared.sessions.find_open(folder, &wish).filter(|session| is_brief(&raw, session));
    let is_brief = session.is_some();
    let on_thread =
        CallThread { shared: Arc::clone(shared), raw, folder, wish, session, gone: Arc::clone(&gone.0) };
    let execute = move || {
        let _turn = turn;
        let done = on_thread.execute(&events);
        let _ = events.send(CallEvent::Done(Box::new(done)));
    };
    if is_brief {
        tokio::spawn(async { execute() });
    } else {
        tokio::task::spawn_blocking(execute);
    }
    Ok(Ok(RunningCall { events: received, gone, _place: place }))
}

/// Returns whether a call takes less time than waking another thread. It may still ask for approval, so the runtime has
/// to be able to move its other tasks.
fn is_brief(raw: &RawCall, session: &OpenSession) -> bool {
    let moves = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    moves
        && !session.session_as_is().session().has_hooks()
        && ToolName::parse(&raw.tool) == Some(ToolName::Read)
}

/// The executor of a call.
struct CallThread {
    shared: Arc<ServerState>,
    raw: RawCall,
    folder: usize,
    wish: SessionRequest,
    /// Its session, where that is open.
    session: Option<Arc<OpenSession>>,
    gone: Arc<AtomicBool>,
}

impl CallThread {
    fn execute(self, events: &mpsc::UnboundedSender<CallEvent>) -> CallToolResult {
        let Self { shared, raw, folder, wish, session, gone } = self;
        let asks = wish.asks.then(|| ElicitationApprover::new(events.clone()));
        let nothing_left = wish.narrowed.as_ref().is_some_and(Vec::is_empty);
        let session: Arc<OpenSession> =
            match session.map_or_else(|| shared.sessions.find_or_open(folder, wish), Ok) {
                Ok(session) => session,
                Err(why) => return reply::error(why),
            };
        let waits = || !gone.load(Ordering::SeqCst) && !shared.closing.load(Ordering::SeqCst);
        let asks = asks.as_ref().map(|asks| asks as &dyn Approver);
        let caller = Caller {
            waits: Some(&waits),
            asks,
            run_blocking: Some(&|work| tokio::task::block_in_place(work)),
        };
        let mut reply = session.current_session().call(CallRequest::new(&raw).with_caller(caller));
        if nothing_left && reply.ended == CallEnding::Refused {
            reply.content.push(Content::Text { text: NOTHING_LEFT.to_owned() });
        }
        reply::result(reply, shared.manner)
    }
}

/// Follows a call until there is something to send.
async fn follow_call(
    shared: &ServerState,
    mut underway: RunningCall,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let token = context.meta.get_progress_token();
    let mut times = 0.0;
    loop {
        let event = tokio::select! {
            event = underway.events.recv() => event,
            () = tokio::time::sleep(PROGRESS) => {
                times += 1.0;
                progress(context, token.as_ref(), times).await;
                continue;
            }
            () = context.ct.cancelled() => {
                underway.gone.0.store(true, Ordering::SeqCst);
                // It ends as soon as it can, and is recorded; its result is not read.
                underway.events.recv().await
            }
        };
        match event {
            Some(CallEvent::Done(result)) => return Ok((*result).into()),
            None => return Err(ErrorData::internal_error("the call was lost", None)),
            Some(CallEvent::Ask(asked)) if asks_by_answer(context) => {
                match park(shared, underway, request, asked)? {
                    Ok(required) => return Ok(required.into()),
                    Err(back) => underway = back,
                }
            }
            Some(CallEvent::Ask(asked)) => ask(asked, token.as_ref(), &mut times, context).await,
        }
    }
}

/// Responds that input is required, and parks the call; where it cannot be parked, it continues without an answer.
fn park(
    shared: &ServerState,
    underway: RunningCall,
    request: &CallToolRequestParams,
    asked: FormRequest,
) -> Result<Result<InputRequiredResult, RunningCall>, ErrorData> {
    let FormRequest { form, answer } = asked;
    let params = parameters(&form)?;
    let context = state_context(&request.name, request.arguments.as_ref());
    match shared.parked.park(&context, ParkedCall { underway, form, answer }) {
        Ok(state) => {
            let question = InputRequest::Elicitation(ElicitRequest::new(params));
            let questions = InputRequests::from([(QUESTION.to_owned(), question)]);
            Ok(Ok(InputRequiredResult::new(Some(questions), Some(state))))
        }
        Err(waiting) => {
            let ParkedCall { underway, answer, .. } = *waiting;
            answer.send(FormResult::Nothing("too many questions wait for the client"));
            Ok(Err(underway))
        }
    }
}

/// Sends an elicitation request to a client of an older revision, with progress notifications meanwhile.
async fn ask(
    asked: FormRequest,
    token: Option<&ProgressToken>,
    times: &mut f64,
    context: &RequestContext<RoleServer>,
) {
    let FormRequest { form, mut answer } = asked;
    let said = {
        let elicited = elicit(&form, context);
        tokio::pin!(elicited);
        loop {
            tokio::select! {
                said = &mut elicited => break said,
                // The call no longer waits, or another channel has answered.
                () = answer.closed() => return,
                () = context.ct.cancelled() => return,
                () = tokio::time::sleep(PROGRESS) => {
                    *times += 1.0;
                    progress(context, token, *times).await;
                }
            }
        }
    };
    answer.send(said);
}

async fn elicit(form: &ElicitationForm, context: &RequestContext<RoleServer>) -> FormResult {
    let Ok(params) = parameters(form) else { return FormResult::Nothing("the question has no form") };
    let result: Result<ElicitResult, _> = context.peer.create_elicitation(params).await;
    match result.ok().and_then(|result| serde_json::to_value(result).ok()) {
        Some(result) => form.read(&result, &client(context)),
        None => FormResult::Nothing("the client cannot ask its user"),
    }
}

fn parameters(form: &ElicitationForm) -> Result<ElicitRequestParams, ErrorData> {
    serde_json::from_value(form.params())
        .map_err(|e| ErrorData::internal_error(format!("the question has no form: {e}"), None))
}

/// Sends progress to a client that asked for it, whether or not it reads it.
async fn progress(context: &RequestContext<RoleServer>, token: Option<&ProgressToken>, times: f64) {
    let Some(token) = token else { return };
    let seconds = times * PROGRESS.as_secs_f64();
    let told = ProgressNotificationParam::new(token.clone(), times);
    let _ = context.peer.notify_progress(told.with_message(format!("going on ({seconds} s)"))).await;
}

/// Returns whether the user behind a client can be asked by a form.
fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let Some(elicitation) = context.client_capabilities().and_then(|can| can.elicitation) else {
        return false;
    };
    // A client that names no kind of form supports the plain one.
    elicitation.form.is_some() || elicitation.url.is_none()
}

/// Returns whether an approval request is the response to the call, as in revisions without server requests.
fn asks_by_answer(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::NO_INITIALIZE)
}

/// The client's name for itself. It is not verified.
fn client(context: &RequestContext<RoleServer>) -> String {
    context.client_info().map_or_else(String::new, |info| format!("{} {}", info.name, info.version))
}

/// Selects the folder of a call; the argument that names it is removed.
fn folder(shared: &ServerState, arguments: &mut serde_json::Map<String, Value>) -> Result<usize, String> {
    let folders = shared.opener.folders();
    if folders.len() < 2 {
        return Ok(0);
    }
    let Some(wanted) = arguments.remove(WORKSPACE) else { return Ok(0) };
    let found = wanted.as_str().and_then(|name| folders.iter().position(|folder| folder.name == name));
    found.ok_or_else(|| {
        let names: Vec<&str> = folders.iter().map(|folder| folder.name.as_str()).collect();
        format!("there is no workspace {wanted}: name one of {}", names.join(", "))
    })
}

async fn narrow_to_roots(
    shared: &ServerState,
    folder: usize,
    context: &RequestContext<RoleServer>,
) -> Option<Vec<std::path::PathBuf>> {
    if shared.manner.ignore_roots {
        return None;
    }
    let roots = shared.roots.get(context).await?;
    let path = &shared.opener.folders().get(folder)?.path;
    roots::intersect_with_roots(path, &roots)
}
