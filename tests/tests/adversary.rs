//! Attacks on `pinfold run` itself: odd names, odd homes, hostile repositories, links that are swapped, runs that are
//! killed.
//!
//! Each ends with a documented exit code and no panic, changes nothing outside, and leaves nothing behind.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use pinfold_testkit::tree::snapshot;
use pinfold_tests::missing::left_out;
use pinfold_tests::output::describe;
use pinfold_tests::processes::{signal, unique_sleep, until, with_word};
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Tier, Who, each};

/// Tries to write inside, which has to succeed, and outside, which has not.
const ATTEMPT: &str = "echo in > made && cat made; echo out > ../outside/bad; true";

/// No panic, no signal, a code that the documentation knows.
fn is_orderly(output: &Output) {
    let text = describe(output);
    assert!(!text.contains("panicked"), "{text}");
    assert!(matches!(output.status.code(), Some(0..=3 | 124..=127)), "{text}");
}

fn run(bed: &Bed, tier: Tier, change: impl FnOnce(&mut Command) -> &mut Command) -> Output {
    let mut command = bed.run(tier, &[]);
    command.args(["sh", "-c", ATTEMPT]).stdin(Stdio::null());
    change(&mut command);
    let output = command.output().expect("pinfold can be started");
    is_orderly(&output);
    assert!(!bed.outside().join("bad").exists(), "{tier}: {}", describe(&output));
    output
}

fn held(bed: &Bed, tier: Tier, what: &str, change: impl FnOnce(&mut Command) -> &mut Command) {
    let output = run(bed, tier, change);
    assert_eq!(output.stdout, b"in\n", "{what}, {tier}, {}: {}", bed.who(), describe(&output));
}

#[each(user, tier)]
fn any_name_of_a_folder_will_do(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let names: [&[u8]; 11] = [
        b"with space",
        b"new\nline",
        b"not\xff\xfeutf8",
        b"-dash",
        b"com,ma",
        b"co:lon",
        b"back\\slash",
        "\u{202e}\u{65e5}".as_bytes(),
        b"quo\"te's",
        b"%n%s",
        b"*",
    ];
    for name in names {
        let folder = bed.folder().join(OsStr::from_bytes(name));
        fs::create_dir(&folder).expect("a directory");
        bed.give();
        held(bed, tier, &String::from_utf8_lossy(name), |c| c.current_dir(&folder));
    }
    let long = (0..14).fold(bed.folder(), |at, _| at.join("d".repeat(200)));
    fs::create_dir_all(&long).expect("directories");
    bed.give();
    held(bed, tier, "a long path", |c| c.current_dir(&long));
}

#[each(user, tier)]
fn what_is_no_folder_is_refused_with_a_mend(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    fs::write(bed.folder().join("file"), "").expect("a file");
    bed.give();
    for folder in ["/", "/proc", "nowhere", "file", "/dev/null"] {
        let mut command = bed.free(pinfold());
        command.arg("run").args(tier.options()).args(["--folder", folder, "--", "true"]);
        let output = command.output().expect("pinfold can be started");
        assert_eq!(output.status.code(), Some(2), "{folder}: {}", describe(&output));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.lines().count() >= 2 && text.starts_with("pinfold: "), "{text}");
    }
}

#[each(user, tier)]
fn any_home_and_environment_will_do(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    // Where there is no place for the record a run does not start unless somebody goes without.
    let homeless =
        bed.run(tier, &[]).arg("true").env_remove("HOME").output().expect("pinfold can be started");
    assert_eq!(homeless.status.code(), Some(2), "{}", describe(&homeless));
    assert!(describe(&homeless).contains("--no-record"), "{}", describe(&homeless));
    let bed = &Bed::new(bed.who()).with_options(&["--no-record"]);
    let file = bed.home().join("file");
    fs::write(&file, "").expect("a file");
    bed.give();
    // None that the superuser could make.
    for home in [
        OsStr::new(""),
        OsStr::new("relative"),
        OsStr::new("/proc/nowhere"),
        OsStr::new("/proc"),
        file.as_os_str(),
    ] {
        held(bed, tier, &format!("HOME={}", home.display()), |c| c.env("HOME", home));
    }
    held(bed, tier, "no HOME", |c| c.env_remove("HOME"));
    held(bed, tier, "no PATH", |c| c.env_remove("PATH"));
    held(bed, tier, "no temporary directory", |c| {
        c.env("TMPDIR", "/proc/nowhere").env("XDG_RUNTIME_DIR", "relative")
    });
    held(bed, tier, "no cache", |c| c.env("XDG_CACHE_HOME", "/proc"));
    held(bed, tier, "a large environment", |c| {
        c.envs((0..1_000).map(|n| (format!("V{n}"), "x".repeat(60))));
        c.env(OsStr::from_bytes(b"ODD\xff"), OsStr::from_bytes(b"\xfe\x01\n"))
    });
    held(bed, tier, "long arguments", |c| c.args((0..1_500).map(|_| "z".repeat(1_000))));
}

