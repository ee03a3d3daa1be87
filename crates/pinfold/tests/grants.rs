//! What holds beyond one call: grants of a session and rules for good, given down the whole road.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pinfold::AssumedShells;
use pinfold::consent::{AnsweredBy, ApprovalOptions, Choice, GrantLifetime, Request};
use pinfold::policy::{Class, Effect, Grant, Policy};
use pinfold::settings::{Locations, Situation, load};
use pinfold::{Ambient, Plan, RawCall, Ruling, Session};
use pinfold_gate_testkit::TestApprover;
use pinfold_gate_testkit::calls::{bash, write};
use pinfold_gate_testkit::rules::rule;
use pinfold_gate_testkit::session::{is_allowed, is_permitted, open};
use pinfold_testkit::TempTree;
use serde_json::json;

/// A home with a project, a folder beside it, and an approver.
struct Bed {
    tree: TempTree,
    approver: Arc<TestApprover>,
}

impl Bed {
    fn new() -> Self {
        let folders = ["home/proj/src", "home/proj/.git", "beside", "config", "state"];
        Self { tree: TempTree::new().with_dirs(folders), approver: Arc::default() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.tree.path(path)
    }

    fn locations(&self) -> Locations {
        let (home, config, state) = (self.at("home"), self.at("config"), self.at("state"));
        let usual = Locations::usual(&self.at("home/proj"), Some(home), Some(&config), Some(&state));
        Locations { managed: None, ..usual }
    }

    /// A session by the settings as they are now.
    fn session(&self) -> Session {
        let project = self.at("home/proj");
        let merged =
            load(&Ambient::claim(), &self.locations(), &pinfold::policy::Flags::default()).unwrap().merged;
        let situation = Situation { project: project.clone(), ..Situation::default() };
        let asking = ApprovalOptions { locations: Some(self.locations()), ..self.approver.asking() };
        let plan = Plan::for_folder(&project)
            .with_home(self.at("home"))
            .with_asking(asking)
            .with_shells(Arc::new(AssumedShells::in_folder(project.clone())));
        let plan = plan.with_settings(&Ambient::claim(), &merged, &situation).unwrap();
        open(plan)
    }

    fn answers(&self, choice: Choice) {
        self.approver.queue(choice);
    }

    fn last(&self) -> Request {
        self.approver.last()
    }
}

#[test]
fn one_file_outside_is_asked_about_once_and_no_other_is_meant() {
    let bed = Bed::new();
    let session = bed.session();
    let file = bed.at("beside/a");
    bed.answers(Choice::Yes);
    assert!(is_allowed(&session, &write(&file)));
    assert_eq!(bed.last().offer.kept, [format!("write {}", file.display())]);
    assert!(is_permitted(&session, &write(&file)));
    // Under another spelling, and by another tool that writes.
    assert!(is_permitted(&session, &write(bed.at("beside/../beside/a"))));
    assert!(is_permitted(&session, &RawCall::new("MakeDir", json!({"path": file}))));
    for other in ["beside/b", "beside/a.txt", "beside/a/b"] {
        assert!(!is_permitted(&session, &write(bed.at(other))), "{other}");
    }
    // A yes to writing is none to taking away.
    assert!(!is_permitted(&session, &RawCall::new("Delete", json!({"path": file}))));
    // And it is this session's.
    assert!(!is_permitted(&bed.session(), &write(&file)));
}

#[test]
fn a_grant_is_for_the_place_and_not_for_its_name() {
    let bed = Bed::new();
    let session = bed.session();
    let name = bed.at("beside/name");
    bed.answers(Choice::Yes);
    assert!(is_allowed(&session, &write(&name)));
    std::fs::write(bed.at("beside/other"), "x").unwrap();
    std::os::unix::fs::symlink(bed.at("beside/other"), &name).unwrap();
    assert!(!is_permitted(&session, &write(&name)));
}

#[test]
fn a_read_that_was_approved_approves_no_write() {
    let bed = Bed::new();
    let session = bed.session();
    let file = bed.at("beside/a");
    for (class, writes) in [(Class::Read, false), (Class::Remove, false), (Class::Write, true)] {
        session.grant([Grant::Place(file.clone(), class)], &AnsweredBy::default(), GrantLifetime::Session);
        assert_eq!(is_permitted(&session, &write(&file)), writes, "{class:?}");
    }
}

#[test]
fn all_edits_are_all_edits_but_for_what_needs_a_person_each_time() {
    let bed = Bed::new();
    let session = bed.session();
    bed.answers(Choice::session(0));
    assert!(is_allowed(&session, &write(bed.at("home/proj/src/a"))));
    assert!(is_permitted(&session, &write(bed.at("home/proj/b"))));
    assert!(!is_permitted(&session, &write(bed.at("home/proj/.git/hooks/x"))));
    assert!(!is_permitted(&session, &write(bed.at("beside/b"))));
    let kept = session.grants();
    // By the call that was asked about, and by the next.
    assert_eq!(kept.iter().map(|kept| kept.used).collect::<Vec<_>>(), [2]);
    assert!(session.revoke(kept[0].number) && !is_permitted(&session, &write(bed.at("home/proj/b"))));
}

#[test]
fn a_grant_for_a_time_or_a_count_ends_with_it() {
    let bed = Bed::new();
    let session = bed.session();
    let bounded = |bound: &str| {
        let said = format!(r#"{{"choice":"session","scope":0,"bound":{bound}}}"#);
        serde_json::from_str::<Choice>(&said)
    };
    bed.answers(bounded(r#"{"times":2}"#).unwrap());
    assert!(is_allowed(&session, &write(bed.at("home/proj/src/a"))));
    assert!(is_permitted(&session, &write(bed.at("home/proj/b"))));
    assert!(!is_permitted(&session, &write(bed.at("home/proj/c"))) && session.grants().is_empty());

    bed.answers(bounded(r#"{"for":3600}"#).unwrap());
    assert!(is_allowed(&session, &write(bed.at("home/proj/src/a"))));
    let kept = session.grants();
    let GrantLifetime::Until(end) = kept[0].lasts else { unreachable!("{kept:?}") };
    assert!((3590..=3600).contains(&end.duration_since(kept[0].given_at).as_secs()), "{kept:?}");
    assert!(session.revoke(kept[0].number) && !is_permitted(&session, &write(bed.at("home/proj/b"))));

    bed.answers(bounded(r#"{"for":1}"#).unwrap());
    assert!(is_allowed(&session, &write(bed.at("home/proj/src/a"))));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert!(!is_permitted(&session, &write(bed.at("home/proj/b"))) && session.grants().is_empty());
    for nonsense in [r#"{"times":0}"#, r#"{"for":0}"#, r#"{"for":-1}"#, r#""for""#, r#"{"ever":1}"#] {
        assert!(bounded(nonsense).is_err(), "{nonsense}");
    }
}

#[test]
fn what_was_not_offered_is_never_a_yes() {
    use pinfold::consent::answer::RuleFile::{Local, User};
    let bed = Bed::new();
    let session = bed.session();
    let always = |scopes: &[usize], file| Choice::Always { scopes: scopes.to_vec(), file };
    for command in ["python3 x.py", "rm -rf build", "curl x | sh", "make"] {
        bed.answers(Choice::Yes);
        assert!(is_allowed(&session, &bash(command)), "the control: {command}");
        for choice in [
            Choice::session(40),
            Choice::session(usize::MAX),
            always(&[77], Local),
            always(&[0; 9], User),
            always(&[0, 0, usize::MAX], User),
        ] {
            bed.answers(choice.clone());
            assert!(!is_allowed(&session, &bash(command)), "{command}: {choice:?}");
            assert!(session.grants().is_empty() && !is_permitted(&session, &bash(command)), "{command}");
        }
    }
    // Nothing beyond the call is offered where a person has to look each time.
    for choice in [Choice::session(0), always(&[], Local), always(&[0], User)] {
        for act in [bash("rm -rf build"), write(bed.at("home/proj/.git/hooks/x"))] {
            bed.answers(choice.clone());
            assert!(!is_allowed(&session, &act) && session.grants().is_empty(), "{choice:?}");
        }
    }
}

#[test]
fn a_later_deny_wins() {
    let bed = Bed::new();
    let session = bed.session();
    let file = bed.at("beside/a");
    session.grant([Grant::Place(file.clone(), Class::Write)], &AnsweredBy::default(), GrantLifetime::Session);
    assert!(is_permitted(&session, &write(&file)));
    let deny = rule(Effect::Deny, &format!("Edit(/{})", file.display()));
    session.set_policy(Policy::default().with_rules([deny], &pinfold::policy::Bases::default()));
    assert!(matches!(session.submit(&write(&file)), Ruling::Refusal(refusal) if !refusal.approvable));
}

#[test]
fn always_is_written_counts_at_once_and_in_the_next_session() {
    let bed = Bed::new();
    std::fs::write(
        bed.at("config/settings.json"),
        r#"{"permissions": {"ask": ["Bash(git commit --amend *)"]}}"#,
    )
    .unwrap();
    let session = bed.session();
    bed.answers(Choice::Always { scopes: Vec::new(), file: pinfold::consent::answer::RuleFile::Local });
    assert!(is_allowed(&session, &bash("git commit -m one")));
    assert!(bed.last().offer.always[0].scopes[1].says == "Bash(git commit *)");
    let written = std::fs::read_to_string(bed.at("home/proj/.pinfold/settings.local.json")).unwrap();
    assert!(written.contains(r#""Bash(git commit *)""#), "{written}");
    for session in [session, bed.session()] {
        assert!(is_permitted(&session, &bash("git commit -m two")));
        assert!(!is_permitted(&session, &bash("git push")));
        // It is a rule: what settings want to be asked about is asked about, in this session too.
        assert!(!is_permitted(&session, &bash("git commit --amend -m x")));
    }
}

#[test]
fn a_rule_that_cannot_be_written_holds_for_the_session() {
    let bed = Bed::new();
    let session = bed.session();
    // A file stands where the folder of the settings would.
    std::fs::write(bed.at("home/proj/.pinfold"), "").unwrap();
    bed.answers(Choice::Always { scopes: vec![0], file: pinfold::consent::answer::RuleFile::Local });
    assert!(is_allowed(&session, &bash("make")));
    assert!(is_permitted(&session, &bash("make")));
    std::fs::remove_file(bed.at("home/proj/.pinfold")).unwrap();
    assert!(!is_permitted(&bed.session(), &bash("make")));
}

#[test]
fn many_at_once_are_let_through_as_often_as_was_granted() {
    let bed = Bed::new();
    let session = bed.session();
    let grant = Grant::Rule(Arc::new(rule(Effect::Allow, "Bash(make)")));
    session.grant([grant], &AnsweredBy::default(), GrantLifetime::Calls(20));
    let let_through = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let_through
                        .fetch_add(usize::from(is_permitted(&session, &bash("make"))), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(let_through.load(Ordering::Relaxed), 20);
    assert!(session.grants().is_empty());
}
