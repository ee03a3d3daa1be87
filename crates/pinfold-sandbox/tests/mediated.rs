//! Calls that the supervisor carries out, or answers by itself.

#![expect(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::kit::{Bed, TIERS};
use pinfold_sandbox::{
    Attempt, CompletedSyscall, Detail, Intent, Mediation, Reply, SyscallHandler, Tier, Turn, Turns,
    is_being_written,
};

/// Carries out what lies in the folder, and remembers what else would change something.
struct Judge<'a> {
    bed: &'a Bed,
    outside: Vec<Attempt>,
}

impl SyscallHandler for Judge<'_> {
    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        if matches!(attempt.intent, Intent::Read | Intent::Access | Intent::Lock) {
            return Reply::Continue;
        }
        if attempt.place.starts_with(&self.bed.folder) {
            return Reply::CarryOut;
        }
        if attempt.place.starts_with(&self.bed.outside) {
            self.outside.push(attempt.clone());
        }
        Reply::Refuse
    }
}

fn run(bed: &Bed, tier: Tier, script: &str) -> (String, Vec<Attempt>) {
    let profile = bed.profile().with_mediated(Some(Mediation { own: Vec::new() }));
    let mut judge = Judge { bed, outside: Vec::new() };
    let (_, said) = bed.run_watched(tier, &profile, script, &mut judge);
    (said, judge.outside)
}

#[test]
fn a_name_that_is_there_is_told_as_there_and_nobody_is_asked() {
    for tier in TIERS {
        let bed = Bed::new();
        fs::create_dir_all(bed.outside.join("d/e")).unwrap();
        fs::write(bed.outside.join("f"), "").unwrap();
        fs::write(bed.folder.join("here"), "").unwrap();
        let tried = r#"
            mkdir -p $OUT/d/e && mkdir -p $OUT && echo made
            mkdir $OUT/d; mkfifo $OUT/f; ln -s x $OUT/f; ln here $OUT/f
            perl -MFcntl -e 'sysopen(F, "$ENV{OUT}/f", O_CREAT|O_EXCL|O_WRONLY) or print "open: $!\n"'
            perl -e '@c = (-100, "here\0", -100, "$ENV{OUT}/f\0", 1); syscall(316, @c) == -1 and print "rename: $!\n"'"#;
        let (said, outside) = run(&bed, tier, tried);
        let there = said.lines().filter(|line| line.ends_with("File exists")).count();
        let expected = if cfg!(target_arch = "x86_64") { 6 } else { 5 };
        assert!(said.starts_with("made\n") && there >= expected, "{tier}: {said}");
        assert_eq!(outside, [], "{tier}");
        let (said, outside) =
            run(&bed, tier, "rm $OUT/none; rmdir $OUT/none; rm -f $OUT/none && echo removed");
        assert_eq!(said.matches("No such file").count(), 2, "{tier}: {said}");
        assert!(said.contains("removed") && outside.is_empty(), "{tier}: {said} {outside:?}");
        // The control: what is not there is an attempt.
        let (said, outside) = run(&bed, tier, "mkdir $OUT/new; ln here $OUT/new; ln none $OUT/f");
        let made = outside.iter().filter(|attempt| attempt.place.ends_with("new")).count();
        assert_eq!(made, 2, "{tier}: {said}");
        assert!(said.contains("No such file"), "{tier}: what has no first name has no second one: {said}");
    }
}

/// Says of files that are opened in many ways what their descriptors have set, and what became of them.
const OPENED: &str = r#"
    umask 027
    ln -s target dangling; ln -s kept to-kept; echo old > kept; mkdir d
    perl -MFcntl -e '
        for (["new", O_WRONLY], ["append", O_WRONLY|O_APPEND], ["nonblock", O_RDWR|O_NONBLOCK], ["excl", O_RDWR|O_EXCL],
             ["excl-nonblock", O_WRONLY|O_EXCL|O_NONBLOCK], ["cut", O_WRONLY|O_TRUNC], ["read", O_RDONLY], ["dangling", O_WRONLY],
             ["dangling", O_WRONLY|O_EXCL], ["to-kept", O_WRONLY], ["kept", O_WRONLY|O_EXCL], ["kept", O_WRONLY|O_TRUNC],
             ["d", O_WRONLY], ["d/new/", O_WRONLY], ["none/new", O_WRONLY]) {
            my ($name, $flags) = @$_;
            sysopen(my $f, $name, $flags|O_CREAT, 0666) or do { print "$name: $!\n"; next };
            printf "%s: %o, %d links\n", $name, fcntl($f, F_GETFL, 0) & (O_ACCMODE|O_APPEND|O_NONBLOCK), (stat $f)[3];
        }'
    stat -c '%A %s %N' *; ls -A d
