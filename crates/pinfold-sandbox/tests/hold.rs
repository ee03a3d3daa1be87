//! Calls that are held: they wait while others go on, are answered once, and only as they were read.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use crate::kit::{Bed, TIERS};
use pinfold_sandbox::{
    Attempt, FileOperation, Opening, PendingSyscall, Profile, Reply, SyscallHandler, Tier,
};

/// Holds what lies outside the folder and hands it to another thread.
struct Holder<'a> {
    bed: &'a Bed,
    to: Sender<PendingSyscall>,
    held: usize,
    not_held: usize,
}

impl SyscallHandler for Holder<'_> {
    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        if attempt.place.starts_with(&self.bed.outside) { Reply::Hold } else { Reply::Continue }
    }

    fn hold(&mut self, held: PendingSyscall) {
        self.held += 1;
        self.to.send(held).unwrap();
    }

    fn not_held(&mut self, _: &Attempt) -> Reply {
        self.not_held += 1;
        Reply::LeaveToSandbox
    }
}

/// Runs a script whose calls outside are answered by `answer` on a thread of its own.
fn run(
    bed: &Bed,
    tier: Tier,
    script: &str,
    answer: impl FnMut(PendingSyscall) + Send,
) -> (String, usize, usize) {
    run_in(bed, tier, &bed.profile().with_negotiable(true), script, answer)
}

fn run_in(
    bed: &Bed,
    tier: Tier,
    profile: &Profile,
    script: &str,
    mut answer: impl FnMut(PendingSyscall) + Send,
) -> (String, usize, usize) {
    let (to, from) = channel::<PendingSyscall>();
    let mut holder = Holder { bed, to, held: 0, not_held: 0 };
    thread::scope(|scope| {
        scope.spawn(move || from.into_iter().for_each(&mut answer));
        let (_, said) = bed.run_watched(tier, profile, script, &mut holder);
        // With it goes the sender, and with that the thread.
        let Holder { held, not_held, to, .. } = holder;
        drop(to);
        (said, held, not_held)
    })
}

/// Opens as it was said. Careless about links: what is tested here is how calls wait.
fn open(held: &PendingSyscall) -> File {
    let FileOperation::Open(how) = &held.call().operation else { unreachable!("{:?}", held.call()) };
    let Opening { at, read, write, append, truncate, create, exclusive, .. } = how.clone();
    let mut options = OpenOptions::new();
    options.read(read).write(write).append(append).truncate(truncate && !append);
    if let Some(mode) = create {
        options.create(true).create_new(exclusive).mode(mode);
    }
    options.open(at).unwrap()
}

fn hand_over(held: PendingSyscall) {
    let file = held.as_caller(|| open(&held)).unwrap();
    held.hand_over(file.as_fd()).unwrap();
}

#[test]
fn a_held_call_is_refused_done_or_goes_on() {
    for tier in TIERS {
        let bed = Bed::new();
        let script = "echo x > $OUT/a; mkdir $OUT/b && echo made; echo x > $OUT/c; echo x > $OUT/d";
        let (said, held, _) = run(&bed, tier, script, |held| match held.call().places[0].file_name() {
            Some(name) if name == "a" => held.refuse(libc_errno::EDQUOT),
            Some(name) if name == "b" => held.done(),
            Some(name) if name == "c" => drop(held),
            _ => held.go_on(),
        });
        assert_eq!(held, 4, "{tier}: {said}");
        assert!(said.contains("a: Disk quota exceeded") && said.contains("made\n"), "{tier}: {said}");
        assert!(said.contains("c: Permission denied"), "{tier}: {said}");
        // The sandbox refused it.
        assert!(said.lines().last().unwrap().contains("d: "), "{tier}: {said}");
        assert_eq!(fs::read_dir(&bed.outside).unwrap().count(), 0);
    }
}

/// Error numbers that the tests compare.
mod libc_errno {
    pub(crate) const EDQUOT: i32 = 122;
}

