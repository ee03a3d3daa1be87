//! Any text as a settings file of another agent, in every form that is taken over, and as a definition of an agent of ours.
//!
//! Fails when it panics, when what is taken over cannot be written, or when an export that was written into the file is not
//! understood, or written otherwise the next time.
//!
//! Run with `cargo fuzz run -s none agent_files fuzz/corpus/agent_files crates/pinfold-dialects/tests/theirs -- -dict=fuzz/dictionaries/agent_files.dict`.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pinfold::agents::Definition;
use pinfold_dialects::export::{EXPORTED, export};
use pinfold_dialects::import::{File, IMPORTED, import};
use pinfold_policy::merge::{Layered, Merged, merge};
use pinfold_policy::settings::edited;
use pinfold_policy::{Layer, Settings};

/// Names by which a file tells its form.
const NAMES: [&str; 4] = ["settings.json", "config.toml", "default.rules", "policy.toml"];

static OURS: LazyLock<Merged> = LazyLock::new(|| {
    let text = include_bytes!("../../crates/pinfold-dialects/tests/ours/settings.json");
    let settings = Settings::parse(text, Layer::User, &"f".into()).expect("settings");
    merge(&[Layered { settings, trusted: true }])
});

fuzz_target!(|text: &str| {
    let _ = Definition::parse(text.as_bytes(), Layer::Project, &"f".into());
    for agent in IMPORTED {
        for name in NAMES {
            let Ok(findings) = import(agent, File { layer: Layer::User, name, text }) else { continue };
            for finding in findings {
                let written = edited(None, Layer::User, &"f".into(), &finding.changes);
                assert!(written.is_ok(), "{agent} {name}: {finding:?}");
            }
        }
    }
    for agent in EXPORTED {
        for part in export(agent, &OURS, Layer::User).expect("it is known").parts {
            if let Ok(Some(after)) = part.written(Some(text)) {
                assert_eq!(
                    part.written(Some(&after)).expect("what was written is read"),
                    Some(after),
                    "{agent}"
                );
            }
        }
    }
});
