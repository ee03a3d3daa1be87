//! Patterns for paths, component by component: `*` and `?` stay within a component, `**` is any number of them.

use std::path::{Path, PathBuf};

use pinfold_commands::wild::{self, Token, loose, tokens};

use super::Glob;

/// The base of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// `./` or `../`, or a pattern with a slash and no anchor: the folder the session works in.
    Cwd,
    /// A bare name: at any depth below the folder the session works in.
    BelowCwd,
    /// `/`: the root of the project.
    Project,
    /// `~/`: home.
    Home,
    /// `//`: the root of the file system.
    Root,
    /// `**/`: at any depth anywhere.
    Anywhere,
}

/// A component of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// `..`: one up, before anything is compared.
    Up,
    /// `**`.
    Any,
    /// A name without wildcards.
    Name(Box<[u8]>),
    /// A name with wildcards.
    #[expect(private_interfaces, reason = "the comparison of wildcards is an internal of this module")]
    Glob(Glob),
}

/// A pattern for paths, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    base: Base,
    segments: Vec<Segment>,
}

/// A pattern measured from a real folder, ready to be compared with absolute paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchored {
    /// Names from the root of the file system on, without wildcards.
    pub(crate) leading: Vec<Box<[u8]>>,
    rest: Vec<Segment>,
}

/// The folders that patterns are measured from, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bases {
    /// The folder the session works in.
    pub cwd: PathBuf,
    /// The root of the project.
    pub project: PathBuf,
    /// Home, under every name it is known by.
    pub home: Vec<PathBuf>,
}

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// One clause.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (base, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Base::Root, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Base::Home, rest)
        } else if text == "~" {
            (Base::Home, "")
        } else if text.starts_with('~') {
            return Err("the home directory of another user cannot be named");
        } else if let Some(rest) = text.strip_prefix('/') {
            (Base::Project, rest)
        } else if text.starts_with("**/") {
            (Base::Anywhere, text)
        } else if text.trim_end_matches('/').contains('/') || text == "**" || text == "." || text == ".." {
            (Base::Cwd, text)
        } else {
            (Base::BelowCwd, text)
        };
        let mut segments: Vec<Segment> =
            rest.split('/').filter(|s| !s.is_empty() && *s != ".").map(segment).collect();
        if base == Base::BelowCwd {
            segments.insert(0, Segment::Any);
        }
        let first_plain = segments.iter().position(|s| *s != Segment::Up).unwrap_or(segments.len());
        if segments.iter().skip(first_plain).any(|s| *s == Segment::Up) {
            return Err("`..` stands behind a name, where it depends on links");
        }
        Ok(Self { base, segments })
    }

    /// Returns the base.
    pub fn base(&self) -> Base {
        self.base
    }

    /// Returns `true` if every path that `other` matches is matched by this. `false` also where that cannot be told.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let below = |(last, folder): (&Segment, &[Segment])| {
            *last == Segment::Any && other.segments.starts_with(folder)
        };
        self.base == other.base
            && (self.segments == other.segments || self.segments.split_last().is_some_and(below))
    }

    /// The names at the start, without wildcards.
    pub(crate) fn leading(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().map_while(|segment| match segment {
            Segment::Name(name) => Some(&**name),
            Segment::Up | Segment::Any | Segment::Glob(_) => None,
        })
    }

    /// Returns `true` if it names its start, so that it can reach beyond the folders that may be written.
    pub fn is_anchored(&self) -> bool {
        match self.base {
            Base::Root | Base::Home | Base::Project => true,
            Base::Cwd => self.segments.first().is_some_and(|s| *s != Segment::Any),
            Base::BelowCwd | Base::Anywhere => false,
        }
    }

    /// Returns `true` if it starts with a name, not with a wildcard.
    pub fn names_something(&self) -> bool {
        self.leading().next().is_some()
    }

    /// The pattern from the root of the file system on: once for every name of its base.
    pub(crate) fn anchored(&self, bases: &Bases) -> Vec<Anchored> {
        match self.base {
            Base::Cwd | Base::BelowCwd => vec![self.from(&bases.cwd)],
            Base::Project => vec![self.from(&bases.project)],
            Base::Home => bases.home.iter().map(|home| self.from(home)).collect(),
            Base::Root | Base::Anywhere => vec![self.from(Path::new("/"))],
        }
    }

    fn from(&self, base: &Path) -> Anchored {
        let mut leading: Vec<Box<[u8]>> = names(base).map(Into::into).collect();
        let mut rest = self.segments.as_slice();
        while let [first, after @ ..] = rest {
            match first {
                Segment::Up => drop(leading.pop()),
                Segment::Name(name) => leading.push(name.clone()),
                Segment::Any | Segment::Glob(_) => break,
            }
            rest = after;
        }
        Anchored { leading, rest: rest.to_vec() }
    }
}

fn segment(text: &str) -> Segment {
    match text {
        ".." => Segment::Up,
        "**" => Segment::Any,
        wild if wild.contains(['*', '?']) => Segment::Glob(Glob::new(wild.as_bytes())),
        name => Segment::Name(name.as_bytes().into()),
    }
}

