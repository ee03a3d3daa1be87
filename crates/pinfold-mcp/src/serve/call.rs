//! One call: it is carried out on a thread of its own, while the connection stays awake for it. A brief one is carried out
//! where it came in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pinfold::consent::{Approver, Caller};
use pinfold::policy::ToolName;
use pinfold::{CallRequest, RawCall};
use pinfold_tools::{Content, Ended};
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

use super::asks::{Answer, Asked, Asks, Event};
use super::parked::{Waits, about};
use super::rooms::Room;
use super::{Shared, Wish, reply, roots};
use crate::form::{Form, Said};
use crate::offer::WORKSPACE;

/// How often a client is told that a call goes on: less than any client waits in silence.
const PROGRESS: Duration = Duration::from_secs(10);

/// The name of our one question in what a client answers.
const QUESTION: &str = "consent";

/// Why nothing can be written where the roots of a client have nothing in common with the folder.
const NOTHING_LEFT: &str = "[the roots that this client names lie outside the folder of this server, so nothing can be written; tell the person]";

/// A call that is being carried out.
struct Underway {
    events: mpsc::UnboundedReceiver<Event>,
    /// Its caller does not wait any more.
    gone: Gone,
    /// Its place among the calls that are known.
    _place: OwnedSemaphorePermit,
}

/// A call that waits for an answer between two requests.
pub(crate) struct Waiting {
    underway: Underway,
    form: Form,
    answer: Answer,
}

impl Waits for Waiting {
    fn is_over(&self) -> bool {
        self.answer.is_closed()
    }
}

/// Tells a call that its caller is gone, at the latest when nobody holds it any more.
#[derive(Default)]
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Carries out a call, or goes on with one that waited for an answer.
pub(crate) async fn call(
    shared: &Arc<Shared>,
    mut request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let answers = request.input_responses.take();
    let waited = match request.request_state.take() {
        Some(state) => {
            shared.parked.take(&about(&request.name, request.arguments.as_ref()), &state).map_err(|_| {
                ErrorData::invalid_params("requestState is not one that was given for this call", None)
            })?
        }
        None => None,
    };
    let underway = match waited {
        Some(Waiting { underway, form, answer }) => {
            let said = answers.as_ref().and_then(|answers| answers.get(QUESTION));
            let said = said.map(|said| form.read(said, &client(&context)));
            // It has ended meanwhile when nobody takes it, and says so itself.
            answer.say(said.unwrap_or(Said::Nothing("the client sent no answer")));
            underway
        }
        // Also one that ended while its answer was on the way: it is made again, and judged again.
        None => match begin(shared, &request, &context).await? {
            Ok(underway) => underway,
            Err(refused) => return Ok((*refused).into()),
        },
    };
    accompany(shared, underway, &request, &context).await
}

/// Starts it. The inner error is a result: no session, no such workspace.
async fn begin(
    shared: &Arc<Shared>,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Result<Underway, Box<CallToolResult>>, ErrorData> {
    let Ok(place) = Arc::clone(&shared.places).try_acquire_owned() else {
        return Err(ErrorData::internal_error("too many calls wait at once: wait for some of them", None));
    };
    let mut arguments = request.arguments.clone().unwrap_or_default();
    let folder = match folder(shared, &mut arguments) {
        Ok(folder) => folder,
        Err(why) => return Ok(Err(Box::new(reply::error(why)))),
    };
    let asks = can_ask(context);
    let narrowed = narrowed(shared, folder, context).await;
    let raw = RawCall::new(request.name.as_ref(), Value::Object(arguments));
    let turn = Arc::clone(&shared.turns).acquire_owned().await;
    let (events, received) = mpsc::unbounded_channel();
    let gone = Gone::default();
    let wish = Wish { asks, narrowed };
    let room = shared.rooms.known(folder, &wish).filter(|room| is_brief(&raw, room));
    let is_brief = room.is_some();
    let on_thread =
        OnThread { shared: Arc::clone(shared), raw, folder, wish, room, gone: Arc::clone(&gone.0) };
    let carry_out = move || {
        let _turn = turn;
        let done = on_thread.carry_out(&events);
        let _ = events.send(Event::Done(Box::new(done)));
    };
    if is_brief {
        tokio::spawn(async { carry_out() });
    } else {
        tokio::task::spawn_blocking(carry_out);
    }
    Ok(Ok(Underway { events: received, gone, _place: place }))
}

/// Whether a call takes less time than it takes to wake up another thread. Should a person be asked about it, the runtime
/// has to be one whose other tasks move to another thread meanwhile.
fn is_brief(raw: &RawCall, room: &Room) -> bool {
    let moves = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    moves && !room.attended().session().has_hooks() && ToolName::parse(&raw.tool) == Some(ToolName::Read)
}

/// What carries out a call.
struct OnThread {
    shared: Arc<Shared>,
    raw: RawCall,
    folder: usize,
    wish: Wish,
    /// Its session, where that is open.
    room: Option<Arc<Room>>,
    gone: Arc<AtomicBool>,
}

impl OnThread {
    fn carry_out(self, events: &mpsc::UnboundedSender<Event>) -> CallToolResult {
        let Self { shared, raw, folder, wish, room, gone } = self;
        let asks = wish.asks.then(|| Asks::new(events.clone()));
        let nothing_left = wish.narrowed.as_ref().is_some_and(Vec::is_empty);
        let room: Arc<Room> = match room.map_or_else(|| shared.rooms.enter(folder, wish), Ok) {
            Ok(room) => room,
            Err(why) => return reply::error(why),
        };
        let waits = || !gone.load(Ordering::SeqCst) && !shared.closing.load(Ordering::SeqCst);
        let asks = asks.as_ref().map(|asks| asks as &dyn Approver);
        let caller =
            Caller { waits: Some(&waits), asks, aside: Some(&|work| tokio::task::block_in_place(work)) };
        let mut reply = room.now().call(CallRequest::new(&raw).with_caller(caller));
        if nothing_left && reply.ended == Ended::Refused {
            reply.content.push(Content::Text { text: NOTHING_LEFT.to_owned() });
        }
        reply::result(reply, shared.manner)
    }
}

/// Stays with a call until there is something to answer.
async fn accompany(
    shared: &Shared,
    mut underway: Underway,
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
                // It ends as soon as it can, and is recorded; nobody reads what it says.
                underway.events.recv().await
            }
        };
        match event {
            Some(Event::Done(result)) => return Ok((*result).into()),
            None => return Err(ErrorData::internal_error("the call was lost", None)),
            Some(Event::Asks(asked)) if asks_by_answer(context) => {
                match park(shared, underway, request, asked)? {
                    Ok(required) => return Ok(required.into()),
                    Err(back) => underway = back,
                }
            }
            Some(Event::Asks(asked)) => ask(asked, token.as_ref(), &mut times, context).await,
        }
    }
}

