//! The few lines that speak for us in agents whose hooks are no commands.

/// Placeholders for the command and its timeout in the text.
const COMMAND: &str = "@COMMAND@";
const TIMEOUT: &str = "@TIMEOUT_MS@";

/// The plugin for an agent that needs one. `command`: what is started for each call, its words one by one.
pub fn shim(agent: &str, command: &[String], timeout_ms: u64) -> Option<String> {
    let text = match agent {
        "opencode" => include_str!("../shims/opencode.js"),
        "pi" => include_str!("../shims/pi.ts"),
        _ => return None,
    };
    // Words of JSON are words of these languages, but for two line ends that occur in no path.
    let words = serde_json::Value::from(command.to_vec()).to_string();
    let words = words.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    Some(text.replace(COMMAND, &words).replace(TIMEOUT, &timeout_ms.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_template_is_left() {
        for agent in ["opencode", "pi"] {
            let text = shim(agent, &["/bin/pin \"fold".to_owned(), "hook".to_owned()], 9).unwrap_or_default();
            assert!(text.contains(r#"["/bin/pin \"fold","hook"]"#) && text.contains("= 9\n"), "{text}");
            assert!(!text.contains('@'), "{text}");
        }
        assert_eq!(shim("claude", &[], 0), None);
    }
}
