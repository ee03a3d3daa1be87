//! Editors, databases, system tools, agents and media tools.

use std::borrow::Cow;

use super::super::{
    Acts, Arg, Does, Operands, Program, Purpose, Style, flag, loads, maybe, program, reads, runs, takes,
    text, with, writes,
};
use crate::claim::Operation;
use Operands::{Each, Nothing, Own};
use Operation::{Edit, Read, Write};
use Purpose::{Aside, Command};

pub(super) const PROGRAMS: &[Program] = &[
    // Editors.
    program(&["vi", "vim", "nvim", "view", "gvim", "vimdiff", "rvim", "nvimdiff"], Each(Edit, Command))
        .options(&[
            with(&["-c", "--cmd", "-S", "+"], Does::Code),
            loads(&[
                "-u",
                "-U",
                "-s",
                "-i",
                "--remote-expr",
                "--remote-send",
                "--listen",
                "--server",
                "-l",
                "-t",
                "-q",
            ]),
            writes(&["-w", "-W", "--startuptime"]),
            takes(&["-T", "-r", "--servername", "-p", "-o", "-O"]),
            flag(&["-e", "-E", "-n", "-R", "-es"], Does::Nothing),
        ]),
    program(&["ed", "red", "ex"], Own(line_editor))
        .options(&[with(&["-c", "+"], Does::Code), takes(&["-p", "--prompt"])]),
    program(&["emacs", "emacsclient", "xemacs", "mg", "jove", "zile"], Each(Edit, Command)).options(&[
        with(&["--eval", "--execute", "-e", "-f", "--funcall"], Does::Code),
        loads(&[
            "-l",
            "--load",
            "-L",
            "--directory",
            "--script",
            "-u",
            "--user",
            "--init-directory",
            "-s",
            "--socket-name",
        ]),
        flag(&["--batch", "-Q", "-q", "-nw", "-t", "-c", "-n"], Does::Nothing),
    ]),
    program(&["nano", "pico", "micro", "kak", "hx", "helix", "joe", "ne", "mcedit"], Each(Edit, Command))
        .options(&[
            with(&["-s", "--speller", "-e", "-E"], Does::Bars("runs the program that it names")),
            loads(&["-f", "--rcfile", "-c", "--config", "-config-dir", "-plugin"]),
            takes(&["-T", "--tabsize", "-r", "--fill", "-o", "--operatingdir", "+"]),
        ]),
    program(
        &[
            "code",
            "code-insiders",
            "codium",
            "cursor",
            "windsurf",
            "zed",
            "subl",
            "atom",
            "idea",
            "pycharm",
            "goland",
            "webstorm",
            "open",
            "xdg-open",
            "start",
            "gio",
            "kde-open",
        ],
        Own(opener),
    )
    .options(&[
        with(
            &[
                "--install-extension",
                "--uninstall-extension",
                "--extensions-dir",
                "--user-data-dir",
                "--command",
                "--install-source",
                "--add-mcp",
            ],
            Does::Bars("changes what the editor runs"),
        ),
        flag(&["--force", "--disable-extensions", "--list-extensions", "--version"], Does::Nothing),
        takes(&["-a", "-b", "-g", "--goto"]),
    ]),
    // Other agents and pinfold itself: whoever starts one hands on the rights.
    program(
        &[
            "claude",
            "codex",
            "gemini",
            "aider",
            "goose",
            "opencode",
            "amp",
            "qwen",
            "copilot",
            "crush",
            "gen",
            "pinfold",
            "cline",
            "plandex",
            "droid",
            "cursor-agent",
            "auggie",
        ],
        Own(agent),
    )
    .style(Style::Plain),
    // Databases.
    program(&["psql", "pgcli"], Own(database)).options(&[
        with(&["-c", "--command"], Does::Query),
        with(&["-f", "--file"], Does::Path(Read, Command)),
        with(&["-o", "--output", "-L", "--log-file"], Does::Piped),
        with(&["-h", "--host"], Does::Host),
        with(&["-v", "--set", "--variable"], Does::Nothing),
        takes(&["-d", "--dbname", "-U", "--username", "-p", "--port", "-F", "-P", "-R", "-T"]),
    ]),
    program(&["mysql", "mariadb", "mysqldump", "mycli"], Own(database)).options(&[
        with(&["-e", "--execute", "--init-command"], Does::Query),
        with(&["-h", "--host"], Does::Host),
        runs(&["--pager"]),
        writes(&["--tee", "--log-error", "-r", "--result-file", "-T", "--tab"]),
        loads(&["--defaults-file", "--defaults-extra-file", "--plugin-dir", "--default-auth"]),
        takes(&["-u", "--user", "-P", "--port", "-D", "--database", "-S", "--socket"]),
        maybe(&["-p", "--password"], Does::Nothing),
    ]),
    program(&["sqlite3", "sqlite", "duckdb"], Own(sqlite)).style(Style::Single).options(&[
        with(&["-cmd"], Does::Query),
        loads(&["-init"]),
        takes(&["-separator", "-nullvalue", "-newline", "-vfs", "-mmap", "-lookaside", "-c"]),
    ]),
    program(
        &[
            "redis-cli",
            "valkey-cli",
            "mongosh",
            "mongo",
            "cqlsh",
            "influx",
            "clickhouse-client",
            "clickhouse",
        ],
        Nothing,
    )
    .options(&[
        with(&["--eval"], Does::Code),
        with(&["-h", "--host"], Does::Host),
        takes(&["-p", "--port", "-n", "-a", "-u"]),
        writes(&["--rdb"]),
    ]),
    program(&["pg_dump", "pg_dumpall", "pg_restore", "mongodump"], Nothing).options(&[
        writes(&["-f", "--file", "-o", "--out", "--archive"]),
        with(&["-h", "--host"], Does::Host),
        takes(&[
            "-d",
            "--dbname",
            "-U",
            "--username",
            "-p",
            "--port",
            "-t",
            "--table",
            "-n",
            "--schema",
            "-F",
            "--format",
            "-j",
        ]),
    ]),
    // Reading about things.
    program(&["man", "apropos", "whatis", "info"], Nothing).options(&[
        runs(&["-P", "--pager", "-H", "--html", "-p", "--preprocessor", "-T", "--troff-device"]),
        loads(&["-C", "--config-file", "-M", "--manpath", "-m", "--systems", "-l", "--local-file"]),
        writes(&["-o", "--output"]),
        takes(&["-L", "--locale", "-S", "-s", "--sections", "-E", "--encoding", "-R", "-r", "--prompt"]),
    ]),
    program(
        &[
            "journalctl",
            "systemctl",
            "loginctl",
            "coredumpctl",
            "hostnamectl",
            "timedatectl",
            "busctl",
            "networkctl",
            "localectl",
        ],
        Own(system_control),
    )
    .options(&[
        takes(&[
            "-u",
            "--unit",
            "-n",
            "--lines",
            "-S",
            "--since",
            "-U",
            "--until",
            "-p",
            "--priority",
            "-o",
            "--output",
            "-t",
        ]),
        with(
            &["-H", "--host", "-M", "--machine", "-D", "--directory", "--file", "--root", "--image"],
            Does::Bars("looks at or changes another place"),
        ),
        with(&["--cursor-file"], Does::Path(Write, Aside)),
        with(&["--debugger"], Does::Bars("runs the program that it names")),
        maybe(&["-b", "--boot"], Does::Nothing),
        flag(&["--rotate", "--flush", "--vacuum-size", "--vacuum-time", "--setup-keys"], Does::Nothing),
    ]),
    program(&["crontab"], Own(crontab)).options(&[
        takes(&["-u"]),
        flag(&["-e"], Does::Bars("runs an editor, and what it saves runs later")),
        flag(&["-l"], Does::Otherwise(&Nothing)),
    ]),
    program(
        &[
            "launchctl",
            "defaults",
            "dscl",
            "security",
            "csrutil",
            "spctl",
            "tccutil",
            "pmset",
            "scutil",
            "dbus-send",
            "gdbus",
            "gsettings",
            "dconf",
            "update-rc.d",
            "chkconfig",
            "service",
            "initctl",
            "rc-service",
        ],
        Own(always),
    )
    .style(Style::Plain),
    program(
        &["kill", "pkill", "killall", "killall5", "xkill", "fuser", "skill", "snice", "renice"],
        Own(kills),
    ),
    // What these are told is text, or names of what is no file.
    program(
        &[
            "sleep", "which", "whereis", "type", "hash", "jobs", "wait", "times", "dirs", "getconf", "true",
            "false", "echo", "printf", "pwd", "cd", "pushd", "popd", "test", "[", ":", "break", "continue",
        ],
        Nothing,
    )
    .style(Style::Plain)
    .says(),
    program(
        &[
            "exit",
            "return",
            "export",
            "unset",
            "set",
            "shift",
            "read",
            "declare",
            "typeset",
            "local",
            "readonly",
            "alias",
            "unalias",
            "umask",
            "ulimit",
            "let",
            "getopts",
            "mapfile",
            "readarray",
            "disown",
            "fg",
            "bg",
            "suspend",
            "caller",
            "logout",
        ],
        Nothing,
    )
    .style(Style::Plain)
    .says(),
    program(
        &[
            "pgrep", "pidof", "pstree", "uname", "id", "whoami", "groups", "nproc", "tty", "tput", "clear",
            "reset", "uptime", "free", "printenv", "sw_vers", "logname", "users",
        ],
        Nothing,
    )
    .style(Style::Plain)
    .says(),
    program(&["date"], Nothing).looks().options(&[
        text(&["-d", "--date", "-s", "--set", "-I", "--iso-8601", "--rfc-3339", "-j", "-v"]),
        reads(&["-f", "--file", "-r", "--reference"]),
    ]),
    program(&["hostname"], Nothing).looks().options(&[reads(&["-F", "--file"])]),
    program(&["ss"], Nothing).options(&[
        writes(&["-D", "--diag"]),
        reads(&["-F", "--filter"]),
        text(&["-f", "--family", "-A", "--query", "-N", "--net"]),
    ]),
    program(&["ip"], Nothing).looks().commands(IP).options(&[
        with(&["-b", "-batch", "--batch"], Does::Bars("runs the commands of a file")),
        text(&["-n", "-netns", "-f", "-family", "-rc", "-l"]),
    ]),
    program(
        &[
            "ps", "top", "htop", "btop", "vmstat", "iostat", "lsof", "netstat", "who", "w", "last", "cal",
            "lscpu", "lsblk", "lsusb", "lspci", "dmesg", "locale",
        ],
        Nothing,
    )
    .style(Style::Plain)
    .looks(),
    program(
        &["ifconfig", "stty", "history", "cloc", "tokei", "scc", "mesg", "logger", "write", "wall"],
        Nothing,
    )
    .style(Style::Plain),
    // Media and documents.
    program(&["ffmpeg", "ffprobe", "ffplay"], Own(ffmpeg)).style(Style::Single).options(&[
        with(&["-i"], Does::Path(Read, Command)),
        writes(&["-progress", "-vstats_file"]),
        takes(&[
            "-c",
            "-codec",
            "-c:v",
            "-c:a",
            "-vcodec",
            "-acodec",
            "-b",
            "-b:v",
            "-b:a",
            "-vf",
            "-af",
            "-filter_complex",
            "-lavfi",
            "-map",
            "-f",
            "-t",
        ]),
        takes(&[
            "-ss",
            "-to",
            "-r",
            "-s",
            "-aspect",
            "-ar",
            "-ac",
            "-preset",
            "-crf",
            "-tune",
            "-profile",
            "-pix_fmt",
            "-loglevel",
            "-v",
            "-threads",
        ]),
        takes(&[
            "-show_entries",
            "-select_streams",
            "-of",
            "-print_format",
            "-metadata",
            "-movflags",
            "-loop",
            "-framerate",
            "-frames",
            "-vframes",
            "-qscale",
            "-q:v",
            "-q:a",
            "-g",
            "-maxrate",
            "-bufsize",
            "-level",
            "-pass",
            "-safe",
            "-stream_loop",
        ]),
    ]),
    program(&["convert", "magick", "mogrify", "composite", "montage"], Own(images)).style(Style::Plain),
    program(&["pandoc"], Each(Read, Command)).options(&[
        writes(&["-o", "--output", "--extract-media", "--log"]),
        with(&["-f", "--from", "-t", "--to", "-r", "--read", "-w", "--write"], Does::Format),
        runs(&["-F", "--filter", "--pdf-engine"]),
        loads(&[
            "-L",
            "--lua-filter",
            "-d",
            "--defaults",
            "--template",
            "--data-dir",
            "-H",
            "-B",
            "-A",
            "--css",
        ]),
        takes(&["-M", "--metadata", "-V", "--variable", "--toc-depth"]),
    ]),
    program(
        &[
            "pdflatex",
            "latex",
            "xelatex",
            "lualatex",
            "tex",
            "latexmk",
            "tectonic",
            "groff",
            "troff",
            "dot",
            "neato",
            "gs",
            "ps2pdf",
            "wkhtmltopdf",
            "inkscape",
            "soffice",
            "libreoffice",
        ],
        Nothing,
    )
    .at_home()
    .options(&[
        with(
            &["-shell-escape", "--shell-escape", "-e", "-usepretex", "-pdflatex"],
            Does::Bars("runs programs that the document names"),
        ),
        with(
            &["-output-directory", "-o", "--outdir", "-outdir", "-O", "--export-filename", "-sOutputFile"],
            Does::Path(Write, Aside),
        ),
        takes(&["-T", "-K"]),
    ]),
    program(&["exiftool"], Each(Edit, Command)).options(&[
        with(&["-config", "-if", "-api", "-@"], Does::Bars("loads code or options")),
        writes(&["-o", "-w", "-W"]),
    ]),
    program(&["ssh-agent"], Operands::Command(0)).stops().options(&[takes(&["-a", "-t", "-P", "-E", "-O"])]),
    program(
        &[
            "mount", "umount", "losetup", "swapon", "modprobe", "insmod", "sysctl", "iptables", "nft", "ufw",
            "useradd", "usermod", "passwd", "visudo", "chsh", "chfn", "crond",
        ],
        Own(always),
    )
    .style(Style::Plain),
    program(&["logrotate", "run-parts", "update-alternatives", "ldconfig"], Own(always)).style(Style::Plain),
];

