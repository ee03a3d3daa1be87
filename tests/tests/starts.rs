//! Starts that fail, or that look as if they had to: what is wrong is said, and what to do.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use pinfold_testkit::tree::snapshot;
use pinfold_tests::missing::{all_there, left_out};
use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Tier, Who, each};

/// `pinfold run` with these options for a command that is started by another one, as the user that that one has.
fn confined(tier: Tier, options: &[&str]) -> Vec<String> {
    let program = pinfold().to_str().expect("a plain path").to_owned();
    let quiet = ["run", "--quiet", "--ask", "nobody"];
    let words = quiet.iter().chain(tier.options()).chain(options).map(|word| (*word).to_owned());
    [program].into_iter().chain(words).collect()
}

fn says(output: &Output, code: i32, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}", describe(output));
    assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {}", describe(output));
}

#[each(user, tier)]
fn a_folder_that_is_none_is_named(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    fs::write(bed.folder().join("file"), "").expect("a file");
    bed.give();
    let started = |folder: &str| {
        let mut command = bed.run(tier, &["--quiet", "--ask", "nobody", "--folder", folder]);
        command.arg("true").output().expect("pinfold")
    };
    says(&started("file"), 2, &["file` is not a folder"]);
    says(&started("missing"), 2, &["missing` cannot be opened"]);
    for own in ["/run", "/tmp", "/var/tmp"] {
        says(&started(own), 2, &[own, "is not a folder to work in", "every run has one of its own"]);
    }
    assert!(started(".").status.success(), "the control");
}

#[each(user, tier)]
fn too_few_open_files_are_what_is_told(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let started = |limit: &str| {
        let mut command = bed.free("sh");
        command.args(["-c", &format!("ulimit -n {limit}; exec \"$@\""), "sh"]);
        command.args(confined(tier, &["--", "true"])).output().expect("sh")
    };
    let output = started("64");
    assert!(output.status.success(), "the control: {}", describe(&output));
    for limit in 4..32 {
        let output = started(&limit.to_string());
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // Below five nothing can be loaded.
            assert!(limit < 5 || said.contains("open files"), "{limit}: {}", describe(&output));
            let leads_astray = ["--allow-degraded", "--folder"].iter().any(|hint| said.contains(hint));
            assert!(!leads_astray, "{limit}: {}", describe(&output));
        }
    }
}

/// A folder that is mounted read-only: a run starts there, and writing fails as it does outside.
#[each(user, tier)]
fn a_folder_that_is_mounted_read_only_can_be_worked_in(who: Who, tier: Tier) {
    if !all_there("read-only mounts", &["unshare", "mount"]) {
        return;
    }
    let bed = &Bed::new(who);
    fs::write(bed.folder().join("file"), "content").expect("a file");
    bed.give();
    let inside = confined(tier, &["--", "sh", "-c", "cat file; touch new || echo kept"]);
    let mut command = bed.free("unshare");
    let mounted = "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec \"$@\"";
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mounted, "sh"]);
    let output = command.args(inside).output().expect("unshare");
    if String::from_utf8_lossy(&output.stderr).contains("unshare:") {
        return left_out("read-only mounts", "this machine forbids user namespaces");
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), "contentkept\n", "{}", describe(&output));
    assert!(!bed.folder().join("new").exists());
}

/// Where calls are not carried out by the supervisor, each missing name in each place is held by a descriptor.
#[each(user)]
fn many_writable_places_start_or_leave_nothing_behind(who: Who) {
    const PLACES: usize = 40;
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let bed = Bed::new(who);
    let places: Vec<_> = (0..PLACES).map(|number| bed.outside().join(number.to_string())).collect();
    for place in &places {
        fs::create_dir(place).expect("a directory");
    }
    bed.give();
    let started = |limit: usize, way: &[&str]| {
        let mut command = bed.free("sh");
        command.args(["-c", &format!("ulimit -S -n {limit}; exec \"$@\""), "sh"]);
        command.args(confined(Tier::Full, way));
        for place in &places {
            command.arg("--add-dir").arg(place);
        }
        command.args(["--", "true"]).output().expect("sh")
    };
    let left = || snapshot(&bed.outside()).len();
    let before = left();
    let output = started(3 * PLACES, &[]);
    assert!(output.status.success(), "{who}: {}", describe(&output));
    let output = started(20 * PLACES, &["--allow-feature", "user-namespaces"]);
    assert!(output.status.success(), "{who}: {}", describe(&output));
    assert_eq!(left(), before);
    let output = started(5 * PLACES, &["--allow-feature", "user-namespaces"]);
    says(&output, 125, &["open files"]);
    assert_eq!(left(), before, "{who}: {}", describe(&output));
}

