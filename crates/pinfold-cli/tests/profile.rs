//! A profile holds a run, and a call, to its places.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use pinfold_testkit::TempTree;
use pinfold_testkit::output::stdout;
use std::fs;
use std::process::Output;

use crate::kit::Bed;

const PROFILE: &str = "\
tools:
  terminal: {allowed_paths: [~/proj, \"${NOTES}\"], denied_paths: [~/proj/secret]}
  file: {allowed_read_paths: [~/proj], denied_paths: [~/proj/secret]}
";

/// A home with a project, where a run does not cover it with private places anyway.
fn bed() -> Bed {
    let bed = Bed::in_tree(TempTree::visible_inside(), "", "proj");
    for (path, text) in [
        (".config/pinfold/profiles/held.yaml", PROFILE),
        ("proj/a", "a\n"),
        ("proj/secret/key", "key\n"),
        ("notes/n", "note\n"),
        ("mail/m", "mail\n"),
    ] {
        bed.put(path, text);
    }
    bed
}

impl Bed {
    fn with_notes(&self, args: &[&str]) -> Output {
        self.command().args(args).env("NOTES", self.home.join("notes")).output().unwrap()
    }
}

#[test]
fn a_run_sees_and_writes_only_what_its_profile_allows() {
    let bed = bed();
    let script =
        "cat a secret/key ../notes/n ../mail/m 2>/dev/null; echo x > made; echo x > ../notes/made; exit 0";
    let free = bed.with_notes(&["run", "--quiet", "--", "sh", "-c", script]);
    assert_eq!(stdout(&free), "a\nkey\nnote\nmail\n");
    fs::remove_file(bed.home.join("proj/made")).unwrap();

    let held = bed.with_notes(&["run", "--quiet", "--profile", "held", "--", "sh", "-c", script]);
    assert_eq!(stdout(&held), "a\nnote\n", "{held:?}");
    assert!(bed.home.join("proj/made").exists());
    assert!(!bed.home.join("notes/made").exists(), "allowed to read, and not granted to write");
}

#[test]
fn a_call_is_refused_with_where_it_could_go() {
    let bed = bed();
    let call = |path: &str| {
        bed.with_notes(&["call", "--profile", "held", "Read", &format!("{{\"file_path\":\"{path}\"}}")])
    };
    assert_eq!(call("a").status.code(), Some(0));
    for path in ["secret/key", "../mail/m", "/etc/hostname"] {
        let output = call(path);
        assert_eq!(output.status.code(), Some(3), "{path}: {output:?}");
        let said = stdout(&output);
        assert!(said.contains("PathNotAllowed") && said.contains("~/proj"), "{path}: {said}");
    }
}

#[test]
fn a_profile_that_cannot_be_used_stops_the_start() {
    let bed = bed();
    let profile = bed.home.join(".config/pinfold/profiles/bad.yaml");
    for (text, words) in [
        ("tools: {terminal: {alowed_paths: []}}", "did you mean `allowed_paths`?"),
        ("tools: {terminal: {allowed_paths: [\"${NOT_SET_ANYWHERE}/\"]}}", "`NOT_SET_ANYWHERE` is not set"),
        ("tools: {terminal: {allowed_paths: [~/mail]}}", "no allowed path of the terminal holds it"),
        ("tools: {terminal: {enabled: false}}", "the tool is switched off"),
    ] {
        fs::write(&profile, text).unwrap();
        let output = bed.with_notes(&["run", "--profile", "bad", "--", "true"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{text}: {said}");
    }
    for args in [
        &["run", "--sandbox", "off", "--profile", "held", "--", "true"][..],
        &["run", "--sandbox", "off", "--", "true"],
    ] {
        assert_eq!(bed.with_notes(args).status.success(), !args.contains(&"--profile"), "{args:?}");
    }
    let output = bed.with_notes(&["run", "--profile", "none", "--", "true"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no such profile"));
}
