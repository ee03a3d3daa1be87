//! The journal under those who share it, those who are killed and those who change it afterwards.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pinfold::Ambient;
use pinfold::audit::ledger::{files, opened};
use pinfold::audit::read::Read;
use pinfold::audit::{
    AuditEvent, Hash, Journal as _, Ledger, Limits, LogReader, OutcomeEvent, Record, Verified, verify,
};

/// `DIRECTORY\nMAX_SIZE\nLINES\nNAME`: a process that does nothing but append.
const CHILD: &str = "PINFOLD_TEST_APPENDS";

fn record(session: &str, ms: u64) -> Record {
    let kind = AuditEvent::Outcome(OutcomeEvent { end: "done".into(), ms, ..OutcomeEvent::default() });
    Record {
        id: Some(ms),
        tool: "Write".into(),
        ..Record::for_session(&session.into(), &"main".into(), kind)
    }
}

/// No test by itself: what the others start.
#[test]
fn child() {
    let Ok(said) = env::var(CHILD) else { return };
    let said: Vec<&str> = said.split('\n').collect();
    let [directory, max_size, lines, name] = said[..] else { panic!("{said:?}") };
    let limits = Limits { max_size: max_size.parse().unwrap(), keep: 10_000 };
    let ledger = Ledger::open(&Ambient::claim(), directory, limits).unwrap();
    for ms in 0..lines.parse().unwrap() {
        if let Err(error) = ledger.append(&record(name, ms)) {
            println!("refused: {error}");
            return;
        }
    }
    println!("all appended");
}

/// The command of such a process.
fn child_command(directory: &Path, max_size: u64, lines: u64, name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "ledger::child", "--nocapture"])
        .env(CHILD, format!("{}\n{max_size}\n{lines}\n{name}", directory.display()))
        .stdout(Stdio::piped());
    command
}

fn start(directory: &Path, max_size: u64, lines: u64, name: &str) -> Child {
    child_command(directory, max_size, lines, name).spawn().unwrap()
}

fn said(mut child: Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}

fn verified(directory: &Path) -> Verified {
    verify(&opened(directory).unwrap(), None)
        .unwrap()
        .into_result()
        .unwrap_or_else(|mismatch| panic!("{mismatch}"))
}

fn texts(directory: &Path) -> Vec<String> {
    let texts = files(directory).unwrap().into_iter().map(|file| fs::read_to_string(file).unwrap());
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn eight_processes_keep_one_chain_while_files_are_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let children: Vec<Child> =
        (0..8).map(|i| start(folder.path(), 64 << 10, 1000, &format!("p{i}"))).collect();
    for child in children {
        assert!(said(child).contains("all appended"));
    }
    let found = verified(folder.path());
    let aside = files(folder.path()).unwrap().len() as u64 - 1;
    assert!(aside > 20);
    assert_eq!((found.lines, found.first, found.torn), (8000 + aside, 1, 0));
    // Each one's own lines are all there, in the order in which it wrote them.
    let lines = texts(folder.path());
    for i in 0..8 {
        let own = format!("\"session\":\"p{i}\",\"id\":");
        let ids =
            lines.iter().filter_map(|line| line.split_once(&own)?.1.split(',').next()?.parse::<u64>().ok());
        assert_eq!(ids.collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
    }
}

#[test]
fn threads_of_one_process_keep_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { max_size: 32 << 10, keep: 1000 };
    let ledger = Arc::new(Ledger::open(&Ambient::claim(), folder.path(), limits).unwrap());
    std::thread::scope(|scope| {
        for i in 0..8 {
            let ledger = Arc::clone(&ledger);
            scope.spawn(move || {
                (0..250).for_each(|ms| ledger.append(&record(&format!("t{i}"), ms)).unwrap());
            });
        }
    });
    let aside = files(folder.path()).unwrap().len() as u64 - 1;
    assert_eq!(verified(folder.path()).lines, 2000 + aside);
}

#[test]
fn several_lines_at_once_are_lines_like_others() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { max_size: 4000, keep: 100 };
    let ledger = Ledger::open(&Ambient::claim(), folder.path(), limits).unwrap();
    let records: Vec<Record> = (0..5).map(|ms| record("s", ms)).collect();
    for count in [0, 1, 5, 2, 5, 5] {
        ledger.append_all(&records[..count]).unwrap();
    }
    let aside = files(folder.path()).unwrap().len() as u64 - 1;
    assert!(aside > 0);
    assert_eq!(verified(folder.path()).lines, 18 + aside);
}

