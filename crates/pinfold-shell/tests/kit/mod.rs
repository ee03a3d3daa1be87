//! A real bash in a bed where nothing can be harmed: no programs, an empty folder, an ordinary user, little time.

#![expect(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pinfold_testkit::bash::harmless_bash;

/// Every name that is no builtin is written down with its arguments, and does nothing: `f…` fails, others succeed.
const STUBS: &str = r#"
command_not_found_handle() {
    printf '%s\0' "$#" "$@" >&250
    [[ $1 != f* ]]
}
ulimit -t 2 -f 64 -u 200
trap wait EXIT
"#;

/// The same names as functions, which run in the shell that calls them, and say which that is.
const FUNCTIONS: &str = r#"
for name in {t,f}{1..9}; do
    eval "$name() { printf '2\\0%s\\0%s\\0' $name \$BASHPID >&250; [[ $name != f* ]]; }"
done
unset name
"#;

/// What bash did with a snippet.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Each program that it started, with its arguments.
    pub(crate) commands: Vec<Vec<String>>,
    /// Files that it made.
    pub(crate) files: Vec<String>,
}

/// Runs a snippet.
pub(crate) fn run(snippet: &str) -> Ran {
    run_with(snippet, STUBS)
}

/// Runs a snippet; each of `t1` to `t9` and `f1` to `f9` is written down with the process that ran it.
pub(crate) fn processes(snippet: &str) -> Vec<(String, String)> {
    let ran = run_with(snippet, &format!("{STUBS}{FUNCTIONS}")).commands;
    ran.into_iter().filter_map(|argv| Some((argv.first()?.clone(), argv.get(1)?.clone()))).collect()
}

fn run_with(snippet: &str, stubs_text: &str) -> Ran {
    let bed = tempfile::tempdir().expect("a bed");
    let inside = bed.path().join("inside");
    let (log, stubs) = (bed.path().join("log"), bed.path().join("stubs"));
    fs::create_dir(&inside).expect("a folder");
    fs::write(&stubs, format!("exec 250>>'{}'\n{stubs_text}", log.display())).expect("stubs");
    fs::write(&log, "").expect("a log");
    open(bed.path(), 0o755);
    open(&inside, 0o777);
    open(&log, 0o666);
    let mut bash = harmless_bash();
    bash.args(["-c", "--", snippet]).env("BASH_ENV", &stubs).env("HOME", &inside).current_dir(&inside);
    bash.output().expect("bash starts");
    let made = fs::read_dir(&inside).expect("the folder");
    Ran {
        commands: commands(&fs::read(&log).expect("the log")),
        files: made.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect(),
    }
}

/// Whether bash takes a text without running it.
pub(crate) fn accepts(snippet: &str) -> bool {
    let output = harmless_bash().args(["-n", "-c", "--", snippet]).output().expect("bash starts");
    // bash 5.2 succeeds for some conditions that it complains about.
    output.status.success() && !output.stderr.windows(11).any(|word| word == b"conditional")
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

/// Counts and that many arguments, each ended by a byte 0.
fn commands(log: &[u8]) -> Vec<Vec<String>> {
    let mut pieces = log.split(|&byte| byte == 0).map(|piece| String::from_utf8_lossy(piece).into_owned());
    let mut commands = Vec::new();
    while let Some(count) = pieces.next().and_then(|count| count.parse().ok()) {
        commands.push(pieces.by_ref().take(count).collect());
    }
    commands
}
