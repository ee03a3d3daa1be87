//! Connections of processes to hosts that no rule allows, through the pipeline of every call.

use std::iter;

use pinfold::consent::{Answer, Caller, Choice, ProcessShown};
use pinfold::policy::ProcessCall;
use pinfold::{CallRequest, CheckResult, Failure, GateResult, Outcome, Receipt, RefusalCode, ToolCall};
use pinfold_boundary::{HostApproval, HostApprover, HostRequest};

use super::attempt_queue::AttemptQueue;
use super::denied::ALL_OF_PROCESS;
use super::process_call;

/// Advice to a process whose connection was approved and refused for where its host leads.
const DO_WITHOUT: &str = "do without it, and tell the user what is needed there";

impl HostApprover for AttemptQueue {
    fn may_connect(
        &self,
        request: &HostRequest,
        waits: &(dyn Fn() -> bool + Sync),
    ) -> Result<Box<dyn HostApproval>, String> {
        let session = self.session().ok_or("the session is over")?;
        let holders = || iter::once(&request.caller).chain(&request.others).map(|holder| holder.process);
        if holders().any(|process| self.refuses_all_of(process)) {
            return Err(ALL_OF_PROCESS.to_owned());
        }
        let caller = Caller { waits: Some(waits), ..Caller::default() };
        let asked = CallRequest::typed(call(request)).with_process(process(request)).with_caller(caller);
        let GateResult { outcome, answered, .. } = session.decide(asked);
        if let Some(Answer { choice: Choice::No { process: true, .. }, .. }) = &answered {
            holders().for_each(|process| self.refuse_all_of(process));
        }
        let permit = outcome.map_err(|refusal| refusal.reason)?;
        let (_, _, receipt) = permit.spend();
        Ok(Box::new(RecordedApproval(receipt)))
    }

    fn denies(&self, request: &HostRequest) -> Option<String> {
        match self.session() {
            Some(session) => session.check(call(request)).ok().and_then(CheckResult::denied_because),
            None => Some("the session is over".to_owned()),
        }
    }
}

/// An approval whose end is recorded.
struct RecordedApproval(Receipt);

impl HostApproval for RecordedApproval {
    fn close(self: Box<Self>, end: Result<(), &str>) {
        let refused = |why| Outcome::Failed(Failure::plain(RefusalCode::Denied, why, DO_WITHOUT));
        // That the record did not take it changes nothing any more.
        let _ = self.0.close(&end.map_or_else(refused, |()| Outcome::Done));
    }
}

fn call(request: &HostRequest) -> ToolCall {
    let command_line = process_call::command_line(&request.caller);
    let connects = Some(request.to.clone());
    ToolCall::Process(ProcessCall { program: request.program(), command_line, effects: Vec::new(), connects })
}

/// Returns the waiting process as it is shown.
fn process(request: &HostRequest) -> ProcessShown {
    ProcessShown { program: request.program(), ..process_call::process(&request.caller) }
}
