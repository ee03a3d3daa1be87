//! Connections of processes to hosts that no rule allows, on the road of every call.

use std::path::PathBuf;

use pinfold::consent::{Answer, Caller, Choice, ProcessShown};
use pinfold::policy::ProcessCall;
use pinfold::{CallRequest, Considered, Decided, Outcome, ToolCall};
use pinfold_boundary::{Decides, Wish};

use super::denied::ALL_OF_PROCESS;
use super::waiting::Desk;
use super::words;

/// What connecting is called in reports.
const REACHES: &str = "reach";

impl Decides for Desk {
    fn may_connect(&self, wish: &Wish, waits: &(dyn Fn() -> bool + Sync)) -> Result<(), String> {
        let session = self.session().ok_or("the session is over")?;
        let process_id = wish.caller.as_ref().map(|caller| caller.process);
        if process_id.is_some_and(|process| self.refuses_all_of(process)) {
            return Err(ALL_OF_PROCESS.to_owned());
        }
        let caller = Caller { waits: Some(waits), ..Caller::default() };
        let request = CallRequest::typed(call(wish)).with_process(process(wish)).with_caller(caller);
        let Decided { outcome, answered, .. } = session.decide(request);
        if let (Some(process), Some(Answer { choice: Choice::No { process: true, .. }, .. })) =
            (process_id, &answered)
        {
            self.refuse_all_of(process);
        }
        let permit = outcome.map_err(|refusal| refusal.reason)?;
        let (_, _, receipt) = permit.spend();
        // That the record did not take it changes nothing any more.
        let _ = receipt.close(&Outcome::Done);
        self.let_through((REACHES, PathBuf::from(wish.to.to_string()), wish.program()));
        Ok(())
    }

    fn denies(&self, wish: &Wish) -> Option<String> {
        match self.session() {
            Some(session) => session.check(call(wish)).ok().and_then(Considered::denied_because),
            None => Some("the session is over".to_owned()),
        }
    }
}

fn call(wish: &Wish) -> ToolCall {
    let command_line = wish.caller.as_ref().map(words::command_line).unwrap_or_default();
    let connects = Some(wish.to.clone());
    ToolCall::Process(ProcessCall { program: wish.program(), command_line, touches: Vec::new(), connects })
}

/// Who is shown to wait.
fn process(wish: &Wish) -> ProcessShown {
    match &wish.caller {
        Some(caller) => words::process(caller),
        None => ProcessShown { pid: 0, program: wish.program(), command_line: String::new() },
    }
}
