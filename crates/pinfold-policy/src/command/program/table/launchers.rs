//! Programs that start others, and shells.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::super::super::words::literal;
use super::super::{
    Acts, Arg, Does, Inner, Operands, Program, Purpose, Style, flag, loads, maybe, program, reads, runs,
    takes, with, writes,
};
use crate::claim::Operation;
use Operands::{Command, Elsewhere, Environment, Line, Nothing, Own, ShellScript};
use Operation::Write;
use Purpose::Aside;

pub(super) const PROGRAMS: &[Program] = &[
    // Wrappers: every option that they have stands here, since one that does not keeps them on.
    program(&["timeout", "gtimeout"], Own(timeout)).stops().options(&[
        takes(&["-k", "--kill-after", "-s", "--signal"]),
        flag(&["-v", "--verbose", "-f", "--foreground", "-p", "--preserve-status"], Does::Nothing),
    ]),
    program(&["nice"], Command(0)).stops().options(&[
        takes(&["-n", "--adjustment"]),
        flag(&["-0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"], Does::Nothing),
    ]),
    program(&["nohup"], Command(0)).stops(),
    program(&["stdbuf"], Command(0))
        .stops()
        .options(&[takes(&["-i", "--input", "-o", "--output", "-e", "--error"])]),
    program(&["time", "gtime"], Command(0)).stops().options(&[
        flag(&["-p", "--portability", "-v", "--verbose"], Does::Nothing),
        writes(&["-o", "--output"]),
        with(&["-f", "--format"], Does::Bars("prints what it is told")),
        flag(&["-a", "--append"], Does::Bars("adds to a file")),
    ]),
    // Launchers.
    program(&["sudo", "sudoedit"], Environment).stops().options(&[
        takes(&[
            "-u",
            "--user",
            "-g",
            "--group",
            "-p",
            "--prompt",
            "-C",
            "--close-from",
            "-r",
            "--role",
            "-t",
            "--type",
        ]),
        takes(&["-h", "--host", "-T", "--command-timeout", "-U", "--other-user", "-R", "--chroot"]),
        with(&["-D", "--chdir"], Does::Folder),
        flag(&["-e", "--edit"], Does::Otherwise(&Operands::Each(Operation::Edit, Purpose::Command))),
    ]),
    program(&["doas"], Environment).stops().options(&[takes(&["-u", "-C"])]),
    program(&["su", "runuser"], Own(su)).options(&[
        with(&["-c", "--command", "--session-command"], Does::Line),
        takes(&[
            "-s",
            "--shell",
            "-g",
            "--group",
            "-G",
            "--supp-group",
            "-w",
            "--whitelist-environment",
            "-u",
            "--user",
        ]),
    ]),
    program(&["env", "genv"], Environment).stops().options(&[
        with(&["-S", "--split-string"], Does::Words),
        with(&["-C", "--chdir"], Does::Folder),
        takes(&["-u", "--unset", "-a", "--argv0"]),
        maybe(&["--block-signal", "--default-signal", "--ignore-signal"], Does::Nothing),
        flag(&["-i", "--ignore-environment", "-", "-0", "--null", "-v", "--debug"], Does::Nothing),
    ]),
    program(&["xargs", "gxargs"], Own(xargs)).stops().options(&[
        takes(&[
            "-I",
            "-L",
            "--max-lines",
            "-n",
            "--max-args",
            "-P",
            "--max-procs",
            "-s",
            "--max-chars",
            "-d",
            "--delimiter",
        ]),
        takes(&["-E", "-J", "-R", "-S", "--process-slot-var"]),
        maybe(&["-i", "--replace", "-l", "-e", "--eof"], Does::Nothing),
        reads(&["-a", "--arg-file"]),
    ]),
    program(&["parallel"], Own(parallel)).stops().options(&[
        takes(&[
            "-j",
            "--jobs",
            "-P",
            "-n",
            "-N",
            "-L",
            "-d",
            "--delimiter",
            "-I",
            "-C",
            "--colsep",
            "--delay",
            "--timeout",
        ]),
        takes(&[
            "-S",
            "--sshlogin",
            "--retries",
            "--tagstring",
            "--env",
            "--memfree",
            "--load",
            "--block",
            "--recstart",
        ]),
        reads(&["-a", "--arg-file", "--sshloginfile"]),
        writes(&["--joblog", "--results", "--tmpdir"]),
    ]),
    program(&["watch"], Line(0)).stops().options(&[
        takes(&["-n", "--interval", "-q", "--equexit"]),
        maybe(&["-d", "--differences"], Does::Nothing),
        flag(&["-x", "--exec"], Does::Otherwise(&Command(0))),
    ]),
    program(&["find", "gfind"], Own(find)).style(Style::Plain).looks(),
    program(&["fd", "fdfind"], Own(fd)).style(Style::Plain).looks(),
    program(&["ionice"], Command(0)).stops().options(&[takes(&[
        "-c",
        "--class",
        "-n",
        "--classdata",
        "-p",
        "--pid",
        "-P",
        "-u",
    ])]),
    program(&["chrt", "taskset"], Command(1)).stops().options(&[takes(&["-T", "-P", "-D"])]),
    program(
        &[
            "setsid",
            "setarch",
            "linux32",
            "linux64",
            "catchsegv",
            "fakeroot",
            "dbus-run-session",
            "dbus-launch",
        ],
        Command(0),
    )
    .stops()
    .options(&[takes(&["--config-file", "-l", "--lib", "-i", "-s", "-b"])]),
    program(
        &[
            "numactl",
            "cgexec",
            "caffeinate",
            "unbuffer",
            "chronic",
            "softlimit",
            "prlimit",
            "pkexec",
            "gosu",
            "su-exec",
        ],
        Command(0),
    )
    .stops()
    .options(&[takes(&["-N", "-m", "-C", "-p", "-g", "-t", "-w", "--user"])]),
    program(&["systemd-run", "systemd-inhibit"], Command(0)).stops().options(&[
        takes(&[
            "-p",
            "--property",
            "-u",
            "--unit",
            "--description",
            "--slice",
            "-H",
            "--host",
            "-M",
            "--machine",
            "--uid",
        ]),
        takes(&[
            "--gid",
            "--nice",
            "-E",
            "--setenv",
            "--working-directory",
            "--on-active",
            "--on-boot",
            "--on-calendar",
        ]),
        takes(&[
            "--what",
            "--who",
            "--why",
            "--mode",
            "--service-type",
            "--timer-property",
            "--path-property",
        ]),
    ]),
    program(
        &[
            "setpriv",
            "rlwrap",
            "torsocks",
            "tsocks",
            "proxychains",
            "proxychains4",
            "cpulimit",
            "nocache",
            "eatmydata",
            "xvfb-run",
            "tini",
            "dumb-init",
            "trickle",
            "multitime",
            "memusage",
            "daemonize",
            "chpst",
            "s6-setuidgid",
            "setuidgid",
            "annotate-output",
            "systemd-cat",
            "start-stop-daemon",
            "arch",
        ],
        Own(first_program),
    )
    .style(Style::Plain),
    program(&["faketime", "newgrp", "sg", "runcon"], Command(1))
        .stops()
        .options(&[takes(&["-f", "-t", "-u", "-r", "-l"])]),
    program(&["chroot"], Elsewhere(1)).stops().options(&[takes(&["--groups", "--userspec"])]),
    program(&["unshare", "nsenter"], Command(0)).stops().options(&[takes(&[
        "-R",
        "--root",
        "-w",
        "--wd",
        "-S",
        "--setuid",
        "-G",
        "--setgid",
        "--propagation",
        "--setgroups",
        "-t",
        "--target",
    ])]),
    program(&["bwrap", "firejail", "proot"], Own(sandbox)).style(Style::Plain),
    program(&["flock"], Own(flock)).stops().options(&[
        takes(&["-w", "--timeout", "-E", "--conflict-exit-code"]),
        with(&["-c", "--command"], Does::Line),
    ]),
    program(&["script"], Operands::Each(Write, Purpose::Command)).options(&[
        with(&["-c", "--command"], Does::Line),
        takes(&["-E", "--echo", "-o", "--output-limit", "-m", "--logging-format"]),
        writes(&["-I", "--log-in", "-O", "--log-out", "-B", "--log-io", "-T", "--log-timing"]),
        maybe(&["-t", "--timing"], Does::Path(Write, Aside)),
    ]),
    program(&["strace", "ltrace"], Command(0)).stops().options(&[
        with(&["-o", "--output"], Does::Piped),
        takes(&[
            "-e", "-s", "-p", "-a", "-b", "-E", "-I", "-O", "-P", "-S", "-u", "-U", "-X", "-l", "-n", "-A",
            "-D",
        ]),
    ]),
    program(&["perf", "rr"], Nothing).stops().commands(&[program(
        &["record", "stat", "trace", "top", "replay"],
        Command(0),
    )
    .stops()
    .options(&[
        writes(&["-o", "--output"]),
        takes(&["-e", "--event", "-F", "-p", "-t", "-C", "-c", "-r", "-g"]),
    ])]),
    program(&["valgrind", "heaptrack"], Command(0)).stops().options(&[
        writes(&["-o", "--output", "--log-file"]),
        takes(&["-e", "--event", "-F", "--tool", "--suppressions"]),
    ]),
    program(&["gdb", "lldb", "rust-gdb", "rust-lldb", "cgdb"], Own(debugger))
        .style(Style::Single)
        .stops()
        .options(&[
            with(&["-ex", "-iex", "-eval-command", "-o", "-O", "-one-line"], Does::Code),
            loads(&[
                "-x",
                "-command",
                "-ix",
                "-init-command",
                "-s",
                "-source",
                "-S",
                "-ph",
                "-cd",
                "-d",
                "-directory",
            ]),
            takes(&["-p", "-pid", "-c", "-core", "-tty", "-symbols", "-exec", "-se"]),
            flag(&["-args", "-batch"], Does::Nothing),
        ]),
    program(&["ssh", "autossh", "dbclient", "mosh"], Own(ssh)).stops().options(&[
        with(&["-o"], Does::Bars("sets any option, and several of them run programs")),
        with(&["-F"], Does::Bars("loads settings that may run programs")),
        with(
            &["-I", "-P", "-D", "-L", "-R", "-W", "-w", "-J", "-S"],
            Does::Bars("opens another way through the connection"),
        ),
        writes(&["-E"]),
        reads(&["-i"]),
        takes(&["-b", "-c", "-e", "-l", "-m", "-p", "-Q", "-B", "-O"]),
    ]),
    program(&["exec", "builtin", "noglob", "nocorrect", "nohup-exec"], Command(0))
        .stops()
        .options(&[takes(&["-a"])]),
    // With `-v` it says what a name stands for.
    program(&["command"], Command(0))
        .stops()
        .options(&[flag(&["-v", "-V"], Does::Otherwise(&Operands::Nothing))]),
    program(&["coproc"], Command(0)).style(Style::Plain),
    program(&["repeat"], Command(1)).style(Style::Plain),
    program(&["eval"], Line(0)).style(Style::Plain),
    program(&["trap"], Own(trap)).style(Style::Plain),
    program(&["at", "batch"], Own(at))
        .options(&[with(&["-f"], Does::Bars("runs a file at another time")), takes(&["-q", "-t"])]),
    program(&["tmux", "screen", "byobu", "zellij", "dtach", "abduco"], Own(multiplexer)).style(Style::Plain),
    program(&["expect"], Operands::Script)
        .stops()
        .options(&[with(&["-c"], Does::Code), loads(&["-f", "-b"])]),
    program(&["busybox", "toybox"], Command(0)).style(Style::Plain),
    program(&["entr", "nodemon", "watchexec", "cargo-watch", "chokidar"], Command(0))
        .stops()
        .at_home()
        .options(&[
            takes(&[
                "-w", "--watch", "-e", "--exts", "--ext", "-i", "--ignore", "-d", "--delay", "-s", "--signal",
            ]),
            with(&["-x", "--exec", "--shell", "-c"], Does::Line),
        ]),
    program(
        &["dotenv", "direnv", "op", "doppler", "chamber", "aws-vault", "envdir", "setenv"],
        Own(behind_dashes),
    )
    .style(Style::Plain),
    program(&["hyperfine"], Own(lines)).options(&[
        takes(&[
            "-w",
            "--warmup",
            "-m",
            "--min-runs",
            "-M",
            "--max-runs",
            "-r",
            "--runs",
            "-P",
            "-D",
            "-L",
            "--style",
            "-n",
        ]),
        with(&["-s", "--setup", "-p", "--prepare", "-c", "--cleanup", "-C", "--conclude"], Does::Line),
        runs(&["-S", "--shell"]),
        writes(&["--export-json", "--export-csv", "--export-markdown", "--output"]),
    ]),
    // Shells.
    program(
        &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "yash", "fish", "csh", "tcsh"],
        ShellScript,
    )
    .stops()
    .options(&[
        flag(&["-c"], Does::FirstIsLine),
        flag(&["-s"], Does::Otherwise(&Own(from_input))),
        loads(&["--rcfile", "--init-file", "-O", "+O", "--init-command", "-C"]),
        takes(&["-o", "+o"]),
        flag(&["-l", "--login", "-i"], Does::Nothing),
    ]),
    program(&["source", "."], Operands::Each(Operation::Read, Purpose::Command)).style(Style::Plain),
];

