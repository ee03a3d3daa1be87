//! A hundred agents side by side, each of which tries its neighbour's folder: what they wrote does not meet, by what lies on
//! the disk, by the record, and by what the kernel refused to their shells.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pinfold_tests::output::describe;
use pinfold_tests::record::sessions;
use pinfold_tests::{Who, each};
use serde_json::{Value, json};

use super::{Runs, bash, write};

const AGENTS: usize = 100;

fn name(n: usize) -> String {
    format!("w{:02}", n % AGENTS)
}

/// What the shell of one of them tries, in a script that no look at the words sees: whatever could reach its neighbour.
fn script(n: usize) -> String {
    let (next, third) = (name(n + 1), name(n + 2));
    format!(
        "echo x > mine; echo x > ../{next}/shell; echo x > given/link; echo x > ../{third}/given-to/third\n\
         ln -s ../{next} way; echo x > way/own-link; ln mine ../{next}/hard; mv mine ../{next}/moved\n\
         rm -f ../{next}/theirs; mkdir ../{next}/dir; cd ../{next} && echo x > changed\ntrue\n"
    )
}

/// What one of them does: its own work, then its script, then one try that the gate sees. That one is the last, since after
/// twenty denials in a run whoever is denied is stopped.
fn part(n: usize) -> Vec<Value> {
    let (me, next, third) = (name(n), name(n + 1), name(n + 2));
    let tried = match n % 5 {
        0 => write(&format!("{next}/tool")),
        1 => write(&format!("{me}/given/tool-link")),
        2 => write(&format!("{third}/given-to/tool-third")),
        3 => bash(&format!("echo x > ../{next}/said")),
        _ => {
            json!({"tool": "MoveFile", "input": {"source": format!("{me}/own"), "destination": format!("{next}/move")}})
        }
    };
    let calls = json!([write(&format!("{me}/own")), bash("sh tries.sh"), tried]);
    vec![json!({"agent": me, "calls": calls}), json!({"agent": me, "say": "done"})]
}

fn runs(who: Who) -> Runs {
    let start =
        |n: usize| json!({"tool": "run_agent", "input": {"name": name(n), "folder": name(n), "task": "go"}});
    let spawns: Vec<Value> = (0..AGENTS).map(start).collect();
    let first = [json!({"calls": spawns}), json!({"say": "all"})];
    let turns: Vec<Value> = first.into_iter().chain((0..AGENTS).flat_map(part)).collect();
    let runs = Runs::new(who, &turns);
    for n in 0..AGENTS {
        let folder = runs.bed.folder().join(name(n));
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("theirs"), "").expect("a file");
        fs::write(folder.join("tries.sh"), script(n)).expect("a file");
        // Links that somebody else made: to the neighbour, and to the neighbour of another one.
        symlink(format!("../{}", name(n + 1)), folder.join("given")).expect("a link");
        symlink(format!("../{}", name(n + 99)), folder.join("given-to")).expect("a link");
    }
    runs.bed.give();
    runs
}

#[each(user)]
fn a_hundred_agents_that_try_each_others_folders_write_only_their_own(who: Who) {
    let runs = runs(who);
    let words = ["--allow-bash", "--allowed-tools", "Agent", "--parallel", "16", "--json", "--prompt", "go"];
    let output = runs.run(&words);
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    for n in 0..AGENTS {
        let folder = runs.bed.folder().join(name(n));
        let found: BTreeSet<String> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        let expected =
            ["given", "given-to", "mine", "own", "theirs", "tries.sh", "way"].map(str::to_owned).into();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let of = format!("\"agent\":\"{}\"", name(n));
        let its: Vec<&str> = text.lines().filter(|line| line.contains(&of)).collect();
        assert_eq!(found, expected, "{}: {its:#?}", name(n));
    }
    recorded(&runs);
}

/// What the record says of each: its line, what it was let write, and what the kernel refused to its shell.
fn recorded(runs: &Runs) {
    let told = sessions(&runs.bed.home());
    let [begun, ended] = ["start agent run", "end"].map(|word| {
        told.iter().filter(|(_, what)| what == word).map(|(name, _)| name).collect::<BTreeSet<_>>()
    });
    assert!(!begun.is_empty() && begun == ended, "{told:?}");
    let file = runs.bed.home().join(".local/state/pinfold/record/record.jsonl");
    let text = fs::read_to_string(file).expect("a record");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let top = runs.bed.folder().canonicalize().expect("a folder");
    let (mut roots, mut refused, mut denied) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for line in lines.iter().filter(|line| line["principal"].as_str().is_some_and(|who| who.starts_with('w')))
    {
        let me = line["principal"].as_str().expect("a name").to_owned();
        let own = top.join(&me);
        match (line["kind"].as_str(), line["ruling"].as_str()) {
            (Some("decision"), ruling) => {
                let root = Path::new(line["root"].as_str().expect("a line of its own"));
                assert_eq!(root, own, "{line}");
                roots.insert(me.clone(), root.to_owned());
                if ruling == Some("refusal") {
                    denied.insert(me);
                    continue;
                }
                assert_eq!(ruling, Some("permit"), "nobody is asked: {line}");
                for path in line["paths"].as_array().into_iter().flatten() {
                    let real = path["real"].as_str().or_else(|| path["asked"].as_str()).expect("a path");
                    let lies_in = top.join(real).starts_with(&own);
                    assert!(lies_in || path["operation"] == "read", "{me} was let write {real}: {line}");
                }
            }
            (Some("outcome"), _) => {
                let denials = line["denials"].as_array().into_iter().flatten();
                let by_kernel = denials.filter(|denial| denial["layer"] == "kernel");
                if by_kernel.count() > 0 {
                    refused.insert(me);
                }
            }
            _ => {}
        }
    }
    assert_eq!(roots.len(), AGENTS, "each has a line of its own");
    for (one, root) in &roots {
        let overlaps =
            |(other, theirs): (&String, &std::path::PathBuf)| other != one && theirs.starts_with(root);
        assert!(!roots.iter().any(overlaps), "the line of {one} holds another one");
    }
    assert_eq!(refused.len(), AGENTS, "the kernel refused each of their shells");
    assert_eq!(denied.len(), AGENTS, "and the gate each of their calls");
}
