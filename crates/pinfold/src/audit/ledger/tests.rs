use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use pinfold_testkit::TempTree;

use super::super::event::{AuditEvent, OutcomeEvent};
use super::super::verify::{Verified, verify, verify_end};
use super::*;

struct Bed(TempTree);

impl Bed {
    fn new() -> Self {
        Self(TempTree::new())
    }

    fn directory(&self) -> PathBuf {
        self.0.path("state/pinfold")
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
        verify(&opened(&self.directory()).unwrap(), None).unwrap().into_result().unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.current()).unwrap()
    }
}

fn record(ms: u64) -> Record {
    let kind = AuditEvent::Outcome(OutcomeEvent { end: "done".into(), ms, ..OutcomeEvent::default() });
    Record::for_session(&Arc::from("s"), &Arc::from("main"), kind)
}

const SMALL: Limits = Limits { max_size: 2000, keep: 3 };

#[test]
fn lines_make_a_chain_over_restarts() {
    let bed = Bed::new();
    for ms in 0..3 {
        let ledger = bed.ledger(Limits::default());
        ledger.append(&record(ms)).unwrap();
        ledger.append(&record(ms)).unwrap();
    }
    let found = bed.verified();
    assert_eq!((found.lines, found.first, found.last, found.torn), (6, 1, 6, 0));
    let last = bed.text().lines().last().unwrap().to_owned() + "\n";
    assert_eq!(found.head, Some(Hash::digest(last.as_bytes()).to_string()));
}

#[test]
fn everything_is_closed_to_others() {
    let bed = Bed::new();
    bed.ledger(Limits::default()).append(&record(1)).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(bed.directory()), 0o700);
    assert_eq!(mode(bed.current()), 0o600);
    assert_eq!(mode(bed.directory().join("machine")), 0o600);
    fs::set_permissions(bed.current(), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(bed.directory(), fs::Permissions::from_mode(0o777)).unwrap();
    bed.ledger(Limits::default()).append(&record(2)).unwrap();
    assert_eq!((mode(bed.directory()), mode(bed.current())), (0o700, 0o600));
}

#[test]
fn the_name_of_a_machine_stays_and_is_no_host_name() {
    let bed = Bed::new();
    bed.ledger(Limits::default()).append(&record(1)).unwrap();
    bed.ledger(Limits::default()).append(&record(2)).unwrap();
    let names: Vec<String> = bed
        .text()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["machine"].to_string())
        .collect();
    assert_eq!(names[0], names[1]);
    assert_eq!(names[0].len(), 34);
    assert_ne!(names[0], Bed::new().tap(|bed| bed.ledger(SMALL).append(&record(1)).unwrap()).machine());
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
            let other = bed.0.path("other");
            fs::create_dir_all(&other).unwrap();
            fs::create_dir_all(bed.0.path("state")).unwrap();
            symlink(&other, bed.directory()).unwrap();
        }),
        ("the file is a link", |bed| {
            fs::create_dir_all(bed.directory()).unwrap();
            symlink(bed.0.path("other"), bed.current()).unwrap();
        }),
        ("the file has another name", |bed| {
            fs::create_dir_all(bed.directory()).unwrap();
            fs::write(bed.0.path("other"), "").unwrap();
            fs::hard_link(bed.0.path("other"), bed.current()).unwrap();
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
            fs::create_dir_all(bed.0.path("state")).unwrap();
            fs::write(bed.directory(), "").unwrap();
        }),
    ];
    for (name, spoil) in cases {
        let bed = Bed::new();
        spoil(&bed);
        assert!(Ledger::open(&Ambient::claim(), bed.directory(), SMALL).is_err(), "{name}");
        let lazy = Ledger::with_limits(&Ambient::claim(), bed.directory(), SMALL);
        assert!(lazy.append(&record(1)).is_err(), "{name}");
        let other = bed.0.path("other");
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
        bed.ledger(SMALL).append(&record(1)).unwrap();
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
            (0..before).for_each(|ms| ledger.append(&record(ms)).unwrap());
            let text = fs::read(bed.current()).unwrap();
            fs::write(bed.current(), [&text, torn.as_bytes()].concat()).unwrap();
            ledger.append(&record(9)).unwrap();
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
    (0..3).for_each(|ms| ledger.append(&record(ms)).unwrap());
    let text = bed.text();
    fs::write(bed.current(), text.trim_end()).unwrap();
    ledger.append(&record(9)).unwrap();
    let found = bed.verified();
    assert_eq!((found.lines, found.torn, found.last), (4, 1, 4), "{}", bed.text());
}

