//! What a run inherits: its environment, as its report tells a person, and limits.

#![allow(clippy::expect_used, reason = "a test stops where it fails")]

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Tier, Who, each};

#[each(user, tier)]
fn variables_that_were_not_passed_on_are_named_with_the_way_to_pass_them(who: Who, tier: Tier) {
    let bed = Bed::new(who);
    let said = |options: &[&str]| {
        let mut run = bed.run(tier, &[&["--ask", "nobody"], options].concat());
        let output = run.arg("true").env("MOCK_KEY", "x").output().expect("pinfold starts");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = said(&[]);
    let named = |line: &str| line.contains("not passed on") && line.contains("MOCK_KEY");
    let line = told.lines().find(|line| named(line)).unwrap_or_default();
    assert!(line.contains("--env NAME"), "{who}, {tier}: {told}");
    for options in [&["--quiet"][..], &["--env", "MOCK_KEY"]] {
        let told = said(options);
        assert!(!told.contains("MOCK_KEY"), "{who}, {tier}, {options:?}: {told}");
    }
}

#[each(user, tier)]
fn a_limit_of_file_sizes_that_the_command_raises_for_itself_does_not_end_the_supervisor(
    who: Who,
    tier: Tier,
) {
    const SCRIPT: &str = "
import os, resource
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
open('f', 'w').close()
try: os.truncate('f', 50_000_000)
except OSError as error: print(error.errno)
os.mkdir('after')
";
    if !all_there("limits", &["python3"]) {
        return;
    }
    let bed = Bed::new(who);
    let limited = |wrapper: &[&str]| {
        let mut shell = bed.free("sh");
        shell
            .args(["-c", "ulimit -S -f 20000; exec \"$@\"", "sh"])
            .args(wrapper)
            .args(["python3", "-c", SCRIPT]);
        shell.output().expect("it can be started")
    };
    let program = pinfold().to_str().expect("a text");
    let confined: Vec<&str> =
        [program, "run", "--ask", "nobody"].iter().chain(tier.options()).copied().chain(["--"]).collect();
    let output = limited(&confined);
    let too_large = format!("{}\n", rustix::io::Errno::FBIG.raw_os_error());
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), too_large, "{}", describe(&output));
    assert!(bed.folder().join("after").is_dir());
    std::fs::remove_dir(bed.folder().join("after")).expect("it is removed");
    assert!(limited(&[]).stdout.is_empty(), "the control");
}
