//! One turn of a model, waited for as long as the agent may go on.
//!
//! The model is asked on a thread of its own: one that hangs is left to itself, and what it says later is not heard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::event::Event;
use crate::model::{AgentIdentity, Message, Model, ModelError, ModelRequest, OfferedTool, Turn};
use crate::team::Team;

/// Interval at which it is looked whether the agent may still go on.
const LOOK: Duration = Duration::from_millis(100);

/// The conversation of an agent with its model.
pub(crate) struct Conversation {
    /// None where one was left to itself.
    model: Option<Box<dyn Model>>,
    brief: Arc<RequestTemplate>,
    /// The messages so far; empty where a model was left.
    pub(crate) messages: Vec<Message>,
}

/// Constant parts of every request to a model.
pub(crate) struct RequestTemplate {
    pub(crate) who: AgentIdentity,
    pub(crate) system: String,
    pub(crate) tools: Vec<Arc<OfferedTool>>,
}

/// Reason why there is no turn.
pub(crate) enum TurnFailure {
    /// The model did not answer.
    Failed(ModelError),
    /// The agent may not go on.
    LeftOff,
}

/// Values that come back from the thread of a model.
type ModelReturn = (Box<dyn Model>, Vec<Message>, Result<Turn, ModelError>);

impl Conversation {
    pub(crate) fn new(model: Box<dyn Model>, brief: RequestTemplate, messages: Vec<Message>) -> Self {
        Self { model: Some(model), brief: Arc::new(brief), messages }
    }

    /// The next turn. `goes_on` says whether it is still wanted.
    pub(crate) fn turn(
        &mut self,
        team: &Arc<Team>,
        max_tokens: Option<u64>,
        goes_on: impl Fn() -> bool,
    ) -> Result<Turn, TurnFailure> {
        let awaited = Arc::new(AtomicBool::new(true));
        let receiver = self.asked(team, max_tokens, &awaited).map_err(|why| failed(&why))?;
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok((model, messages, answer)) => {
                    self.model = Some(model);
                    self.messages = messages;
                    return answer.map_err(TurnFailure::Failed);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(failed("it broke off")),
                Err(RecvTimeoutError::Timeout) if goes_on() => {}
                Err(RecvTimeoutError::Timeout) => {
                    awaited.store(false, Ordering::Relaxed);
                    return Err(TurnFailure::LeftOff);
                }
            }
        }
    }

    fn asked(
        &mut self,
        team: &Arc<Team>,
        max_tokens: Option<u64>,
        awaited: &Arc<AtomicBool>,
    ) -> Result<Receiver<ModelReturn>, String> {
        let mut model = self.model.take().ok_or("it was left before")?;
        let messages = std::mem::take(&mut self.messages);
        let (sender, receiver) = channel();
        let (team, brief, awaited) = (Arc::clone(team), Arc::clone(&self.brief), Arc::clone(awaited));
        let ask = move || {
            let is_awaited = || awaited.load(Ordering::Relaxed);
            let answer = brief.ask(&mut *model, &messages, &team, max_tokens, &is_awaited);
            // The receiver is gone where it was too late.
            let _ = sender.send((model, messages, answer));
        };
        thread::Builder::new().name("model".to_owned()).spawn(ask).map_err(|e| e.to_string())?;
        Ok(receiver)
    }
}

impl RequestTemplate {
    fn ask(
        &self,
        model: &mut dyn Model,
        messages: &[Message],
        team: &Team,
        max_tokens: Option<u64>,
        is_awaited: &(dyn Fn() -> bool + Sync),
    ) -> Result<Turn, ModelError> {
        let Self { who, system, tools } = self;
        let on_delay = |delay| {
            if is_awaited() {
                team.emit(&Event::Delayed { agent: who.id.clone(), delay });
            }
        };
        let on_delay = &on_delay;
        let asked = ModelRequest { agent: who, system, messages, tools, max_tokens, is_awaited, on_delay };
        model.answer(&asked, &mut |words| {
            if is_awaited() {
                team.emit_text(who, words);
            }
        })
    }
}

fn failed(why: &str) -> TurnFailure {
    TurnFailure::Failed(ModelError::new(format!("the model cannot be asked: {why}"), "go on with --resume"))
}
