//! Indexes that git writes are taken; those that lead out, and those that can be read in two ways, are not.

use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A repository with an empty configuration around it.
struct Repository(TempDir);

impl Repository {
    fn new(format: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.git(&["init", "-q", &format!("--object-format={format}")]);
        folder
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.0.path()).args(args);
        for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
            git.env(name, "/dev/null");
        }
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
            git.env_remove(name);
        }
        let output = git.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn file(&self, path: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    fn link(&self, path: &str) {
        std::os::unix::fs::symlink("elsewhere", self.0.path().join(path)).unwrap();
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(".git").join(name)
    }

    fn index(&self) -> Vec<u8> {
        fs::read(self.at("index")).unwrap()
    }

    fn judged(&self, hash: Hash) -> Result<(), Unfit> {
        judged(&self.index(), hash, &self.at(""))
    }
}

fn judged(content: &[u8], hash: Hash, beside: &Path) -> Result<(), Unfit> {
    let index = Index::parse(content, hash)?;
    let read = |name: String| Index::parse(&fs::read(beside.join(name)).unwrap(), hash).unwrap();
    let shared = index.shared().map(read);
    index.judge(shared)
}

fn put(content: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at =
        content.windows(from.len()).position(|part| part == from.as_bytes()).expect("the name in the index");
    [&content[..at], to.as_bytes(), &content[at + from.len()..]].concat()
}

#[test]
fn what_git_writes_is_taken_in_every_version_and_a_name_that_leads_out_is_not() {
    for (format, hash) in [("sha1", Hash::Sha1), ("sha256", Hash::Sha256)] {
        for version in ["2", "3", "4"] {
            let repository = Repository::new(format);
            for path in ["a", "xx/xevil", "zgit/hooks/x", "deep/er/file", "long/".repeat(900).as_str()] {
                repository.file(&if path.ends_with('/') {
                    path.replace("long/", "l/") + "f"
                } else {
                    path.into()
                });
            }
            repository.link("link");
            repository.git(&["add", "-A"]);
            repository.git(&["update-index", "--index-version", version]);
            repository.file("later");
            repository.git(&["add", "-N", "later"]);
            repository.git(&["update-index", "--skip-worktree", "a"]);
            assert_eq!(repository.judged(hash), Ok(()), "{format} {version}");
            let index = repository.index();
            for (from, to) in
                [("xx/xevil", "../xevil"), ("zgit/hooks", ".git/hooks"), ("xx/xevil", "/x/xevil")]
            {
                let evil = judged(&put(&index, from, to), hash, &repository.at(""));
                assert!(matches!(evil, Err(Unfit::LeadsOut(_))), "{format} {version} {to}: {evil:?}");
            }
            let other = if hash == Hash::Sha1 { Hash::Sha256 } else { Hash::Sha1 };
            assert_eq!(repository.judged(other), Err(Unfit::Malformed), "{format} {version}");
        }
    }
}

#[test]
fn what_lies_behind_a_link_is_refused() {
    let repository = Repository::new("sha1");
    repository.file("a0b");
    repository.link("a");
    repository.git(&["add", "-A"]);
    let evil = put(&repository.index(), "a0b", "a/b");
    assert_eq!(judged(&evil, Hash::Sha1, &repository.at("")), Err(Unfit::BehindLink(b"a/b".to_vec())));
}

#[test]
fn both_sides_of_a_conflict_may_have_one_name_and_a_directory_of_that_name() {
    let entry =
        |path: &[u8], kind, stage| Entry { at: 0, whole_name: true, path: path.to_vec(), kind, stage };
    use entry::Kind::{File, Link};
    for (link, file, refused) in [(2, 3, false), (2, 2, true), (0, 0, true), (0, 3, true), (2, 0, true)] {
        let entries = [entry(b"a", Link, link), entry(b"a/b", File, file)];
        assert_eq!(behind_link(&entries).is_some(), refused, "{link} {file}");
    }
}