"#;

#[test]
fn a_file_is_opened_and_made_as_it_is_outside() {
    for tier in TIERS {
        let (bed, free) = (Bed::new(), Bed::new());
        let (said, _) = run(&bed, tier, OPENED);
        let outside = Command::new("sh").args(["-c", OPENED]).current_dir(&free.folder).output().expect("sh");
        let expected = String::from_utf8_lossy(&outside.stdout).into_owned();
        assert!(expected.contains("append: 2001, 1 links"), "the control: {expected}");
        assert_eq!(said, expected, "{tier}");
    }
}

/// Locks that are had at once, waited for, given up after a while, and asked for while a signal comes.
const LOCKS: &str = r#"
    echo > f
    holds() { flock f sleep 1 & until ! flock -n f true; do sleep 0.01; done; }
    holds; flock -n f true; echo "at once: $?"
    flock -w 0.1 f true; echo "soon: $?"
    timeout 0.1 flock f true; echo "ended: $?"
    flock f echo waited; wait
    flock f sh -c 'flock -n f true || echo held; exec 9<f; flock -n 9 || echo held by descriptor'
    sh -c 'flock -n 9 && flock -n f true || echo shared with those that have the descriptor' 9<f
    for flags in 0 SA_RESTART; do
        holds; perl -MPOSIX -MFcntl=:flock -e '
            sigaction(SIGALRM, POSIX::SigAction->new(sub {}, POSIX::SigSet->new, '$flags'));
            open(F, "<", "f"); alarm(1); select(undef, undef, undef, 0.2);
            print flock(F, LOCK_EX) ? "locked\n" : "$!\n"'; wait
    done
    perl -MFcntl=:flock -e 'open(F, "<", "f"); $SIG{ALRM} = sub {}; open(G, "<", "f"); flock(G, LOCK_EX); alarm(1);
        print flock(F, LOCK_EX) ? "locked\n" : "$!\n"; flock(G, LOCK_SH); print flock(F, LOCK_EX | LOCK_NB) ? "locked\n" : "$!\n";
        flock(G, LOCK_UN); print flock(F, LOCK_EX) ? "locked\n" : "$!\n"; open(D, "<", "."); print flock(D, LOCK_EX) ? "locked\n" : "$!\n"'
"#;

#[test]
fn a_lock_is_had_waited_for_and_interrupted_as_it_is_outside() {
    let free = Bed::new();
    let outside = Command::new("sh").args(["-c", LOCKS]).current_dir(&free.folder).output().expect("sh");
    let expected = String::from_utf8_lossy(&outside.stdout).into_owned();
    assert!(expected.contains("waited") && expected.contains("Interrupted"), "the control: {expected}");
    for tier in TIERS {
        assert_eq!(run(&Bed::new(), tier, LOCKS).0, expected, "{tier}");
    }
}

/// Every way to a set-id bit.
const SET_ID: &str = r#"
    umask 022
    perl -MFcntl -e '
        sysopen(F, "opened", O_CREAT|O_WRONLY, 06755) or die "open: $!"; print F "x\n";
        chmod(04755, *F) or print "fchmod: $!\n";
        chmod(02755, "opened") or print "chmod: $!\n";
        if ($ARGV[0] eq "x86_64") {
            # Perl hands over no constants.
            sub call { my ($number, @rest) = @_; syscall($number, @rest) }
            call(133, "node\0", 0106755, 0); call(85, "created\0", 04755);
            call(437, -100, "how\0", pack("QQQ", O_CREAT|O_WRONLY, 06755, 0), 24);
            my $fd = call(257, -100, ".\0", 020200000|O_WRONLY, 04755);
            call(265, -100, "/proc/self/fd/$fd\0", -100, "unnamed\0", 0x400);
            call(452, -100, "opened\0", 06755, 0) == -1 and print "fchmodat2: $!\n";
        }' "$(uname -m)"
    chmod u+s opened; mkdir d && chmod g+s d; cp -p /bin/true t && chmod 711 t"#;

