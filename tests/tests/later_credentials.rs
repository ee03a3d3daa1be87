//! Credentials that appear, or take the place of others, while a run goes on: nothing could hide them at its start.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use pinfold_tests::output::describe;
use pinfold_tests::{Bed, Tier, Who, each};

/// Ways to read them by their names: one a line.
const WAYS: &str = r#"cat ~/.aws/credentials
cat ~/.config/../.aws/./credentials
cat ~/.config/gh/hosts.yml
cat /proc/self/root$HOME/.aws/credentials
ln -s ~/.aws linked; cat linked/credentials
cd; cat .aws/credentials
cat ~/.netrc
cd; cat .netrc
cat ~/.git-credentials
ln -s ~/.netrc linked-file; cat linked-file
mv linked-file renamed; cat renamed
ln linked second; cat second/credentials
cd ~/.aws; cat plain
cd ~/.aws/sub; cat ../plain
perl -e 'opendir(D, "$ENV{HOME}/.aws"); chdir(D); open(F, "<", "plain") and print <F>'"#;

/// Changes of a home: before a run, and while it goes on.
struct Home {
    before: &'static str,
    meanwhile: &'static str,
}

/// `~/.aws` and `~/.config/gh` are new, and `~/.netrc` and `~/.git-credentials` are other files than at the start.
const PLAIN: Home = Home {
    before: "mkdir .config; echo machine before | tee .netrc > .git-credentials",
    meanwhile: "mkdir .aws .aws/sub .config/gh
        echo TOP-SECRET | tee .aws/credentials .aws/plain .config/gh/hosts.yml new1 > new2
        mv new1 .netrc; mv new2 .git-credentials",
};

