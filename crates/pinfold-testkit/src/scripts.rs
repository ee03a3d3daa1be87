//! Random scripts of a shell, which move and set variables in every way, and a real bash that runs them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::select;

use crate::TempTree;
use crate::bash::harmless_bash;

/// `p` and `cat` write down an argument and where they stand.
const PROBES: &str = r#"
p() { printf '%s\0%s\0' "$1" "$(builtin pwd -P)" >&250; }
cat() { p "$1"; }
ulimit -t 2 -f 64 -u 200
"#;

/// Reads of a file with a number as its name.
pub const READS: &[&str] = &[
    "cat \"$D/@\"",
    "cat $D/@",
    "cat \"$E/@\"",
    "cat ${E}/@",
    "cat \"$D$E/@\"",
    "cat \"a/$D/@\"",
    "cat \"${D:-a}/@\"",
    "cat \"${D[0]}/@\"",
    "cat \"${D%b}/@\"",
    "cat ./@",
    "cat ~/@",
    "cat \"$HOME/@\"",
    "cat \"$PWD/@\"",
    "cat \"$OLDPWD/@\"",
    "cat ~+/@",
    "cat ~-/@",
    "cat \"$REPLY/@\"",
    "cat \"$1/@\"",
    "cat \"$i/@\"",
    "cat \"$MAPFILE/@\"",
    "cat \"$OPTARG/@\"",
    "cat \"$C/@\"",
];

/// Commands that move, in every way, and those that decide where that leads.
const STEPS: &[&str] = &[
    "cd a",
    "cd b",
    "cd a/b",
    "cd ./a",
    "cd ../a",
    "cd ..",
    "cd ../..",
    "cd a/..",
    "cd l",
    "cd l/..",
    "cd -P l",
    "cd -P l/..",
    "cd -L -- b",
    "cd",
    "cd ~",
    "cd ~/b",
    "cd -",
    "cd --",
    "cd missing",
    "cd a b",
    "cd /",
    "cd \"\"",
    "cd $D",
    "cd \"$D\"",
    "cd \"$D/b\"",
    "cd ${D}/..",
    "cd $E",
    "cd ${D:-a}",
    "cd ${D:=b}",
    "cd $(echo a)",
    "cd \"$PWD/a\"",
    "cd \"$OLDPWD\"",
    "cd ~-",
    "cd ~+/a",
    "cd a*",
    "cd [ab]",
    "cd {a,b}",
    "cd 'a'\"/b\"",
    "cd a >/dev/null",
    "</dev/null cd b",
    "pushd a",
    "pushd",
    "pushd -n a",
    "popd",
    "command cd a",
    "builtin cd b",
    "command -p cd ..",
    "builtin command cd a",
    "time cd a",
    "! cd b",
    "$C a",
    "\"$C\" b",
    "${C[0]} a",
    "X=1 cd a",
    "CDPATH=a cd b",
    "CDPATH=.. cd a",
    "HOME=a cd",
    "OLDPWD=a cd -",
    "D=a cd $D",
    "D=a",
    "D=..",
    "D=b E=$D",
    "D=missing",
    "D+=/b",
    "D=(a b)",
    "D[0]=b",
    "E=$D",
    "E=a",
    "C=cd",
    "C=p",
    "CDPATH=a",
    "CDPATH=..",
    "CDPATH=",
    "unset CDPATH",
    "HOME=a",
    "unset HOME",
    "OLDPWD=b",
    "PWD=a",
    "unset D",
    "unset -v E",
    "export D=b",
    "declare D=a",
    "declare -u D",
    "declare -n E=D",
    "readonly E=b",
    "export $E=a",
    "read D <<< b",
    "read <<< a",
    "read -r E D <<< 'a b'",
    "printf -v D a",
    "printf -vE b",
    "mapfile -t D <<< a",
    "let D=1",
    "let E=1",
    ": ${E:=a}",
    ": $((D=1))",
    "getopts a D -a",
    "set -e",
    "set -- a",
    "cd $1",
    "shift",
    "true",
    "false",
    "return",
    "exit",
];