#[test]
fn no_file_gets_a_set_id_bit_and_a_directory_keeps_its_own() {
    for tier in TIERS {
        let bed = Bed::new();
        let (said, _) = run(&bed, tier, SET_ID);
        let mode = |name: &str| fs::metadata(bed.folder.join(name)).unwrap().permissions().mode() & 0o7777;
        let mut names = vec!["opened"];
        if cfg!(target_arch = "x86_64") {
            names.extend(["node", "created", "how", "unnamed"]);
        }
        for name in names {
            assert_eq!(mode(name), 0o755, "{tier} {name}: {said}");
        }
        assert_eq!((mode("d") & 0o2000, mode("t")), (0o2000, 0o711), "{tier}: {said}");
        assert!(said.contains("chmod: Operation not permitted"), "{tier}: {said}");
    }
    // The control.
    let bed = Bed::new();
    let free = Command::new("sh").args(["-c", SET_ID]).current_dir(&bed.folder).output().expect("a shell");
    let mode = fs::metadata(bed.folder.join("opened")).unwrap().permissions().mode();
    assert_eq!(mode & 0o4000, 0o4000, "{free:?}");
}

#[test]
fn no_file_gets_a_capability() {
    for tier in TIERS {
        let bed = Bed::new();
        let script = r#"cp /bin/true t
            perl -e '@c = ("t\0", "security.capability\0", pack("LLLLL", 0x02000001, 1 << 7, 0, 0, 0), 20, 0);
                syscall(188, @c) == -1 and print "refused: $!\n"'"#;
        let (said, _) = run(&bed, tier, script);
        assert!(!cfg!(target_arch = "x86_64") || said.starts_with("refused: "), "{tier}: {said}");
    }
}

/// Lets no link become `kept`, and takes its time to look.
struct Slow {
    turns: Option<Turns>,
    /// How often one has, for all that.
    wrong: usize,
}

fn is_link(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink())
}

impl SyscallHandler for Slow {
    fn turn(&mut self, attempts: &[Attempt]) -> io::Result<Option<Turn>> {
        let renames = attempts.iter().any(|attempt| attempt.intent == Intent::MoveTo);
        self.turns.as_mut().filter(|_| renames).map(Turns::take).transpose()
    }

    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        match (attempt.intent, &attempt.detail) {
            (Intent::Read | Intent::Access | Intent::Lock, _) => Reply::Continue,
            (Intent::MoveTo, Detail::From(from)) if attempt.place.ends_with("kept") => {
                let refused = is_link(from);
                thread::sleep(Duration::from_millis(5));
                if refused { Reply::Refuse } else { Reply::CarryOut }
            }
            _ => Reply::CarryOut,
        }
    }

    fn carried_out(&mut self, done: &CompletedSyscall) {
        let arrived = done.attempt.intent == Intent::MoveTo && done.attempt.place.ends_with("kept");
        self.wrong += usize::from(arrived && is_link(&done.attempt.place));
    }
}

/// What became `kept` while another run, with a supervisor of its own, exchanges what is moved there.
fn wrong_beside_another(tier: Tier, turns: impl Fn(&Bed) -> Option<Turns> + Sync) -> usize {
    const SWAPS: &str = r#"perl -e 'until (-e "stop") {
        symlink("/etc/passwd", "l"); open(F, ">", "r"); close(F); rename("l", "src"); rename("r", "src") }'"#;
    const MOVES: &str = r#"perl -e 'for (1 .. 60) { rename("src", "kept"); unlink("kept") }'; echo > stop"#;
    let bed = Bed::new();
    let profile = bed.profile().with_mediated(Some(Mediation { own: Vec::new() }));
    let run = |script| {
        let mut slow = Slow { turns: turns(&bed), wrong: 0 };
        bed.run_watched(tier, &profile, script, &mut slow);
        slow.wrong
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| run(SWAPS));
        let wrong = run(MOVES);
        other.join().expect("the other run");
        wrong
    })
}

#[test]
fn what_was_judged_is_what_is_moved_whatever_another_run_does_beside() {
    for tier in TIERS {
        let turns = |bed: &Bed| Some(Turns::open(&bed.outside.join("turn")).unwrap());
        assert_eq!(wrong_beside_another(tier, turns), 0, "{tier}");
        // The control.
        assert_ne!(wrong_beside_another(tier, |_| None), 0, "{tier}");
    }
}

