//! The table of `docs/json.md`: each command is run, and prints the keys that stand there. `PINFOLD_BLESS=1` writes them afresh.

use std::fs;
use std::path::Path;

use pinfold_tests::missing::left_out;
use pinfold_tests::{Tier, Who};
use serde_json::{Deserializer, Value};

use crate::tour;

/// The keys of the first JSON object in an output, or of the first one in a list.
fn keys(output: &str) -> Vec<String> {
    let starts = |line: &&str| line.starts_with(['{', '[']);
    let line = output.lines().find(starts).unwrap_or_else(|| panic!("no JSON: {output}"));
    let start = line.as_ptr() as usize - output.as_ptr() as usize;
    let value = Deserializer::from_str(&output[start..]).into_iter::<Value>().next().expect("a value");
    let value = value.unwrap_or_else(|e| panic!("{e}: {output}"));
    let object = value.as_object().or_else(|| value.get(0)?.as_object());
    let object = object.unwrap_or_else(|| panic!("no object: {output}"));
    let mut keys: Vec<String> = object.keys().cloned().collect();
    keys.sort();
    keys
}

#[test]
fn each_command_prints_the_keys_that_stand_there() {
    if !Tier::Full.is_possible_for(Who::Ordinary) {
        return left_out("JSON formats", "a run is started on the full tier");
    }
    let Some(bed) = tour::bed() else { return };
    let site = bed.home().join("work/site");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/json.md");
    let page = fs::read_to_string(&file).expect("the page");
    let mut seen = 0;
    let lines = page.lines().map(|line| {
        let row: Vec<&str> = line.split('|').collect();
        let [_, command, _, described, _] = row[..] else { return line.to_owned() };
        let Some(script) = command.trim().strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) else {
            return line.to_owned();
        };
        seen += 1;
        let output = tour::shell(&bed, &site, script).output().expect("a shell");
        let keys: Vec<String> = keys(&String::from_utf8_lossy(&output.stdout));
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        format!("|{command}| {} |{described}|", keys.join(", "))
    });
    let made = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert!(seen > 10, "{seen}");
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        fs::write(&file, &made).expect("the page can be written");
    } else {
        let differs = page.lines().zip(made.lines()).find(|(there, made)| there != made);
        assert!(page == made, "run with PINFOLD_BLESS=1; the first line that differs: {differs:?}");
    }
}
