//! What an answer about a process covers: the place and what was shown there, and nothing beside it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::runs::{RunBed, TIERS, no, yes};
use pinfold::consent::{Choice, OperationShown, Request, RequestedOperation};

fn acts(request: &Request) -> &[OperationShown] {
    match &request.operation {
        RequestedOperation::Paths { acts } => acts,
        other => panic!("{other:?}"),
    }
}

/// Yes to what ends with this, and no to all else.
fn only(end: &'static str) -> impl Fn(&Request) -> Choice + Send + Sync {
    move |request| {
        if acts(request).iter().all(|act| act.path.ends_with(end)) { Choice::Yes } else { no(request) }
    }
}

/// A python program; `OUT` and the folder are where they are for the shell.
fn python(program: &str) -> String {
    format!("python3 - <<'EOF'\nimport os, ctypes\nout = os.environ['OUT']\n{program}\nEOF\ntrue")
}

fn has_python() -> bool {
    let has =
        std::process::Command::new("python3").arg("-V").output().is_ok_and(|tried| tried.status.success());
    if !has {
        println!("LEFT OUT: no python3");
    }
    has
}

#[test]
fn a_no_counts_for_the_place_however_it_is_spelled_and_whatever_the_process_calls_itself() {
    for tier in TIERS {
        let bed = RunBed::new();
        fs::create_dir(bed.outside.join("d")).unwrap();
        std::os::unix::fs::symlink("f", bed.outside.join("link")).unwrap();
        std::os::unix::fs::symlink("outside", bed.outside.parent().unwrap().join("other")).unwrap();
        let script = "for p in $OUT/f $OUT/./f $OUT//f $OUT/d/../f $OUT/../outside/f $OUT/link $OUT/../other/f \
                      /proc/self/root$OUT/f; do echo x > $p; echo x >> $p; exec 3<> $p; done; \
                      exec 4< $OUT; echo x > /proc/self/fd/4/f; cd $OUT; echo x > f; touch f; \
                      cp /etc/hostname f; ln -s x f; mkdir f; \
                      for i in 1 2 3; do perl -e '$0 = shift; open F, \">$ENV{OUT}/f\"' name$i; done; \
                      for i in 1 2 3; do (exec -a other$i sh -c 'echo x > $OUT/f'); done; true";
        let ran = bed.run(tier, script, no);
        assert_eq!(ran.acts(), ["create f"], "{tier}: {}", ran.said);
        assert!(!bed.outside.join("f").exists(), "{tier}");

        // The controls: another place, and another thing that is done to the same one.
        fs::write(bed.outside.join("f"), "").unwrap();
        let script =
            "for i in 1 2; do echo x > $OUT/f; rm -f $OUT/f; chmod 600 $OUT/f; echo x > $OUT/g; done; true";
        let ran = bed.run(tier, script, no);
        assert_eq!(
            ran.acts(),
            ["overwrite f", "remove f", "set mode 0600 of f", "create g"],
            "{tier}: {}",
            ran.said
        );
    }
}

#[test]
fn a_process_that_takes_another_name_is_the_process_that_was_denied() {
    if !has_python() {
        return;
    }
    for tier in TIERS {
        let bed = RunBed::new();
        let ran = bed.run(
            tier,
            &python(
                "for name in [b'one', b'two', b'three']:\n    ctypes.CDLL(None).prctl(15, name)\n    for flags in \
                 [os.O_WRONLY | os.O_CREAT, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_WRONLY | os.O_CREAT | \
                 os.O_APPEND]:\n        try: os.open(out + '/f', flags, 0o600)\n        except OSError as e: \
                 print(e.errno)",
            ),
            no,
        );
        assert_eq!(ran.acts(), ["create f"], "{tier}: {}", ran.said);
        assert_eq!(ran.said, "13\n".repeat(9), "{tier}");
    }
}

