//! Progress of a run, as lines.

use pinfold_agent::{CallOutcome, Event, Listener};

use crate::output;

/// Tells each event in a line or two, on standard error.
#[derive(Debug)]
pub(super) struct EventPrinter;

impl Listener for EventPrinter {
    fn handle_event(&self, event: &Event) {
        if let Some(text) = event_text(event) {
            // A failed write cannot be reported.
            let _ = output::message(&(output::lines(&text) + "\n"));
        }
    }
}

fn event_text(event: &Event) -> Option<String> {
    let agent = event.agent();
    Some(match event {
        Event::Started { who, mode, .. } => format!("{agent}: begins in {} ({mode})", who.folder),
        Event::Waits { folder, held_by, .. } => {
            format!("{agent}: waits for {folder}, where {held_by} works")
        }
        Event::Called { result, .. } => {
            let line = format!("{agent}: {} -> {}", result.short, result.how.describe());
            match result.how {
                // The words that the model got, which say what to do instead.
                CallOutcome::Denied { .. } => {
                    format!("{line}\n  {}", result.text.lines().next().unwrap_or_default())
                }
                CallOutcome::Allowed | CallOutcome::Failed { .. } => line,
            }
        }
        Event::Parked { short, why, .. } => format!("{agent}: {short} waits for approval: {why}"),
        Event::Compacted { bytes, .. } => format!("{agent}: {bytes} bytes of old results were left out"),
        Event::Ended { ending, spent, .. } => {
            let why = if ending.why.is_empty() { String::new() } else { format!(": {}", ending.why) };
            let turns = if spent.turns == 1 { "turn" } else { "turns" };
            let denied =
                if ending.denied == 0 { String::new() } else { format!(", {} denied", ending.denied) };
            format!("{agent}: {}{why} ({} {turns}{denied})", ending.how.as_str(), spent.turns)
        }
        Event::Told { .. } | Event::Turn { .. } => return None,
    })
}

/// Prints each event as a line of JSON, on standard output, without secrets.
#[derive(Debug)]
pub(super) struct AsJson;

impl Listener for AsJson {
    fn handle_event(&self, event: &Event) {
        // A closed pipe ends the output, not the run.
        let _ = output::out(&output::json_line(&event.clean()));
    }
}