/// `timeout [options] duration command…`.
fn timeout(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((duration, command)) = words.split_first() else { return };
    let known = duration.as_static().is_some_and(|text| {
        let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        digits > 0 && digits + number.matches('.').count().min(1) == number.len()
    });
    acts.exact &= known;
    acts.start(command);
}

/// `su [options] [-] [user [args]]`; `runuser -u user -- command`.
fn su(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let by_user = args
        .iter()
        .any(|arg| matches!(arg, Arg::Option { known: Some(known), .. } if known.names.contains(&"-u")));
    if by_user {
        acts.start(&words);
    } else if acts.inner.is_empty() {
        acts.input = super::super::Input::Commands;
    }
}

/// `xargs [options] [command…]`: more arguments follow, wherever they are put.
fn xargs(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if words.is_empty() {
        return;
    }
    acts.start(&words);
    acts.open_last();
}

/// `parallel [options] command… [::: arguments]`.
fn parallel(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let command: Vec<_> = words
        .iter()
        .copied()
        .take_while(|word| !word.as_static().is_some_and(|text| text.starts_with(":::")))
        .collect();
    match command.as_slice() {
        [] => acts.inner.push(Inner::unknown()),
        [line] if !line.as_static().is_some_and(is_one_word) => acts.line(Cow::Owned((*line).clone())),
        _ => acts.start(&command),
    }
    acts.open_last();
}

