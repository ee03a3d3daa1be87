//! What is called like a place of the run's own, and is another one: `/tmp` of the machine by way of `/proc`, a descriptor that was
//! handed over, a device. Each attempt is made free as well, where it succeeds.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Tier, Who, each};
use tempfile::TempDir;

/// What is tried with what `AT` names, or with standard input. Says what was done.
const CHANGES: &str = "
import fcntl, os, sys
at = os.environ.get('AT', 0)
def attempt(name, deed):
    try: deed()
    except OSError: return
    print(name)
attempt('mode', lambda: os.chmod(at, 0o666))
attempt('times', lambda: os.utime(at, (1, 1)))
attempt('attribute', lambda: os.setxattr(at, 'user.pinfold', b'1'))
attempt('lock', lambda: fcntl.flock(0 if at == 0 else os.open(at, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB))
if at != 0:
    attempt('content', lambda: os.write(os.open(at, os.O_WRONLY | os.O_APPEND), b'changed'))
    attempt('new name', lambda: os.close(os.open(at + '-new', os.O_WRONLY | os.O_CREAT)))
    attempt('directory', lambda: os.mkdir(at + '-directory'))
    attempt('length', lambda: os.truncate(at, 1))
    attempt('move', lambda: os.rename(at, at + '-moved'))
";

/// A file of the user's in a directory of the machine that a run covers with its own.
struct MachineFile {
    place: TempDir,
    file: PathBuf,
}

impl MachineFile {
    fn new(who: Who, below: &str) -> Self {
        let place = tempfile::Builder::new().prefix("pinfold-views.").tempdir_in(below).expect("a directory");
        let file = place.path().join("file");
        fs::write(&file, "plain").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
        who.give(place.path());
        Self { place, file }
    }

    /// All that can be changed about it.
    fn state(&self) -> (Vec<PathBuf>, String, u32, i64, bool) {
        let mut names: Vec<_> = fs::read_dir(self.place.path())
            .expect("a directory")
            .map(|entry| entry.expect("a name").path())
            .collect();
        names.sort();
        let Ok(found) = self.file.metadata() else { return (names, String::new(), 0, 0, false) };
        let attribute = rustix::fs::getxattr(&self.file, "user.pinfold", &mut [0; 8]).is_ok();
        (
            names,
            fs::read_to_string(&self.file).expect("a text"),
            found.mode() & 0o7777,
            found.mtime(),
            attribute,
        )
    }
}

fn python(mut command: Command, script: &str, input: impl Into<Stdio>) -> Output {
    command.args(["python3", "-c", script]).stdin(input).output().expect("it can be started")
}

fn changing(at: &str) -> String {
    format!("import os\nos.environ['AT'] = {at:?}{CHANGES}")
}

fn done(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[each(user, tier)]
fn the_machines_own_places_are_not_reached_through_proc(who: Who, tier: Tier) {
    if !all_there("views", &["python3"]) {
        return;
    }
    let bed = Bed::new(who);
    for below in ["/tmp", "/dev/shm"] {
        for way in ["/proc/self/../..", "/proc/thread-self/../../../..", "/proc/self/task/../../.."] {
            let there = MachineFile::new(who, below);
            let before = there.state();
            let script = changing(&format!("{way}{}", there.file.display()));
            let output = python(bed.run(tier, &["--quiet", "--ask", "nobody"]), &script, Stdio::null());
            assert!(output.status.success(), "{way}: {}", describe(&output));
            assert_eq!(there.state(), before, "{way}: {}", describe(&output));
            let output = python(bed.free("env"), &script, Stdio::null());
            let done = done(&output);
            for change in ["mode", "times", "lock", "content", "new name", "move"] {
                assert!(done.iter().any(|name| name == change), "{way}, {change}, the control: {done:?}");
            }
        }
    }
}

/// There the supervisor does in `/tmp` what the process cannot do by itself.
#[each(user, tier)]
fn nor_from_a_folder_that_lies_in_them(who: Who, tier: Tier) {
    if !all_there("views", &["python3"]) {
        return;
    }
    let bed = Bed::new(who);
    let (folder, there) = (MachineFile::new(who, "/tmp"), MachineFile::new(who, "/tmp"));
    let before = there.state();
    let script = changing(&format!("/proc/self/../..{}", there.file.display()));
    let mut run = bed.free(pinfold());
    run.arg("run")
        .args(tier.options())
        .args(["--quiet", "--ask", "nobody", "--"])
        .current_dir(folder.place.path());
    let output = python(run, &script, Stdio::null());
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(there.state(), before, "{}", describe(&output));
}

#[each(user, tier)]
fn a_descriptor_from_outside_is_not_the_runs_own_by_its_path(who: Who, tier: Tier) {
    if !all_there("views", &["python3"]) {
        return;
    }
    let bed = Bed::new(who);
    for below in ["/tmp", "/dev/shm"] {
        let there = MachineFile::new(who, below);
        let before = there.state();
        let input = || File::open(&there.file).expect("a file");
        let output = python(bed.run(tier, &["--quiet", "--ask", "nobody"]), CHANGES, input());
        assert!(output.status.success() && done(&output).is_empty(), "{below}: {}", describe(&output));
        assert_eq!(there.state(), before, "{below}: {}", describe(&output));
        let free = done(&python(bed.free("env"), CHANGES, input()));
        assert!(
            ["mode", "times", "lock"].iter().all(|change| free.contains(&(*change).to_owned())),
            "{free:?}"
        );
    }
}

/// Only where a mount of the run's own stands over `/dev` is what lies there the run's.
#[each(user)]
fn shared_memory_of_the_machine_keeps_its_attributes(who: Who) {
    if !all_there("views", &["python3"]) {
        return;
    }
    let bed = Bed::new(who);
    let there = MachineFile::new(who, "/dev/shm");
    let before = there.state();
    let script = changing(&there.file.display().to_string());
    let output = python(bed.run(Tier::LandlockOnly, &["--quiet", "--ask", "nobody"]), &script, Stdio::null());
    assert!(output.status.success() && done(&output).is_empty(), "{}", describe(&output));
    assert_eq!(there.state(), before, "{}", describe(&output));
    assert!(
        done(&python(bed.free("env"), &script, Stdio::null())).contains(&"mode".to_owned()),
        "the control"
    );
}

#[each(user, tier)]
fn devices_keep_their_mode(who: Who, tier: Tier) {
    if !all_there("views", &["python3"]) {
        return;
    }
    let mode = || Path::new("/dev/null").metadata().expect("a device").mode();
    let before = mode();
    let bed = Bed::new(who);
    // Without effect, should it ever be done.
    let script = "
import os
for at in ('/dev/null', os.open('/dev/null', os.O_RDWR), 0):
    try: os.chmod(at, 0o666)
    except OSError: continue
    print('done')
";
    let output = python(bed.run(tier, &["--quiet", "--ask", "nobody"]), script, Stdio::null());
    assert!(output.status.success() && done(&output).is_empty(), "{}", describe(&output));
    assert_eq!(mode(), before);
}

#[each(user, tier)]
fn what_is_the_runs_own_is_changed(who: Who, tier: Tier) {
    if !all_there("views", &["python3"]) {
        return;
    }
    let script = "
import fcntl, os, tempfile
with tempfile.NamedTemporaryFile() as named, tempfile.TemporaryFile() as unnamed:
    within, out = os.pipe()
    for fd in named.fileno(), unnamed.fileno(), os.memfd_create('x'), within, out:
        os.fchmod(fd, 0o600)
        os.utime(fd, (1, 1))
        os.chmod('/proc/self/fd/%d' % fd, 0o600)
        if fd != out: fcntl.flock(fd, fcntl.LOCK_EX)
    os.chmod(named.name, 0o644)
    os.chmod('/proc/self/../self/root' + named.name, 0o640)
    assert os.stat(named.name).st_mode & 0o777 == 0o640
    os.chmod('/proc/%d/root%s' % (os.getpid(), named.name), 0o600)
os.chdir(tempfile.mkdtemp())
open('x', 'w').write('x'); os.chmod('x', 0o600); os.rename('x', 'y'); os.utime('.', (1, 1))
open('/dev/fd/%d' % os.open('y', os.O_WRONLY), 'a').write('more')
open('/proc/self/fd/%d' % out, 'wb').write(b'piped'); assert os.read(within, 9) == b'piped'; print('written')
";
    let bed = Bed::new(who);
    let output = python(bed.run(tier, &["--ask", "nobody"]), script, Stdio::null());
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(done(&output), ["written"], "{}", describe(&output));
}