#[test]
fn a_split_index_is_judged_with_what_it_shares() {
    let repository = Repository::new("sha1");
    for name in ["a", "b", "c", "d"] {
        repository.file(name);
    }
    repository.git(&["add", "-A"]);
    repository.git(&["-c", "splitIndex.maxPercentChange=100", "update-index", "--split-index"]);
    repository.git(&["-c", "splitIndex.maxPercentChange=100", "rm", "-q", "--cached", "b"]);
    // A link in the place of a file, and a new name beside it.
    fs::remove_file(repository.0.path().join("c")).unwrap();
    repository.link("c");
    repository.file("c0x");
    repository.git(&["-c", "splitIndex.maxPercentChange=100", "add", "-A", "c", "c0x"]);
    let index = repository.index();
    let parsed = Index::parse(&index, Hash::Sha1).unwrap();
    let name = parsed.shared().expect("a split index");
    let shared = fs::read(repository.at(&name)).unwrap();
    let base = Index::parse(&shared, Hash::Sha1).unwrap();
    let link = parsed.extensions.link.as_ref().unwrap();
    let seen = split::merged(base.entries, parsed.entries.clone(), link).unwrap();
    let names: Vec<_> = seen.iter().map(|entry| (entry.path.as_slice(), entry.kind)).collect();
    let (file, link) = (entry::Kind::File, entry::Kind::Link);
    assert_eq!(names, [(&b"a"[..], file), (b"c", link), (b"d", file), (b"c0x", file)]);
    assert_eq!(repository.judged(Hash::Sha1), Ok(()));
    let evil = put(&index, "c0x", "c/x");
    assert_eq!(judged(&evil, Hash::Sha1, &repository.at("")), Err(Unfit::BehindLink(b"c/x".to_vec())));
    assert_eq!(
        Index::parse(&index, Hash::Sha1).unwrap().judge(None),
        Err(Unfit::Malformed),
        "without the other"
    );
}

#[test]
fn a_sparse_index_is_taken() {
    let repository = Repository::new("sha1");
    for name in ["a", "in/x", "out/y", "out/z"] {
        repository.file(name);
    }
    repository.git(&["add", "-A"]);
    repository.git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "m"]);
    repository.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    let index = Index::parse(&repository.index(), Hash::Sha1).unwrap();
    assert!(index.entries.iter().any(|entry| entry.path == b"out/"), "{:?}", index.entries);
    assert_eq!(index.judge(None), Ok(()));
}

/// An index with a table of blocks, as git writes it for several threads.
fn in_blocks(version: &str) -> Repository {
    let repository = Repository::new("sha1");
    for at in 0..40 {
        repository.file(&format!("dir/file-{at:02}"));
    }
    let threads = ["-c", "index.threads=4"];
    repository.git(&[&threads[..], &["-c", "feature.manyFiles=false", "add", "-A"]].concat());
    repository
        .git(&[&threads[..], &["update-index", "--force-write-index", "--index-version", version]].concat());
    repository
}

/// A content with these extensions behind one file.
fn with_extensions(extensions: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut content = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
    content.extend([0; 24]);
    content.extend(0o100_644_u32.to_be_bytes());
    content.extend([0; 12 + 20]);
    content.extend(b"\0\x01a\0");
    assert_eq!(content.len() % 8, 4);
    content.extend([0; 0]);
    for (name, payload) in extensions {
        content.extend(*name);
        content.extend(u32::try_from(payload.len()).unwrap().to_be_bytes());
        content.extend(payload);
    }
    content.extend([0; 20]);
    content
}

const END_OF_ENTRIES: u32 = 12 + 64;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn end(offset: u32) -> Vec<u8> {
    [words(&[offset]), vec![7; 20]].concat()
}

#[test]
fn what_git_writes_for_several_threads_is_taken() {
    for version in ["2", "4"] {
        assert_eq!(in_blocks(version).judged(Hash::Sha1), Ok(()), "{version}");
    }
}

