//! A person at the terminal of a run: what a process tries outside is shown, and happens as they say.

use std::fs;
use std::path::Path;

use pinfold_tests::terminal::Terminal;
use pinfold_tests::{Bed, Tier, Who, each};

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

/// Waits for the question about this.
fn asked(terminal: &mut Terminal, about: &str) {
    terminal.until("the question", |screen| {
        let text = screen.contents();
        screen.alternate_screen() && text.contains("pinfold:") && text.contains(about)
    });
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

#[each(user, tier)]
fn a_yes_is_done_and_a_no_is_permission_denied(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("echo one > {}; echo rc=$?", place(bed, "yes")));
    asked(&mut terminal, "outside/yes");
    terminal.answer(&["y", "\r"]);
    shown(&mut terminal, "rc=0");
    assert_eq!(fs::read_to_string(bed.outside().join("yes")).unwrap(), "one\n");
    say(&mut terminal, &format!("clear; echo two > {}; echo rc=$?", place(bed, "no")));
    asked(&mut terminal, "outside/no");
    terminal.answer(&["n", "\r"]);
    shown(&mut terminal, "rc=1");
    shown(&mut terminal, "ermission denied");
    assert!(!bed.outside().join("no").exists());
    end(terminal);
}

/// `rm` at a terminal asks first whether it could write, and gives up where it is told that the file system is read-only.
#[each(user, tier)]
fn a_program_that_looks_before_it_writes_goes_on_to_try(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let there = bed.outside().join("there");
    fs::write(&there, "old").unwrap();
    bed.give();
    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("rm {}; echo rc=$?", place(bed, "there")));
    asked(&mut terminal, "outside/there");
    terminal.answer(&["y", "\r"]);
    shown(&mut terminal, "rc=0");
    assert!(!there.exists());
    // What the machine itself would refuse is refused.
    say(&mut terminal, &format!("clear; [ -w {} ] || echo gone", place(bed, "there")));
    shown(&mut terminal, "gone");
    end(terminal);
}

#[each(user, tier)]
fn what_was_granted_for_the_session_is_not_asked_again_and_ends_with_it(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("echo one > {}; echo rc=$?", place(bed, "a")));
    asked(&mut terminal, "outside/a");
    terminal.answer(&["s", "\r"]);
    shown(&mut terminal, "until the session ends");
    shown(&mut terminal, "anything in");
    terminal.answer(&["\r"]);
    shown(&mut terminal, "rc=0");
    say(&mut terminal, &format!("echo two > {}; echo then=$?", place(bed, "a")));
    shown(&mut terminal, "then=0");
    assert_eq!(fs::read_to_string(bed.outside().join("a")).unwrap(), "two\n");
    end(terminal);

    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("echo three > {}; echo rc=$?", place(bed, "a")));
    asked(&mut terminal, "outside/a");
    terminal.answer(&["\u{1b}"]);
    shown(&mut terminal, "rc=1");
    end(terminal);
}

#[each(user, tier)]
fn always_is_a_rule_in_the_settings_of_this_project(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("echo one > {}; echo rc=$?", place(bed, "a")));
    asked(&mut terminal, "outside/a");
    terminal.answer(&["a", "\r"]);
    shown(&mut terminal, "Edit(");
    shown(&mut terminal, ".pinfold/settings.local.json");
    terminal.answer(&["\r"]);
    shown(&mut terminal, "type the word always");
    terminal.answer(&["a", "l", "w", "a", "y", "s", "\r"]);
    shown(&mut terminal, "rc=0");
    end(terminal);
    let written = fs::read_to_string(bed.folder().join(".pinfold/settings.local.json")).unwrap();
    assert!(written.contains("outside/a"), "{written}");

    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("echo two > {}; echo rc=$?", place(bed, "a")));
    shown(&mut terminal, "rc=0");
    assert_eq!(fs::read_to_string(bed.outside().join("a")).unwrap(), "two\n");
    end(terminal);
}

#[each(user, tier)]
fn a_start_up_file_is_asked_about_each_time_with_yes_and_no_alone(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let mut terminal = shell(bed, tier);
    say(&mut terminal, "echo alias ls=x >> ~/.bashrc; echo rc=$?");
    asked(&mut terminal, ".bashrc");
    let text = terminal.at_rest().contents();
    assert!(!text.contains("this session") && !text.contains("Always"), "{text}");
    terminal.answer(&["\r", "\r"]);
    shown(&mut terminal, "rc=1");
    assert!(!bed.home().join(".bashrc").exists(), "enter alone is no yes to what cannot be undone");
    end(terminal);
}