#[test]
fn a_file_that_gets_a_name_has_the_content_and_the_mode_that_were_shown() {
    if !has_python() {
        return;
    }
    for tier in TIERS {
        let bed = RunBed::new();
        fs::write(bed.outside.join("old"), "old\n").unwrap();
        let ran = bed.run(
            tier,
            &python(
                "for name in ['new', 'old']:\n    fd = os.open('in', os.O_RDWR | os.O_CREAT, 0o755)\n    os.write(fd, \
                 b'shown\\n')\n    os.rename('in', out + '/' + name)\n    os.pwrite(fd, b'evil\\n', 0)\n    for mode in \
                 [0o4755, 0o777]:\n        try: os.fchmod(fd, mode)\n        except OSError: pass\n    os.close(fd)",
            ),
            yes,
        );
        assert_eq!(ran.said, "", "{tier}");
        for (request, (name, before)) in ran.asked.iter().zip([("new", ""), ("old", "old\n")]) {
            let act = acts(request).last().unwrap();
            assert!(
                act.path.ends_with(name) && act.operation.ends_with("(executable, mode 0755)"),
                "{act:?}"
            );
            let [hunk] = act.hunks.as_slice() else { panic!("{act:?}") };
            assert_eq!((hunk.before.as_str(), hunk.after.as_str()), (before, "shown\n"), "{tier}");
            assert_eq!(request.destructive, !before.is_empty(), "{tier} {name}");
            let there = bed.outside.join(name);
            assert_eq!(fs::read_to_string(&there).unwrap(), "shown\n", "{tier}");
            assert_eq!(fs::metadata(&there).unwrap().permissions().mode() & 0o7777, 0o755, "{tier}");
        }
        assert_eq!(ran.asked.len(), 2, "{tier}");
    }
}

#[test]
fn a_yes_to_a_name_is_for_the_content_that_was_shown() {
    for tier in TIERS {
        let bed = RunBed::new();
        let script =
            "echo one > a; mv a $OUT/f; echo two > a; mv a $OUT/f; printf 'a\\0b' > a; mv a $OUT/f; true";
        let ran = bed.run(tier, script, yes);
        assert_eq!(ran.asked.len(), 3, "{tier}: {:?}", ran.acts());
        let shown = acts(&ran.asked[2]).last().unwrap();
        let digest = "33e9bfc46529e7c24d6e79dd4e44ebd0fb1b0c1b3fdbe5ac6e24a6cd8f4f1e9d".len();
        let content = shown.content.as_deref().unwrap();
        assert!(content.starts_with("3 bytes that are not shown, SHA-256 "), "{content}");
        assert_eq!(content.rsplit(' ').next().unwrap().len(), digest);
    }
}

/// What is not shown as a whole is made at its place by calls of its own.
#[test]
fn a_link_is_moved_out_by_making_it_at_its_place() {
    if !has_python() {
        return;
    }
    for tier in TIERS {
        let bed = RunBed::new();
        let program = "import shutil\nos.symlink('/etc/passwd', 'l')\nshutil.move('l', out)";
        let ran = bed.run(tier, &python(program), yes);
        assert_eq!(ran.acts(), ["make a link that leads to `/etc/passwd` at l"], "{tier}: {}", ran.said);
    }
}

/// A tree in the folder: five things below its top, a file of which can be run.
const INNER_TREE: &str =
    "mkdir -p t/sub; echo a > t/a; echo b > t/sub/b; chmod 755 t/sub/b; ln -s sub/b t/l; chmod 750 t/sub";

#[test]
fn a_tree_is_moved_out_by_one_question_that_says_what_it_holds() {
    for tier in TIERS {
        for moves in [
            "mv t $OUT/",
            "mv t $OUT/t",
            "sh -c 'mv t $OUT'",
            "python3 -c 'import os, shutil; shutil.move(\"t\", os.environ[\"OUT\"])'",
        ] {
            if moves.starts_with("python3") && !has_python() {
                continue;
            }
            let bed = RunBed::new();
            let ran = bed.run(tier, &format!("{INNER_TREE}; {moves}; echo rc=$?"), yes);
            let [request] = ran.asked.as_slice() else {
                panic!("{tier} {moves}: {:?} {}", ran.acts(), ran.said)
            };
            let [_, act] = acts(request) else { panic!("{request:?}") };
            assert!(act.path.ends_with("outside/t"), "{tier} {moves}: {request:?}");
            assert_eq!(act.names, ["a", "l -> sub/b", "sub/", "sub/b (executable)"], "{act:?}");
            assert_eq!(act.below, 4);
            assert!(ran.said.contains("rc=0"), "{tier} {moves}: {}", ran.said);
            let there = bed.outside.join("t");
            assert_eq!(fs::read_to_string(there.join("sub/b")).unwrap(), "b\n", "{tier} {moves}");
            assert_eq!(fs::read_link(there.join("l")).unwrap().to_str(), Some("sub/b"));
            let mode = |name: &str| fs::metadata(there.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode("sub"), mode("sub/b")), (0o750, 0o755), "{tier} {moves}");
            assert!(!bed.folder.join("t").exists(), "{tier} {moves}: {}", ran.said);
        }
    }
}

