//! Any bytes as git's configuration.
//!
//! Fails when it panics, when the text of a file is not what was read, or when what is written into it is not read back with
//! everything else as it was. That git reads the same is for the ordinary tests (`git_reads_the_same`).
//!
//! Run with `cargo fuzz run -s none git_config -- -dict=fuzz/dictionaries/git_config.dict`.

#![no_main]

#[path = "../../crates/pinfold-boundary/src/git/config.rs"]
#[allow(dead_code, reason = "the target takes its part")]
mod config;

use config::{Config, ConfigEntry};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = Config::read_from(bytes) else { return };
    let text = std::str::from_utf8(bytes).expect("it was read");
    assert_eq!(read.text(), text.strip_prefix('\u{feff}').unwrap_or(text));
    let with = read.with_values("branch", "x", &["remote"], &[("remote", "o")]);
    let again = Config::parse(&with).expect("what was written is read");
    assert_eq!(again.last("branch", Some("x"), "remote"), Some("o"));
    let ours = |entry: &&ConfigEntry| entry.name() != "branch.x.remote";
    let told = |config: &Config| -> Vec<(String, Option<String>)> {
        config.entries().iter().filter(ours).map(|entry| (entry.name(), entry.value.clone())).collect()
    };
    assert_eq!(told(&again), told(&read), "{text:?}");
});
