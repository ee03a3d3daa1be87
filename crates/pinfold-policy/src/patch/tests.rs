use super::*;

fn text(path: &PathText) -> &str {
    path.as_os_str().to_str().unwrap()
}

#[test]
fn an_envelope_with_every_kind_of_section_is_understood() {
    let patch = Patch::parse(
        "*** Begin Patch\n*** Add File: new.txt\n+one\n+\n*** Update File: a.rs\n*** Move to: b.rs\n@@ impl A\n@@ fn f\n keep\n-old\n+new\n\n*** End of File\n*** Delete File: c.txt\n*** End Patch\n",
    )
    .unwrap();
    let [
        FileChange::Add { content, .. },
        FileChange::Update { move_to, hunks, .. },
        FileChange::Delete { .. },
    ] = patch.files()
    else {
        panic!("{patch:?}")
    };
    assert_eq!(content, "one\n\n");
    assert_eq!(text(move_to.as_ref().unwrap()), "b.rs");
    assert_eq!(hunks[0].anchors, ["impl A", "fn f"]);
    assert_eq!(hunks[0].lines.len(), 4, "the empty line counts as context");
    assert!(hunks[0].at_end);
}

#[test]
fn a_git_diff_with_rename_creation_and_deletion_is_understood() {
    let patch = Patch::parse(
        "diff --git a/x.txt b/y.txt\nsimilarity index 90%\nrename from x.txt\nrename to y.txt\n--- a/x.txt\n+++ b/y.txt\n@@ -1,2 +1,2 @@\n keep\n-old\n\\ No newline at end of file\n+new\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+hello\n\\ No newline at end of file\ndiff --git a/e b/e\nnew file mode 100644\nindex 0000..e69d\n",
    )
    .unwrap();
    let [
        FileChange::Update { move_to, hunks, .. },
        FileChange::Add { content, .. },
        FileChange::Add { path, content: empty },
    ] = patch.files()
    else {
        panic!("{patch:?}")
    };
    assert_eq!(text(move_to.as_ref().unwrap()), "y.txt");
    assert!(hunks[0].old_unended && !hunks[0].new_unended);
    assert_eq!(content, "hello");
    assert_eq!((text(path), empty.as_str()), ("e", ""));
}

#[test]
fn a_removed_line_that_looks_like_a_header_stays_a_line() {
    let patch = Patch::parse("--- f\n+++ f\n@@ -1,2 +1,1 @@\n--- a comment\n keep\n").unwrap();
    let [FileChange::Update { hunks, .. }] = patch.files() else { panic!("{patch:?}") };
    assert_eq!(hunks[0].lines[0], HunkLine::Remove("-- a comment".to_owned()));
}

#[test]
fn quoted_names_are_read_as_git_writes_them() {
    let patch = Patch::parse("--- \"a/tab\\there\"\n+++ \"b/tab\\there\"\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
    let [FileChange::Update { path, move_to: None, .. }] = patch.files() else { panic!("{patch:?}") };
    assert_eq!(text(path), "tab\there");
}

/// Each would be a diff of `a` alone for a reader that passes over what it does not know, and an envelope for a lenient one.
#[test]
fn a_text_that_two_readers_take_for_two_patches_is_refused() {
    let diff = "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-hi\n+hello\n";
    assert!(Patch::parse(diff).is_ok(), "the control");
    assert!(Patch::parse(&format!("Some words in front.\n{diff}")).is_ok(), "the control");
    let section = "*** Add File: .bashrc\n+touch x\n";
    for front in [
        format!("x\n*** Begin Patch\n{section}"),
        format!("<<EOF\n*** Begin Patch\n{section}"),
        format!("\u{feff}*** Begin Patch\n{section}"),
        section.to_owned(),
        "  *** Delete File: a.txt\n".to_owned(),
        "***  Update  File: a.txt\n".to_owned(),
    ] {
        assert!(Patch::parse(&format!("{front}{diff}")).is_err(), "{front}");
        assert!(Patch::parse(&format!("{diff}{front}")).is_err(), "{front}");
    }
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let cases = [
        ("", 1),
        ("hello", 1),
        ("*** Begin Patch\n", 1),
        ("*** Begin Patch\n*** Add File: x\nno plus\n*** End Patch", 3),
        ("*** Begin Patch\n*** Update File: x\n*** End Patch", 2),
        ("*** Begin Patch\n*** Add File: x\n+a\n*** Add File: x\n+b\n*** End Patch", 1),
        ("*** Begin Patch\n*** Delete File:  \n*** End Patch", 2),
        ("@@ -1 +1 @@\n-a\n+b\n", 1),
        ("--- a\n+++ b\n", 1),
        ("--- a\n+++ a\n@@ -1,9 +1 @@\n-a\n+b\n", 6),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", 2),
        (
            "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n",
            2,
        ),
    ];
    for (patch, line) in cases {
        assert_eq!(Patch::parse(patch).map_err(|bad| bad.line), Err(line), "{patch:?}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(\\*\\*\\* (Begin Patch|End Patch|Add File: |Update File: |Move to: |End of File)|---|\\+\\+\\+|@@|diff --git|[ab/ \\-+\\\\\"0-9,]|\n){0,60}") {
        let _ = Patch::parse(&text);
        let _ = Patch::parse(&format!("*** Begin Patch\n{text}"));
    }
}
