use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use pinfold_testkit::scripts::{READS, ScriptBed, resolve, runner, script};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::path_scopes::{PathScopes, ScopedPath, ScopedTarget, ScopedTool, ToolScopes};
use crate::source::{Layer, Source};

const CWD: &str = "/home/u/proj";

fn expand_context() -> ExpandContext {
    let variables = [("SAFE", "/home/u/proj/sub"), ("SPACED", "a /etc/passwd"), ("EMPTY", "")];
    ExpandContext {
        home: Some("/home/u".into()),
        folder: CWD.into(),
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}

fn audited(command: &str) -> Audit {
    audit_line(command, Path::new(CWD), &expand_context())
}

/// The places that a line names, `?` in front of what may be no path, `!` in front of the system's; the pattern behind
/// `|`; `>` in front of a write.
fn named(command: &str) -> BTreeSet<String> {
    let shown = |word: &WordClaim| {
        let path = word.claim.path.as_ref().unwrap().as_os_str().to_str().unwrap();
        let mention = match word.mention {
            PathMention::Named => "",
            PathMention::Perhaps => "?",
            PathMention::System => "!",
        };
        let write = if word.claim.operation.writes() { ">" } else { "" };
        let pattern = word.pattern.as_ref().map(|pattern| format!("|{pattern}")).unwrap_or_default();
        format!("{mention}{write}{path}{pattern}")
    };
    audited(command).claims.iter().map(shown).collect()
}

#[test]
fn every_word_that_can_be_a_path_is_claimed() {
    for (command, places) in [
        ("cat ~/proj/a", &["/home/u/proj/a"][..]),
        ("cat a ./b ../c", &["?/home/u/proj/a", "/home/u/proj/./b", "/home/u/proj/../c"]),
        ("cat src/a", &["?/home/u/proj/src/a"]),
        ("cat \"$HOME\"/x ${HOME}/y $SAFE", &["/home/u/x", "/home/u/y", "/home/u/proj/sub"]),
        ("cat '~/x'", &["/home/u/x"]),
        ("cat $'/etc/passwd' \\/etc/hosts \"/etc/\"motd", &["/etc/passwd", "/etc/hosts", "/etc/motd"]),
        ("cat {/etc/passwd,x}", &["/etc/passwd", "?/home/u/proj/x"]),
        ("mkdir -p src/{a,b}", &["?/home/u/proj/src/a", "?/home/u/proj/src/b"]),
        ("cat /etc/pass* *.md", &["/etc/|pass*", "?/home/u/proj/.|*.md"]),
        ("ls /tmp/*/x", &["/tmp/|*/x"]),
        ("sort < /in > out", &["/in", ">/home/u/proj/out"]),
        ("echo hi >> /a 2> /b", &["?/home/u/proj/hi", ">/a", ">/b"]),
        ("exec 3<> /c", &[">/c"]),
        ("ls > /dev/null 2>&1 < /dev/stdin", &["!>/dev/null", "!/dev/stdin"]),
        (
            "dd if=/etc/x of=out",
            &[
                "/etc/x",
                "?/home/u/proj/out",
                "?/home/u/proj/if",
                "?/home/u/proj/of",
                "?/home/u/proj/if=/etc/x",
                "?/home/u/proj/of=out",
            ],
        ),
        ("wget --output-document=/etc/x http://e/a", &["/etc/x"]),
        ("curl -o/etc/x https://e/etc", &["/etc/x"]),
        ("gcc -I/etc -I../x -Isrc/inc", &["/etc", "/home/u/proj/../x", "?/home/u/proj/src/inc", "?/inc"]),
        (
            "curl -d @/etc/passwd -F f=@/etc/x file:///etc/%79",
            &[
                "/etc/passwd",
                "/etc/x",
                "/etc/y",
                "?/home/u/proj/@/etc/passwd",
                "?/home/u/proj/f=@/etc/x",
                "?/home/u/proj/f",
                "?/home/u/proj/@/etc/x",
            ],
        ),
        ("docker run -v /etc:/mnt", &["/etc", "/mnt", "/etc:/mnt", "?/home/u/proj/run"]),
        ("X=/etc/passwd cmd", &["/etc/passwd"]),
        ("/bin/ls", &["!/bin/ls"]),
        ("/bin/../etc/x", &["/bin/../etc/x"]),
        ("/opt/evil", &["/opt/evil"]),
        ("./run", &["/home/u/proj/./run"]),
        ("sudo /usr/bin/env", &["!/usr/bin/env"]),
        ("cat /usr/bin/env", &["/usr/bin/env"]),
        ("bash -c 'cat /etc/passwd'", &["/etc/passwd", "/home/u/proj/cat /etc/passwd"]),
        ("for f in /etc/*; do echo hi; done", &["/etc/|*", "?/home/u/proj/hi"]),
        ("cat 'C:\\x'", &["?/home/u/proj/C:\\x", "?/home/u/proj/C", "?/home/u/proj/\\x"]),
        ("cat - -- -n", &[]),
    ] {
        let expected: BTreeSet<String> = places.iter().map(|place| (*place).to_owned()).collect();
        let found = named(command);
        if command.starts_with("bash -c") || command.starts_with("gcc") {
            assert!(
                found.is_superset(&expected) || found.iter().any(|f| f == places[0]),
                "{command}: {found:?}"
            );
            continue;
        }
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn relative_words_follow_the_folder() {
    for (command, places) in [
        ("cd sub && cat ../x", &["/home/u/proj/sub/../x"][..]),
        ("cd sub; cat ../x", &["/home/u/proj/../x", "/home/u/proj/sub/../x"]),
        ("cd build && cmake .. && cat ./x", &["/home/u/proj/build/..", "/home/u/proj/build/./x"]),
        ("cd /etc && cat ./passwd", &["/etc", "/etc/./passwd"]),
        ("cd && cat .ssh/id", &["?/home/u/.ssh/id"]),
        ("(cd /etc; cat ./x)", &["/etc", "/etc/./x", "/home/u/proj/./x"]),
        (
            "cd sub && cd .. && cat ./x",
            &["/home/u/proj/sub/..", "/home/u/proj/./x", "/home/u/proj/sub/.././x"],
        ),
        (
            "tar -C /etc -cf ./o ../x",
            &["/etc", "/home/u/proj/./o", "/home/u/proj/../x", "/etc/./o", "/etc/../x"],
        ),
        ("git --directory=/etc show ./x", &["/etc", "/home/u/proj/./x", "/etc/./x"]),
        ("bash -c 'cd /etc && cat ./x'", &["/etc", "/etc/./x"]),
        ("cd sub && sh -c 'cat ./x'", &["/home/u/proj/sub/./x"]),
        ("cd sub && sh -c 'cd a && cat ./x'", &["/home/u/proj/sub/a/./x"]),
        ("command cd /etc && cat ./x", &["/etc", "/etc/./x"]),
        ("cd $SAFE && cat ./x", &["/home/u/proj/sub", "/home/u/proj/sub/./x"]),
    ] {
        let found = named(command);
        for place in places {
            assert!(found.contains(*place), "{command}: {place} of {found:?}");
        }
        let certain = |place: &&String| !place.starts_with('?') && !place.contains(' ');
        assert!(found.iter().filter(certain).count() <= places.len(), "{command}: {found:?}");
    }
}

#[test]
fn what_cannot_be_audited_is_said() {
    for command in [
        "echo $(id)",
        "echo `id`",
        "diff <(ls) x",
        "tee >(cat)",
        "cat <<< x",
        "eval ls",
        "SAFE=/etc sh -c 'cat $SAFE/x'",
        "env SAFE=/etc sh -c 'cat $SAFE/x'",
        "export SAFE=/etc; sh -c 'cat $SAFE/x'",
        "HOME=/etc bash -c 'cat ~/x'",
        "IFS=q; x=aq/etc; cat $x",
        "declare -n r=HOME; r=/etc; cat ~/x",
        "vim -c ':r /etc/x'",
        "e=eval; $e ls",
        "e=cd; $e /etc; cat ./passwd",
        "[e]val ls",
        "source x.sh",
        ". ./x.sh",
        "command eval ls",
        "builtin source x",
        "cat 'unterminated",
        "cat <<EOF\n$(id)\nEOF",
        "python3 -c 'print(1)'",
        "python3.12 -Ic 'print(1)'",
        "perl -ne 'print'",
        "node --eval '1'",
        "deno eval '1'",
        "env python3 -c 1",
        "timeout 5 ruby -e 1",
        "python3 <<EOF\nprint(1)\nEOF",
        "echo x | bash",
        "echo x | python3 -",
        "ls | xargs cat",
        "env -S 'cat x'",
        "bash -c \"$X\"",
        "bash -c 'eval x'",
        "cat $UNKNOWN",
        "cat ${HOME:-/etc}",
        "cat ${HOME%/*}",
        "cat $SPACED",
        "cat $1",
        "cat ~root/x",
        "cat ~-/x",
        "cd -; cat x",
        "cd -",
        "popd",
        "cd -; [[ -f x ]]",
        "cd $UNKNOWN && sh -c 'cat x'",
        "sh -c 'cd $UNKNOWN; cat x'",
        "while read d; do cat x; cd ..; done",
        "for d in a b; do cat x; cd sub; done",
        "f() { cat x; }; cd sub; f",
        "cd sub; OLDPWD=/etc; cd -; cat x",
        "builtin read f; cat $f",
        "f=a; unset f; cat $f/x",
        ": a; cat $_/../../x",
        "unset SECONDS; SECONDS=/etc; cat $SECONDS/passwd",
        "(PWD=a); cat $PWD/x",
        "cd sub && sh -c 'cat $PWD/../x'",
        "$e SAFE=/etc; cat $SAFE",
        "cd $UNKNOWN; cat x",
        "CDPATH=/etc; cd cron.d && cat x",
        "popd; cat x",
        "while true; do cd ..; done; cat x",
        "HOME=$(x); cat ~/a",
        "read HOME; cat ~/a",
        "read HOME; cat $HOME/a",
        "printf -v HOME /etc; cat $HOME/a",
        "x=a; x+=/../../etc; cat $x",
        "declare $name; cat $HOME/x",
        "awk 'BEGIN{while((getline l < f)>0) print l}'",
        "awk '{print | \"sh\"}' x",
        "alias ls='cat /etc/passwd'",
        "trap \"$x\" EXIT",
    ] {
        assert_ne!(audited(command).unauditable, [], "{command}");
    }
}

#[test]
fn plain_words_can_be_audited() {
    for command in [
        "ls -la",
        "cat ~/proj/a $HOME/b ${SAFE}/c",
        "git commit -m 'eval the source'",
        "echo eval source",
        "cat <<'EOF'\n$(id)\nEOF",
        "cat <<EOF\n$HOME is home\nEOF",
        "bash -c 'cat x'",
        "bash <<'EOF'\ncat x\nEOF",
        "bash script.sh",
        "python3 script.py -c x",
        "echo x | python3 script.py",
        "cargo test | head -n 5",
        "printf '%s\\n' \"$HOME\"",
        "for f in a b; do cat $f; done",
        "for f in src/*.rs; do wc -l \"$f\"; done",
        "f=~/proj/a; cat $f",
        "echo $? $$ $((1 + 2))",
        "cd build && cmake .. && make",
        "awk '{print $1}' x || true",
        "awk '$1 > 5 || $2' x",
        "trap 'rm -f x' EXIT",
        "cat \"$SPACED\"",
        "find . -name '*.rs' -exec wc -l {} +",
        "time ls",
    ] {
        assert_eq!(audited(command).unauditable, [], "{command}");
    }
}

#[test]
fn what_a_variable_can_hold_is_claimed_wherever_it_is_set() {
    for (command, place) in [
        ("f=/etc/passwd; cat $f", "/etc/passwd"),
        ("cat $f; f=/etc/passwd", "/etc/passwd"),
        ("for f in a /etc; do cat $f/passwd; done", "/etc/passwd"),
        ("for f in /etc/*; do cat $f; done", "/etc/|*"),
        ("HOME=/etc; cat $HOME/passwd", "/etc/passwd"),
        ("f=x; cat $f/etc", "/etc"),
        ("sh -c 'cat $SAFE'", "/home/u/proj/sub"),
        ("su -c 'cat /etc/x'", "/etc/x"),
        ("sed -n 'w /etc/x' f", "/etc/x"),
        ("[[ -f /etc/x ]]", "/etc/x"),
        ("case /etc/x in *) ;; esac", "/etc/x"),
        ("git commit -m 'block dd if=/dev/zer and more'", "?/dev/zer and more"),
        ("d=/etc; read d; cat $d/passwd", "/etc/passwd"),
        ("export d=/etc; cat $d/passwd", "/etc/passwd"),
        ("d=(/etc); d+=(x); cat $d/passwd", "/etc/passwd"),
        ("let SAFE=1; cat $SAFE/x", "?/home/u/proj/.|*/x"),
        ("SAFE=a; let SAFE=1; cat $SAFE/x", "?/home/u/proj/.|*/x"),
        ("let n=1; cat $n/x", "?/home/u/proj/.|*/x"),
    ] {
        assert!(named(command).contains(place), "{command}: {:?}", named(command));
    }
    assert_ne!(audited("HOME=/etc; cat ~/passwd").unauditable, []);
}

/// Decides as a session would, in a world without links where `present` is all there is.
fn refused(path_scopes: &PathScopes, command: &str) -> bool {
    let found = audited(command);
    let present = ["/etc/passwd", "/home/u/proj/a", "/etc", "/home/u/proj", "/"];
    let no = |word: &WordClaim| {
        let asked = Path::new(word.claim.path.as_ref().unwrap().as_os_str());
        let real = crate::path_scopes::expand::tidy(asked);
        let touched = ScopedPath {
            operation: word.claim.operation,
            asked,
            leads: ScopedTarget::To(&real),
            missing: !present.iter().any(|place| Path::new(place) == real),
            folds_case: false,
            mention: word.mention,
            pattern: word.pattern.as_deref(),
        };
        path_scopes.path_no(ScopedTool::Terminal, &touched).is_some()
    };
    path_scopes.text_no(ScopedTool::Terminal, &found.unauditable).is_some() || found.claims.iter().any(no)
}

fn path_scopes(terminal: &serde_json::Value) -> PathScopes {
    let scopes = ToolScopes::parse(&json!({"terminal": terminal})).unwrap();
    scopes.draw(&Source::plain(Layer::User), &expand_context(), &|path| Ok(path.to_owned())).unwrap()
}

#[test]
fn a_waiver_lets_texts_through_and_never_a_path_that_can_be_seen() {
    let waived = path_scopes(&json!({"allowed_paths": ["~/proj", "/tmp"], "allow_metacharacters": true}));
    let strict = path_scopes(&json!({"allowed_paths": ["~/proj", "/tmp"]}));
    for (command, by_strict, by_waived) in [
        ("echo $(cat x)", true, false),
        ("echo $(cat /etc/passwd)", true, true),
        ("cat /etc/$(x)", true, true),
        ("cat /tmp/$X", true, false),
        ("eval 'cat /etc/passwd'", true, true),
        ("eval cat /etc/passwd", true, true),
        ("python3 -c 'print(open(\"/etc/passwd\").read())'", true, true),
        ("python3 -c 'print(1)'", true, false),
        ("cat <<< /tmp", true, false),
        ("source /etc/profile", true, true),
        ("cat /etc/passwd", true, true),
        ("for f in /etc/*; do cat $(x); done", true, true),
        ("cat /tmp/x", false, false),
        ("ls /", true, true),
        ("cat $UNSET", true, false),
        ("echo hello world", false, false),
    ] {
        assert_eq!(refused(&strict, command), by_strict, "strict: {command}");
        assert_eq!(refused(&waived, command), by_waived, "waived: {command}");
    }
}

/// A launcher, shell or interpreter that an entry of the catalog describes hides no line and no code from a scope.
#[test]
fn no_launcher_gets_past_a_scope() {
    let scope = path_scopes(&json!({"allowed_paths": ["~/proj", "/tmp"]}));
    for command in [
        "chronic sh -c 'cat /etc/passwd'",
        "setpriv --reuid 0 sh -c 'cat /etc/passwd'",
        "npx 'cat /etc/passwd'",
        "npx 'sh -c \"cat /etc/passwd\"'",
        "fakeroot sh -c 'cat /etc/passwd'",
        "unbuffer sh -c 'cat /etc/passwd'",
        "uv run sh -c 'cat /etc/passwd'",
        "pkexec bash -c 'sh -c \"cat /etc/passwd\"'",
        "env -S 'cat /etc/passwd'",
        "ipython -c 1",
        "irb -e 1",
        "elixir -e 1",
        "guile -c 1",
        "python3.99 -c 1",
        "lua5.2 -e 1",
        "$SHELL -c ls",
        "tar -xf a.tar --to-command='cat /etc/passwd'",
        "tar -xf a.tar --to-command='sh -c \"cat /etc/passwd\"'",
        "no-such-program sh -c 'cat /etc/passwd'",
        "no-such-program --run python3 -c 1",
        "echo x | sudo bash",
        "csh -c ls",
        "zsh -c ls",
        "fish <<EOF\nls\nEOF",
    ] {
        assert!(refused(&scope, command), "{command}");
    }
    for command in [
        "chronic sh -c 'cat a'",
        "uv run pytest",
        "npx jest src",
        "sudo -u me make",
        "timeout 5 cargo test",
        "tar -xf a.tar --to-command='wc -l'",
        "no-such-program bash",
        "no-such-program run python3 x.py",
        "sh -c 'cd sub && cat a' x y",
    ] {
        assert!(!refused(&scope, command), "{command}");
    }
}

#[test]
fn every_launcher_of_the_catalog_is_looked_through() {
    let scope = path_scopes(&json!({"allowed_paths": ["~/proj", "/tmp"]}));
    let line = "'cat /etc/passwd'";
    assert!(!refused(&scope, &format!("echo {line} | wc -l")), "the text alone is refused");
    let mut past = pinfold_commands::launchers();
    // What runs in a container is not here.
    past.retain(|name| !name.contains(' '));
    past.retain(|name| {
        let forms = [
            format!("{name} sh -c {line}"),
            format!("{name} 1 sh -c {line}"),
            format!("{name} -c {line}"),
            format!("{name} -e {line}"),
            format!("{name} -- sh -c {line}"),
            format!("{name} exec sh -c {line}"),
            format!("{name} new sh -c {line}"),
            format!("{name} run sh -c {line}"),
            format!("{name} -x sh -c {line}"),
            format!("{name} . -exec sh -c {line} ';'"),
            format!("{name} {line} EXIT"),
            format!("echo {line} | {name}"),
        ];
        !forms.iter().any(|form| refused(&scope, form))
    });
    assert_eq!(past, Vec::<String>::new());
}

#[test]
fn a_folder_outside_the_scope_does_not_make_every_word_a_path() {
    let elsewhere = path_scopes(&json!({"allowed_paths": ["/srv"]}));
    for (command, no) in [
        ("git status", false),
        ("ls /srv/a", false),
        ("cat a", true),
        ("cat missing", false),
        ("echo x > out", true),
        ("cat ./missing", true),
        ("cat *.md", true),
        ("git checkout origin/main", false),
    ] {
        assert_eq!(refused(&elsewhere, command), no, "{command}");
    }
}

proptest! {
    #[test]
    fn a_denied_place_is_seen_in_every_word(
        front in "(|-|-o|--out=|of=|a,|f=@|~/\\.\\./\\.\\./|\\.\\./\\.\\./\\.\\./|/|/tmp/\\.\\.)",
        quote in "(|'|\")",
    ) {
        let denied = path_scopes(&json!({"denied_paths": ["/vault"]}));
        let command = format!("cat {quote}{front}/vault/key{quote}");
        prop_assert!(refused(&denied, &command), "{}", command);
    }

    #[test]
    fn no_line_panics(line in "\\PC{0,60}") {
        let _ = audited(&line);
        let _ = audit_code(&line, Path::new(CWD), &expand_context());
    }

    #[test]
    fn no_line_of_shell_panics(line in "[-a-z/~$(){}<>|;&'\"`* .=:,@\\n\\\\]{0,60}") {
        let _ = audited(&line);
    }
}

#[test]
fn long_lines_take_no_more_than_their_length() {
    for line in [
        format!("cat {}", "/a:".repeat(20_000)),
        format!("cat {}", "a ".repeat(20_000)),
        format!("x=a; cat {}", "$x ".repeat(15_000)),
        format!("cat {}", "{a,b}".repeat(5_000)),
        format!("cat -{}", "/".repeat(50_000)),
        "cd a; ".repeat(10_000),
        "f=a; ".repeat(10_000),
        format!("{}echo{}", "bash -c '".repeat(5_000), "'".repeat(5_000)),
    ] {
        let before = worked();
        let found = audited(&line);
        assert!(found.claims.len() <= MAX_CLAIMS);
        // Quadratic in lines of this length would be minutes.
        let took = worked().saturating_sub(before);
        assert!(took < Duration::from_secs(5), "{} took {took:?}", line.get(..20).unwrap());
    }
}

/// CPU time of this thread, which does not depend on the load of the machine.
fn worked() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

#[test]
fn what_is_read_of_a_line_of_many_shells_does_not_grow_with_it() {
    for start in ["bash -c '", "bash -c x ", "sh -c \"a\" ", "eval a; "] {
        let looked = |many: usize| {
            let audit = audited(&start.repeat(many));
            assert!(audit.unauditable.iter().any(|part| part.what == UnauditableReason::TooMuch), "{start}");
            audit.claims.len()
        };
        assert!(looked(800) <= looked(100).max(100), "{start}");
    }
}

/// Returns whether a place that a line names is this one, or its pattern may match it.
fn is_named(word: &WordClaim, real: &Path) -> bool {
    let place = resolve(Path::new(word.claim.path.as_ref().unwrap().as_os_str()));
    let Some(pattern) = &word.pattern else { return place == real };
    let Ok(below) = real.strip_prefix(&place) else { return false };
    let (names, globs): (Vec<_>, Vec<_>) = (below.iter().collect(), pattern.split('/').collect());
    let may_be = |(name, glob): (&&std::ffi::OsStr, &&str)| {
        pinfold_commands::wild::may_be(glob, name.as_encoded_bytes())
    };
    pattern.contains("**") || names.len() == globs.len() && names.iter().zip(&globs).all(may_be)
}

/// Random scripts beside a real bash: each file that was read is among the places, or the line says that it cannot be audited.
#[test]
fn a_file_that_a_real_bash_reads_is_named_by_every_value_of_its_variables() {
    let (bed, known) = (ScriptBed::new(), std::cell::Cell::new(0));
    let around = ExpandContext {
        home: Some(bed.home()),
        folder: bed.start(),
        variables: [
            ("HOME".to_owned(), bed.home().to_str().unwrap().to_owned()),
            ("E".to_owned(), "b".to_owned()),
        ]
        .into(),
    };
    let (mut runner, cases) = runner();
    let result = runner.run(&script(READS), |text| {
        let found = audit_line(&text, &bed.start(), &around);
        if found.unauditable.is_empty() {
            for (file, folder) in bed.run(&text).into_iter().filter(|(file, _)| file.contains('/')) {
                let real = resolve(&folder.join(&file));
                let is_named = found.claims.iter().any(|word| is_named(word, &real));
                prop_assert!(
                    is_named,
                    "{text}\n{file} was read in {} and is none of {:?}",
                    folder.display(),
                    found.claims.iter().map(|w| (&w.claim.path, &w.pattern)).collect::<Vec<_>>()
                );
                known.set(known.get() + 1);
            }
        }
        Ok(())
    });
    assert!(result.is_ok(), "{}", result.unwrap_err());
    assert!(known.get() > cases / 40, "only {} reads say something", known.get());
}
