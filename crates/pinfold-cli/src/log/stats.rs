//! The record, counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;

use super::filter::Filter;
use super::lines::Reader;
use crate::args::Stats;
use crate::exit::{DONE, Failure};
use crate::{record, say};

/// What was counted.
#[derive(Debug, Default, Serialize)]
struct Counts {
    /// Calls that were decided about.
    decisions: u64,
    /// How the gate answered.
    rulings: BTreeMap<String, u64>,
    /// Which tools.
    tools: BTreeMap<String, u64>,
    /// Which step decided.
    steps: BTreeMap<String, u64>,
    /// Which rule, guard or safeguard decided.
    rules: BTreeMap<String, u64>,
    /// What was answered to questions.
    answers: BTreeMap<String, u64>,
    /// How long answers were waited for, in milliseconds, all together.
    waited_ms: u64,
    /// What the kernel refused to runs.
    refused_by_the_kernel: u64,
}

pub(super) fn stats(asked: &Stats) -> Result<ExitCode, Failure> {
    let filter = Filter::new(&asked.filters)?;
    let mut counts = Counts::default();
    Reader::open(&record::directory()?).each(|line| {
        if filter.takes(&line.record) {
            counts.add(&line.record);
        }
        Ok(())
    })?;
    let text = if asked.json {
        serde_json::to_string(&counts).unwrap_or_default() + "\n"
    } else {
        counts.in_words()
    };
    say::out(&text)?;
    Ok(ExitCode::from(DONE))
}

impl Counts {
    fn add(&mut self, record: &Value) {
        let mut count = |list: fn(&mut Self) -> &mut BTreeMap<String, u64>, key: &str| {
            if let Some(text) = record[key].as_str() {
                *list(self).entry(text.to_owned()).or_default() += 1;
            }
        };
        match record["kind"].as_str().unwrap_or_default() {
            "decision" => {
                count(|counts| &mut counts.rulings, "ruling");
                count(|counts| &mut counts.tools, "tool");
                count(|counts| &mut counts.steps, "step");
                count(|counts| &mut counts.rules, "rule");
                self.decisions += 1;
            }
            "answer" => {
                count(|counts| &mut counts.answers, "choice");
                self.waited_ms += record["waited_ms"].as_u64().unwrap_or(0);
            }
            "refusal" => self.refused_by_the_kernel += 1,
            _ => {}
        }
    }

    fn in_words(&self) -> String {
        let mut text = format!("{} decisions\n", self.decisions);
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
                let _ = writeln!(text, "  {times:>8}  {}", say::visible(what));
            }
        }
        let answers: u64 = self.answers.values().sum();
        if let Some(mean) = self.waited_ms.checked_div(answers) {
            let _ = writeln!(text, "\nan answer took {mean} ms on average");
        }
        if self.refused_by_the_kernel > 0 {
            let _ = writeln!(text, "\n{} refusals of the kernel to runs", self.refused_by_the_kernel);
        }
        text
    }
}
