//! One look at one place: from a word through what leads to the secret to its end.
//!
//! A run stops where the text stops and goes on when more has come, so it gives the same however the text is cut.
//! Nothing is looked at further than [`REACH`] from the last certain place: time stays linear and little is held back.

use std::ops::Range;

use crate::engine::{Automaton, State};
use crate::kind::{Automata, Form};
use crate::marker::{self, MarkerMatch};
use crate::value::KeyedValue;

/// Longest distance of a match from its beginning, or from the place where it was longest. More than a line of any token that is
/// decided late; the body of a private key is longer and goes on line by line.
pub(crate) const REACH: usize = 1024;

/// A body that is a match at this length is decided by what is there; what is longer is no word and no placeholder.
const LONG: usize = 256;

/// The most bytes that a [`crate::Stream`] holds back.
pub const MAX_HELD_BACK: usize = 2 * REACH + marker::MAX_LEN;

/// A text, or the part of it that is at hand.
#[derive(Clone, Copy)]
pub(crate) struct ScannedText<'a> {
    pub(crate) bytes: &'a [u8],
    /// Position of the part in the whole text.
    pub(crate) base: usize,
    /// Nothing follows.
    pub(crate) last: bool,
}

impl<'a> ScannedText<'a> {
    pub(crate) fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    /// Returns the bytes at hand from a position on.
    pub(crate) fn from(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at.saturating_sub(self.base)..).unwrap_or_default()
    }

    pub(crate) fn get(&self, range: Range<usize>) -> &'a [u8] {
        let range = range.start.saturating_sub(self.base)..range.end.saturating_sub(self.base);
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Result of one step of a run.
pub(crate) enum MatchStep {
    /// More text is needed.
    Waits,
    /// The lead is complete: the secret would begin here.
    Enters,
    /// A secret as far as the range goes, which may go on.
    Grows(Range<usize>),
    /// The whole secret (or the rest of it, when it has grown before).
    Ends(Range<usize>),
    /// No secret, or the end of one.
    Over,
}

/// A run, between two of its steps.
#[derive(Debug)]
pub(crate) struct Run {
    /// Position of its word.
    pub(crate) word: usize,
    phase: Phase,
    state: State,
    /// The next byte to be looked at.
    at: usize,
    /// Position at which this phase began.
    from: usize,
    /// End of the longest match so far.
    matched: Option<usize>,
    /// The whole lead is a match: the secret begins here or later.
    leads: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Lead,
    /// The secret may begin at `from`; whether it may be looked at is for others to say.
    Gate,
    Body,
    /// A secret, reported up to this position.
    Open(usize),
}

impl Run {
    /// A run for a word. What leads to a secret is behind it; without that the word is the beginning of the secret.
    pub(crate) fn new(word: Range<usize>, automata: &Automata) -> Self {
        let (phase, state, at) = match &automata.lead {
            Some(lead) => (Phase::Lead, lead.start(), word.end),
            None => (Phase::Gate, automata.body.start(), word.start),
        };
        Self { word: word.start, phase, state, at, from: at, matched: None, leads: false }
    }

    /// Returns the position at which the secret would begin, once that is known.
    pub(crate) fn secret(&self) -> Option<usize> {
        match self.phase {
            Phase::Lead => None,
            Phase::Gate | Phase::Body | Phase::Open(_) => Some(self.from),
        }
    }

    /// Bytes from here on may be a part of the secret and are not known to be.
    pub(crate) fn holds_from(&self) -> usize {
        match self.phase {
            Phase::Lead if self.leads => self.at,
            Phase::Lead => self.matched.unwrap_or(self.at),
            Phase::Gate | Phase::Body => self.from,
            Phase::Open(told) => told,
        }
    }

    /// Bytes from here on will be looked at again.
    pub(crate) fn needs_from(&self) -> usize {
        self.holds_from().min(self.at)
    }

    /// Lets it look at the secret.
    pub(crate) fn enter(&mut self) {
        if self.phase == Phase::Gate {
            self.phase = Phase::Body;
        }
    }

    /// Goes on as far as the text goes, or until there is something to say.
    pub(crate) fn go_on(&mut self, form: &Form, automata: &Automata, text: &ScannedText<'_>) -> MatchStep {
        match (self.phase, &automata.lead) {
            (Phase::Gate, _) => MatchStep::Enters,
            (Phase::Lead, Some(lead)) => self.follow(lead, &automata.body, text),
            // A run without a lead begins at the gate.
            (Phase::Lead, None) => MatchStep::Over,
            (Phase::Body, _) => match self.look(&automata.body, text) {
                ScanOutcome::Waits => MatchStep::Waits,
                ScanOutcome::Marker => MatchStep::Over,
                ScanOutcome::Ended => self.decide(form, text),
            },
            (Phase::Open(told), _) => self.grow(told, form, &automata.body, text),
        }
    }

