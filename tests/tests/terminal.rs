//! What a person, a script and a supervisor notice of pinfold around a command: nothing but its exit code.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use pinfold_tests::output::describe;
use pinfold_tests::processes::{has_terminal, is_stopped, signal, unique_sleep, until, with_word};
use pinfold_tests::product::pinfold;
use pinfold_tests::terminal::Terminal;
use pinfold_tests::{Bed, Tier, Who, each};

/// Tries something where questions can be asked at the terminal and where they cannot.
fn both_ways(who: Who, attempt: impl Fn(&Bed)) {
    for options in [["--ask", "nobody"].as_slice(), &["--ask", "auto"]] {
        println!("{options:?}");
        attempt(&Bed::new(who).with_options(options));
    }
}

fn shell(bed: &Bed, tier: Tier, script: &str) -> Command {
    let mut command = bed.run(tier, &["--quiet"]);
    command.args(["sh", "-c", script]);
    command
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    line.trim_end().to_owned()
}

#[each(user, tier)]
fn exit_codes_come_out(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        for (script, code) in [
            ("exit 0", 0),
            ("exit 1", 1),
            ("exit 3", 3),
            ("exit 124", 124),
            ("exit 255", 255),
            ("kill -TERM $$", 143),
            ("kill -KILL $$", 137),
            ("kill -SEGV $$", 139),
        ] {
            let output = bed.sh(tier, script);
            assert_eq!(
                output.status.code(),
                Some(code),
                "{tier}, {}: `{script}`: {}",
                bed.who(),
                describe(&output)
            );
        }
    });
}

#[each(user, tier)]
fn commands_that_cannot_be_started_say_so(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let plain = bed.folder().join("plain");
        fs::write(&plain, "not a program\n").expect("a file");
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).expect("a mode");
        for (program, code) in
            [("no-such-program", 127), ("./no/such/program", 127), ("./plain", 126), ("/usr", 126)]
        {
            let output = bed.run(tier, &[]).arg(program).output().expect("pinfold");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{tier}: `{program}`: {}", describe(&output));
            assert!(said.contains(program), "the message names the program: {said}");
        }
        let output = bed.run(tier, &["--folder", "/no/such/folder"]).arg("true").output().expect("pinfold");
        assert!(matches!(output.status.code(), Some(2 | 125)), "{}", describe(&output));
    });
}

#[each(user, tier)]
fn streams_are_clean_to_the_byte(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let every_byte: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let mut child = bed
            .run(tier, &["--quiet"])
            .arg("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("pinfold");
        let mut input = child.stdin.take().expect("piped");
        let sent = every_byte.clone();
        let writer = std::thread::spawn(move || input.write_all(&sent));
        let output = child.wait_with_output().expect("an end");
        writer.join().expect("a thread").expect("all was read");
        assert!(output.stdout == every_byte, "{tier}: {} bytes came out", output.stdout.len());
        assert!(output.stderr.is_empty(), "{}", describe(&output));
    });
}

#[each(user, tier)]
fn much_output_comes_out_whole(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let output = bed.sh(tier, "head -c 10000000 /dev/zero; echo end >&2");
        assert_eq!(output.stdout.len(), 10_000_000, "{tier}");
        assert!(String::from_utf8_lossy(&output.stderr).lines().any(|line| line == "end"), "{tier}");
    });
}

#[each(user, tier)]
fn a_reader_that_goes_away_ends_the_writer(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mut child = shell(bed, tier, "yes").stdout(Stdio::piped()).spawn().expect("pinfold");
        let mut some = [0; 100];
        child.stdout.take().expect("piped").read_exact(&mut some).expect("output");
        let status = child.wait().expect("an end");
        assert!(matches!(status.code(), Some(141 | 1)), "{tier}: {status}");
    });
}

#[each(user, tier)]
fn signals_to_pinfold_reach_the_command(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        for name in ["TERM", "INT", "HUP", "USR1"] {
            let script = format!("trap 'echo got; exit 7' {name}; echo ready; while :; do sleep 0.05; done");
            let mut child = shell(bed, tier, &script).stdout(Stdio::piped()).spawn().expect("pinfold");
            assert_eq!(first_line(&mut child), "ready");
            signal(&child, name);
            let output = child.wait_with_output().expect("an end");
            assert_eq!(output.status.code(), Some(7), "{tier}, {}: {name}", bed.who());
            assert!(output.stdout.starts_with(b"got"), "{tier}: {name}");
        }
    });
}

