//! What may be used up: by one agent with all below it, counted once for each of those above.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pinfold::agents::AgentLimits;
use serde::{Deserialize, Serialize};

use crate::model::Usage;

/// What one agent, with all below it, may use up and has used up.
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
}

/// What was used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
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
    /// Milliseconds.
    pub ms: u64,
}

impl Budget {
    /// That of a run, of which so much is used up already.
    pub fn new(limits: AgentLimits, spent: Spent) -> Arc<Self> {
        let before = Duration::from_millis(spent.ms);
        let spent = Counters {
            turns: spent.turns.into(),
            input: spent.input.into(),
            output: spent.output.into(),
            cost: spent.cost.into(),
            bytes: spent.bytes.into(),
            agents: spent.agents.into(),
        };
        Arc::new(Self { limits, started: Instant::now(), before, spent, above: None })
    }

    /// That of an agent below, which counts here too.
    pub fn below(self: &Arc<Self>, limits: AgentLimits) -> Arc<Self> {
        let (started, before, spent) = (Instant::now(), Duration::ZERO, Counters::default());
        Arc::new(Self { limits, started, before, spent, above: Some(Arc::clone(self)) })
    }

    fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| budget.above.as_deref())
    }

    /// A model has answered.
    pub fn turn(&self, usage: Usage) {
        for Self { spent, .. } in self.each() {
            spent.turns.fetch_add(1, Ordering::Relaxed);
            spent.input.fetch_add(usage.input, Ordering::Relaxed);
            spent.output.fetch_add(usage.output, Ordering::Relaxed);
            spent.cost.fetch_add(usage.cost, Ordering::Relaxed);
        }
    }

    /// A tool has answered.
    pub fn bytes(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.each().for_each(|budget| {
            budget.spent.bytes.fetch_add(bytes, Ordering::Relaxed);
        });
    }

    /// Takes the place of one more agent. `None`: there was one; else which limit is over.
    pub fn agent(&self) -> Option<String> {
        for budget in self.each() {
            let before = budget.spent.agents.fetch_add(1, Ordering::Relaxed);
            if let Some(most) = budget.limits.agents.filter(|most| before >= *most) {
                return Some(format!("{most} agents were started, and no more may be"));
            }
        }
        None
    }

    /// What was used up.
    pub fn spent(&self) -> Spent {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { turns, input, output, cost, bytes, agents } = &self.spent;
        let ms = u64::try_from(self.lasted().as_millis()).unwrap_or(u64::MAX);
        Spent {
            turns: get(turns),
            input: get(input),
            output: get(output),
            cost: get(cost),
            bytes: get(bytes),
            agents: get(agents),
            ms,
        }
    }

    fn lasted(&self) -> Duration {
        self.before.saturating_add(self.started.elapsed())
    }

    /// Which limit is over, of this agent or of one above it.
    pub fn over(&self) -> Option<String> {
        self.each().find_map(Self::own_over)
    }

    fn own_over(&self) -> Option<String> {
        let Spent { turns, input, output, cost, bytes, .. } = self.spent();
        let AgentLimits { turns: most_turns, tokens, cost: most_cost, time, bytes: most_bytes, agents: _ } =
            self.limits;
        let over = |limit: Option<u64>, spent: u64, what: &str| {
            limit.filter(|most| spent >= *most).map(|most| format!("{what}: {spent} of {most}"))
        };
        over(most_turns, turns, "turns")
            .or_else(|| over(tokens, input.saturating_add(output), "tokens"))
            .or_else(|| over(most_cost, cost, "money, in millionths"))
            .or_else(|| over(most_bytes, bytes, "bytes that tools answered"))
            .or_else(|| {
                let lasted = self.lasted();
                let limit = time.filter(|most| lasted >= *most)?;
                Some(format!("time: {} s of {} s", lasted.as_secs(), limit.as_secs()))
            })
    }

    /// How long it may still take, by the strictest of those above.
    pub fn time_left(&self) -> Option<Duration> {
        self.each().filter_map(|budget| Some(budget.limits.time?.saturating_sub(budget.lasted()))).min()
    }
}
