//! An approval request without a session.

use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{
    Asker, GrantOptionsShown, PartShown, Request, RequestedOperation, ScopeShown, WhyAsked,
};

/// A request about a command, with this name and a digest made of it, until `timeout` is over. The part of the name
/// before a colon is that of the session.
///
/// # Panics
/// When the deadline is beyond what a time can say.
pub fn about_command(id: &str, command: &str, timeout: Duration) -> Request {
    let now = Timestamp::now();
    Request {
        v: 1,
        id: id.to_owned(),
        digest: format!("digest of {id}"),
        asked_at: now,
        deadline: now.checked_add(timeout).expect("a deadline"),
        asker: Asker {
            session: id.split(':').next().unwrap_or_default().to_owned(),
            agents: vec!["main".to_owned()],
            folder: "/work".to_owned(),
            process: None,
        },
        tool: "Bash".to_owned(),
        operation: RequestedOperation::Command {
            command: command.to_owned(),
            cwd: "/work".to_owned(),
            background: false,
            says: None,
        },
        definition: None,
        why: vec![WhyAsked {
            part: command.to_owned(),
            step: "mode-default".to_owned(),
            reason: "no rule allows this command".to_owned(),
            rule: None,
            source: None,
        }],
        always_ask: false,
        destructive: false,
        offer: GrantOptionsShown {
            kept: Vec::new(),
            session: vec![width("npm publish"), width("npm *")],
            always: vec![PartShown {
                part: "npm publish".to_owned(),
                scopes: vec![width("Bash(npm publish)"), width("Bash(npm publish:*)")],
                usual: 0,
            }],
            files: vec![".pinfold/settings.local.json".to_owned()],
        },
    }
}

fn width(says: &str) -> ScopeShown {
    ScopeShown { says: says.to_owned(), also: vec![format!("{says} -x")], still_asks: Vec::new() }
}