/// People keep their settings in a repository, and links in their home.
#[each(user, tier)]
fn what_guarded_names_of_the_home_lead_to_in_the_folder_is_not_written(who: Who, tier: Tier) {
    let bed = Bed::new(who);
    let (folder, home) = (bed.folder(), bed.home());
    let settings = r#"{"permissions":{"deny":["Bash(npm publish)"]}}"#;
    for (file, text) in [("bashrc", "old\n"), ("pf/settings.json", settings), ("plain", "old\n")] {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        fs::write(file, text).expect("a file");
    }
    fs::create_dir_all(home.join(".config/pinfold")).expect("a directory");
    for (link, target) in
        [(".bashrc", "bashrc"), (".config/pinfold/settings.json", "pf/settings.json"), ("plain", "plain")]
    {
        symlink(folder.join(target), home.join(link)).expect("a link");
    }
    bed.give();
    let script = "echo new > bashrc; echo {} > pf/settings.json; mv pf gone; echo new > plain; true";
    let output = bed
        .run(tier, &["--ask", "none"])
        .args(["sh", "-c", script])
        .output()
        .expect("pinfold can be started");
    is_orderly(&output);
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let found = [read("bashrc"), read("pf/settings.json")];
    assert_eq!(found, ["old\n", settings], "{}", describe(&output));
    assert_eq!(read("plain"), "new\n", "the control: {}", describe(&output));
    assert!(describe(&output).contains(".bashrc` leads there"), "{}", describe(&output));
}

/// A variable names another folder for the user's configuration, and a file in there leads into the folder of a run.
#[each(user, tier)]
fn settings_that_a_variable_leads_to_are_not_written(who: Who, tier: Tier) {
    let bed = Bed::new(who);
    let (folder, config) = (bed.folder(), bed.outside().join("config"));
    let settings = r#"{"permissions":{"deny":["Bash(npm publish)"]}}"#;
    fs::write(folder.join("own.json"), settings).expect("a file");
    fs::create_dir_all(config.join("pinfold")).expect("a directory");
    symlink(folder.join("own.json"), config.join("pinfold/settings.json")).expect("a link");
    bed.give();
    let script = "echo {} > own.json; echo {} > new; mv new own.json; rm own.json; echo new > plain; true";
    let mut run = bed.run(tier, &["--ask", "none"]);
    let output = run
        .args(["sh", "-c", script])
        .env("XDG_CONFIG_HOME", &config)
        .output()
        .expect("pinfold can be started");
    is_orderly(&output);
    assert_eq!(
        fs::read_to_string(folder.join("own.json")).unwrap_or_default(),
        settings,
        "{}",
        describe(&output)
    );
    assert!(folder.join("plain").exists(), "the control: {}", describe(&output));
}

/// The superuser looks for credentials in every home. What lies there in private directories cannot be reached inside, where
/// the rights over other people's files are gone, and is no reason not to start.
#[test]
fn private_directories_of_others_do_not_keep_the_superuser_from_starting() {
    let (root, user) = (Who::Superuser, Who::Ordinary);
    if !Who::can_be_both() {
        return left_out("homes of others", "only one of the two users is there");
    }
    let other = Bed::new(user);
    let home = other.folder().parent().expect("a bed has a place").to_owned();
    let record = home.join(".local/state/pinfold/record");
    fs::create_dir_all(&record).expect("a record");
    fs::write(record.join("record.jsonl"), "secret").expect("a file");
    fs::set_permissions(home.join(".local"), fs::Permissions::from_mode(0o700)).expect("a mode");
    other.give();
    let bed = Bed::new(root);
    for tier in Tier::ALL.into_iter().filter(|tier| tier.is_possible_for(root)) {
        let output = bed.sh(tier, &format!("cat {}/record.jsonl || echo held", record.display()));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "held\n", "{tier}: {}", describe(&output));
    }
}