#[each(user, tier)]
fn the_tree_ends_when_pinfold_is_killed(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mark = unique_sleep();
        let script = format!("setsid sleep {mark} & (sleep {mark} &) ; echo ready; exec sleep {mark}");
        let mut child = shell(bed, tier, &script).stdout(Stdio::piped()).spawn().expect("pinfold");
        assert_eq!(first_line(&mut child), "ready");
        until("all three run", || with_word(&mark).len() == 3);
        signal(&child, "KILL");
        child.wait().expect("an end");
        until(&format!("{tier}, {}: none of them runs", bed.who()), || with_word(&mark).is_empty());
    });
}

#[each(user, tier)]
fn background_processes_end_with_the_run(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mark = unique_sleep();
        let script = format!(
            "setsid sleep {mark} </dev/null >/dev/null 2>&1 & nohup sleep {mark} >/dev/null 2>&1 & exit 5"
        );
        let output = bed.sh(tier, &script);
        assert_eq!(output.status.code(), Some(5), "{}", describe(&output));
        assert!(with_word(&mark).is_empty(), "{tier}, {}: something is left", bed.who());
    });
}

#[each(user, tier)]
fn time_that_is_over_ends_the_tree(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mark = unique_sleep();
        // Deaf to the polite signal.
        let script = format!("trap '' TERM; sleep {mark} & sleep {mark}; sleep {mark}");
        let output =
            bed.run(tier, &["--timeout", "1s"]).args(["sh", "-c", &script]).output().expect("pinfold");
        assert_eq!(output.status.code(), Some(124), "{tier}: {}", describe(&output));
        until("nothing is left", || with_word(&mark).is_empty());
    });
}

#[each(user, tier)]
fn a_run_inside_a_run_holds_and_gives_its_code(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let inner = bed.folder().join("inner");
        fs::create_dir(&inner).expect("a directory");
        bed.give();
        let nested = format!(
            "cd inner && {} run --allow-degraded -- sh -c 'echo a > in; echo b > ../out; exit 9'",
            pinfold().display()
        );
        let around =
            |options: &[&str]| bed.run(tier, options).args(["sh", "-c", &nested]).output().expect("pinfold");
        let output = around(&["--allow-feature", "landlock"]);
        assert_eq!(output.status.code(), Some(9), "{tier}, {}: {}", bed.who(), describe(&output));
        assert!(
            inner.join("in").exists() && !bed.folder().join("out").exists(),
            "{tier}: {}",
            describe(&output)
        );
        // Otherwise the run around would carry out what the inner one forbids, so that there is none.
        fs::remove_file(inner.join("in")).expect("removed");
        let output = around(&[]);
        assert!(
            describe(&output).contains("inside another run"),
            "{tier}, {}: {}",
            bed.who(),
            describe(&output)
        );
        assert!(
            !inner.join("in").exists() && !bed.folder().join("out").exists(),
            "{tier}: {}",
            describe(&output)
        );
    });
}

/// An interactive shell with nothing around it, on a terminal. It prompts with `$ `.
fn outer_shell(bed: &Bed) -> Terminal {
    let mut outer = bed.free("bash");
    outer.args(["--norc", "--noprofile", "--noediting", "-i"]);
    Terminal::start(&outer)
}

/// Waits until the shell outside reads again. A command with a terminal of its own has taken what was typed before, as
/// one at the end of a network would.
fn back(terminal: &mut Terminal) {
    terminal.expect("$ ");
}

/// What to type there for a run of a script.
fn typed(bed: &Bed, tier: Tier, options: &str, script: &str) -> String {
    let tier = [tier.options(), bed.options()].concat().join(" ");
    format!("{} run {tier} {options} --quiet -- sh -c '{script}'\n", pinfold().display())
}