#[test]
fn files_are_put_aside_and_the_chain_goes_on() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits { keep: 100, ..SMALL });
    (0..100).for_each(|ms| ledger.append(&record(ms)).unwrap());
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
    (0..100).for_each(|ms| ledger.append(&record(ms)).unwrap());
    assert_eq!(bed.files().len(), 4);
    let found = bed.verified();
    assert!(found.first > 1 && found.last > 100, "{found:?}");
}

#[test]
fn a_longer_line_than_a_file_may_be_is_written_all_the_same() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits { max_size: 10, keep: 100 });
    (0..3).for_each(|ms| ledger.append(&record(ms)).unwrap());
    assert_eq!((bed.verified().lines, bed.files().len()), (3 + 2, 3));
}

#[test]
fn a_file_that_was_taken_away_is_made_again_and_goes_on_where_others_ended() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits { keep: 100, ..SMALL });
    (0..20).for_each(|ms| ledger.append(&record(ms)).unwrap());
    fs::remove_file(bed.current()).unwrap();
    std::thread::sleep(SEEN_FOR * 2);
    ledger.append(&record(21)).unwrap();
    let found = bed.verified();
    assert_eq!(found.last, found.lines, "{found:?}");
    fs::remove_dir_all(bed.directory()).unwrap();
    std::thread::sleep(SEEN_FOR * 2);
    ledger.append(&record(22)).unwrap();
    assert_eq!((bed.verified().lines, bed.verified().first), (1, 1));
}

#[test]
fn a_record_of_version_1_is_gone_on_with() {
    let bed = Bed::new();
    fs::create_dir_all(bed.directory()).unwrap();
    let old = "{\"v\":1,\"kind\":\"outcome\"}\n".repeat(3);
    fs::write(bed.current(), &old).unwrap();
    let ledger = bed.ledger(Limits::default());
    (0..2).for_each(|ms| ledger.append(&record(ms)).unwrap());
    let found = bed.verified();
    assert_eq!((found.old, found.lines, found.first), (3, 2, 1));
    // What was there is tied to the chain as well.
    fs::write(
        bed.current(),
        bed.text().replacen("{\"v\":1,\"kind\":\"outcome\"}\n{\"v\":2", "{\"v\":1}\n{\"v\":2", 1),
    )
    .unwrap();
    assert!(!verify(&opened(&bed.directory()).unwrap(), None).unwrap().holds());
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
        [highest.clone(), line(1, Hash::digest(&highest), "{\"v\":2}")].concat(),
        [highest.clone(), b"{}\n".to_vec()].concat(),
        [old.clone(), line(0, Hash::digest(&old), &torn)].concat(),
        highest,
    ] {
        let bed = Bed::new();
        fs::create_dir_all(bed.directory()).unwrap();
        fs::write(bed.current(), text).unwrap();
        bed.ledger(Limits::default()).append(&record(1)).unwrap();
        assert!(!verify(&opened(&bed.directory()).unwrap(), None).unwrap().holds());
    }
    let bed = Bed::new();
    fs::create_dir_all(bed.directory()).unwrap();
    fs::write(bed.directory().join(format!("record-{}.jsonl", u64::MAX)), "{}\n").unwrap();
    let ledger = bed.ledger(SMALL);
    assert!((0..20).any(|ms| ledger.append(&record(ms)).is_err()), "no file can be put aside behind it");
}