/// The run has a private copy of git's configuration, which has to be seen there.
#[each(user, tier)]
fn a_repository_can_be_worked_in_where_everything_may_be_written(who: Who, tier: Tier) {
    if !all_there("a repository in default-write", &["git"]) {
        return;
    }
    let bed = &Bed::new(who);
    bed.give();
    let made = bed.free("git").args(["init", "-q"]).output().expect("git");
    assert!(made.status.success(), "{}", describe(&made));
    let script =
        "git config x.inside 1; git status && echo > \"$HOME/made\"; echo exit 1 > .git/hooks/pre-commit";
    let options = ["--quiet", "--ask", "nobody", "--sandbox", "default-write"];
    let output = bed.run(tier, &options).args(["sh", "-c", script]).output().expect("pinfold");
    assert!(bed.home().join("made").exists(), "{}", describe(&output));
    assert!(!bed.folder().join(".git/hooks/pre-commit").exists(), "{}", describe(&output));
    let kept = fs::read_to_string(bed.folder().join(".git/config")).expect("a configuration");
    assert!(!kept.contains("inside"), "{kept}");
}

/// A supervisor that is killed removes nothing; the next run does, and knows what is its own.
#[each(user, tier)]
fn a_lock_of_git_that_a_killed_run_left_goes_with_the_next(who: Who, tier: Tier) {
    if !all_there("locks of git", &["git"]) {
        return;
    }
    let bed = &Bed::new(who);
    bed.give();
    let made = bed.free("git").args(["init", "-q"]).output().expect("git");
    assert!(made.status.success(), "{}", describe(&made));
    let lock = |name: &str| bed.folder().join(".git").join(name);
    let options = ["--quiet", "--ask", "nobody"];
    let left_by_a_killed_run = || {
        let mut run = bed.run(tier, &options);
        run.args(["sh", "-c", "set -C; : > .git/index.lock && echo made; exec sleep 60"]);
        let mut killed = run.stdout(Stdio::piped()).spawn().expect("pinfold");
        let mut said = String::new();
        BufReader::new(killed.stdout.take().expect("a pipe")).read_line(&mut said).expect("a line");
        assert_eq!(said, "made\n");
        killed.kill().expect("it runs");
        killed.wait().expect("an end");
        assert!(lock("index.lock").exists(), "the control");
    };
    let next = |script: &str| bed.run(tier, &options).args(["sh", "-c", script]).output().expect("pinfold");
    left_by_a_killed_run();
    fs::write(lock("shallow.lock"), "of a git outside").expect("a lock");
    let output =
        next("git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x; git add . && echo added");
    assert!(String::from_utf8_lossy(&output.stdout).contains("added"), "{}", describe(&output));
    assert!(!lock("index.lock").exists() && lock("shallow.lock").exists(), "{}", describe(&output));
    // Removed by the person, and made again by a git outside: it is another one.
    left_by_a_killed_run();
    fs::remove_file(lock("index.lock")).expect("a lock");
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(lock("index.lock"), "of a git outside").expect("a lock");
    let output = next("git add .");
    assert!(!output.status.success() && lock("index.lock").exists(), "{}", describe(&output));
}

#[each(user)]
fn where_the_supervisor_only_watches_the_start_says_so(who: Who) {
    let bed = Bed::new(who);
    for (options, says) in [(&[][..], false), (&["--allow-feature", "user-namespaces"], true)] {
        let output = bed.run(Tier::Full, options).arg("true").output().expect("a run");
        assert!(output.status.success(), "{}", describe(&output));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            told.contains("the supervisor only watches changes of files"),
            says,
            "{options:?}: {told}"
        );
    }
}
