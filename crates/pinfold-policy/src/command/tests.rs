//! Tables of command lines and what they mean.
//!
//! `cases/*.txt`: a line that starts with `$ ` is a command line (`\n` is a newline, `\\` a backslash before `n`);
//! below it stands, indented, everything that its claims say beyond the words themselves. Lines that start with `#`
//! and empty ones separate.

use std::fmt::Write;

use pinfold_shell::{Part, Word};

use super::{Bar, Commands, FolderUse, Invocation, understand};
use crate::claim::Origin;

fn commands(line: &str) -> Commands {
    understand(line, &pinfold_shell::parse(line))
}

fn words(invocation: &Invocation) -> String {
    let mut shown: Vec<String> = invocation.words.iter().map(word).collect();
    if invocation.open_ended {
        shown.push("…".to_owned());
    }
    shown.join(" ")
}

fn word(word: &Word) -> String {
    let part = |part: &Part| match part {
        Part::Literal(text) | Part::Glob(text) => text.replace('\n', "\\n"),
        Part::Tilde(user) => format!("~{user}"),
        Part::Parameter { name, .. } => format!("${name}"),
        Part::Substitution { .. } => "$()".to_owned(),
        Part::Process => "<()".to_owned(),
        Part::Arithmetic => "$(())".to_owned(),
        Part::Brace(_) => "{}".to_owned(),
    };
    word.parts.iter().map(part).collect()
}

fn bar(bar: &Bar) -> String {
    let unless = bar.lifted_by.as_ref().map(|word| format!(" unless {word}")).unwrap_or_default();
    format!("bar {}{unless}", bar.id)
}

/// Everything that is claimed, a line each.
fn told(line: &str) -> String {
    let understood = commands(line);
    let mut out = String::new();
    let several = understood.commands.len() > 1;
    for bar in &understood.bars {
        let _ = writeln!(out, "  line {}", self::bar(bar));
    }
    for (at, claim) in understood.commands.iter().enumerate() {
        if several {
            let inert = if claim.inert { " (inert)" } else { "" };
            let _ = writeln!(out, "  [{at}] {}{inert}", words(&claim.readings[0]));
        } else if claim.inert {
            out.push_str("  inert\n");
        }
        if claim.allowable != claim.readings[0] {
            let _ = writeln!(out, "  rules see {}", words(&claim.allowable));
        }
        for reading in &claim.readings[1..] {
            let _ = writeln!(out, "  runs {}", words(reading));
        }
        for bar in &claim.bars {
            let _ = writeln!(out, "  {}", self::bar(bar));
        }
        for folder in &claim.works_in {
            let takes = match folder.takes {
                FolderUse::Nothing => "nothing",
                FolderUse::Repository => "settings",
                FolderUse::ChangesRepository => "settings, changing",
                FolderUse::Code => "code",
            };
            let _ = writeln!(out, "  in {} ({takes})", folder.path.as_os_str().display());
        }
        for path in &understood.paths {
            let (number, aside) = match path.origin {
                Origin::Call | Origin::Foreign => panic!("a command's path that comes from the call"),
                Origin::Command(number) => (number, ""),
                Origin::Aside(number) => (number, " aside"),
            };
            if number == at {
                let text = path.path.as_ref().map_or(".".into(), |path| path.as_os_str().to_string_lossy());
                let _ = writeln!(out, "  {} {text}{aside}", path.operation.word());
            }
        }
    }
    for host in &understood.hosts {
        let _ = writeln!(out, "  host {}", host.host.as_deref().unwrap_or("?"));
    }
    out
}

fn check(table: &str, name: &str) {
    let mut wrong = String::new();
    let mut blocks: Vec<(&str, String)> = Vec::new();
    for line in table.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            blocks.push((command, String::new()));
        } else if line.starts_with("  ")
            && let Some((_, expected)) = blocks.last_mut()
        {
            expected.push_str(line);
            expected.push('\n');
        } else {
            assert!(line.is_empty() || line.starts_with('#'), "{name}: not a line of the table: {line}");
        }
    }
    assert!(!blocks.is_empty(), "{name} is empty");
    for (command, expected) in blocks {
        let told = told(&command.replace("\\n", "\n"));
        if told != expected {
            let _ = writeln!(wrong, "$ {command}\n{told}  -- expected --\n{expected}");
        }
    }
    assert!(wrong.is_empty(), "{name}:\n{wrong}");
}

macro_rules! tables {
    ($($name:ident)+) => { $(
        #[test]
        fn $name() {
            check(include_str!(concat!("cases/", stringify!($name), ".txt")), stringify!($name));
        }
    )+ };
}

tables! { wrappers launchers variables folders files text git network build languages containers archives others }
