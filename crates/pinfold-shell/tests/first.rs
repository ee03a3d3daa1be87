//! That a command line comes apart.

use pinfold_shell::parse;

#[test]
fn every_command_is_listed() {
    let script =
        parse("cd x && git commit -m \"$(cat <<'EOF'\nfix: `y` & $(z)\nEOF\n)\" | tee log >out; (a <(b)) &");
    assert_eq!(script.opaque, []);
    let names: Vec<_> = script.commands.iter().map(|command| command.words[0].as_static()).collect();
    assert_eq!(names, ["cd", "git", "cat", "tee", "a", "b"].map(Some));
}