#[test]
fn a_lock_that_is_never_let_go_is_not_waited_for_forever() {
    let bed = Bed::new();
    let ledger = bed.ledger(SMALL);
    ledger.append(&record(1)).unwrap();
    let other = File::open(bed.current()).unwrap();
    other.lock().unwrap();
    let held = lock_within(&File::open(bed.current()).unwrap(), Duration::from_millis(20)).is_err();
    assert!(held);
    other.unlock().unwrap();
    ledger.append(&record(2)).unwrap();
}

#[test]
fn many_who_are_first_agree_about_the_name_of_the_machine() {
    for _ in 0..50 {
        let bed = Bed::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| bed.ledger(Limits::default()).append(&record(1)).unwrap());
            }
        });
        assert_eq!(bed.text().matches(bed.machine().as_str()).count(), 8);
        assert_eq!(fs::read_dir(bed.directory()).unwrap().count(), 2);
    }
}

impl Bed {
    fn add(&self, bytes: &[u8]) {
        let mut file = File::options().append(true).open(self.current()).unwrap();
        file.write_all(bytes).unwrap();
    }

    fn looked_at(&self, known: Option<&str>) -> Verified {
        let known = known.map(|head| Hash::parse(head).unwrap());
        verify(&opened(&self.directory()).unwrap(), known).unwrap()
    }
}

/// Damage by a loss of power, lines that another program appends, a last line that was changed.
#[test]
fn damage_at_the_end_is_noted_and_the_chain_goes_on() {
    type Spoil = fn(&Bed);
    let cases: [(&str, Spoil, u64); 5] = [
        ("zeros and a line feed", |bed| bed.add(&[vec![0; 4096], b"\n".to_vec()].concat()), 4),
        ("zeros, a line feed, half a line", |bed| bed.add(b"\0\0\0\n{\"v\":2,\"ki"), 4),
        ("lines of another program", |bed| bed.add(b"{\"v\":2,\"kind\":\"note\"}\n\n{}\n"), 4),
        ("a line of version 1", |bed| bed.add(b"{\"v\":1,\"kind\":\"outcome\"}\n"), 4),
        (
            "the line before the last one was changed",
            |bed| fs::write(bed.current(), bed.text().replacen("\"ms\":1", "\"ms\":9", 1)).unwrap(),
            3,
        ),
    ];
    for (name, spoil, line) in cases {
        let bed = Bed::new();
        let ledger = bed.ledger(Limits::default());
        (0..3).for_each(|ms| ledger.append(&record(ms)).unwrap());
        spoil(&bed);
        (3..5).for_each(|ms| bed.ledger(Limits::default()).append(&record(ms)).unwrap());
        let found = bed.looked_at(None);
        let [only] = found.breaks.as_slice() else { panic!("{name}: {found:?}") };
        assert_eq!((&only.mismatch.file, only.mismatch.line), (&bed.current(), line), "{name}");
        assert_eq!((only.noted_by, only.resumes_at), (Some(line), Some(line)), "{name}");
        assert_eq!((found.first, found.last), (1, line + 2), "{name}: lines behind the note follow");
        // It stays told, but for who kept a head that was printed behind it.
        assert!(!found.holds(), "{name}");
        let head = found.head.unwrap();
        bed.ledger(Limits::default()).append(&record(5)).unwrap();
        assert!(bed.looked_at(Some(&head)).holds(), "{name}");
        assert_eq!(bed.looked_at(Some(&head)).breaks.len(), 1, "{name}");
        // Later damage is another one, and no head from before speaks for it.
        bed.add(b"later\n");
        bed.ledger(Limits::default()).append(&record(6)).unwrap();
        let later = bed.looked_at(Some(&head));
        assert_eq!(later.breaks.len(), 2, "{name}");
        assert_eq!(later.first_mismatch(), later.breaks.last().map(|found| &found.mismatch), "{name}");
        // Nor is what was found put aside for something else.
        fs::write(bed.current(), bed.text().replace("later\n", "other\n")).unwrap();
        let head = later.head.unwrap();
        assert!(!bed.looked_at(Some(&head)).holds(), "{name}");
    }
}