/// Lets no `x` be made in `held`, nor a directory with one in it become `held`, and takes its time to look.
struct SlowNames {
    turns: Option<Turns>,
}

impl SyscallHandler for SlowNames {
    fn turn(&mut self, attempts: &[Attempt]) -> io::Result<Option<Turn>> {
        let Some(turns) = &mut self.turns else { return Ok(None) };
        let moves = attempts.iter().any(|attempt| attempt.intent == Intent::MoveTo);
        if moves { turns.take().map(Some) } else { turns.share().map(Some) }
    }

    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        let place = attempt.place.as_path();
        let refused = match (attempt.intent, &attempt.detail) {
            (Intent::Read | Intent::Access | Intent::Lock, _) => return Reply::Continue,
            (Intent::Create, _) if place.ends_with("x") => {
                thread::sleep(Duration::from_millis(1));
                place.ends_with("held/x")
            }
            (Intent::MoveTo, Detail::From(from)) => place.ends_with("held") && from.join("x").exists(),
            _ => false,
        };
        if refused { Reply::Refuse } else { Reply::CarryOut }
    }
}

/// Returns how often a directory became `held`, and how often an `x` was in it, while another run makes that under the name from before.
fn held_names_beside_another(tier: Tier, turns: impl Fn(&Bed) -> Option<Turns> + Sync) -> (usize, usize) {
    const MAKES: &str = r#"perl -e 'until (-e "stop") { open(F, ">", "d/x") and close(F); unlink("d/x") }'"#;
    // Of few that are moved none may go wrong by chance: it goes on until some have been, most of the time beside an `x` that forbids it.
    const MOVES: &str = r#"mkdir d; perl -e '$end = time + 30; until ($moved == 60 or time > $end) {
        rename("d", "held") or next; $moved++; print "moved\n"; select(undef, undef, undef, 0.003);
        -e "held/x" and print "wrong\n"; unlink("held/x"); rename("held", "d") }'; echo > stop"#;
    let bed = Bed::new();
    let profile = bed.profile().with_mediated(Some(Mediation { own: Vec::new() }));
    let run = |script| bed.run_watched(tier, &profile, script, &mut SlowNames { turns: turns(&bed) }).1;
    thread::scope(|scope| {
        let other = scope.spawn(|| run(MAKES));
        let said = run(MOVES);
        other.join().expect("the other run");
        (said.matches("moved").count(), said.matches("wrong").count())
    })
}

#[test]
fn a_name_is_made_where_it_was_judged_whatever_another_run_moves_beside() {
    for tier in TIERS {
        let turns = |bed: &Bed| Some(Turns::open(&bed.outside.join("turn")).unwrap());
        let (moved, wrong) = held_names_beside_another(tier, turns);
        assert!(moved > 10 && wrong == 0, "{tier}: {wrong} of {moved}");
        // The control.
        let (moved, wrong) = held_names_beside_another(tier, |_| None);
        assert!(wrong > 0, "{tier}: none of {moved}");
    }
}

#[test]
fn between_what_a_run_writes_by_itself_and_the_folder_nothing_is_moved() {
    struct Far;
    impl SyscallHandler for Far {
        fn attempt(&mut self, attempt: &Attempt) -> Reply {
            let is_arrival = attempt.intent == Intent::MoveTo && attempt.place.ends_with("new");
            if is_arrival { Reply::CrossDevice } else { Reply::CarryOut }
        }
    }
    for tier in TIERS {
        let bed = Bed::new();
        let profile = bed.profile().with_mediated(Some(Mediation { own: Vec::new() }));
        let script = "echo text > old; ln old new; perl -e 'rename(\"old\", \"new\") or print \"rename: $!\n\"'; mv old new; cat new";
        let (_, said) = bed.run_watched(tier, &profile, script, &mut Far);
        let apart = said.lines().filter(|line| line.ends_with("cross-device link")).count();
        assert!(apart == 2 && said.ends_with("text\n"), "{tier}: programs copy: {said}");
    }
}

