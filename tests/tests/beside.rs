//! A dialog at the terminal of a command that runs: it comes, it hears what is meant for it, and it leaves no trace.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pinfold_tests::missing::all_there;
use pinfold_tests::processes::{TEST_TIMEOUT, is_stopped, running, send, unique_sleep, until, with_word};
use pinfold_tests::product::offered;
use pinfold_tests::terminal::Terminal;
use pinfold_tests::{Bed, Tier, Who, each};
use vt100::Screen;

/// Only once: where it does not matter what holds the command.
fn somewhere(attempt: impl Fn(&Bed, Tier)) {
    attempt(&Bed::new(Who::Ordinary), Tier::LandlockOnly);
}

fn asker() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| offered("asker", Path::new(env!("CARGO_BIN_EXE_asker"))))
}

/// Whom the program is told by to ask, and who hears what happens.
struct Line {
    listener: UnixListener,
    at: PathBuf,
    stream: Option<UnixStream>,
    heard: Option<Receiver<String>>,
}

impl Line {
    fn new(bed: &Bed) -> Self {
        let at = bed.outside().join("line");
        let listener = UnixListener::bind(&at).expect("a socket");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o777)).expect("a mode");
        Self { listener, at, stream: None, heard: None }
    }

    /// The words that start a command with an asker, for a shell.
    fn words(&self, tier: Tier, command: &[&str]) -> Vec<String> {
        let tier = if tier == Tier::Full { "full" } else { "landlock" };
        let own = [asker().display().to_string(), tier.into(), self.at.display().to_string()];
        own.into_iter().chain(command.iter().map(|word| (*word).to_owned())).collect()
    }

    /// The asker has called.
    fn connect(&mut self) {
        let (stream, _) = self.listener.accept().expect("a caller");
        let lines = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
        let (sender, heard) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        (self.stream, self.heard) = (Some(stream), Some(heard));
    }

    fn order(&self, order: &str) {
        writeln!(self.stream.as_ref().expect("a caller"), "{order}").expect("a listener");
    }

    fn next(&self, wait: Duration) -> Result<String, RecvTimeoutError> {
        self.heard.as_ref().expect("a caller").recv_timeout(wait)
    }

    /// The next thing that happens, while the terminal is read.
    fn hears(&self, terminal: &mut Terminal, expected: &str) {
        let end = Instant::now() + TEST_TIMEOUT;
        loop {
            match self.next(Duration::from_millis(10)) {
                Ok(line) => {
                    assert_eq!(line, expected, "at:\n{}", terminal.at_rest().contents());
                    return;
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => terminal.glance(),
                Err(error) => panic!("{error} instead of {expected}:\n{}", terminal.at_rest().contents()),
            }
        }
    }

    fn asks(&self, terminal: &mut Terminal, question: &str) {
        self.order(&format!("ask {question}"));
        self.hears(terminal, "shown");
        terminal.until("the dialog", |screen| screen.contents().contains(question));
    }

    /// The dialog goes by itself.
    fn leaves(&self, terminal: &mut Terminal) {
        self.hears(terminal, "ready");
        self.order("leave");
        self.hears(terminal, "left");
    }
}

fn key(c: char) -> String {
    format!("key Key {{ code: Char({c:?}), ctrl: false, alt: false, shift: false }}")
}

/// A command with an asker, on a new terminal.
fn start(bed: &Bed, tier: Tier, command: &[&str]) -> (Line, Terminal) {
    let mut line = Line::new(bed);
    let words = line.words(tier, command);
    let mut asker = bed.free(&words[0]);
    asker.args(&words[1..]).env("TERM", "xterm-256color");
    let terminal = Terminal::start(&asker);
    line.connect();
    (line, terminal)
}

/// An interactive shell outside, which prompts with `$ `, and the words to be typed there.
fn start_shell(bed: &Bed, tier: Tier, command: &[&str]) -> (Line, Terminal, String) {
    let line = Line::new(bed);
    let quoted = |word: String| format!("'{}'", word.replace('\'', r"'\''"));
    let words: Vec<String> = line.words(tier, command).into_iter().map(quoted).collect();
    let mut outer = bed.free("bash");
    outer.args(["--norc", "--noprofile", "--noediting", "-i"]).env("TERM", "xterm-256color");
    (line, Terminal::start(&outer), words.join(" ") + "\n")
}

