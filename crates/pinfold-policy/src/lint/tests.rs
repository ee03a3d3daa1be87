use super::*;
use crate::source::Layer;

fn rule(text: &str) -> SourcedRule {
    let (effect, rule) = text.split_once(' ').unwrap();
    let effect = match effect {
        "allow" => Effect::Allow,
        "ask" => Effect::Ask,
        "deny" => Effect::Deny,
        other => panic!("{other}: {text}"),
    };
    SourcedRule { effect, rule: Rule::parse(rule).unwrap(), source: Source::plain(Layer::User) }
}

/// The rules of a line of the table, and the remarks that stand there.
fn case(line: &str) -> (Vec<SourcedRule>, Vec<String>) {
    let (rules, remarks) = line.split_once("=>").unwrap_or((line, ""));
    // A bar with blanks around it separates rules, but where it stands in brackets.
    let mut texts: Vec<String> = Vec::new();
    for part in rules.split(" | ") {
        match texts.last_mut() {
            Some(last) if last.matches('(').count() > last.matches(')').count() => {
                last.push_str(" | ");
                last.push_str(part);
            }
            _ => texts.push(part.to_owned()),
        }
    }
    let words: Vec<_> = remarks.split_whitespace().collect();
    (
        texts.iter().map(|text| rule(text.trim())).collect(),
        words.chunks(2).map(|pair| pair.join(" ")).collect(),
    )
}

fn found(rules: &[SourcedRule]) -> Vec<String> {
    let number = |remark: &Remark| {
        let named = |rule: &SourcedRule| format!("{} {}", rule.effect.as_str(), rule.rule) == remark.rule;
        rules.iter().rposition(named).unwrap() + 1
    };
    let mut found: Vec<_> =
        lint(rules).iter().map(|remark| format!("{} {}", number(remark), remark.kind)).collect();
    found.sort();
    found
}

#[test]
fn every_line_of_the_table_has_its_remarks() {
    let lines = include_str!("cases.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut seen = 0;
    for line in lines {
        let (rules, expected) = case(line);
        assert_eq!(found(&rules), expected, "{line}");
        seen += 1;
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn many_rules_are_compared_in_a_moment() {
    let kinds = ["Bash(git tool%)", "Bash(tool% run *)", "Read(./src/a%/**)", "WebFetch(domain:a%.org)"];
    for kind in kinds {
        let rules: Vec<_> =
            (0..10_000).map(|i| rule(&format!("allow {}", kind.replace('%', &i.to_string())))).collect();
        let from = std::time::Instant::now();
        assert!(lint(&rules).is_empty(), "{kind}");
        assert!(from.elapsed().as_secs() < 5, "{kind}: {:?}", from.elapsed());
    }
}

/// One rule is said to cover another only when that is so: tried on commands.
#[test]
fn what_is_said_to_be_covered_is() {
    use crate::pattern::{CommandKey, CommandPattern};
    let words = ["a", "b", "ab", "a*", "*", "*b", "b?", "a:*"];
    let mut patterns = Vec::new();
    for one in words {
        patterns.push(one.to_owned());
        patterns.extend(words.iter().flat_map(|two| [format!("{one} {two}"), format!("{one} * {two}")]));
    }
    let patterns: Vec<_> =
        patterns.iter().filter_map(|text| Some((text, CommandPattern::parse(text).ok()?))).collect();
    let mut commands: Vec<String> = Vec::new();
    for one in ["a", "b", "ab", "bb"] {
        commands.push(one.to_owned());
        for two in ["a", "b", "ab", "bb"] {
            commands.push(format!("{one} {two}"));
            commands.extend(["a", "b", "bb"].iter().map(|three| format!("{one} {two} {three}")));
        }
    }
    let keys: Vec<_> = commands.iter().map(|command| (command, CommandKey::of_text(command))).collect();
    let mut covered = 0;
    for (wide, by) in &patterns {
        for (narrow, pattern) in patterns.iter().filter(|(_, pattern)| by.covers(pattern)) {
            covered += 1;
            for (command, key) in &keys {
                assert!(
                    !pattern.matches(key) || by.matches(key),
                    "`{wide}` does not cover `{narrow}`: {command}"
                );
            }
        }
    }
    assert!(covered > patterns.len() * 2, "{covered}");
}