#[test]
fn an_index_that_threads_would_read_in_another_way_is_refused() {
    let judged = |extensions: &[(&[u8; 4], Vec<u8>)]| {
        Index::parse(&with_extensions(extensions), Hash::Sha1).and_then(|index| index.judge(None))
    };
    let fits = |table: &[u32], offset| judged(&[(b"IEOT", words(table)), (b"EOIE", end(offset))]);
    assert_eq!(judged(&[]), Ok(()));
    assert_eq!(judged(&[(b"TREE", vec![1, 2, 3])]), Ok(()));
    assert_eq!(fits(&[1, 12, 1], END_OF_ENTRIES), Ok(()));
    for (table, offset) in [
        // Blocks elsewhere, blocks twice, entries missing, another version of the table.
        (&[1, 16, 1][..], END_OF_ENTRIES),
        (&[1, 12, 1, 12, 1], END_OF_ENTRIES),
        (&[1, 12, 0], END_OF_ENTRIES),
        (&[2, 12, 1], END_OF_ENTRIES),
        (&[1, 12], END_OF_ENTRIES),
        // Another end of the entries.
        (&[1, 12, 1], END_OF_ENTRIES + 8),
        (&[1, 12, 1], 12),
    ] {
        assert_eq!(fits(table, offset), Err(Unfit::Malformed), "{table:?} {offset}");
    }
    // The end of the entries said in the last bytes of something else.
    let hidden = [b"EOIE".to_vec(), words(&[24]), end(12)].concat();
    assert_eq!(judged(&[(b"TREE", hidden)]), Err(Unfit::Malformed));
    assert_eq!(judged(&[(b"what", vec![])]), Err(Unfit::Malformed), "git does not know it either");
    assert_eq!(judged(&[(b"link", vec![0; 19])]), Err(Unfit::Malformed));
    assert_eq!(judged(&[(b"link", vec![0; 20])]), Ok(()), "it shares nothing");
}

#[test]
fn a_bitmap_that_claims_more_than_there_is_costs_nothing() {
    let bitmap = |words_of: &[u64]| {
        let count = u32::try_from(words_of.len()).unwrap();
        let bits: Vec<u8> = words_of.iter().flat_map(|word| word.to_be_bytes()).collect();
        [words(&[0, count]), bits, words(&[0])].concat()
    };
    for deleted in [vec![u64::MAX], vec![1 | 0xffff_ffff << 1], vec![1 << 33], vec![1 << 33, u64::MAX]] {
        let link = [vec![1; 20], bitmap(&deleted), bitmap(&[])].concat();
        let index = Index::parse(&with_extensions(&[(b"link", link)]), Hash::Sha1).unwrap();
        let base = Index::parse(&with_extensions(&[]), Hash::Sha1).unwrap();
        assert_eq!(index.judge(Some(base)), Err(Unfit::Malformed), "{deleted:x?}");
    }
}

fn judge_bytes(content: &[u8]) {
    for hash in [Hash::Sha1, Hash::Sha256] {
        if let Ok(index) = Index::parse(content, hash) {
            let _ = index.shared();
            let _ = index.judge(Index::parse(content, hash).ok());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn no_content_makes_it_panic(tail in prop::collection::vec(any::<u8>(), 0..400), version in 2_u32..5, count in 0_u32..4) {
        judge_bytes(&tail);
        judge_bytes(&[b"DIRC".to_vec(), words(&[version, count]), tail].concat());
    }

    #[test]
    fn no_change_of_a_true_index_makes_it_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        let table = [(b"IEOT", words(&[1, 12, 1])), (b"link", [vec![1; 20], words(&[0; 6])].concat()), (b"EOIE", end(END_OF_ENTRIES))];
        let mut content = with_extensions(&table);
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        judge_bytes(&content);
        content.truncate(cut.index(content.len()));
        judge_bytes(&content);
    }
}

proptest! {
    // Each starts git a few times.
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn random_trees_are_taken_and_lose_that_by_one_name_that_leads_out(
        paths in prop::collection::btree_set("[a-d]{1,3}(/[e-h~. -]{1,9}[x-z]){0,3}", 1..24),
        version in 2_u8..5,
        chosen in any::<prop::sample::Index>(),
        evil in prop::sample::select(vec!["../x", ".git/x", "/x", "a/../../x", "a//x", "GIT~1/x", "./x"]),
    ) {
        let repository = Repository::new("sha1");
        let taken: Vec<&String> = paths.iter().filter(|path| {
            let at = repository.0.path().join(path);
            fs::create_dir_all(at.parent().unwrap()).is_ok() && fs::symlink_metadata(&at).is_err() && fs::write(&at, "x").is_ok()
        }).collect();
        repository.git(&["add", "-A"]);
        repository.git(&["update-index", "--force-write-index", "--index-version", &version.to_string()]);
        prop_assert_eq!(repository.judged(Hash::Sha1), Ok(()));
        let mut index = Index::parse(&repository.index(), Hash::Sha1).unwrap();
        prop_assert_eq!(index.entries.len(), taken.len());
        let at = chosen.index(index.entries.len());
        index.entries[at].path = evil.into();
        prop_assert_eq!(index.judge(None), Err(Unfit::LeadsOut(evil.into())));
    }
}
