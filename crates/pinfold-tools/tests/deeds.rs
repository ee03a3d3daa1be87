//! What a table cannot say: many at once, full disks, sudden ends, huge files, modes.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::kit;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::kit::Bed;
use pinfold::RawCall;
use pinfold_tools::{CallEnding, Content, call};
use serde_json::json;

#[test]
fn parallel_edits_of_one_file_lose_nothing() {
    const THREADS: usize = 4;
    const EDITS: usize = 25;
    let bed = Bed::new();
    bed.put("f", "END\n");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let bed = &bed;
            scope.spawn(move || {
                for number in 0..EDITS {
                    let edit = json!({"file_path": "f", "old_string": "END", "new_string": format!("{thread}-{number}\nEND")});
                    // Another thread may have been faster: then the file has to be read again.
                    while bed.call("Edit", edit.clone()).ended != CallEnding::Done {
                        let _ = bed.call("Read", json!({"file_path": "f"}));
                    }
                }
            });
        }
    });
    let content = bed.get("f");
    for thread in 0..THREADS {
        for number in 0..EDITS {
            assert_eq!(
                content.matches(&format!("{thread}-{number}\n")).count(),
                1,
                "{thread}-{number} in {content}"
            );
        }
    }
}

#[test]
fn the_mode_of_a_file_stays() {
    let bed = Bed::new();
    bed.put("run.sh", "echo a\n");
    fs::set_permissions(bed.root.join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    bed.read("run.sh");
    bed.done("Edit", json!({"file_path": "run.sh", "old_string": "a", "new_string": "b"}));
    bed.done("Write", json!({"file_path": "run.sh", "content": "echo c\n"}));
    let patch =
        "*** Begin Patch\n*** Update File: run.sh\n*** Move to: go.sh\n@@\n-echo c\n+echo d\n*** End Patch\n";
    bed.done("ApplyPatch", json!({"patch": patch}));
    assert_eq!(fs::metadata(bed.root.join("go.sh")).unwrap().mode() & 0o777, 0o750);
}

#[test]
fn a_file_that_changed_since_it_was_read_is_read_again_first() {
    let bed = Bed::new();
    bed.put("f", "one\n");
    bed.read("f");
    bed.put("f", "another\n");
    let reply = bed.call("Edit", json!({"file_path": "f", "old_string": "one", "new_string": "two"}));
    assert_eq!(reply.structured["error"], "StaleRead");
    bed.read("f");
    bed.done("Edit", json!({"file_path": "f", "old_string": "another", "new_string": "two"}));
}

#[test]
fn huge_files_are_answered_in_bounded_time_and_memory() {
    let bed = Bed::new();
    fs::File::create(bed.root.join("zeros")).unwrap().set_len(1 << 40).unwrap();
    assert!(bed.done("Read", json!({"file_path": "zeros"})).contains("binary"));
    bed.put("text", "line\n".repeat(2000));
    fs::File::options().write(true).open(bed.root.join("text")).unwrap().set_len(1 << 40).unwrap();
    let text = bed.done("Read", json!({"file_path": "text"}));
    assert!(
        text.contains("  2000\tline") && text.contains("go on with offset 2001"),
        "{}",
        &text[text.len() - 200..]
    );
    let reply = bed.call("Edit", json!({"file_path": "text", "old_string": "line", "new_string": "x"}));
    assert_eq!(reply.structured["error"], "TooLarge");
    assert!(bed.done("Grep", json!({"pattern": "line"})).contains("2 files of more than"));
}

#[test]
fn long_lines_and_long_pages_are_cut_and_that_is_said() {
    let bed = Bed::new();
    bed.put("long", "x".repeat(100_000));
    let text = bed.done("Read", json!({"file_path": "long"}));
    assert!(text.len() < 5000 && text.contains("98000 more bytes in this line"), "{}", text.len());
    bed.put("many", (0..1000).map(|_| "y".repeat(1500) + "\n").collect::<String>());
    let text = bed.done("Read", json!({"file_path": "many", "limit": 100_000}));
    assert!(text.len() < 300 * 1024 && text.contains("the page is full"), "{}", text.len());
}

#[test]
fn large_files_are_read_by_the_line() {
    let bed = Bed::new();
    bed.put("large", (1..=600_000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n"));
    let text = bed.done("Read", json!({"file_path": "large", "offset": 599_999}));
    assert!(text.starts_with("599999\tline 599999\n600000\tline 600000\n"), "{text}");
    let reply = bed.call("Read", json!({"file_path": "large", "offset": 600_001}));
    assert!(reply.text().contains("has 600000 lines"), "{}", reply.text());
}

#[test]
fn a_picture_comes_as_a_picture() {
    let bed = Bed::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
    bed.put("p.png", png);
    let reply = bed.call("Read", json!({"file_path": "p.png"}));
    let [Content::Image { data, media_type: "image/png" }] = reply.content.as_slice() else {
        panic!("{reply:?}")
    };
    assert!(data.starts_with("iVBORw0KGgo"));
    let mut huge = png.to_vec();
    huge.resize(5_000_000, 1);
    bed.put("huge.png", huge);
    assert_eq!(bed.call("Read", json!({"file_path": "huge.png"})).structured["error"], "TooLarge");
}

#[test]
fn searches_neither_wait_on_a_fifo_nor_follow_links() {
    let bed = Bed::new();
    bed.put("d/f", "needle\n");
    assert!(Command::new("mkfifo").arg(bed.root.join("p")).status().unwrap().success());
    std::os::unix::fs::symlink("/", bed.root.join("slash")).unwrap();
    std::os::unix::fs::symlink(".", bed.root.join("d/loop")).unwrap();
    assert_eq!(bed.done("Grep", json!({"pattern": "needle"})), "d/f");
    assert_eq!(bed.done("Glob", json!({"pattern": "**/f"})), "d/f");
    let reply = bed.call("Grep", json!({"pattern": "x", "path": "p"}));
    assert_eq!(reply.structured["error"], "SpecialFile");
}

#[test]
fn paths_are_shown_relative_to_the_workspace_wherever_the_call_comes_from() {
    let bed = Bed::new();
    bed.put("sub/f", "x\n");
    let path = bed.root.join("sub/f");
    assert!(bed.done("Glob", json!({"pattern": "*", "path": bed.root.join("sub")})).starts_with("sub/f"));
    bed.done("Read", json!({"file_path": path}));
    let text = bed.done("Edit", json!({"file_path": path, "old_string": "x", "new_string": "y"}));
    assert!(text.contains("changed sub/f") && !text.contains(bed.root.to_str().unwrap()), "{text}");
}

/// Run by the tests below in a process of its own: writes one file over and over, first `a`s, then `b`s.
#[test]
fn child_that_writes() {
    let Some(root) = std::env::var_os("PINFOLD_TEST_CHILD").map(PathBuf::from) else { return };
    let session = kit::session(&root);
    if let Some(input) = std::env::var_os("PINFOLD_TEST_CALL") {
        let input = serde_json::from_slice(&fs::read(input).unwrap()).unwrap();
        let reply = call(&session, &RawCall::new("ApplyPatch", input));
        fs::write(root.join("answer"), serde_json::to_vec(&reply).unwrap()).unwrap();
        return;
    }
    let size: usize = std::env::var("PINFOLD_TEST_SIZE").unwrap().parse().unwrap();
    let rounds: usize = std::env::var("PINFOLD_TEST_ROUNDS").unwrap().parse().unwrap();
    let _ = call(&session, &RawCall::new("Read", json!({"file_path": "f"})));
    for round in 0..rounds {
        let letter = if round % 2 == 0 { "a" } else { "b" };
        let reply =
            call(&session, &RawCall::new("Write", json!({"file_path": "f", "content": letter.repeat(size)})));
        if round == 0 {
            fs::write(root.join("answer"), serde_json::to_vec(&reply).unwrap()).ok();
        }
    }
}

fn child(bed: &Bed, size: usize, rounds: usize, limits: &str) -> Command {
    let mut command = Command::new("sh");
    let line = format!("{limits} exec \"$0\" --exact deeds::child_that_writes --test-threads 1");
    command.arg("-c").arg(line).arg(std::env::current_exe().unwrap());
    command.env("PINFOLD_TEST_CHILD", &bed.root).env("PINFOLD_TEST_SIZE", size.to_string());
    command.env("PINFOLD_TEST_ROUNDS", rounds.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let bed = Bed::new();
    bed.put("f", "old\n");
    // 64 blocks are far less than what is written; the signal that comes with it is ignored, so that writing fails.
    let status = child(&bed, 8 << 20, 1, "trap '' XFSZ; ulimit -f 64;").status().unwrap();
    assert!(status.success());
    let answer: serde_json::Value = serde_json::from_str(&bed.get("answer")).unwrap();
    assert_eq!(answer["ended"], "failed", "{answer}");
    assert_eq!(bed.get("f"), "old\n");
    let names: Vec<_> = fs::read_dir(&bed.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "only the file and the answer: {names:?}");

    // The control: without the limit the same write goes through.
    assert!(child(&bed, 8 << 20, 1, "").status().unwrap().success());
    assert_eq!(bed.get("f").len(), 8 << 20);
}

#[test]
fn a_patch_that_fails_half_way_says_how_far_it_came() {
    let bed = Bed::new();
    bed.put("f", "old\n");
    let large = "+x".repeat(1 << 20);
    let patch = format!(
        "*** Begin Patch\n*** Add File: small\n+new\n*** Add File: large\n{large}\n*** Delete File: f\n*** End Patch\n"
    );
    let mut writer = child(&bed, 0, 0, "trap '' XFSZ; ulimit -f 64;");
    let file = bed.root.with_file_name("call.json");
    fs::write(&file, json!({"patch": patch}).to_string()).unwrap();
    let status = writer.env("PINFOLD_TEST_CALL", file).status().unwrap();
    assert!(status.success());
    let answer: serde_json::Value = serde_json::from_str(&bed.get("answer")).unwrap();
    let words = answer["structured"]["message"].as_str().unwrap();
    assert!(words.contains("1 of 3 changes were made before and stay: A small"), "{words}");
    assert_eq!((bed.get("small").as_str(), bed.get("f").as_str()), ("new\n", "old\n"));
    assert!(!bed.root.join("large").exists());
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_file_or_the_new() {
    const SIZE: usize = 4 << 20;
    let bed = Bed::new();
    bed.put("f", "b".repeat(SIZE));
    for round in 0..12 {
        let mut writer = child(&bed, SIZE, 1_000_000, "").spawn().unwrap();
        // The answer to the first write says that the writer is at work; from then on any moment is one to die in.
        while !bed.root.join("answer").exists() {
            assert!(writer.try_wait().unwrap().is_none(), "the writer ended by itself");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(3 * round));
        writer.kill().unwrap();
        writer.wait().unwrap();
        fs::remove_file(bed.root.join("answer")).unwrap();
        let mut content = Vec::new();
        fs::File::open(bed.root.join("f")).unwrap().read_to_end(&mut content).unwrap();
        assert_eq!(content.len(), SIZE);
        assert!(content.iter().all(|byte| *byte == content[0]), "half of one and half of the other");
    }
}
