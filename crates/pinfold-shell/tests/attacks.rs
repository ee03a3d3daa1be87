//! Texts that are made to exhaust a parser: they end soon, on the small stack of an ordinary thread.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use pinfold_shell::{OpaqueReason, Script, parse};

/// What opens something, and what closes it.
const OPENERS: &[(&str, &str)] = &[
    ("(", ")"),
    ("( ", " )"),
    ("((", "))"),
    ("{ ", "; }"),
    ("$(", ")"),
    ("$((", "))"),
    ("$( (", ") )"),
    ("`", "`"),
    ("\"$(", ")\""),
    ("\"${x:-", "}\""),
    ("${x:-", "}"),
    ("${x[", "]}"),
    ("x[", "]="),
    ("x=(", ")"),
    ("<(", ")"),
    ("$[", "]"),
    ("[[ (", ") ]]"),
    ("[[ ! ", " ]]"),
    ("[[ a && ", " ]]"),
    ("if ", "; fi"),
    ("if a; then ", "; fi"),
    ("while ", "; done"),
    ("for x in a; do ", "; done"),
    ("case a in b) ", " ;; esac"),
    ("f() { ", "; }"),
    ("function f { ", "; }"),
    ("coproc ", ""),
    ("time ", ""),
    ("! ", ""),
    ("{a,", "}"),
    ("{", "}"),
    ("{a", ",b}"),
    ("[", "]"),
    ("@(", ")"),
    ("a=", ""),
    ("a;", ""),
    ("a|", "b"),
    ("a&&", "b"),
    ("a&", ""),
    (">f ", ""),
    ("<<E ", "\nE\n"),
    ("a <<E\n$(", "\n)\nE\n"),
    ("a <<-E\n\t`", "`\n\tE\n"),
    ("'", "'"),
    ("\"", "\""),
    ("\\", ""),
    ("\\\n", ""),
    ("$", ""),
    ("~", ""),
    ("#", ""),
    ("\n", ""),
    (";", ""),
    ("$'", "'"),
    ("\\`", "\\`"),
    ("\u{200b}", ""),
    ("$((1)", ")"),
    ("((1) ", ")"),
    ("a[$(", ")]=1"),
    ("*", ""),
    ("{1..9}", ""),
    ("{x}>f ", ""),
    ("]]", ""),
    ("x y <<E <<F\n", "E\nF\n"),
];

fn on_a_small_stack(text: String) -> Script {
    let run = move || parse(&text);
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread").join().expect("no panic")
}

#[test]
fn a_hundred_thousand_openers() {
    for (open, close) in OPENERS {
        on_a_small_stack(open.repeat(100_000));
        on_a_small_stack(open.repeat(20_000) + "a" + &close.repeat(20_000));
    }
}

/// Below the limit, at it, above it, with what closes: the deepest stack that there is.
#[test]
fn openers_around_the_limit() {
    for (open, close) in OPENERS {
        for depth in 40..60 {
            on_a_small_stack(open.repeat(depth) + " a " + &close.repeat(depth));
        }
    }
}

/// Each pair of openers in turn: what is quick by itself may not be in another.
#[test]
fn openers_in_each_other() {
    for (open, close) in OPENERS {
        for (inner, end) in OPENERS {
            let text = format!("{open}{inner}").repeat(60) + " a " + &format!("{end}{close}").repeat(60);
            on_a_small_stack(text);
        }
    }
}

#[test]
fn what_is_too_much_is_said_and_still_listed() {
    let deep = on_a_small_stack("$(".repeat(200) + "curl x");
    assert!(matches!(deep.opaque[0].why, OpaqueReason::TooMuch(_)));
    assert!(
        deep.commands
            .iter()
            .any(|command| command.words.first().is_some_and(|word| word.as_static() == Some("curl")))
    );

    let long = on_a_small_stack("true;".repeat(20_000) + "curl x");
    assert!(long.opaque.iter().any(|opaque| matches!(opaque.why, OpaqueReason::TooMuch(_))));
    assert_eq!(long.commands.last().and_then(|command| command.words[0].as_static()), Some("curl"));

    let thousand = on_a_small_stack("true;".repeat(1000));
    assert_eq!((thousand.opaque.len(), thousand.commands.len()), (0, 1000));
}
