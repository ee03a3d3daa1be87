//! A request to decide about a call: the call itself, and how its client takes part.

use pinfold_policy::{HookDecision, PathText, RawCall, ToolCall};

use crate::consent::approver::Approver;
use crate::consent::request::ProcessShown;

/// A request to decide about one call: JSON of an agent, or a call that an embedder or a process made itself.
///
/// ```
/// use pinfold::{CallRequest, RawCall};
/// use pinfold::consent::Caller;
/// use serde_json::json;
///
/// let raw = RawCall::new("Read", json!({"file_path": "notes.md"}));
/// let is_connected = || true;
/// let caller = Caller { waits: Some(&is_connected), ..Caller::default() };
/// let request = CallRequest::new(&raw).with_caller(caller);
/// # let _ = request;
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct CallRequest<'a> {
    pub(crate) content: CallContent<'a>,
    /// The folder that relative paths of a typed call start from.
    pub(crate) cwd: Option<PathText>,
    pub(crate) hint: Option<HookDecision>,
    pub(crate) caller: Caller<'a>,
    pub(crate) process: Option<ProcessShown>,
}

/// The call of a request.
#[derive(Debug, Clone)]
pub(crate) enum CallContent<'a> {
    /// JSON, of which hooks are told.
    Raw(&'a RawCall),
    /// A typed call, which can name paths that JSON has no words for. Hooks know calls by their JSON and are not asked.
    Typed(ToolCall),
}

impl<'a> CallRequest<'a> {
    /// A request about a call of an agent.
    pub fn new(raw: &'a RawCall) -> Self {
        Self::with_content(CallContent::Raw(raw))
    }

    /// A request about a call that an embedder made itself, or that a process of a shell made by what it tried.
    pub fn typed(call: ToolCall) -> Self {
        Self::with_content(CallContent::Typed(call))
    }

    fn with_content(content: CallContent<'a>) -> Self {
        Self { content, cwd: None, hint: None, caller: Caller::default(), process: None }
    }

    /// Sets the folder that relative paths of a typed call start from; a raw call names its own.
    pub fn with_cwd(self, cwd: Option<PathText>) -> Self {
        Self { cwd, ..self }
    }

    /// Adds a decision about the call that stands beside those of hooks: a doubt of the way in, or an answer that hooks
    /// gave before.
    pub fn with_hint(self, hint: Option<HookDecision>) -> Self {
        Self { hint, ..self }
    }

    /// Sets the client that made the call, as far as it takes part.
    pub fn with_caller(self, caller: Caller<'a>) -> Self {
        Self { caller, ..self }
    }

    /// Sets the process of a shell that tried the call.
    pub fn with_process(self, process: ProcessShown) -> Self {
        Self { process: Some(process), ..self }
    }

    /// The client that made the call.
    pub fn caller(&self) -> Caller<'a> {
        self.caller
    }

    /// The input as it came in; none for a typed call.
    pub(crate) fn input(&self) -> Option<&'a serde_json::Value> {
        match &self.content {
            CallContent::Raw(raw) => Some(&raw.input),
            CallContent::Typed(_) => None,
        }
    }

    /// The folder that relative paths start from, as the call says it.
    pub(crate) fn working_folder(&self) -> Option<&PathText> {
        match &self.content {
            CallContent::Raw(raw) => raw.cwd.as_ref(),
            CallContent::Typed(_) => self.cwd.as_ref(),
        }
    }
}

impl<'a> From<&'a RawCall> for CallRequest<'a> {
    fn from(raw: &'a RawCall) -> Self {
        Self::new(raw)
    }
}

impl From<ToolCall> for CallRequest<'_> {
    fn from(call: ToolCall) -> Self {
        Self::typed(call)
    }
}

/// The client that made a call, as far as it takes part in the decision.
#[derive(Clone, Copy, Default)]
pub struct Caller<'a> {
    /// Returns true while the client waits: a question about a call that it has given up is taken back. Without it, it
    /// waits.
    pub waits: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// The approver behind the client, asked before that of the session. How long is waited, and where rules are
    /// written, is set by the session.
    pub asks: Option<&'a dyn Approver>,
    /// Runs slow work, such as asking a person or reading a large file, for a client whose thread has other things to
    /// do. Without it, the work is done in place.
    pub run_blocking: Option<&'a BlockingRunner<'a>>,
}

/// Runs the given function once.
pub type BlockingRunner<'a> = dyn Fn(&mut dyn FnMut()) + Sync + 'a;

impl std::fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("asks", &self.asks).finish_non_exhaustive()
    }
}

impl Caller<'_> {
    /// Returns true while the client waits.
    pub fn is_waiting(&self) -> bool {
        self.waits.is_none_or(|waits| waits())
    }

    /// Does slow work by way of [`Caller::run_blocking`]. `instead` is the result where it was not done.
    pub fn take_time<T>(&self, instead: T, work: impl FnOnce() -> T) -> T {
        let (mut came_to, mut work) = (instead, Some(work));
        let mut once = || {
            if let Some(work) = work.take() {
                came_to = work();
            }
        };
        match self.run_blocking {
            Some(run) => run(&mut once),
            None => once(),
        }
        came_to
    }
}
