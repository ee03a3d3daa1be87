//! Paths that lead over directories which have just been moved, removed or exchanged: beside the same without a sandbox.

#![expect(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::kit::{Bed, TIERS, has_perl_threads};
use pinfold_sandbox::{Attempt, Detail, Intent, Mediation, Reply, SyscallHandler, Tier, Turn, Turns};

/// Carries out whatever changes something, in turns with the other runs in the folder.
struct CarryOutAll {
    turns: Turns,
}

impl CarryOutAll {
    fn new(bed: &Bed) -> Self {
        Self { turns: Turns::open(&bed.outside.join("turn")).expect("turns") }
    }
}

impl SyscallHandler for CarryOutAll {
    fn turn(&mut self, attempts: &[Attempt]) -> io::Result<Option<Turn>> {
        let is_alone = |attempt: &Attempt| {
            let closes = matches!(attempt.detail, Detail::Mode(mode) if mode & 0o500 != 0o500);
            closes
                || matches!(
                    attempt.intent,
                    Intent::MoveFrom | Intent::MoveTo | Intent::Symlink | Intent::MakeDir
                )
        };
        if attempts.iter().any(is_alone) { self.turns.take().map(Some) } else { self.turns.share().map(Some) }
    }

    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        let reads = matches!(attempt.intent, Intent::Read | Intent::Access | Intent::Lock);
        if reads { Reply::Continue } else { Reply::CarryOut }
    }
}

