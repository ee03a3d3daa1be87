//! Braces, as bash expands them: before everything else, as text.
//!
//! The rules have corners: the first `{` that closes counts; to close, there must be a comma or `..` inside, outside
//! of inner braces; a `{` that does not close is text, and so is one in front of `}` at the start. What closes and
//! is neither a list nor a sequence ends the matter when nothing follows it.

use crate::opaque::MAX_SEQUENCE;
use crate::patterns::Atom;

/// A piece of a word behind the expansion of braces.
#[derive(Debug)]
pub(crate) enum BracePiece<'a> {
    Atom(&'a Atom),
    /// One of several.
    Alternatives(Vec<Vec<BracePiece<'a>>>),
    /// One of a sequence of words; none are named when there are too many, or when they are odd.
    Sequence(Vec<String>),
}

/// Finds the braces of a word.
pub(crate) fn expand(mut atoms: &[Atom]) -> Vec<BracePiece<'_>> {
    let mut pieces = Vec::new();
    while let Some((open, close)) = first_pair(atoms) {
        let (before, behind) = (part(atoms, 0, open), part(atoms, close + 1, atoms.len()));
        let inside = part(atoms, open + 1, close);
        pieces.extend(before.iter().map(BracePiece::Atom));
        if inside.iter().any(|atom| atom.is(b',')) {
            pieces.push(BracePiece::Alternatives(split(inside).into_iter().map(expand).collect()));
        } else if let Some(words) = sequence(inside) {
            pieces.push(BracePiece::Sequence(words));
        } else if behind.is_empty() {
            pieces.extend(part(atoms, open, atoms.len()).iter().map(BracePiece::Atom));
        } else {
            pieces.extend(part(atoms, open, close + 1).iter().map(BracePiece::Atom));
        }
        atoms = behind;
    }
    pieces.extend(atoms.iter().map(BracePiece::Atom));
    pieces
}

fn part(atoms: &[Atom], from: usize, to: usize) -> &[Atom] {
    atoms.get(from..to).unwrap_or_default()
}

/// The first `{` that closes, and where.
fn first_pair(atoms: &[Atom]) -> Option<(usize, usize)> {
    let opens = atoms.iter().enumerate().filter(|(_, atom)| atom.is(b'{')).map(|(at, _)| at);
    let begins_nothing = |at: usize| at == 0 && atoms.get(1).is_none_or(|next| next.is(b'}'));
    opens.filter(|&at| !begins_nothing(at)).find_map(|at| Some((at, close_of(atoms, at + 1)?)))
}

fn close_of(atoms: &[Atom], from: usize) -> Option<usize> {
    let (mut depth, mut divided) = (0_usize, false);
    for (at, atom) in atoms.iter().enumerate().skip(from) {
        match atom {
            Atom::Special(b'}') if depth == 0 && divided => return Some(at),
            Atom::Special(b'}') => depth = depth.saturating_sub(1),
            Atom::Special(b'{') => depth += 1,
            Atom::Special(b',') => divided |= depth == 0,
            Atom::Bare(text) => {
                let closed = atoms.get(at + 1).is_some_and(|next| next.is(b'}'));
                let dots = text.find("..").is_some_and(|dots| dots + 2 < text.len() || !closed);
                divided |= depth == 0 && dots;
            }
            Atom::Special(_) | Atom::Quoted(_) | Atom::Part(_) => {}
        }
    }
    None
}

/// The alternatives between commas that stand in no inner braces.
fn split(atoms: &[Atom]) -> Vec<&[Atom]> {
    let mut depth = 0_usize;
    let divides = |atom: &Atom| {
        match atom {
            Atom::Special(b'{') => depth += 1,
            Atom::Special(b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && atom.is(b',')
    };
    atoms.split(divides).collect()
}

/// `1..3`, `a..c` or `1..9..2`; no words when there are too many, or when their form is odd.
fn sequence(atoms: &[Atom]) -> Option<Vec<String>> {
    let [Atom::Bare(text)] = atoms else { return None };
    let mut pieces = text.split("..");
    let (first, last, step) = (pieces.next()?, pieces.next()?, pieces.next());
    if pieces.next().is_some() {
        return None;
    }
    let step = step.map_or(Ok(1), str::parse::<i64>).ok()?;
    let numbers = first.parse::<i64>().ok().zip(last.parse::<i64>().ok());
    let letters = letter(first).zip(letter(last));
    let odd = match (numbers, letters) {
        // Zeros in front make all of them as long.
        (Some(_), _) => padded(first) || padded(last),
        // What stands between capital and small letters has meanings of its own.
        (None, Some((first, last))) => (first < 97) != (last < 97),
        (None, None) => return None,
    };
    let (first, last) = numbers.or(letters)?;
    let show = |value: i64| match u8::try_from(value) {
        Ok(byte) if numbers.is_none() => char::from(byte).to_string(),
        _ => value.to_string(),
    };
    let values = if odd { Vec::new() } else { steps(first, last, step) };
    Some(values.into_iter().map(show).collect())
}

fn letter(text: &str) -> Option<i64> {
    match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    }
}

fn padded(number: &str) -> bool {
    let digits = number.trim_start_matches(['-', '+']);
    number.starts_with('+') || digits.len() > 1 && digits.starts_with('0') || number == "-0"
}

fn steps(first: i64, last: i64, step: i64) -> Vec<i64> {
    let (first, last) = (i128::from(first), i128::from(last));
    let step = i128::from(step.unsigned_abs().max(1));
    let count = (last - first).abs() / step + 1;
    if count > MAX_SEQUENCE {
        return Vec::new();
    }
    let step = if last < first { -step } else { step };
    (0..count).filter_map(|n| i64::try_from(first + n * step).ok()).collect()
}
