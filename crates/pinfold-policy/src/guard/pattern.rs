//! Matching of a guard's pattern with a path: anchor, components, `*` within a component, exceptions after ` !`.

/// The place from which a pattern counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// `**/`: at any depth.
    Anywhere,
    /// `~/`: directly in a home directory.
    Home,
    /// `/`: at the root of the file system.
    Root,
}

impl Anchor {
    /// Splits the anchor from the rest; `None` for a pattern that has none, which therefore matches nothing.
    pub(super) fn split(pattern: &str) -> Option<(Self, &str)> {
        // By bytes: it is asked for with every candidate of every file that a walk meets.
        let (anchor, len) = match pattern.as_bytes() {
            [b'*', b'*', b'/', ..] => (Self::Anywhere, 3),
            [b'~', b'/', ..] => (Self::Home, 2),
            [b'/', ..] => (Self::Root, 1),
            _ => return None,
        };
        Some((anchor, pattern.get(len..)?))
    }
}

/// The pattern without its exceptions.
pub(super) fn positive(pattern: &str) -> &str {
    // Asked about every guard at every start: text search would first prepare itself for each.
    let end = pattern.as_bytes().windows(EXCEPT.len()).position(|two| two == EXCEPT.as_bytes());
    end.and_then(|end| pattern.get(..end)).unwrap_or(pattern)
}

/// Separator between a pattern and each name that its last component lets pass.
const EXCEPT: &str = " !";

/// The first two bytes of the first component, `None` when a `*` is among them.
pub(super) fn first_bytes(pattern: &str) -> Option<[u8; 2]> {
    let (_, rest) = Anchor::split(pattern)?;
    let two = two_bytes(positive(rest).as_bytes());
    (!two.contains(&b'*')).then_some(two)
}

/// The ASCII signs of a text, small for capital: a bit for each, which some share. Told faster than a pattern is matched.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs(u64);

impl Signs {
    fn from_bytes(text: &[u8]) -> Self {
        let bit = |byte: &u8| if byte.is_ascii() { 1 << (byte.to_ascii_lowercase() % 64) } else { 0 };
        Self(text.iter().fold(0, |signs, byte| signs | bit(byte)))
    }

