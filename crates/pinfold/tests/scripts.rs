//! Scripts that a yes to a command line is for as well: whichever way the line names one, another content of it makes another question.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pinfold::policy::Policy;
use pinfold::{AssumedShells, Plan, RawCall, Ruling};
use pinfold_gate_testkit::session::open;
use pinfold_testkit::TempTree;
use pinfold_testkit::scripts::{RUNS, ScriptBed, runner, script};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::json;

/// The digest of the question about a line. `None`: there is no question.
fn digest(folder: &Path, home: &Path, line: &str) -> Option<String> {
    let plan = Plan::for_folder(folder)
        .with_home(home.to_owned())
        .with_shells(Arc::new(AssumedShells::in_folder(folder)))
        .with_policy(Policy::default());
    let raw = RawCall::new("Bash", json!({"command": line}));
    match open(plan).submit(&raw) {
        Ruling::Question(question) => Some(question.request().digest.clone()),
        Ruling::Permit(_) | Ruling::Refusal(_) => None,
    }
}

/// Adds a line to a file.
fn change(path: &Path) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    fs::write(path, format!("{text}:\n"))
}

/// Returns whether a line goes to a folder whose name a command prints: that is known only at run time.
fn goes_to_printed(line: &str) -> bool {
    line.contains("$(echo ")
}

/// Runs a line in a real bash. Returns how many scripts it ran, each of which is part of the digest, or the one that is none; nothing
/// where the line names more than is looked up, so that each digest is another.
fn compare(bed: &ScriptBed, line: &str) -> Result<Option<usize>, String> {
    if goes_to_printed(line) {
        return Ok(Some(0));
    }
    let digest = || digest(&bed.start(), &bed.home(), line);
    let mut covered = 0;
    for script in bed.scripts_run_by(line) {
        let Some(before) = digest() else { return Ok(Some(covered)) };
        if digest().as_ref() != Some(&before) {
            return Ok(None);
        }
        change(&script).map_err(|failed| format!("{}: {failed}", script.display()))?;
        if digest() == Some(before) {
            return Err(format!("{} was run", script.display()));
        }
        covered += 1;
    }
    Ok(Some(covered))
}

#[test]
fn each_way_to_run_a_script_makes_it_part_of_the_yes() {
    let bed = ScriptBed::with_runs();
    let mut silent = Vec::new();
    for line in RUNS {
        match compare(&bed, &format!("D=a E=b; {line}")) {
            Ok(Some(0)) => silent.push(line),
            Ok(Some(_)) => {}
            Ok(None) => panic!("{line}\nIt names more than is looked up"),
            Err(why) => panic!("{line}\n{why}"),
        }
    }
    // Some run a script only behind others, as random scripts do.
    assert!(silent.len() < RUNS.len() / 5, "{silent:#?}");
}

/// Random scripts, some of which are lines within a line.
fn lines() -> impl Strategy<Value = String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let wrap = prop_oneof![
        6 => Just(""),
        1 => Just("eval @"),
        1 => Just("D=a; eval @"),
        1 => Just("/bin/bash -c @"),
        1 => Just("export D=b E=a; /bin/bash -c @ a b"),
        1 => Just("C=@; eval \"$C\""),
        1 => Just("cd a; trap @ EXIT"),
        1 => Just("/bin/bash <<< @"),
        1 => Just("D=b /usr/bin/env E=a /bin/bash -c @"),
        1 => Just("for D in a b; do eval @; done"),
        1 => Just("g() { eval \"$1\"; }; g @"),
        1 => Just("echo @ | /bin/bash"),
    ];
    (script(RUNS), wrap.clone(), wrap).prop_map(move |(text, inner, outer)| {
        [inner, outer]
            .into_iter()
            .filter(|wrap| !wrap.is_empty())
            .fold(text, |text, wrap| wrap.replace('@', &quoted(&text)))
    })
}