#[test]
fn whoever_is_killed_in_the_middle_leaves_a_chain_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..40_u64 {
        let mut children: Vec<Child> =
            (0..3).map(|i| start(folder.path(), 256 << 10, u64::MAX, &format!("r{round}-{i}"))).collect();
        std::thread::sleep(Duration::from_millis(15 + round % 7 * 5));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    let before = verified(folder.path());
    assert!(before.lines > 1000, "{before:?}");
    let ledger = Ledger::open(&Ambient::claim(), folder.path(), Limits::default()).unwrap();
    ledger.append(&record("after", 1)).unwrap();
    let after = verified(folder.path());
    assert!(after.lines > before.lines && after.unfinished == 0, "{after:?}");
}

#[test]
fn whoever_looks_while_others_write_and_put_aside_sees_a_whole_chain() {
    let folder = tempfile::tempdir().unwrap();
    let mut children: Vec<Child> =
        (0..3).map(|i| start(folder.path(), 8 << 10, u64::MAX, &format!("w{i}"))).collect();
    let (mut reader, mut seen, mut looks) = (LogReader::open_record(&Ambient::claim(), folder.path()), 0, 0);
    while files(folder.path()).unwrap().len() < 60 {
        // One of them is stopped in the middle now and then, and another goes on.
        if looks % 16 == 7 {
            let next = looks % children.len();
            children[next].kill().unwrap();
            children[next].wait().unwrap();
            children[next] = start(folder.path(), 8 << 10, u64::MAX, &format!("again-{looks}"));
        }
        looks += 1;
        verified(folder.path());
        reader
            .for_each(|read| match read {
                Read::Line(..) => {
                    seen += 1;
                    Ok::<(), std::io::Error>(())
                }
                Read::Damaged(damage) => panic!("{damage}"),
            })
            .unwrap();
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut rest = 0;
    let count = |_: Read<'_>| {
        rest += 1;
        Ok::<(), std::io::Error>(())
    };
    reader.for_each(count).unwrap();
    assert!(looks > 1);
    // Nothing was read twice, and nothing passed over but what was left unfinished.
    let found = verified(folder.path());
    assert_eq!(seen + rest, found.lines, "{found:?}");
}

#[test]
fn a_full_disk_refuses_the_line_and_leaves_no_half_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("state");
    // A file may grow to 8 blocks of 512 bytes; whoever is told so by a signal would end.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]);
    let command = child_command(&directory, 1 << 20, 1000, "full");
    shell.arg(command.get_program()).args(command.get_args()).stdout(Stdio::piped());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let told = said(shell.spawn().unwrap());
    assert!(told.contains("refused"), "{told}");
    let found = verified(&directory);
    assert!(found.lines > 3 && found.unfinished == 0, "{found:?}");
    // With room again it goes on.
    let ledger = Ledger::open(&Ambient::claim(), &directory, Limits::default()).unwrap();
    ledger.append(&record("later", 1)).unwrap();
    assert_eq!(verified(&directory).lines, found.lines + 1);
}

/// Three files of a chain, and the heads at its end and in its middle.
struct Chain {
    folder: tempfile::TempDir,
    files: Vec<PathBuf>,
    head: (u64, Hash),
    middle: (u64, Hash),
}

impl Chain {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { max_size: 2000, keep: 100 };
        let ledger = Ledger::open(&Ambient::claim(), folder.path(), limits).unwrap();
        let head = || {
            let found = verified(folder.path());
            (found.last, Hash::parse(&found.head.unwrap()).unwrap())
        };
        (0..10).for_each(|ms| ledger.append(&record("s", ms)).unwrap());
        let middle = head();
        (10..20).for_each(|ms| ledger.append(&record("s", ms)).unwrap());
        let (files, head) = (files(folder.path()).unwrap(), head());
        assert!(files.len() > 2);
        Self { folder, files, head, middle }
    }

    /// The lines of a file, changed and written back.
    fn change(&self, file: usize, change: impl FnOnce(&mut Vec<String>)) {
        let text = fs::read_to_string(&self.files[file]).unwrap();
        let mut lines: Vec<String> = text.lines().map(|line| line.to_owned() + "\n").collect();
        change(&mut lines);
        fs::write(&self.files[file], lines.concat()).unwrap();
    }

    fn holds(&self, known: Option<Hash>) -> Result<Verified, pinfold::audit::Mismatch> {
        verify(&opened(self.folder.path()).unwrap(), known).unwrap().into_result()
    }
}

