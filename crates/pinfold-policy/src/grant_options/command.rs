//! Grants on offer for a simple command.

use pinfold_commands::{CommandClaim, is_system_path};

use super::breadth::{self, Breadth, CommandBreadth};
use super::trial::Trial;
use super::{AskedPart, granting};
use crate::claim::ShellClaim;
use crate::grant::Grant;
use crate::rule::{Rule, RuleSubject};

/// The command with what could be granted for it.
pub(super) fn command_part<'a>(trial: &Trial<'_>, at: usize, nothing: AskedPart<'a>) -> AskedPart<'a> {
    let Some(claim) = trial.case.claims.commands.get(at) else { return nothing };
    let shell_text = trial.case.claims.shell.as_ref().and_then(ShellClaim::text).unwrap_or_default();
    let part = shell_text.get(claim.span.clone()).unwrap_or(shell_text).to_owned();
    let breadth = breadth::of_claim(claim);
    let excluded = !claim.not_allowlistable.is_empty() || !trial.case.claims.not_allowlistable.is_empty();
    if excluded || !breadth.kind.may_stand() {
        return AskedPart { part, ..nothing };
    }
    let Rules { exact, open } = rules(claim, breadth);
    let usual = usize::from(exact.is_some() && !open.is_empty() && has_more(claim, breadth));
    let rules: Vec<Rule> = exact.into_iter().chain(open).collect();
    let class = breadth::is_plain(claim).then_some(Grant::PlainCommands);
    // The usual rule first, then what is narrower.
    let narrower = rules.iter().take(usual + 1).rev().map(granting);
    let session = class.into_iter().chain(narrower).collect();
    AskedPart { part, session, rules, usual, ..nothing }
}

/// The rules that could be written for a command.
struct Rules {
    /// This command and no other, where a rule can say it.
    exact: Option<Rule>,
    /// Wider rules, the narrowest first.
    open: Vec<Rule>,
}

fn rules(claim: &CommandClaim, breadth: Breadth) -> Rules {
    let words: Option<Vec<&str>> = breadth::known(claim.allowable()).into_iter().collect();
    let program = claim.allowable().program().unwrap_or_default();
    let program = if is_system_path(program) { claim.allowable().name().unwrap_or(program) } else { program };
    let args = |words: &[&str]| [&[program], words.get(1..).unwrap_or_default()].concat().join(" ");
    let exact = words.as_deref().and_then(|words| exact(&args(words), words.len()));
    let mut open = Vec::new();
    if breadth.kind == CommandBreadth::Plain {
        let first = |count: usize| {
            let known = breadth::known(claim.allowable());
            let words: Option<Vec<&str>> = known.get(..count)?.iter().copied().collect();
            left_open(&args(&words?), claim.allowable().words.len() > count)
        };
        open.extend(breadth.prefix.and_then(first));
        if breadth.open || claim.read_only || claim.inert {
            open.extend(first(1));
        }
    }
    open.dedup();
    Rules { exact, open }
}

/// Returns whether there is more than the words that say what it does.
fn has_more(claim: &CommandClaim, breadth: Breadth) -> bool {
    breadth.prefix.is_some_and(|count| claim.allowable().words.len() > count)
}

/// A rule for these words and no others; `None` where no rule says just them.
fn exact(words: &str, count: usize) -> Option<Rule> {
    let rule = Rule::parse(&format!("Bash({words})")).ok()?;
    match rule.covers() {
        RuleSubject::Command(pattern) => {
            (pattern.is_exact() && pattern.leading().len() == count).then_some(rule)
        }
        _ => None,
    }
}

/// A rule for these words with anything behind them; `:*` where nothing may stand there too.
fn left_open(words: &str, more: bool) -> Option<Rule> {
    let end = if more { " *" } else { ":*" };
    let rule = Rule::parse(&format!("Bash({words}{end})")).ok()?;
    match rule.covers() {
        RuleSubject::Command(pattern) => {
            (pattern.leading().len() == words.split(' ').count()).then_some(rule)
        }
        _ => None,
    }
}
