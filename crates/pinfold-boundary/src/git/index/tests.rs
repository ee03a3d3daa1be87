//! An index of git itself is accepted; the same with one path changed is not.

#![allow(clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use super::*;

/// An entry to be written: path, mode, stage.
type Wanted<'a> = (&'a str, u32, u16);

const FILE: u32 = 0o100_644;
const LINK: u32 = 0o120_000;

/// Writes an index of version 2 as git does.
fn index(entries: &[Wanted<'_>], extensions: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut content = b"DIRC".to_vec();
    content.extend(2_u32.to_be_bytes());
    content.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
    for (path, mode, stage) in entries {
        let start = content.len();
        content.extend([0; 24]);
        content.extend(mode.to_be_bytes());
        content.extend([0; 12 + 20]);
        let len = u16::try_from(path.len().min(0xfff)).unwrap();
        content.extend((stage << 12 | len).to_be_bytes());
        content.extend(path.bytes());
        content.push(0);
        content.resize(start + (content.len() - start).next_multiple_of(8), 0);
    }
    for (signature, data) in extensions {
        content.extend(*signature);
        content.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        content.extend(data);
    }
    content.extend([0; 20]);
    content
}

fn is_safe_alone(content: &[u8]) -> bool {
    is_safe(content, Hash::Sha1, |_| None)
}

#[test]
fn every_path_counts() {
    let accepted = |entries: &[Wanted<'_>]| is_safe_alone(&index(entries, &[]));
    assert!(accepted(&[]));
    assert!(accepted(&[("a", FILE, 0), ("a-b", LINK, 0), ("a/b", FILE, 0), ("m", 0o160_000, 0)]));
    assert!(accepted(&[("a", FILE, 1), ("a", FILE, 2), ("a", FILE, 3)]), "a conflict");
    for path in ["../x", ".git/hooks/pre-commit", "a/../../x", "/etc/x", "a//x", ".GIT/config"] {
        assert!(!accepted(&[(path, FILE, 0)]), "{path}");
    }
    assert!(!accepted(&[("b", FILE, 0), ("a", FILE, 0)]), "not sorted");
    assert!(!accepted(&[("a", FILE, 0), ("a", FILE, 0)]), "twice");
    assert!(!accepted(&[("a", 0o060_000, 0)]), "a device");
}

#[test]
fn no_path_leads_through_a_link() {
    let accepted = |entries: &[Wanted<'_>]| is_safe_alone(&index(entries, &[]));
    assert!(!accepted(&[("a", LINK, 0), ("a/b", FILE, 0)]));
    assert!(!accepted(&[("a", LINK, 0), ("a-c", LINK, 0), ("a.c", FILE, 0), ("a/b/c", FILE, 0)]));
    assert!(!accepted(&[("a", LINK, 2), ("a/b", FILE, 0)]));
    assert!(accepted(&[("a", LINK, 2), ("a/b", FILE, 3)]), "two sides of a conflict");
    assert!(accepted(&[("a", LINK, 0), ("ab/c", FILE, 0), ("b/a", LINK, 0), ("b/ab", FILE, 0)]));
}

#[test]
fn what_git_does_not_know_or_would_read_elsewhere_is_refused() {
    let with = |signature: &[u8; 4], data: Vec<u8>| {
        is_safe_alone(&index(&[("a", FILE, 0), ("b", FILE, 0)], &[(signature, data)]))
    };
    let numbers = |all: &[u32]| all.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
    // An entry of one letter takes 64 bytes, and the header 12.
    let end = 12 + 2 * 64;
    assert!(with(b"XXXX", vec![1, 2, 3]) && !with(b"xxxx", vec![]) && !with(b"\0XXX", vec![]));
    assert!(with(b"IEOT", numbers(&[1, 12, 1, 76, 1])) && with(b"IEOT", numbers(&[1, 12, 2])));
    for wrong in
        [&[1, 12, 1][..], &[1, 12, 1, 80, 1], &[1, 12, 2, 76, 1], &[2, 12, 2], &[1, 76, 1, 12, 1], &[1, 12]]
    {
        assert!(!with(b"IEOT", numbers(wrong)), "{wrong:?}");
    }
    let mut told = numbers(&[end]);
    told.extend([0; 20]);
    assert!(with(b"EOIE", told.clone()));
    told[3] += 8;
    assert!(!with(b"EOIE", told.clone()));
    // The same bytes as the end of another extension, which git does not mind.
    let mut hidden = b"xxxxEOIE".to_vec();
    hidden.extend(numbers(&[24]));
    hidden.extend(told);
    assert!(!with(b"XXXX", hidden));
    assert!(!with(b"link", vec![7; 20]), "a base that is not there");
    assert!(with(b"link", vec![0; 20]), "no base");
    let mut short = index(&[("a", FILE, 0)], &[]);
    short.truncate(short.len() - 21);
    assert!(!is_safe_alone(&short));
}

#[test]
fn a_directory_stands_for_its_content_in_a_sparse_index_alone() {
    let entries: &[Wanted<'_>] = &[("a/", 0o040_000, 0), ("b", FILE, 0)];
    assert!(!is_safe_alone(&index(entries, &[])));
    assert!(is_safe_alone(&index(entries, &[(b"sdir", vec![])])));
    assert!(!is_safe_alone(&index(&[("a/", FILE, 0)], &[(b"sdir", vec![])])));
}

/// Runs git in a directory, without any user's configuration.
fn git(at: &Path, arguments: &[&str]) {
    let run = Command::new("git")
        .args(["-c", "user.name=N", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(at)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", at)
        .output()
        .unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
}

fn accepted_at(top: &Path, hash: Hash) -> bool {
    let git_dir = top.join(".git");
    is_safe(&fs::read(git_dir.join("index")).unwrap(), hash, |name| fs::read(git_dir.join(name)).ok())
}

fn write(top: &Path, name: &str, text: &str) {
    let at = top.join(name);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(at, text).unwrap();
}

#[test]
fn every_form_of_git_itself_is_accepted() {
    for (format, hash) in [("sha1", Hash::Sha1), ("sha256", Hash::Sha256)] {
        for version in ["2", "3", "4"] {
            for configuration in [
                &["index.threads=4"][..],
                &["core.splitIndex=true", "splitIndex.maxPercentChange=100"],
                &["core.untrackedCache=true", "index.skipHash=true"],
            ] {
                let folder = tempfile::tempdir().unwrap();
                let top = folder.path();
                let git = |arguments: &[&str]| {
                    let mut all = Vec::new();
                    for setting in configuration {
                        all.extend(["-c", *setting]);
                    }
                    all.extend(arguments);
                    git(top, &all);
                };
                let accepted = |what: &str| {
                    assert!(accepted_at(top, hash), "{format} {version} {configuration:?}: {what}");
                };
                git(&["init", "-q", &format!("--object-format={format}"), "."]);
                for name in ["a", "a-b", "dir/one", "dir/two", "dir/deep/three", "\u{e9}"] {
                    write(top, name, name);
                }
                write(top, &format!("{}x", "long/".repeat(100)), "x");
                std::os::unix::fs::symlink("a", top.join("link")).unwrap();
                git(&["add", "."]);
                git(&["update-index", "--index-version", version]);
                accepted("added");
                git(&["commit", "-qm", "one"]);
                git(&["status"]);
                accepted("committed");
                write(top, "a", "more");
                write(top, "dir/new", "new");
                fs::remove_file(top.join("dir/two")).unwrap();
                git(&["add", "-N", "dir/new"]);
                git(&["add", "-A"]);
                accepted("changed");
                git(&["rm", "-q", "link"]);
                write(top, "link/below", "x");
                git(&["add", "link"]);
                accepted("a link became a directory");
                git(&["stash"]);
                git(&["stash", "pop"]);
                accepted("stashed");
            }
        }
    }
}

/// Fills the index of a new repository with these paths, which need not be there.
fn filled(top: &Path, version: &str, paths: impl Iterator<Item = String>) {
    const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    git(top, &["init", "-q", "."]);
    let lines: String = paths.map(|path| format!("100644 {EMPTY}\t{path}\0")).collect();
    fs::write(top.join("lines"), lines).unwrap();
    let fill = "git -c index.threads=3 update-index -z --index-info <lines \
                && git -c index.threads=3 update-index --index-version $0 --force-write-index";
    let run =
        Command::new("sh").args(["-c", fill, version]).current_dir(top).env("HOME", top).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn offsets_for_threads_are_those_of_git() {
    for version in ["2", "4"] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path(), version, (0..25_000).map(|n| format!("dir-{}/file-{n}", n / 100)));
        let content = fs::read(folder.path().join(".git/index")).unwrap();
        assert!(content.windows(4).any(|window| window == b"IEOT"), "version {version} has such offsets");
        assert!(is_safe_alone(&content), "version {version}");
    }
}

#[test]
fn a_path_of_the_base_counts_too() {
    let base = index(&[("../x", FILE, 0), ("a", LINK, 0)], &[]);
    let good = index(&[("a", LINK, 0), ("b", FILE, 0)], &[]);
    let link = [7_u8; 20].to_vec();
    let with = |entries: &[Wanted<'_>], base: &[u8], data: Vec<u8>| {
        let own = index(entries, &[(b"link", data)]);
        is_safe(&own, Hash::Sha1, |name| {
            assert_eq!(name, format!("sharedindex.{}", "07".repeat(20)));
            Some(base.to_vec())
        })
    };
    // One word of literals for the entries of the base.
    let bits = |word: u64| {
        let mut all = 2_u32.to_be_bytes().to_vec();
        all.extend(2_u32.to_be_bytes());
        all.extend((1_u64 << 33).to_be_bytes());
        all.extend(word.to_be_bytes());
        all.extend(0_u32.to_be_bytes());
        all
    };
    let both = |deleted, replaced| [link.clone(), bits(deleted), bits(replaced)].concat();
    assert!(!with(&[], &base, link.clone()));
    assert!(with(&[], &good, link.clone()));
    assert!(!with(&[("a/b", FILE, 0)], &good, link.clone()), "below a link of the base");
    assert!(with(&[("a/b", FILE, 0)], &good, both(1, 0)), "the link is gone");
    assert!(with(&[("", FILE, 0), ("a/b", FILE, 0)], &good, both(0, 1)), "the link is a file by now");
    assert!(!with(&[("", LINK, 0), ("b/c", FILE, 0)], &good, both(0, 2)), "the file is a link by now");
    assert!(!with(&[("c", FILE, 0)], &good, both(0, 1)), "a replacement has no name");
    assert!(!with(&[("", FILE, 0)], &good, link.clone()), "no replacement has one");
    assert!(!with(&[], &good, both(4, 0)), "no such entry");
    assert!(
        !with(&[], &good, [link.clone(), bits(0)].concat())
            && !with(&[], &index(&[], &[(b"link", link.clone())]), link)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_of_git_is_accepted_and_with_one_path_that_leads_out_refused(
        names in prop::collection::btree_set("[a-c]{4}(/[a-c. -]{3}[a-c])?(/[a-c]{4,9})?", 1..12),
        compressed: bool,
        at in any::<prop::sample::Index>(),
        bad in prop::sample::select(vec!["../x", ".git", "/etc", "x//y", "./ab"]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        // A name that is a directory too git leaves out, whichever comes first.
        filled(folder.path(), if compressed { "4" } else { "2" }, names.iter().cloned());
        let mut content = fs::read(folder.path().join(".git/index")).unwrap();
        prop_assert!(is_safe_alone(&content), "{names:?}");
        let entries = Entries::parse(&content, Hash::Sha1).unwrap();
        let path = entries.iter().nth(at.index(entries.len())).unwrap().path.to_vec();
        drop(entries);
        let single = |path: &[u8]| {
            let path = String::from_utf8(path.to_vec()).unwrap();
            is_safe_alone(&index(&[(&path, FILE, 0)], &[]))
        };
        prop_assert!(single(&path));
        let changed = [bad.as_bytes(), &path[4..]].concat();
        let leads_out = bad != ".git" || matches!(path.get(4), None | Some(b'/'));
        prop_assert!(!leads_out || !single(&changed));
        // Its length stands before it where it is stored whole: another path may end with it.
        let len = u16::try_from(path.len()).unwrap().to_be_bytes();
        let whole = [&len[..], &path, b"\0"].concat();
        let stored = content.windows(whole.len()).position(|window| window == whole);
        prop_assert!(compressed || stored.is_some());
        if let Some(stored) = stored.filter(|_| leads_out) {
            content[stored + 2..stored + 6].copy_from_slice(bad.as_bytes());
            prop_assert!(!is_safe_alone(&content));
        }
    }

    #[test]
    fn no_bytes_are_too_odd(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        end in any::<prop::sample::Index>(),
    ) {
        let link = [[7_u8; 20].to_vec(), vec![0, 0, 0, 2, 0, 0, 0, 1], vec![0; 12]].concat();
        let mut content = index(&[("a", FILE, 0), ("b/c", LINK, 0)], &[(b"link", link), (b"IEOT", vec![0, 0, 0, 1])]);
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        content.truncate(end.index(content.len() + 1));
        let shared = |_: &str| Some(content.clone());
        is_safe(&content, Hash::Sha1, shared);
        is_safe(&content, Hash::Sha256, shared);
    }
}
