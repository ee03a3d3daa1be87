//! The tools by which an agent has others work for it.

use pinfold::Failure;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::OfferedTool;

/// A call of one of them, understood.
pub(crate) enum TeamCall {
    Run(RunAgent),
    Wait(WaitForAgents),
    Send(SendMessage),
}

/// Starts an agent in a folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunAgent {
    pub(crate) name: String,
    pub(crate) folder: String,
    pub(crate) task: String,
}

/// Waits until agents have ended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitForAgents {
    /// Names of the agents; all where none is named.
    #[serde(default)]
    pub(crate) agents: Vec<String>,
}

/// Tells an agent something.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendMessage {
    pub(crate) agent: String,
    pub(crate) message: String,
}

pub(crate) const RUN: &str = "run_agent";
pub(crate) const WAIT: &str = "wait_for_agents";
pub(crate) const SEND: &str = "send_message";

/// Name of the parent for an agent that sends it a message.
pub(crate) const PARENT: &str = "parent";

impl TeamCall {
    /// Returns `true` if a tool is one of them.
    pub(crate) fn is(tool: &str) -> bool {
        matches!(tool, RUN | WAIT | SEND)
    }

    pub(crate) fn parse(tool: &str, input: &Value) -> Result<Self, Failure> {
        let bad = |e: serde_json::Error| {
            let hint = match tool {
                RUN => "give name, folder and task",
                WAIT => "give agents as a list of names, or nothing for all of them",
                _ => "give agent and message",
            };
            Failure::input(format!("the input of {tool} was not understood: {e}"), hint)
        };
        match tool {
            RUN => RunAgent::deserialize(input).map(Self::Run).map_err(bad),
            WAIT => WaitForAgents::deserialize(input).map(Self::Wait).map_err(bad),
            SEND => SendMessage::deserialize(input).map(Self::Send).map_err(bad),
            other => {
                Err(Failure::input(format!("{other} is no tool for agents"), "use the tools that are listed"))
            }
        }
    }
}

/// Returns the tools as they are offered. `kinds`: the defined agents, each with its description.
pub(crate) fn offered(kinds: &[(&str, &str)]) -> Vec<OfferedTool> {
    let mut run = "Starts an agent that works on a task of its own, in a folder inside yours: it reads anywhere, and writes and \
                   runs commands only inside that folder. It begins at once and works beside you; agents in folders that \
                   overlap work one after the other. It does not know what you know, so the task has to say all that \
                   matters. What it could not do in its folder comes back to you in its summary."
        .to_owned();
    for (i, (name, description)) in kinds.iter().enumerate() {
        run.push_str(if i == 0 { " Names that mean a certain kind of agent: " } else { "; " });
        run.push_str(name);
        if !description.is_empty() {
            run.extend([" (", description, ")"]);
        }
    }
    let text = |about: &str| json!({"type": "string", "description": about});
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    vec![
        OfferedTool {
            name: RUN.to_owned(),
            description: run,
            schema: object(
                json!({
                    "name": text("What it is called; one of the kinds above, or a name of your own"),
                    "folder": text("The folder that it works in, relative to the workspace"),
                    "task": text("What it is to do, and what it needs to know"),
                }),
                json!(["name", "folder", "task"]),
            ),
        },
        OfferedTool {
            name: WAIT.to_owned(),
            description: "Waits until agents that you started have ended, and returns their summaries: of those that are \
                          named, or of all."
                .to_owned(),
            schema: object(
                json!({"agents": {"type": "array", "items": {"type": "string"}, "description": "Their names"}}),
                json!([]),
            ),
        },
        OfferedTool {
            name: SEND.to_owned(),
            description: "Tells an agent that you started, or `parent`, something while it works. It hears it before its next \
                          step."
                .to_owned(),
            schema: object(
                json!({"agent": text("Its name, or parent"), "message": text("The words")}),
                json!(["agent", "message"]),
            ),
        },
    ]
}
