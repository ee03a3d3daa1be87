//! Interpreters. Inline code rides only on a rule that names its option; what is loaded in front of a script does
//! too.

use std::borrow::Cow;

use super::super::{
    Acts, Arg, Does, FolderUse, Input, Operands, Program, Purpose, flag, loads, maybe, program, takes, with,
    writes,
};
use crate::claim::Operation;
use Operands::{Own, Script};

const DEBUGS: &str = "opens a way to run code in the program";

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &[
            "python",
            "python2",
            "python3",
            "python3.8",
            "python3.9",
            "python3.10",
            "python3.11",
            "python3.12",
            "python3.13",
            "python3.14",
            "pypy",
            "pypy3",
            "ipython",
            "bpython",
        ],
        Script,
    )
    .at_home()
    .stops()
    .options(&[
        with(&["-c"], Does::Code),
        with(&["-m"], Does::Module),
        takes(&["-W", "-X", "-Q", "--check-hash-based-pycs"]),
        flag(&["-i"], Does::Bars("goes on with code from its input")),
    ]),
    program(&["node", "nodejs", "deno-node"], Script).at_home().stops().options(&[
        with(&["-e", "--eval", "-p", "--print", "-pe"], Does::Code),
        loads(&[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "--env-file",
            "--env-file-if-exists",
            "--snapshot-blob",
        ]),
        loads(&[
            "--openssl-config",
            "--icu-data-dir",
            "--experimental-config-file",
            "--experimental-default-config-file",
        ]),
        maybe(
            &["--inspect", "--inspect-brk", "--inspect-wait", "--inspect-port", "--debug-port"],
            Does::Bars(DEBUGS),
        ),
        maybe(
            &["--prof", "--cpu-prof", "--heap-prof", "--report-on-signal", "--build-snapshot"],
            Does::Bars("writes files"),
        ),
        writes(&[
            "--redirect-warnings",
            "--cpu-prof-dir",
            "--heap-prof-dir",
            "--diagnostic-dir",
            "--report-directory",
            "--trace-event-file-pattern",
        ]),
        takes(&[
            "-C",
            "--conditions",
            "--stack-trace-limit",
            "--test-name-pattern",
            "--test-reporter",
            "--test-reporter-destination",
        ]),
        flag(&["-i", "--interactive"], Does::Bars("goes on with code from its input")),
        flag(
            &["-c", "--check", "--test", "--run", "--watch", "--version", "-v", "--enable-source-maps"],
            Does::Nothing,
        ),
    ]),
    program(&["deno"], Own(deno)).at_home().options(&[
        loads(&["-c", "--config", "--import-map", "--preload", "--env-file", "--lock"]),
        maybe(&["--inspect", "--inspect-brk"], Does::Bars(DEBUGS)),
        writes(&["-o", "--output"]),
        takes(&["-L", "--log-level", "--ext", "--seed"]),
    ]),
    program(&["perl", "perl5"], Script).at_home().stops().options(&[
        with(&["-e", "-E"], Does::Code),
        maybe(&["-i"], Does::InPlace),
        loads(&["-I", "-M", "-m"]),
        maybe(&["-d", "-D"], Does::Bars(DEBUGS)),
        maybe(&["-x", "-C", "-0", "-F", "-l", "-T"], Does::Nothing),
        flag(&["-n", "-p", "-w", "-s", "-S", "-u", "-v", "-V", "-W", "-X", "-a", "-c"], Does::Nothing),
    ]),
    program(&["ruby", "jruby", "truffleruby"], Script).at_home().stops().options(&[
        with(&["-e"], Does::Code),
        loads(&["-r", "-I"]),
        maybe(&["-i"], Does::InPlace),
        with(&["-C", "-X"], Does::Folder),
        maybe(&["-x", "-0", "-F", "-E", "-K", "-T", "-W"], Does::Nothing),
        flag(&["-n", "-p", "-w", "-s", "-S", "-v", "-a", "-c", "-l", "-d"], Does::Nothing),
    ]),
    program(&["irb", "pry", "rails", "hanami"], Own(console))
        .at_home()
        .options(&[loads(&["-r", "-I"]), with(&["-e"], Does::Code)]),
    program(&["php", "php7", "php8", "hhvm"], Script).at_home().stops().options(&[
        with(
            &["-r", "-B", "-R", "-E", "--run", "--process-begin", "--process-code", "--process-end"],
            Does::Code,
        ),
        with(
            &["-d", "--define", "-z", "--zend-extension", "-c", "--php-ini"],
            Does::Bars("sets any option, and several of them load code"),
        ),
        with(&["-F", "--process-file"], Does::Bars("runs a file for each line")),
        with(&["-f", "--file"], Does::Nothing),
        takes(&["-S", "-t", "--server", "--docroot"]),
    ]),
    program(&["lua", "luajit", "lua5.1", "lua5.3", "lua5.4"], Script)
        .at_home()
        .stops()
        .options(&[with(&["-e"], Does::Code), loads(&["-l"])]),
    program(&["java", "kotlin", "scala", "groovy", "jshell", "kotlinc", "scalac", "javac"], Script)
        .at_home()
        .stops()
        .style(super::super::Style::Glued)
        .options(&[
            loads(&[
                "-javaagent",
                "-agentlib",
                "-agentpath",
                "--module-path",
                "-Xbootclasspath",
                "-XX:OnError",
                "-XX:OnOutOfMemoryError",
            ]),
            with(
                &["-e", "-Djava.library.path", "-processorpath", "--processor-path", "-Xplugin"],
                Does::Code,
            ),
            writes(&["-d", "-s", "-h", "-XX:LogFile", "-Xlog", "-XX:HeapDumpPath"]),
            takes(&[
                "-cp",
                "-classpath",
                "--class-path",
                "-jar",
                "-m",
                "--module",
                "--add-modules",
                "--add-opens",
                "--release",
                "-source",
                "-target",
                "-encoding",
            ]),
            maybe(&["-D", "-X", "-XX"], Does::Nothing),
        ]),
    program(&["Rscript", "R", "julia", "octave", "matlab", "maxima", "gp", "sage"], Script)
        .at_home()
        .stops()
        .options(&[
            with(&["-e", "--eval", "-E", "--print", "--exec", "-r", "-batch"], Does::Code),
            loads(&["-L", "--load", "-J", "--sysimage", "--path", "-p"]),
            takes(&["-f", "--file", "-t", "--threads"]),
        ]),
    program(
        &[
            "ghc",
            "ghci",
            "runghc",
            "runhaskell",
            "ocaml",
            "ocamlfind",
            "racket",
            "guile",
            "sbcl",
            "clisp",
            "ecl",
            "csi",
            "chez",
            "janet",
        ],
        Script,
    )
    .at_home()
    .stops()
    .options(&[
        with(&["-e", "-c", "--eval", "-x", "--non-interactive"], Does::Code),
        loads(&[
            "-l", "--load", "--script", "-i", "-K", "-fplugin", "-F", "-pgmF", "-pgml", "-pgmc", "-L", "-I",
        ]),
        writes(&["-o", "-odir", "-hidir", "-outputdir"]),
    ]),
    program(&["elixir", "iex", "erl", "escript", "gleam"], Script).at_home().stops().options(&[
        with(&["-e", "--eval", "--rpc-eval", "-eval", "-s", "-run"], Does::Code),
        loads(&["-r", "-pr", "-pa", "-pz", "--erl", "-config", "-args_file"]),
    ]),
    program(
        &["tclsh", "wish", "gnuplot", "swipl", "pwsh", "powershell", "osascript", "nu", "xonsh", "elvish"],
        Script,
    )
    .at_home()
    .stops()
    .options(&[
        with(&["-e", "-c", "-Command", "-EncodedCommand", "--commands", "-g", "-t"], Does::Code),
        loads(&["-l", "-s", "-I", "--include", "-f"]),
    ]),
    // `syscmd` runs a command, and macros are all there is.
    program(&["m4"], Own(macros)).options(&[
        with(&["-D", "--define"], Does::Code),
        loads(&["-I", "--include", "-R", "--reload-state"]),
        writes(&["-F", "--freeze-state", "-o", "--error-output", "--debugfile"]),
        takes(&["-U", "--undefine", "-l", "--arglength", "-L", "--nesting-limit", "-t", "--trace"]),
    ]),
];

/// `m4 files…`: macros in files of the folder are code of the folder; those of its input are not known.
fn macros(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        acts.path(Cow::Owned(word.clone()), Operation::Read, Purpose::Command);
    }
    acts.folder = FolderUse::Code;
    acts.input = Input::Script;
}

/// `deno run script`, `deno eval code`, `deno task name`.
fn deno(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let Some(address) = words.iter().find(|word| word.literal_prefix().contains("://")) {
        acts.named_bar(address.as_static(), "runs code from another host");
    }
    if let Some(verb @ ("eval" | "repl" | "install" | "upgrade" | "jupyter")) =
        words.first().and_then(|word| word.as_static())
    {
        acts.option_bar("inline-code", verb, "holds code, which no pattern can judge, or installs it");
    }
}

/// Consoles and runners take code from their input or their arguments.
fn console(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let Some(verb @ ("runner" | "r" | "console" | "c" | "dbconsole")) =
        words.first().and_then(|word| word.as_static())
    {
        acts.option_bar("inline-code", verb, "holds code, which no pattern can judge");
    }
}
