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
            perl -e 'syscall(316, -100, "here\0", -100, "$ENV{OUT}/f\0", 1) == -1 and print "rename: $!\n"'"#;
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
