//! The environment of a run, as its report tells a person.

#![allow(clippy::expect_used, reason = "a test stops where it fails")]

use pinfold_tests::{Bed, Tier, Who, each};

#[each(user, tier)]
fn variables_that_were_not_passed_on_are_named_with_the_way_to_pass_them(who: Who, tier: Tier) {
    let bed = Bed::new(who);
    let said = |options: &[&str]| {
        let mut run = bed.run(tier, &[&["--ask", "nobody"], options].concat());
        let output = run.arg("true").env("MOCK_KEY", "x").output().expect("pinfold starts");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = said(&[]);
    let named = |line: &str| line.contains("not passed on") && line.contains("MOCK_KEY");
    let line = told.lines().find(|line| named(line)).unwrap_or_default();
    assert!(line.contains("--env NAME"), "{who}, {tier}: {told}");
    for options in [&["--quiet"][..], &["--env", "MOCK_KEY"]] {
        let told = said(options);
        assert!(!told.contains("MOCK_KEY"), "{who}, {tier}, {options:?}: {told}");
    }
}
