//! The record, counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use pinfold::audit::AuditEvent;
use pinfold::audit::read::{Calls, RecordedCall};
use serde::Serialize;

use super::filter::LogFilter;
use crate::args::Stats;
use crate::exit::{DONE, Failure};
use crate::{output, record};

/// Counts of a span of the audit log.
#[derive(Debug, Default, Serialize)]
struct LogCounts {
    /// Calls that were decided about, each once.
    decisions: u64,
    /// Calls of them that were asked about.
    asked: u64,
    /// Final rulings of the gate; `question`: no answer was given.
    rulings: BTreeMap<String, u64>,
    /// Calls by tool.
    tools: BTreeMap<String, u64>,
    /// Calls by the step that decided.
    steps: BTreeMap<String, u64>,
    /// Calls by the rule, guard or safeguard that decided.
    rules: BTreeMap<String, u64>,
    /// Answers to questions.
    answers: BTreeMap<String, u64>,
    /// Time for which answers were waited for, in milliseconds, all together.
    waited_ms: u64,
    /// Refusals of the kernel to runs, and to shells of calls.
    refused_by_the_kernel: u64,
}

pub(super) fn stats(asked: &Stats) -> Result<ExitCode, Failure> {
    let filter = LogFilter::new(&asked.filters)?;
    let (mut counts, mut calls) = (LogCounts::default(), Calls::default());
    let mut reader = record::reader()?;
    if let Some(since) = filter.earliest() {
        reader.skip_before(since).map_err(|e| record::unreadable(&e))?;
    }
    record::each_line(&mut reader, |mut line, _| {
        if let AuditEvent::Decision(decision) = &mut line.event {
            // Nothing of it is counted, and it is most of a call that waits for its answer.
            decision.input = None;
        }
        counts.refused_by_the_kernel += match &line.event {
            AuditEvent::Refusal(_) if filter.takes(&line) => 1,
            AuditEvent::Outcome(outcome) if filter.takes(&line) => outcome.denials.len() as u64,
            _ => 0,
        };
        let begun_before = |call: &RecordedCall| filter.earliest().is_some() && is_settled_question(call);
        if let Some(call) = calls.take(line).filter(|call| filter.takes_call(call) && !begun_before(call)) {
            counts.add(&call);
        }
        Ok(())
    })?;
    calls.open().filter(|call| filter.takes_call(call)).for_each(|call| counts.add(call));
    let text = if asked.json { output::json_line(&counts) } else { counts.describe() };
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

/// Returns true if a call was asked about, and its question was not read: it was asked before the span.
fn is_settled_question(call: &RecordedCall) -> bool {
    call.asked == 0 && call.judged.decision.as_deref() == Some("ask")
}

impl LogCounts {
    fn add(&mut self, call: &RecordedCall) {
        let count = |list: &mut BTreeMap<String, u64>, what: &str| {
            *list.entry(what.to_owned()).or_default() += 1;
        };
        self.decisions += 1;
        self.asked += u64::from(call.asked > 0);
        count(&mut self.rulings, call.ruling.as_str());
        count(&mut self.tools, &call.tool);
        call.judged.step.iter().for_each(|step| count(&mut self.steps, step));
        call.judged.rule.iter().for_each(|rule| count(&mut self.rules, rule));
        for answer in &call.answers {
            count(&mut self.answers, &answer.choice);
            self.waited_ms += answer.waited_ms;
        }
    }

    fn describe(&self) -> String {
        let mut text =
            format!("{} calls were decided about, {} of them asked about\n", self.decisions, self.asked);
        let lists = [
            ("rulings", &self.rulings),
            ("tools", &self.tools),
            ("steps", &self.steps),
            ("rules", &self.rules),
            ("answers", &self.answers),
        ];
        for (title, list) in lists {
            if list.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n{title}");
            let mut most: Vec<_> = list.iter().collect();
            most.sort_by(|a, b| b.1.cmp(a.1));
            for (what, times) in most {
                let _ = writeln!(text, "  {times:>8}  {}", output::visible(what));
            }
        }
        let answers: u64 = self.answers.values().sum();
        if let Some(mean) = self.waited_ms.checked_div(answers) {
            let _ = writeln!(text, "\nan answer took {mean} ms on average");
        }
        if self.refused_by_the_kernel > 0 {
            let _ = writeln!(text, "\n{} refusals of the kernel", self.refused_by_the_kernel);
        }
        text
    }
}