fn is_one_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/' | b'+'))
}

/// `find places… expression`.
fn find(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let options =
        words.iter().take_while(|word| matches!(word.as_static(), Some("-H" | "-L" | "-P"))).count();
    let rest = words.get(options..).unwrap_or_default();
    let starts_expression = |word: &&Word| {
        word.as_static().is_some_and(|text| text.starts_with('-') || matches!(text, "(" | "!" | ")" | ","))
    };
    let places = rest.iter().take_while(|word| !starts_expression(word)).count();
    let (places, expression) = rest.split_at(places.min(rest.len()));
    for place in places {
        acts.path(Cow::Owned((*place).clone()), Operation::List, Purpose::Command);
    }
    let mut left = expression.iter();
    let mut deletes = false;
    while let Some(word) = left.next() {
        match word.as_static() {
            Some(option @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                acts.option_bar("option", option, "runs what follows for what it finds");
                let command: Vec<_> = left
                    .by_ref()
                    .take_while(|word| !matches!(word.as_static(), Some(";" | "+")))
                    .copied()
                    .collect();
                acts.start(&command);
                acts.open_last();
            }
            Some("-delete") => deletes = true,
            Some("-fprint" | "-fprint0" | "-fls" | "-fprintf") => {
                if let Some(file) = left.next() {
                    acts.path(Cow::Owned((*file).clone()), Write, Aside);
                }
            }
            Some("-files0-from" | "-newer" | "-anewer" | "-cnewer" | "-samefile") => {
                if let Some(file) = left.next() {
                    acts.path(Cow::Owned((*file).clone()), Operation::Read, Purpose::Command);
                }
            }
            Some(
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex" | "-iregex"
                | "-lname" | "-ilname" | "-type" | "-xtype" | "-size" | "-mtime" | "-mmin" | "-ctime"
                | "-cmin" | "-atime" | "-amin" | "-perm" | "-user" | "-group" | "-uid" | "-gid" | "-maxdepth"
                | "-mindepth" | "-printf" | "-inum" | "-links" | "-fstype" | "-regextype" | "-used"
                | "-context" | "-D",
            ) => {
                left.next().into_iter().for_each(|word| acts.take(word));
            }
            Some(_) => {}
            None => acts.option_bar("option", "-exec", "may stand in a word that is known only by running"),
        }
    }
    if deletes {
        if places.is_empty()
            && let Some(word) = words.first()
        {
            acts.path(Cow::Owned(literal(".", word)), Operation::Edit, Purpose::Command);
        }
        for place in places {
            acts.path(Cow::Owned((*place).clone()), Operation::Edit, Purpose::Command);
        }
    }
}

