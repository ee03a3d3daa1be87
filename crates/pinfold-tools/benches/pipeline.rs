//! Cost of the pipeline of a call, beside the same operation without it.

#![expect(clippy::unwrap_used, reason = "a bench stops where it fails")]
#![expect(clippy::wildcard_imports, reason = "the modules only name the groups of one file")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use divan::Bencher;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{WalkBuilder, WalkState};
use pinfold::audit::{Discard, Journal, JsonLines};
use pinfold::{Ambient, Plan, RawCall, Session};
use pinfold_tools::{CallEnding, call};
use serde_json::json;

fn main() {
    divan::main();
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    (temp, root)
}

fn session(root: &Path, journal: Arc<dyn Journal>) -> Session {
    Session::open(&Ambient::claim(), Plan::for_folder(root), journal).unwrap()
}

const SMALL: &str = "src/module/small.rs";

fn with_small_file() -> (tempfile::TempDir, PathBuf) {
    let (temp, root) = folder();
    fs::create_dir_all(root.join("src/module")).unwrap();
    fs::write(root.join(SMALL), "fn main() {}\n".repeat(40)).unwrap();
    (temp, root)
}

mod read_a_small_file {
    use super::*;

    #[divan::bench]
    fn bare_open_and_read(bencher: Bencher<'_, '_>) {
        let (_temp, root) = with_small_file();
        let path = root.join(SMALL);
        bencher.bench(|| {
            let mut content = Vec::new();
            fs::File::open(&path).unwrap().read_to_end(&mut content).unwrap();
            content
        });
    }

    #[divan::bench]
    fn considered_only(bencher: Bencher<'_, '_>) {
        let (_temp, root) = with_small_file();
        let session = session(&root, Arc::new(Discard));
        let read = RawCall::new("Read", json!({"file_path": SMALL}));
        bencher.bench(|| session.check(&read).unwrap());
    }

    #[divan::bench]
    fn judged_held_and_read(bencher: Bencher<'_, '_>) {
        let (_temp, root) = with_small_file();
        let session = session(&root, Arc::new(Discard));
        let read = RawCall::new("Read", json!({"file_path": SMALL}));
        bencher.bench(|| {
            let pinfold::Ruling::Permit(permit) = session.submit(&read) else { unreachable!() };
            let (_, mut targets, receipt) = permit.spend();
            let (file, version) = targets.next_read().unwrap().open_file().unwrap();
            let mut content = Vec::with_capacity(usize::try_from(version.len()).unwrap() + 64);
            file.take(version.len() + 1).read_to_end(&mut content).unwrap();
            receipt.close(&pinfold::Outcome::Done).unwrap();
            content
        });
    }

    #[divan::bench]
    fn the_whole_tool(bencher: Bencher<'_, '_>) {
        let (_temp, root) = with_small_file();
        let session = session(&root, Arc::new(Discard));
        let read = RawCall::new("Read", json!({"file_path": SMALL}));
        bencher.bench(|| call(&session, &read));
    }

    #[divan::bench]
    fn the_whole_tool_with_a_record_on_disk(bencher: Bencher<'_, '_>) {
        let (_temp, root) = with_small_file();
        let log = fs::OpenOptions::new().create(true).append(true).open(root.join("log")).unwrap();
        let session = session(&root, Arc::new(JsonLines::new(log)));
        let read = RawCall::new("Read", json!({"file_path": SMALL}));
        bencher.bench(|| call(&session, &read));
    }
}

mod edit_64_kib {
    use super::*;

    fn text() -> String {
        (0..1600).map(|n| format!("line {n:>6} of a file that is edited")).collect::<Vec<_>>().join("\n")
    }