/// The plain names of an absolute path.
pub(crate) fn names(path: &Path) -> impl Iterator<Item = &[u8]> + Clone {
    let names = path.as_os_str().as_encoded_bytes().split(|&b| b == b'/');
    names.filter(|name| !matches!(*name, b"" | b"." | b".."))
}

/// The paths that a claim reaches beside exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReachedPaths {
    /// Names in it hold wildcards of a shell.
    pub(crate) wild: bool,
    /// Everything below it is reached.
    pub(crate) below: DescendantReach,
    /// Of that, what lies under names which start with a dot is passed over.
    pub(crate) visible: bool,
}

/// The reach below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DescendantReach {
    /// No.
    #[default]
    No,
    /// Only where a pattern says from where it starts: it may be a file.
    Anchored,
    /// Yes: it is a folder.
    Yes,
}

/// A name of a path that is reached.
#[derive(Debug)]
pub(crate) enum ReachedName<'a> {
    /// This one.
    Plain(&'a [u8]),
    /// Each that wildcards of a shell stand for.
    Wild(Vec<Token>),
}

impl<'a> ReachedName<'a> {
    /// Reads the names of a path, in which there may be wildcards of a shell if it is `wild`.
    pub(crate) fn read(path: &'a Path, wild: bool) -> Vec<Self> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let read = |name: &'a [u8]| {
            if !wild || name.iter().all(is_plain) {
                return Self::Plain(name);
            }
            Self::Wild(loose(tokens(&String::from_utf8_lossy(name))))
        };
        names(path).map(read).collect()
    }

    /// Returns `true` if it may be this name.
    pub(crate) fn may_be(&self, own: &[u8]) -> bool {
        match self {
            Self::Plain(name) => *name == own,
            Self::Wild(tokens) => wild::matches(tokens, own),
        }
    }
}

