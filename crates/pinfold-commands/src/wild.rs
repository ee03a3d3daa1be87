//! Wildcards of a shell, as far as they can be read without knowing its options: what a class or an extended pattern
//! stands for is taken for more than it is.

/// Returns `true` if a name with wildcards can be this name. A name that starts with a dot is matched only where the dot is written.
pub fn may_be(pattern: &str, name: &[u8]) -> bool {
    let hidden = name.starts_with(b".") && !pattern.starts_with(['.', '\\', '[']);
    !hidden && matches(&loose(tokens(pattern)), name)
}

/// Returns `true` if one name can match both of two patterns; `true` also where that cannot be told. What is written out at either
/// end has to agree.
pub fn may_meet(one: &[Token], other: &[Token]) -> bool {
    if let Some(name) = plain(one) {
        return matches(other, &name);
    }
    if let Some(name) = plain(other) {
        return matches(one, &name);
    }
    let agree = |(a, b): (&Token, &Token)| a == b;
    let written =
        |tokens: (&&Token, &&Token)| [tokens.0, tokens.1].iter().all(|token| matches!(token, Token::Byte(_)));
    let front = one.iter().zip(other).take_while(|(a, b)| written((a, b))).all(agree);
    let back = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| written((a, b))).all(agree);
    front && back
}

/// A name without wildcards.
fn plain(tokens: &[Token]) -> Option<Vec<u8>> {
    let byte = |token: &Token| if let Token::Byte(byte) = token { Some(*byte) } else { None };
    tokens.iter().map(byte).collect()
}

/// One character may be several bytes: here it is any number of them.
pub fn loose(tokens: Vec<Token>) -> Vec<Token> {
    tokens.into_iter().map(|token| if token == Token::One { Token::Any } else { token }).collect()
}

/// A piece of a wildcard pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// This byte.
    Byte(u8),
    /// `?` or `[…]`: one character, whichever.
    One,
    /// `*`, or text that is not known.
    Any,
}

/// Reads a pattern of one name.
pub fn tokens(step: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut bytes = step.bytes();
    while let Some(byte) = bytes.next() {
        let token = match byte {
            b'\\' => Token::Byte(bytes.next().unwrap_or(b'\\')),
            b'?' => Token::One,
            b'[' => {
                bytes = behind_class(step.get(step.len() - bytes.len()..).unwrap_or_default()).bytes();
                Token::One
            }
            b'(' => {
                // An extended pattern, `@(a|b)`: what it stands for is not looked into.
                out.pop();
                bytes.by_ref().find(|byte| *byte == b')');
                Token::Any
            }
            b'*' | 0 => Token::Any,
            byte => Token::Byte(byte),
        };
        out.push(token);
    }
    out
}

/// Returns the text behind a class, of which this follows the `[`: a `]` right at its start belongs to it, and so does one of `[:alpha:]`. A
/// class may have no end.
fn behind_class(text: &str) -> &str {
    let mut rest = text.strip_prefix(['!', '^']).unwrap_or(text);
    rest = rest.strip_prefix(']').unwrap_or(rest);
    while let Some(at) = rest.find([']', '[']) {
        let (mark, behind) = (rest.as_bytes().get(at), rest.get(at + 1..).unwrap_or_default());
        if mark == Some(&b']') {
            return behind;
        }
        let named = behind.chars().next().filter(|sign| matches!(sign, ':' | '.' | '='));
        let end = named.and_then(|sign| behind.get(1..)?.split_once(&format!("{sign}]")));
        rest = end.map_or(behind, |(_, after)| after);
    }
    ""
}

/// Returns `true` if the name can come out of the glob. Goes back to the last `*` only, so it takes at most the product of
/// both lengths, and names are short.
pub fn matches(glob: &[Token], name: &[u8]) -> bool {
    let (mut at, mut on) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while on < name.len() {
        match glob.get(at) {
            Some(Token::Any) => {
                star = Some((at, on));
                at += 1;
            }
            Some(Token::One) => (at, on) = (at + 1, on + 1),
            Some(Token::Byte(byte)) if name.get(on) == Some(byte) => (at, on) = (at + 1, on + 1),
            _ => match star {
                Some((star_at, star_on)) => {
                    star = Some((star_at, star_on + 1));
                    (at, on) = (star_at + 1, star_on + 1);
                }
                None => return false,
            },
        }
    }
    glob.get(at..).unwrap_or_default().iter().all(|token| *token == Token::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_ends_where_bash_says_so() {
        for (pattern, name, expected) in [
            ("[ab]x", "ax", true),
            ("[ab]x", "ay", false),
            ("[[:alpha:]]x", "ax", true),
            ("[[:alpha:][:digit:]]x", "1x", true),
            ("[![:space:]]x", "ax", true),
            ("[]a]x", "]x", true),
            ("[!]a]x", "bx", true),
            ("[[.a.]]x", "ax", true),
            ("[[a]x", "[x", true),
            ("[ax", "[ax", true),
            ("[[:alpha:]]x", "a]x", true),
        ] {
            assert_eq!(may_be(pattern, name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