    #[divan::bench]
    fn bare_read_replace_and_write(bencher: Bencher<'_, '_>) {
        let (_temp, root) = folder();
        let path = root.join("f");
        fs::write(&path, text()).unwrap();
        let mut turn = Turn::default();
        bencher.bench_local(|| {
            let (old, new) = turn.next();
            let content = fs::read_to_string(&path).unwrap().replacen(&old, &new, 1);
            let beside = root.join("f.tmp");
            let file = fs::File::create(&beside).unwrap();
            std::io::Write::write_all(&mut &file, content.as_bytes()).unwrap();
            file.sync_all().unwrap();
            fs::rename(beside, &path).unwrap();
        });
    }

    #[divan::bench]
    fn the_whole_tool(bencher: Bencher<'_, '_>) {
        let (_temp, root) = folder();
        fs::write(root.join("f"), text()).unwrap();
        let session = session(&root, Arc::new(Discard));
        call(&session, &RawCall::new("Read", json!({"file_path": "f", "limit": 1})));
        let mut turn = Turn::default();
        bencher.bench_local(|| {
            let (old, new) = turn.next();
            let edit = RawCall::new("Edit", json!({"file_path": "f", "old_string": old, "new_string": new}));
            assert_eq!(call(&session, &edit).ended, CallEnding::Done);
        });
    }

    /// There and back again.
    #[derive(Default)]
    struct Turn(bool);

    impl Turn {
        fn next(&mut self) -> (String, String) {
            self.0 = !self.0;
            let (a, b) = ("line    800 of".to_owned(), "line    800 changed, of".to_owned());
            if self.0 { (a, b) } else { (b, a) }
        }
    }
}

mod grep_4000_files {
    use super::*;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let (temp, root) = folder();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".gitignore"), "*.log\n/target\n").unwrap();
        for folder in 0..200 {
            let folder = root.join(format!("crate{}/src/part{folder}", folder % 20));
            fs::create_dir_all(&folder).unwrap();
            for file in 0..20 {
                let line =
                    format!("pub fn function_{file}(argument: usize) -> usize {{ argument + {file} }}\n");
                let needle = if file == 7 { "let needle = 1;\n" } else { "" };
                fs::write(folder.join(format!("file{file}.rs")), line.repeat(60) + needle).unwrap();
            }
        }
        (temp, root)
    }

    /// Counts a file at its first match.
    struct FirstOnly<'a>(&'a AtomicUsize);

    impl Sink for FirstOnly<'_> {
        type Error = std::io::Error;

        fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, std::io::Error> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(false)
        }
    }

    #[divan::bench(sample_count = 20)]
    fn by_ripgreps_own_walk(bencher: Bencher<'_, '_>) {
        let (_temp, root) = tree();
        let matcher = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build("needle").unwrap();
        bencher.bench(|| {
            let found = AtomicUsize::new(0);
            let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            WalkBuilder::new(&root).hidden(false).threads(threads).build_parallel().run(|| {
                let mut searcher = SearcherBuilder::new()
                    .binary_detection(BinaryDetection::quit(0))
                    .line_number(false)
                    .build();
                let (matcher, found) = (&matcher, &found);
                Box::new(move |entry| {
                    let entry = entry.unwrap();
                    if entry.file_type().is_some_and(|kind| kind.is_file()) {
                        let sink = FirstOnly(found);
                        searcher.search_path(matcher, entry.path(), sink).unwrap();
                    }
                    WalkState::Continue
                })
            });
            found.into_inner()
        });
    }

    #[divan::bench(sample_count = 20)]
    fn the_whole_tool(bencher: Bencher<'_, '_>) {
        let (_temp, root) = tree();
        let session = session(&root, Arc::new(Discard));
        let grep = RawCall::new("Grep", json!({"pattern": "needle"}));
        bencher.bench(|| call(&session, &grep));
    }

    #[divan::bench(sample_count = 20)]
    fn the_whole_tool_with_lines(bencher: Bencher<'_, '_>) {
        let (_temp, root) = tree();
        let session = session(&root, Arc::new(Discard));
        let grep = RawCall::new("Grep", json!({"pattern": "needle", "output_mode": "content"}));
        bencher.bench(|| call(&session, &grep));
    }
}
