//! Files with several names (hard links): what is written by a name in the folder would be read by one outside it. Package
//! managers link what they install to a store that all projects share. Each attempt is made free as well, where it succeeds.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, SystemTime};

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::{Bed, Tier, Who, each};

/// Ways to change a file by the name that it has in the folder: what is said when one is done.
const WAYS: &[(&str, &str)] = &[
    ("write", "open('linked', 'r+b', 0).write(b'EVIL')"),
    ("append", "open('linked', 'ab', 0).write(b'evil')"),
    ("cut by open", "open('linked', 'wb', 0)"),
    ("cut by an open for reading", "os.open('linked', os.O_RDONLY | os.O_TRUNC)"),
    ("cut by an open that would make it", "os.open('linked', os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)"),
    ("cut by its path", "os.truncate('linked', 1)"),
    ("open again", "os.open('/proc/self/fd/%d' % os.open('linked', os.O_RDONLY), os.O_WRONLY | os.O_TRUNC)"),
    ("through a link", "os.symlink('linked', 'way'); open('way', 'ab', 0).write(b'evil')"),
    ("by a third name", "os.link('linked', 'third'); open('third', 'ab', 0).write(b'evil')"),
    ("by a new name", "os.rename('linked', 'new'); open('new', 'ab', 0).write(b'evil')"),
    (
        "without its name",
        "fd = os.open('linked', os.O_RDONLY); os.unlink('linked'); os.truncate('/proc/self/fd/%d' % fd, 0)",
    ),
    ("mode", "os.chmod('linked', 0o777)"),
    ("mode by descriptor", "os.fchmod(os.open('linked', os.O_RDONLY), 0o777)"),
    ("times", "os.utime('linked', (1, 1))"),
    ("time of a change alone", "os.utime('linked', ns=(os.stat('linked').st_atime_ns, 1))"),
    ("times by descriptor", "os.utime(os.open('linked', os.O_RDONLY), (1, 1))"),
    ("times by another name", "os.link('linked', 'third'); os.utime('third', (1, 1))"),
    ("attribute", "os.setxattr('linked', 'user.pinfold', b'1')"),
];

struct Linked {
    bed: Bed,
}

impl Linked {
    fn new(who: Who) -> Self {
        let bed = Bed::new(who);
        fs::create_dir(bed.outside().join("store")).expect("a directory");
        let linked = Self { bed };
        fs::write(linked.outside(), "text").expect("a file");
        fs::set_permissions(linked.outside(), fs::Permissions::from_mode(0o644)).expect("a mode");
        fs::hard_link(linked.outside(), linked.bed.folder().join("linked")).expect("a second name");
        linked.bed.give();
        linked
    }

    /// The name outside.
    fn outside(&self) -> PathBuf {
        self.bed.outside().join("store/file")
    }

    fn run(&self, tier: Tier, deed: &str) -> Output {
        let script = format!("import os\n{deed}");
        let mut run = self.bed.run(tier, &["--ask", "nobody"]);
        run.args(["python3", "-c", &script]).output().expect("it can be started")
    }

    /// Content, mode, attributes and time of modification by the name outside.
    fn state(&self) -> (String, u32, bool, SystemTime) {
        let at = self.outside();
        let mut value = [0; 8];
        let attribute = rustix::fs::getxattr(&at, "user.pinfold", &mut value).is_ok();
        let found = at.metadata().expect("a file");
        let modified = found.modified().expect("a time");
        (fs::read_to_string(&at).expect("a text"), found.permissions().mode() & 0o7777, attribute, modified)
    }
}

