//! `rebound-name`: makes a name run something else than it says.

use super::{Invoked, Safeguard, Watch, text_hits};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "rebound-name",
    about: "makes a command's name run something else",
    severity: Severity::Medium,
    hits: &[
        "enable -f ./x.so x",
        "enable -nf x.so x",
        "hash -p /tmp/evil ls; ls",
        "alias ls='rm -rf x'; ls",
        "alias -g x='dd of=y'",
    ],
    passes: &[
        "enable",
        "enable -n x",
        "hash -r",
        "hash ls",
        "alias ll='ls -la'",
        "alias",
        "echo enable -f x",
    ],
    blind: "a function of that name: what it does is looked at where it is written",
    watch: Watch::Programs(&["enable", "hash", "alias"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    match invoked.name {
        "alias" => invoked
            .args
            .iter()
            .any(|word| known_start(word).split_once('=').is_some_and(|(_, text)| text_hits(text))),
        "hash" => invoked.has("p", ""),
        _ => invoked.has("f", ""),
    }
}