/// A script with these probes, which are numbered afterwards.
pub fn script(probes: &'static [&'static str]) -> impl Strategy<Value = String> {
    let step = prop_oneof![3 => select(STEPS), 2 => select(probes)].prop_map(str::to_owned);
    let list = step.prop_recursive(4, 24, 4, |inner| {
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner.clone());
        prop_oneof![
            4 => two.clone().prop_map(|(a, b)| format!("{a}; {b}")),
            3 => two.clone().prop_map(|(a, b)| format!("{a} && {b}")),
            2 => two.clone().prop_map(|(a, b)| format!("{a} || {b}")),
            1 => two.clone().prop_map(|(a, b)| format!("{a} | {b}")),
            1 => two.clone().prop_map(|(a, b)| format!("{a} & {b}; wait")),
            1 => two.clone().prop_map(|(a, b)| format!("f() {{ {a}; }}; {b}; f")),
            1 => two.clone().prop_map(|(a, b)| format!("while {a}; do {b}; break; done")),
            1 => two.clone().prop_map(|(a, b)| format!("for i in 1 2; do {a}; {b}; done")),
            1 => two.prop_map(|(a, b)| format!("for D in a b ..; do {a}; {b}; done")),
            1 => three.clone().prop_map(|(a, b, c)| format!("if {a}; then {b}; else {c}; fi")),
            1 => three.prop_map(|(a, b, c)| format!("case $D in a) {a};; b) {b};& *) {c};; esac")),
            2 => inner.clone().prop_map(|a| format!("({a})")),
            1 => inner.clone().prop_map(|a| format!("{{ {a}; }}")),
            1 => inner.clone().prop_map(|a| format!("x=$({a})")),
            1 => inner.clone().prop_map(|a| format!("p @ \"$({a})\"")),
            1 => inner.clone().prop_map(|a| format!("p @ < <({a})")),
            1 => inner.clone().prop_map(|a| format!("{{ {a}; }} > /dev/null")),
            1 => inner.prop_map(|a| format!("until ! {{ {a}; }}; do break; done")),
        ]
    });
    (list, select(probes)).prop_map(|(text, last)| number(&format!("{text}\n{last}")))
}

/// Gives each probe a number of its own.
fn number(text: &str) -> String {
    let mut pieces = text.split('@');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.enumerate().fold(first, |text, (at, piece)| format!("{text}{at}{piece}"))
}

/// A tree in which scripts are run: `w`, where they start, with `a/a`, `a/b`, `b/a`, `b/b` and a link `l` to `a/b`; and a home, `home`, with
/// `a` and `b`. The environment has `E=b`.
#[derive(Debug)]
pub struct ScriptBed {
    tree: TempTree,
}

impl Default for ScriptBed {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptBed {
    /// The tree, on disk.
    pub fn new() -> Self {
        let tree = TempTree::new().with_dirs(["w/a/b", "w/a/a", "w/b/a", "w/b/b", "home/b", "home/a"]);
        symlink("a/b", tree.path("w/l")).expect("a link");
        for open in ["", "w", "home"] {
            let open = fs::set_permissions(tree.path(open), fs::Permissions::from_mode(0o755));
            open.expect("permissions");
        }
        fs::write(tree.path("log"), "").expect("a log");
        fs::set_permissions(tree.path("log"), fs::Permissions::from_mode(0o666)).expect("permissions");
        fs::write(tree.path("probe"), format!("exec 250>>'{}'\n{PROBES}", tree.path("log").display()))
            .expect("the probe");
        Self { tree }
    }

    /// The directory in which scripts start.
    pub fn start(&self) -> PathBuf {
        self.tree.path("w")
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.tree.path("home")
    }

    /// Runs a script. Returns the argument of each probe and where it stood.
    pub fn run(&self, script: &str) -> Vec<(String, PathBuf)> {
        fs::write(self.tree.path("log"), "").expect("a log");
        let mut bash = harmless_bash();
        bash.args(["-c", "--", script]).env("BASH_ENV", self.tree.path("probe"));
        bash.env("HOME", self.home()).env("E", "b").current_dir(self.start());
        bash.output().expect("bash starts");
        let log = fs::read_to_string(self.tree.path("log")).expect("the log");
        let mut pieces = log.split('\0');
        std::iter::from_fn(|| Some((pieces.next()?.to_owned(), PathBuf::from(pieces.next()?)))).collect()
    }
}

/// A path without links and `..`, as far as it leads to something.
pub fn resolve(path: &Path) -> PathBuf {
    let Ok(real) = path.canonicalize() else {
        let Some(parent) = path.parent().map(resolve) else { return path.to_owned() };
        return match path.file_name() {
            Some(name) => parent.join(name),
            None => parent.parent().unwrap_or(&parent).to_owned(),
        };
    };
    real
}
