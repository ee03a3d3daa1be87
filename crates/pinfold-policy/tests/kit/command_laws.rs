//! What holds for any text as a command line, and for any text as a rule. Shared with the fuzz targets.

use pinfold_policy::shell::parse;
use pinfold_policy::{Claims, RawCall, Rule, ToolCall};
use serde_json::json;

/// Everything that a command line lists has a claim, in its order; what was not understood bars every rule.
pub(crate) fn a_line_holds(text: &str) {
    let script = parse(text);
    let found = pinfold_commands::analyze(text, &script);
    assert!(found.commands.len() >= script.commands.len(), "each command has a claim");
    for (command, claim) in script.commands.iter().zip(&found.commands) {
        assert_eq!(command.span, claim.span, "in the order of the text");
        assert!(text.get(claim.span.clone()).is_some(), "the span lies in the text");
    }
    assert!(script.opaque.is_empty() || !found.not_allowlistable.is_empty(), "what is opaque bars rules");
    assert!(
        found.commands.iter().all(|claim| claim.not_allowlistable.is_empty() || !claim.read_only),
        "what no rule may allow does not only read"
    );
    if let Ok(call) = ToolCall::parse_for_verdict(&RawCall::new("Bash", json!({"command": text}))) {
        let claims = Claims::from_call(&call);
        assert_eq!(
            (claims.commands, claims.not_allowlistable),
            (found.commands, found.not_allowlistable),
            "the same twice"
        );
    }
}

/// A rule says what was written, and reads the same again.
pub(crate) fn a_rule_holds(text: &str) {
    match Rule::parse(text) {
        Ok(rule) => assert_eq!(Rule::parse(rule.text()).as_ref(), Ok(&rule)),
        Err(bad) => assert!(!bad.why.is_empty() && !bad.mend.is_empty()),
    }
}
