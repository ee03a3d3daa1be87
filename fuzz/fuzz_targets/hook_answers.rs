//! Any bytes as the answer of a hook, to every event.
//!
//! Fails when it panics, or when an answer that is not understood gives something. The first byte is how the hook ended. The
//! same check runs over random answers with the ordinary tests (`an_answer_in_trouble_gives_nothing`). The module is taken
//! by its file, since it is nobody else's.
//!
//! Run with `cargo fuzz run -s none hook_answers -- -dict=fuzz/dictionaries/hook_answers.dict`.

#![no_main]

#[rustfmt::skip]
#[path = "../../crates/pinfold-hooks/src/answer.rs"]
#[allow(dead_code, reason = "the target takes its part")]
mod answer;
/// What the module takes from its crate.
mod runner {
    pub(crate) use pinfold_hooks::{HookResult, Output};
}

use libfuzzer_sys::fuzz_target;
use pinfold::policy::{Decision, HookEvent};
use pinfold_hooks::{HookResult, Output};

fuzz_target!(|bytes: &[u8]| {
    let Some((how, said)) = bytes.split_first() else { return };
    for event in HookEvent::ALL {
        let out = Output::whole(said.to_vec());
        let code = (*how < 130).then(|| i32::from(*how));
        let ended =
            answer::understood(*event, &HookResult::Ended { code, out: out.clone(), err: Output::default() });
        let status = u16::from(*how) + 100;
        let answered = answer::understood(*event, &HookResult::Answered { status, body: out });
        for (answer, fine) in [(ended, code == Some(0)), (answered, (200..300).contains(&status))] {
            let gives = answer.decision == Some(Decision::Allow)
                || answer.input.is_some()
                || answer.retry
                || !answer.updates.is_empty();
            assert!(!gives || fine && answer.trouble.is_none(), "{event:?} {how}: {}", said.escape_ascii());
        }
    }
});
