//! `unleashed-agent`: starts another coding agent, or this gate, with its questions switched off.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "unleashed-agent",
    about: "starts an agent that never asks for approval",
    severity: Severity::Medium,
    hits: &[
        "claude --dangerously-skip-permissions -p x",
        "claude --permission-mode bypassPermissions -p x",
        "codex exec --full-auto x",
        "codex --dangerously-bypass-approvals-and-sandbox",
        "codex exec -s danger-full-access x",
        "gemini --yolo -p x",
        "gemini --approval-mode=yolo",
        "gen --permission-mode bypassPermissions -p x",
        "pinfold run --sandbox off -- sh",
    ],
    passes: &[
        "claude -p x",
        "claude --version",
        "codex exec x",
        "gemini -p 'what is yolo'",
        "echo --full-auto",
        "pinfold check",
    ],
    blind: "an agent whose own settings switch its questions off, or that `npx` fetches",
    watch: Watch::Programs(
        &[
            "claude",
            "codex",
            "gemini",
            "qwen",
            "gen",
            "pinfold",
            "aider",
            "cursor-agent",
            "amp",
            "copilot",
            "opencode",
            "goose",
            "crush",
            "cline",
            "droid",
        ],
        hits,
    ),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    let texts = || invoked.args.iter().map(known_start);
    texts().any(is_unleashing)
        || (invoked.name == "pinfold"
            && texts().zip(texts().skip(1)).any(|(option, value)| option == "--sandbox" && value == "off"))
}

fn is_unleashing(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(option) => {
            option.starts_with("dangerously")
                || option.starts_with("allow-dangerously")
                || matches!(
                    option,
                    "yolo"
                        | "full-auto"
                        | "yes-always"
                        | "allow-all-tools"
                        | "sandbox=off"
                        | "allow-degraded"
                )
                || option.split_once('=').is_some_and(|(_, value)| is_loose(value))
        }
        None => is_loose(word),
    }
}

fn is_loose(value: &str) -> bool {
    matches!(value, "bypassPermissions" | "danger-full-access" | "yolo")
}