#[each(user, tier)]
fn a_link_in_place_of_the_report_is_not_followed(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let prize = bed.outside().join("prize");
    fs::write(&prize, "prize").expect("a file");
    bed.give();
    let script = format!("rm -f report.json; ln -s {} report.json; touch ../outside/x", prize.display());
    let report = |script: &str| {
        let output =
            bed.run(tier, &["--json", "--report", "report.json"]).args(["sh", "-c", script]).output();
        output.expect("pinfold can be started")
    };
    // Swapped during the run, and there from an earlier one.
    is_orderly(&report(&script));
    assert_eq!(fs::read(&prize).expect("a file"), b"prize", "{tier}");
    let second = report("true");
    assert_eq!(second.status.code(), Some(2), "{tier}: {}", describe(&second));
    assert_eq!(fs::read(&prize).expect("a file"), b"prize", "{tier}");
    fs::remove_file(bed.folder().join("report.json")).expect("the link");
    // The control: with nothing in the way the report is written.
    is_orderly(&report("true"));
    assert!(fs::read(bed.folder().join("report.json")).expect("the report").starts_with(b"{"));
}

#[each(user, tier)]
fn a_read_only_run_below_tmp_changes_no_modes(who: Who, tier: Tier) {
    let temp = tempfile::Builder::new().tempdir_in("/tmp").expect("a directory");
    let file = temp.path().join("f");
    fs::write(&file, "").expect("a file");
    who.give(temp.path());
    let mode = || fs::metadata(&file).expect("the file").permissions().mode() & 0o777;
    let change = |mut command: Command| {
        let ended = command.current_dir(temp.path()).stderr(Stdio::null()).status();
        assert!(ended.is_ok(), "it can be started");
    };
    let bed = Bed::new(who);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let mut confined = bed.run(tier, &["--read-only"]);
    confined.args(["chmod", "755", "f"]);
    change(confined);
    assert_eq!(mode(), 0o600, "{tier}, {who}");
    let mut free = bed.free("chmod");
    free.args(["755", "f"]);
    change(free);
    assert_eq!(mode(), 0o755, "the control");
}

/// What stands at `.git` in the folder, with the world outside at hand.
type Plant = fn(&Path, &Path);

const HOSTILE: [(&str, Plant); 10] = [
    ("a pipe", |git, _| drop(Command::new("mkfifo").arg(git).status())),
    ("a link to itself", |git, _| drop(symlink(".git", git))),
    ("a link out", |git, outside| drop(symlink(outside, git))),
    ("a link to a device", |git, _| drop(symlink("/dev/zero", git))),
    ("a pointer out", |git, outside| drop(fs::write(git, format!("gitdir: {}\n", outside.display())))),
    ("a pointer to itself", |git, _| drop(fs::write(git, "gitdir: .git\n"))),
    ("a pointer to a device", |git, _| drop(fs::write(git, "gitdir: /dev/zero\n"))),
    ("an endless pointer", |git, _| drop(fs::write(git, vec![b'x'; 4 << 20]))),
    ("a configuration of a gigabyte", |git, _| {
        skeleton(git);
        let config = fs::File::create(git.join("config")).and_then(|f| f.set_len(1 << 30));
        config.expect("a sparse file");
    }),
    ("links at every name", |git, outside| {
        skeleton(git);
        for name in ["hooks", "config", "info", "commondir", "modules", "worktrees"] {
            symlink(outside, git.join(name)).expect("a link");
        }
    }),
];

