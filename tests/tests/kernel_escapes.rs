//! Escapes: every probe is tried free, where it has to win, and confined, where it has to lose.
//!
//! `tests/corpus/kernel-escapes` and `tests/probes` hold the probes; the runner beside the corpus looks for each
//! effect from outside. What a tier is known not to hold stands in `tests/expected` with the reason, and nowhere
//! else: an escape that is not listed fails, and so does a listed one that no longer happens.
//!
//! `ONLY=regex` tries only some.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use pinfold_tests::expected::exceptions;
use pinfold_tests::ground::new_place;
use pinfold_tests::missing::{all_there, say};
use pinfold_tests::product::pinfold;
use pinfold_tests::{Tier, Who, each};
use tempfile::TempDir;

/// What the runner itself cannot do without.
const TOOLS: [&str; 4] = ["bash", "gcc", "python3", "setpriv"];

/// Probes that end by an exception (1) when what they want to talk to cannot be reached.
const UNTIDY: [&str; 1] = ["px-15-metadata"];

/// Results by probe: `ESCAPED`, `blocked`, `contained`, `skip`, or how the runner failed.
type Results = BTreeMap<String, String>;

#[each(user)]
fn free_every_probe_wins(who: Who) {
    let Some(results) = try_all(who, &[]) else { return };
    report(&format!("free, {who}"), &results);
    let known = exceptions("harmless-when-free.txt", who);
    let listed = |name: &str| known.iter().any(|k| k.name == name);
    let harmless: Vec<_> = results.iter().filter(|(n, r)| *r != "ESCAPED" && !listed(n)).collect();
    assert!(harmless.is_empty(), "{who}: these prove nothing, they lose even free: {harmless:#?}");
}

#[each(user)]
fn the_full_tier_holds(who: Who) {
    holds(who, Tier::Full);
}

#[each(user)]
fn the_landlock_tier_holds_but_for_what_is_listed(who: Who) {
    holds(who, Tier::LandlockOnly);
}

fn holds(who: Who, tier: Tier) {
    if !tier.is_possible_for(who) {
        return;
    }
    let wrapper: Vec<&str> = ["run"].iter().chain(tier.options()).copied().chain(["--"]).collect();
    let Some(results) = try_all(who, &wrapper) else { return };
    report(&format!("{tier}, {who}"), &results);
    let known = exceptions(&format!("escapes-{tier}.txt"), who);
    let mut wrong = String::new();
    for (name, result) in &results {
        let listed = known.iter().find(|k| k.name == *name);
        let problem = match (result.as_str(), listed) {
            ("ESCAPED", None) => "got out",
            ("blocked" | "contained", Some(k)) if !k.sometimes => {
                "is listed as getting out, and does not any more"
            }
            ("ESCAPED" | "blocked" | "contained" | "skip", _) => continue,
            ("error(1)", None) if UNTIDY.contains(&name.as_str()) => continue,
            _ => "was not tried properly",
        };
        let _ = writeln!(wrong, "  {name}: {problem} ({result})");
    }
    assert!(wrong.is_empty(), "{tier} tier, {who}:\n{wrong}");
}

/// Runs the probes below `pinfold ARGUMENTS…`, or free when there are none. `None` where the runner cannot run.
fn try_all(who: Who, arguments: &[&str]) -> Option<Results> {
    if !all_there("kernel escapes", &TOOLS) {
        return None;
    }
    let corpus = assemble();
    let table = corpus.path().join("results.tsv");
    // The runner changes to the user itself: the world outside is partly not theirs.
    let mut runner = Who::Superuser.command(corpus.path().join("run.sh"), Path::new("/"));
    if arguments.is_empty() {
        runner.arg("env");
    } else {
        runner.arg(pinfold()).args(arguments);
    }
    runner.env("OUT", &table).env("PROXY", "open").env("PROBE_BASE", corpus.path());
    if let Some(uid) = who.other_uid() {
        runner.env("RUN_UID", uid.to_string());
    }
    if let Some(only) = std::env::var_os("ONLY") {
        runner.env("ONLY", only);
    }
    let output = runner.output().expect("the runner can be started");
    let text = fs::read_to_string(&table).unwrap_or_default();
    let results: Results = text
        .lines()
        .filter_map(|line| line.split('\t').collect::<Vec<_>>().try_into().ok())
        .map(|[name, _class, result]: [&str; 3]| (name.to_owned(), result.to_owned()))
        .collect();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!results.is_empty(), "the runner has no results: {said}");
    Some(results)
}

/// Corpus and own probes in one place that every user can read.
fn assemble() -> TempDir {
    let at = new_place("esc.");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in ["run.sh", "lib", "probes"] {
        copy(&here.join("corpus/kernel-escapes").join(part), at.path());
    }
    for probe in fs::read_dir(here.join("probes")).expect("own probes") {
        copy(&probe.expect("a probe").path(), &at.path().join("probes"));
    }
    let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(at.path()).status();
    assert!(opened.is_ok_and(|s| s.success()), "the corpus can be read by all");
    at
}

fn copy(from: &Path, into: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(into).status();
    assert!(copied.is_ok_and(|s| s.success()), "copying {}", from.display());
}

/// How it went, and which probes had nothing to try, said aloud.
fn report(what: &str, results: &Results) {
    let count = |wanted: &str| results.values().filter(|r| *r == wanted).count();
    let skipped: Vec<&str> = results.iter().filter(|(_, r)| *r == "skip").map(|(n, _)| n.as_str()).collect();
    say(&format!(
        "escapes, {what}: {} probes, {} got out, {} blocked, {} contained, {} had nothing to try ({})",
        results.len(),
        count("ESCAPED"),
        count("blocked"),
        count("contained"),
        skipped.len(),
        skipped.join(" ")
    ));
}
