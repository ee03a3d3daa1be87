//! A pattern as an automaton that is stepped byte by byte, so that it can stop at the end of a chunk and go on with the
//! next, and so that it is known at once when nothing can follow any more.

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

/// One pattern, ready to be run. It finds the longest match that begins where it is started.
#[derive(Debug)]
pub(crate) struct Automaton {
    dfa: dense::DFA<Vec<u32>>,
    start: StateID,
}

/// A state of an automaton.
pub(crate) type State = StateID;

/// More than any of our patterns needs; one that is larger is a mistake in the data, and a test finds it.
const MAX_BYTES: usize = 4 << 20;

impl Automaton {
    /// Patterns are about bytes: classes are ASCII, `.` is any byte but a line break.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let dfa = dense::Builder::new()
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(thompson::Config::new().utf8(false))
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::All)
                    .start_kind(StartKind::Anchored)
                    .accelerate(false)
                    .dfa_size_limit(Some(MAX_BYTES))
                    .determinize_size_limit(Some(MAX_BYTES)),
            )
            .build(pattern)
            .map_err(|error| format!("`{pattern}`: {error}"))?;
        let start = dfa
            .start_state_forward(&Input::new(b"").anchored(Anchored::Yes))
            .map_err(|error| format!("`{pattern}`: {error}"))?;
        Ok(Self { dfa, start })
    }

    pub(crate) fn start(&self) -> State {
        self.start
    }

    pub(crate) fn step(&self, state: State, byte: u8) -> State {
        self.dfa.next_state(state, byte)
    }

    /// The state behind the last byte of the text.
    pub(crate) fn end(&self, state: State) -> State {
        self.dfa.next_eoi_state(state)
    }

    /// Returns `true` if the bytes read before the last step are a match.
    pub(crate) fn is_match(&self, state: State) -> bool {
        self.dfa.is_match_state(state)
    }

    /// Returns `true` if no continuation can match.
    pub(crate) fn is_dead(&self, state: State) -> bool {
        self.dfa.is_dead_state(state) || self.dfa.is_quit_state(state)
    }

    /// Returns `true` if no continuation can extend a match that was just reported. It is looked for at the end of a
    /// chunk and before a marker only.
    pub(crate) fn is_complete(&self, state: State) -> bool {
        self.is_match(state)
            && (0..=u8::MAX).all(|byte| self.is_dead(self.step(state, byte)))
            && !self.is_match(self.end(state))
    }

    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.dfa.memory_usage()
    }
}
