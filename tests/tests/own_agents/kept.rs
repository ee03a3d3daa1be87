//! What is kept of runs: for one process at a time, until it is taken away.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use pinfold_tests::output::describe;
use pinfold_tests::{Who, each};
use serde_json::json;

use super::{Runs, write};

impl Runs {
    /// The files of runs, by their names, the oldest first.
    fn kept(&self) -> Vec<String> {
        let entries = fs::read_dir(self.kept_in()).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, String)> = entries
            .filter_map(|entry| {
                let name = entry.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned();
                Some((entry.metadata().ok()?.modified().ok()?, name))
            })
            .collect();
        files.sort();
        files.into_iter().map(|(_, name)| name).collect()
    }

    fn kept_in(&self) -> PathBuf {
        self.bed.home().join(".local/state/pinfold/agents")
    }

    fn file_of(&self, name: &str) -> PathBuf {
        self.kept_in().join(format!("{name}.jsonl"))
    }
}

#[each(user)]
fn old_runs_go_by_count_and_by_age_and_those_at_work_stay(who: Who) {
    let runs = Runs::new(who, &[json!({"calls": [write("a.txt")]}), json!({"say": "done"})]);
    for _ in 0..4 {
        let output = runs.run(&["--prompt", "go"]);
        assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    }
    let all = runs.kept();
    assert_eq!(all.len(), 4);
    let unsaid = runs.agent(&["clean"]);
    assert!(unsaid.status.code() == Some(2) && runs.kept() == all, "{}", describe(&unsaid));
    let young = runs.agent(&["clean", "--older-than", "1d"]);
    assert!(young.status.code() == Some(0) && runs.kept() == all, "{}", describe(&young));

    let old = SystemTime::now() - Duration::from_hours(50);
    let file = File::options().append(true).open(runs.file_of(&all[0])).expect("a file");
    file.set_modified(old).expect("a time");
    // As a run at work holds it.
    file.lock().expect("a lock");
    let held = runs.agent(&["clean", "--older-than", "2d"]);
    let said = String::from_utf8_lossy(&held.stdout).into_owned();
    assert!(said.contains("is at work and stays") && runs.kept() == all, "{said}");
    let resumed = runs.run(&["--resume", &all[0]]);
    assert_eq!(resumed.status.code(), Some(2), "nor is it gone on with: {}", describe(&resumed));
    assert!(String::from_utf8_lossy(&resumed.stderr).contains("at work in another process"));
    file.unlock().expect("a lock");
    let gone = runs.agent(&["clean", "--older-than", "2d"]);
    assert!(gone.status.code() == Some(0) && runs.kept() == all[1..], "{}", describe(&gone));
    let counted = runs.agent(&["clean", "--keep", "1"]);
    assert!(counted.status.code() == Some(0) && runs.kept() == all[3..], "{}", describe(&counted));
    let tree = runs.agent(&["tree"]);
    assert_eq!(tree.status.code(), Some(0), "the others can still be shown: {}", describe(&tree));
    // What is no file is no run, and is not waited for.
    let odd = runs.file_of("agent-fifo");
    let made = std::process::Command::new("mkfifo").arg(&odd).status();
    assert!(made.is_ok_and(|status| status.success()));
    fs::create_dir(runs.file_of("agent-folder")).expect("a folder");
    assert_eq!(runs.agent(&["clean", "--keep", "0"]).status.code(), Some(0));
    assert_eq!(runs.kept().len(), 2, "they are left: {:?}", runs.kept());
}
