//! A person at the terminal of a run: what a process tries outside is shown, and happens as they say.

use std::fs;
use std::path::Path;

use pinfold_tests::terminal::Terminal;
use pinfold_tests::{Bed, Tier, Who};

/// Tries something on every tier, as everybody who is there.
fn everywhere(attempt: impl Fn(&Bed, Tier)) {
    for who in Who::present() {
        for tier in Tier::ALL.into_iter().filter(|tier| tier.is_possible_for(who)) {
            println!("{who}, {tier}");
            attempt(&Bed::new(who), tier);
        }
    }
}

/// A shell in a run, with somebody at its terminal.
fn shell(bed: &Bed, tier: Tier) -> Terminal {
    let mut run = bed.run(tier, &["--ask", "terminal"]);
    // What the shell would write when it ends is not what is asked about here.
    run.args(["bash", "--norc", "--noprofile"]).env("TERM", "xterm-256color").env("HISTFILE", "");
    let mut terminal = Terminal::start(&run);
    terminal.until("a prompt", |screen| screen.contents().contains("$ "));
    terminal
}

/// Says something to the shell.
fn say(terminal: &mut Terminal, line: &str) {
    terminal.type_in(line);
    terminal.type_in("\r");
}

/// Waits for the question about this, and for the moment from which keys count.
fn asked(terminal: &mut Terminal, about: &str) {
    terminal.until("the question", |screen| {
        let text = screen.contents();
        text.contains("pinfold:") && text.contains(about)
    });
    std::thread::sleep(pinfold_terminal::QUIET + std::time::Duration::from_millis(200));
}

fn shown(terminal: &mut Terminal, text: &str) {
    terminal.until(text, |screen| screen.contents().contains(text));
}

fn end(mut terminal: Terminal) {
    say(&mut terminal, "exit 0");
    assert!(terminal.end().success());
}

fn place(bed: &Bed, name: &str) -> String {
    bed.outside().join(name).display().to_string()
}

#[test]
fn a_yes_is_done_and_a_no_is_permission_denied() {
    everywhere(|bed, tier| {
        let mut terminal = shell(bed, tier);
        say(&mut terminal, &format!("echo one > {}; echo rc=$?", place(bed, "yes")));
        asked(&mut terminal, "outside/yes");
        terminal.type_in("y");
        shown(&mut terminal, "rc=0");
        assert_eq!(fs::read_to_string(bed.outside().join("yes")).unwrap(), "one\n");
        say(&mut terminal, &format!("clear; echo two > {}; echo rc=$?", place(bed, "no")));
        asked(&mut terminal, "outside/no");
        terminal.type_in("n");
        shown(&mut terminal, "rc=1");
        shown(&mut terminal, "ermission denied");
        assert!(!bed.outside().join("no").exists());
        end(terminal);
    });
}

/// `rm` at a terminal asks first whether it could write, and gives up where it is told that the file system is read-only.
#[test]
fn a_program_that_looks_before_it_writes_goes_on_to_try() {
    everywhere(|bed, tier| {
        let there = bed.outside().join("there");
        fs::write(&there, "old").unwrap();
        bed.give();
        let mut terminal = shell(bed, tier);
        say(&mut terminal, &format!("rm {}; echo rc=$?", place(bed, "there")));
        asked(&mut terminal, "outside/there");
        terminal.type_in("y");
        shown(&mut terminal, "rc=0");
        assert!(!there.exists());
        // What the machine itself would refuse is refused.
        say(&mut terminal, &format!("clear; [ -w {} ] || echo gone", place(bed, "there")));
        shown(&mut terminal, "gone");
        end(terminal);
    });
}

#[test]
fn what_was_granted_for_the_session_is_not_asked_again_and_ends_with_it() {
    everywhere(|bed, tier| {
        let mut terminal = shell(bed, tier);
        say(&mut terminal, &format!("echo one > {}; echo rc=$?", place(bed, "a")));
        asked(&mut terminal, "outside/a");
        terminal.type_in("s");
        shown(&mut terminal, "until");
        std::thread::sleep(std::time::Duration::from_millis(200));
        terminal.type_in("\r");
        shown(&mut terminal, "rc=0");
        say(&mut terminal, &format!("echo two > {}; echo then=$?", place(bed, "a")));
        shown(&mut terminal, "then=0");
        assert_eq!(fs::read_to_string(bed.outside().join("a")).unwrap(), "two\n");
        end(terminal);

        let mut terminal = shell(bed, tier);
        say(&mut terminal, &format!("echo three > {}; echo rc=$?", place(bed, "a")));
        asked(&mut terminal, "outside/a");
        terminal.type_in("\u{1b}");
        shown(&mut terminal, "rc=1");
        end(terminal);
    });
}

#[test]
fn always_is_a_rule_in_the_settings_of_this_project() {
    everywhere(|bed, tier| {
        let mut terminal = shell(bed, tier);
        say(&mut terminal, &format!("echo one > {}; echo rc=$?", place(bed, "a")));
        asked(&mut terminal, "outside/a");
        terminal.type_in("a");
        shown(&mut terminal, "Edit(");
        shown(&mut terminal, ".pinfold/settings.local.json");
        std::thread::sleep(std::time::Duration::from_millis(200));
        terminal.type_in("\r");
        shown(&mut terminal, "rc=0");
        end(terminal);
        let written = fs::read_to_string(bed.folder().join(".pinfold/settings.local.json")).unwrap();
        assert!(written.contains("outside/a"), "{written}");

        let mut terminal = shell(bed, tier);
        say(&mut terminal, &format!("echo two > {}; echo rc=$?", place(bed, "a")));
        shown(&mut terminal, "rc=0");
        assert_eq!(fs::read_to_string(bed.outside().join("a")).unwrap(), "two\n");
        end(terminal);
    });
}

#[test]
fn a_start_up_file_is_asked_about_each_time_with_yes_and_no_alone() {
    everywhere(|bed, tier| {
        let mut terminal = shell(bed, tier);
        say(&mut terminal, "echo alias ls=x >> ~/.bashrc; echo rc=$?");
        asked(&mut terminal, ".bashrc");
        let text = terminal.at_rest().contents();
        assert!(!text.contains("this session") && !text.contains("Always"), "{text}");
        terminal.type_in("\r");
        shown(&mut terminal, "rc=1");
        assert!(!bed.home().join(".bashrc").exists(), "enter alone is no yes to what cannot be undone");
        end(terminal);
    });
}

#[test]
fn a_deny_rule_is_never_a_question() {
    everywhere(|bed, tier| {
        let rule = format!("{{\"permissions\": {{\"deny\": [\"Edit(/{}/**)\"]}}}}", bed.outside().display());
        let settings = bed.folder().join(".pinfold");
        fs::create_dir(&settings).unwrap();
        fs::write(settings.join("settings.json"), rule).unwrap();
        bed.give();
        let mut terminal = shell(bed, tier);
        say(&mut terminal, &format!("echo one > {}; echo rc=$?", place(bed, "a")));
        shown(&mut terminal, "rc=1");
        assert!(!bed.outside().join("a").exists());
        end(terminal);
    });
}

#[test]
fn nobody_is_asked_where_nobody_sits() {
    everywhere(|bed, tier| {
        let script = format!("echo one > {}", place(bed, "a"));
        let output = bed.run(tier, &[]).args(["sh", "-c", &script]).output().unwrap();
        assert!(!output.status.success() && !Path::new(&place(bed, "a")).exists());
    });
}