/// Answers that input is required, and lets the call wait; where it cannot wait, it goes on without an answer.
fn park(
    shared: &Shared,
    underway: Underway,
    request: &CallToolRequestParams,
    asked: Asked,
) -> Result<Result<InputRequiredResult, Underway>, ErrorData> {
    let Asked { form, answer } = asked;
    let params = parameters(&form)?;
    let about = about(&request.name, request.arguments.as_ref());
    match shared.parked.park(&about, Waiting { underway, form, answer }) {
        Ok(state) => {
            let question = InputRequest::Elicitation(ElicitRequest::new(params));
            let questions = InputRequests::from([(QUESTION.to_owned(), question)]);
            Ok(Ok(InputRequiredResult::new(Some(questions), Some(state))))
        }
        Err(waiting) => {
            let Waiting { underway, answer, .. } = *waiting;
            answer.say(Said::Nothing("too many questions wait for the client"));
            Ok(Err(underway))
        }
    }
}

/// Asks a client of the older revisions by a request of our own, and tells it meanwhile that the call goes on.
async fn ask(
    asked: Asked,
    token: Option<&ProgressToken>,
    times: &mut f64,
    context: &RequestContext<RoleServer>,
) {
    let Asked { form, mut answer } = asked;
    let said = {
        let elicited = elicited(&form, context);
        tokio::pin!(elicited);
        loop {
            tokio::select! {
                said = &mut elicited => break said,
                // Nobody waits for it any more, or somebody else has answered.
                () = answer.closed() => return,
                () = context.ct.cancelled() => return,
                () = tokio::time::sleep(PROGRESS) => {
                    *times += 1.0;
                    progress(context, token, *times).await;
                }
            }
        }
    };
    answer.say(said);
}

async fn elicited(form: &Form, context: &RequestContext<RoleServer>) -> Said {
    let Ok(params) = parameters(form) else { return Said::Nothing("the question has no form") };
    let result: Result<ElicitResult, _> = context.peer.create_elicitation(params).await;
    match result.ok().and_then(|result| serde_json::to_value(result).ok()) {
        Some(result) => form.read(&result, &client(context)),
        None => Said::Nothing("the client cannot ask its person"),
    }
}

fn parameters(form: &Form) -> Result<ElicitRequestParams, ErrorData> {
    serde_json::from_value(form.params())
        .map_err(|e| ErrorData::internal_error(format!("the question has no form: {e}"), None))
}

/// Tells a client that wants to know that its call goes on. Whoever does not read it is none of our business.
async fn progress(context: &RequestContext<RoleServer>, token: Option<&ProgressToken>, times: f64) {
    let Some(token) = token else { return };
    let seconds = times * PROGRESS.as_secs_f64();
    let told = ProgressNotificationParam::new(token.clone(), times);
    let _ = context.peer.notify_progress(told.with_message(format!("going on ({seconds} s)"))).await;
}

/// Whether the person behind a client can be asked by a form.
fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let Some(elicitation) = context.client_capabilities().and_then(|can| can.elicitation) else {
        return false;
    };
    // Who names no kind of form means the plain one.
    elicitation.form.is_some() || elicitation.url.is_none()
}

/// Whether a question is the answer to the call, as in the revisions without requests of a server.
fn asks_by_answer(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::NO_INITIALIZE)
}

/// What a client calls itself. It proves nothing.
fn client(context: &RequestContext<RoleServer>) -> String {
    context.client_info().map_or_else(String::new, |info| format!("{} {}", info.name, info.version))
}

/// Which folder a call is about; the argument that says so is ours and goes no further.
fn folder(shared: &Shared, arguments: &mut serde_json::Map<String, Value>) -> Result<usize, String> {
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

async fn narrowed(
    shared: &Shared,
    folder: usize,
    context: &RequestContext<RoleServer>,
) -> Option<Vec<std::path::PathBuf>> {
    if shared.manner.ignore_roots {
        return None;
    }
    let roots = shared.roots.of(context).await?;
    let path = &shared.opener.folders().get(folder)?.path;
    roots::narrowed(path, &roots)
}
