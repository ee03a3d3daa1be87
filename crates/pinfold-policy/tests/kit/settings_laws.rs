//! What holds for any bytes as a settings file. Used by the ordinary tests and by the fuzzer.

use pinfold_policy::merge::{Layered, merge};
use pinfold_policy::rule::{Effect, Rule};
use pinfold_policy::settings::{BadSettings, SettingsChange, edited};
use pinfold_policy::{Layer, Settings};

/// A rule that no file has by chance.
const ADDED: &str = "Bash(a-rule-that-was-added *)";

/// Panics when a law is broken.
pub(crate) fn hold(bytes: &[u8]) {
    for layer in [Layer::Managed, Layer::Project] {
        match Settings::parse(bytes, layer, &"f".into()) {
            Err(bad) => told_in_full(&bad),
            Ok(settings) => {
                widens_nothing_untrusted(&settings);
                changes_and_comes_back(bytes, layer, &settings);
            }
        }
    }
}

/// Something is told, in the order of the file, at places that are in the text.
fn told_in_full(bad: &BadSettings) {
    assert!(!bad.bad.is_empty());
    assert!(bad.bad.iter().all(|one| bad.text.get(one.span.clone()).is_some()), "{bad:?}");
    assert!(bad.bad.is_sorted_by_key(|one| one.span.start), "{bad:?}");
}

fn widens_nothing_untrusted(settings: &Settings) {
    let merged = merge(&[Layered { settings: settings.clone(), trusted: false }]);
    assert!(merged.rules.iter().all(|rule| rule.effect != Effect::Allow));
    assert!(
        merged.additional_directories.is_empty()
            && merged.hooks.is_empty()
            && merged.sandbox.writable.is_empty()
    );
}

/// A rule comes in and goes out again, and every other rule stays.
fn changes_and_comes_back(bytes: &[u8], layer: Layer, before: &Settings) {
    let add = SettingsChange::Add(Effect::Deny, Rule::parse(ADDED).expect("a rule"));
    let with = edited(Some(bytes), layer, &"f".into(), std::slice::from_ref(&add))
        .expect("it was read")
        .expect("it is new");
    let read =
        |text: &str| Settings::parse(text.as_bytes(), layer, &"f".into()).expect("what was written is read");
    let mut expected = rules(before);
    expected.push(format!("deny {ADDED}"));
    expected.sort();
    assert_eq!(rules(&read(&with)), expected);
    let remove = SettingsChange::Remove(Effect::Deny, ADDED.to_owned());
    let without = edited(Some(with.as_bytes()), layer, &"f".into(), std::slice::from_ref(&remove))
        .expect("it was read")
        .expect("it is there");
    assert_eq!(rules(&read(&without)), rules(before));
}

fn rules(settings: &Settings) -> Vec<String> {
    let says = &settings.says.permissions;
    let texts = |word: &'static str, rules: &[pinfold_policy::Located<Rule>]| {
        rules.iter().map(move |rule| format!("{word} {}", rule.value)).collect::<Vec<_>>()
    };
    let mut all =
        [texts("allow", &says.allow.0), texts("ask", &says.ask), texts("deny", &says.deny)].concat();
    all.sort();
    all
}