#[each(user, tier)]
fn an_interactive_shell_has_its_jobs(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mark = unique_sleep();
        let mut command = bed.run(tier, &["--quiet"]);
        // What it would write when it ends lies outside, and is asked about where that can be.
        command.args(["bash", "--norc", "--noprofile", "--noediting", "-i"]).env("HISTFILE", "");
        let mut terminal = Terminal::start(&command);
        let in_foreground = || {
            until("it has the terminal", || matches!(with_word(&mark)[..], [pid] if has_terminal(pid)));
        };
        terminal.type_in("PS1='> '; echo rea''dy\n");
        terminal.expect("ready");
        terminal.type_in(&format!("sleep {mark}\n"));
        in_foreground();
        terminal.type_in("\x1a");
        terminal.expect("Stopped");
        terminal.expect("> ");
        terminal.type_in("jobs; bg; fg\n");
        terminal.expect("Stopped");
        // Typed before, the key would be meant for the shell.
        in_foreground();
        terminal.type_in("\x03");
        terminal.expect("> ");
        terminal.type_in("echo co''de $?\n");
        terminal.expect("code 130");
        terminal.type_in("exit 6\n");
        assert_eq!(terminal.end().code(), Some(6), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn keys_that_interrupt_reach_the_command(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        for (key, code) in [("\x03", 130), ("\x1c", 131)] {
            let mut terminal = Terminal::start(&shell(bed, tier, "echo ready; exec sleep 1000"));
            terminal.expect("ready");
            terminal.type_in(key);
            assert_eq!(terminal.end().code(), Some(code), "{tier}, {}", bed.who());
        }
        // Handled by the command, so that the run goes on.
        let script =
            "trap 'echo hel''d; on=1' INT; echo rea''dy; while [ -z \"$on\" ]; do sleep 0.05; done; exit 8";
        let mut terminal = Terminal::start(&shell(bed, tier, script));
        terminal.expect("ready");
        terminal.type_in("\x03");
        terminal.expect("held");
        assert_eq!(terminal.end().code(), Some(8), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn a_run_is_a_job_of_the_shell_outside(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mut terminal = outer_shell(bed);
        let script = r#"echo rea""dy; read word; echo "word: $word"; exit 4"#;
        terminal.type_in(&typed(bed, tier, "", script));
        terminal.expect("ready");
        terminal.type_in("\x1a");
        terminal.expect("Stopped");
        terminal.expect("$ ");
        // Every key is the shell's: nothing of the run still reads.
        terminal.type_in("echo me''anwhile\n");
        terminal.expect("meanwhile");
        terminal.expect("$ ");
        terminal.type_in("fg\n");
        terminal.expect("exit 4");
        terminal.type_in("hello\n");
        terminal.expect("word: hello");
        back(&mut terminal);
        terminal.type_in("echo co''de $?; exit 0\n");
        terminal.expect("code 4");
        assert_eq!(terminal.end().code(), Some(0), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn a_run_stops_when_its_command_has_stopped(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mut terminal = outer_shell(bed);
        // Tidies up first, as editors do.
        let script = r#"trap "sleep 0.3; echo ti\"\"died; kill -STOP \$\$; echo ba\"\"ck" TSTP
            sleep 1000 & echo rea""dy; while :; do wait; done"#;
        terminal.type_in(&typed(bed, tier, "", script));
        terminal.expect("ready");
        terminal.type_in("\x1a");
        terminal.expect("tidied");
        terminal.expect("Stopped");
        terminal.expect("$ ");
        terminal.type_in("fg\n");
        terminal.expect("back");
        terminal.type_in("\x03");
        terminal.expect("$ ");
        terminal.type_in("exit $?\n");
        assert_eq!(terminal.end().code(), Some(130), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn a_command_that_does_not_stop_keeps_the_terminal(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mut terminal = outer_shell(bed);
        let script = r#"trap "" TSTP; echo rea""dy; read word; echo "word: $word"; exit 4"#;
        terminal.type_in(&typed(bed, tier, "", script));
        terminal.expect("ready");
        terminal.type_in("\x1a");
        terminal.type_in("hello\n");
        terminal.expect("word: hello");
        back(&mut terminal);
        terminal.type_in("exit $?\n");
        assert_eq!(terminal.end().code(), Some(4), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn a_shell_inside_that_suspends_itself_comes_back(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mut terminal = outer_shell(bed);
        terminal.type_in(&typed(
            bed,
            tier,
            "",
            "PS1=in\"\"side: HISTFILE= exec bash --norc --noprofile --noediting -i",
        ));
        terminal.expect("inside:");
        terminal.type_in("suspend\n");
        terminal.expect("Stopped");
        terminal.expect("$ ");
        terminal.type_in("fg\n");
        terminal.expect("-i'");
        terminal.type_in("echo he''re; exit 6\n");
        terminal.expect("here");
        back(&mut terminal);
        terminal.type_in("exit $?\n");
        assert_eq!(terminal.end().code(), Some(6), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn a_run_in_the_background_leaves_the_terminal_to_the_shell(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mut terminal = outer_shell(bed);
        let script = r#"echo rea""dy; sleep 0.2"#;
        terminal.type_in(&typed(bed, tier, "", script).replace('\n', " &\n"));
        terminal.expect("ready");
        until("it has ended", || with_word(script).is_empty());
        terminal.type_in("echo me''anwhile; exit 3\n");
        terminal.expect("meanwhile");
        assert_eq!(terminal.end().code(), Some(3), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn stopping_and_continuing_pinfold_does_so_to_the_command(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mark = unique_sleep();
        let mut terminal = outer_shell(bed);
        terminal.type_in(&typed(bed, tier, "", &format!("exec sleep {mark}")).replace('\n', " &\n"));
        until("it sleeps", || with_word(&mark).len() == 1);
        let is_stopped = || with_word(&mark).into_iter().any(is_stopped);
        for _ in 0..3 {
            terminal.type_in("kill -TSTP $!\n");
            until("it has stopped", is_stopped);
            terminal.type_in("until jobs | grep Sto''pped; do :; done\n");
            terminal.expect("Stopped");
            terminal.type_in("kill -CONT $!\n");
            until("it goes on", || !is_stopped());
        }
        terminal.type_in("kill $!; wait $!; exit $?\n");
        assert_eq!(terminal.end().code(), Some(143), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn time_passes_for_a_run_that_is_stopped(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mark = unique_sleep();
        let mut terminal = outer_shell(bed);
        terminal.type_in(&typed(bed, tier, "--timeout 1s", &format!("exec sleep {mark}")));
        until("it sleeps", || with_word(&mark).len() == 1);
        terminal.type_in("\x1a");
        terminal.expect("Stopped");
        until("nothing is left", || with_word(&mark).is_empty());
        terminal.type_in("wait; exit 3\n");
        assert_eq!(terminal.end().code(), Some(3), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn the_size_of_the_window_is_that_outside(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let script = "trap 'stty size; exit 0' WINCH; stty size; echo rea''dy; while :; do sleep 0.05; done";
        let mut terminal = Terminal::start(&shell(bed, tier, script));
        terminal.expect("24 80");
        terminal.expect("ready");
        terminal.resize(50, 132);
        terminal.expect("50 132");
        assert_eq!(terminal.end().code(), Some(0), "{tier}, {}", bed.who());
    });
}

#[each(user, tier)]
fn a_window_that_is_closed_ends_the_run(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mark = unique_sleep();
        let script = format!("sleep {mark} & echo rea''dy; exec sleep {mark}");
        let mut terminal = Terminal::start(&shell(bed, tier, &script));
        terminal.expect("ready");
        until("both run", || with_word(&mark).len() == 2);
        let mut child = terminal.hang_up();
        until(&format!("{tier}, {}: none of them runs", bed.who()), || with_word(&mark).is_empty());
        child.wait().expect("an end");
    });
}

#[each(user, tier)]
fn a_command_leaves_neither_its_settings_nor_answers_to_it_at_the_terminal(who: Who, tier: Tier) {
    both_ways(who, |bed| {
        let mut terminal = outer_shell(bed);
        let script = r#"stty raw -echo; printf "\033[6n"; echo as""ked; sleep 0.5"#;
        terminal.type_in(&typed(bed, tier, "", script));
        // As a terminal says where its cursor is.
        terminal.expect("asked");
        terminal.type_in("\x1b[5;7R");
        terminal.expect("$ ");
        terminal.type_in("echo he''re\n");
        terminal.expect("here");
        assert!(terminal.is_as_usual(), "{tier}, {}", bed.who());
        terminal.type_in("exit 5\n");
        assert_eq!(terminal.end().code(), Some(5), "{tier}, {}", bed.who());
    });
}
