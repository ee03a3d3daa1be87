//! Tables of command lines and what they mean.
//!
//! `cases/*.txt`: a line that starts with `$ ` is a command line (`\n` is a newline, `\\` a backslash before `n`);
//! below it stands, indented, everything that its claims say beyond the words themselves. Lines that start with `#`
//! and empty ones separate. `PINFOLD_BLESS=1 cargo test -p pinfold-commands` writes the tables anew.

use std::fmt::Write;

use pinfold_shell::{Part, Word};

use super::{CommandEffects, Invocation, NotAllowlistable, WorkDirUse, analyze};
use crate::Origin;

fn commands(line: &str) -> CommandEffects {
    analyze(line, &pinfold_shell::parse(line))
}

fn show_words(invocation: &Invocation) -> String {
    let mut shown: Vec<String> = invocation.words.iter().map(show_word).collect();
    if invocation.open_ended {
        shown.push("…".to_owned());
    }
    shown.join(" ")
}

fn show_word(word: &Word) -> String {
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

fn exclusion(reason: &NotAllowlistable) -> String {
    let unless = reason.lifted_by.as_ref().map(|word| format!(" unless {word}")).unwrap_or_default();
    format!("excluded {}{unless}", reason.id)
}

/// Everything that is claimed, a line each.
fn claim_lines(line: &str) -> String {
    let understood = commands(line);
    let mut out = String::new();
    let several = understood.commands.len() > 1;
    for reason in &understood.not_allowlistable {
        let _ = writeln!(out, "  line {}", self::exclusion(reason));
    }
    for (at, claim) in understood.commands.iter().enumerate() {
        if several {
            let inert = if claim.inert { " (inert)" } else { "" };
            let _ = writeln!(out, "  [{at}] {}{inert}", show_words(&claim.readings[0]));
        } else if claim.inert {
            out.push_str("  inert\n");
        }
        if *claim.allowable() != claim.readings[0] {
            let _ = writeln!(out, "  rules see {}", show_words(claim.allowable()));
        }
        for reading in &claim.readings[1..] {
            let _ = writeln!(out, "  runs {}", show_words(reading));
        }
        for reason in &claim.not_allowlistable {
            let _ = writeln!(out, "  {}", self::exclusion(reason));
        }
        for folder in &claim.work_dirs {
            let takes = match folder.takes {
                WorkDirUse::Nothing => "nothing",
                WorkDirUse::Repository => "settings",
                WorkDirUse::ChangesRepository => "settings, changing",
                WorkDirUse::ExecutedFiles => "code",
            };
            let _ = writeln!(out, "  in {} ({takes})", folder.path.as_os_str().display());
        }
        for path in &understood.paths {
            let (number, aside) = match path.origin {
                Origin::Call | Origin::Foreign | Origin::Supposed(_) | Origin::Process => {
                    panic!("a command's path that comes from the call")
                }
                Origin::Command(number) => (number, ""),
                Origin::Aside(number) => (number, " aside"),
            };
            if number == at {
                let text = path.path.as_ref().map_or(".".into(), |path| path.as_os_str().to_string_lossy());
                let unless = match path.unless_there.as_slice() {
                    [] => String::new(),
                    names => {
                        let names: Vec<_> =
                            names.iter().map(|name| name.as_os_str().to_string_lossy()).collect();
                        format!(" unless {}", names.join(" "))
                    }
                };
                let _ = writeln!(out, "  {} {text}{aside}{unless}", path.operation.as_str());
            }
        }
    }
    for host in &understood.hosts {
        let _ = writeln!(out, "  host {}", host.host.as_deref().unwrap_or("?"));
    }
    out
}

/// Writes a table anew, with what is claimed now. Its difference is to be read line by line.
fn bless(table: &str, name: &str) {
    let mut out = String::new();
    for line in table.lines().filter(|line| !line.starts_with("  ")) {
        let _ = writeln!(out, "{line}");
        if let Some(command) = line.strip_prefix("$ ") {
            out.push_str(&claim_lines(&command.replace("\\n", "\n")));
        }
    }
    let file = format!("{}/src/cases/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::write(file, out).unwrap();
}

fn check(table: &str, name: &str) {
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        return bless(table, name);
    }
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
        let told = claim_lines(&command.replace("\\n", "\n"));
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

tables! { wrappers launchers variables folders files text git network build languages containers archives others beside disguises }

mod laws {
    //! Properties of every line.

    use proptest::prelude::*;

    use super::super::{NotAllowlistable, analyze};
    use super::commands;

    /// Pieces that lines are made of, the awkward ones among them.
    fn piece() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "rm",
            "git",
            "sudo",
            "timeout",
            "5",
            "env",
            "A=1",
            "PATH=x",
            "sh",
            "-c",
            "'rm x'",
            "xargs",
            "find",
            ".",
            "-exec",
            "{}",
            "\\;",
            "cd",
            "..",
            "/etc",
            "~",
            "$X",
            "\"$(ls)\"",
            "{a,b}",
            "*",
            "-o",
            "--output=x",
            "--",
            "-",
            "tar",
            "xf",
            "cp",
            "-t",
            "sed",
            "-i",
            "s/a/b/w f",
            "awk",
            "{print > \"f\"}",
            "curl",
            "-d",
            "@f",
            "dd",
            "of=x",
            "make",
            "npm",
            "exec",
            "docker",
            "run",
            "-v",
            "/:/x",
            "eval",
            "trap",
            "'",
            "\"",
            "`",
            "(",
            ")",
            "{",
            "}",
            "<<E",
            "\n",
            "E",
            ">",
            "<",
            "2>&1",
            "&&",
            "||",
            ";",
            "|",
            "&",
            "for",
            "in",
            "do",
            "done",
            "if",
            "then",
            "fi",
            "f()",
            "[",
            "]",
            "[[",
            "((",
            "$((1))",
            "é",
            "\u{0}",
        ]);
        prop_oneof![8 => word.prop_map(str::to_owned), 1 => "[ -~]{0,8}", 1 => any::<char>().prop_map(String::from)]
    }

    proptest! {
        // Many mixtures are no single command; those are passed over.
        #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

        #[test]
        fn every_line_is_understood_or_excluded(pieces in prop::collection::vec(piece(), 0..24)) {
            let line = pieces.join(" ");
            let script = pinfold_shell::parse(&line);
            let understood = analyze(&line, &script);
            prop_assert_eq!(understood.commands.len(), script.commands.len());
            for (claim, command) in understood.commands.iter().zip(&script.commands) {
                let written = claim.readings.first();
                prop_assert!(written.is_some(), "no reading in {}", line);
                prop_assert_eq!(&claim.span, &command.span);
                let plain = command.words.iter().all(|word| word.as_static().is_some());
                if plain {
                    prop_assert_eq!(&written.unwrap().words, &command.words);
                }
                prop_assert!(claim.readings.contains(claim.allowable()));
                prop_assert!(!claim.inert || claim.not_allowlistable.is_empty());
            }
            if !script.opaque.is_empty() {
                prop_assert!(understood.not_allowlistable.iter().any(|reason| reason.id == "opaque"));
            }
        }

        /// Another launcher in front never hides what a command does from those who look for it.
        #[test]
        fn a_launcher_in_front_hides_nothing(
            pieces in prop::collection::vec(piece(), 1..6),
            launcher in prop::sample::select(vec!["sudo", "env", "nohup", "timeout 5", "setsid", "nice -n 3", "xargs", "doas", "ionice -c 3"]),
        ) {
            let line = format!("prog {}", pieces.join(" "));
            let script = pinfold_shell::parse(&line);
            prop_assume!(script.opaque.is_empty() && script.commands.len() == 1);
            let alone = commands(&line);
            let launched = commands(&format!("{launcher} {line}"));
            prop_assume!(launched.not_allowlistable.is_empty() && launched.commands.len() == 1);
            let written = &alone.commands[0].readings[0].words;
            let found = launched.commands[0].readings.iter().any(|reading| {
                let kinds = |words: &[pinfold_shell::Word]| words.iter().map(|word| word.parts.clone()).collect::<Vec<_>>();
                kinds(&reading.words) == kinds(written)
            });
            prop_assert!(found, "{} {}", launcher, line);
        }
    }

    fn has(not_allowlistable: &[NotAllowlistable], id: &str) -> bool {
        not_allowlistable.iter().any(|reason| reason.id == id)
    }

    #[test]
    fn what_is_deeper_than_is_looked_through_is_excluded() {
        let launchers = format!("{}rm x", "sudo ".repeat(40));
        assert!(has(&commands(&launchers).commands[0].not_allowlistable, "launcher"));
        let mut shells = "rm x".to_owned();
        for _ in 0..6 {
            shells = format!("sh -c '{}'", shells.replace('\'', "'\\''"));
        }
        let understood = commands(&shells);
        assert!(understood.commands[0].readings.iter().any(|reading| reading.name() == Some("rm")));
        let many = format!("find . {}", "-exec rm x ; ".repeat(200).replace(';', "\\;"));
        assert!(has(&commands(&many).commands[0].not_allowlistable, "launcher"));
    }

    #[test]
    fn long_lines_take_no_more_than_their_length() {
        let lines = [
            "sudo ".repeat(12_000),
            "rm x; ".repeat(10_000),
            format!("cp {}", "a ".repeat(30_000)),
            format!("echo {}", "{a,b}".repeat(10_000)),
            format!("X=--y; {}", "sort $X; ".repeat(6_000)),
            format!("sed '{}' f", "s/a/b/;".repeat(8_000)),
            format!("cd a; {}", "cd b; ".repeat(8_000)),
            format!("sh -c '{}'", "rm x; ".repeat(9_000)),
            format!("tar {}", "-C x ".repeat(12_000)),
            format!("git {}", "-C x ".repeat(12_000)),
            format!("cd a {}", "&& cd b ".repeat(7_000)),
            format!("{}rm x", "(cd a; ".repeat(3_000)),
            "f() { cd a; }; f; ".repeat(3_000),
            format!("for i in {}; do rm $i; done", "$(ls) ".repeat(8_000)),
            "X=$(ls); sort $X; ".repeat(3_000),
        ];
        for line in lines {
            let start = std::time::Instant::now();
            let understood = commands(&line);
            let seconds = start.elapsed().as_secs_f64();
            assert!(!understood.commands.is_empty(), "{}", &line[..20]);
            assert!(seconds < 2.0, "{seconds} s for {}", &line[..20]);
        }
    }
}
