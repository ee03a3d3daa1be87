//! Attacks on questions of the kernel: whatever a process does between its call and the answer, a yes is for what was
//! shown, and for nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::runs::{Ran, RunBed, TIERS, no, yes};
use pinfold::audit::Ruled;
use pinfold::consent::{Choice, Request, RequestedOperation};
use pinfold_sandbox::Tier;
use rustix::process::{Pid, Signal, kill_process};

/// The place that a request is about in the end.
fn about(request: &Request) -> String {
    let RequestedOperation::Paths { acts } = &request.operation else { panic!("{request:?}") };
    let act = acts.last().unwrap();
    act.real.clone().unwrap_or_else(|| act.path.clone())
}

/// Yes to what lies at this place, no to all else.
fn only(place: &Path) -> impl Fn(&Request) -> Choice + Send + Sync + 'static {
    let place = place.to_str().unwrap().to_owned();
    move |request| if about(request) == place { Choice::Yes } else { Choice::no() }
}

fn listed(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn nobody(ran: &Ran, tier: Tier) {
    assert!(ran.asked.is_empty(), "{tier}: {:?}", ran.acts());
}

/// A thread writes another name over the one that was asked about, again and again.
#[test]
fn a_name_that_changes_after_it_was_read_is_not_what_is_done() {
    for tier in TIERS {
        let bed = RunBed::new();
        fs::write(bed.folder.join("swap.c"), SWAP).unwrap();
        let script = "TMPDIR=. cc -O1 -pthread swap.c -o swap && ./swap $OUT/a $OUT/b";
        let mut tried = Vec::new();
        // Which of the two is read is for chance to say.
        while !tried.iter().any(|acts: &Vec<String>| acts.iter().any(|act| act == "create a")) {
            let ran = bed.run(tier, script, only(&bed.outside.join("a")));
            tried.push(ran.acts());
            assert!(!bed.outside.join("b").exists(), "{tier}: {}", ran.said);
            assert!(tried.len() < 20, "{tier}: {tried:?} {}", ran.said);
        }
        assert!(bed.outside.join("a").exists());
        // The control: free, both are made.
        let free = RunBed::new();
        fs::copy(bed.folder.join("swap"), free.folder.join("swap")).unwrap();
        let swap = || {
            let [a, b] = ["a", "b"].map(|name| free.outside.join(name));
            assert!(Command::new(free.folder.join("swap")).args([a, b]).status().unwrap().success());
            listed(&free.outside)
        };
        assert!((0..200).any(|_| swap().contains("b")), "the other name never won");
    }
}

/// Opens one name again and again while another thread writes the other name over it.
const SWAP: &str = r"
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static char path[4096]; static char *a, *b; static volatile int over;
static void *swap(void *unused) { while (!over) { strcpy(path, b); strcpy(path, a); } return 0; }
int main(int argc, char **argv) {
    a = argv[1]; b = argv[2]; strcpy(path, a);
    pthread_t thread; pthread_create(&thread, 0, swap, 0);
    for (int i = 0; i < 50; i++) {
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        if (fd >= 0) { write(fd, path, strlen(path)); close(fd); }
    }
    over = 1; pthread_join(thread, 0);
    return 0;
}
";

/// Somebody puts a link in the place of the folder, or of the file, while the person thinks.
#[test]
fn a_link_that_comes_while_somebody_thinks_is_not_followed() {
    for tier in TIERS {
        for swap_the_file in [false, true] {
            let bed = RunBed::new();
            fs::create_dir(bed.outside.join("d")).unwrap();
            fs::write(bed.home.join("f"), "precious").unwrap();
            let (d, home) = (bed.outside.join("d"), bed.home.clone());
            let only = only(&d.join("f"));
            let ran = bed.run(tier, "echo x > $OUT/d/f", move |request| {
                if swap_the_file {
                    let _ = symlink(home.join("f"), d.join("f"));
                } else if !d.is_symlink() {
                    fs::rename(&d, d.with_file_name("aside")).unwrap();
                    symlink(&home, &d).unwrap();
                }
                only(request)
            });
            assert_eq!(fs::read_to_string(bed.home.join("f")).unwrap(), "precious", "{tier}");
            assert!(ran.said.contains("Permission denied"), "{tier}: {}", ran.said);
            assert!(!bed.outside.join("aside/f").exists());
        }
        // The control: nothing is swapped.
        let bed = RunBed::new();
        fs::create_dir(bed.outside.join("d")).unwrap();
        bed.run(tier, "echo x > $OUT/d/f", only(&bed.outside.join("d/f")));
        assert!(bed.outside.join("d/f").exists());
    }
}

/// The folder moves away while the person thinks, and another one comes: what is done is done at the name that was shown.
#[test]
fn a_folder_that_moves_away_is_not_followed_either() {
    for tier in TIERS {
        let bed = RunBed::new();
        let d = bed.outside.join("d");
        fs::create_dir(&d).unwrap();
        let only = only(&d.join("f"));
        bed.run(tier, "echo x > $OUT/d/f", move |request| {
            if !d.with_file_name("moved").exists() {
                fs::rename(&d, d.with_file_name("moved")).unwrap();
                fs::create_dir(&d).unwrap();
            }
            only(request)
        });
        assert_eq!(listed(&bed.outside.join("moved")), BTreeSet::new(), "{tier}");
    }
}

/// What is moved out of the folder is swapped for a link while the person thinks.
#[test]
fn what_is_moved_out_is_what_was_shown() {
    for tier in TIERS {
        let bed = RunBed::new();
        fs::write(bed.folder.join("f"), "shown").unwrap();
        let f = bed.folder.join("f");
        let ran = bed.run(tier, "mv f $OUT/f", move |_| {
            fs::rename(&f, f.with_file_name("aside")).unwrap();
            symlink("/etc/passwd", &f).unwrap();
            Choice::Yes
        });
        let there = fs::symlink_metadata(bed.outside.join("f"));
        assert!(there.is_err() || ran.asked.len() > 1, "{tier}: {}", ran.said);
    }
}

#[test]
fn for_a_process_that_was_killed_nothing_is_done() {
    for tier in TIERS {
        let bed = RunBed::new();
        let script = "(echo x > $OUT/f) & wait; echo over";
        let ran = bed.run(tier, script, |request| {
            let pid = request.asker.process.as_ref().unwrap().pid;
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            Choice::Yes
        });
        assert_eq!(ran.said.lines().last(), Some("over"), "{tier}");
        // The answer comes after the end.
        let ends = || {
            bed.journal
                .records()
                .iter()
                .filter_map(|r| r.event.outcome().map(|o| o.end.to_string()))
                .collect()
        };
        let mut told: Vec<_> = Vec::new();
        while told.is_empty() {
            std::thread::sleep(Duration::from_millis(20));
            told = ends();
        }
        assert_eq!(told, ["failed"], "{tier}");
        assert!(!bed.outside.join("f").exists(), "{tier}");
    }
}

/// The command ends while a process that it left behind waits: with it goes the whole tree.
#[test]
fn what_a_process_left_behind_asks_ends_with_the_run() {
    for tier in TIERS {
        let script = "(echo x > $OUT/f) & sleep 0.3; exit 0";
        let late = |_: &Request| {
            std::thread::sleep(Duration::from_millis(800));
            Choice::Yes
        };
        let bed = RunBed::new();
        bed.run(tier, script, late);
        std::thread::sleep(Duration::from_millis(1200));
        assert!(!bed.outside.join("f").exists(), "{tier}");
        // The control: somebody waits for it.
        bed.run(tier, "(echo x > $OUT/f) & wait", late);
        assert!(bed.outside.join("f").exists(), "{tier}");
    }
}

/// A hundred processes make a thousand attempts: each is answered, and the one question is not asked a thousand times.
#[test]
fn a_burst_is_answered_call_by_call() {
    let bed = RunBed::new();
    let script = r#"perl -e '
        for my $n (1..100) { next if fork; for (1..10) { mkdir("$ENV{OUT}/$n-$_") or warn "$n-$_: $!\n" } exit 0 }
        while (wait() > 0) {}'"#;
    let ran = bed.run(Tier::Full, script, |request| {
        let folder = request.offer.session.iter().position(|width| width.says.ends_with("/outside"));
        Choice::session(folder.unwrap())
    });
    assert_eq!(listed(&bed.outside).len(), 1000, "{}", ran.said);
    assert!(ran.asked.len() <= 100, "{} questions", ran.asked.len());
    // And with no each time: none is lost, none hangs.
    let bed = RunBed::new();
    let ran = bed.run(Tier::Full, script, no);
    assert_eq!(
        ran.said.lines().filter(|line| line.ends_with("Permission denied")).count(),
        1000,
        "{}",
        ran.said
    );
    assert_eq!(listed(&bed.outside).len(), 0);
}

#[test]
fn names_that_speak_to_a_terminal_are_shown_as_they_are() {
    for tier in TIERS {
        let bed = RunBed::new();
        let script = r"echo x > $OUT/$'new\nline'; echo x > $OUT/$'\xff\xfe'; echo x > $OUT/$'\e[2J\xe2\x80\xae'; echo x > $OUT/$(printf 'n%.0s' {1..255})";
        let ran = bed.run(tier, script, yes);
        let shown: Vec<_> =
            ran.asked.iter().map(|r| about(r).rsplit('/').next().unwrap().to_owned()).collect();
        assert_eq!(&shown[..3], [r"new\nline", r"\xff\xfe", r"\u{1b}[2J\u{202e}"], "{tier}: {}", ran.said);
        assert_eq!(shown[3].len(), 255);
        let names: [&[u8]; 3] = [b"new\nline", b"\xff\xfe", "\u{1b}[2J\u{202e}".as_bytes()];
        for name in names {
            assert!(bed.outside.join(OsStr::from_bytes(name)).exists(), "{tier}");
        }
        // A command line is the process's own to write.
        let ran = bed.run(tier, r"perl -e '$0 = qq(rm -rf \e[2J); mkdir qq($ENV{OUT}/d)'", no);
        let process = ran.asked[0].asker.process.as_ref().unwrap();
        assert!(!process.command_line.contains('\u{1b}') && process.command_line.contains(r"\u{1b}[2J"));
    }
}

#[test]
fn nothing_is_made_through_a_link_that_leads_nowhere() {
    for tier in TIERS {
        let bed = RunBed::new();
        symlink(bed.outside.join("none"), bed.outside.join("dangling")).unwrap();
        symlink(bed.outside.join("none"), bed.folder.join("inside")).unwrap();
        let ran = bed.run(tier, "echo x > $OUT/dangling; echo x > inside; true", |r| panic!("{r:?}"));
        assert!(!bed.outside.join("none").exists(), "{tier}: {}", ran.said);
        // The control: a link that leads somewhere is a question about that.
        fs::write(bed.outside.join("there"), "").unwrap();
        symlink(bed.outside.join("there"), bed.folder.join("link")).unwrap();
        let ran = bed.run(tier, "echo x > link", yes);
        assert_eq!(ran.acts(), ["overwrite there"], "{tier}");
        assert_eq!(fs::read_to_string(bed.outside.join("there")).unwrap(), "x\n");
    }
}

/// A second name on the other side of the line would be a way to change what lies there later, unasked.
#[test]
fn no_second_name_and_no_folder_goes_across_the_line() {
    for tier in TIERS {
        let bed = RunBed::new();
        fs::write(bed.folder.join("in"), "in").unwrap();
        fs::write(bed.folder.join("twin"), "twin").unwrap();
        fs::hard_link(bed.folder.join("twin"), bed.folder.join("other")).unwrap();
        fs::create_dir(bed.folder.join("folder")).unwrap();
        fs::write(bed.outside.join("out"), "out").unwrap();
        fs::write(bed.outside.join("shared"), "shared").unwrap();
        fs::hard_link(bed.outside.join("shared"), bed.outside.join("second")).unwrap();
        fs::create_dir(bed.outside.join("away")).unwrap();
        let script = "ln in $OUT/in; ln $OUT/out out; \
                      perl -e 'rename(\"twin\", \"$ENV{OUT}/twin\"); rename(\"folder\", \"$ENV{OUT}/folder\"); \
                               rename(\"$ENV{OUT}/shared\", \"shared\"); rename(\"$ENV{OUT}/away\", \"away\"); \
                               rename(\"in\", \"$ENV{OUT}/second\")'";
        bed.run(tier, script, yes);
        let inside: Vec<_> = listed(&bed.folder).into_iter().collect();
        assert_eq!(inside, ["folder", "in", "other", "twin"], "{tier}");
        let outside: Vec<_> = listed(&bed.outside).into_iter().collect();
        assert_eq!(outside, ["away", "out", "second", "shared"], "{tier}");
        assert_eq!(fs::metadata(bed.outside.join("out")).unwrap().nlink(), 1);
        assert_eq!(fs::metadata(bed.folder.join("in")).unwrap().nlink(), 1);
        assert_eq!(fs::read_to_string(bed.outside.join("second")).unwrap(), "shared");
        // The control: a file with one name goes, both ways.
        let ran = bed.run(tier, "mv in $OUT/moved && mv $OUT/out out && cat $OUT/moved out", yes);
        assert_eq!(ran.said, "inout", "{tier}");
    }
}

#[test]
fn set_id_bits_are_not_set_outside() {
    for tier in TIERS {
        let bed = RunBed::new();
        fs::write(bed.outside.join("f"), "").unwrap();
        fs::create_dir(bed.outside.join("d")).unwrap();
        let script = "chmod 4755 $OUT/f; chmod 2755 $OUT/f; chmod u+s $OUT/f; chmod g+s $OUT/d; chmod 1777 $OUT/d; \
                      perl -e 'mkdir(\"$ENV{OUT}/new\", 02755)'; true";
        let ran = bed.run(tier, script, yes);
        nobody(&ran, tier);
        let mode = |name: &str| fs::metadata(bed.outside.join(name)).unwrap().permissions().mode() & 0o7000;
        assert_eq!((mode("f"), mode("d")), (0, 0), "{tier}: {}", ran.said);
        assert!(!bed.outside.join("new").exists());
        // The control.
        let ran = bed.run(tier, "chmod 711 $OUT/f", yes);
        assert_eq!(ran.acts(), ["set mode 0711 of f"], "{tier}");
        assert_eq!(fs::metadata(bed.outside.join("f")).unwrap().mode() & 0o7777, 0o711);
    }
}

#[test]
fn pipes_sockets_and_devices_are_no_question() {
    for tier in TIERS {
        let bed = RunBed::new();
        let fifo = bed.outside.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(bed.outside.join("socket")).unwrap();
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut reader = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(&fifo).unwrap();
        let script = "echo x > $OUT/fifo; echo x > $OUT/socket; mkfifo $OUT/new; true";
        let ran = bed.run(tier, script, yes);
        nobody(&ran, tier);
        let mut got = Vec::new();
        let _ = reader.read_to_end(&mut got);
        assert!(got.is_empty() && !bed.outside.join("new").exists(), "{tier}: {}", ran.said);
    }
}

/// Where such a path ends is what a person is asked about, never how it is spelled.
#[test]
fn paths_that_lead_through_a_process_are_questions_about_the_file() {
    for tier in TIERS {
        let bed = RunBed::new();
        symlink("/proc/self/cwd", bed.folder.join("cwd")).unwrap();
        symlink("/proc/self/root", bed.folder.join("root")).unwrap();
        let script = "for p in /proc/self/root /proc/self/cwd/../../../../../../../.. /proc/1/root /proc/$$/root root \
                      cwd/../../../../../../../..; do echo x > $p/$OUT/f; mkdir $p/$OUT/d; done; \
                      exec 3< $OUT; echo x > /proc/self/fd/3/f; echo x > /dev/fd/3/f; true";
        let ran = bed.run(tier, script, yes);
        let asked: BTreeSet<PathBuf> = ran.places().into_iter().collect();
        assert_eq!(asked, ["d", "f"].map(|name| bed.outside.join(name)).into(), "{tier}: {}", ran.said);
    }
}

/// A descriptor that was handed over is the file, and no way to anything else.
#[test]
fn a_descriptor_leads_to_its_file_alone() {
    for tier in TIERS {
        let bed = RunBed::new();
        let script = r#"perl -MFcntl -e '
            sysopen(my $f, "$ENV{OUT}/f", O_RDWR|O_CREAT, 0600) or die "open: $!"; my $n = fileno $f;
            syswrite $f, "through\n";
            my $at = sub { syscall(257, $n, "$_[0]\0", O_WRONLY|O_CREAT, 0600) };
            print "beside ", $at->("../g"), "\n"; print "below ", $at->("g"), "\n";
            link("/proc/self/fd/$n", "here") and print "linked\n";
            my ($none, $here, $fd) = ("\0", "here\0", "/proc/self/fd/$n\0");
            print "linkat ", syscall(265, $n, $none, -100, $here, 0x1000), "\n";
            print "followed ", syscall(265, -100, $fd, -100, $here, 0x400), "\n";
            rename("/proc/self/fd/$n", "here") and print "renamed\n"; '"#;
        let ran = bed.run(tier, script, only(&bed.outside.join("f")));
        assert_eq!(ran.said, "beside -1\nbelow -1\nlinkat -1\nfollowed -1\n", "{tier}");
        assert_eq!(fs::read_to_string(bed.outside.join("f")).unwrap(), "through\n");
        assert_eq!(fs::metadata(bed.outside.join("f")).unwrap().nlink(), 1);
        assert!(!bed.folder.join("here").exists());
    }
}

/// No yes loosens the sandbox: what was let through once is refused once the session says no.
#[test]
fn the_walls_stand_under_every_yes() {
    for tier in TIERS {
        let bed = RunBed::new();
        bed.run(tier, "echo x > $OUT/f", yes);
        let ran = bed.run(tier, "echo y > $OUT/f", no);
        assert!(ran.said.contains("Permission denied"), "{tier}: {}", ran.said);
        assert_eq!(fs::read_to_string(bed.outside.join("f")).unwrap(), "x\n");
        let rulings = bed.journal.records();
        let rulings: Vec<_> = rulings.iter().filter_map(|r| r.event.decision().map(|d| d.ruling)).collect();
        assert_eq!(rulings, [Ruled::Question, Ruled::Permit, Ruled::Question, Ruled::Refusal]);
    }
}
