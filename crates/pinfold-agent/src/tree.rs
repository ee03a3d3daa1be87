//! The agents of a run: parents, folders and ends.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::budget::UsageTotals;
use crate::event::{AgentResult, Event};
use crate::model::{AgentIdentity, CallOutcome};

/// One agent of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// The agent.
    #[serde(flatten)]
    pub who: AgentIdentity,
    /// Its session in the record.
    pub session: String,
    /// The mode it is in.
    pub mode: String,
    /// Its calls that were let through.
    pub allowed: u64,
    /// Its calls that were denied.
    pub denied: u64,
    /// Its end; none while it works, or where the run broke off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<AgentResult>,
    /// Usage with all below it, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<UsageTotals>,
}

/// The agents of a run, each behind the one that started it.
pub fn tree(events: &[Event]) -> Vec<Node> {
    let mut nodes: BTreeMap<&str, Node> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for event in events {
        let agent = event.agent();
        if let Event::Started { who, session, mode } = event {
            if let Some(known) = nodes.get_mut(agent) {
                // The run goes on.
                known.ending = None;
                continue;
            }
            order.push(agent);
            let node = Node {
                who: who.clone(),
                session: session.clone(),
                mode: mode.clone(),
                allowed: 0,
                denied: 0,
                ending: None,
                spent: None,
            };
            nodes.insert(agent, node);
        }
        let Some(node) = nodes.get_mut(agent) else { continue };
        match event {
            Event::Called { result, .. } => match result.how {
                CallOutcome::Allowed | CallOutcome::Failed { .. } => node.allowed += 1,
                CallOutcome::Denied { .. } => node.denied += 1,
            },
            Event::Ended { ending, spent, .. } => {
                node.ending = Some(ending.clone());
                node.spent = Some(*spent);
            }
            _ => {}
        }
    }
    let mut sorted = Vec::with_capacity(order.len());
    collect_children(None, &order, &nodes, &mut sorted);
    sorted
}

fn collect_children<'a>(
    parent: Option<&str>,
    order: &[&'a str],
    nodes: &BTreeMap<&'a str, Node>,
    into: &mut Vec<Node>,
) {
    for id in order {
        let Some(node) = nodes.get(id).filter(|node| node.who.parent.as_deref() == parent) else { continue };
        into.push(node.clone());
        collect_children(Some(id), order, nodes, into);
    }
}
