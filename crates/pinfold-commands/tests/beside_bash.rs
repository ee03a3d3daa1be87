//! Folders and values beside a real bash: wherever a command of a random script is run, and whatever a variable in its words holds,
//! that is among what is claimed for it, or the claim says that it is not known.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use pinfold_commands::{BaseDirectory, CommandEffects, Origin, analyze};
use pinfold_shell::{Part, Script};
use pinfold_testkit::TempTree;
use pinfold_testkit::bash::harmless_bash;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestRunner};

/// `p` and `cat` write down an argument and where they stand.
const PROBES: &str = r#"
p() { printf '%s\0%s\0' "$1" "$(builtin pwd -P)" >&250; }
cat() { p "$1"; }
ulimit -t 2 -f 64 -u 200
"#;

/// Reads of a file with a number as its name.
const READS: &[&str] = &[
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
fn script(probes: &'static [&str]) -> impl Strategy<Value = String> {
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

struct Bed {
    tree: TempTree,
}

impl Bed {
    fn new() -> Self {
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

    /// Runs a script. Returns the argument of each probe and where it stood.
    fn run(&self, script: &str) -> Vec<(String, PathBuf)> {
        fs::write(self.tree.path("log"), "").expect("a log");
        let mut bash = harmless_bash();
        bash.args(["-c", "--", script]).env("BASH_ENV", self.tree.path("probe"));
        bash.env("HOME", self.tree.path("home")).current_dir(self.tree.path("w"));
        bash.output().expect("bash starts");
        let log = fs::read_to_string(self.tree.path("log")).expect("the log");
        let mut pieces = log.split('\0');
        std::iter::from_fn(|| Some((pieces.next()?.to_owned(), PathBuf::from(pieces.next()?)))).collect()
    }

    /// The place that a claim means by a path.
    fn place(&self, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some(below) => self.tree.path("home").join(below.trim_start_matches('/')),
            None => self.tree.path("w").join(path),
        }
    }

    /// Returns whether a claimed folder is this one, or may be any.
    fn is_claimed(&self, claimed: &BaseDirectory, real: &Path) -> bool {
        let path = match claimed {
            BaseDirectory::Call => self.tree.path("w"),
            BaseDirectory::At(path) => self.place(path),
            BaseDirectory::Named(_) | BaseDirectory::Unknown => return true,
        };
        path.canonicalize().is_ok_and(|path| path == real)
    }
}

/// The folders that are claimed for each `p`, by its number.
fn claimed_folders(script: &Script, effects: &CommandEffects) -> BTreeMap<String, Vec<BaseDirectory>> {
    let probes = script.commands.iter().zip(&effects.commands).filter_map(|(command, claim)| {
        let [program, number, ..] = command.words.as_slice() else { return None };
        let number = number.as_static().filter(|_| program.as_static() == Some("p"))?;
        let folders = claim.folders.stands_in.iter().map(|folder| folder.now().clone());
        Some((number.to_owned(), folders.collect()))
    });
    probes.collect()
}

/// The paths that are claimed for each `cat`, by the number that its file is named by; `None` where it may read any file.
fn claimed_paths(script: &Script, effects: &CommandEffects) -> BTreeMap<String, Option<Vec<String>>> {
    let probes =
        script.commands.iter().zip(&effects.commands).enumerate().filter_map(|(at, (command, claim))| {
            let [program, file] = command.words.as_slice() else { return None };
            let Some(Part::Literal(end)) = file.parts.last().filter(|_| program.as_static() == Some("cat"))
            else {
                return None;
            };
            let number = end.rsplit('/').next()?.to_owned();
            let own = effects.paths.iter().filter(|claim| claim.origin == Origin::Command(at));
            let paths = own.filter_map(|claim| {
                claim.path.as_ref().and_then(|path| path.as_os_str().to_str().map(str::to_owned))
            });
            let is_known = claim.bars.is_empty() && !claim.names_any;
            Some((number, is_known.then(|| paths.collect())))
        });
    probes.collect()
}

/// Runs random scripts and compares each probe that was run. Returns an error where a claim misses one.
fn compare(
    probes: &'static [&str],
    check: impl Fn(&Bed, &Script, &CommandEffects, &[(String, PathBuf)]) -> Result<usize, String>,
) {
    let (bed, known) = (Bed::new(), Cell::new(0));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let least = config.cases as usize / 10;
    let mut runner = TestRunner::new(config);
    let result = runner.run(&script(probes), |text| {
        let script = pinfold_shell::parse(&text);
        if script.opaque.is_empty() {
            let checked = check(&bed, &script, &analyze(&text, &script), &bed.run(&text));
            known.set(known.get() + checked.map_err(|why| TestCaseError::fail(format!("{text}\n{why}")))?);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(known.get() > least, "only {} probes say something", known.get());
}

#[test]
fn a_command_is_claimed_in_the_folder_that_it_runs_in() {
    compare(&["p @"], |bed, script, effects, ran| {
        let claimed = claimed_folders(script, effects);
        let mut known = 0;
        for (number, real) in ran {
            // Where the program is a variable that holds `p`, there is no claim to compare.
            let Some(folders) = claimed.get(number) else { continue };
            if !folders.iter().any(|folder| bed.is_claimed(folder, real)) {
                return Err(format!("p {number} ran in {} and not in {folders:?}", real.display()));
            }
            known += 1;
        }
        Ok(known)
    });
}

#[test]
fn a_file_is_claimed_by_every_value_that_a_variable_in_its_name_may_have() {
    compare(READS, |bed, script, effects, ran| {
        let claimed = claimed_paths(script, effects);
        let mut known = 0;
        for (file, folder) in ran {
            let number = file.rsplit('/').next().unwrap_or_default();
            let Some(Some(paths)) = claimed.get(number) else { continue };
            let real = resolve(&folder.join(file));
            if !paths.iter().any(|path| resolve(&bed.place(path)) == real) {
                return Err(format!("{file} was read in {} and not {paths:?}", folder.display()));
            }
            known += 1;
        }
        Ok(known)
    });
}

/// A path without links and `..`, as far as it leads to something.
fn resolve(path: &Path) -> PathBuf {
    let Ok(real) = path.canonicalize() else {
        let Some(parent) = path.parent().map(resolve) else { return path.to_owned() };
        return match path.file_name() {
            Some(name) => parent.join(name),
            None => parent.parent().unwrap_or(&parent).to_owned(),
        };
    };
    real
}
