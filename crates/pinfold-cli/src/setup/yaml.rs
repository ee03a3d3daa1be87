//! A block at the end of a YAML file, between two comments that mark it as pinfold's. A file that has hooks of its own is not
//! touched: they would have to be merged, and no part of the user's file is rewritten.

const BEGIN: &str = "# >>> pinfold setup hermes";
const END: &str = "# <<< pinfold setup hermes";

/// The text with our block at its end.
pub(super) fn add_block(before: Option<&str>, block: &str) -> Result<String, String> {
    let rest = before.and_then(remove_block).unwrap_or_default();
    if rest.lines().any(|line| {
        line.starts_with("hooks:") || line.starts_with("\"hooks\"") || line.starts_with("'hooks'")
    }) {
        return Err("it has hooks of its own".to_owned());
    }
    let plain =
        |line: &str| line.is_empty() || !line.starts_with(['{', '[', '%']) && line != "..." && line != "---";
    if !rest.lines().all(plain) {
        return Err("it is not written as one mapping in lines".to_owned());
    }
    let gap = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{rest}{gap}{BEGIN}\n{block}{END}\n"))
}

/// The text without our block; `None` where nothing is left.
pub(super) fn remove_block(text: &str) -> Option<String> {
    let cut = || {
        let (head, rest) = text.split_once(BEGIN)?;
        let (_, tail) = rest.split_once(END)?;
        Some(format!("{head}{}", tail.strip_prefix('\n').unwrap_or(tail)))
    };
    let rest = cut().unwrap_or_else(|| text.to_owned());
    (!rest.is_empty()).then_some(rest)
}

/// The block that stands in a text.
pub(super) fn standing(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(BEGIN)?;
    rest.split_once(END).map(|(block, _)| block.trim_start_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "hooks:\n  pre_tool_call:\n    - command: x\n";

    #[test]
    fn what_was_put_in_is_what_is_taken_out() {
        for before in ["model:\n  default: x  # mine\n", "# only a comment\n"] {
            let after = add_block(Some(before), BLOCK).unwrap();
            assert!(after.starts_with(before) && standing(&after) == Some(BLOCK), "{after}");
            assert_eq!(add_block(Some(&after), BLOCK).unwrap(), after);
            assert_eq!(remove_block(&after).as_deref(), Some(before));
        }
        let made = add_block(None, BLOCK).unwrap();
        assert_eq!(remove_block(&made), None);
    }

    #[test]
    fn hooks_of_others_are_not_joined() {
        for before in ["hooks:\n  pre_tool_call: []\n", "{a: 1}\n", "a: 1\n---\nb: 2\n", "\"hooks\": {}\n"] {
            assert!(add_block(Some(before), BLOCK).is_err(), "{before}");
        }
    }
}