/// `ip netns exec NAME command…` and `ip vrf exec NAME command…` start a program of this machine.
const IP: &[Program] = &[program(&["netns", "vrf"], Own(in_namespace)).looks()];

fn in_namespace(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if words.first().and_then(|word| word.as_static()) == Some("exec") {
        acts.option_bar("option", "exec", "runs the program that it names");
        acts.start(words.get(2..).unwrap_or_default());
    }
}

/// `ed file`: its input is a script that may run anything.
fn line_editor(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        acts.path(Cow::Owned(word.clone()), Edit, Command);
    }
    acts.input = super::super::Input::Script;
}

/// What is opened decides what runs.
fn opener(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if matches!(acts.name, "open" | "xdg-open" | "start" | "gio" | "kde-open")
        && args.iter().any(|arg| arg.operand().is_some())
    {
        acts.program_bar(
            args.iter().find_map(Arg::operand),
            "starts whatever program the file or address belongs to",
        );
    }
}

/// Another agent, with modes and settings of its own.
fn agent(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let asks = |word: &&pinfold_shell::Word| {
        matches!(word.as_static(), Some("--version" | "--help" | "-v" | "-h" | "version" | "help"))
    };
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if !words.iter().all(asks) || words.is_empty() {
        acts.program_bar(None, "starts another agent, which has its own limits");
    }
}