    /// Returns `true` if all of `wanted` are among them.
    pub(super) fn hold(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// Returns the signs that a component needs to match the first one of a pattern.
pub(super) fn wanted(pattern: &str) -> Signs {
    let Some((_, rest)) = Anchor::split(pattern) else { return Signs::default() };
    let first = positive(rest).split('/').next().unwrap_or_default();
    let plain: Vec<u8> = first.bytes().filter(|byte| *byte != b'*').collect();
    Signs::from_bytes(&plain)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as iterators pass it")]
fn is_slash(byte: &u8) -> bool {
    *byte == b'/'
}

fn is_name(component: &&[u8]) -> bool {
    !component.is_empty()
}

fn two_bytes(text: &[u8]) -> [u8; 2] {
    match *text {
        [] | [b'/', ..] => [0, 0],
        [first] | [first, b'/', ..] => [first, 0],
        [first, second, ..] => [first, second],
    }
}

/// Returns `true` if some match of the pattern lies below a folder. A pattern that counts at any depth says nothing about where.
pub(super) fn lies_below(pattern: &str, folder: &[u8], home: Option<&[u8]>) -> bool {
    let Some((anchor, rest)) = Anchor::split(pattern) else { return false };
    let own = home.map(trim).unwrap_or_default();
    let heads: &[&[u8]] = match anchor {
        Anchor::Anywhere => return false,
        Anchor::Root => &[b""],
        Anchor::Home => &[own, b"/root", b"/home/*", b"/Users/*"],
    };
    heads.iter().filter(|head| anchor == Anchor::Root || !head.is_empty()).any(|head| {
        let wanted = head.split(is_slash).chain(positive(rest).as_bytes().split(is_slash)).filter(is_name);
        let mut wanted = wanted.peekable();
        for name in folder.split(is_slash).filter(is_name) {
            match wanted.next() {
                Some(b"**") => return true,
                Some(part) if glob(part, name, false) => {}
                Some(_) | None => return false,
            }
        }
        wanted.peek().is_some()
    })
}

/// One path to be looked up.
pub(super) struct Query<'a> {
    path: &'a [u8],
    home: Option<&'a [u8]>,
    folds_case: bool,
}

impl<'a> Query<'a> {
    pub(super) fn new(path: &'a [u8], home: Option<&'a [u8]>, folds_case: bool) -> Self {
        Self { path, home: home.map(trim), folds_case }
    }

    /// Returns the start of each component.
    pub(super) fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        let mut before = b'/';
        self.path.iter().enumerate().filter_map(move |(i, &b)| {
            let start = before == b'/' && b != b'/';
            before = b;
            start.then_some(i)
        })
    }

    /// The first two bytes of the component at `at`.
    pub(super) fn first_bytes(&self, at: usize) -> [u8; 2] {
        two_bytes(self.tail(at))
    }

    /// The signs of the component at `at`.
    pub(super) fn signs(&self, at: usize) -> Signs {
        Signs::from_bytes(self.tail(at).split(is_slash).next().unwrap_or_default())
    }

    /// Returns `true` if a pattern matches from the component at `at` on; what lies beneath a match matches too.
    pub(super) fn matches(&self, at: usize, anchor: Anchor, pattern: &str) -> bool {
        // Most candidates fall here: walks ask about every file they meet.
        if !self.begins_like(at, pattern) {
            return false;
        }
        let wanted = positive(pattern);
        let Some(last) = self.walk(at, wanted) else { return false };
        let mut excepts = pattern.get(wanted.len()..).unwrap_or_default().split(EXCEPT).skip(1);
        self.anchored(at, anchor) && !excepts.any(|except| glob(except.as_bytes(), last, self.folds_case))
    }

    fn begins_like(&self, at: usize, pattern: &str) -> bool {
        let tail = self.tail(at);
        match (tail.first(), pattern.as_bytes()) {
            (None, _) | (_, []) => false,
            // What stands behind the star has to be somewhere in the component, unless it is a sign itself.
            (Some(_), [b'*', wanted, ..]) if !matches!(wanted, b'*' | b'/' | b' ') => {
                tail.iter().take_while(|b| !is_slash(b)).any(|here| here.eq_ignore_ascii_case(wanted))
            }
            (Some(_), [b'*', ..]) => true,
            (Some(here), [wanted, ..]) => here.eq_ignore_ascii_case(wanted),
        }
    }

    /// The component that met the last part of the pattern, if all parts met theirs. `**` between them is any number
    /// of components.
    fn walk(&self, at: usize, wanted: &str) -> Option<&'a [u8]> {
        let mut components = self.tail(at).split(is_slash).filter(is_name);
        let mut parts = wanted.split('/');
        let mut last: &[u8] = b"";
        // Behind the last `**`: where to go on when what follows it is not met yet.
        let mut behind: Option<(std::str::Split<'_, char>, _)> = None;
        while let Some(part) = parts.next() {
            if part == "**" {
                behind = Some((parts.clone(), components.clone()));
                continue;
            }
            let met = components.next().filter(|component| glob(part.as_bytes(), component, self.folds_case));
            match (met, &mut behind) {
                (Some(component), _) => last = component,
                (None, Some((parts_behind, components_behind))) => {
                    components_behind.next()?;
                    (parts, components) = (parts_behind.clone(), components_behind.clone());
                }
                (None, None) => return None,
            }
        }
        Some(last)
    }

    fn anchored(&self, at: usize, anchor: Anchor) -> bool {
        let before = trim(self.path.get(..at).unwrap_or_default());
        match anchor {
            Anchor::Anywhere => true,
            Anchor::Root => before.is_empty(),
            Anchor::Home => self.is_home(before),
        }
    }

    /// The person's own home, or a directory where home directories usually stand: another user's keys are no
    /// less keys.
    fn is_home(&self, place: &[u8]) -> bool {
        if self.home.is_some_and(|h| !h.is_empty() && same(h, place, self.folds_case)) {
            return true;
        }
        let mut components = place.split(|&b| b == b'/').filter(|c| !c.is_empty());
        match (components.next(), components.next(), components.next()) {
            (Some(b"root"), None, None) => true,
            (Some(parent), Some(_), None) => parent == b"home" || same(parent, b"Users", self.folds_case),
            _ => false,
        }
    }

    fn tail(&self, at: usize) -> &'a [u8] {
        self.path.get(at..).unwrap_or_default()
    }
}

fn trim(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&b| b != b'/').map_or(0, |i| i + 1);
    path.get(..end).unwrap_or_default()
}

/// Returns whether a file system takes one name for another, that of ASCII letters.
pub(crate) fn is_same_name(name: &[u8], of_ascii: &[u8], folds_case: bool) -> bool {
    same(name, of_ascii, folds_case) || folds_case && !name.is_ascii() && same(&fold(name), of_ascii, true)
}

fn same(a: &[u8], b: &[u8], folds_case: bool) -> bool {
    if folds_case { a.eq_ignore_ascii_case(b) } else { a == b }
}

/// `*` stands for any run of bytes within the component, the empty one included. Linear: only the last `*` is
/// ever taken back.
fn glob(pattern: &[u8], text: &[u8], folds_case: bool) -> bool {
    if !pattern.contains(&b'*') {
        return same(pattern, text, folds_case);
    }
    let (mut p, mut t, mut retry) = (0, 0, None);
    while let Some(&byte) = text.get(t) {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(&wanted) if same(&[wanted], &[byte], folds_case) => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    p = star + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|&b| b == b'*')
}

/// A path as a case-folding file system may read it: the letters beyond ASCII that fold into ASCII (long s,
/// Kelvin sign) and without the code points that such file systems leave out of a comparison.
pub(crate) fn fold(path: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(path)
        .chars()
        .filter(|&c| !ignorable(c))
        .map(|c| match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other,
        })
        .collect::<String>()
        .into_bytes()
}

/// Default-ignorable code points, which ext4 (casefold) and HFS+ skip when they compare names.
/// [DerivedCoreProperties](https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt)
fn ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
