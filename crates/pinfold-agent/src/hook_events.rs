//! The moments of an agent at which hooks are asked: before it stops, and before it forgets.

use pinfold::policy::HookEvent;
use serde_json::{Value, json};

use crate::agent::{Agent, StopReason};
use crate::compact::{compact, is_long};
use crate::event::{End, Event};

/// Most times that hooks may have one agent go on that wanted to stop: behind this they never let it.
const MAX_HELD_BACK: u32 = 10;

impl Agent {
    /// The model is done, and nothing waits to be heard. Whether a hook has it go on.
    pub(crate) fn is_held_back(&mut self) -> bool {
        if self.held_back >= MAX_HELD_BACK {
            return false;
        }
        let said = self.session.event(self.stopping(), &self.stop_event_data());
        let Some(why) = said.blocked.filter(|_| said.stop.is_none()) else { return false };
        self.held_back += 1;
        let parts = std::iter::once(format!("a hook has you go on: {why}")).chain(said.context);
        self.add_user_message(parts.collect::<Vec<_>>().join("\n\n"));
        true
    }

    /// Tells hooks of one below that is stopped, which is not asked whether it may.
    pub(crate) fn report_stopped(&self, how: End) {
        if self.who.depth > 0 && how != End::Done {
            let _ = self.session.event(self.stopping(), &self.stop_event_data());
        }
    }

    fn stopping(&self) -> HookEvent {
        if self.who.depth == 0 { HookEvent::Stop } else { HookEvent::SubagentStop }
    }

    fn stop_event_data(&self) -> Value {
        let (kind, again, words) = (&self.who.name, self.held_back > 0, &self.summary);
        json!({"agent_type": kind, "stop_hook_active": again, "last_assistant_message": words})
    }

    /// Makes a long conversation shorter, unless a hook says not now: then it is asked again before the next turn.
    pub(crate) fn shorten(&mut self) -> Result<(), StopReason> {
        if !is_long(&self.talk.messages) {
            return Ok(());
        }
        let said = self.session.event(HookEvent::PreCompact, &json!({"trigger": "auto"}));
        if let Some(why) = said.stop {
            return Err((End::Stopped, format!("a hook says: {why}")));
        }
        if said.blocked.is_none() {
            let bytes = compact(&mut self.talk.messages);
            self.team.emit(&Event::Compacted { agent: self.who.id.clone(), bytes });
        }
        said.context.into_iter().for_each(|text| self.add_user_message(text));
        Ok(())
    }
}
