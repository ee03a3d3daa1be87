//! A profile holds a run, and a call, to its places.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const PROFILE: &str = "\
tools:
  terminal: {allowed_paths: [~/proj, \"${NOTES}\"], denied_paths: [~/proj/secret]}
  file: {allowed_read_paths: [~/proj], denied_paths: [~/proj/secret]}
";

/// A home with a project, where a run does not cover it with private places anyway.
struct Bed {
    _folder: tempfile::TempDir,
    home: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let build = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let others = ["/home", "/srv"].map(PathBuf::from);
        let private = |at: &PathBuf| ["/tmp", "/var/tmp", "/run", "/dev"].iter().any(|p| at.starts_with(p));
        let grounds = [build].into_iter().chain(std::env::home_dir()).chain(others);
        let folder = grounds.filter(|at| !private(at)).find_map(|at| tempfile::tempdir_in(at).ok());
        let folder = folder.expect("a place to write");
        let home = folder.path().canonicalize().unwrap();
        for (path, text) in [
            (".config/pinfold/profiles/held.yaml", PROFILE),
            ("proj/a", "a\n"),
            ("proj/secret/key", "key\n"),
            ("notes/n", "note\n"),
            ("mail/m", "mail\n"),
        ] {
            fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
            fs::write(home.join(path), text).unwrap();
        }
        Self { _folder: folder, home }
    }

    fn pinfold(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_pinfold"))
            .args(args)
            .current_dir(self.home.join("proj"))
            .env("HOME", &self.home)
            .env("NOTES", self.home.join("notes"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_run_sees_and_writes_only_what_its_profile_allows() {
    let bed = Bed::new();
    let script =
        "cat a secret/key ../notes/n ../mail/m 2>/dev/null; echo x > made; echo x > ../notes/made; exit 0";
    let free = bed.pinfold(&["run", "--quiet", "--", "sh", "-c", script]);
    assert_eq!(out(&free), "a\nkey\nnote\nmail\n");
    fs::remove_file(bed.home.join("proj/made")).unwrap();

    let held = bed.pinfold(&["run", "--quiet", "--profile", "held", "--", "sh", "-c", script]);
    assert_eq!(out(&held), "a\nnote\n", "{held:?}");
    assert!(bed.home.join("proj/made").exists());
    assert!(!bed.home.join("notes/made").exists(), "allowed to read, and not granted to write");
}

#[test]
fn a_call_is_refused_with_where_it_could_go() {
    let bed = Bed::new();
    let call = |path: &str| {
        bed.pinfold(&["call", "--profile", "held", "Read", &format!("{{\"file_path\":\"{path}\"}}")])
    };
    assert_eq!(call("a").status.code(), Some(0));
    for path in ["secret/key", "../mail/m", "/etc/hostname"] {
        let output = call(path);
        assert_eq!(output.status.code(), Some(3), "{path}: {output:?}");
        let said = out(&output);
        assert!(said.contains("PathNotAllowed") && said.contains("~/proj"), "{path}: {said}");
    }
}

#[test]
fn a_profile_that_cannot_be_used_stops_the_start() {
    let bed = Bed::new();
    let profile = bed.home.join(".config/pinfold/profiles/bad.yaml");
    for (text, words) in [
        ("tools: {terminal: {alowed_paths: []}}", "did you mean `allowed_paths`?"),
        ("tools: {terminal: {allowed_paths: [\"${NOT_SET_ANYWHERE}/\"]}}", "`NOT_SET_ANYWHERE` is not set"),
        ("tools: {terminal: {allowed_paths: [~/mail]}}", "no allowed path of the terminal holds it"),
        ("tools: {terminal: {enabled: false}}", "the tool is switched off"),
    ] {
        fs::write(&profile, text).unwrap();
        let output = bed.pinfold(&["run", "--profile", "bad", "--", "true"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{text}: {said}");
    }
    for args in [
        &["run", "--sandbox", "off", "--profile", "held", "--", "true"][..],
        &["run", "--sandbox", "off", "--", "true"],
    ] {
        assert_eq!(bed.pinfold(args).status.success(), !args.contains(&"--profile"), "{args:?}");
    }
    let output = bed.pinfold(&["run", "--profile", "none", "--", "true"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no such profile"));
}
