//! How long it takes to read a command line.

use divan::{Bencher, black_box};
use pinfold_shell::parse;

fn main() {
    divan::main();
}

/// What agents run, from plain to involved.
const LINES: &[(&str, &str)] = &[
    ("plain", "git status"),
    ("chain", r#"git commit -m "fix: x" && npm test"#),
    ("pipe", "cat package.json | jq '.scripts | keys[]' | head -20 2>/dev/null"),
    ("document", "git commit -m \"$(cat <<'EOF'\nfix(core): a title\n\n- a line; with && signs\nEOF\n)\""),
    ("loop", "for f in src/*.{ts,tsx}; do if [[ -f \"$f\" ]]; then wc -l \"${f%.ts}\"; fi; done"),
];

#[divan::bench(args = LINES.iter().map(|(name, _)| *name))]
fn line(bencher: Bencher<'_, '_>, name: &str) {
    let text = LINES.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
    bencher.bench(|| parse(black_box(text)));
}

/// Inputs that make a parser slow, or overflow its stack, when it is not careful: 64 KiB each.
#[divan::bench(args = ["(", "$(", "((", "{ ", "{a,", "${x:-", "`", "\"$(", "[[ (", "a;", "a|", "<<E ", "x=(", "{ ", "$((", "time ", ">f "])]
fn hostile(bencher: Bencher<'_, '_>, opener: &str) {
    let text = opener.repeat(64 * 1024 / opener.len());
    bencher.bench(|| parse(black_box(&text)));
}
