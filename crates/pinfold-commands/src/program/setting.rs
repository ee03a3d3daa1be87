//! Settings that are given in a word: which of them are known to do no more than they say.

use pinfold_shell::Word;

/// What `git -c name=value` does.
pub(super) enum Setting<'a> {
    /// It changes how something looks or is counted.
    Harmless,
    /// It names a command line: an alias, a helper.
    Runs(&'a str),
    /// It may name a program, or a place that does.
    Unknown,
}

/// Settings of git that name no program, no file and no address. A name that ends with a dot stands for all below it.
const HARMLESS: &[&str] = &[
    "color.",
    "advice.",
    "column.",
    "user.name",
    "user.email",
    "author.",
    "committer.",
    "core.quotepath",
    "core.abbrev",
    "core.autocrlf",
    "core.safecrlf",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.longpaths",
    "core.filemode",
    "core.preloadindex",
    "core.untrackedcache",
    "core.fscache",
    "core.compression",
    "core.bigfilethreshold",
    "log.",
    "diff.renames",
    "diff.renamelimit",
    "diff.context",
    "diff.algorithm",
    "diff.noprefix",
    "diff.mnemonicprefix",
    "diff.wserrorhighlight",
    "diff.submodule",
    "status.",
    "merge.conflictstyle",
    "merge.ff",
    "merge.renames",
    "merge.renamelimit",
    "merge.verbosity",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "push.followtags",
    "fetch.prune",
    "fetch.prunetags",
    "fetch.parallel",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.updaterefs",
    "rerere.",
    "init.defaultbranch",
    "commit.gpgsign",
    "tag.gpgsign",
    "tag.sort",
    "branch.sort",
    "gc.auto",
    "gc.autodetach",
    "maintenance.auto",
    "submodule.fetchjobs",
    "submodule.recurse",
    "http.postbuffer",
    "http.lowspeedlimit",
    "http.lowspeedtime",
    "protocol.version",
    "pack.threads",
    "pack.windowmemory",
    "grep.linenumber",
    "grep.patterntype",
    "blame.blankboundary",
    "blame.coloring",
    "blame.date",
    "blame.markignoredlines",
    "blame.markunblamablelines",
    "blame.showemail",
    "blame.showroot",
    "versionsort.",
    "index.threads",
    "feature.manyfiles",
    "core.pager=cat",
    "core.editor=true",
    "sequence.editor=true",
    "sequence.editor=:",
    "core.fsmonitor=false",
    "core.hookspath=/dev/null",
    "core.editor=:",
    "pager.log=false",
    "pager.diff=false",
];

/// What a setting of git in a word does.
pub(super) fn classify(value: &Word) -> Setting<'_> {
    let Some(text) = value.as_static() else { return Setting::Unknown };
    let (name, set) = text.split_once('=').unwrap_or((text, ""));
    if let Some(line) = set.trim_start().strip_prefix('!') {
        return Setting::Runs(line);
    }
    let name = name.to_ascii_lowercase();
    let whole = format!("{name}={set}");
    let known = |known: &&str| match known.strip_suffix('.') {
        Some(_) => name.starts_with(*known),
        None => name == **known || whole == **known,
    };
    if HARMLESS.iter().any(known) { Setting::Harmless } else { Setting::Unknown }
}

/// What the name of a build's variable holds when it names a program or a file that is loaded.
const PROGRAM_WORDS: &[&str] = &[
    "COMPILER",
    "CMAKE_AR",
    "CMAKE_RANLIB",
    "CMAKE_NM",
    "CMAKE_STRIP",
    "CMAKE_OBJ",
    "CMAKE_ADDR2LINE",
    "CMAKE_MT",
    "CMAKE_RC",
    "CMAKE_DLLTOOL",
    "CMAKE_READELF",
    "_FLAGS",
    "LAUNCHER",
    "TOOLCHAIN",
    "COMMAND",
    "EXECUTABLE",
    "LINKER",
    "PROGRAM",
    "PLUGIN",
    "MODULE_PATH",
    "PROJECT_INCLUDE",
    "EXEC.",
    "WRAPPER",
    "CMAKE_MAKE",
    "INTERPRETER",
    "EMULATOR",
    "PREFIX_PATH",
    "INSTALL_PREFIX",
    "DESTDIR",
    "JVM",
    "AGENT",
    "MAVEN.EXT",
    "SETTINGS",
    "CONFIG",
    "ARGLINE",
    "RULE_LAUNCH",
];

/// Returns whether `NAME=value` or `NAME:TYPE=value` of a build may name a program.
pub(super) fn defines_program(value: &Word) -> bool {
    let name = value.literal_prefix().split(['=', ':']).next().unwrap_or_default().to_ascii_uppercase();
    name.is_empty() || PROGRAM_WORDS.iter().any(|word| name.contains(word))
}

/// Options for compilers and linkers that run or load something.
const PASSED: &[&str] = &[
    "linker",
    "link-arg",
    "llvm-args",
    "plugin",
    "extld",
    "toolexec",
    "wrapper",
    "fuse-ld",
    "-o,",
    "-load",
    "specs",
    "ar=",
];

/// Returns whether options that are passed on may name a program.
pub(super) fn passes_program(value: &Word) -> bool {
    value.as_static().is_none_or(|text| PASSED.iter().any(|passed| text.contains(passed)))
}

/// What leads out of a database: commands of the client, and those of the server that touch files and programs.
const BEYOND: &[&str] = &[
    "\\!",
    "\\o",
    "\\copy",
    "\\g",
    "\\i",
    "\\w",
    "\\e",
    "\\s ",
    "\\T",
    "\\P",
    "\\.",
    "program",
    "outfile",
    "dumpfile",
    "load_file",
    "load_extension",
    "writefile",
    "readfile",
    "edit(",
    "pg_read_file",
    "pg_write",
    "lo_import",
    "lo_export",
    "xp_cmdshell",
    "sys_exec",
];

/// Commands of sqlite's client that only show something.
const SHOWS: &[&str] = &[
    "tables",
    "schema",
    "headers",
    "header",
    "mode",
    "dump",
    "indexes",
    "indices",
    "width",
    "databases",
    "timer",
    "help",
    "quit",
    "exit",
    "show",
    "stats",
    "nullvalue",
    "separator",
    "echo",
    "bail",
    "fullschema",
    "eqp",
    "explain",
    "print",
    "version",
];

/// Returns whether a query runs programs or touches files.
pub(crate) fn query_goes_beyond(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let dotted = |line: &str| {
        line.trim_start().strip_prefix('.').is_some_and(|command| {
            let name = command.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            !SHOWS.contains(&name)
        })
    };
    let mut words = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let opens_file = |word: &str| matches!(word, "attach" | "temp_store_directory" | "data_store_directory");
    let vacuums_into = || lower.contains("vacuum") && lower.contains("into");
    BEYOND.iter().any(|beyond| lower.contains(&beyond.to_ascii_lowercase()))
        || words.any(opens_file)
        || vacuums_into()
        || lower.lines().any(dotted)
        || lower
            .lines()
            .any(|line| matches!(line.split_whitespace().next(), Some("system" | "source" | "tee" | "pager")))
}