#[test]
fn every_change_before_the_end_is_named_by_the_first_line_that_does_not_follow() {
    type Change = fn(&mut Vec<String>);
    let flip: Change = |lines| lines[2] = lines[2].replace("\"done\"", "\"dune\"");
    let cases: [(&str, usize, Change, usize, u64); 8] = [
        ("a byte is flipped", 0, flip, 0, 4),
        ("a line is taken out", 0, |lines| drop(lines.remove(2)), 0, 3),
        ("two lines are swapped", 0, |lines| lines.swap(1, 2), 0, 2),
        ("a line is put in", 0, |lines| lines.insert(2, "{\"v\":2}\n".to_owned()), 0, 3),
        ("a line is said twice", 0, |lines| lines.insert(2, lines[1].clone()), 0, 3),
        ("the last line of a file is taken out", 0, |lines| drop(lines.pop()), 1, 1),
        (
            "the first line of a later file is changed",
            1,
            |lines| lines[0] = lines[0].replace("main", "mean"),
            1,
            2,
        ),
        ("a blank stands in a line", 1, |lines| lines[1] = lines[1].replacen(',', ", ", 1), 1, 3),
    ];
    for (name, file, change, found_in, line) in cases {
        let chain = Chain::new();
        chain.holds(None).unwrap();
        chain.change(file, change);
        let mismatch = chain.holds(None).unwrap_err();
        assert_eq!((&mismatch.file, mismatch.line), (&chain.files[found_in], line), "{name}: {mismatch}");
        assert!(chain.holds(Some(chain.head.1)).is_err(), "{name}");
    }
}

#[test]
fn a_file_that_is_missing_between_others_is_missed() {
    let chain = Chain::new();
    fs::remove_file(&chain.files[1]).unwrap();
    let mismatch = chain.holds(None).unwrap_err();
    assert!(mismatch.why.contains("missing"), "{mismatch}");
}

#[test]
fn the_end_can_be_cut_unseen_unless_its_head_was_kept() {
    let last = |chain: &Chain| chain.files.len() - 1;
    let flip_last = |lines: &mut Vec<String>| {
        let end = lines.len() - 1;
        lines[end] = lines[end].replace("\"done\"", "\"dune\"");
    };
    let cut: fn(&mut Vec<String>) = |lines| drop(lines.pop());
    for change in [cut, flip_last] {
        let chain = Chain::new();
        assert_eq!(chain.holds(Some(chain.head.1)).unwrap().known, Some(chain.head.0));
        assert_eq!(chain.holds(Some(chain.middle.1)).unwrap().known, Some(chain.middle.0));
        chain.change(last(&chain), change);
        // Said plainly: the files alone do not tell.
        chain.holds(None).unwrap();
        assert!(chain.holds(Some(chain.head.1)).is_err());
        assert!(chain.holds(Some(chain.middle.1)).is_ok());
    }
}

#[test]
fn a_chain_that_is_made_anew_is_told_by_a_head_that_was_kept() {
    let (old, new) = (Chain::new(), Chain::new());
    assert!(new.holds(None).is_ok());
    assert!(new.holds(Some(old.head.1)).is_err());
    assert!(new.holds(Some(old.middle.1)).is_err());
}

#[test]
fn a_note_about_an_unfinished_line_excuses_only_what_it_was_written_about() {
    let chain = Chain::new();
    let current = chain.files.last().unwrap();
    let text = fs::read_to_string(current).unwrap();
    fs::write(current, format!("{text}{{\"half")).unwrap();
    let ledger = Ledger::open(&Ambient::claim(), chain.folder.path(), Limits::default()).unwrap();
    ledger.append(&record("s", 21)).unwrap();
    assert_eq!(chain.holds(None).unwrap().torn, 1);
    let end = chain.files.len() - 1;
    chain.change(end, |lines| {
        let half = lines.iter().position(|line| line == "{\"half\n").unwrap();
        lines[half] = "{\"other\n".to_owned();
    });
    assert!(chain.holds(None).is_err());
}

#[test]
fn a_line_that_is_read_while_it_is_written_is_unfinished_and_no_misfit() {
    let chain = Chain::new();
    let current = chain.files.last().unwrap();
    let file = File::options().append(true).open(current).unwrap();
    std::io::Write::write_all(&mut &file, b"{\"v\":2,").unwrap();
    assert_eq!(chain.holds(None).unwrap().unfinished, 7);
}
