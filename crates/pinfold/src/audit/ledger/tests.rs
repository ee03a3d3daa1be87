use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::super::event::{AuditEvent, OutcomeEvent};
use super::super::verify::{Verified, verify};
use super::*;

struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn directory(&self) -> PathBuf {
        self.0.path().join("state/pinfold")
    }

    fn current(&self) -> PathBuf {
        self.directory().join(RECORD)
    }

    fn ledger(&self, limits: Limits) -> Ledger {
        Ledger::open(&Ambient::claim(), self.directory(), limits).unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        files(&self.directory()).unwrap()
    }

    fn verified(&self) -> Verified {
        verify(&opened(&self.directory()).unwrap(), None).unwrap().unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.current()).unwrap()
    }
}

fn some(ms: u64) -> Record {
    let kind = AuditEvent::Outcome(OutcomeEvent { end: "done".into(), ms, ..OutcomeEvent::default() });
    Record::of_session(&Arc::from("s"), &Arc::from("main"), kind)
}

const SMALL: Limits = Limits { max_size: 2000, keep: 3 };

#[test]
fn lines_make_a_chain_over_restarts() {
    let bed = Bed::new();
    for ms in 0..3 {
        let ledger = bed.ledger(Limits::default());
        ledger.append(&some(ms)).unwrap();
        ledger.append(&some(ms)).unwrap();
    }
    let found = bed.verified();
    assert_eq!((found.lines, found.first, found.last, found.torn), (6, 1, 6, 0));
    let last = bed.text().lines().last().unwrap().to_owned() + "\n";
    assert_eq!(found.head, Some(Hash::of(last.as_bytes()).to_string()));
}

#[test]
fn everything_is_closed_to_others() {
    let bed = Bed::new();
    bed.ledger(Limits::default()).append(&some(1)).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(bed.directory()), 0o700);
    assert_eq!(mode(bed.current()), 0o600);
    assert_eq!(mode(bed.directory().join("machine")), 0o600);
    fs::set_permissions(bed.current(), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(bed.directory(), fs::Permissions::from_mode(0o777)).unwrap();
    bed.ledger(Limits::default()).append(&some(2)).unwrap();
    assert_eq!((mode(bed.directory()), mode(bed.current())), (0o700, 0o600));
}

#[test]
fn the_name_of_a_machine_stays_and_is_no_host_name() {
    let bed = Bed::new();
    bed.ledger(Limits::default()).append(&some(1)).unwrap();
    bed.ledger(Limits::default()).append(&some(2)).unwrap();
    let names: Vec<String> = bed
        .text()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["machine"].to_string())
        .collect();
    assert_eq!(names[0], names[1]);
    assert_eq!(names[0].len(), 34);
    assert_ne!(names[0], Bed::new().tap(|bed| bed.ledger(SMALL).append(&some(1)).unwrap()).machine());
}

impl Bed {
    fn tap(self, f: impl FnOnce(&Self)) -> Self {
        f(&self);
        self
    }

    fn machine(&self) -> String {
        let name = fs::read_to_string(self.directory().join("machine")).unwrap();
        format!("\"{}\"", name.trim_end())
    }
}

#[test]
fn what_is_a_link_or_has_another_name_is_not_written() {
    type Spoil = fn(&Bed);
    let cases: [(&str, Spoil); 5] = [
        ("the directory is a link", |bed| {
            let other = bed.0.path().join("other");
            fs::create_dir_all(&other).unwrap();
            fs::create_dir_all(bed.0.path().join("state")).unwrap();
            symlink(&other, bed.directory()).unwrap();
        }),
        ("the file is a link", |bed| {
            fs::create_dir_all(bed.directory()).unwrap();
            symlink(bed.0.path().join("other"), bed.current()).unwrap();
        }),
        ("the file has another name", |bed| {
            fs::create_dir_all(bed.directory()).unwrap();
            fs::write(bed.0.path().join("other"), "").unwrap();
            fs::hard_link(bed.0.path().join("other"), bed.current()).unwrap();
        }),
        ("the file is a pipe", |bed| {
            fs::create_dir_all(bed.directory()).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                bed.current(),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
                0,
            )
            .unwrap();
        }),
        ("the directory is a file", |bed| {
            fs::create_dir_all(bed.0.path().join("state")).unwrap();
            fs::write(bed.directory(), "").unwrap();
        }),
    ];
    for (name, spoil) in cases {
        let bed = Bed::new();
        spoil(&bed);
        assert!(Ledger::open(&Ambient::claim(), bed.directory(), SMALL).is_err(), "{name}");
        let lazy = Ledger::at(&Ambient::claim(), bed.directory(), SMALL);
        assert!(lazy.append(&some(1)).is_err(), "{name}");
        let other = bed.0.path().join("other");
        assert!(!other.is_file() || fs::read(&other).unwrap().is_empty(), "{name}");
    }
}