#[test]
fn a_head_from_before_the_damage_does_not_excuse_it() {
    let bed = Bed::new();
    bed.ledger(Limits::default()).append(&record(1)).unwrap();
    let head = bed.verified().head.unwrap();
    bed.add(b"\0\n");
    bed.ledger(Limits::default()).append(&record(2)).unwrap();
    let found = bed.looked_at(Some(&head));
    assert!(!found.holds() && found.known == Some(1), "{found:?}");
}

/// A note excuses nothing but what the journal found: neither other bytes, nor another place, nor lines that follow.
#[test]
fn a_note_of_damage_that_was_not_found_there_excuses_nothing() {
    let noted = || {
        let bed = Bed::new();
        let ledger = bed.ledger(Limits::default());
        (0..3).for_each(|ms| ledger.append(&record(ms)).unwrap());
        bed.add(b"one\ntwo\n");
        bed.ledger(Limits::default()).append(&record(4)).unwrap();
        let head = bed.looked_at(None).head.unwrap();
        assert!(bed.looked_at(Some(&head)).holds());
        (bed, head)
    };
    let whole = record(9);
    let forged = String::from_utf8(object(&whole).unwrap()).unwrap();
    for (name, from, to) in [
        ("other bytes", "one\n", "six\n"),
        ("more bytes", "one\n", "one\nand\n"),
        ("fewer", "one\n", ""),
        ("a line that looks whole", "one\n", &format!("{forged}\n")),
        ("a line before it", "\"ms\":1", "\"ms\":7"),
        ("the last line before it", "\"ms\":2", "\"ms\":7"),
        ("the note", "\"bytes\":8", "\"bytes\":9"),
    ] {
        let (bed, head) = noted();
        assert!(bed.text().contains(from), "{name}");
        fs::write(bed.current(), bed.text().replacen(from, to, 1)).unwrap();
        let found = bed.looked_at(Some(&head));
        assert!(
            !found.holds() && found.breaks.iter().any(|found| found.noted_by.is_none()),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn damage_at_the_end_of_a_file_that_was_put_aside_is_noted_in_the_next() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits { keep: 100, ..SMALL });
    (0..20).for_each(|ms| ledger.append(&record(ms)).unwrap());
    let aside = bed.files()[0].clone();
    for file in &bed.files()[1..] {
        fs::remove_file(file).unwrap();
    }
    fs::write(&aside, fs::read_to_string(&aside).unwrap() + "\0\0\n").unwrap();
    bed.ledger(SMALL).append(&record(21)).unwrap();
    let found = bed.looked_at(None);
    assert_eq!(found.breaks.len(), 1, "{found:?}");
    assert_eq!((&found.breaks[0].mismatch.file, found.breaks[0].noted_by.is_some()), (&aside, true));
}

#[test]
fn lines_behind_a_break_that_nobody_noted_are_told_to_follow_each_other() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits::default());
    (0..9).for_each(|ms| ledger.append(&record(ms)).unwrap());
    fs::write(bed.current(), bed.text().replacen("\"ms\":3", "\"ms\":33", 1)).unwrap();
    let found = bed.looked_at(None);
    let [only] = found.breaks.as_slice() else { panic!("{found:?}") };
    assert_eq!((only.mismatch.line, only.noted_by, only.resumes_at), (5, None, Some(5)));
    assert_eq!(found.last, 9);
    // What was kept behind it proves nothing about what was before it.
    assert!(!bed.looked_at(found.head.as_deref()).holds());
}