/// Names something before and after each change of the directories on the way, and says how that ends and what is where then. The first
/// argument says who changes them: `self`, a `thread`, or the process that has the argument `other` and does what is asked.
const PATHS: &str = r#"
    use threads; use Fcntl; use POSIX (); use Cwd ();
    my ($who, $MKDIRAT, $RENAMEAT2) = @ARGV; my $top = Cwd::getcwd(); my $here; $| = 1; alarm 120;
    sub at { "$here/$_[0]" }
    sub dirs { mkdir at($_) or die "$_: $!" for @_ }
    sub file { sysopen(my $f, at($_[0]), O_CREAT|O_WRONLY, 0666) or die "$_[0]: $!" }
    sub move { rename(at($_[0]), at($_[1])) or die "$_[0] to $_[1]: $!" }
    sub make { sysopen(my $f, $_[0], O_CREAT|O_WRONLY, 0666) ? "done" : "$!" }
    sub exchange { syscall($RENAMEAT2, -100, at($_[0])."\0", -100, at($_[1])."\0", 2) == 0 or die "exchange: $!" }
    sub above { make("a/b/../$_[0]") }
    sub enter { chdir at($_[0]) or die "$_[0]: $!" }
    my @cases = (
        ["a path over one that is moved", sub { dirs("a", "a/b", "c") }, \&above, sub { move("a/b", "c/b") }],
        ["a path over one that is replaced", sub { dirs("a", "a/b", "c", "d", "d/e") }, \&above, sub { move("a/b", "c/b"); move("d/e", "a/b") }],
        ["a path over one that is exchanged", sub { dirs("a", "a/b", "c", "c/d") }, \&above, sub { exchange("a/b", "c/d") }],
        ["a path over one that is exchanged with a file", sub { dirs("a", "a/b"); file("f") }, \&above, sub { exchange("a/b", "f") }],
        ["a path over one that is removed", sub { dirs("a", "a/b") }, \&above, sub { rmdir at("a/b") or die $! }],
        ["a path over one that became a file", sub { dirs("a", "a/b") }, \&above, sub { rmdir at("a/b"); file("a/b") }],
        ["a path over one that became a link", sub { dirs("a", "a/b", "c") }, \&above, sub { move("a/b", "c/b"); symlink "../c/b", at("a/b") }],
        ["an absolute path", sub { dirs("a", "a/b", "c") }, sub { make(at("a/b/../$_[0]")) }, sub { move("a/b", "c/b") }],
        ["two steps up", sub { dirs("a", "a/b", "a/b/c", "d") }, sub { make("a/b/c/../../$_[0]") }, sub { move("a/b", "d/b") }],
        ["up and down", sub { dirs("a", "a/b", "a/n", "c", "c/n") }, sub { make("a/b/../n/$_[0]") }, sub { exchange("a/n", "c/n"); move("a/b", "c/b") }],
        ["above the working directory", sub { dirs("a", "a/b", "c"); enter("a/b") }, sub { make("../$_[0]") }, sub { move("a/b", "c/b") }],
        ["two above the working directory", sub { dirs("a", "a/b", "a/b/c", "d"); enter("a/b/c") }, sub { make("../../$_[0]") }, sub { move("a/b", "d/b") }],
        ["beside the working directory", sub { dirs("a", "a/b", "a/n", "c", "c/n"); enter("a/b") }, sub { make("../n/$_[0]") }, sub { move("a/b", "c/b") }],
        ["above a working directory that is removed", sub { dirs("a", "a/b", "c"); enter("a/b") }, sub { make("../$_[0]") }, sub { rmdir at("a/b") or die $! }],
        ["in a working directory that is moved", sub { dirs("a", "a/b", "c"); enter("a/b") }, sub { make($_[0]) }, sub { move("a/b", "c/b") }],
        ["below a working directory that is moved", sub { dirs("a", "a/b", "a/b/d", "c"); enter("a/b") }, sub { make("d/$_[0]") }, sub { move("a/b", "c/b") }],
        ["above a descriptor", sub { dirs("a", "a/b", "c"); sysopen(D, at("a/b"), O_RDONLY) or die $! },
            sub { syscall($MKDIRAT, fileno(D), "../$_[0]\0", 0777) == 0 ? "done" : "$!" }, sub { move("a/b", "c/b") }],
        ["a plain path that is made anew", sub { dirs("a", "a/b") }, sub { make("a/b/$_[0]") }, sub { unlink at("a/b/before"); rmdir at("a/b") or die $!; dirs("a/b") }],
        ["a plain path that is moved and made anew", sub { dirs("a", "a/b", "c") }, sub { make("a/b/$_[0]") }, sub { move("a/b", "c/b"); dirs("a/b") }],
        ["a plain path that became a link above", sub { dirs("a", "a/b") }, sub { make("a/b/$_[0]") }, sub { move("a", "c"); symlink "c", at("a") }],
        ["both paths of a rename", sub { dirs("a", "a/b", "c"); file("a/f"); file("c/f") },
            sub { my $done = rename("a/b/../f", "a/b/../$_[0]") ? "done" : "$!"; rename("a/$_[0]", "a/f"); $done }, sub { move("a/b", "c/b") }],
        ["a rename into it", sub { dirs("a", "a/b", "c"); file("f") },
            sub { my $done = rename("f", "a/b/../$_[0]") ? "done" : "$!"; file("f"); $done }, sub { move("a/b", "c/b") }],
        ["a removal", sub { dirs("a", "a/b", "c"); for (qw(before after)) { file("a/$_"); file("c/$_") } enter("a/b") },
            sub { unlink("../$_[0]") ? "done" : "$!" }, sub { move("a/b", "c/b") }],
        ["a change of mode", sub { dirs("a", "a/b", "c"); for (qw(before after)) { file("a/$_"); file("c/$_") } enter("a/b") },
            sub { chmod(0600, "../$_[0]") ? "done" : "$!" }, sub { move("a/b", "c/b") }],
    );
    sub wait_for { select(undef, undef, undef, 0.0002) until -e "$top/$_[0]" }
    sub signal { open(my $f, ">", "$top/$_[0]") or die "$_[0]: $!" }
    sub act {
        my ($number, $move) = @_;
        if ($who eq "self") { $move->() } elsif ($who eq "thread") { threads->create($move)->join }
        else { signal("ask-$number"); wait_for("done-$number") }
    }
    if ($who eq "other") {
        for my $number (0 .. $#cases) { $here = "$top/$number"; wait_for("ask-$number"); $cases[$number][3]->(); signal("done-$number") }
        exit;
    }
    for my $number (0 .. $#cases) {
        my ($name, $prepare, $use, $move) = @{$cases[$number]};
        $here = "$top/$number"; mkdir $here; chdir $here; $prepare->();
        my $before = $use->("before"); act($number, $move); my $after = $use->("after");
        chdir $top; print "$name: $before, then $after: ", join(" ", split(/\n/, qx(cd $here && find . -printf '%P:%y:%m ' | tr ' ' '\n' | sort))), "\n";
    }
"#;

/// Numbers of mkdirat(2) and renameat2(2).
const NUMBERS: [&str; 2] = if cfg!(target_arch = "x86_64") { ["258", "316"] } else { ["34", "276"] };

fn by(who: &str, script: &str) -> String {
    let [mkdirat, renameat2] = NUMBERS;
    format!("umask 022; exec perl - {who} {mkdirat} {renameat2} <<'END'\n{script}\nEND")
}

fn run_free(folder: &Path, script: &str) -> String {
    let ended = Command::new("sh").args(["-c", script]).current_dir(folder).output().expect("sh");
    assert!(ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

fn run(bed: &Bed, tier: Tier, script: &str) -> String {
    let profile = bed.profile().with_mediated(Some(Mediation { own: Vec::new() }));
    bed.run_watched(tier, &profile, script, &mut CarryOutAll::new(bed)).1
}

/// Compares what both print, each line of the first beside that of the other.
fn compare(said: &str, expected: &str, tier: Tier) {
    assert!(expected.lines().count() > 20 && expected.contains("No such file"), "the control: {expected}");
    let differs = said.lines().zip(expected.lines()).filter(|(said, expected)| said != expected);
    let differs: Vec<String> = differs.map(|(said, expected)| format!("{said}\n  not {expected}")).collect();
    assert!(
        differs.is_empty() && said.lines().count() == expected.lines().count(),
        "{tier}: {}\n{said}",
        differs.join("\n")
    );
}

#[test]
fn a_path_over_moved_directories_leads_where_it_leads_outside() {
    if !has_perl_threads("moved directories") {
        return;
    }
    for who in ["self", "thread"] {
        let expected = run_free(&Bed::new().folder, &by(who, PATHS));
        for tier in TIERS {
            compare(&run(&Bed::new(), tier, &by(who, PATHS)), &expected, tier);
        }
    }
}

#[test]
fn a_path_over_directories_that_another_run_moves_leads_where_it_leads_outside() {
    if !has_perl_threads("moved directories") {
        return;
    }
    let beside = |other: &(dyn Fn() -> String + Sync), this: &dyn Fn() -> String| {
        thread::scope(|scope| {
            let other = scope.spawn(other);
            let said = this();
            assert_eq!(other.join().expect("the other run"), "");
            said
        })
    };
    let folder = Bed::new();
    let free = |who: &str| run_free(&folder.folder, &by(who, PATHS));
    let expected = beside(&|| free("other"), &|| free("asks"));
    for tier in TIERS {
        let bed = Bed::new();
        let said = beside(&|| run(&bed, tier, &by("other", PATHS)), &|| run(&bed, tier, &by("asks", PATHS)));
        compare(&said, &expected, tier);
    }
}

/// Says how many files were made below another working directory than the one that was set before, while another thread sets it.
const WORKING_DIRECTORIES: &str = r#"
    use threads; use Fcntl; use Cwd (); my $top = Cwd::getcwd(); $| = 1; my ($made, $wrong) = (0, 0);
    mkdir $_ for "one", "two", "one/d", "two/d"; chdir "one";
    sub make { sysopen(my $f, "d/$_[0]", O_CREAT|O_WRONLY, 0666) or die "$_[0]: $!" }
    for my $round (1 .. 60) {
        my $other = threads->create(sub { for (1 .. 40) { chdir "$top/one"; chdir "$top/two" } });
        do { make("meanwhile") } while $other->is_running; $other->join;
        for my $name ("two", "one") { chdir "$top/$name"; make("after-$round"); $made++; $wrong++ unless -e "$top/$name/d/after-$round" }
    }
    print "$made made, $wrong wrong\n";
"#;

#[test]
fn a_working_directory_that_another_thread_sets_is_not_taken_for_the_one_before() {
    if !has_perl_threads("moved directories") {
        return;
    }
    let script = by("self", WORKING_DIRECTORIES);
    for tier in TIERS {
        assert_eq!(run(&Bed::new(), tier, &script), "120 made, 0 wrong\n", "{tier}");
    }
}

#[test]
fn a_directory_that_another_run_closes_is_closed_at_once() {
    const USES: &str = r#"perl -MFcntl -e 'alarm 120;
        sub make { sysopen(my $f, $_[0], O_CREAT|O_WRONLY, 0666) ? "done" : "$!" } mkdir "a"; mkdir "a/b";
        print make("a/b/x"), "\n"; open(F, ">", "ask"); select(undef, undef, undef, 0.0002) until -e "done";
        print make("a/b/y"), "\n"; chmod 0700, "a"; print make("a/b/z"), "\n"'"#;
    const CLOSES: &str = r#"perl -e 'alarm 120; select(undef, undef, undef, 0.0002) until -e "ask"; chmod 0, "a"; open(F, ">", "done")'"#;
    for tier in TIERS {
        let bed = Bed::new();
        let said = thread::scope(|scope| {
            let other = scope.spawn(|| run(&bed, tier, CLOSES));
            let said = run(&bed, tier, USES);
            assert_eq!(other.join().expect("the other run"), "");
            said
        });
        assert_eq!(said, "done\nPermission denied\ndone\n", "{tier}");
    }
}