/// `fd [options] pattern folders… -x command…`: all that follows is the command, up to `;`.
fn fd(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let runs = |word: &&Word| {
        word.as_static().is_some_and(|text| match text.strip_prefix("--") {
            Some(long) => long.len() > 2 && ["exec", "exec-batch"].iter().any(|name| name.starts_with(long)),
            None => text.starts_with('-') && text.contains(['x', 'X']),
        })
    };
    let Some(at) = words.iter().position(runs) else { return };
    let (Some(option), Some(command)) = (words.get(at), words.get(at + 1..)) else { return };
    acts.option_bar("option", option.as_static().unwrap_or_default(), "runs what follows for what it finds");
    let ends = |word: &&Word| word.as_static() != Some(";");
    let command: Vec<_> = command.iter().take_while(|word| ends(word)).copied().collect();
    acts.start(&command);
    acts.open_last();
}

/// `flock file command…`, `flock file -c line`.
fn flock(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((file, command)) = words.split_first() else { return };
    if file.as_static().is_none_or(|text| !text.bytes().all(|b| b.is_ascii_digit())) {
        acts.path(Cow::Owned((*file).clone()), Write, Aside);
    }
    match command {
        [option, line] if matches!(option.as_static(), Some("-c" | "--command")) => {
            acts.line(Cow::Owned((*line).clone()));
        }
        _ => acts.start(command),
    }
}

