//! What questions cost those who do not ask: small files made and removed in the folder, bare, in a run, and in a run
//! whose writes outside would be asked about; and what one call outside costs that a rule lets through.

#![expect(clippy::unwrap_used, reason = "a bench stops where it fails")]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use divan::Bencher;
use pinfold::audit::Discard;
use pinfold::policy::{Bases, Effect, Guards, Layer, Policy, Rule, Source, SourcedRule};
use pinfold::{Ambient, Plan, Session};
use pinfold_boundary::{Boundary, Private, SandboxRequest};
use pinfold_sandbox::{Command, Signalling, Tier, start};
use pinfold_tools::SandboxEscalations;

fn main() {
    divan::main();
}

/// Long enough that starting does not count.
const MANY_FILES: &str = "for (1..4000) { open(my $f, '>', \"$ARGV[0]/f\") or die; print $f 'x' x 100; close $f; \
                          unlink \"$ARGV[0]/f\" or die }";

/// What is beside the folder.
#[derive(Clone, Copy, Debug)]
enum Around {
    Nothing,
    Run(Tier),
    Questions(Tier),
}

/// 4,000 files, made and removed in the folder.
#[divan::bench(args = [
    Around::Nothing,
    Around::Run(Tier::Full), Around::Questions(Tier::Full),
    Around::Run(Tier::Landlock), Around::Questions(Tier::Landlock),
], sample_count = 10)]
fn inside(bencher: Bencher, around: Around) {
    let bed = Bed::new();
    bencher.bench_local(|| match around {
        Around::Nothing => {
            let status =
                std::process::Command::new("perl").args(["-e", MANY_FILES]).arg(&bed.folder).status();
            assert!(status.unwrap().success());
        }
        Around::Run(tier) => bed.run(tier, None, MANY_FILES, &bed.folder),
        Around::Questions(tier) => bed.run(tier, Some(&bed.session()), MANY_FILES, &bed.folder),
    });
}

/// 500 files outside, let through by a rule: held, judged, done by the supervisor and handed back, then removed.
#[divan::bench(sample_count = 10)]
fn outside(bencher: Bencher) {
    let bed = Bed::new();
    let (session, few) = (bed.session(), MANY_FILES.replace("4000", "500"));
    bencher.bench_local(|| bed.run(Tier::Full, Some(&session), &few, &bed.outside));
}

/// A folder and an outside that a run does not cover with something of its own.
struct Bed {
    temp: tempfile::TempDir,
    folder: PathBuf,
    outside: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/var/lib"));
        let temp = tempfile::tempdir_in(home).unwrap();
        let top = temp.path().canonicalize().unwrap();
        let [folder, outside] = ["folder", "outside"].map(|name| top.join(name));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&outside).unwrap();
        Self { temp, folder, outside }
    }

    fn session(&self) -> Session {
        let rule = Rule::parse(&format!("Edit(/{}/**)", self.outside.display())).unwrap();
        let rule = SourcedRule { effect: Effect::Allow, rule, source: Source::plain(Layer::User) };
        let policy = Policy::folder_is_granted().with_rules([rule], &Bases::default());
        let plan = Plan::for_folder(&self.folder).with_policy(policy);
        Session::open(&Ambient::claim(), plan, Arc::new(Discard)).unwrap()
    }

    fn run(&self, tier: Tier, session: Option<&Session>, script: &str, at: &std::path::Path) {
        let mut request = SandboxRequest::new(self.folder.clone());
        request.private = Private::existing(self.temp.path());
        request.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        request.negotiable = session.is_some();
        let boundary = Boundary::compile(&request, &Guards::default(), tier).unwrap();
        let args: [OsString; 3] = ["-e".into(), script.into(), at.into()];
        let command = Command::new("perl").args(args);
        let confined = start(boundary.profile(), command, tier, Signalling::Own, true).unwrap();
        let mut attempts = SandboxEscalations::new(&boundary, tier, session.map(Session::downgrade));
        let ended = confined.supervise(&mut attempts).unwrap();
        assert_eq!(ended, pinfold_sandbox::End::Code(0), "{:?}", attempts.finish());
    }
}