impl Anchored {
    /// Returns `true` if a path that is reached may match. `true` also where that cannot be told. `covers_below`: what lies
    /// beneath a pattern without wildcards matches too.
    pub(crate) fn may_meet(
        &self,
        names: &[ReachedName<'_>],
        reached: ReachedPaths,
        covers_below: bool,
    ) -> bool {
        // The names in front take one name each, so that most patterns end with the first that differs.
        let mut front = self.leading.iter().zip(names);
        if !front.all(|(own, name)| name.may_be(own)) {
            return false;
        }
        if names.len() < self.leading.len() {
            return self.may_lie_below(names.len(), reached);
        }
        let names = names.get(self.leading.len()..).unwrap_or_default();
        // Which segments may come next, after so many names.
        let count = self.rest.len();
        let (mut at, mut next) = (vec![false; count + 1], vec![false; count + 1]);
        at.first_mut().into_iter().for_each(|first| *first = true);
        skip_any(&self.rest, &mut at);
        for name in names {
            next.fill(false);
            for (i, _) in at.iter().enumerate().filter(|(_, here)| **here) {
                let step = match self.rest.get(i) {
                    Some(Segment::Any) => Some(i),
                    Some(segment) => segment.may_take(name).then_some(i + 1),
                    // Beneath what the pattern names.
                    None => (self.rest.is_empty() && covers_below).then_some(i),
                };
                if let Some(slot) = step.and_then(|step| next.get_mut(step)) {
                    *slot = true;
                }
            }
            skip_any(&self.rest, &mut next);
            std::mem::swap(&mut at, &mut next);
        }
        let mut left = at.iter().enumerate().filter(|(_, here)| **here).map(|(i, _)| i);
        left.any(|i| i == count || self.may_lie_below(self.leading.len() + i, reached))
    }

    /// Returns `true` if what is left of the pattern behind so many segments may lie below a path that is reached.
    fn may_lie_below(&self, behind: usize, reached: ReachedPaths) -> bool {
        let hidden = || {
            let dotted = |segment: &Segment| match segment {
                Segment::Name(name) => name.starts_with(b"."),
                Segment::Glob(glob) => glob.literal_prefix().starts_with(b"."),
                Segment::Up | Segment::Any => false,
            };
            let rest = behind.saturating_sub(self.leading.len());
            reached.visible
                && (self.leading.iter().skip(behind).any(|name| name.starts_with(b"."))
                    || self.rest.iter().skip(rest).any(dotted))
        };
        match reached.below {
            DescendantReach::No => false,
            DescendantReach::Anchored => behind < self.leading.len() && !hidden(),
            DescendantReach::Yes => !hidden(),
        }
    }

    /// Returns `true` if it is a place and all that lies beneath it.
    pub(crate) fn is_whole(&self) -> bool {
        self.rest.iter().all(|segment| *segment == Segment::Any)
    }

    /// The pattern as text, from the root of the file system on.
    pub(crate) fn text(&self) -> Vec<u8> {
        let rest = self.rest.iter().map(|segment| match segment {
            Segment::Up => b"..".to_vec(),
            Segment::Any => b"**".to_vec(),
            Segment::Name(name) => name.to_vec(),
            Segment::Glob(glob) => glob.text(),
        });
        let names = self.leading.iter().map(|name| name.to_vec()).chain(rest);
        names.flat_map(|name| [b"/".to_vec(), name].concat()).collect()
    }

    /// The last name of the pattern, when every match ends with it.
    pub(crate) fn last_name(&self) -> Option<&[u8]> {
        match self.rest.last() {
            Some(Segment::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns `true` if the names behind the leading ones match. `covers_below`: what lies beneath a pattern without
    /// wildcards matches too.
    pub(crate) fn rest_matches(&self, names: &[&[u8]], covers_below: bool) -> bool {
        if self.rest.is_empty() {
            return names.is_empty() || covers_below;
        }
        components_match(&self.rest, names)
    }
}

/// Linear but for the last `**`, which alone is ever taken back.
fn components_match(pattern: &[Segment], names: &[&[u8]]) -> bool {
    let (mut p, mut n, mut retry) = (0, 0, None);
    while let Some(name) = names.get(n) {
        match pattern.get(p) {
            Some(Segment::Any) => {
                retry = Some((p, n));
                p += 1;
            }
            Some(segment) if segment.takes(name) => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((any, from)) => {
                    retry = Some((any, from + 1));
                    p = any + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    // `src/**` is what lies below `src`, and `src` itself.
    pattern.get(p..).unwrap_or_default().iter().all(|segment| *segment == Segment::Any)
}

/// `**` may stand for nothing.
fn skip_any(own: &[Segment], at: &mut [bool]) {
    for (i, segment) in own.iter().enumerate() {
        let skips = *segment == Segment::Any && at.get(i).copied().unwrap_or(false);
        if let Some(next) = at.get_mut(i + 1).filter(|_| skips) {
            *next = true;
        }
    }
}

impl Segment {
    /// Returns `true` if a name that is reached may be this one.
    fn may_take(&self, name: &ReachedName<'_>) -> bool {
        match (self, name) {
            (Self::Up | Self::Any, _) => false,
            (Self::Name(own), _) => name.may_be(own),
            (Self::Glob(glob), ReachedName::Wild(tokens)) => wild::may_meet(tokens, &glob.tokens()),
            (Self::Glob(glob), ReachedName::Plain(name)) => glob.matches(name),
        }
    }

    fn takes(&self, name: &[u8]) -> bool {
        match self {
            Self::Up | Self::Any => false,
            Self::Name(own) => **own == *name,
            Self::Glob(glob) => glob.matches(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let bases = Bases {
            cwd: "/home/u/proj/sub".into(),
            project: "/home/u/proj".into(),
            home: vec!["/home/u".into()],
        };
        let pattern = PathPattern::parse(pattern).unwrap();
        let all: Vec<_> = names(Path::new(path)).collect();
        pattern.anchored(&bases).iter().any(|anchored| {
            let n = anchored.leading.len();
            all.len() >= n
                && all.iter().zip(&anchored.leading).all(|(a, b)| **a == **b)
                && anchored.rest_matches(&all[n..], false)
        })
    }

    #[test]
    fn anchors_say_where_a_pattern_starts_and_stars_stay_where_they_belong() {
        for (pattern, path, expected) in [
            ("./src/**", "/home/u/proj/sub/src/a/b", true),
            ("./src/**", "/home/u/proj/sub/srcx/a", false),
            ("./src/*", "/home/u/proj/sub/src/a", true),
            ("./src/*", "/home/u/proj/sub/src/a/b", false),
            ("./src/**/x.rs", "/home/u/proj/sub/src/x.rs", true),
            ("./src/**/x.rs", "/home/u/proj/sub/src/a/b/x.rs", true),
            ("src/**", "/home/u/proj/sub/src/a", true),
            ("src/**", "/home/u/proj/sub/a/src/a", false),
            ("../docs/**", "/home/u/proj/docs/a", true),
            ("/docs/**", "/home/u/proj/docs/a", true),
            ("/docs/**", "/docs/a", false),
            ("//etc/passwd", "/etc/passwd", true),
            ("/etc/passwd", "/etc/passwd", false),
            ("~/.ssh/id_rsa", "/home/u/.ssh/id_rsa", true),
            (".env", "/home/u/proj/sub/a/.env", true),
            (".env", "/home/u/proj/.env", false),
            ("*.pem", "/home/u/proj/sub/a/b.pem", true),
            ("./*.pem", "/home/u/proj/sub/a/b.pem", false),
            ("**/.env", "/srv/app/.env", true),
            ("**/.env", "/srv/app/foo.env", false),
            ("**/*.go", "/a/b/c/file.go", true),
            ("**", "/home/u/proj/sub/x", true),
            ("**", "/etc/x", false),
            ("./a[b].ts", "/home/u/proj/sub/a[b].ts", true),
            ("./a?c", "/home/u/proj/sub/abc", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
        assert!(PathPattern::parse("~other/x").is_err());
        assert!(PathPattern::parse("./a/../b").is_err());
    }
}
