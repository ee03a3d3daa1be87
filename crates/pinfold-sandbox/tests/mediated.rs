//! Calls that the supervisor carries out, or answers by itself.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod kit;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use kit::{Bed, TIERS};
use pinfold_sandbox::{Attempt, Intent, Mediation, Profile, Reply, Tier, Watcher};

/// Carries out what lies in the folder, and remembers what else would change something.
struct Judge<'a> {
    bed: &'a Bed,
    outside: Vec<Attempt>,
}

impl Watcher for Judge<'_> {
    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        if matches!(attempt.intent, Intent::Read | Intent::Access | Intent::Lock) {
            return Reply::GoOn;
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
    let profile = Profile { mediated: Some(Mediation { own: Vec::new() }), ..bed.profile() };
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
        // The control: what is not there is an attempt.
        let (said, outside) = run(&bed, tier, "mkdir $OUT/new; ln here $OUT/new; ln none $OUT/f");
        let made = outside.iter().filter(|attempt| attempt.place.ends_with("new")).count();
        assert_eq!(made, 2, "{tier}: {said}");
        assert!(said.contains("No such file"), "{tier}: what has no first name has no second one: {said}");
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
