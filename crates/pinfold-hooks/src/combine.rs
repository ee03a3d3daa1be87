//! Several answers made one: deny, then ask, then allow.
//!
//! Of several who write another input the last is taken, and then only its own yes counts: the others said theirs about
//! another call.

use std::sync::Arc;

use pinfold::consent::{EventReply, PermissionRequestReply, PreToolUseReply};
use pinfold::policy::{Decision, HookDecision, HookDecisionOrigin, RuleSet};

use crate::answer::HookAnswer;

/// The answer of one hook.
#[derive(Debug)]
pub(crate) struct NamedAnswer {
    /// Number of the hook.
    pub(crate) number: usize,
    /// Name of the hook for people.
    pub(crate) by: String,
    /// Rules that its yes is limited to.
    pub(crate) only: Option<Arc<RuleSet>>,
    pub(crate) answer: HookAnswer,
}

impl NamedAnswer {
    fn has_decision(&self, decision: Decision) -> bool {
        self.answer.decision == Some(decision)
    }
}

/// Combines answers given before a call is judged. `may_write`: another input may be written.
pub(crate) fn combine_pre_tool_use(said: Vec<NamedAnswer>, may_write: bool) -> PreToolUseReply {
    let writer = said
        .iter()
        .filter(|said| may_write && said.answer.input.is_some())
        .map(|said| said.number)
        .next_back();
    let decision = combine_decisions(&said, writer);
    let mut before = PreToolUseReply { decision, writer, ..PreToolUseReply::default() };
    for NamedAnswer { number, answer, .. } in said {
        before.context.extend(answer.context);
        before.stop = before.stop.or(answer.stop);
        if Some(number) == writer {
            before.input = answer.input;
        }
    }
    before
}

/// Returns the strictest decision. A hook that allows under no condition allows for all of them.
fn combine_decisions(said: &[NamedAnswer], writer: Option<usize>) -> Option<HookDecision> {
    let strict = [Decision::Deny, Decision::Ask]
        .into_iter()
        .find_map(|decision| said.iter().find(|said| said.has_decision(decision)));
    if let Some(strict) = strict {
        return Some(to_hook_decision(strict, Vec::new()));
    }
    let (first, only) = first_allow(said, writer)?;
    Some(to_hook_decision(first, only))
}

fn to_hook_decision(said: &NamedAnswer, only: Vec<Arc<RuleSet>>) -> HookDecision {
    HookDecision {
        decision: said.answer.decision.unwrap_or(Decision::Deny),
        reason: said.answer.reason.clone().unwrap_or_default(),
        by: said.by.clone(),
        only,
        origin: HookDecisionOrigin::Hook,
    }
}

/// The first yes that counts, and what all of them together are limited to.
fn first_allow(said: &[NamedAnswer], writer: Option<usize>) -> Option<(&NamedAnswer, Vec<Arc<RuleSet>>)> {
    let counts = |said: &&NamedAnswer| {
        said.has_decision(Decision::Allow) && writer.is_none_or(|writer| writer == said.number)
    };
    let mut allowing = said.iter().filter(counts);
    let first = allowing.next()?;
    let all = || std::iter::once(first).chain(allowing.clone());
    let free = all().any(|said| said.only.is_none());
    let only = if free { Vec::new() } else { all().filter_map(|said| said.only.clone()).collect() };
    Some((first, only))
}

/// Combines answers to a question.
pub(crate) fn combine_permission_request(said: Vec<NamedAnswer>) -> PermissionRequestReply {
    if let Some(no) = said.iter().find(|said| said.has_decision(Decision::Deny)) {
        return PermissionRequestReply {
            yes: Some(false),
            message: no.answer.reason.clone(),
            interrupt: said.iter().any(|said| said.has_decision(Decision::Deny) && said.answer.interrupt),
            by: no.by.clone(),
            ..PermissionRequestReply::default()
        };
    }
    // Who wants a person to see it leaves it to one, whatever the others say.
    if said.iter().any(|said| said.has_decision(Decision::Ask)) {
        return PermissionRequestReply::default();
    }
    let writer = said.iter().filter(|said| said.answer.input.is_some()).map(|said| said.number).next_back();
    let mut answer = PermissionRequestReply::default();
    if let Some((first, only)) = first_allow(&said, writer) {
        (answer.yes, answer.only, answer.by) = (Some(true), only, first.by.clone());
    }
    for said in said {
        let counts = said.has_decision(Decision::Allow) && writer.is_none_or(|writer| writer == said.number);
        if counts {
            answer.updates.extend(said.answer.updates);
        }
        if Some(said.number) == writer {
            answer.input = said.answer.input;
            if answer.by.is_empty() {
                answer.by = said.by;
            }
        }
    }
    answer
}