impl Bed {
    /// A chain of nine lines whose fourth was changed, and two more behind it.
    fn with_a_break() -> Self {
        let bed = Self::new();
        (0..9).for_each(|ms| bed.ledger(Limits::default()).append(&record(ms)).unwrap());
        fs::write(bed.current(), bed.text().replacen("\"ms\":3", "\"ms\":33", 1)).unwrap();
        (9..11).for_each(|ms| bed.ledger(Limits::default()).append(&record(ms)).unwrap());
        bed
    }

    fn acknowledge(&self) -> usize {
        self.ledger(Limits::default()).acknowledge(Some("a copy was put back")).unwrap().len()
    }
}

#[test]
fn an_acknowledged_break_stays_listed_and_counts_no_more() {
    let bed = Bed::with_a_break();
    let found = bed.looked_at(None);
    assert!(!found.holds() && found.breaks.len() == 1, "the control");
    assert_eq!(bed.acknowledge(), 1);
    let found = bed.looked_at(None);
    let [only] = found.breaks.as_slice() else { panic!("{found:?}") };
    assert_eq!((only.mismatch.line, only.acknowledged_by, only.resumes_at), (5, Some(12), Some(5)));
    assert!(found.holds() && found.clone().into_result().is_ok());
    let note = bed.text().lines().last().unwrap().to_owned();
    assert!(
        note.contains("\"note\":\"acknowledged\"") && note.contains("\"reason\":\"a copy was put back\"")
    );
    // It is noted once, and the chain goes on.
    assert_eq!(bed.acknowledge(), 0);
    bed.ledger(Limits::default()).append(&record(11)).unwrap();
    let found = bed.looked_at(None);
    assert_eq!((found.holds(), found.breaks.len(), found.last), (true, 1, 13));
}

/// Every kind of break: noted by the journal, of a foreign line, of lines that are missing, at the end of a file.
#[test]
fn whatever_is_broken_can_be_acknowledged() {
    type Spoil = fn(&Bed);
    let cases: [(&str, Spoil); 6] = [
        ("damage that was noted", |bed| {
            bed.add(b"\0\0\n");
            bed.ledger(Limits::default()).append(&record(9)).unwrap();
        }),
        ("damage that was not", |bed| bed.add(b"\0\0\n{\"v\":2")),
        ("a line of another program", |bed| {
            fs::write(bed.current(), bed.text().replacen('\n', "\nanother\n", 1)).unwrap();
        }),
        ("a line is missing", |bed| {
            let text = bed.text();
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            fs::write(bed.current(), [&lines[..2], &lines[3..]].concat().concat()).unwrap();
        }),
        ("two lines were changed", |bed| {
            let text = bed.text().replacen("\"ms\":2", "\"ms\":22", 1).replacen("\"ms\":5", "\"ms\":55", 1);
            fs::write(bed.current(), text).unwrap();
        }),
        ("half a line at the end of a file that was put aside", |bed| {
            let aside = bed.directory().join("record-000001.jsonl");
            let next = bed.directory().join("next");
            fs::rename(bed.current(), &next).unwrap();
            fs::write(aside, fs::read_to_string(&next).unwrap() + "{\"v\":2").unwrap();
            fs::remove_file(next).unwrap();
            (9..12).for_each(|ms| bed.ledger(Limits::default()).append(&record(ms)).unwrap());
        }),
    ];
    for (name, spoil) in cases {
        let bed = Bed::new();
        (0..9).for_each(|ms| bed.ledger(Limits::default()).append(&record(ms)).unwrap());
        assert!(bed.looked_at(None).holds(), "{name}: the control");
        spoil(&bed);
        assert!(!bed.looked_at(None).holds(), "{name}");
        assert!(bed.acknowledge() > 0, "{name}");
        let found = bed.looked_at(None);
        assert!(found.holds() && !found.breaks.is_empty(), "{name}: {found:?}");
        assert_eq!(bed.acknowledge(), 0, "{name}");
    }
}

