//! Messages repeat what they were given: a value that is chosen to act on the terminal does not.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::kit::Bed;

/// Sets the title, rings, goes back to the start of the line, turns what follows around, and looks like a message of ours.
const EVIL: &str = "x\u{1b}]0;evil\u{7}\r\u{202e}\u{9b}2J\npinfold: forged";

/// The longest that a command goes on: those that serve do not end by themselves.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// A command of the page on the command line.
struct Documented {
    name: String,
    usage: String,
    /// Options that take a value.
    options: Vec<String>,
    operands: usize,
}

fn documented() -> Vec<Documented> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = fs::read_to_string(page).unwrap();
    page.split("\n## `pinfold ").skip(1).flat_map(|part| part.split("\n### `pinfold ")).map(command).collect()
}

fn command(section: &str) -> Documented {
    let (name, rest) = section.split_once('`').unwrap();
    let usage = rest.lines().find(|line| line.starts_with(&format!("pinfold {name}"))).unwrap_or_default();
    let items = || rest.lines().filter_map(|line| line.strip_prefix("- `")?.split_once('`'));
    let options = items().filter_map(|(item, _)| {
        let (option, _) = item.split_once(" <")?;
        option.split(", ").find(|name| name.starts_with("--")).map(str::to_owned)
    });
    Documented {
        name: name.to_owned(),
        usage: usage.to_owned(),
        options: options.collect(),
        operands: items().filter(|(item, _)| item.starts_with('<')).count(),
    }
}

impl Documented {
    /// Command lines with the value in the place of each option and operand, in the other places of words that fit.
    fn lines(&self) -> Vec<Vec<String>> {
        let operands: Vec<&str> = self
            .usage
            .contains(" -- ")
            .then_some("--")
            .into_iter()
            .chain(vec!["true"; self.operands])
            .collect();
        let line = |options: &[&str], operands: &[&str]| -> Vec<String> {
            let words = self.name.split(' ').chain(options.iter().copied()).chain(operands.iter().copied());
            words.map(str::to_owned).collect()
        };
        let mut lines: Vec<_> =
            self.options.iter().map(|option| line(&[option.as_str(), EVIL], &operands)).collect();
        for (at, word) in operands.iter().enumerate() {
            if *word == "true" {
                let mut operands = operands.clone();
                operands.splice(at..=at, [EVIL]);
                lines.push(line(&[], &operands));
            }
        }
        lines.push(line(&["--no-such-option", EVIL], &operands));
        lines.push(line(&[&format!("--no-such-option={EVIL}")], &operands));
        lines.push(line(&[], &[&operands[..], &[EVIL]].concat()));
        lines
    }
}

/// Runs a command, which ends or is ended, and returns all that it printed.
fn printed(bed: &Bed, words: &[String]) -> String {
    let files = ["out", "err"].map(|name| bed.tree.path(name));
    let [out, err] = files.each_ref().map(|path| fs::File::create(path).unwrap());
    let mut command: Command = bed.command();
    let mut child = command.args(words).stdout(out).stderr(err).stdin(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > COMMAND_TIMEOUT {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(2));
    }
    files.map(|path| String::from_utf8(fs::read(path).unwrap()).unwrap()).concat()
}

#[test]
fn no_value_of_an_option_acts_on_the_terminal() {
    let commands = documented();
    let options: usize = commands.iter().map(|command| command.options.len()).sum();
    assert!(options > 150, "the page names options with values: {options}");
    let mut repeated = 0;
    let mut raw = Vec::new();
    for words in commands.iter().flat_map(Documented::lines) {
        let printed = printed(&Bed::new(), &words);
        repeated += usize::from(
            printed.contains("ESC›") || printed.contains("\\u{1b}") || printed.contains("\\u001b"),
        );
        let acts = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}';
        if let Some(line) =
            printed.lines().find(|line| line.contains(acts) || line.starts_with("pinfold: forged"))
        {
            raw.push(format!("{words:?}: {line:?}"));
        }
    }
    assert!(raw.is_empty(), "{} of them:\n{}", raw.len(), raw.join("\n"));
    assert!(repeated > 100, "control: messages repeat values: {repeated}");
}
