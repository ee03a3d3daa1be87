//! Budgets: the usage of one agent with all below it, counted once for each ancestor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pinfold::agents::AgentLimits;
use serde::{Deserialize, Serialize};

use crate::model::Usage;

/// Limits and usage of one agent with all below it.
#[derive(Debug)]
pub struct Budget {
    limits: AgentLimits,
    started: Instant,
    /// Time that was used up before: by the run that this one goes on with.
    before: Duration,
    spent: Counters,
    above: Option<Arc<Self>>,
}

#[derive(Debug, Default)]
struct Counters {
    turns: AtomicU64,
    input: AtomicU64,
    output: AtomicU64,
    cost: AtomicU64,
    bytes: AtomicU64,
    agents: AtomicU64,
    fetches: AtomicU64,
}

/// Usage so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Answers of models.
    pub turns: u64,
    /// Tokens that went in.
    pub input: u64,
    /// Tokens that came out.
    pub output: u64,
    /// Money, in millionths of the unit that prices are given in.
    pub cost: u64,
    /// Bytes that tools answered.
    pub bytes: u64,
    /// Agents that were started.
    pub agents: u64,
    /// Pages that were fetched.
    #[serde(default)]
    pub fetches: u64,
    /// Milliseconds.
    pub ms: u64,
}

impl Budget {
    /// Creates the budget of a run, of which `spent` is used up already.
    pub fn new(limits: AgentLimits, spent: UsageTotals) -> Arc<Self> {
        let before = Duration::from_millis(spent.ms);
        let spent = Counters {
            turns: spent.turns.into(),
            input: spent.input.into(),
            output: spent.output.into(),
            cost: spent.cost.into(),
            bytes: spent.bytes.into(),
            agents: spent.agents.into(),
            fetches: spent.fetches.into(),
        };
        Arc::new(Self { limits, started: Instant::now(), before, spent, above: None })
    }