/// Combines answers given after the event.
pub(crate) fn combine_post_event(said: Vec<NamedAnswer>) -> EventReply {
    let mut all = EventReply::default();
    for NamedAnswer { answer, .. } in said {
        all.context.extend(answer.context);
        all.blocked = all.blocked.or(answer.blocked);
        all.stop = all.stop.or(answer.stop);
    }
    all
}

#[cfg(test)]
mod tests {
    use pinfold::consent::Update;
    use pinfold::policy::Mode;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn named_answer(number: usize, decision: Option<Decision>, input: Option<&str>) -> NamedAnswer {
        let input = input.map(|command| json!({"command": command}));
        let answer =
            HookAnswer { decision, input, reason: Some(format!("r{number}")), ..HookAnswer::default() };
        NamedAnswer { number, by: format!("h{number}"), only: None, answer }
    }

    use Decision::{Allow, Ask, Deny};

    #[test]
    fn deny_then_ask_then_allow() {
        for (words, expected) in [
            (vec![], None),
            (vec![None], None),
            (vec![Some(Allow)], Some((Allow, "h0"))),
            (vec![Some(Allow), Some(Deny), Some(Ask)], Some((Deny, "h1"))),
            (vec![Some(Deny), Some(Allow)], Some((Deny, "h0"))),
            (vec![None, Some(Ask), Some(Allow)], Some((Ask, "h1"))),
        ] {
            let all = words.iter().enumerate().map(|(i, word)| named_answer(i, *word, None)).collect();
            let decision = combine_pre_tool_use(all, true).decision;
            assert_eq!(
                decision.map(|hook| (hook.decision, hook.by)),
                expected.map(|(d, by)| (d, by.to_owned())),
                "{words:?}"
            );
        }
    }

    #[test]
    fn the_last_writer_is_taken_and_its_yes_alone() {
        let both = || vec![named_answer(0, Some(Allow), Some("a")), named_answer(1, None, Some("b"))];
        let found = combine_pre_tool_use(both(), true);
        assert_eq!(
            (found.input, found.writer, found.decision),
            (Some(json!({"command": "b"})), Some(1), None)
        );
        let found = combine_permission_request(both());
        assert_eq!((found.input, found.yes, &*found.by), (Some(json!({"command": "b"})), None, "h1"));
        // Whose decision was about what is judged in the end: it counts.
        let found = combine_pre_tool_use(both(), false);
        assert_eq!((found.input, found.decision.map(|hook| hook.decision)), (None, Some(Allow)));
        let found = combine_pre_tool_use(
            vec![named_answer(0, None, None), named_answer(1, Some(Allow), Some("b"))],
            true,
        );
        assert_eq!(found.decision.map(|hook| hook.decision), Some(Allow));
    }

    #[test]
    fn what_is_granted_comes_with_a_yes_that_counts() {
        let grants = |number, decision| {
            let mut said = named_answer(number, decision, None);
            said.answer.updates.push(Update::SetMode(Mode::AcceptEdits));
            said
        };
        assert_eq!(combine_permission_request(vec![grants(0, Some(Allow))]).updates.len(), 1);
        assert!(combine_permission_request(vec![grants(0, None)]).updates.is_empty());
        assert!(
            combine_permission_request(vec![grants(0, Some(Allow)), named_answer(1, Some(Deny), None)])
                .updates
                .is_empty()
        );
        assert!(
            combine_permission_request(vec![grants(0, Some(Allow)), named_answer(1, Some(Ask), None)])
                .updates
                .is_empty()
        );
        assert!(
            combine_permission_request(vec![grants(0, Some(Allow)), named_answer(1, None, Some("b"))])
                .updates
                .is_empty()
        );
    }

    proptest! {
        /// Another hook can make the decision stricter; looser only where nothing strict was said.
        #[test]
        fn one_more_hook_never_loosens_a_no_or_a_question(
            words in prop::collection::vec(prop::option::of(0_u8..3), 0..6),
            more in prop::option::of(0_u8..3),
        ) {
            let decision = |word: &Option<u8>| word.map(|word| [Allow, Ask, Deny][usize::from(word)]);
            let all = |words: &[Option<u8>]| words.iter().enumerate().map(|(i, word)| named_answer(i, decision(word), None)).collect::<Vec<_>>();
            let alone = combine_pre_tool_use(all(&words), true).decision.map(|hook| hook.decision);
            let with: Vec<_> = words.iter().copied().chain([more]).collect();
            let together = combine_pre_tool_use(all(&with), true).decision.map(|hook| hook.decision);
            if alone > Some(Allow) {
                prop_assert!(together >= alone);
            }
            let no = combine_permission_request(all(&words)).yes == Some(false);
            prop_assert!(!no || combine_permission_request(all(&with)).yes == Some(false));
        }
    }
}
