//! Any text as a patch. The fuzz target `apply_patch` runs the same check.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

#[path = "kit/patches.rs"]
mod patches_kit;

use patches_kit::applied_whole_or_not_at_all;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "b",
        "d/c",
        "new",
        "x/y",
        "d",
        "out/f",
        "../outside/f",
        "../escaped",
        "d/../a",
        "./a",
        ".git/config",
    ])
}

fn line() -> impl Strategy<Value = String> {
    ("[ +-]", "(1|2|3|one|two|)").prop_map(|(mark, text)| format!("{mark}{text}\n"))
}

fn section() -> impl Strategy<Value = String> {
    let lines = || prop::collection::vec(line(), 0..5).prop_map(|lines| lines.concat());
    prop_oneof![
        (name(), lines())
            .prop_map(|(name, lines)| format!("*** Add File: {name}\n{}", lines.replace(['-', ' '], "+"))),
        name().prop_map(|name| format!("*** Delete File: {name}\n")),
        (name(), lines()).prop_map(|(name, lines)| format!("*** Update File: {name}\n@@\n{lines}")),
        (name(), name(), lines())
            .prop_map(|(a, b, lines)| format!("*** Update File: {a}\n*** Move to: {b}\n@@\n{lines}")),
        (name(), name(), lines())
            .prop_map(|(a, b, lines)| format!("--- a/{a}\n+++ b/{b}\n@@ -1,2 +1,2 @@\n{lines}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]
    #[test]
    fn any_patch_is_applied_whole_or_not_at_all(sections in prop::collection::vec(section(), 1..4), envelope: bool) {
        let body = sections.concat();
        applied_whole_or_not_at_all(&if envelope { format!("*** Begin Patch\n{body}*** End Patch\n") } else { body });
    }
}