    /// Creates the budget of a child, which counts here too.
    pub fn new_child(self: &Arc<Self>, limits: AgentLimits) -> Arc<Self> {
        let (started, before, spent) = (Instant::now(), Duration::ZERO, Counters::default());
        Arc::new(Self { limits, started, before, spent, above: Some(Arc::clone(self)) })
    }

    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| budget.above.as_deref())
    }

    /// A model has answered.
    pub fn turn(&self, usage: Usage) {
        for Self { spent, .. } in self.chain() {
            add(&spent.turns, 1);
            add(&spent.input, usage.input);
            add(&spent.output, usage.output);
            add(&spent.cost, usage.cost);
        }
    }

    /// A tool has answered.
    pub fn bytes(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.chain().for_each(|budget| add(&budget.spent.bytes, bytes));
    }

    /// Takes the place of one more agent. `None`: there was one; else which limit is over.
    pub fn agent(&self) -> Option<String> {
        let most = self.take(|spent| &spent.agents, |limits| limits.agents)?;
        Some(format!("{most} agents were started, and no more may be"))
    }

    /// Takes one more fetch. `None`: there was one; else which limit is over.
    pub fn fetch(&self) -> Option<String> {
        let most = self.take(|spent| &spent.fetches, |limits| limits.fetches)?;
        Some(format!("{most} pages were fetched, and no more may be"))
    }

    /// Gives back a fetch that was not made.
    pub fn not_fetched(&self) {
        self.chain().for_each(|budget| {
            budget.spent.fetches.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Counts one more, here and in all above. `Some`: the limit that has no more, and nothing is counted.
    fn take(
        &self,
        counter: impl Fn(&Counters) -> &AtomicU64,
        limit: impl Fn(&AgentLimits) -> Option<u64>,
    ) -> Option<u64> {
        for (counted, budget) in self.chain().enumerate() {
            let before = counter(&budget.spent).fetch_add(1, Ordering::Relaxed);
            if let Some(most) = limit(&budget.limits).filter(|most| before >= *most) {
                self.chain().take(counted + 1).for_each(|budget| {
                    counter(&budget.spent).fetch_sub(1, Ordering::Relaxed);
                });
                return Some(most);
            }
        }
        None
    }

    /// Returns the usage so far.
    pub fn spent(&self) -> UsageTotals {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { turns, input, output, cost, bytes, agents, fetches } = &self.spent;
        let ms = u64::try_from(self.lasted().as_millis()).unwrap_or(u64::MAX);
        UsageTotals {
            turns: get(turns),
            input: get(input),
            output: get(output),
            cost: get(cost),
            bytes: get(bytes),
            agents: get(agents),
            fetches: get(fetches),
            ms,
        }
    }

    fn lasted(&self) -> Duration {
        self.before.saturating_add(self.started.elapsed())
    }

    /// Returns the limit that is reached, of this agent or of an ancestor.
    pub fn exceeded_limit(&self) -> Option<String> {
        self.chain().find_map(Self::own_exceeded_limit)
    }

    fn own_exceeded_limit(&self) -> Option<String> {
        let UsageTotals { turns, input, output, cost, bytes, .. } = self.spent();
        // Agents and fetches that are too many are refused one by one.
        let AgentLimits { turns: max_turns, tokens, cost: max_cost, time, bytes: max_bytes, .. } =
            self.limits;
        let over = |limit: Option<u64>, spent: u64, what: &str| {
            limit.filter(|most| spent >= *most).map(|most| format!("{what}: {spent} of {most}"))
        };
        over(max_turns, turns, "turns")
            .or_else(|| over(tokens, input.saturating_add(output), "tokens"))
            .or_else(|| over(max_cost, cost, "money, in millionths"))
            .or_else(|| over(max_bytes, bytes, "bytes that tools answered"))
            .or_else(|| {
                let lasted = self.lasted();
                let limit = time.filter(|most| lasted >= *most)?;
                Some(format!("time: {} s of {} s", lasted.as_secs(), limit.as_secs()))
            })
    }

    /// Returns the number of tokens that may still be used, by the strictest budget of this agent and its ancestors.
    pub fn tokens_left(&self) -> Option<u64> {
        let left = |budget: &Self| {
            let UsageTotals { input, output, .. } = budget.spent();
            Some(budget.limits.tokens?.saturating_sub(input.saturating_add(output)))
        };
        self.chain().filter_map(left).min()
    }
}

/// A provider says how much it was, and may say anything: what is too much stays too much.
fn add(counter: &AtomicU64, more: u64) {
    let sum = |known: u64| Some(known.saturating_add(more));
    // It always has a sum.
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent_and_child(limits: AgentLimits) -> (Arc<Budget>, Arc<Budget>) {
        let above = Budget::new(limits, UsageTotals::default());
        let below = above.new_child(AgentLimits { fetches: Some(2), ..AgentLimits::default() });
        (above, below)
    }

    #[test]
    fn what_is_taken_counts_above_and_what_is_refused_nowhere() {
        let (above, below) =
            parent_and_child(AgentLimits { fetches: Some(3), agents: Some(1), ..AgentLimits::default() });
        assert!(below.fetch().is_none() && below.fetch().is_none());
        assert!(below.fetch().is_some_and(|why| why.starts_with("2 pages")));
        assert_eq!((above.spent().fetches, below.spent().fetches), (2, 2));
        below.not_fetched();
        assert!(above.fetch().is_none() && above.fetch().is_none());
        assert!(below.fetch().is_some_and(|why| why.starts_with("3 pages")), "the one above has no more");
        assert_eq!((above.spent().fetches, below.spent().fetches), (3, 1));
        assert!(below.agent().is_none() && below.agent().is_some() && above.spent().agents == 1);
    }

    #[test]
    fn what_a_provider_says_never_goes_round() {
        let limits = AgentLimits { tokens: Some(100), ..AgentLimits::default() };
        let (above, below) = parent_and_child(limits);
        for _ in 0..3 {
            below.turn(Usage { input: u64::MAX, output: u64::MAX, cost: u64::MAX });
        }
        below.bytes(usize::MAX);
        below.bytes(usize::MAX);
        let UsageTotals { input, cost, bytes, .. } = above.spent();
        assert_eq!((input, cost, bytes), (u64::MAX, u64::MAX, u64::MAX));
        assert!(below.exceeded_limit().is_some_and(|why| why.starts_with("tokens")));
        assert_eq!(below.tokens_left(), Some(0));
    }
}