fn skeleton(git: &Path) {
    for part in ["objects", "refs"] {
        fs::create_dir_all(git.join(part)).expect("a directory");
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
}

#[each(user, tier)]
fn a_hostile_repository_lends_nothing_and_stops_nothing(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    fs::write(bed.outside().join("kept"), "kept").expect("a file");
    for (what, plant) in HOSTILE {
        let folder = bed.folder().join(what);
        fs::create_dir(&folder).expect("a directory");
        plant(&folder.join(".git"), &bed.outside());
        bed.give();
        let before = snapshot(&bed.outside());
        let script = "echo in > made && cat made; echo x > .git/hooks/x; echo y > .git/info/attributes; true";
        let mut command = bed.run(tier, &[]);
        command.args(["sh", "-c", script]).current_dir(&folder).stdin(Stdio::null());
        let output = command.output().expect("pinfold can be started");
        is_orderly(&output);
        assert_eq!(output.stdout, b"in\n", "{what}, {tier}: {}", describe(&output));
        assert_eq!(snapshot(&bed.outside()), before, "{what}, {tier}");
    }
}

#[each(user, tier)]
fn a_killed_run_leaves_only_what_the_next_one_clears(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let before = snapshot(&bed.folder());
    let mark = unique_sleep();
    for pause in [0, 5, 20, 200] {
        let mut child =
            bed.run(tier, &["--quiet"]).args(["sleep", &mark]).spawn().expect("pinfold can be started");
        thread::sleep(Duration::from_millis(pause));
        signal(&child, "KILL");
        child.wait().expect("it is a child");
    }
    if tier == Tier::Full {
        until("nothing of the killed runs is left", || with_word(&mark).is_empty());
    }
    for pid in with_word(&mark) {
        // What this tier says that it cannot end.
        // It may have ended by itself meanwhile.
        let process = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a number");
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
    until("the last of them is gone", || with_word(&mark).is_empty());
    let output = bed.sh(tier, "true");
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    if tier == Tier::Full {
        assert_eq!(snapshot(&bed.folder()), before, "{}", bed.who());
    }
}

#[each(user, tier)]
fn a_folder_whose_parent_is_swapped_is_held_wherever_it_is(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let sides: Vec<PathBuf> = ["one", "two"].map(|side| bed.outside().join(side)).to_vec();
    for side in &sides {
        skeleton(&side.join("w/.git"));
        fs::create_dir(side.join("w/.git/hooks")).expect("a directory");
        fs::write(side.join("w/.git/config"), "[core]\n").expect("a file");
    }
    bed.give();
    let way = bed.outside().join("way");
    symlink(&sides[0], &way).expect("a link");
    let before: Vec<_> = sides.iter().map(|s| snapshot(&s.join("w/.git/hooks"))).collect();
    thread::scope(|scope| {
        let runs = scope.spawn(|| {
            for _ in 0..12 {
                let mut command = bed.run(tier, &["--quiet"]);
                command.args(["sh", "-c", "echo x > .git/hooks/pre-commit; true"]).current_dir(way.join("w"));
                let output = command.output().expect("pinfold can be started");
                is_orderly(&output);
            }
        });
        let mut turn = 0;
        while !runs.is_finished() {
            turn += 1;
            let next = bed.outside().join("next");
            symlink(&sides[turn % 2], &next)
                .and_then(|()| fs::rename(&next, &way))
                .expect("the link is swapped");
        }
    });
    let after: Vec<_> = sides.iter().map(|s| snapshot(&s.join("w/.git/hooks"))).collect();
    assert_eq!(after, before, "{tier}, {}", bed.who());
}

#[each(user, tier)]
fn large_and_deep_folders_start(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    for n in 0..20_000 {
        fs::File::create(bed.folder().join(format!("f{n}"))).expect("a file");
    }
    let deep = (0..300).fold(bed.folder(), |at, _| at.join("d"));
    fs::create_dir_all(deep).expect("directories");
    held(bed, tier, "large and deep", |c| c.current_dir(bed.folder()));
}

#[each(user, tier)]
fn commands_that_cannot_be_started_say_so(who: Who, tier: Tier) {
    let bed = &Bed::new(who);
    let long: OsString = "x".repeat(5_000).into();
    for (program, code) in
        [(OsStr::new(""), 127), (OsStr::new("/etc"), 126), (OsStr::new("no-such"), 127), (&long, 126)]
    {
        let output = bed.run(tier, &[]).arg(program).output().expect("pinfold can be started");
        assert_eq!(output.status.code(), Some(code), "{tier}: {}", describe(&output));
    }
}

/// A run that the supervisor only watches makes placeholders, and the next run need not be such.
#[each(user)]
fn what_a_killed_run_that_was_watched_left_goes_with_the_next_one_of_any_kind(who: Who) {
    let bed = &Bed::new(who);
    let git = bed.free("git").args(["init", "-q"]).status().expect("git");
    assert!(git.success());
    let before = snapshot(&bed.folder());
    let mark = unique_sleep();
    let names = [".claude", ".envrc", ".mcp.json"];
    let mut child = bed
        .run(Tier::Full, &["--quiet", "--allow-feature", "user-namespaces"])
        .args(["sleep", &mark])
        .spawn()
        .expect("pinfold can be started");
    until("the command runs", || with_word(&mark).len() > 1);
    signal(&child, "KILL");
    child.wait().expect("it is a child");
    until("nothing of the killed run lives", || with_word(&mark).is_empty());
    let is_there = |name: &str| bed.folder().join(name).exists();
    assert!(names.iter().all(|name| is_there(name)), "{who}: there is nothing to be taken away");
    // One of them is used by a program of the user since.
    let used = bed.folder().join(".vscode");
    fs::write(used.join("settings.json"), "{}").expect("the directory is there");
    let output = bed.sh(Tier::Full, "true");
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    assert_eq!(fs::metadata(&used).expect("it stays").permissions().mode() & 0o7777, 0o755);
    fs::remove_file(used.join("settings.json")).expect("it stays");
    fs::remove_dir(used).expect("nothing else is in it");
    assert_eq!(snapshot(&bed.folder()), before, "{who}");
}
