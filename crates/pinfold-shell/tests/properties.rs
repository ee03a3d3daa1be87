//! What holds for every text: it ends, it does not panic, spans lie in the text, what is listed fits together.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

#[path = "kit/laws.rs"]
mod laws;

use laws::holds;
use proptest::prelude::*;
use proptest::sample::select;

/// Pieces that mean something to a shell, and some that only look so.
const PIECES: &[&str] = &[
    " ",
    "\n",
    "\t",
    ";",
    "&",
    "|",
    "(",
    ")",
    "<",
    ">",
    "\\",
    "\"",
    "'",
    "`",
    "$",
    "{",
    "}",
    "[",
    "]",
    "!",
    "#",
    "=",
    "~",
    "*",
    "?",
    ",",
    ":",
    "-",
    "\\\n",
    "&&",
    "||",
    ";;",
    "$(",
    "$((",
    "))",
    "((",
    "${",
    "<<E\n",
    "<<-'E'\n",
    "\nE\n",
    "<<<",
    ">&",
    "&>",
    "<(",
    ">(",
    "$'",
    "$\"",
    "$[",
    "[[ ",
    " ]]",
    "{ ",
    "; }",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case x in ",
    "esac",
    "while ",
    "f() ",
    "function f ",
    "coproc ",
    "time ",
    "a",
    "b=",
    "c[",
    "]=",
    "d=(",
    "1",
    "2>",
    "{x}>",
    "..",
    "é",
    "🙂",
    "\u{200b}",
    "\r",
    "\0",
    "\\`",
    "\\\\",
    "in",
    "=~",
];

/// Texts that once broke a promise.
#[test]
fn what_was_found_holds() {
    for text in [
        "@(()9)))",
        "@((",
        "declare a=(*)",
        "declare a=(a b *)",
        "declare a=(~x xy)",
        "`$(\\`$(a=\\``\n\u{b}\n",
        "`\\`a=\\``",
    ] {
        holds(text);
    }
}

fn seed() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    config.cases = config.cases.max(1000);
    let seed = std::env::var("PINFOLD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(4711);
    config.rng_seed = proptest::test_runner::RngSeed::Fixed(seed);
    config
}

proptest! {
    #![proptest_config(seed())]

    #[test]
    fn any_text_has_a_script(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn any_pieces_have_a_script(pieces in proptest::collection::vec(select(PIECES), 0..40)) {
        holds(&pieces.concat());
    }

    #[test]
    fn any_prefix_of_pieces_has_a_script(pieces in proptest::collection::vec(select(PIECES), 0..12), times in 1_usize..200) {
        holds(&pieces.concat().repeat(times));
    }
}