#[test]
fn what_is_put_in_place_of_a_renamed_file_is_what_was_looked_at_with_mode_and_time_of_the_file() {
    /// Lets `lock` become `name`, with a content of its own.
    struct Put;
    impl SyscallHandler for Put {
        fn attempt(&mut self, attempt: &Attempt) -> Reply {
            let is_written = attempt.place.file_name().is_some_and(is_being_written);
            if is_written { Reply::Refuse } else { Reply::CarryOut }
        }
        fn content_for(&mut self, attempts: &[Attempt]) -> Option<Vec<u8>> {
            let to = attempts.iter().find(|attempt| attempt.intent == Intent::MoveTo)?;
            to.place.ends_with("name").then(|| b"looked at".to_vec())
        }
    }
    for tier in TIERS {
        let bed = Bed::new();
        let profile = bed.profile().with_mediated(Some(Mediation { own: Vec::new() }));
        let script = r#"
            umask 077; exec 3>lock; echo first >&3; chmod 664 lock; touch -d '2001-02-03 04:05:06.789' lock
            perl -e 'rename("lock", "name") or print "rename: $!\n"'
            echo later >&3; cat name; stat -c ' %a %.9Y' name; ls"#;
        let (_, said) = bed.run_watched(tier, &profile, script, &mut Put);
        let expected = Command::new("date").args(["-d", "2001-02-03 04:05:06", "+%s"]).output().unwrap();
        let seconds = String::from_utf8(expected.stdout).unwrap();
        assert_eq!(said, format!("looked at 664 {}.789000000\nname\n", seconds.trim()), "{tier}");
    }
}

#[test]
fn an_open_that_waits_makes_nothing_when_what_it_waits_for_is_gone() {
    for tier in TIERS {
        let bed = Bed::new();
        let script = r#"
            perl -MFcntl -MPOSIX -e '
                POSIX::mkfifo("pipe", 0600);
                unless (fork) { sysopen(F, "pipe", O_WRONLY|O_CREAT) or print "open: $!\n"; exit }
                select(undef, undef, undef, 0.3); unlink "pipe"; wait; print -e "pipe" ? "made\n" : "gone\n"'
            perl -MFcntl -MPOSIX -e '
                POSIX::mkfifo("pipe", 0600);
                unless (fork) { sysopen(F, "pipe", O_WRONLY|O_CREAT) and print "opened\n"; exit }
                select(undef, undef, undef, 0.3); sysopen(F, "pipe", O_RDONLY); wait'"#;
        let (said, _) = run(&bed, tier, script);
        assert_eq!(said, "open: No such file or directory\ngone\nopened\n", "{tier}");
    }
}

/// Says how each call ends that names something with a slash behind it.
const SLASHES: &str = r#"
    rm -rf *; mkdir d e full; touch f full/x; ln -s f l; ln -s d ld; ln -s none dangling
    perl -MFcntl -MPOSIX -e '
        sub shown { print "$_[0]: ", $_[1] ? "done" : $!, "\n" }
        shown("mkdir", mkdir "new/"); shown("mkdir a link", mkdir "ld/"); shown("rmdir", rmdir "new/");
        shown("rmdir a link", rmdir "ld/"); shown("unlink a file", unlink "f/"); shown("unlink a link", unlink "l/");
        shown("rename", rename "d/", "m/"); shown("rename back", rename "m", "d/"); shown("rename a file", rename "f", "g/");
        shown("rename a file from", rename "f/", "g"); shown("onto", rename "d/", "e/"); mkdir "d";
        shown("symlink", symlink "x", "s/"); shown("link", link "f", "h/"); shown("mkfifo", POSIX::mkfifo("p/", 0600));
        shown("open", sysopen(F, "f/", O_WRONLY)); shown("make", sysopen(F, "n/", O_WRONLY|O_CREAT));
        shown("make anew", sysopen(F, "n/", O_WRONLY|O_CREAT|O_EXCL)); shown("missing", sysopen(F, "n/", O_WRONLY));
        shown("dangling", sysopen(F, "dangling/", O_WRONLY|O_CREAT)); shown("truncate", truncate("f/", 0));
        shown("truncate nothing", truncate("n/", 0)); shown("chmod", chmod 0700, "d/"); shown("chmod a file", chmod 0700, "f/");
        shown("chmod by a link", chmod 0711, "ld/"); shown("chmod nothing", chmod 0700, "dangling/")'; ls -l | cut -c1-10; ls"#;

#[test]
fn a_slash_behind_a_name_means_what_it_means_outside() {
    for tier in TIERS {
        let bed = Bed::new();
        let (said, _) = run(&bed, tier, SLASHES);
        let free = Command::new("sh").args(["-c", SLASHES]).current_dir(&bed.folder).output().unwrap();
        assert_eq!(said, String::from_utf8_lossy(&free.stdout), "{tier}");
    }
}
