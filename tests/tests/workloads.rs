//! Real work inside plain `pinfold run -- …`: what people do all day has to go on working, with no flag at all.
//!
//! Each piece of work is prepared outside, done inside by a shell script, and its result is looked at from outside.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pinfold_tests::missing::{all_there, left_out};
use pinfold_tests::output::describe;
use pinfold_tests::toolchain::{cache_crate, toolchain};
use pinfold_tests::{Bed, Tier, Who, each};

/// Writes a file of the bed's folder, with the directories above it.
fn put(bed: &Bed, name: &str, text: &str) {
    let at = bed.folder().join(name);
    fs::create_dir_all(at.parent().expect("a file has a parent")).expect("directories");
    fs::write(at, text).expect("a file");
}

/// Prepares a bed for a user, runs the script in it with no option, and expects its last line.
fn works(who: Who, name: &str, tools: &[&str], prepare: impl Fn(&Bed), script: &str, last: &str) {
    if !all_there(name, tools) || !Tier::Full.is_possible_for(who) {
        return;
    }
    let bed = Bed::new(who);
    prepare(&bed);
    bed.give();
    confirm(name, &bed, script, last);
}

fn confirm(name: &str, bed: &Bed, script: &str, last: &str) {
    let output =
        bed.run(Tier::Full, &[]).args(["sh", "-ec", script]).output().expect("pinfold can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    let right = output.status.success() && said.lines().last() == Some(last);
    assert!(right, "{name}, {}: {}", bed.who(), describe(&output));
}

fn nothing(_: &Bed) {}

#[each(user)]
fn cargo_builds_a_crate_with_a_dependency_from_the_cache(who: Who) {
    let bed = Bed::new(who);
    let (Some(rust), Some(version)) = (toolchain(who), cache_crate(&bed, "cfg-if")) else {
        left_out("cargo build", "no toolchain, or its cache does not hold `cfg-if`");
        return;
    };
    let manifest = format!(
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\ncfg-if = \"={version}\"\n"
    );
    put(&bed, "Cargo.toml", &manifest);
    put(
        &bed,
        "src/main.rs",
        "fn main() { cfg_if::cfg_if! { if #[cfg(unix)] { println!(\"built\") } else {} } }\n",
    );
    bed.give();
    let path = format!("PATH={}:$PATH", rust.join("bin").display());
    let script = format!("export {path}\ncargo build --offline >&2\ncargo run --offline 2>/dev/null");
    confirm("cargo build", &bed, &script, "built");
    // A second run finds what the first one left.
    confirm("cargo build again", &bed, &script, "built");
    let shared = bed.home().join(".cargo/registry/src");
    assert!(!shared.exists(), "{who}: the build unpacked into the shared cache");
}

#[each(user)]
fn npm_installs_and_tests(who: Who) {
    let prepare = |bed: &Bed| {
        put(bed, "dep/package.json", r#"{"name":"dep","version":"1.0.0","main":"i.js"}"#);
        put(bed, "dep/i.js", "module.exports = () => 'tested';\n");
        let package = r#"{"name":"app","version":"1.0.0","dependencies":{"dep":"file:./dep"},
            "scripts":{"postinstall":"node -e 'require(\"fs\").writeFileSync(\"ran\",\"\")'","test":"node t.js"}}"#;
        put(bed, "package.json", package);
        put(bed, "t.js", "console.log(require('dep')());\n");
    };
    works(who, "npm", &["npm", "node"], prepare, "npm install >&2\ntest -e ran\nnpm test --silent", "tested");
}

#[each(user)]
fn npm_packs_and_installs_an_archive_through_its_cache(who: Who) {
    let prepare = |bed: &Bed| {
        put(bed, "dep/package.json", r#"{"name":"dep","version":"1.0.0","main":"i.js"}"#);
        put(bed, "dep/i.js", "module.exports = 7;\n");
        put(bed, "app/package.json", r#"{"name":"app","version":"1.0.0"}"#);
    };
    let script = "(cd dep && npm pack --silent >&2)\ncd app\nnpm install ../dep/dep-1.0.0.tgz >&2\nnode -p 'require(\"dep\")'";
    works(who, "npm archive", &["npm", "node"], prepare, script, "7");
}

/// A wheel is an archive with a list of its files.
const MAKE_WHEEL: &str = r#"
import zipfile
with zipfile.ZipFile("thing-1.0-py3-none-any.whl", "w") as w:
    w.writestr("thing.py", "WORD = 'installed'\n")
    w.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    w.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    w.writestr("thing-1.0.dist-info/RECORD", "thing.py,,\nthing-1.0.dist-info/METADATA,,\nthing-1.0.dist-info/WHEEL,,\nthing-1.0.dist-info/RECORD,,\n")
"#;

#[each(user)]
fn pip_installs_into_a_virtual_environment(who: Who) {
    let have = std::process::Command::new("/usr/bin/python3").args(["-c", "import ensurepip, venv"]).output();
    if !have.is_ok_and(|o| o.status.success()) {
        left_out("pip", "Python has no ensurepip here");
        return;
    }
    let prepare = |bed: &Bed| put(bed, "wheel.py", MAKE_WHEEL);
    let script = "python3 wheel.py\npython3 -m venv env >&2\n./env/bin/pip install ./thing-1.0-py3-none-any.whl >&2\n\
                  ./env/bin/python -c 'import thing; print(thing.WORD)'";
    works(who, "pip", &["python3"], prepare, script, "installed");
}

#[each(user)]
fn make_builds_c(who: Who) {
    let prepare = |bed: &Bed| {
        put(
            bed,
            "a.c",
            "#include <stdio.h>\nint word(void);\nint main(void) { printf(\"%d\\n\", word()); return 0; }\n",
        );
        put(bed, "b.c", "int word(void) { return 42; }\n");
        put(bed, "Makefile", "p: a.o b.o\n\t$(CC) -pipe -o $@ $^\ntest: p\n\t./p\n");
    };
    works(who, "make", &["make", "cc"], prepare, "make -j2 p >&2\nmake -s test", "42");
}

#[each(user)]
fn git_makes_clones_and_commits(who: Who) {
    let prepare = |bed: &Bed| fs::create_dir(bed.folder().join("work")).expect("a directory");
    let script = "git config --global user.name 2>/dev/null || export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n\
                  cd work\ngit init -q .\necho one > f\ngit add f\ngit commit -qm one\ngit checkout -qb side\necho two >> f\n\
                  git commit -qam two\ngit stash list\ngit gc -q\ncd ..\ngit clone -q work copy 2>&1 >&2\ngit -C copy log --format=%s side -- | head -1\n";
    works(who, "git", &["git"], prepare, script, "two");
}

#[each(user)]
fn git_clones_a_repository_from_outside(who: Who) {
    if !all_there("git clone", &["git"]) {
        return;
    }
    let bed = Bed::new(who);
    let script = "git init -q there && cd there && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm from-outside";
    let made = bed.free("sh").args(["-ec", script]).current_dir(bed.outside()).output().expect("git");
    assert!(made.status.success(), "{}", describe(&made));
    let clone =
        format!("git clone -q {} copy\ngit -C copy log --format=%s", bed.outside().join("there").display());
    confirm("git clone from outside", &bed, &clone, "from-outside");
}

#[each(user)]
fn python_temporary_files(who: Who) {
    let script = "python3 - <<'P'\nimport os, tempfile\n\
                  with tempfile.TemporaryDirectory() as d:\n    open(os.path.join(d, 'x'), 'w').close()\n\
                  with tempfile.NamedTemporaryFile() as f:\n    f.write(b'x'); f.flush(); assert os.path.getsize(f.name) == 1\n\
                  with tempfile.TemporaryFile() as f:\n    f.write(b'x')\n\
                  with tempfile.SpooledTemporaryFile(max_size=1) as f:\n    f.write(b'xxx')\n\
                  fd, name = tempfile.mkstemp(); os.close(fd); os.unlink(name)\nprint('held')\nP";
    works(who, "python tempfile", &["python3"], nothing, script, "held");
}

#[each(user)]
fn pythons_own_tests_of_temporary_files(who: Who) {
    let python =
        std::process::Command::new("/usr/bin/python3").args(["-c", "import test.test_tempfile"]).output();
    if !python.is_ok_and(|o| o.status.success()) {
        left_out("Python's own tests", "its test package is not installed");
        return;
    }
    let script =
        "/usr/bin/python3 -m unittest -q test.test_tempfile test.test_shutil test.test_glob >&2\necho passed";
    works(who, "Python's own tests", &[], nothing, script, "passed");
}

#[each(user)]
fn python_pools_and_loopback_servers(who: Who) {
    let prepare = |bed: &Bed| {
        put(
            bed,
            "pool.py",
            "import multiprocessing as m\nif __name__ == '__main__':\n    with m.Pool(2) as p: print(sum(p.map(abs, [-1, -2])))\n",
        );
        let server = "import http.server, threading, urllib.request\n\
                      s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n\
                      threading.Thread(target=s.serve_forever, daemon=True).start()\n\
                      print(urllib.request.urlopen(f'http://localhost:{s.server_port}/pool.py').status)\n";
        put(bed, "server.py", server);
    };
    works(
        who,
        "python pool and server",
        &["python3"],
        prepare,
        "python3 pool.py >&2\npython3 server.py 2>/dev/null",
        "200",
    );
}

#[each(user)]
fn shell_scripts_with_the_temporary_directory_written_into_them(who: Who) {
    let script = "t=$(mktemp)\necho a > \"$t\"\nd=$(mktemp -d)\ncp \"$t\" \"$d/b\"\necho x > /tmp/fixed.$$\necho y > /var/tmp/fixed.$$\n\
                  cat > heredoc <<X\nz\nX\nseq 1 1000 | sort -rn | tail -1 > sorted\nrm -f /tmp/fixed.$$\ncat \"$d/b\" heredoc sorted | tr -d '\\n'\necho";
    works(who, "shell with /tmp", &["mktemp"], nothing, script, "az1");
}

#[each(user)]
fn editing_in_place_and_archives(who: Who) {
    let prepare = |bed: &Bed| put(bed, "tree/a.txt", "old\n");
    let script = "sed -i s/old/new/ tree/a.txt\ntar czf t.tgz tree\nrm -r tree\ntar xzf t.tgz\nmv tree moved\nchmod 640 moved/a.txt\n\
                  ln moved/a.txt hard\nln -s moved/a.txt soft\ntouch -d 2001-01-01 hard\nln -sf nowhere soft\ncp -a moved copy\ncat copy/a.txt";
    works(who, "editing and archives", &["sed", "tar"], prepare, script, "new");
}

#[each(user)]
fn the_result_belongs_to_the_user_and_keeps_its_mode(who: Who) {
    let bed = Bed::new(who);
    confirm("umask", &bed, "umask 027\n: > made\nmkdir dir\necho done", "done");
    let mode =
        |name: &str| bed.folder().join(name).metadata().expect("made inside").permissions().mode() & 0o777;
    assert_eq!((mode("made"), mode("dir")), (0o640, 0o750), "{who}");
    let owner = |at: &Path| std::os::unix::fs::MetadataExt::uid(&at.metadata().expect("a place"));
    assert_eq!(owner(&bed.folder().join("made")), owner(&bed.folder()), "{who}");
}

/// Programs go by the error: `mv` to another place removes there first what may be there.
#[each(user)]
fn removing_what_is_not_there_fails_as_it_does_without_a_run(who: Who) {
    let script = "cd $HOME; LC_ALL=C unlink nothing 2>&1 | grep -c 'No such file'; LC_ALL=C rmdir nothing 2>&1 | \
                  grep -c 'No such file'";
    works(who, "removing nothing", &["unlink", "rmdir"], nothing, script, "1");
}