#[each(user, tier)]
fn what_has_a_name_outside_is_not_changed_by_the_one_inside(who: Who, tier: Tier) {
    if !all_there("hard links", &["python3"]) {
        return;
    }
    for (name, deed) in WAYS {
        let linked = Linked::new(who);
        let before = linked.state();
        let output = linked.run(tier, deed);
        assert_eq!(linked.state(), before, "{name}: {}", describe(&output));
        assert!(!output.status.success(), "{name}: {}", describe(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("hard links") && said.contains("Operation not permitted"), "{name}: {said}");

        let free = Linked::new(who);
        let output =
            free.bed.free("python3").args(["-c", &format!("import os\n{deed}")]).output().expect("python3");
        // An attribute is more than some file systems have.
        assert!(free.state() != before || *name == "attribute", "{name}, the control: {}", describe(&output));
    }
}

#[each(user, tier)]
fn what_replaces_it_or_leaves_it_as_it_is_goes_on(who: Who, tier: Tier) {
    if !all_there("hard links", &["python3"]) {
        return;
    }
    for deed in [
        "open('copy', 'w').write('mine'); os.rename('copy', 'linked')",
        "os.unlink('linked'); open('linked', 'w').write('mine')",
        "os.chmod('linked', 0o644); open('linked').read()",
        "s = os.stat('linked'); os.utime('linked', ns=(s.st_atime_ns, s.st_mtime_ns))",
        "os.open('linked', os.O_RDONLY | os.O_CREAT, 0o600)",
    ] {
        let linked = Linked::new(who);
        let before = linked.state();
        let output = linked.run(tier, deed);
        assert!(output.status.success(), "{deed}: {}", describe(&output));
        assert_eq!(linked.state(), before, "{deed}");
    }
}

/// git does so to each object that it would write again, and shares objects with the repository that it cloned.
#[each(user, tier)]
fn the_present_time_is_given_to_what_has_a_name_outside(who: Who, tier: Tier) {
    if !all_there("hard links", &["python3"]) {
        return;
    }
    for deed in ["os.utime('linked')", "os.utime(os.open('linked', os.O_RDONLY))"] {
        let linked = Linked::new(who);
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        fs::File::open(linked.outside()).and_then(|file| file.set_modified(long_ago)).expect("a time");
        let output = linked.run(tier, deed);
        assert!(output.status.success(), "{deed}: {}", describe(&output));
        assert!(linked.state().3 > long_ago, "{deed}");
    }
}

#[each(user, tier)]
fn a_file_is_changed_when_all_its_names_lie_in_the_folder(who: Who, tier: Tier) {
    if !all_there("hard links", &["python3"]) {
        return;
    }
    let bed = Bed::new(who);
    let at = |name: &str| bed.folder().join(name);
    fs::create_dir(at("deep")).expect("a directory");
    fs::write(at("one"), "text").expect("a file");
    fs::hard_link(at("one"), at("deep/two")).expect("a second name");
    bed.give();
    let deed = "
import os
open('one', 'a').write(' more'); os.chmod('deep/two', 0o600); os.utime('one', (1, 1))
open('a', 'w').write('made'); os.link('a', 'deep/b'); open('a', 'a').write(' here')
os.rename('deep/b', 'c'); open('c', 'a').write(' and there'); os.link('c', 'd'); os.truncate('d', 4)
fd = os.open('a', os.O_RDONLY); os.unlink('a'); os.fchmod(fd, 0o600)
";
    let output = bed.run(tier, &["--ask", "nobody"]).args(["python3", "-c", deed]).output().expect("a run");
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(fs::read_to_string(at("deep/two")).expect("a text"), "text more");
    assert_eq!(at("deep/two").metadata().expect("a file").mtime(), 1);
    assert_eq!(fs::read_to_string(at("d")).expect("a text"), "made");
    for name in ["one", "d"] {
        assert_eq!(at(name).metadata().expect("a file").mode() & 0o777, 0o600, "{name}");
    }
}

#[each(user, tier)]
fn a_name_in_a_held_place_holds_the_file(who: Who, tier: Tier) {
    if !all_there("hard links", &["git"]) {
        return;
    }
    let bed = Bed::new(who);
    assert!(bed.free("git").args(["init", "-q"]).status().expect("git").success());
    let config = bed.folder().join(".git/config");
    fs::hard_link(&config, bed.folder().join("notes")).expect("a second name");
    let before = fs::read(&config).expect("a file");
    let script = "printf '[core]\\n\\tfsmonitor = evil\\n' >> notes";
    let output = bed.sh(tier, script);
    assert_eq!(fs::read(&config).expect("a file"), before, "{}", describe(&output));
    assert!(!output.status.success(), "{}", describe(&output));
    assert!(bed.free("sh").args(["-c", script]).status().expect("sh").success());
    assert_ne!(fs::read(&config).expect("a file"), before, "the control");
}

#[each(user, tier)]
fn a_file_that_was_opened_by_name_is_changed(who: Who, tier: Tier) {
    if !all_there("hard links", &["python3"]) {
        return;
    }
    let linked = Linked::new(who);
    let output = linked
        .bed
        .run(tier, &["--ask", "nobody", "--allow-write", "linked"])
        .args(["sh", "-c", "echo more >> linked"])
        .output()
        .expect("a run");
    assert!(output.status.success(), "{}", describe(&output));
    assert!(linked.state().0.contains("more"), "{}", describe(&output));
}

/// Ways to bring a file with a name outside to where git writes by itself: what is said when one is done.
const INTO_GIT: &[(&str, &str)] = &[
    ("a message", "mv linked .git/COMMIT_EDITMSG"),
    ("a second name", "rm -f .git/COMMIT_EDITMSG; ln linked .git/COMMIT_EDITMSG"),
    ("what was fetched", "mv linked .git/FETCH_HEAD"),
    ("a log", "mv linked .git/logs/HEAD"),
    (
        "an exchange",
        "python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"linked\", -100, b\".git/logs/HEAD\", 2)'",
    ),
    (
        "the other way round",
        "python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\".git/logs/HEAD\", -100, b\"linked\", 2)'",
    ),
    ("from among its objects", "mv .git/objects/ab/linked .git/COMMIT_EDITMSG"),
    (
        "a second name of an object",
        "rm -f .git/COMMIT_EDITMSG; ln .git/objects/ab/linked .git/COMMIT_EDITMSG",
    ),
    ("in a new repository", "git init -q new; mv linked new/.git/COMMIT_EDITMSG"),
    ("a second name in a new one", "git init -q new; ln linked new/.git/COMMIT_EDITMSG"),
    ("in a new bare one", "git init -q --bare bare; mv linked bare/FETCH_HEAD"),
    (
        "in what becomes one",
        "mkdir -p bare/objects bare/refs; mv linked bare/FETCH_HEAD; echo ref: refs/heads/x > bare/HEAD",
    ),
];

/// The person's own git, wherever there is a repository.
const OWN_GIT: &str = "for at in . new bare; do
  git -C $at -c user.name=n -c user.email=n@n commit -q --allow-empty -m evil; git -C $at fetch -q \"$PWD\"
done 2>/dev/null; true";

fn in_repository(who: Who) -> Linked {
    let linked = Linked::new(who);
    let set_up =
        "git init -q; git config user.name n; git config user.email n@n; git commit -q --allow-empty -m one
        mkdir -p .git/objects/ab; ln linked .git/objects/ab/linked";
    assert!(linked.bed.free("sh").args(["-ec", set_up]).status().expect("sh").success());
    linked
}

#[each(user, tier)]
fn git_outside_writes_nothing_that_has_a_name_elsewhere(who: Who, tier: Tier) {
    if !all_there("hard links", &["git", "python3"]) {
        return;
    }
    for (name, deed) in INTO_GIT {
        let linked = in_repository(who);
        let output = linked.bed.sh(tier, deed);
        linked.bed.free("sh").args(["-c", OWN_GIT]).output().expect("sh");
        assert_eq!(linked.state().0, "text", "{name}: {}", describe(&output));

        let free = in_repository(who);
        free.bed.free("sh").args(["-c", deed]).output().expect("sh");
        free.bed.free("sh").args(["-c", OWN_GIT]).output().expect("sh");
        assert_ne!(free.state().0, "text", "{name}, the control");
    }
}

/// A clone on one machine shares its objects with the repository that it was made from.
#[each(user, tier)]
fn a_local_clone_shares_its_objects(who: Who, tier: Tier) {
    if !all_there("hard links", &["git"]) {
        return;
    }
    let linked = in_repository(who);
    let output =
        linked.bed.sh(tier, "git clone -q --local . copy && git -C copy log --oneline && git -C copy gc -q");
    assert!(output.status.success(), "{}", describe(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("one"), "{}", describe(&output));
}