/// A person types for the program, at their own pace or by a paste, while a question comes: it is no answer to it, and
/// the program gets it after the No.
#[each(user, tier)]
fn what_is_typed_for_the_program_is_no_answer_and_reaches_it(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    for burst in [false, true] {
        let bed = &Bed::new(bed.who());
        let mut terminal = shell(bed, tier);
        let question =
            format!("(sleep 1; echo x > {}) 2>/dev/null & cat > here; echo rc=$?", place(bed, "a"));
        say(&mut terminal, &question);
        let lines = ["please say why y is slow", "yes", "n", "a always"];
        if burst {
            asked(&mut terminal, "outside/a");
            terminal.type_in(&lines.map(|line| format!("{line}\r")).concat());
        } else {
            for line in lines {
                for key in format!("{line}\r").chars() {
                    terminal.type_in(&key.to_string());
                    let pause = if matches!(key, ' ' | '\r') { 500 } else { 90 };
                    std::thread::sleep(std::time::Duration::from_millis(pause));
                }
            }
            asked(&mut terminal, "outside/a");
        }
        std::thread::sleep(std::time::Duration::from_millis(1800));
        terminal.answer(&["n", "\r"]);
        terminal.until("the shell", |screen| !screen.alternate_screen());
        terminal.type_in("\u{4}");
        shown(&mut terminal, "rc=0");
        let typed = fs::read_to_string(bed.folder().join("here")).unwrap();
        assert_eq!(typed, lines.map(|line| format!("{line}\n")).concat());
        assert!(!bed.outside().join("a").exists());
        end(terminal);
    }
}

#[each(user, tier)]
fn a_tree_is_one_question_with_no_marked(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let tree = bed.outside().join("tree");
    fs::create_dir_all(tree.join("sub")).unwrap();
    (0..20).for_each(|n| fs::write(tree.join("sub").join(n.to_string()), "x").unwrap());
    bed.give();
    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("rm -rf {}; echo rc=$?", place(bed, "tree")));
    asked(&mut terminal, "outside/tree");
    let text = terminal.at_rest().contents();
    assert!(text.contains("21 files and folders below it") && text.contains("> 4 n  No"), "{text}");
    terminal.answer(&["\r", "\r"]);
    shown(&mut terminal, "rc=1");
    assert!(tree.join("sub/7").exists());
    end(terminal);

    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("rm -rf {}; echo rc=$?", place(bed, "tree")));
    asked(&mut terminal, "outside/tree");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    terminal.answer(&["\u{1b}[F", "y", "\r"]);
    shown(&mut terminal, "rc=0");
    assert!(!tree.exists());
    end(terminal);
}

/// As Claude Code writes a file: by way of a descriptor of its directory, under another name first.
#[each(user, tier)]
fn a_file_that_is_written_by_way_of_another_is_one_question_about_it(who: Who, tier: Tier) {
    if !pinfold_tests::missing::all_there("files by way of others", &["python3"]) {
        return;
    }
    let bed = &Bed::new(who);
    let script = "import os\nfd = os.open(os.environ['OUT'], os.O_PATH)\nat = '/proc/self/fd/%d/w.txt' % fd\n\
                  f = os.open(at + '.tmp.2.9a2056118288', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)\n\
                  os.write(f, b'written\\n')\nos.close(f)\nos.rename(at + '.tmp.2.9a2056118288', at)\n";
    fs::write(bed.folder().join("w.py"), script).unwrap();
    bed.give();
    let mut terminal = shell(bed, tier);
    say(&mut terminal, &format!("OUT={} python3 w.py; echo rc=$?", bed.outside().display()));
    asked(&mut terminal, "outside/w.txt");
    terminal.answer(&["y", "\r"]);
    shown(&mut terminal, "rc=0");
    assert_eq!(fs::read_to_string(bed.outside().join("w.txt")).unwrap(), "written\n");
    end(terminal);
}

#[each(user, tier)]
fn a_deny_rule_is_never_a_question(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
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
}

#[each(user, tier)]
fn nobody_is_asked_where_nobody_sits(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let script = format!("echo one > {}", place(bed, "a"));
    let output = bed.run(tier, &[]).args(["sh", "-c", &script]).output().unwrap();
    assert!(!output.status.success() && !Path::new(&place(bed, "a")).exists());
}