/// `sqlite3 file 'commands'`: lines that start with a dot write files and run programs.
fn sqlite(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((file, queries)) = words.split_first() else { return };
    // Wildcards match nothing that begins so, and stay what they are.
    let text = super::super::super::words::unmatched(file);
    if let Some(path) = text.as_deref().and_then(crate::mcp::file_url) {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        acts.path_text(path, file, Edit, Command);
    } else if !matches!(file.as_static(), Some(":memory:" | "")) {
        acts.path(Cow::Owned((*file).clone()), Edit, Command);
    }
    for query in queries {
        acts.query(query);
    }
    acts.input = super::super::Input::Queries;
}

/// Queries may come from its input.
fn database(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.input = super::super::Input::Queries;
}

/// Only looking is let through.
fn system_control(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let looks = [
        "status",
        "list-units",
        "list-unit-files",
        "show",
        "cat",
        "is-active",
        "is-enabled",
        "is-failed",
        "list",
        "help",
        "get-default",
    ];
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if acts.name != "journalctl" && !first.is_none_or(|verb| looks.iter().any(|look| verb.starts_with(look)))
    {
        acts.program_bar(args.iter().find_map(Arg::operand), "changes what the system runs");
    }
}

fn crontab(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    acts.program_bar(args.iter().find_map(Arg::operand), "changes what the system runs by itself");
}