/// An acknowledgement speaks of what stood there, at that place, before it.
#[test]
fn what_is_changed_later_is_a_break_again() {
    for (name, from, to) in [
        ("the changed line, once more", "\"ms\":33", "\"ms\":34"),
        ("the changed line, as it was", "\"ms\":33", "\"ms\":3"),
        ("the line that did not follow", "\"ms\":4", "\"ms\":44"),
        ("a line behind it", "\"ms\":6", "\"ms\":66"),
        ("a line before it", "\"ms\":1,", "\"ms\":11,"),
        ("the note", "put back", "put in"),
    ] {
        let bed = Bed::with_a_break();
        bed.acknowledge();
        bed.ledger(Limits::default()).append(&record(12)).unwrap();
        assert!(bed.looked_at(None).holds(), "{name}: the control");
        let text = bed.text();
        assert!(text.contains(from), "{name}: {text}");
        fs::write(bed.current(), text.replacen(from, to, 1)).unwrap();
        let found = bed.looked_at(None);
        // As it was, nothing is broken any more.
        assert_eq!(found.holds(), to == "\"ms\":3", "{name}: {found:?}");
        assert!(found.holds() || found.breaks.iter().any(|found| found.acknowledged_by.is_none()), "{name}");
    }
}

#[test]
fn an_acknowledgement_from_before_a_break_does_not_excuse_it() {
    let bed = Bed::with_a_break();
    bed.acknowledge();
    let note = bed.text().lines().last().unwrap().to_owned() + "\n";
    let bed = Bed::with_a_break();
    bed.add(note.as_bytes());
    bed.ledger(Limits::default()).append(&record(12)).unwrap();
    assert!(!bed.looked_at(None).holds(), "a note that follows no line is none");
}

#[test]
fn more_breaks_than_are_listed_are_not_acknowledged() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits::default());
    (0..350).for_each(|ms| ledger.append(&record(ms)).unwrap());
    let text = bed.text();
    let changed = text.lines().enumerate().map(|(at, line)| {
        if at % 3 == 0 { line.replacen("done", "lost", 1) + "\n" } else { line.to_owned() + "\n" }
    });
    fs::write(bed.current(), changed.collect::<String>()).unwrap();
    assert!(bed.looked_at(None).omitted_breaks > 0);
    let refused = bed.ledger(Limits::default()).acknowledge(None).unwrap_err();
    assert!(matches!(refused, CannotAcknowledge::TooMany), "{refused}");
}

#[test]
fn the_end_of_a_record_is_verified_alone() {
    let bed = Bed::new();
    let ledger = bed.ledger(Limits { keep: 100, ..SMALL });
    (0..100).for_each(|ms| ledger.append(&record(ms)).unwrap());
    let end = |most: u64| verify_end(&opened(&bed.directory()).unwrap(), most).unwrap();
    for most in [0, 1, 300, 1999, 2000, 2500, 9999, u64::MAX] {
        let found = end(most);
        assert!(found.holds(), "{most}: {found:?}");
        assert!(found.lines <= most / 100 + 1, "{most}: {found:?}");
    }
    assert_eq!(end(u64::MAX), bed.looked_at(None));
    let last = bed.files().len() - 2;
    let aside = bed.files()[last].clone();
    fs::write(&aside, fs::read_to_string(&aside).unwrap().replacen("done", "lost", 1)).unwrap();
    assert!(!end(9999).holds() && end(1).holds(), "only as far as it is looked at");
    // Where it begins among lines without a seal, the first sealed one begins the chain.
    let old = Bed::new();
    fs::create_dir_all(old.directory()).unwrap();
    fs::write(old.current(), "{\"v\":1,\"kind\":\"outcome\"}\n".repeat(100)).unwrap();
    old.ledger(Limits::default()).append(&record(1)).unwrap();
    let found = verify_end(&opened(&old.directory()).unwrap(), 500).unwrap();
    assert!(found.holds() && found.lines == 1, "{found:?}");
}
