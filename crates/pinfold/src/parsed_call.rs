//! A tool call that is parsed once, with what it claims to touch.
//!
//! A command line is parsed when a [`ParsedCall`] is made and nowhere else: whatever judges the call again, while an
//! approver decides or when a yes is used, takes the same value.

use std::cell::OnceCell;
use std::sync::Arc;

use pinfold_policy::{BadCall, Claims, RawCall, ToolCall};

/// The function that reads a raw call: for calls that pinfold performs, or for a verdict alone.
pub(crate) type ParseCall = fn(&RawCall) -> Result<ToolCall, BadCall>;

/// A tool call with what it claims to touch. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ParsedCall {
    call: Arc<ToolCall>,
    claims: Arc<Claims>,
}

impl ParsedCall {
    /// Parses the command line of a call, if it has one, and lists its claims.
    pub(crate) fn new(call: ToolCall) -> Self {
        #[cfg(test)]
        count::add_one();
        let claims = Arc::new(Claims::from_call(&call));
        Self { call: Arc::new(call), claims }
    }

    pub(crate) fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The claims, before a look at the world has left any out.
    pub(crate) fn claims(&self) -> &Arc<Claims> {
        &self.claims
    }

    /// The call, shared with those that hold the same value.
    pub(crate) fn to_shared_call(&self) -> Arc<ToolCall> {
        Arc::clone(&self.call)
    }

    pub(crate) fn into_call(self) -> ToolCall {
        Arc::unwrap_or_clone(self.call)
    }
}

/// The one reading of a raw call.
#[derive(Debug)]
pub(crate) struct RawParse {
    result: Result<ParsedCall, BadCall>,
    /// A call that lacks what its operation needs, as far as conditions of hooks can be compared with it.
    for_verdict: OnceCell<Option<ParsedCall>>,
}

impl RawParse {
    pub(crate) fn new(raw: &RawCall, parse: ParseCall) -> Self {
        Self { result: parse(raw).map(ParsedCall::new), for_verdict: OnceCell::new() }
    }

    pub(crate) fn result(&self) -> Result<&ParsedCall, &BadCall> {
        self.result.as_ref()
    }

    /// The call as far as a verdict needs it; `None` where it is not understood.
    pub(crate) fn for_verdict(&self, raw: &RawCall) -> Option<&ParsedCall> {
        let lenient = || ToolCall::parse_for_verdict(raw).ok().map(ParsedCall::new);
        match &self.result {
            Ok(parsed) => Some(parsed),
            Err(_) => self.for_verdict.get_or_init(lenient).as_ref(),
        }
    }
}

/// The number of calls that were parsed by the thread of a test.
#[cfg(test)]
pub(crate) mod count {
    use std::cell::Cell;

    thread_local! {
        static PARSED: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add_one() {
        PARSED.set(PARSED.get() + 1);
    }

    /// Returns the number since it was last taken.
    pub(crate) fn take() -> usize {
        PARSED.take()
    }
}
