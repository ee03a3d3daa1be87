//! `indirect-expansion`: `${!A}` is the value of the variable that `A` names: what stands in the line says nothing
//! about what comes out.

use pinfold_shell::{Part, Word};

use super::{Line, Safeguard, Watch, all_words};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "indirect-expansion",
    about: "takes the value of a variable that another variable names",
    severity: Severity::Medium,
    hits: &["echo ${!A}", "echo \"${!A}\"", "x=${!A}", "${!A} x", "echo x > ${!A}"],
    passes: &[
        "echo $A",
        "for i in \"${!list[@]}\"; do echo $i; done",
        "echo ${!list[*]}",
        "echo ${!PREFIX_*}",
        "echo '${!A}'",
        "kill $!",
    ],
    blind: "`eval`, and references (`declare -n`)",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    line.text.contains("${!")
        && all_words(line.script)
            .any(|word| expands(word) && line.text.get(word.span.clone()).is_some_and(is_indirect))
}

fn expands(word: &Word) -> bool {
    word.parts.iter().any(|part| matches!(part, Part::Parameter { plain: false, .. }))
}

/// Returns whether a word has an indirect expansion that is not a list of names or keys.
fn is_indirect(raw: &str) -> bool {
    raw.split("${!").skip(1).any(|behind| {
        let inner = behind.split('}').next().unwrap_or_default();
        !inner.ends_with(['@', '*']) && !inner.ends_with("[@]") && !inner.ends_with("[*]")
    })
}
