//! Progress of a run, as lines.

use std::time::Duration;

use pinfold_agent::{CallOutcome, Event, Listener, ModelDelay};

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
        Event::Delayed { delay, .. } => format!("{agent}: {}", delay_text(delay)),
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

fn delay_text(delay: &ModelDelay) -> String {
    let seconds = |ms: u64| Duration::from_millis(ms).as_secs_f32();
    match delay {
        ModelDelay::Retry { why, wait_ms, next_try, tries } => {
            format!("{why}: waits {} s before try {next_try} of {tries}", seconds(*wait_ms))
        }
        ModelDelay::Silence { silent_ms, limit_ms } => format!(
            "nothing has come from the provider for {} s: waits up to {} s",
            seconds(*silent_ms),
            seconds(*limit_ms)
        ),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_of_the_model_is_told_in_one_line() {
        let why = "the provider answers 429: busy".to_owned();
        let delays = [
            (
                ModelDelay::Retry { why, wait_ms: 500, next_try: 2, tries: 5 },
                "main: the provider answers 429: busy: waits 0.5 s before try 2 of 5",
            ),
            (
                ModelDelay::Silence { silent_ms: 15_000, limit_ms: 300_000 },
                "main: nothing has come from the provider for 15 s: waits up to 300 s",
            ),
        ];
        for (delay, line) in delays {
            let event = Event::Delayed { agent: "main".to_owned(), delay };
            assert_eq!(event_text(&event).as_deref(), Some(line));
        }
    }
}