#[test]
fn whatever_script_a_real_bash_runs_is_part_of_the_yes() {
    let (bed, covered, beyond) = (ScriptBed::with_runs(), Cell::new(0), Cell::new(0));
    let (mut runner, cases) = runner();
    let result = runner.run(&lines(), |text| {
        let more = compare(&bed, &text).map_err(|why| TestCaseError::fail(format!("{text}\n{why}")))?;
        match more {
            Some(more) => covered.set(covered.get() + more),
            None => beyond.set(beyond.get() + 1),
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(beyond.get() * 5 < cases, "{} lines name more than is looked up", beyond.get());
    assert!(covered.get() > cases / 10, "only {} scripts were run", covered.get());
}

/// Lines, and the scripts that each of them names.
const NAMED: &[(&str, &[&str])] = &[
    // Values of variables.
    ("D=sub; $D/x", &["sub/x"]),
    ("D=sub; \"$D\"/x", &["sub/x"]),
    ("D=sub; E=$D/deep; sh $E/y", &["sub/deep/y"]),
    ("D=sub; D+=/deep; sh $D/y", &["sub/deep/y"]),
    ("D=(a.sh b.sh); sh ${D[1]}", &["b.sh"]),
    ("for f in a b; do ./$f.sh; done", &["a.sh", "b.sh"]),
    ("L='a.sh b.sh'; for f in $L; do sh $f; done", &["a.sh", "b.sh"]),
    ("for d in sub; do (cd $d && ./x); done", &["sub/x"]),
    ("sh ${UNHEARD_OF:-sub/x}", &["sub/x"]),
    ("sh ${UNHEARD_OF:-sub}/x", &["sub/x"]),
    ("./${UNHEARD_OF}a.sh", &["a.sh"]),
    ("D=sub/none; sh ${D%/*}/x", &["sub/x"]),
    ("x=A.SH; sh ${x,,}", &["a.sh"]),
    ("x=sub/y; sh ${x/y/x}", &["sub/x"]),
    ("echo sub | while read d; do $d/x; done", &["sub/x"]),
    ("while read f; do sh $f; done <<E\na.sh\nE", &["a.sh"]),
    ("IFS=x; c=shxa.sh; $c", &["a.sh"]),
    ("sh $'\\x61.sh'", &["a.sh"]),
    ("for ((i = 1; i < 3; i++)); do sh step$i; done", &["step1", "step2"]),
    ("sh step$((1 + 1))", &["step2"]),
    ("set -- sub; $1/x", &["sub/x"]),
    ("f() { sh \"$1/x\"; }; f sub", &["sub/x"]),
    ("mkdir -p sub && cd $_ && ./x", &["sub/x"]),
    ("read D <<< sub; $D/x", &["sub/x"]),
    ("printf -v D sub; $D/x", &["sub/x"]),
    ("declare -n D=E; E=sub; $D/x", &["sub/x"]),
    ("C='sub/x -v'; $C", &["sub/x"]),
    ("printf -v y 's%s' ub; sh $y/x", &["sub/x"]),
    ("x=foo/sub/x; sh ${x#foo/}", &["sub/x"]),
    ("D='a b'; sh \"sub/$D/z\"", &["sub/a b/z"]),
    ("declare -A m=([k]=sub/x); sh ${m[k]}", &["sub/x"]),
    ("f() { g \"$1/x\"; }; g() { sh $1; }; f sub", &["sub/x"]),
    ("sh /$PWD/sub/x", &["sub/x"]),
    // Wildcards.
    ("./*.sh", &["a.sh", "b.sh"]),
    ("bash sub/*", &["sub/x"]),
    ("sh [ab].sh", &["a.sh", "b.sh"]),
    ("sh [[:alpha:]].sh", &["a.sh", "b.sh"]),
    ("sh */deep/?", &["sub/deep/y"]),
    ("cd su*; ./x", &["sub/x"]),
    ("P='./*.sh'; for f in $P; do $f; done", &["a.sh", "b.sh"]),
    ("bash -O globstar -c './**/y'", &["sub/deep/y"]),
    ("bash -O dotglob -c 'sh .//*'", &[".hidden"]),
    ("bash -O extglob -c 'sh @(a|c).sh'", &["a.sh"]),
    ("GLOBIGNORE=z; sh *hidden", &[".hidden"]),
    ("bash -O nocaseglob -c 'sh A*'", &["a.sh"]),
    ("zsh -c 'sh **/y'", &["sub/deep/y"]),
    ("ls | xargs -I{} sub/{}", &["sub/x"]),
    ("parallel sub/{} ::: x", &["sub/x"]),
    // Assignments.
    ("BASH_ENV=sub/x bash -c :", &["sub/x"]),
    ("ENV=sub/x sh -i", &["sub/x"]),
    ("env BASH_ENV=sub/x bash -c :", &["sub/x"]),
    ("export BASH_ENV=sub/x; bash y", &["sub/x"]),
    ("GIT_SSH_COMMAND='./sub/x -v' git fetch", &["sub/x"]),
    ("git -c core.sshCommand='./sub/x -v' fetch", &["sub/x"]),
    ("git -c core.hooksPath=sub commit", &["sub/x"]),
    ("GIT_EXEC_PATH=$PWD/sub git fetch", &["sub/x"]),
    ("make SHELL=sub/x", &["sub/x"]),
    ("BASH_ENV='$D/x' D=sub bash -c :", &["sub/x"]),
    ("PS4='$(./a.sh)' bash -xc :", &["a.sh"]),
    ("HOME=$PWD/sub bash -i", &["sub/.bashrc"]),
    // Folders in which programs are looked for.
    ("PATH=./sub:$PATH x", &["sub/x"]),
    ("PATH=$PWD/sub; x", &["sub/x"]),
    ("PATH=\"$(pwd)/sub:$PATH\" make", &["sub/x"]),
    ("export PATH=sub:$PATH; y", &["sub/x"]),
    ("PATH+=:sub; y", &["sub/x"]),
    ("cd sub; PATH=deep:$PATH y", &["sub/deep/y"]),
    ("env PATH=sub:/bin y", &["sub/x"]),
    ("PYTHONPATH=sub python3 -m x", &["sub/x"]),
    ("PATH=\"sub${PATH:+:$PATH}\" y", &["sub/x"]),
    ("PERL5LIB=sub perl -Mx -e1", &["sub/x"]),
    // Lines in words.
    ("eval ./a.sh", &["a.sh"]),
    ("eval 'cd sub; ./x'", &["sub/x"]),
    ("eval cd sub; ./x", &["sub/x"]),
    ("D=sub; eval '$D/x'", &["sub/x"]),
    ("eval \"D=sub;\" '$D/x'", &["sub/x"]),
    ("C='cd sub && ./x'; eval \"$C\"", &["sub/x"]),
    ("shopt -s expand_aliases; alias z=./a.sh\nz", &["a.sh"]),
    ("trap './a.sh' EXIT", &["a.sh"]),
    ("trap 'cd sub; ./x' EXIT", &["sub/x"]),
    ("sh -c \"./a.sh $(date)\"", &["a.sh"]),
    ("D=sub; sh -c \"$D/x\"", &["sub/x"]),
    ("D=sub sh -c '$D/x'", &["sub/x"]),
    ("sh -c '\"$0\"/x' sub", &["sub/x"]),
    ("find . -exec ./a.sh {} \\;", &["a.sh"]),
    ("D=sub; find . -exec $D/x {} \\;", &["sub/x"]),
    ("ls | xargs ./a.sh", &["a.sh"]),
    ("echo a.sh | xargs sh", &["a.sh"]),
    ("ls | D=sub xargs sh -c '$D/x'", &["sub/x"]),
    ("bash <<E\n./a.sh\nE", &["a.sh"]),
    ("D=sub; bash <<E\ncd $D\n./x\nE", &["sub/x"]),
    ("cat <<E | sh\ncd sub; ./x\nE", &["sub/x"]),
    ("bash -c \"$(cat <<'E'\nsub/x\nE\n)\"", &["sub/x"]),
    ("bash <<< ./a.sh", &["a.sh"]),
    ("vim -c '!./a.sh'", &["a.sh"]),
    ("tar xf y --to-command='D=sub; $D/x'", &["sub/x"]),
    ("env 'BASH_FUNC_f%%=() { ./a.sh; }' bash -c f", &["a.sh"]),
    ("python3 -c 'import os; os.system(\"./sub/x\")'", &["sub/x"]),
    ("awk 'BEGIN { system(\"./sub/x\") }'", &["sub/x"]),
    // Folders that are known by a value.
    ("D=sub; cd $D; ./x", &["sub/x"]),
    ("D=sub; cd $D; cd deep; ./y", &["sub/deep/y"]),
    ("D=sub; env -C $D ./x", &["sub/x"]),
    ("D=sub; sh -c \"cd $D; ./x\"", &["sub/x"]),
    ("bash -c 'cd su*; cd d*; ./y'", &["sub/deep/y"]),
    ("f() { cd $1; }; f sub; ./x", &["sub/x"]),
    ("find sub -execdir ./x \\;", &["sub/x"]),
    ("unheard-of --cwd=sub x", &["sub/x"]),
    ("c=eval; $c 'cd sub'; ./x", &["sub/x"]),
    ("alias a='cd sub'; a; ./x", &["sub/x"]),
    ("shopt -s expand_aliases; alias go=cd\ngo sub; ./x", &["sub/x"]),
    ("cd sub; exec 3<.; cd ..; sh /dev/fd/3/x", &["sub/x"]),
    ("pushd sub; pushd deep; popd; ./x", &["sub/x"]),
    ("CDPATH=sub; cd deep; ./y", &["sub/deep/y"]),
    ("sh /proc/self/cwd/a.sh", &["a.sh"]),
    ("sh /proc/$$/cwd/sub/x", &["sub/x"]),
    ("cd /proc/self/cwd/sub; ./x", &["sub/x"]),
    ("chroot sub /x", &["sub/x"]),
    ("docker run -v $PWD/sub:/s image sh /s/x", &["sub/x"]),
    // Other names for folders and files.
    ("ln -s sub l; l/x", &["sub/x"]),
    ("mv sub l; cd l; ./x", &["sub/x"]),
    ("cp -r sub l && sh l/deep/y", &["sub/deep/y"]),
    ("mkdir n; cd n; D=..; sh $D/a.sh", &["a.sh"]),
];

#[test]
fn a_script_counts_by_whatever_the_line_names_it() {
    let tree = TempTree::new();
    let (work, home) = (tree.make_dir("work"), tree.make_dir("home"));
    for name in [
        "a.sh",
        "b.sh",
        "step1",
        "step2",
        ".hidden",
        "sub/x",
        "sub/.bashrc",
        "sub/deep/y",
        "sub/a b/z",
        "other/file",
    ] {
        tree.write(work.join(name), "echo one\n");
    }
    for (line, scripts) in NAMED {
        let digest = || digest(&work, &home, line).unwrap_or_else(|| panic!("no question about {line}"));
        let before = digest();
        change(&work.join("other/file")).unwrap();
        assert_eq!(before, digest(), "what has nothing to do with it counts: {line}");
        for script in *scripts {
            let before = digest();
            change(&work.join(script)).unwrap();
            assert_ne!(before, digest(), "{script} does not count: {line}");
        }
    }
}

#[test]
fn a_further_match_of_a_wildcard_makes_another_question() {
    let tree = TempTree::new();
    let (work, home) = (tree.make_dir("work"), tree.make_dir("home"));
    tree.write(work.join("a.sh"), "echo one\n");
    tree.write(work.join("bin/one"), "echo one\n");
    for (line, new, other) in [
        ("./*.sh", "b.sh", "b.txt"),
        ("for f in *.sh; do sh $f; done", "c.sh", "c.txt"),
        ("PATH=$PWD/bin:$PATH x", "bin/x", "y"),
    ] {
        let before = digest(&work, &home, line).expect("a question");
        tree.write(work.join(other), "");
        assert_eq!(Some(&before), digest(&work, &home, line).as_ref(), "{line}");
        tree.write(work.join(new), "");
        assert_ne!(Some(before), digest(&work, &home, line), "{line}");
    }
}

#[test]
fn what_is_known_only_by_running_is_no_part_of_the_yes() {
    let tree = TempTree::new();
    let (work, home) = (tree.make_dir("work"), tree.make_dir("home"));
    tree.write(work.join("sub/x"), "echo one\n");
    for line in [
        "sh $(cat name)",
        "read f < name; sh $f",
        "sh \"$UNHEARD_OF\"",
        "find sub -exec sh {} \\;",
        "cat names | xargs sh",
        "make",
        "cd $(cat name); ./x",
    ] {
        let before = digest(&work, &home, line);
        assert!(before.is_some(), "{line}");
        change(&work.join("sub/x")).unwrap();
        assert_eq!(before, digest(&work, &home, line), "{line}");
    }
}

#[test]
fn a_line_that_names_more_than_is_looked_up_is_a_question_soon() {
    let tree = TempTree::new();
    let (work, home) = (tree.make_dir("work"), tree.make_dir("home"));
    let many = |count: usize, piece: &dyn Fn(usize) -> String| (0..count).map(piece).collect::<String>();
    let lines = [
        format!("sh {}", many(6_000, &|at| format!("w{at} "))),
        format!("{}; ./x", many(900, &|at| format!("cd $D{at}; "))),
        format!("{}; cd $X; ./x", many(900, &|at| format!("D{at}=d{at}; "))),
        "sh /*/*/*/*".to_owned(),
        "shopt -s globstar; sh /**/x".to_owned(),
        format!("x={{a,b}}; sh \"{}\"", "$x".repeat(60)),
        format!("for x in {}; do sh \"{}\"; done", "a b c d ".repeat(50), "$x".repeat(200)),
        format!("{}; sh $x", many(900, &|at| format!("x=$x/{at}; "))),
        format!("eval {}", "\"'$a' '$b' \" ".repeat(2_000)),
        format!("f() {{ sh \"$1$2$3$4\"; }}; f {}", many(3_000, &|at| format!("w{at} "))),
        format!("sh {}", "{a,b}".repeat(30)),
        format!("cd $X; cd ../..; ls {}", "* ".repeat(2_000)),
    ];
    for line in lines {
        let started = Instant::now();
        drop(digest(&work, &home, &line));
        let short = line.get(..40).unwrap_or(&line);
        assert!(started.elapsed() < Duration::from_secs(20), "{short}");
    }
}