#[test]
fn what_belongs_to_somebody_else_is_not_written() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give files away; as another user every system directory is the case.
        assert!(Ledger::open(&Ambient::claim(), "/usr", SMALL).is_err());
        return;
    }
    for theirs in ["", RECORD, "machine"] {
        let bed = Bed::new();
        bed.ledger(SMALL).append(&some(1)).unwrap();
        std::os::unix::fs::chown(bed.directory().join(theirs), Some(65534), None).unwrap();
        let refused = Ledger::open(&Ambient::claim(), bed.directory(), SMALL).unwrap_err();
        assert!(refused.to_string().contains("belongs to another user"), "{refused}");
    }
}

#[test]
fn a_line_that_was_left_unfinished_is_closed_off_and_noted() {
    for torn in ["{\"v\":2,\"at\":\"20", "{", "\u{0}\u{0}", "not even json"] {
        for before in 1..3 {
            let bed = Bed::new();
            let ledger = bed.ledger(Limits::default());
            (0..before).for_each(|ms| ledger.append(&some(ms)).unwrap());
            let text = fs::read(bed.current()).unwrap();
            fs::write(bed.current(), [&text, torn.as_bytes()].concat()).unwrap();
            ledger.append(&some(9)).unwrap();
            let lines: Vec<String> = bed.text().lines().map(str::to_owned).collect();
            assert_eq!(lines[usize::try_from(before).unwrap()], torn, "{lines:?}");
            let found = bed.verified();
            assert_eq!((found.lines, found.torn, found.old), (before + 2, 1, 0), "{lines:?}");
        }
    }
}

#[test]
fn a_line_without_its_line_feed_is_left_unfinished_too() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits::default());
    (0..3).for_each(|ms| ledger.append(&some(ms)).unwrap());
    let text = bed.text();
    fs::write(bed.current(), text.trim_end()).unwrap();
    ledger.append(&some(9)).unwrap();
    let found = bed.verified();
    assert_eq!((found.lines, found.torn, found.last), (4, 1, 4), "{}", bed.text());
}

#[test]
fn files_are_put_aside_and_the_chain_goes_on() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits { keep: 100, ..SMALL });
    (0..100).for_each(|ms| ledger.append(&some(ms)).unwrap());
    let found = bed.verified();
    assert!(bed.files().len() > 5);
    assert_eq!((found.lines, found.first), (100 + bed.files().len() as u64 - 1, 1));
    for file in bed.files() {
        assert!(fs::metadata(file).unwrap().len() <= SMALL.max_size);
    }
}

#[test]
fn the_oldest_files_go_and_the_rest_still_holds() {
    let bed = Bed::new();
    let ledger = bed.ledger(SMALL);
    (0..100).for_each(|ms| ledger.append(&some(ms)).unwrap());
    assert_eq!(bed.files().len(), 4);
    let found = bed.verified();
    assert!(found.first > 1 && found.last > 100, "{found:?}");
}

#[test]
fn a_longer_line_than_a_file_may_be_is_written_all_the_same() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits { max_size: 10, keep: 100 });
    (0..3).for_each(|ms| ledger.append(&some(ms)).unwrap());
    assert_eq!((bed.verified().lines, bed.files().len()), (3 + 2, 3));
}

