//! The umask of what is made for threads that change it: beside the same without a sandbox.

#![expect(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::process::Command;

use crate::kit::{Bed, TIERS, has_perl_threads};
use pinfold_sandbox::{Attempt, Intent, Mediation, Reply, SyscallHandler};

/// Carries out whatever changes something.
struct CarryOutAll;

impl SyscallHandler for CarryOutAll {
    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        let reads = matches!(attempt.intent, Intent::Read | Intent::Access | Intent::Lock);
        if reads { Reply::Continue } else { Reply::CarryOut }
    }
}

/// Numbers of unshare(2) and clone(2).
const NUMBERS: [&str; 2] = if cfg!(target_arch = "x86_64") { ["272", "56"] } else { ["97", "220"] };

/// Prints the modes of what is made by threads and processes of which some share a umask.
const MAKES: &str = r#"
    use threads; use Fcntl; use POSIX ();
    my ($UNSHARE, $CLONE) = @ARGV; my ($CLONE_FS, $SIGCHLD) = (0x200, 17);
    sub shown { printf "%s %04o\n", $_[0], (lstat $_[0])[2] & 07777 }
    sub make { sysopen(my $f, $_[0], O_CREAT|O_WRONLY, 0666) or die "$_[0]: $!"; shown($_[0]) }
    $| = 1; umask 022;
    make("at-first"); mkdir("at-first-d", 0777); shown("at-first-d");
    threads->create(sub { umask 077 })->join; make("by-another"); mkdir("by-another-d", 0777); shown("by-another-d");
    threads->create(sub { make("by-thread"); umask 027; make("by-thread-2") })->join; make("after-thread");
    threads->create(sub { syscall($UNSHARE, $CLONE_FS); umask 0; make("own"); POSIX::mkfifo("own-p", 0666); shown("own-p") })->join;
    make("not-the-own");
    threads->create(sub { syscall($UNSHARE, $CLONE_FS); threads->create(sub { umask 070 })->join; make("own-by-another") })->join;
    make("not-the-others");
    unless (my $child = fork) { umask 0; make("child"); exit } else { waitpid($child, 0) } make("parent");
    my $child = syscall($CLONE, $CLONE_FS|$SIGCHLD, 0, 0, 0, 0);
    unless ($child) { umask 007; make("sharing-child"); POSIX::_exit(0) } waitpid($child, 0); make("sharing-parent");
    # A thread with a umask of its own gets the number of the first one when it starts a program.
    pipe(my $set, my $has_set); pipe(my $made, my $has_made);
    my $other = threads->create(sub { syscall($UNSHARE, $CLONE_FS); umask 061; syswrite($has_set, "x"); sysread($made, my $got, 1);
        exec "sh", "-c", ": > program; stat -c '%n %04a' program; umask 0; umask 022; : > program-2; stat -c '%n %04a' program-2" });
    sysread($set, my $got, 1); make("last-of-first"); syswrite($has_made, "x"); $other->join;
"#;

/// Says how many files got another mode than the umask wanted that was set before, while another thread makes files all the time.
const RACES: &str = r#"
    use threads; use Fcntl; umask 022; $| = 1;
    pipe(my $asked, my $ask); pipe(my $answered, my $answer); my ($made, $wrong) = (0, 0);
    sub make { sysopen(my $f, $_[0], O_CREAT|O_WRONLY, 0666) or die "$_[0]: $!"; my $mode = (stat $f)[2] & 0777; unlink $_[0]; $mode }
    my $other = threads->create(sub { for (1 .. 200) {
        my $mask = $_ % 2 ? 077 : 022; umask $mask; syswrite($ask, chr($mask)); sysread($answered, my $got, 1) } });
    for (1 .. 200) {
        my $ready = ""; do { make("meanwhile"); vec($ready = "", fileno($asked), 1) = 1 } until select($ready, undef, undef, 0);
        sysread($asked, my $mask, 1); $wrong += make("after") != (0666 & ~ord $mask); $made++; syswrite($answer, "x") }
    $other->join; print "$made made, $wrong wrong\n";
"#;

fn run_and_run_outside(script: &str) {
    if !has_perl_threads("the umask of threads") {
        return;
    }
    let bed = Bed::new();
    let free = Command::new("perl").args(["-e", script]).args(NUMBERS).current_dir(&bed.folder).output();
    let free = free.expect("perl");
    let expected = String::from_utf8_lossy(&free.stdout).into_owned();
    assert!(expected.lines().count() > 0 && free.stderr.is_empty(), "the control: {free:?}");
    for tier in TIERS {
        let bed = Bed::new();
        let [unshare, clone] = NUMBERS;
        let script = format!("exec perl - {unshare} {clone} <<'END'\n{script}\nEND");
        let profile = bed.profile().with_mediated(Some(Mediation { own: Vec::new() }));
        let (_, said) = bed.run_watched(tier, &profile, &script, &mut CarryOutAll);
        assert_eq!(said, expected, "{tier}");
    }
}

#[test]
fn what_threads_make_has_the_mode_that_it_has_outside() {
    run_and_run_outside(MAKES);
}

#[test]
fn a_umask_that_another_thread_has_set_counts_at_once() {
    run_and_run_outside(RACES);
}