#[test]
fn a_no_to_a_tree_that_is_moved_out_is_a_no_to_its_copy() {
    for tier in TIERS {
        let bed = RunBed::new();
        let ran =
            bed.run(tier, &format!("{INNER_TREE}; mv t $OUT/; mv t $OUT/t; mkdir $OUT/t; echo rc=$?"), no);
        assert_eq!(ran.asked.len(), 1, "{tier}: {:?}", ran.acts());
        assert!(!bed.outside.join("t").exists() && bed.folder.join("t/sub/b").exists(), "{tier}");
        assert!(!ran.said.contains("rc=0"), "{tier}: {}", ran.said);
    }
}

/// What was not shown is asked about by itself: a name that is not among them, a link that leads elsewhere, a file in place of a
/// folder, bits that nothing there had, and another process.
#[test]
fn a_yes_to_a_tree_that_is_moved_out_is_for_what_was_shown_of_it() {
    if !has_python() {
        return;
    }
    for tier in TIERS {
        let bed = RunBed::new();
        let program = format!(
            "os.system('{INNER_TREE}; echo c > t/c')\ndef attempt(what):\n    try: what()\n    except OSError as e: pass\n\
             attempt(lambda: os.rename('t', out + '/t'))\nos.mkdir(out + '/t')\n\
             open(out + '/t/a', 'w').write('other')\nattempt(lambda: open(out + '/t/new', 'w'))\n\
             attempt(lambda: os.symlink('/etc/passwd', out + '/t/l'))\n\
             attempt(lambda: open(out + '/t/sub', 'w'))\nattempt(lambda: open(out + '/u', 'w'))\n\
             attempt(lambda: os.close(os.open(out + '/t/c', os.O_CREAT | os.O_WRONLY, 0o755)))\n\
             attempt(lambda: os.chmod(out + '/t/a', 0o777))\nattempt(lambda: os.rename(out + '/t/a', out + '/t/x'))"
        );
        let ran = bed.run(tier, &python(&program), only("t"));
        let asked = ran.acts();
        assert!(asked.first().is_some_and(|act| act == "move away t"), "{tier}: {asked:?} {}", ran.said);
        let expected = [
            "create new",
            "make a link that leads to `/etc/passwd` at l",
            "create sub",
            "create u",
            "create c",
            "set mode 0777 of a",
            "move away a",
            "give it the name x",
        ];
        assert_eq!(asked.get(2..).unwrap_or_default(), expected, "{tier}: {}", ran.said);
        let names: Vec<_> =
            fs::read_dir(bed.outside.join("t")).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(names, ["a"], "{tier}");
        let ran = bed.run(tier, "mkdir $OUT/t/sub; true", no);
        assert_eq!(ran.asked.len(), 1, "{tier}: {:?}", ran.acts());
    }
}

/// What would not be on the screen is not covered: a tree with more names than a question shows is refused, and not asked about.
#[test]
fn a_tree_that_cannot_be_shown_whole_is_not_moved_out() {
    for tier in TIERS {
        for (files, asked) in [(200, 1), (201, 0)] {
            let bed = RunBed::new();
            let ran =
                bed.run(tier, &format!("mkdir t; cd t; touch $(seq {files}); cd ..; mv t $OUT/; true"), yes);
            assert_eq!(ran.asked.len(), asked, "{tier} {files}: {:?} {}", ran.acts(), ran.said);
            assert_eq!(bed.outside.join("t").exists(), asked == 1, "{tier} {files}: {}", ran.said);
            assert_eq!(bed.folder.join("t").exists(), asked == 0, "{tier} {files}: {}", ran.said);
        }
    }
}

/// A tree outside with this many files in it.
fn tree(bed: &RunBed, files: usize) {
    fs::create_dir_all(bed.outside.join("t/sub/deep")).unwrap();
    for number in 0..files {
        let folder = ["t", "t/sub", "t/sub/deep"][number % 3];
        fs::write(bed.outside.join(folder).join(format!("f{number}")), "x").unwrap();
    }
}

