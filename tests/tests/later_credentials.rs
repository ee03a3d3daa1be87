//! Credentials that appear, or take the place of others, while a run goes on: nothing could hide them at its start.

use std::fs;
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

/// The ways that were gone with success during a run, or with nothing around. `~/.aws` and `~/.config/gh` are new, and `~/.netrc` and
/// `~/.git-credentials` are other files than at the start.
fn ways_read(who: Who, tier: Option<Tier>, ways: &str) -> Vec<String> {
    let bed = Bed::new(who);
    let (home, folder) = (bed.home(), bed.folder());
    fs::create_dir(home.join(".config")).expect("it is new");
    for name in [".netrc", ".git-credentials"] {
        fs::write(home.join(name), "machine before\n").expect("a file");
    }
    bed.give();
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
    for name in [".aws", ".aws/sub", ".config/gh"] {
        fs::create_dir(home.join(name)).expect("it is new");
    }
    for name in [".aws/credentials", ".aws/plain", ".config/gh/hosts.yml", "new1", "new2"] {
        fs::write(home.join(name), "oauth_token: TOP-SECRET\n").expect("it is new");
    }
    bed.give();
    for (from, to) in [("new1", ".netrc"), ("new2", ".git-credentials")] {
        fs::rename(home.join(from), home.join(to)).expect("a file");
    }
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
    assert_eq!(ways_read(who, Some(tier), WAYS), [""; 0], "{who}, {tier}");
    assert_eq!(ways_read(who, None, WAYS), WAYS.lines().collect::<Vec<_>>(), "the control, {who}");
}
