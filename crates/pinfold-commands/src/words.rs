//! Words as arguments: braces expanded, a value cut off behind its option.

use std::sync::Arc;

use pinfold_shell::{Part, Word};

/// Most words that the braces of one command may make. More stay one unknown word.
const MAX_WORDS: usize = 256;
/// Most bytes that the alternatives of one word may have together.
const MAX_BYTES: usize = 1 << 20;

/// The literal text that a word starts with; the whole of it when it is static.
pub(crate) fn known_start(word: &Word) -> &str {
    word.literal_prefix()
}

/// The last component of a path: `git` for `/usr/bin/git`.
pub(crate) fn last_name(path: &str) -> &str {
    let start = path.bytes().rposition(|byte| byte == b'/').map_or(0, |slash| slash + 1);
    path.get(start..).unwrap_or(path)
}

/// The program's last component. A program in an unknown folder (`$(npm bin)/eslint`) still has its name.
pub(crate) fn program_name(program: &Word) -> Option<&str> {
    let (Part::Literal(text), before) = program.parts.split_last()? else { return None };
    let name = last_name(text);
    (before.is_empty() || name.len() < text.len()).then_some(name)
}

/// A word of exactly this text, standing where `like` stands.
pub(super) fn literal(text: &str, like: &Word) -> Word {
    Word { parts: vec![Part::Literal(text.to_owned())], span: like.span.clone(), quoted: like.quoted }
}

/// Returns the rest of a word behind `bytes` of its literal start.
pub(super) fn strip_start(word: &Word, bytes: usize) -> Word {
    let mut parts = word.parts.clone();
    if let Some(Part::Literal(text)) = parts.first_mut() {
        let rest = text.get(bytes..).unwrap_or_default().to_owned();
        if rest.is_empty() {
            parts.remove(0);
        } else {
            *text = rest;
        }
    }
    Word { parts, span: word.span.clone(), quoted: word.quoted }
}

/// The text of a word as it is when its wildcards match nothing; `None` when some of it is known only at run time.
pub(super) fn unmatched(word: &Word) -> Option<String> {
    let text = |part: &Part| match part {
        Part::Literal(text) | Part::Glob(text) => Some(text.clone()),
        _ => None,
    };
    word.parts.iter().map(text).collect()
}

/// The words with their braces expanded, as the shell does before anything else. The same words when there are none.
pub(super) fn expand(words: &Arc<Vec<Word>>) -> Arc<Vec<Word>> {
    if !words.iter().any(|word| word.parts.iter().any(is_brace)) {
        return Arc::clone(words);
    }
    let mut expanded = Vec::new();
    for word in words.iter() {
        match alternatives(word, MAX_WORDS.saturating_sub(expanded.len())) {
            Some(words) => expanded.extend(words),
            None => expanded.push(word.clone()),
        }
    }
    Arc::new(expanded)
}

/// Every word that the braces of one make, in order; `None` when they are more than `most`.
fn alternatives(word: &Word, most: usize) -> Option<Vec<Word>> {
    let most = most.min(MAX_BYTES / word.span.len().max(1));
    let mut done = Vec::new();
    let mut open = vec![word.clone()];
    while let Some(next) = open.pop() {
        let Some(at) = next.parts.iter().position(is_brace) else {
            done.push(joined(next));
            continue;
        };
        let Some(Part::Brace(choices)) = next.parts.get(at) else { return None };
        if choices.is_empty() || done.len() + open.len() + choices.len() > most {
            return None;
        }
        let (front, back) = (next.parts.get(..at)?, next.parts.get(at + 1..)?);
        for choice in choices.iter().rev() {
            let parts = [front, &choice.parts, back].concat();
            open.push(Word { parts, span: next.span.clone(), quoted: next.quoted || choice.quoted });
        }
    }
    Some(done)
}

fn is_brace(part: &Part) -> bool {
    matches!(part, Part::Brace(_))
}

/// The word with neighbouring literals made one.
fn joined(word: Word) -> Word {
    let mut parts: Vec<Part> = Vec::with_capacity(word.parts.len());
    for part in word.parts {
        match (parts.last_mut(), part) {
            (Some(Part::Literal(text)), Part::Literal(more)) => text.push_str(&more),
            (_, part) => parts.push(part),
        }
    }
    Word { parts, ..Word { parts: Vec::new(), span: word.span, quoted: word.quoted } }
}
