//! What those find who build on pinfold: examples of the library, and the clients for other languages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pinfold_tests::missing::{all_there, which};
use pinfold_tests::output::describe;
use pinfold_tests::product::{example, offered, pinfold};
use pinfold_tests::{Bed, Tier, Who, each};
use serde_json::Value;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository").to_owned()
}

/// Runs an example with this on its standard input; what it prints.
fn run(bed: &Bed, name: &str, args: &[&str], input: &str) -> (bool, String) {
    let program = offered(name, &example(name));
    let mut child = bed
        .free(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("an example");
    // Who does not listen is known by what it says.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("its end");
    println!("{}", describe(&output));
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[each(user)]
fn the_gate_makes_what_is_allowed_and_refuses_with_words(who: Who) {
    let bed = Bed::new(who);
    let outside = bed.outside().join("x");
    let input = format!(
        "{}\n{}\n",
        r#"{"tool":"Write","input":{"file_path":"a.txt","content":"hi\n"}}"#,
        serde_json::json!({"tool": "Write", "input": {"file_path": outside, "content": ""}}),
    );
    let (ended, said) = run(&bed, "gate", &["."], &input);
    let replies: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("a reply")).collect();
    assert!(ended && replies.len() == 2, "{said}");
    assert_eq!((&replies[0]["ended"], &replies[1]["ended"]), (&"done".into(), &"refused".into()));
    assert!(bed.folder().join("a.txt").is_file() && !outside.exists());
}

#[each(user)]
fn an_approver_of_its_own_is_believed_for_the_question_it_was_asked(who: Who) {
    let bed = Bed::new(who);
    let place = bed.outside().join("x");
    for (answer, made) in [("no\n", false), ("", false), ("yes\n", true)] {
        let (_, said) = run(&bed, "approver", &[".", &place.to_string_lossy()], answer);
        assert!(said.contains("Write wants"), "{said}");
        assert_eq!(place.exists(), made, "{answer:?}: {said}");
    }
}

#[each(user)]
fn a_confined_command_is_held_and_what_was_refused_is_told(who: Who) {
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let bed = Bed::new(who);
    let script = "echo hi > in; echo hi > ../outside/out || true";
    let (ended, said) = run(&bed, "confined", &[".", "sh", "-c", script], "");
    assert!(ended && bed.folder().join("in").is_file(), "{said}");
    assert!(!bed.outside().join("out").exists() && said.contains("refused: create"), "{said}");
}

/// Tries a client.
fn client(who: Who, what: &str, program: &str, script: &str) {
    if !all_there(what, &[program]) {
        return;
    }
    let script = top().join("clients").join(script);
    let bed = Bed::new(who);
    // Where every user can read it.
    let shelf = bed.outside();
    for file in fs::read_dir(script.parent().expect("a folder")).expect("the client") {
        let file = file.expect("an entry").path();
        if file.is_file() {
            fs::copy(&file, shelf.join(file.file_name().expect("a name"))).expect("a copy");
        }
    }
    bed.give();
    let mut command: Command = bed.free(which(program).expect("it is there"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").arg(shelf.join(script.file_name().expect("a name")));
    let output = command.arg(pinfold()).arg(bed.folder()).stdin(Stdio::null()).output().expect(program);
    assert!(output.status.success() && output.stdout == b"ok\n", "{what}: {}", describe(&output));
}

#[each(user)]
fn the_client_for_python_makes_and_checks_calls(who: Who) {
    client(who, "the client for Python", "python3", "python/try_pinfold.py");
}

#[each(user)]
fn the_client_for_node_makes_and_checks_calls(who: Who) {
    client(who, "the client for TypeScript", "node", "typescript/try_pinfold.js");
}

/// What the types promise is looked at by the programs of those languages, where they are there.
#[test]
fn the_types_of_the_clients_are_sound() {
    for (what, program, args, file) in [
        (
            "the types of the client for TypeScript",
            "tsc",
            &["--strict", "--noEmit", "--module", "nodenext"][..],
            "typescript/try_types.ts",
        ),
        ("the types of the client for Python", "mypy", &["--strict"], "python/pinfold.py"),
    ] {
        if !all_there(what, &[program]) {
            continue;
        }
        let script = top().join("clients").join(file);
        let beside = tempfile::tempdir().expect("a folder");
        for entry in fs::read_dir(script.parent().expect("a folder")).expect("the client") {
            let entry = entry.expect("an entry").path();
            if entry.is_file() {
                fs::copy(&entry, beside.path().join(entry.file_name().expect("a name"))).expect("a copy");
            }
        }
        let output = Command::new(which(program).expect("it is there"))
            .args(args)
            .arg(script.file_name().expect("a name"))
            .current_dir(beside.path())
            .output()
            .expect(program);
        assert!(output.status.success(), "{what}: {}", describe(&output));
    }
}