#[test]
fn a_descriptor_is_handed_over_as_it_was_asked_for() {
    for tier in TIERS {
        let bed = Bed::new();
        fs::write(bed.outside.join("log"), "one\n").unwrap();
        // The shell appends; perl asks for close-on-exec and for none, and looks at the flags of what it got.
        let script = r#"
            umask 027; echo two >> $OUT/log; echo new > $OUT/new; cat $OUT/log
            perl -MFcntl -e '
                for my $flags (O_WRONLY|O_CREAT, O_WRONLY|O_CREAT|02000000) {
                    sysopen(my $file, "$ENV{OUT}/flags", $flags) or die "$!";
                    # perl sets its own flag on what it opens: ask the kernel for a raw one.
                    my $fd = syscall(257, -100, "$ENV{OUT}/flags\0", $flags, 0);
                    open(my $info, "<", "/proc/self/fdinfo/$fd") or die "$!";
                    print grep /flags/, <$info>;
                }'
        "#;
        let (said, held, _) = run(&bed, tier, script, hand_over);
        assert!(said.starts_with("one\ntwo\n"), "{tier}: {said}");
        assert!(held >= 4, "{tier}: {said}");
        let flags: Vec<bool> =
            said.lines().filter(|line| line.starts_with("flags")).map(|l| l.contains('2')).collect();
        assert_eq!(flags, [false, true], "{tier}: {said}");
        assert_eq!(fs::metadata(bed.outside.join("new")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(bed.outside.join("new")).unwrap(), "new\n");
    }
}

#[test]
fn while_one_waits_others_go_on() {
    for tier in TIERS {
        let bed = Bed::new();
        let script =
            "echo x > $OUT/waits & for i in 1 2 3 4 5; do echo $i > $i; mkdir d$i; done; echo go > go; wait";
        let go = bed.folder.join("go");
        let (said, held, _) = run(&bed, tier, script, |held| {
            // What was asked after it is done before it is answered.
            let waited = (0..500).any(|_| {
                thread::sleep(Duration::from_millis(10));
                go.exists()
            });
            assert!(waited && held.is_waiting());
            hand_over(held);
        });
        assert_eq!((held, said.as_str()), (1, ""), "{tier}");
        assert_eq!(fs::read_to_string(bed.outside.join("waits")).unwrap(), "x\n");
    }
}

#[test]
fn a_signal_does_not_start_a_waiting_call_again() {
    for tier in TIERS {
        let bed = Bed::new();
        // A timer that goes off every ten milliseconds while the call waits. Before the supervisor has taken a call up it
        // is interrupted like any other.
        let script = r#"perl -MTime::HiRes=setitimer,ITIMER_REAL -e '
            $SIG{ALRM} = sub { $n++ }; setitimer(ITIMER_REAL, 0.01, 0.01);
            until (mkdir("$ENV{OUT}/d")) { die "mkdir: $!" unless $!{EINTR} } print "once\n"; print "rang\n" if $n;'"#;
        let (said, held, _) = run(&bed, tier, script, |held| {
            thread::sleep(Duration::from_millis(300));
            assert!(held.is_waiting());
            held.done();
        });
        assert_eq!(held, 1, "{tier}: {said}");
        assert!(said.starts_with("once\nrang\n"), "{tier}: {said}");
    }
}

#[test]
fn for_a_caller_that_is_gone_nothing_need_be_done() {
    for tier in TIERS {
        let bed = Bed::new();
        let script = "(echo x > $OUT/late) & sleep 0.3; kill -9 $!; wait; echo over";
        let (said, held, _) = run(&bed, tier, script, |held| {
            assert!(held.is_waiting(), "the control");
            thread::sleep(Duration::from_millis(1200));
            assert!(!held.is_waiting());
            // Answers go nowhere and harm nobody.
            held.done();
        });
        assert_eq!(held, 1, "{tier}: {said}");
        assert!(said.ends_with("over\n"), "{tier}: {said}");
    }
}

#[test]
fn what_was_read_is_what_is_held_whatever_the_memory_says_later() {
    for tier in TIERS {
        let bed = Bed::new();
        fs::write(bed.folder.join("swap.c"), SWAP).unwrap();
        let script = "TMPDIR=. cc -O1 -pthread swap.c -o swap 2>&1 && ./swap $OUT/a $OUT/b";
        let mut asked = Vec::new();
        let (said, held, _) = run(&bed, tier, script, |held| {
            // Long enough for the other thread to write the other name many times.
            thread::sleep(Duration::from_millis(20));
            asked.push(held.call().places[0].clone());
            let FileOperation::Open(how) = &held.call().operation else { unreachable!() };
            // What was told and what is to be done are one and the same.
            assert_eq!(how.at, held.call().places[0]);
            fs::write(&how.at, "").unwrap();
            let file = open(&held);
            held.hand_over(file.as_fd()).unwrap();
        });
        assert!(held > 0, "{tier}: {said}");
        let made: std::collections::BTreeSet<_> =
            fs::read_dir(&bed.outside).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(made, asked.into_iter().collect(), "{tier}: {said}");
    }
}

/// Opens one name again and again while another thread writes the other name over it.
const SWAP: &str = r"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char path[4096]; static char *a, *b; static volatile int over;
static void *swap(void *unused) {
    while (!over) { strcpy(path, b); strcpy(path, a); }
    return 0;
}
int main(int argc, char **argv) {
    a = argv[1]; b = argv[2]; strcpy(path, a);
    pthread_t thread; pthread_create(&thread, 0, swap, 0);
    for (int i = 0; i < 20; i++) { int fd = open(path, O_WRONLY | O_CREAT, 0600); if (fd >= 0) close(fd); }
    over = 1; pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn the_time_of_whoever_decides_is_not_the_commands() {
    let bed = Bed::new();
    let mut profile = bed.profile().with_negotiable(true);
    profile.limits.wall_time = Some(Duration::from_millis(900));
    let script = "mkdir $OUT/d; echo decided; sleep 5; echo late";
    let (said, ..) = run_in(&bed, Tier::Full, &profile, script, |held| {
        thread::sleep(Duration::from_millis(1500));
        held.done();
    });
    assert_eq!(said, "decided\n");
}

#[test]
fn only_so_many_wait_at_a_time() {
    let bed = Bed::new();
    let script =
        "i=0; while [ $i -lt 300 ]; do (echo x > $OUT/$i) 2>/dev/null & i=$((i+1)); done; sleep 2; wait";
    let mut first = true;
    let (_, held, not_held) = run(&bed, Tier::Full, script, |held| {
        if std::mem::take(&mut first) {
            thread::sleep(Duration::from_millis(1500));
        }
        held.done();
    });
    assert_eq!(held + not_held, 300);
    assert!(held >= 256 && not_held > 0, "{held} {not_held}");
}

#[test]
fn a_caller_that_sees_other_files_is_not_held() {
    let bed = Bed::new();
    let mut profile = bed.profile().with_negotiable(true);
    profile.openings.user_namespaces = true;
    let script = "unshare -U -m --propagation unchanged sh -c 'echo x > $OUT/a'; echo x > $OUT/b";
    let (said, held, not_held) = run_in(&bed, Tier::Full, &profile, script, |held| {
        assert!(held.call().places[0].ends_with("b"));
        drop(held);
    });
    assert_eq!((held, not_held), (1, 1), "{said}");
}

#[test]
fn the_callers_view_of_a_place_is_compared_with_ours() {
    for tier in TIERS {
        let bed = Bed::new();
        fs::create_dir(bed.outside.join("covered")).unwrap();
        fs::write(bed.outside.join("key"), "key").unwrap();
        let mut profile = bed.profile().with_negotiable(true);
        profile.covered = vec![bed.outside.join("covered")];
        profile.hidden = vec![bed.outside.join("key")];
        let script = "echo x > $OUT/plain; echo x > $OUT/covered/x; echo x > $OUT/key; true";
        let mut seen = Vec::new();
        run_in(&bed, tier, &profile, script, |held| {
            let place = &held.call().places[0];
            seen.push((place.strip_prefix(&bed.outside).unwrap().to_owned(), held.sees(place)));
            drop(held);
        });
        let other = tier == Tier::Landlock;
        let expected = [("plain", true), ("covered/x", other), ("key", other)];
        assert_eq!(seen, expected.map(|(name, same)| (name.into(), same)), "{tier}");
    }
}

#[test]
fn the_caller_is_told_with_its_words() {
    let bed = Bed::new();
    let script = "umask 077; exec perl -e 'mkdir \"$ENV{OUT}/d\"' 'one\ttwo' three";
    let mut caller = None;
    run(&bed, Tier::Full, script, |held| caller = Some(held.call().caller.clone()));
    let caller = caller.expect("a call was held");
    assert_eq!((caller.program.to_str(), caller.umask), (Some("perl"), 0o077));
    assert_eq!(caller.command_line.last().unwrap(), "three");
    assert_eq!(caller.command_line[3], "one\ttwo");
}

/// An operation is done with the rights of its caller: root outside is no more than root inside, which has no capability.
#[test]
fn nothing_is_done_with_more_rights_than_the_caller_has() {
    let bed = Bed::new();
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let shut = bed.outside.join("shut");
    fs::create_dir(&shut).unwrap();
    fs::set_permissions(&shut, std::os::unix::fs::PermissionsExt::from_mode(0o500)).unwrap();
    if root {
        std::os::unix::fs::chown(&shut, Some(60_001), Some(60_001)).unwrap();
    }
    let mut results = Vec::new();
    run(&bed, Tier::Full, "mkdir $OUT/shut/d; true", |held| {
        results.push(held.as_caller(|| fs::create_dir(shut.join("d")).is_ok()).unwrap());
        // The control: this process may, if it is root.
        results.push(fs::create_dir(shut.join("e")).is_ok());
    });
    assert_eq!(results, [false, root]);
}
