//! Random scripts of a shell, which move and set variables in every way, and a real bash that runs them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

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

/// Commands that run a script of the folder, named in every way.
pub const RUNS: &[&str] = &[
    "./r",
    "$D/r",
    "./$D/r",
    "\"$D/r\"",
    "\"$D$E/r\"",
    "\"$E/r\"",
    "${D}/$E/r",
    "${D:-a}/r",
    "${D:+b}/r",
    "./${D%/b}/r",
    "${D[0]}/r",
    "\"${D[1]}/r\"",
    "\"$REPLY/r\"",
    "\"$i/r\"",
    "\"$1/r\"",
    ": a; $_/r",
    "~/r",
    "~+/r",
    "~-/r",
    "\"$OLDPWD/r\"",
    "\"$(pwd)/r\"",
    "\"$PWD/$D/r\"",
    "/bin/sh $D/r",
    "/bin/bash r",
    ". ./r",
    "source $D/r",
    "source \"$E\"/r",
    "command ./r",
    "exec ./r",
    "time ./r",
    "! ./r",
    "./r*",
    "*/r",
    "./*/*/r",
    "/bin/sh [ab]/r",
    "/bin/sh ./[q-s]",
    "/bin/sh [[:alpha:]]/r",
    "{a,b}/r",
    "./r{0,1}",
    "./r{0..1}",
    "./r$((0 + 1))",
    "for ((k = 0; k < 2; k++)); do ./r$k; done",
    "for q in *; do ./$q/r; done",
    "for q in $D $E; do $q/r; done",
    "for q in $D*; do ./$q; done",
    "q='./*'; $q",
    "q='a b'; for x in $q; do $x/r; done",
    "q=a:b; (IFS=:; for x in $q; do $x/r; done)",
    "q=(a b); ${q[1]}/r",
    "q=(a b); for x in \"${q[@]}\"; do $x/r; done",
    "q=a; q=$q/b; $q/r",
    "q=a; q+=/a; q+=/..; $q/r",
    "q=a x=$q; $x/r",
    "eval ./r",
    "eval \"\\$D/r\"",
    "eval '$D/r'",
    "eval 'cd a; ./r'",
    "eval cd b; ./r",
    "eval 'q=b'; $q/r",
    "C=./r; $C",
    "C='./r x'; $C",
    "C='cd a; ./r'; eval \"$C\"",
    "C='$D/r'; eval \"$C\"",
    "trap ./r EXIT",
    "trap '$D/r' EXIT",
    "trap ./r DEBUG; true; trap - DEBUG",
    "trap ./r ERR; false",
    "shopt -s expand_aliases; alias z=./r; eval z",
    "f() { ./$1; }; f r",
    "f() { \"$1/r\"; }; f $D",
    "f() { \"$@\"; }; f ./r",
    "f() { cd \"$1\"; }; f a; ./r",
    "set -- a b; $2/r",
    "set -- $D; shift 0; for x; do $x/r; done",
    "read q <<< a; $q/r",
    "printf -v q a; $q/r",
    "mapfile -t q <<< b; ${q[0]}/r",
    "declare -l q=A; $q/r",
    "declare -n q=D; $q/r",
    "BASH_ENV=a/r /bin/bash -c :",
    "BASH_ENV=$D/r /bin/bash -c :",
    "BASH_ENV=$PWD/r /bin/bash -c :",
    "(export BASH_ENV=./r; /bin/bash -c :)",
    "/usr/bin/env BASH_ENV=b/r /bin/bash -c :",
    "PATH=a r",
    "PATH=$D r",
    "PATH=./$D:$PATH; r; PATH=/nowhere",
    "PATH=$PWD/b:$PATH r",
    "PATH=$(pwd)/a:$PATH r",
    "PATH=: r",
    "(PATH+=:b; r)",
    "(export PATH=$E; r)",
    "/usr/bin/env PATH=a r",
    "PATH=a /usr/bin/env r",
    "hash -p a/r q; q",
    "/bin/bash -c ./r",
    "/bin/bash -c '$D/r'",
    "/bin/bash -c \"$D/r\"",
    "D=a /bin/bash -c '$D/r'",
    "(export D; /bin/bash -c '$D/r')",
    "/bin/bash -c '\"$0\"/r' b",
    "/bin/bash -c '\"$1\"/r' x a",
    "/bin/bash -c 'cd $D && ./r'",
    "/bin/bash -c 'cd ${E:=b}; cd a*; ./r'",
    "/bin/bash -c 'cd a*; cd b*; ./r'",
    "/bin/bash <<< ./r",
    "/bin/bash <<< \"$D/r\"",
    "/bin/bash -s a <<< '$1/r'",
    "/usr/bin/env D=a /bin/bash -c '$D/r'",
    "/usr/bin/env -C a ./r",
    "/usr/bin/env -C \"$D\" ./r",
    "/usr/bin/env -S './r x'",
    "/usr/bin/timeout 1 $D/r",
    "echo x | /usr/bin/xargs $D/r",
    "/usr/bin/find . -maxdepth 0 -exec $D/r ';'",
    "(cd $D && ./r)",
    "pushd $D; ./r; popd",
    "pushd a; pushd b; popd; ./r",
    "cd a*; ./r",
    "cd \"$(pwd)/a\"; ./r",
    "CDPATH=a; cd b; ./r",
    "D=$(pwd)/a; $D/r",
    "shopt -s globstar; ./**/r",
    "shopt -s dotglob; ./.*",
    "shopt -s extglob; eval './@(r|q)'",
    "coproc ./r; wait",
];

/// A runner for random scripts, and the number of its cases. It tries the same ones each time, and others where `PROPTEST_CASES` says how
/// many: a real bash costs too much to find rare ones by chance.
pub fn runner() -> (TestRunner, usize) {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = config.cases as usize;
    let runner = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    (runner, cases)
}

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
    /// The value of `E` in the environment.
    variable: Option<&'static str>,
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
        Self { tree, variable: Some("b") }
    }

    /// The same tree, without `E`, with scripts `r`, `r0` and `r1` in each directory, which write down that they ran.
    pub fn with_runs() -> Self {
        let bed = Self { variable: None, ..Self::new() };
        fs::write(bed.tree.path("ran"), "").expect("a log");
        fs::set_permissions(bed.tree.path("ran"), fs::Permissions::from_mode(0o666)).expect("permissions");
        for folder in ["w", "w/a", "w/b", "w/a/a", "w/a/b", "w/b/a", "w/b/b", "home", "home/a", "home/b"] {
            for name in ["r", "r0", "r1"] {
                let place = bed.tree.path(folder).join(name);
                let text = format!(
                    "#!/bin/bash\nprintf '%s\\0' '{}' >>'{}'\n",
                    place.display(),
                    bed.tree.path("ran").display()
                );
                bed.tree.write_program(place, &text);
            }
        }
        bed
    }

    /// Runs a script. Returns the scripts of the tree that were run, each once.
    pub fn scripts_run_by(&self, script: &str) -> BTreeSet<PathBuf> {
        fs::write(self.tree.path("ran"), "").expect("a log");
        self.run(script);
        let log = fs::read_to_string(self.tree.path("ran")).expect("the log");
        log.split_terminator('\0').map(PathBuf::from).collect()
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
        bash.env("HOME", self.home()).current_dir(self.start());
        bash.envs(self.variable.map(|value| ("E", value)));
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