fn always(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    acts.program_bar(args.iter().find_map(Arg::operand), "changes the system outside any folder");
}

/// The gate itself is a process too.
fn kills(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let names_gate = |word: &pinfold_shell::Word| {
        word.as_static()
            .is_none_or(|text| text.to_ascii_lowercase().contains("pinfold") || matches!(text, "-1" | "1"))
    };
    if acts.name != "kill" && args.iter().filter_map(Arg::operand).any(names_gate) {
        acts.program_bar(None, "may end what holds the line");
    }
}

/// Images that are read, and the last that is written. What stands behind an option, or behind the name of a format
/// (`text:file`, `label:@file`), is read or written in its own way and stays a word that names a place.
fn images(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let is_option = |word: &pinfold_shell::Word| word.literal_prefix().starts_with(['-', '+']);
    for (at, word) in words.iter().enumerate() {
        let behind =
            at.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|word| is_option(word));
        let prefixed = word.literal_prefix().contains([':', '@']);
        if at + 1 == words.len() && !prefixed {
            acts.path(Cow::Owned((*word).clone()), Write, Command);
        } else if !behind && !prefixed && !is_option(word) {
            acts.path(Cow::Owned((*word).clone()), Read, Command);
        }
    }
}

/// The last operand is written; with a scheme it is sent.
fn ffmpeg(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if acts.name == "ffmpeg" {
        for word in args.iter().filter_map(Arg::operand) {
            if word.literal_prefix().contains("://") {
                acts.host(word);
                acts.named_bar(word.as_static(), "sends its output to another host");
                continue;
            }
            acts.path(Cow::Owned(word.clone()), Write, Command);
        }
        return;
    }
    for word in args.iter().filter_map(Arg::operand) {
        acts.path(Cow::Owned(word.clone()), Read, Command);
    }
}
