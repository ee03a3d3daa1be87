//! Counts of decisions by rule, from the audit log.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use pinfold::audit::LogReader;
use pinfold::audit::read::{Calls, Read, RecordedCall};
use pinfold::policy::{Layer, SourcedRule};

/// Counts of a record that grows. Each line is read once, however often the counts are looked at.
pub(crate) struct RuleCounter {
    reader: LogReader,
    project: Option<PathBuf>,
    /// Calls that are not decided yet.
    calls: Calls,
    /// Counts of those that are.
    decided: RuleCounts,
}

impl RuleCounter {
    /// A counter of a record. What stands in settings of a project is counted for calls in that project.
    pub(crate) fn new(reader: LogReader, project: Option<PathBuf>) -> Self {
        Self { reader, project, calls: Calls::default(), decided: RuleCounts::default() }
    }

    /// Counts what was written since the last look. A damaged line counts for nothing; `pinfold log` tells of it.
    pub(crate) fn counts(&mut self) -> io::Result<RuleCounts> {
        let Self { reader, project, calls, decided } = self;
        let project = project.as_deref();
        reader.for_each(|read| {
            let call = match read {
                Read::Line(line, _) => calls.take(line),
                Read::Damaged(_) => None,
            };
            if let Some(call) = &call {
                decided.add(call, project);
            }
            Ok::<(), io::Error>(())
        })?;
        let mut counts = decided.clone();
        calls.open().for_each(|call| counts.add(call, project));
        Ok(counts)
    }
}

/// Number of calls that each rule had a say in.
#[derive(Clone, Default)]
pub(crate) struct RuleCounts(HashMap<(String, String), u64>);

impl RuleCounts {
    /// A call counts once for a rule, however many of its parts it covers and however often it was asked about.
    fn add(&mut self, call: &RecordedCall, project: Option<&Path>) {
        let here = project.is_some_and(|project| Path::new(&call.judged.folder).starts_with(project));
        let mut counted: Vec<(&str, &str)> = Vec::new();
        let decisions = std::iter::once(&call.judged).chain(&call.settled);
        let spoke = decisions.flat_map(|decision| {
            let parts = decision.parts.iter().map(|part| (&part.rule, &part.source));
            parts.chain([(&decision.rule, &decision.source)])
        });
        for (rule, source) in spoke {
            let (Some(rule), Some(source)) = (rule, source) else { continue };
            let place = place(source);
            let of_project = [Layer::Local, Layer::Project].iter().any(|layer| is_of(*layer, place));
            if (here || !of_project) && !counted.contains(&(rule, place)) {
                counted.push((rule, place));
                *self.0.entry((rule.clone(), place.to_owned())).or_default() += 1;
            }
        }
    }

    /// Returns the number of calls that a rule had a say in.
    pub(crate) fn get(&self, rule: &SourcedRule) -> u64 {
        let source = rule.source.to_string();
        let key = (rule.rule.text().to_owned(), place(&source).to_owned());
        self.0.get(&key).copied().unwrap_or(0)
    }
}

fn is_of(layer: Layer, place: &str) -> bool {
    place.strip_prefix(layer.as_str()).is_some_and(|rest| rest.starts_with(' '))
}

/// Returns a source without line and column, which change with every line above.
fn place(source: &str) -> &str {
    let mut place = source;
    for _ in 0..2 {
        match place.rsplit_once(':') {
            Some((before, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
                place = before;
            }
            Some(_) | None => break,
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use pinfold::policy::Source;
    use pinfold::policy::rule::{Effect, Rule};

    use super::*;

    fn rule(text: &str, layer: Layer, file: &str, line: u32) -> SourcedRule {
        let source = Source { layer, file: Some(file.into()), at: Some((line, 3)) };
        SourcedRule { effect: Effect::Ask, rule: Rule::parse(text).unwrap(), source }
    }

    #[test]
    fn calls_are_counted_once_for_each_rule_that_spoke() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [
            r#"{"id":1,"kind":"decision","ruling":"permit","rule":"Bash(git push *)","source":"user ~/s.json:4:7","folder":"/p"}"#,
            r#"{"id":2,"kind":"decision","ruling":"question","rule":"Bash(git push *)","source":"user ~/s.json:9:7","folder":"/q",
               "parts":[{"rule":"Bash(git push *)","source":"user ~/s.json:9:7"}]}"#,
            // Asked about and then let through: the same call.
            r#"{"id":2,"kind":"decision","ruling":"permit","rule":"Bash(git push *)","source":"user ~/s.json:9:7","folder":"/q"}"#,
            r#"{"id":3,"kind":"decision","ruling":"permit","rule":"Bash(make)","source":"project .pinfold/settings.json:4:7","folder":"/p/sub"}"#,
            r#"{"id":4,"kind":"decision","ruling":"permit","rule":"Bash(make)","source":"project .pinfold/settings.json:4:7","folder":"/q"}"#,
            r#"{"id":5,"kind":"answer","rule":"Bash(make)","source":"project .pinfold/settings.json:4:7","folder":"/p"}"#,
            // Asked about and not answered.
            r#"{"id":6,"kind":"decision","ruling":"question","step":"mode-default","folder":"/p","parts":[{"rule":"Edit(a)","source":"local l:1:2"}]}"#,
            r#"{"id":7,"kind":"decision","rule":"Bash(ma"#,
        ];
        let lines = lines
            .map(|line| line.replace("\n               ", "").replacen('{', r#"{"v":2,"session":"s","#, 1));
        let file = folder.path().join("record.jsonl");
        let (earlier, later) = lines.split_at(2);
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        std::fs::write(&file, text(earlier)).unwrap();
        let reader = LogReader::open_file(&pinfold::Ambient::claim(), &file);
        let mut counter = RuleCounter::new(reader, Some(PathBuf::from("/p")));
        let pushes = rule("Bash(git push *)", Layer::User, "~/s.json", 77);
        // Looked at twice, while one of them waits for an answer.
        assert_eq!([(); 2].map(|()| counter.counts().unwrap().get(&pushes)), [2, 2]);
        std::fs::write(&file, text(earlier) + &text(later)).unwrap();
        let counts = counter.counts().unwrap();
        for (text, layer, file, count) in [
            ("Bash(git push *)", Layer::User, "~/s.json", 2),
            ("Bash(git push *)", Layer::Managed, "~/s.json", 0),
            ("Bash(make)", Layer::Project, ".pinfold/settings.json", 1),
            ("Edit(a)", Layer::Local, "l", 1),
            ("Edit(b)", Layer::Local, "l", 0),
        ] {
            assert_eq!(counts.get(&rule(text, layer, file, 77)), count, "{text}");
        }
    }

    #[test]
    fn lines_and_columns_are_no_part_of_a_place() {
        for (source, of) in [
            ("user ~/s.json:4:7", "user ~/s.json"),
            ("user ~/a:b.json", "user ~/a:b.json"),
            ("command line", "command line"),
            ("user ~/a:3:4:7", "user ~/a:3"),
        ] {
            assert_eq!(place(source), of);
        }
    }
}
