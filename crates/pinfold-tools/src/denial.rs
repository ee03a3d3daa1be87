//! Refusals of the kernel, in the shape that a denial has in every layer.

use std::path::Path;

use pinfold::audit::{RecordedHost, kept_text};
use pinfold::{Denial, DeniedBy, Retry};
use pinfold_boundary::{HostContacts, Refused, RunResult};

use crate::reply::SandboxEvents;

/// The events in the sandbox of a shell that has ended, as the record keeps them.
pub(crate) fn sandbox_events(run: &RunResult) -> SandboxEvents {
    SandboxEvents {
        denials: run.tried.refused.iter().map(|refused| denial(String::new(), refused)).collect(),
        hosts: recorded_hosts(&run.hosts),
        omitted_hosts: run.hosts.more(),
    }
}

/// A refusal to a process, under this name if it has none yet.
pub fn denial(id: String, refused: &Refused) -> Denial {
    let Refused { tried, place, program, times, why, instead, .. } = refused;
    Denial {
        id: refused.id.clone().unwrap_or(id),
        layer: match *tried {
            "open socket" | "bind socket" => DeniedBy::Socket,
            "connect" if is_local(place) => DeniedBy::Socket,
            "reach" | "look up" | "send" | "hold" => DeniedBy::Proxy,
            _ => DeniedBy::Kernel,
        },
        who: kept_text(program),
        what: (*tried).to_owned(),
        place: Some(kept_text(&place.to_string_lossy())),
        code: None,
        rule: refused.rule.as_deref().map(kept_text),
        source: refused.source.clone(),
        why: kept_text(why),
        instead: kept_text(instead),
        retry: Retry::Never,
        times: *times,
        to_allow: to_allow(refused),
    }
}

/// The hosts that processes looked up, connected to, or were refused, as they are recorded. A name that is looked up
/// can carry a secret out, which is not kept.
pub fn recorded_hosts(contacts: &HostContacts) -> Vec<RecordedHost> {
    let told = contacts.all().map(|contact| RecordedHost {
        host: kept_text(&contact.host.to_string()),
        port: contact.port,
        outcome: contact.outcome.as_str().into(),
        times: contact.times,
    });
    told.collect()
}

/// Returns true if a connection is one to a program on this machine, by a path or an abstract name.
fn is_local(place: &Path) -> bool {
    place.is_absolute() || place.as_os_str().as_encoded_bytes().starts_with(b"@")
}

/// Lists what could be added so that it passes, from the narrowest to the widest.
fn to_allow(refused: &Refused) -> Vec<String> {
    let told = kept_text(&refused.to_allow);
    let (Some(place), true) = (refused.place.to_str(), refused.place.is_absolute()) else {
        return vec![told];
    };
    if !told.contains("--add-dir") {
        return vec![told];
    }
    let mut widths = vec![format!("pinfold run --allow-write {}", quoted(place))];
    if let Some(folder) = refused.place.parent().and_then(|folder| folder.to_str()).filter(|f| *f != "/") {
        widths.push(format!("pinfold run --add-dir {}", quoted(folder)));
        let listed = serde_json::json!({"sandbox": {"writable": [folder]}});
        widths.push(format!("in your settings, for good: {listed}"));
    }
    widths.iter().map(|width| kept_text(width)).collect()
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