#[test]
fn a_tree_is_removed_by_one_question_that_says_what_goes() {
    for tier in TIERS {
        for remove in [
            "rm -rf $OUT/t",
            "rm -r $OUT/t",
            "cd $OUT && rm -rf ./t/",
            "find $OUT/t -delete",
            "sh -c 'rm -rf $OUT/t'",
            "python3 -c 'import os, shutil; shutil.rmtree(os.environ[\"OUT\"] + \"/t\")'",
        ] {
            if remove.starts_with("python3") && !has_python() {
                continue;
            }
            let bed = RunBed::new();
            tree(&bed, 30);
            let ran = bed.run(tier, &format!("{remove}; true"), yes);
            let [request] = ran.asked.as_slice() else {
                panic!("{tier} {remove}: {:?} {}", ran.acts(), ran.said)
            };
            let [act] = acts(request) else { panic!("{request:?}") };
            assert!(act.path.ends_with("outside/t") && request.destructive, "{tier} {remove}: {request:?}");
            assert_eq!((act.below, act.names.len()), (32, 32), "{remove}: {act:?}");
            assert!(act.names.iter().any(|name| name == "sub/deep/f2"), "{act:?}");
            assert!(!bed.outside.join("t").exists(), "{tier} {remove}: {}", ran.said);
        }
    }
}

#[test]
fn a_no_to_a_tree_is_a_no_to_each_part_of_it() {
    for tier in TIERS {
        let bed = RunBed::new();
        tree(&bed, 30);
        let ran =
            bed.run(tier, "rm -rf $OUT/t; rm -f $OUT/t/f0; perl -e 'unlink \"$ENV{OUT}/t/f3\"'; true", no);
        assert_eq!(ran.asked.len(), 1, "{tier}: {:?}", ran.acts());
        assert!(bed.outside.join("t/f0").exists() && bed.outside.join("t/sub/deep/f2").exists());
    }
}

#[test]
fn a_yes_to_a_tree_is_for_what_was_shown_of_it() {
    if !has_python() {
        return;
    }
    for tier in TIERS {
        let bed = RunBed::new();
        tree(&bed, 6);
        fs::write(bed.outside.join("keep"), "x").unwrap();
        // What comes to lie there later, what lies elsewhere, and a second file at the place of one that went.
        let later = bed.outside.join("t/later");
        let ran = bed.run(
            tier,
            &python(
                "import shutil\nshutil.rmtree(out + '/t/sub')\nfor name in ['t/later', 'keep', 't/f0']:\n    try: \
                 os.unlink(out + '/' + name)\n    except OSError as e: print(name, e.errno)",
            ),
            move |request| {
                fs::write(&later, "x").unwrap();
                only("t/sub")(request)
            },
        );
        assert_eq!(ran.said, "t/later 13\nkeep 13\nt/f0 13\n", "{tier}: {:?}", ran.acts());
        assert!(!bed.outside.join("t/sub").exists() && bed.outside.join("keep").exists());
    }
}

#[test]
fn no_to_all_of_a_process_is_for_it_and_what_it_starts_and_for_no_other() {
    for tier in TIERS {
        let bed = RunBed::new();
        let script = "sh -c 'echo x > $OUT/a; echo x > $OUT/b; sh -c \"echo x > $OUT/c; rm -f $OUT/d\"'; \
                      echo x > $OUT/e; true";
        fs::write(bed.outside.join("d"), "").unwrap();
        let ran = bed.run(tier, script, |request| match acts(request) {
            [act] if act.path.ends_with("/a") => Choice::No { message: None, process: true },
            _ => Choice::Yes,
        });
        assert_eq!(ran.acts(), ["create a", "create e"], "{tier}: {}", ran.said);
        assert!(bed.outside.join("d").exists() && bed.outside.join("e").exists());
    }
}

/// As Claude Code writes: by way of a descriptor of the directory, under another name first.
const BY_WAY: &str = "def write(name, way, text):\n    \
    fd = os.open(out, os.O_PATH)\n    \
    temporary = '%s.tmp.%d.9a2056118288' % (name, os.getpid())\n    \
    at = '/proc/self/fd/%d/' % fd if way == 'proc' else ''\n    \
    keys = dict(dir_fd=fd) if way == 'dirfd' else {}\n    \
    at = out + '/' if way == 'plain' else at\n    \
    f = os.open(at + temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, **keys)\n    \
    os.write(f, text)\n    os.fchmod(f, 0o600)\n    os.close(f)\n    \
    keys = dict(src_dir_fd=fd, dst_dir_fd=fd) if way == 'dirfd' else {}\n    \
    os.rename(at + temporary, at + name, **keys)\n";