/// `gdb [options] program`, `gdb --args program…`: what the debugger is told at its prompt is not known.
fn debugger(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    acts.start(&words);
}

/// `ssh [options] host [command…]`: the rest is joined and read by a shell over there.
fn ssh(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((host, command)) = words.split_first() else { return };
    acts.host(host);
    acts.joined(command);
    acts.elsewhere_last();
}

/// `trap 'line' signals…`.
fn trap(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    match words.as_slice() {
        [line, _, ..] if !matches!(line.as_static(), Some("-" | "--" | "-l" | "-p" | "")) => {
            acts.line(Cow::Owned((*line).clone()));
        }
        _ => {}
    }
}

/// Launchers whose options are not told apart: every word that is no option may be the program.
fn first_program(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let is_option = |word: &Word| word.as_static().is_some_and(|text| text.starts_with('-'));
    let first = words.iter().position(|word| !is_option(word)).unwrap_or(words.len());
    // The value of an option in front may be taken for it; what stands behind is then looked at too.
    for at in [first, first + 1] {
        acts.start(words.get(at..).unwrap_or_default());
    }
}

/// `sh -s arguments…`: the commands come from its input all the same.
fn from_input(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.input = super::super::Input::Commands;
}

/// `at time`: the commands come from its input.
fn at(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.input = super::super::Input::Commands;
}

/// Terminals that go on by themselves: what they are told is a line, wherever it stands.
fn multiplexer(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    for (at, word) in words.iter().enumerate() {
        let starts = matches!(
            word.as_static(),
            Some(
                "new-session"
                    | "new"
                    | "new-window"
                    | "neww"
                    | "split-window"
                    | "splitw"
                    | "respawn-pane"
                    | "send-keys"
                    | "send"
                    | "run-shell"
                    | "run"
                    | "stuff"
                    | "-X"
                    | "-dm"
                    | "-dmS"
                    | "if-shell"
                    | "pipe-pane"
                    | "popup"
                    | "display-popup"
            )
        );
        if starts {
            let rest: Vec<_> = words
                .get(at + 1..)
                .unwrap_or_default()
                .iter()
                .copied()
                .filter(|word| !word.as_static().is_some_and(|text| text.starts_with('-')))
                .collect();
            acts.option_bar(
                "option",
                word.as_static().unwrap_or_default(),
                "runs a command in a terminal of its own",
            );
            for line in &rest {
                acts.line(Cow::Owned((*line).clone()));
            }
            acts.start(&rest);
            return;
        }
    }
}

/// `bwrap options command…`: options have values of their own; the program is whatever stands first without a dash
/// and is no path.
fn sandbox(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let dashes = words.iter().position(|word| word.as_static() == Some("--"));
    let starts = |word: &&Word| word.as_static().is_some_and(|text| !text.starts_with(['-', '/']));
    let at = dashes.map(|at| at + 1).or_else(|| words.iter().position(starts)).unwrap_or(words.len());
    acts.start(words.get(at..).unwrap_or_default());
}

/// `tool options -- command…`, `tool exec folder command…`.
fn behind_dashes(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let dashes = words.iter().position(|word| word.as_static() == Some("--"));
    let exec = words.iter().position(|word| matches!(word.as_static(), Some("exec" | "run")));
    match (dashes, exec) {
        (Some(at), _) => acts.start(words.get(at + 1..).unwrap_or_default()),
        (None, Some(at)) => {
            let skip = if acts.name == "direnv" { 2 } else { 1 };
            acts.start(words.get(at + skip..).unwrap_or_default());
        }
        (None, None) => acts.start(&words),
    }
}

/// Each operand is a command line.
fn lines(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        acts.line(Cow::Owned(word.clone()));
    }
}