/// What can be seen, and what keys and the mouse do.
fn looks(screen: &Screen) -> (String, String, (u16, u16), bool) {
    let modes = screen.input_mode_formatted();
    (screen.contents_formatted(), modes, screen.cursor_position(), screen.alternate_screen())
}

#[track_caller]
fn same(before: &Screen, after: &Screen) {
    let (before, after) = (looks(before), looks(after));
    assert_eq!(after, before, "\nbefore:\n{}\nafter:\n{}", before.0, after.0);
}

const COLOURS: &str = r"printf '\033[1;32mgreen\033[m and \033[44mblue\033[m\r\nlast'; printf '\033[?25l\033[?1h\033[?1002;1006h'";

const FULL_SCREEN: &str = r"printf 'main\033[?1049h\033[H\033[2J\033[?2004h\033[?1003;1006h'
    printf '\033[3;5H\033[7m inverse \033[m\r\n中文 ä\033[5;1H\033(0lqqk\033(B\033[2;20r\033[4;7H'";

#[each(user, tier)]
fn a_dialog_leaves_no_trace(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    for drawn in [COLOURS, FULL_SCREEN] {
        let bed = &Bed::new(bed.who());
        let script = format!("{drawn}; read word; printf \"word: $word\"; read word; exit 6");
        let (line, mut terminal) = start(bed, tier, &["sh", "-c", &script]);
        terminal.until("drawn", |screen| screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None);
        let before = terminal.at_rest();
        for _ in 0..2 {
            line.asks(&mut terminal, "May it?");
            let dialog = terminal.at_rest();
            assert!(dialog.alternate_screen() && dialog.contents().contains("24x80"));
            assert_eq!(dialog.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
            assert!(!dialog.contents().contains("last") && !dialog.contents().contains("inverse"));
            line.hears(&mut terminal, "ready");
            terminal.type_in("q");
            line.hears(&mut terminal, &key('q'));
            line.hears(&mut terminal, "left");
            // The model of the test knows no other sets of characters, so that lines come back as lines.
            let drawn_with_letters = before.contents().contains("lqqk");
            if drawn_with_letters {
                let after = terminal.at_rest();
                assert_eq!(after.contents(), before.contents().replace("lqqk", "┌──┐"));
                assert_eq!(after.cursor_position(), before.cursor_position());
                assert_eq!(after.input_mode_formatted(), before.input_mode_formatted());
            } else {
                same(&before, &terminal.at_rest());
            }
        }
        terminal.type_in("hello\n");
        terminal.until("the answer", |screen| screen.contents().contains("word: hello"));
        terminal.type_in("\n");
        assert_eq!(terminal.end().code(), Some(6));
    }
}

#[each(user, tier)]
fn programs_of_every_day_are_as_they_were(who: Who, tier: Tier) {
    if !all_there("dialogs over editors", &["vim", "less"]) {
        return;
    }
    let bed = &Bed::new(who);
    for command in [
        ["vim", "-u", "NONE", "-i", "NONE", "-n", "--cmd", "syntax on", "file.sh"].as_slice(),
        &["less", "-S", "file.sh"],
    ] {
        let bed = &Bed::new(bed.who());
        let lines = (0..60).map(|n| format!("if [ {n} = \"ä 中\" ]; then echo {n}; fi # line\n"));
        let text = lines.collect::<Vec<_>>().concat();
        fs::write(bed.folder().join("file.sh"), text).expect("a file");
        bed.give();
        let (line, mut terminal) = start(bed, tier, command);
        terminal.until("the text", |screen| screen.contents().contains("echo 3;"));
        let before = terminal.at_rest();
        line.asks(&mut terminal, "May it?");
        line.leaves(&mut terminal);
        same(&before, &terminal.at_rest());
        // It goes on where it was.
        terminal.type_in("j");
        terminal.until("an answer", |screen| looks(screen) != looks(&before));
        terminal.type_in(if command[0] == "vim" { ":q!\r" } else { "q" });
        assert_eq!(terminal.end().code(), Some(0));
        assert!(!terminal.at_rest().alternate_screen());
    }
}

#[each(user, tier)]
fn what_was_typed_before_a_dialog_was_seen_is_the_commands(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let script = "stty -echo; echo rea''dy; while read word; do echo \"word: $word\"; done; exit 7";
    let (line, mut terminal) = start(bed, tier, &["sh", "-c", script]);
    terminal.expect("ready");
    terminal.type_in("q");
    line.order("ask May it?");
    terminal.type_in("q");
    line.hears(&mut terminal, "shown");
    // Just as somebody who types along, and sees it a moment later.
    for _ in 0..4 {
        terminal.type_in("q");
        thread::sleep(Duration::from_millis(200));
        assert_eq!(line.next(Duration::ZERO), Err(RecvTimeoutError::Timeout), "not quiet yet");
    }
    line.hears(&mut terminal, "ready");
    terminal.type_in("x");
    line.hears(&mut terminal, &key('x'));
    // Another question: what is in the air is not an answer to it.
    line.order("renew And this?");
    line.hears(&mut terminal, "shown");
    terminal.type_in("q");
    line.hears(&mut terminal, "ready");
    terminal.type_in("q");
    line.hears(&mut terminal, &key('q'));
    line.hears(&mut terminal, "left");
    terminal.type_in("!\n");
    terminal.expect("word: qqqqqqq!");
    terminal.type_in("\x04");
    assert_eq!(terminal.end().code(), Some(7));
}

#[test]
fn what_a_terminal_says_by_itself_answers_nothing() {
    somewhere(|bed, tier| {
        let (line, mut terminal) = start(bed, tier, &["sh", "-c", "read word; exit 3"]);
        line.asks(&mut terminal, "May it?");
        line.hears(&mut terminal, "ready");
        // Answers to what a command had asked: its title, what stands on the clipboard, a setting, the place of the mouse.
        for said in
            ["\x1b]lq\r\x1b\\", "\x1b]52;c;cQ==\x07", "\x1bP1$rq\r\x1b\\", "\x1b[<0;1;1M", "\x1b[1;1R"]
        {
            terminal.type_in(said);
        }
        terminal.type_in("\x1b[200~q\rq\x1b[201~");
        line.hears(&mut terminal, "paste \"q\\rq\"");
        terminal.type_in("\x03");
        line.hears(&mut terminal, "key Key { code: Char('c'), ctrl: true, alt: false, shift: false }");
        terminal.type_in("\x1b");
        line.hears(&mut terminal, "key Key { code: Escape, ctrl: false, alt: false, shift: false }");
        terminal.type_in("q");
        line.hears(&mut terminal, &key('q'));
        line.hears(&mut terminal, "left");
        terminal.type_in("\n");
        assert_eq!(terminal.end().code(), Some(3));
    });
}

/// What was sent, without the pictures of dialogs.
fn without_dialogs(sent: &[u8]) -> String {
    let text = String::from_utf8_lossy(sent);
    let mut rest: &str = &text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("\x18\x1b\\\x1b[?1049h") {
        kept.push_str(before);
        rest = after.split_once("\x1b[?25h").expect("the end of a dialog").1;
    }
    kept + rest
}

#[each(user, tier)]
fn a_command_that_writes_and_writes_waits(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let script = "echo rea''dy; read word; seq 1 200000; echo do''ne; read word; exit 5";
    let (line, mut terminal) = start(bed, tier, &["sh", "-c", script]);
    terminal.expect("ready");
    terminal.type_in("\n");
    for n in 0..5 {
        line.asks(&mut terminal, &format!("May it, number {n}?"));
        let dialog = terminal.at_rest();
        thread::sleep(Duration::from_millis(100));
        same(&dialog, &terminal.at_rest());
        line.leaves(&mut terminal);
    }
    terminal.expect("done");
    terminal.type_in("\n");
    assert_eq!(terminal.end().code(), Some(5));
    let written = without_dialogs(terminal.sent());
    let expected = (1..=200_000).map(|n| format!("{n}\r\n")).collect::<Vec<_>>().concat();
    assert!(written.contains(&(expected + "done\r\n")), "every line came, in its order");
}

#[each(user, tier)]
fn a_sequence_that_does_not_end_swallows_nothing(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let script = r"printf 'one\033]2;a '; read word; printf 'title\007two\r\n'
        head -c 100000 /dev/zero | tr '\0' A | { printf '\033]52;c;'; cat; }; read word; printf 'AA\007three'
        read word; exit 4";
    let (line, mut terminal) = start(bed, tier, &["sh", "-c", script]);
    terminal.until("the first word", |screen| screen.contents().contains("one"));
    let before = terminal.at_rest();
    line.asks(&mut terminal, "May it?");
    line.leaves(&mut terminal);
    same(&before, &terminal.at_rest());
    terminal.type_in("\n");
    terminal.until("the second", |screen| screen.contents().contains("two"));
    let before = terminal.at_rest();
    line.asks(&mut terminal, "May it?");
    line.leaves(&mut terminal);
    same(&before, &terminal.at_rest());
    terminal.type_in("\n");
    terminal.until("the third", |screen| screen.contents().contains("three"));
    assert_eq!(terminal.at_rest().contents().trim(), "onetwo\nthree", "none of the rest is text");
    terminal.type_in("\n");
    assert_eq!(terminal.end().code(), Some(4));
}

#[each(user, tier)]
fn a_window_that_changes_under_a_dialog_changes_for_all(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let script =
        "trap 'stty size' WINCH; stty size; while [ ! -e end ]; do read -t 0.1 word || :; done; exit 2";
    let (line, mut terminal) = start(bed, tier, &["bash", "-c", script]);
    terminal.expect("24 80");
    line.asks(&mut terminal, "May it?");
    terminal.resize(30, 100);
    line.hears(&mut terminal, "size 30x100");
    terminal.until("the new picture", |screen| screen.contents().contains("30x100"));
    line.leaves(&mut terminal);
    terminal.expect("30 100");
    terminal.at_rest();
    terminal.resize(20, 60);
    terminal.expect("20 60");
    fs::write(bed.folder().join("end"), "").expect("a file");
    assert_eq!(terminal.end().code(), Some(2));
}

#[test]
fn what_only_the_command_can_draw_it_draws_again() {
    somewhere(|bed, tier| {
        let script = r#"draw() { printf '\033[H\033[2Jdrawn %s \033[9mstruck\033[m' "$(stty size)"; }
            printf '\033[?1049h'; trap draw WINCH; draw; while [ ! -e end ]; do read -t 0.1 word || :; done"#;
        let (line, mut terminal) = start(bed, tier, &["bash", "-c", script]);
        terminal.until("drawn", |screen| screen.contents().contains("drawn 24 80 struck"));
        line.asks(&mut terminal, "May it?");
        line.leaves(&mut terminal);
        terminal.expect("drawn 23 80");
        terminal.until("drawn again", |screen| screen.contents().contains("drawn 24 80 struck"));
        fs::write(bed.folder().join("end"), "").expect("a file");
        assert_eq!(terminal.end().code(), Some(0));
    });
}

#[each(user, tier)]
fn a_dialog_hears_that_the_command_has_ended(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let mark = unique_sleep();
    let (line, mut terminal) = start(bed, tier, &["sleep", &mark]);
    until("it sleeps", || !running(&["sleep", &mark]).is_empty());
    line.asks(&mut terminal, "May it?");
    let sleeper = running(&["sleep", &mark])[0];
    kill("KILL", sleeper);
    line.hears(&mut terminal, "gone");
    assert_eq!(terminal.end().code(), Some(137));
    assert!(!terminal.at_rest().alternate_screen());
}

fn kill(signal: &str, pid: u32) {
    send(pid, signal);
}

#[each(user, tier)]
fn a_window_that_is_closed_under_a_dialog_ends_all(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let mark = unique_sleep();
    let (line, mut terminal) = start(bed, tier, &["sh", "-c", &format!("sleep {mark}; exit 1")]);
    until("it sleeps", || !running(&["sleep", &mark]).is_empty());
    line.asks(&mut terminal, "May it?");
    let mut child = terminal.hang_up();
    until("none of them runs", || with_word(&mark).is_empty());
    child.wait().expect("an end");
}

#[each(user, tier)]
fn what_a_command_leaves_behind_is_tidied(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let (_line, mut terminal) =
        start(bed, tier, &["sh", "-c", &format!("{FULL_SCREEN}; stty raw -echo; kill -KILL $$")]);
    assert_eq!(terminal.end().code(), Some(137));
    let screen = terminal.at_rest();
    assert!(terminal.is_as_usual());
    assert!(!screen.alternate_screen() && !screen.bracketed_paste());
    assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    assert_eq!((screen.contents(), screen.cursor_position()), ("main".into(), (0, 4)));
}

#[each(user, tier)]
fn signals_to_the_supervisor_reach_the_command(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    for (signal, dialog) in [("TERM", false), ("INT", true), ("HUP", false), ("USR1", true)] {
        let bed = &Bed::new(bed.who());
        let script = format!("trap 'echo got; exit 7' {signal}; echo rea''dy; while :; do sleep 0.05; done");
        let (line, mut terminal) = start(bed, tier, &["sh", "-c", &script]);
        terminal.expect("ready");
        assert!(!terminal.is_as_usual(), "every key is passed on");
        if dialog {
            line.asks(&mut terminal, "May it?");
        }
        kill(signal, terminal.leader());
        assert_eq!(terminal.end().code(), Some(7), "{signal}");
        assert!(terminal.at_rest().contents().contains("got"), "{signal}");
        assert!(terminal.is_as_usual(), "{signal}");
    }
}

#[each(user, tier)]
fn every_byte_comes_out_and_goes_in(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let junk: Vec<u8> = (0..=255u8).cycle().take(1_000_000).collect();
    fs::write(bed.folder().join("junk"), &junk).expect("a file");
    bed.give();
    // The raw bytes of all keys but for what ends the input.
    let keys: String = (1..=127u8).map(char::from).collect();
    let script = "stty raw -echo; printf rea''dy; head -c 127 > keys; cat junk; exit 3";
    let (_line, mut terminal) = start(bed, tier, &["sh", "-c", script]);
    terminal.expect("ready");
    terminal.type_in(&keys);
    assert_eq!(terminal.end().code(), Some(3));
    assert_eq!(fs::read(bed.folder().join("keys")).expect("the keys"), keys.as_bytes());
    let sent = terminal.sent();
    let from = sent.windows(5).position(|part| part == b"ready").expect("the beginning") + 5;
    assert!(sent[from..].starts_with(&junk), "{} of {} bytes", sent.len() - from, junk.len());
}

#[each(user, tier)]
fn what_still_holds_the_terminal_does_not_hold_us(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let mark = unique_sleep();
    let script = format!(
        "setsid sleep {mark} & (trap '' HUP; while :; do echo more; done) & head -c 300000 /dev/zero | tr '\\0' x; echo la''st; exit 3"
    );
    let begun = Instant::now();
    let (_line, mut terminal) = start(bed, tier, &["sh", "-c", &script]);
    assert_eq!(terminal.end().code(), Some(3));
    assert!(begun.elapsed() < TEST_TIMEOUT / 3, "{:?}", begun.elapsed());
    assert!(terminal.sent().windows(4).any(|part| part == b"last"), "to its last byte");
    until("nothing is left", || with_word(&mark).is_empty());
}

#[each(user, tier)]
fn an_editor_is_stopped_and_continued(who: Who, tier: Tier) {
    if !all_there("a stopped editor", &["vim"]) {
        return;
    }
    let bed = &Bed::new(who);
    fs::write(bed.folder().join("file"), "some text\nmore text\n").expect("a file");
    bed.give();
    let editor = ["vim", "-u", "NONE", "-i", "NONE", "-n", "file"];
    let (mut line, mut terminal, words) = start_shell(bed, tier, &editor);
    terminal.type_in(&words);
    line.connect();
    terminal.until("the text", |screen| screen.contents().contains("more text"));
    let before = terminal.at_rest();
    terminal.type_in("\x1a");
    terminal.expect("Stopped");
    terminal.expect("$ ");
    assert!(!terminal.at_rest().alternate_screen() && terminal.is_as_usual());
    terminal.type_in("echo mean''while\n");
    terminal.expect("meanwhile");
    terminal.expect("$ ");
    terminal.type_in("fg\n");
    terminal.until("the other screen", Screen::alternate_screen);
    terminal.until("the text again", |screen| screen.contents().contains("more text"));
    // The editor has drawn it, with another message.
    let again = terminal.at_rest();
    assert_eq!(again.cursor_position(), before.cursor_position());
    line.asks(&mut terminal, "May it?");
    line.leaves(&mut terminal);
    same(&again, &terminal.at_rest());
    terminal.type_in(":q!\r");
    terminal.expect("$ ");
    terminal.type_in("exit $?\n");
    assert_eq!(terminal.end().code(), Some(0));
}

#[each(user, tier)]
fn a_stop_under_a_dialog_gives_the_terminal_back(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let mark = unique_sleep();
    let (mut line, mut terminal, words) = start_shell(bed, tier, &["sleep", &mark]);
    terminal.type_in(&words);
    line.connect();
    until("it sleeps", || !running(&["sleep", &mark]).is_empty());
    let sleeper = running(&["sleep", &mark])[0];
    let before = terminal.at_rest();
    line.asks(&mut terminal, "May it?");
    line.hears(&mut terminal, "ready");
    kill("STOP", sleeper);
    until("it has stopped", || is_stopped(sleeper));
    terminal.until("the shell", |screen| screen.contents().contains("Stopped"));
    assert!(terminal.at_rest().contents().starts_with(&before.contents()));
    terminal.type_in("echo mean''while\n");
    terminal.until("the shell", |screen| screen.contents().contains("meanwhile\n$"));
    // The second is meant for the shell, or for the command; who knows.
    terminal.type_in("fg\nq");
    line.hears(&mut terminal, "size 24x80");
    terminal.until("the dialog", |screen| screen.contents().contains("May it?"));
    until("it goes on", || !is_stopped(sleeper));
    line.hears(&mut terminal, "ready");
    terminal.type_in("q");
    line.hears(&mut terminal, &key('q'));
    line.hears(&mut terminal, "left");
    terminal.type_in("\x03");
    terminal.until("the shell", |screen| screen.contents().trim_end().ends_with('$'));
    terminal.type_in("exit $?\n");
    assert_eq!(terminal.end().code(), Some(130));
}

#[test]
fn each_of_many_has_its_turn() {
    somewhere(|bed, tier| {
        let script = r"printf '\033[?1049h\033[Hdrawn'; read word; exit 9";
        let (line, mut terminal) = start(bed, tier, &["sh", "-c", script]);
        terminal.until("drawn", |screen| screen.contents().contains("drawn"));
        let before = terminal.at_rest();
        line.order("crowd 100");
        let mut turns = vec![false; 100];
        loop {
            terminal.glance();
            let said = line.next(TEST_TIMEOUT).expect("a word");
            let Some(number) = said.strip_prefix("turn ") else { break assert_eq!(said, "left") };
            let number: usize = number.parse().expect("a number");
            assert!(!std::mem::replace(&mut turns[number], true), "once");
        }
        assert!(turns.into_iter().all(|turn| turn));
        same(&before, &terminal.at_rest());
        terminal.type_in("\n");
        assert_eq!(terminal.end().code(), Some(9));
    });
}

/// Where it has the names of our terminals, a command could draw other words over a question.
/// The kernel shows nothing of what has ended and was not waited for, as with a process that hides what it has open.
#[test]
fn what_has_ended_keeps_no_dialog_away() {
    somewhere(|bed, tier| {
        let script = "sh -c 'echo rea\"\"dy' & exec sh -c 'while [ ! -e end ]; do sleep 0.05; done; exit 3'";
        let (line, mut terminal) = start(bed, tier, &["bash", "-c", script]);
        terminal.expect("ready");
        line.asks(&mut terminal, "May it?");
        line.leaves(&mut terminal);
        fs::write(bed.folder().join("end"), "").expect("a file");
        assert_eq!(terminal.end().code(), Some(3));
    });
}

#[each(user, tier)]
fn who_could_draw_over_a_dialog_is_kept_from_it(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    // By the name of the person's terminal, as another process has it open.
    let script = r#"name=$(cat name); echo rea''dy; while [ ! -e try ]; do sleep 0.05; done
        if [ -e early ]; then exec 7>"$name" && echo early; fi
        while [ ! -e end ]; do (echo forged > "$name") 2>/dev/null && touch forged; sleep 0.05; done; exit 3"#;
    for early in [false, true] {
        let bed = &Bed::new(bed.who());
        let mut line = Line::new(bed);
        let words = line.words(tier, &["bash", "-c", script]);
        let mut outer = bed.free("sh");
        // As after a login the terminal is the user's.
        let login = "tty > name; chown $(id -u) $(cat name); exec \"$@\"";
        outer.args(["-c", login, "sh"]).args(&words).env("TERM", "xterm-256color");
        let mut terminal = Terminal::start(&outer);
        line.connect();
        terminal.expect("ready");
        let (try_it, forged) = (bed.folder().join("try"), bed.folder().join("forged"));
        if early {
            fs::write(bed.folder().join("early"), "").expect("a file");
            fs::write(&try_it, "").expect("a file");
            if tier == Tier::LandlockOnly {
                terminal.expect("early");
                line.order("ask May it?");
                let said = line.next(TEST_TIMEOUT).expect("a word");
                assert!(said.contains("could draw on it"), "{said}");
            }
        } else {
            line.asks(&mut terminal, "May it?");
            fs::write(&try_it, "").expect("a file");
            thread::sleep(Duration::from_millis(500));
            assert!(!forged.exists(), "{tier}");
            assert!(!terminal.at_rest().contents().contains("forged"));
            line.leaves(&mut terminal);
            if tier == Tier::LandlockOnly {
                // The control: without a dialog it can.
                until("it could be done", || forged.exists());
            }
        }
        fs::write(bed.folder().join("end"), "").expect("a file");
        assert_eq!(terminal.end().code(), Some(3));
    }
}

#[each(user, tier)]
fn nobody_is_asked_in_the_background(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let (mut line, mut terminal, words) =
        start_shell(bed, tier, &["sh", "-c", "echo rea''dy; while [ ! -e end ]; do sleep 0.05; done"]);
    terminal.type_in(&words.replace('\n', " &\n"));
    line.connect();
    terminal.expect("ready");
    line.order("ask May it?");
    line.hears(&mut terminal, "nobody");
    terminal.type_in("echo mean''while\n");
    terminal.expect("meanwhile");
    fs::write(bed.folder().join("end"), "").expect("a file");
    terminal.type_in("wait; exit 3\n");
    assert_eq!(terminal.end().code(), Some(3));
}

#[each(user, tier)]
fn a_run_that_went_to_the_background_asks_when_it_is_back(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let script = "echo rea''dy; while [ ! -e end ]; do echo tick; read -t 0.2 word; done";
    let (mut line, mut terminal, words) = start_shell(bed, tier, &["bash", "-c", script]);
    terminal.type_in(&words);
    line.connect();
    terminal.expect("ready");
    terminal.type_in("\x1a");
    terminal.expect("Stopped");
    terminal.type_in("bg\n");
    // It writes on, and what is typed is the shell's.
    terminal.expect("tick");
    terminal.expect("tick");
    terminal.type_in("echo mean''while\n");
    terminal.expect("meanwhile");
    // Its prompt, before another is waited for.
    terminal.expect("$ ");
    line.order("ask May it?");
    line.hears(&mut terminal, "nobody in the background of the terminal");
    terminal.type_in("fg\n");
    terminal.expect("fg");
    until("it can be asked", || {
        line.order("ask May it?");
        line.next(TEST_TIMEOUT).is_ok_and(|said| said == "shown")
    });
    terminal.until("the dialog", |screen| screen.contents().contains("May it?"));
    line.hears(&mut terminal, "ready");
    terminal.type_in("q");
    line.hears(&mut terminal, &key('q'));
    line.hears(&mut terminal, "left");
    fs::write(bed.folder().join("end"), "").expect("a file");
    terminal.expect("$ ");
    terminal.type_in("exit 3\n");
    assert_eq!(terminal.end().code(), Some(3));
}
