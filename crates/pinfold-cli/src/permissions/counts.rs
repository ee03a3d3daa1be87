//! How often a rule decided, by the record.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use pinfold::audit::ledger;
use pinfold::policy::{Layer, SourcedRule};
use serde::Deserialize;

/// How many calls each rule had a say in.
pub(crate) struct Counts(HashMap<(String, String), u64>);

/// A decision, as far as it is needed here.
#[derive(Deserialize)]
struct Decision<'a> {
    #[serde(borrow, default)]
    folder: Cow<'a, str>,
    #[serde(borrow, flatten)]
    deciding: Spoke<'a>,
    #[serde(borrow, default)]
    parts: Vec<Spoke<'a>>,
}

/// A rule that spoke, and where it stands.
#[derive(Deserialize)]
struct Spoke<'a> {
    #[serde(borrow)]
    rule: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source: Option<Cow<'a, str>>,
}

impl Counts {
    /// Counts in the record of a directory. What stands in settings of a project is counted for calls in that project.
    pub(crate) fn read(directory: &Path, project: Option<&Path>) -> io::Result<Self> {
        let mut counts = Self(HashMap::new());
        for file in ledger::files(directory)? {
            for line in BufReader::new(File::open(file)?).split(b'\n') {
                let line = line?;
                // Half a line is what a full disk leaves behind; it hides no other.
                if let Some(decision) = decision(&line) {
                    counts.add(&decision, project);
                }
            }
        }
        Ok(counts)
    }

    fn add(&mut self, decision: &Decision<'_>, project: Option<&Path>) {
        let here = project.is_some_and(|project| Path::new(&*decision.folder).starts_with(project));
        let mut counted: Vec<(&str, String)> = Vec::new();
        for spoke in std::iter::once(&decision.deciding).chain(&decision.parts) {
            let (Some(rule), Some(source)) = (&spoke.rule, &spoke.source) else { continue };
            let place = place(source);
            let of_project = [Layer::Local, Layer::Project].iter().any(|layer| is_of(*layer, place));
            // A call counts once for a rule, however many of its parts it covers.
            if (here || !of_project) && !counted.iter().any(|(r, p)| *r == &**rule && p == place) {
                counted.push((rule, place.to_owned()));
                *self.0.entry(((**rule).to_owned(), place.to_owned())).or_default() += 1;
            }
        }
    }

    /// How many calls it had a say in.
    pub(crate) fn of(&self, rule: &SourcedRule) -> u64 {
        let source = rule.source.to_string();
        let key = (rule.rule.text().to_owned(), place(&source).to_owned());
        self.0.get(&key).copied().unwrap_or(0)
    }
}

fn decision(line: &[u8]) -> Option<Decision<'_>> {
    let text = std::str::from_utf8(line).ok()?;
    text.contains(r#""kind":"decision""#).then(|| serde_json::from_str(text).ok())?
}

fn is_of(layer: Layer, place: &str) -> bool {
    place.strip_prefix(layer.word()).is_some_and(|rest| rest.starts_with(' '))
}

/// Where something stands, without line and column: those change with every line above.
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
            r#"{"v":2,"kind":"decision","rule":"Bash(git push *)","source":"user ~/s.json:4:7","folder":"/p"}"#,
            r#"{"v":2,"kind":"decision","rule":"Bash(git push *)","source":"user ~/s.json:9:7","folder":"/q",
               "parts":[{"rule":"Bash(git push *)","source":"user ~/s.json:9:7"}]}"#,
            r#"{"v":2,"kind":"decision","rule":"Bash(make)","source":"project .pinfold/settings.json:4:7","folder":"/p/sub"}"#,
            r#"{"v":2,"kind":"decision","rule":"Bash(make)","source":"project .pinfold/settings.json:4:7","folder":"/q"}"#,
            r#"{"v":2,"kind":"answer","rule":"Bash(make)","source":"project .pinfold/settings.json:4:7","folder":"/p"}"#,
            r#"{"v":2,"kind":"decision","step":"mode-default","folder":"/p","parts":[{"rule":"Edit(a)","source":"local l:1:2"}]}"#,
            r#"{"v":2,"kind":"decision","rule":"Bash(ma"#,
        ];
        let lines = lines.map(|line| line.replace("\n               ", "")).join("\n");
        std::fs::write(folder.path().join("record.jsonl"), lines).unwrap();
        let counts = Counts::read(folder.path(), Some(Path::new("/p"))).unwrap();
        for (text, layer, file, count) in [
            ("Bash(git push *)", Layer::User, "~/s.json", 2),
            ("Bash(git push *)", Layer::Managed, "~/s.json", 0),
            ("Bash(make)", Layer::Project, ".pinfold/settings.json", 1),
            ("Edit(a)", Layer::Local, "l", 1),
            ("Edit(b)", Layer::Local, "l", 0),
        ] {
            assert_eq!(counts.of(&rule(text, layer, file, 77)), count, "{text}");
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