    /// Follows what leads to the secret. Where a marker cuts it, nothing is certain, and nothing follows.
    fn follow(&mut self, lead: &Automaton, body: &Automaton, text: &ScannedText<'_>) -> MatchStep {
        match (self.look(lead, text), self.matched) {
            (ScanOutcome::Waits, _) => {
                self.leads = lead.is_match(lead.end(self.state));
                MatchStep::Waits
            }
            (ScanOutcome::Ended, Some(end)) => {
                let (phase, state, matched, leads) = (Phase::Gate, body.start(), None, false);
                *self = Self { word: self.word, phase, state, at: end, from: end, matched, leads };
                MatchStep::Enters
            }
            (ScanOutcome::Ended, None) | (ScanOutcome::Marker, _) => MatchStep::Over,
        }
    }

    /// Goes on with what is a secret as far as `told`.
    fn grow(&mut self, told: usize, form: &Form, body: &Automaton, text: &ScannedText<'_>) -> MatchStep {
        let look = self.look(body, text);
        let end = self.matched.unwrap_or(told).saturating_sub(form.keep).max(told);
        self.phase = Phase::Open(end);
        match (look, end == told) {
            (ScanOutcome::Waits, true) => MatchStep::Waits,
            (ScanOutcome::Waits, false) => MatchStep::Grows(told..end),
            (ScanOutcome::Ended | ScanOutcome::Marker, true) => MatchStep::Over,
            (ScanOutcome::Ended | ScanOutcome::Marker, false) => MatchStep::Ends(told..end),
        }
    }

    /// The body has ended, or is so long that it is decided by what is there.
    fn decide(&mut self, form: &Form, text: &ScannedText<'_>) -> MatchStep {
        let Some(end) = self.matched.map(|end| end.saturating_sub(form.keep)).filter(|end| *end > self.from)
        else {
            return MatchStep::Over;
        };
        let is_long = self.at - self.from >= LONG;
        let next = if is_long { None } else { text.from(end).first().copied() };
        let value = KeyedValue::new(text.get(self.from..end), next);
        if !form.accepts(&value) {
            return MatchStep::Over;
        }
        if is_long {
            self.phase = Phase::Open(end);
            MatchStep::Grows(self.from..end)
        } else {
            MatchStep::Ends(self.from..end)
        }
    }

    fn look(&mut self, automaton: &Automaton, text: &ScannedText<'_>) -> ScanOutcome {
        let rest = text.from(self.at);
        for (offset, byte) in rest.iter().enumerate() {
            if *byte == b'[' {
                match marker::detect(rest.get(offset..).unwrap_or_default(), text.last) {
                    // What has ended is told one byte late.
                    MarkerMatch::Yes(_) if automaton.is_complete(self.state) => return ScanOutcome::Ended,
                    MarkerMatch::Yes(_) => {
                        self.match_at_end(automaton);
                        return ScanOutcome::Marker;
                    }
                    MarkerMatch::Unknown => return ScanOutcome::Waits,
                    MarkerMatch::No => {}
                }
            }
            // The places of a run are told by `at`, also where it stops.
            let far = match self.phase {
                Phase::Body if self.matched.is_some() => LONG,
                Phase::Lead | Phase::Gate | Phase::Body | Phase::Open(_) => REACH,
            };
            if self.at >= self.anchor() + far {
                return ScanOutcome::Ended;
            }
            self.state = automaton.step(self.state, *byte);
            if automaton.is_match(self.state) {
                self.matched = Some(self.at);
            }
            if automaton.is_dead(self.state) {
                return ScanOutcome::Ended;
            }
            self.at += 1;
        }
        if !text.last {
            return if automaton.is_complete(self.state) { ScanOutcome::Ended } else { ScanOutcome::Waits };
        }
        self.match_at_end(automaton);
        ScanOutcome::Ended
    }

    /// A match is told one byte late; nothing comes that could tell the last one.
    fn match_at_end(&mut self, automaton: &Automaton) {
        if automaton.is_match(automaton.end(self.state)) {
            self.matched = Some(self.at);
        }
    }

    /// The last place that is certain: a body is decided by its beginning, and goes on from where it matched.
    fn anchor(&self) -> usize {
        match self.phase {
            Phase::Lead | Phase::Gate | Phase::Body => self.from,
            Phase::Open(told) => self.matched.unwrap_or(told),
        }
    }
}

/// Result of one look at the text.
enum ScanOutcome {
    /// With the text; more may follow.
    Waits,
    /// Nothing more can match, or it would be too far away.
    Ended,
    /// At a marker.
    Marker,
}
