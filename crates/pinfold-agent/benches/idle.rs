//! What an agent holds in memory that waits for its model: two hundred of them begin, and the process is measured before and
//! after. Printed for `benches/README.md`; nothing is compared.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops where it fails, and prints what it found"
)]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use pinfold::agents::AgentLimits;
use pinfold::audit::Discard;
use pinfold::policy::rule::Rule;
use pinfold::policy::{Effect, Layer, Source, SourcedRule};
use pinfold::{Ambient, Plan, Session};
use pinfold_agent::{
    AgentIdentity, Model, ModelError, ModelRequest, Models, NoShells, Parts, RequestedCall, RootAgent,
    SpawnLimits, Task, Team, Turn,
};
use serde_json::json;

const AGENTS: usize = 200;

/// The first agent starts all the others, each of which waits for its model until the measure is taken.
struct Idle {
    waiting: Arc<AtomicUsize>,
    measured: Arc<Barrier>,
}

struct Waits {
    waiting: Arc<AtomicUsize>,
    /// Where they wait for the end; the one that starts them does not.
    measured: Option<Arc<Barrier>>,
}

impl Models for Idle {
    fn model(&self, who: &AgentIdentity, _: Option<&str>) -> Result<Box<dyn Model>, ModelError> {
        let measured = (who.depth > 0).then(|| Arc::clone(&self.measured));
        Ok(Box::new(Waits { waiting: Arc::clone(&self.waiting), measured }))
    }
}

impl Model for Waits {
    fn answer(&mut self, asked: &ModelRequest<'_>, _: &mut dyn FnMut(&str)) -> Result<Turn, ModelError> {
        let Some(measured) = &self.measured else {
            let run = |n: usize| {
                let input = json!({"name": "worker", "folder": format!("w{n}"), "task": "wait"});
                RequestedCall::new(n.to_string(), "run_agent", input)
            };
            let calls = if asked.messages.len() == 1 { (0..AGENTS).map(run).collect() } else { Vec::new() };
            return Ok(Turn { calls, ..Turn::default() });
        };
        self.waiting.fetch_add(1, Ordering::SeqCst);
        measured.wait();
        Ok(Turn::default())
    }
}

/// Private memory of this process, in KiB: what nobody else has.
fn private() -> usize {
    let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let of = |line: &str| line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap();
    text.lines().filter(|line| line.starts_with("Private_")).map(of).sum()
}

fn main() {
    let top = tempfile::tempdir().unwrap();
    (0..AGENTS).for_each(|n| fs::create_dir(top.path().join(format!("w{n}"))).unwrap());
    let (waiting, measured) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(AGENTS + 1)));
    let models = Idle { waiting: Arc::clone(&waiting), measured: Arc::clone(&measured) };
    let team = Team::new(Parts {
        definitions: pinfold::agents::Definitions::default(),
        models: Arc::new(models),
        shells: Arc::new(NoShells),
        listeners: Vec::new(),
        reach: SpawnLimits { depth: 1, parallel: AGENTS + 1 },
        judge: None,
        parking: None,
        follow: None,
    });
    let session = session(top.path());
    let before = private();
    let task = Task::New("start them".to_owned());
    let first =
        RootAgent { session, definition: None, limits: AgentLimits::default(), task, attended: false };
    let run = thread::spawn(move || team.run(first));
    while waiting.load(Ordering::SeqCst) < AGENTS {
        thread::sleep(Duration::from_millis(10));
    }
    let after = private();
    println!(
        "an agent that waits: {} KiB ({AGENTS} agents, {before} KiB before, {after} after)",
        (after - before) / AGENTS
    );
    measured.wait();
    run.join().unwrap();
}

fn session(top: &Path) -> Session {
    let plan = Plan::for_folder(top);
    let rule = Rule::parse("Agent").unwrap();
    let agents = SourcedRule { effect: Effect::Allow, rule, source: Source::plain(Layer::User) };
    let policy = plan.policy.clone().with_rules([agents], &plan.bases);
    Session::open(&Ambient::claim(), plan.with_policy(policy), Arc::new(Discard)).unwrap()
}
