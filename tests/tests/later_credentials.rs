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
ln -s ~/.netrc linked-file; cat linked-file"#;

/// The ways that were gone with success during a run with these options. `~/.aws` and `~/.config/gh` are new, and `~/.netrc` and
/// `~/.git-credentials` are other files than at the start.
fn ways_read(who: Who, tier: Tier, options: &[&str], ways: &str) -> Vec<String> {
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
    let mut running = bed.run(tier, &[&["--quiet", "--ask", "nobody"], options].concat());
    running.args(["sh", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = running.spawn().expect("pinfold can be started");
    while !folder.join("started").exists() {
        sleep(Duration::from_millis(10));
    }
    for name in [".aws", ".config/gh"] {
        fs::create_dir(home.join(name)).expect("it is new");
    }
    for name in [".aws/credentials", ".config/gh/hosts.yml", "new1", "new2"] {
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
            .unwrap_or_else(|_| panic!("{who}, {tier}: {}", describe(&output)));
        said.contains("TOP-SECRET").then(|| way.to_owned())
    };
    ways.lines().enumerate().filter_map(is_read).collect()
}

#[each(user, tier)]
fn what_appears_or_is_replaced_is_not_read_by_its_name(who: Who, tier: Tier) {
    assert_eq!(ways_read(who, tier, &[], WAYS), [""; 0], "{who}, {tier}");
    let more = "cd ~/.aws; cat credentials\nexec 3< ~/.aws; cat /proc/self/fd/3/credentials\npython3 -c 'import os; d = os.open(os.environ[\"HOME\"] + \"/.aws\", os.O_PATH); print(os.read(os.open(\"credentials\", 0, dir_fd=d), 99))'\nln -s ~/.aws $TMPDIR/l; cat $TMPDIR/l/credentials\nln -s ~/.aws /tmp/l2; cat /tmp/l2/credentials\nln -s $HOME /tmp/l3; cat /tmp/l3/.aws/credentials; ln -s $HOME/.netrc /tmp/l4; cat /tmp/l4";
    println!("MORE {tier} {:?}", ways_read(who, tier, &[], more));
}
