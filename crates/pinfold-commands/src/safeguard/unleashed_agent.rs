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
        "codex -c sandbox_mode=danger-full-access x",
        "codex exec -sdanger-full-access x",
        "gemini -y -p x",
        "copilot --allow-all -p x",
        "cursor-agent -f x",
        "droid exec --skip-permissions-unsafe x",
        "hermes --yolo",
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
            "hermes",
        ],
        hits,
    ),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    let texts = || invoked.args.iter().map(known_start);
    let is_short = |word: &str| match invoked.name {
        "gemini" | "qwen" => word == "-y",
        "cursor-agent" => matches!(word, "-f" | "--force"),
        "copilot" => word == "--allow-all",
        "droid" => word.starts_with("--skip-permissions"),
        _ => false,
    };
    texts().any(|word| is_unleashing(word) || is_short(word))
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

/// Returns whether a word is the name of a mode without questions, also behind an option or the name of a setting. In a sentence it is
/// none.
fn is_loose(value: &str) -> bool {
    let is_within = |mode: &str| value.ends_with(mode) && !value.contains(char::is_whitespace);
    value == "yolo"
        || ["bypassPermissions", "danger-full-access", "=yolo", "=\"yolo\""].into_iter().any(is_within)
}
