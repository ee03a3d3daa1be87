//! What containment costs: read the ratios of one column, not the times.
//!
//! `bare` opens and reads by path as any program would. `resolved` opens and reads a place that was resolved before:
//! at most 1.1 of `bare`. `resolve_and_read` is the whole of judging and reading: at most 2 of `bare`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench that cannot go on fails")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use divan::{Bencher, black_box};
use pinfold_paths::{
    Ambient, Contained, LastLink, PathClaim, Resolution, Strategy, Workspace, WritableRoots,
};

fn main() {
    divan::main();
}

/// What is read: a file at the top, a usual source file, one far down, one behind a link.
const CLAIMS: [&str; 4] =
    ["top.txt", "src/lib/mod.rs", "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/f.txt", "link/mod.rs"];

struct Bed {
    _temp: tempfile::TempDir,
    root: PathBuf,
    line: WritableRoots,
}

impl Bed {
    fn new(strategy: Strategy) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("home/user/project");
        for claim in ["top.txt", "src/lib/mod.rs", CLAIMS[2]] {
            fs::create_dir_all(root.join(claim).parent().unwrap()).unwrap();
            fs::write(root.join(claim), "a small file\n".repeat(80)).unwrap();
        }
        symlink("src/lib", root.join("link")).unwrap();
        let line = WritableRoots::new(Workspace::open(&Ambient::claim(), &root).unwrap(), None)
            .with_strategy(strategy);
        Self { _temp: temp, root, line }
    }

    fn resolve(&self, claim: &str) -> Contained {
        match self.line.resolve(&self.root, &PathClaim::new(claim), LastLink::Follow) {
            Resolution::Contained(place) => place,
            other => panic!("{other:?}"),
        }
    }
}

fn read(mut file: fs::File, buffer: &mut [u8]) -> usize {
    file.read(buffer).unwrap()
}

#[divan::bench(args = CLAIMS, sample_size = 200)]
fn a_bare(bencher: Bencher, claim: &str) {
    let bed = Bed::new(Strategy::probed());
    let path = bed.root.join(claim);
    let mut buffer = vec![0; 8192];
    bencher.bench_local(|| read(fs::File::open(black_box(&path)).unwrap(), &mut buffer));
}

#[divan::bench(args = CLAIMS, sample_size = 200)]
fn b_resolved(bencher: Bencher, claim: &str) {
    let bed = Bed::new(Strategy::probed());
    let place = bed.resolve(claim);
    let mut buffer = vec![0; 8192];
    bencher.bench_local(|| read(black_box(&place).open_file().unwrap(), &mut buffer));
}

fn resolve_and_read(bencher: Bencher, claim: &str, strategy: Strategy) {
    let bed = Bed::new(strategy);
    let mut buffer = vec![0; 8192];
    bencher.bench_local(|| read(bed.resolve(black_box(claim)).open_file().unwrap(), &mut buffer));
}

#[divan::bench(args = CLAIMS, sample_size = 200)]
fn c_resolve_and_read_openat2(bencher: Bencher, claim: &str) {
    resolve_and_read(bencher, claim, Strategy::Openat2);
}

#[divan::bench(args = CLAIMS, sample_size = 200)]
fn d_resolve_and_read_by_hand(bencher: Bencher, claim: &str) {
    resolve_and_read(bencher, claim, Strategy::ByHand);
}

#[divan::bench(args = CLAIMS, sample_size = 200)]
fn e_resolve_only(bencher: Bencher, claim: &str) {
    let bed = Bed::new(Strategy::probed());
    bencher.bench_local(|| bed.resolve(black_box(claim)));
}

/// The way that is often taken and loses races: canonicalise, compare, open by path.
#[divan::bench(args = CLAIMS, sample_size = 200)]
fn f_canonicalize_and_read(bencher: Bencher, claim: &str) {
    let bed = Bed::new(Strategy::probed());
    let path = bed.root.join(claim);
    let mut buffer = vec![0; 8192];
    bencher.bench_local(|| {
        let real = black_box(&path).canonicalize().unwrap();
        assert!(real.starts_with(Path::new(&bed.root)));
        read(fs::File::open(real).unwrap(), &mut buffer)
    });
}
