//! Escapes: every probe is tried free, where it has to win, and confined, where it has to lose.
//!
//! `tests/corpus/kernel-escapes` and `tests/probes` hold the probes; the runner beside the corpus looks for each
//! effect from outside. What a tier is known not to hold stands in `tests/expected` with the reason, and nowhere
//! else: an escape that is not listed fails, and so does a listed one that no longer happens.
//!
//! `ONLY=word` tries only those whose name holds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

use pinfold_tests::expected::exceptions;
use pinfold_tests::ground::new_place;
use pinfold_tests::missing::{all_there, print_uncaptured};
use pinfold_tests::output::describe;
use pinfold_tests::product::{pinfold, shelf};
use pinfold_tests::{Tier, Who, each};

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

#[each(user, tier)]
fn every_probe_loses_but_for_what_is_listed(who: Who, tier: Tier) {
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

/// How many runners share the probes of one test: each takes one probe after another, and waits for most of the time.
const RUNNERS: usize = 3;

/// Runs the probes below `pinfold ARGUMENTS…`, or free when there are none. `None` where the runner cannot run.
fn try_all(who: Who, arguments: &[&str]) -> Option<Results> {
    if !all_there("kernel escapes", &TOOLS) {
        return None;
    }
    let names = probes();
    let lots =
        (0..RUNNERS).map(|first| names.iter().skip(first).step_by(RUNNERS).cloned().collect::<Vec<_>>());
    let results: Results = thread::scope(|scope| {
        let runs =
            lots.filter(|lot| !lot.is_empty()).map(|lot| scope.spawn(move || try_some(who, arguments, &lot)));
        let runs: Vec<_> = runs.collect();
        runs.into_iter().flat_map(|run| run.join().expect("every probe is tried")).collect()
    });
    assert_eq!(
        results.keys().collect::<Vec<_>>(),
        names.iter().collect::<Vec<_>>(),
        "each probe has a result"
    );
    Some(results)
}

/// The names of all probes, or of those that `ONLY` names, in their order.
fn probes() -> Vec<String> {
    let only = std::env::var("ONLY").unwrap_or_default();
    let found =
        fs::read_dir(corpus().join("probes")).expect("the probes").map(|e| e.expect("a probe").path());
    let names = found.map(|at| at.file_stem().expect("a name").to_string_lossy().into_owned());
    let names: BTreeSet<String> = names.filter(|name| name.contains(&only)).collect();
    names.into_iter().collect()
}

fn try_some(who: Who, arguments: &[&str], names: &[String]) -> Results {
    let place = new_place("esc.");
    let table = place.path().join("results.tsv");
    // The runner changes to the user itself: the world outside is partly not theirs.
    let mut runner = runner();
    if arguments.is_empty() {
        runner.arg("env");
    } else {
        runner.arg(pinfold()).args(arguments);
    }
    runner.env("OUT", &table).env("PROXY", "open").env("PROBE_BASE", place.path());
    runner.env("ONLY", format!("^({})$", names.join("|")));
    if let Some(uid) = who.other_uid() {
        runner.env("RUN_UID", uid.to_string());
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
    results
}

fn runner() -> Command {
    let mut runner = Who::Superuser.command(corpus().join("run.sh"), Path::new("/"));
    runner.env("PROBE_BINS", corpus().join("bin"));
    runner
}

/// Corpus and own probes in one place that every user can read, compiled once for all tests.
fn corpus() -> &'static Path {
    static CORPUS: OnceLock<PathBuf> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let at = shelf().join("escapes");
        fs::create_dir_all(at.join("bin")).expect("a directory");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for part in ["run.sh", "lib", "probes"] {
            copy(&here.join("corpus/kernel-escapes").join(part), &at);
        }
        for probe in fs::read_dir(here.join("probes")).expect("own probes") {
            copy(&probe.expect("a probe").path(), &at.join("probes"));
        }
        let mut runner = Command::new(at.join("run.sh"));
        let compiled = runner.arg("compile").env("PROBE_BINS", at.join("bin")).output();
        let compiled = compiled.expect("the runner can be started");
        assert!(compiled.status.success(), "{}", describe(&compiled));
        let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(&at).status();
        assert!(opened.is_ok_and(|s| s.success()), "the corpus can be read by all");
        at
    })
}

fn copy(from: &Path, into: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(into).status();
    assert!(copied.is_ok_and(|s| s.success()), "copying {}", from.display());
}

/// How it went, and which probes had nothing to try, said aloud.
fn report(what: &str, results: &Results) {
    let count = |wanted: &str| results.values().filter(|r| *r == wanted).count();
    let skipped: Vec<&str> = results.iter().filter(|(_, r)| *r == "skip").map(|(n, _)| n.as_str()).collect();
    print_uncaptured(&format!(
        "escapes, {what}: {} probes, {} got out, {} blocked, {} contained, {} had nothing to try ({})",
        results.len(),
        count("ESCAPED"),
        count("blocked"),
        count("contained"),
        skipped.len(),
        skipped.join(" ")
    ));
}