/// The ways that were gone with success during a run, or with nothing around.
fn ways_read(who: Who, tier: Option<Tier>, home: &Home, ways: &str) -> Vec<String> {
    let bed = Bed::new(who);
    let folder = bed.folder();
    let change = |script: &str| {
        let done = bed.free("sh").current_dir(bed.home()).args(["-ec", script]).output().expect("a shell");
        assert!(done.status.success(), "{who}: {}", describe(&done));
    };
    bed.give();
    change(home.before);
    let script = "touch started; until [ -e ready ]; do sleep 0.02; done; n=0
        while IFS= read -r way; do n=$((n + 1)); (eval \"$way\") > out.$n 2>&1; done < ways";
    fs::write(folder.join("ways"), format!("{ways}\n")).expect("a file");
    bed.give();
    let mut running = match tier {
        Some(tier) => bed.run(tier, &["--quiet", "--ask", "nobody"]),
        None => bed.free("env"),
    };
    running.args(["sh", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().expect("pinfold can be started");
    while !folder.join("started").exists() {
        assert!(running.try_wait().expect("it is a child").is_none(), "{who}: it has not started");
        sleep(Duration::from_millis(10));
    }
    change(home.meanwhile);
    fs::write(folder.join("ready"), "").expect("a file");
    let output = running.wait_with_output().expect("it ends");
    let is_read = |(number, way): (usize, &str)| {
        let said = fs::read_to_string(folder.join(format!("out.{}", number + 1)))
            .unwrap_or_else(|_| panic!("{who}: {}", describe(&output)));
        said.contains("TOP-SECRET").then(|| way.to_owned())
    };
    ways.lines().enumerate().filter_map(is_read).collect()
}

#[each(user, tier)]
fn what_appears_or_is_replaced_is_not_read_by_its_name(who: Who, tier: Tier) {
    assert_eq!(ways_read(who, Some(tier), &PLAIN, WAYS), [""; 0], "{who}, {tier}");
    assert_eq!(ways_read(who, None, &PLAIN, WAYS), WAYS.lines().collect::<Vec<_>>(), "the control, {who}");
}

/// Names that are links. Of some the link is there at the start and what it leads to is not, of others neither is; one is put in its place
/// by a rename.
const LINKED: Home = Home {
    before: "mkdir -p dotf .config; ln -s ~/dotf/netrc .netrc; ln -s dotf/pypirc .pypirc; ln -s dotf/aws .aws
        ln -s ../dotf/gh .config/gh; ln -s dotf/none .pgpass",
    meanwhile: "mkdir -p dotf/aws/sub dotf/gh dotf/deep
        echo TOP-SECRET | tee dotf/netrc dotf/pypirc dotf/aws/credentials dotf/gh/hosts.yml dotf/deep/git > dotf/pass
        ln -s deep/git dotf/step; ln -s dotf/step .git-credentials
        ln -s ~/dotf/pass new; mv -T new .pgpass",
};

/// Ways to read them by their names: one a line.
const LINKED_WAYS: &str = r#"cat ~/.netrc
cat ~/.pypirc
cat ~/.git-credentials
cat ~/.pgpass
cat ~/.aws/credentials
cat ~/.aws/sub/../credentials
cat ~/.aws/../aws/credentials
cat ~/.config/gh/hosts.yml
cat ~/.config/../.config/gh/./hosts.yml
cd; cat .netrc
cd; cat /proc/self/cwd/.pypirc
cd ~/dotf; cat ../.aws/credentials
cat /proc/self/root$HOME/.git-credentials
cd ~/.aws; cat credentials
cd ~/.config/gh; cat hosts.yml
cat ~/dotf/netrc
cd ~/dotf; cat pypirc
cat "$(echo ~/.config)/gh//hosts.yml"
ln -s ~/.netrc linked; cat linked
ln -s ~/.aws linked-directory; cat linked-directory/credentials
ls ~/.aws/ | sed 's/credentials/TOP-SECRET/'
python3 -c 'import os; d = os.open(os.environ["HOME"], os.O_PATH); print(os.read(os.open(".netrc", 0, dir_fd=d), 99))'
python3 -c 'import os; d = os.open(os.environ["HOME"] + "/.aws", os.O_PATH); print(os.read(os.open("credentials", 0, dir_fd=d), 99))'
python3 -c 'import ctypes, os, struct; d = os.open(os.environ["HOME"], os.O_PATH); print(os.read(ctypes.CDLL(None).syscall(437, d, b".pypirc", struct.pack("QQQ", 0, 0, 8), 24), 99))'
python3 -c 'import ctypes, os, struct; d = os.open(os.environ["HOME"], os.O_PATH); print(os.read(ctypes.CDLL(None).syscall(437, d, b"/.git-credentials", struct.pack("QQQ", 0, 0, 16), 24), 99))'"#;

#[each(user, tier)]
fn what_a_link_leads_to_is_not_read_by_the_name_of_the_link(who: Who, tier: Tier) {
    assert_eq!(ways_read(who, Some(tier), &LINKED, LINKED_WAYS), [""; 0], "{who}, {tier}");
    let all = LINKED_WAYS.lines().collect::<Vec<_>>();
    assert_eq!(ways_read(who, None, &LINKED, LINKED_WAYS), all, "the control, {who}");
}

#[each(user, tier)]
fn what_a_link_leads_to_is_read_where_it_was_opened_by_name(who: Who, tier: Tier) {
    let bed = Bed::new(who);
    let home = bed.home();
    fs::create_dir(home.join("dotf")).expect("it is new");
    fs::write(home.join("dotf/netrc"), "OPENED\n").expect("it is new");
    symlink("dotf/netrc", home.join(".netrc")).expect("it is new");
    bed.give();
    let name = home.join(".netrc").display().to_string();
    for (options, read) in [(&["--allow-read", &name] as &[_], true), (&[], false)] {
        let output = bed.run(tier, options).args(["cat", &name]).output().expect("pinfold can be started");
        let said = String::from_utf8_lossy(&output.stdout).contains("OPENED");
        assert_eq!(said, read, "{who}, {tier}, {options:?}: {}", describe(&output));
    }
}
