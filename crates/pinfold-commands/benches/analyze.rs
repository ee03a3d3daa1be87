//! How long it takes to tell what a command line would do, beyond reading it.
#![allow(missing_docs, reason = "a bench has no readers of its documentation")]

use pinfold_commands::analyze;

fn main() {
    divan::main();
}

const LINES: &[&str] = &[
    "git status",
    "cd packages/core && cargo test -p core",
    "rg -n 'fn main' src | head -20",
    "timeout 30 npm test > test.log 2>&1",
    "git commit -m \"$(cat <<'EOF'\nfix: x\nEOF\n)\"",
    "find . -name '*.rs' -exec grep -l foo {} +",
];

#[divan::bench(args = LINES)]
fn reading(line: &str) -> usize {
    pinfold_shell::parse(line).commands.len()
}

#[divan::bench(args = LINES)]
fn understanding(bencher: divan::Bencher, line: &str) {
    let script = pinfold_shell::parse(line);
    bencher.bench(|| analyze(divan::black_box(line), divan::black_box(&script)));
}