#[test]
fn a_file_that_was_taken_away_is_made_again_and_goes_on_where_others_ended() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits { keep: 100, ..SMALL });
    (0..20).for_each(|ms| ledger.append(&some(ms)).unwrap());
    fs::remove_file(bed.current()).unwrap();
    std::thread::sleep(SEEN_FOR * 2);
    ledger.append(&some(21)).unwrap();
    let found = bed.verified();
    assert_eq!(found.last, found.lines, "{found:?}");
    fs::remove_dir_all(bed.directory()).unwrap();
    std::thread::sleep(SEEN_FOR * 2);
    ledger.append(&some(22)).unwrap();
    assert_eq!((bed.verified().lines, bed.verified().first), (1, 1));
}

#[test]
fn a_record_of_version_1_is_gone_on_with() {
    let bed = Bed::new();
    fs::create_dir_all(bed.directory()).unwrap();
    let old = "{\"v\":1,\"kind\":\"outcome\"}\n".repeat(3);
    fs::write(bed.current(), &old).unwrap();
    let ledger = bed.ledger(Limits::default());
    (0..2).for_each(|ms| ledger.append(&some(ms)).unwrap());
    let found = bed.verified();
    assert_eq!((found.old, found.lines, found.first), (3, 2, 1));
    // What was there is tied to the chain as well.
    fs::write(
        bed.current(),
        bed.text().replacen("{\"v\":1,\"kind\":\"outcome\"}\n{\"v\":2", "{\"v\":1}\n{\"v\":2", 1),
    )
    .unwrap();
    assert!(verify(&opened(&bed.directory()).unwrap(), None).unwrap().is_err());
}

/// Numbers that no journal gives are told as what they are, and the journal goes on behind them.
#[test]
fn a_number_that_nobody_gave_is_no_panic() {
    let line = |seq: u64, prev: Hash, object: &str| {
        let mut line = object.as_bytes().to_vec();
        seal(&mut line, "0a", seq, prev);
        line
    };
    let old = b"{\"v\":1,\"kind\":\"outcome\"}\n".to_vec();
    let torn = format!("{{\"kind\":\"note\",\"note\":\"torn\",\"after\":\"{}\"}}", Hash::NONE);
    let highest = line(u64::MAX, Hash::NONE, "{\"v\":2}");
    for text in [
        [highest.clone(), line(1, Hash::of(&highest), "{\"v\":2}")].concat(),
        [highest.clone(), b"{}\n".to_vec()].concat(),
        [old.clone(), line(0, Hash::of(&old), &torn)].concat(),
        highest,
    ] {
        let bed = Bed::new();
        fs::create_dir_all(bed.directory()).unwrap();
        fs::write(bed.current(), text).unwrap();
        bed.ledger(Limits::default()).append(&some(1)).unwrap();
        assert!(verify(&opened(&bed.directory()).unwrap(), None).unwrap().is_err());
    }
    let bed = Bed::new();
    fs::create_dir_all(bed.directory()).unwrap();
    fs::write(bed.directory().join(format!("record-{}.jsonl", u64::MAX)), "{}\n").unwrap();
    let ledger = bed.ledger(SMALL);
    assert!((0..20).any(|ms| ledger.append(&some(ms)).is_err()), "no file can be put aside behind it");
}

#[test]
fn a_lock_that_is_never_let_go_is_not_waited_for_forever() {
    let bed = Bed::new();
    let ledger = bed.ledger(SMALL);
    ledger.append(&some(1)).unwrap();
    let other = File::open(bed.current()).unwrap();
    other.lock().unwrap();
    let held = lock_within(&File::open(bed.current()).unwrap(), Duration::from_millis(20)).is_err();
    assert!(held);
    other.unlock().unwrap();
    ledger.append(&some(2)).unwrap();
}

#[test]
fn many_who_are_first_agree_about_the_name_of_the_machine() {
    for _ in 0..50 {
        let bed = Bed::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| bed.ledger(Limits::default()).append(&some(1)).unwrap());
            }
        });
        assert_eq!(bed.text().matches(bed.machine().as_str()).count(), 8);
        assert_eq!(fs::read_dir(bed.directory()).unwrap().count(), 2);
    }
}