#[test]
fn a_file_that_is_written_by_way_of_a_temporary_one_is_one_question_about_the_file() {
    if !has_python() {
        return;
    }
    for tier in TIERS {
        for way in ["plain", "proc", "dirfd"] {
            let bed = RunBed::new();
            fs::write(bed.outside.join("old.txt"), "old").unwrap();
            let program =
                format!("{BY_WAY}write('new.txt', '{way}', b'one')\nwrite('old.txt', '{way}', b'two')");
            let ran = bed.run(tier, &python(&program), yes);
            assert_eq!(ran.said, "", "{tier} {way}");
            let places: Vec<_> =
                ran.asked.iter().flat_map(|request| acts(request).iter().map(|act| &act.path)).collect();
            assert_eq!(
                places,
                [&bed.outside.join("new.txt"), &bed.outside.join("old.txt")]
                    .map(|p| p.display().to_string())
                    .iter()
                    .collect::<Vec<_>>(),
                "{tier} {way}"
            );
            let names: Vec<_> =
                fs::read_dir(&bed.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names.len(), 2, "{names:?}");
            assert_eq!(fs::read_to_string(bed.outside.join("old.txt")).unwrap(), "two");
            assert_eq!(
                fs::metadata(bed.outside.join("new.txt")).unwrap().permissions().mode() & 0o777,
                0o600
            );

            let bed = RunBed::new();
            let ran = bed.run(tier, &python(&format!("{BY_WAY}write('new.txt', '{way}', b'one')")), no);
            assert_eq!(ran.asked.len(), 1, "{tier} {way}: {:?}", ran.acts());
            assert_eq!(fs::read_dir(&bed.outside).unwrap().count(), 0, "{tier} {way}: {}", ran.said);
        }
    }
}

/// Returns whether a temporary file of `sed` or `perl` got a word of small letters alone.
fn names_a_plain_word(acts: &[String]) -> bool {
    let random = |word: &str| word.strip_prefix("sed").or_else(|| word.strip_prefix("XX")).map(str::to_owned);
    let is_plain = |word: String| word.len() == 6 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    acts.iter().flat_map(|act| act.split(' ')).filter_map(random).any(is_plain)
}

#[test]
fn tools_that_replace_files_ask_once() {
    for tier in TIERS {
        for edit in ["sed -i s/old/new/ $OUT/f.txt", "perl -pi -e s/old/new/ $OUT/f.txt"] {
            let run = || {
                let bed = RunBed::new();
                fs::write(bed.outside.join("f.txt"), "old\n").unwrap();
                let ran = bed.run(tier, edit, yes);
                (bed, ran)
            };
            // One random word in two hundred has small letters alone, as a name that a person chose: it is asked about too.
            let (bed, ran) =
                Some(run()).filter(|(_, ran)| !names_a_plain_word(&ran.acts())).unwrap_or_else(run);
            assert_eq!(ran.asked.len(), 1, "{tier} {edit}: {:?} {}", ran.acts(), ran.said);
            assert_eq!(fs::read_to_string(bed.outside.join("f.txt")).unwrap(), "new\n", "{tier} {edit}");
        }
    }
}

/// Files that lay beside it before, other names, and what another process does.
#[test]
fn a_yes_to_a_file_is_not_for_what_lies_beside_it() {
    if !has_python() {
        return;
    }
    for tier in TIERS {
        let bed = RunBed::new();
        for name in ["f.txt.bak", "f.txt.tmp", "other"] {
            fs::write(bed.outside.join(name), "mine").unwrap();
        }
        let program = format!(
            "{BY_WAY}write('f.txt', 'plain', b'one')\ndef tries(what, *names):\n    try: what(*[out + '/' + n for n in \
             names])\n    except OSError as e: print(what.__name__, names[-1], e.errno)\ntries(os.unlink, \
             'f.txt.bak')\ntries(os.truncate_, 'f.txt.tmp') if hasattr(os, 'truncate_') else None\n\
             tries(lambda p: os.open(p, os.O_WRONLY | os.O_TRUNC), 'f.txt.tmp')\ntries(os.rename, 'f.txt', 'g')\n\
             tries(os.unlink, 'f.txt')\ntries(os.rename, 'other', 'f.txt.new')"
        );
        let ran = bed.run(tier, &python(&program), |request| {
            if acts(request)
                .iter()
                .all(|act| act.path.ends_with("/f.txt") && act.operation.contains("by way"))
            {
                Choice::Yes
            } else {
                no(request)
            }
        });
        let refused =
            "unlink f.txt.bak 13\n<lambda> f.txt.tmp 13\nrename g 13\nunlink f.txt 13\nrename f.txt.new 13\n";
        assert_eq!(ran.said, refused, "{tier}: {:?}", ran.acts());
        for name in ["f.txt.bak", "f.txt.tmp", "other"] {
            assert_eq!(fs::read_to_string(bed.outside.join(name)).unwrap(), "mine", "{tier} {name}");
        }
        assert_eq!(fs::read_to_string(bed.outside.join("f.txt")).unwrap(), "one");
    }
}
