//! Places of a world, named by what they lie below: `F/src/a` in the folder, `H/.bashrc` at home, `O/file` outside.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// What places are named from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// The folder that is granted.
    Folder,
    /// The home directory of the user.
    Home,
    /// A directory of the same user that is not granted.
    Outside,
}

impl Root {
    const ALL: [(Self, &str); 3] = [(Self::Folder, "F"), (Self::Home, "H"), (Self::Outside, "O")];

    fn letter(self) -> &'static str {
        Self::ALL.iter().find(|(root, _)| *root == self).map_or("", |(_, letter)| letter)
    }
}

/// A place of a world, wherever the world lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldPath {
    /// What it is named from.
    pub root: Root,
    /// Where below it, without a slash in front.
    pub below: String,
}

impl WorldPath {
    /// A place below a root.
    pub fn new(root: Root, below: impl Into<String>) -> Self {
        Self { root, below: below.into() }
    }

    /// The place of this name below this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let slash = if self.below.is_empty() || name.is_empty() { "" } else { "/" };
        Self::new(self.root, format!("{}{slash}{name}", self.below))
    }

    /// The directory that holds it; `None` for a root.
    pub fn parent(&self) -> Option<Self> {
        if self.below.is_empty() {
            return None;
        }
        let parent = self.below.rsplit_once('/').map_or("", |(parent, _)| parent);
        Some(Self::new(self.root, parent))
    }

    /// Directories above it, nearest first, without its root.
    pub fn above(&self) -> Vec<Self> {
        let all = std::iter::successors(self.parent(), Self::parent);
        all.filter(|place| !place.below.is_empty()).collect()
    }

    /// Where it lies below another one.
    pub fn within(&self, other: &Self) -> Option<&str> {
        if self.root != other.root {
            return None;
        }
        if other.below.is_empty() {
            return Some(&self.below);
        }
        let rest = self.below.strip_prefix(&other.below)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }
}

impl fmt::Display for WorldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.below.is_empty() { "" } else { "/" };
        write!(f, "{}{slash}{}", self.root.letter(), self.below)
    }
}

impl FromStr for WorldPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (letter, below) = text.split_once('/').unwrap_or((text, ""));
        let root = Root::ALL.iter().find(|(_, l)| *l == letter);
        root.map(|(root, _)| Self::new(*root, below))
            .ok_or_else(|| format!("`{text}` is no place: F/…, H/…, O/…"))
    }
}

/// Where the roots of one world are.
#[derive(Clone, Debug)]
pub struct Roots {
    /// The folder that is granted.
    pub folder: PathBuf,
    /// The home directory of the user.
    pub home: PathBuf,
    /// The directory outside.
    pub outside: PathBuf,
}

impl Roots {
    /// The path of a root.
    pub fn of(&self, root: Root) -> &Path {
        match root {
            Root::Folder => &self.folder,
            Root::Home => &self.home,
            Root::Outside => &self.outside,
        }
    }

    /// The path of a place.
    pub fn path(&self, place: &WorldPath) -> PathBuf {
        if place.below.is_empty() {
            self.of(place.root).to_owned()
        } else {
            self.of(place.root).join(&place.below)
        }
    }

    /// The place of a path. The folder comes first, since it may lie in one of the others.
    pub fn place(&self, path: &Path) -> Option<WorldPath> {
        Root::ALL.iter().find_map(|(root, _)| {
            let below = path.strip_prefix(self.of(*root)).ok()?;
            Some(WorldPath::new(*root, below.to_string_lossy()))
        })
    }
}

/// The way from one directory to a path, by `..`. Both are absolute and without links.
pub fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - shared);
    let way: PathBuf = up.chain(to.into_iter().skip(shared)).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["F", "F/.git/logs/HEAD", "H/.bashrc", "O/a/b"] {
            assert_eq!(text.parse::<WorldPath>().unwrap().to_string(), text);
        }
        assert!("X/a".parse::<WorldPath>().is_err());
        let place: WorldPath = "F/a/b/c".parse().unwrap();
        assert_eq!(place.above().iter().map(ToString::to_string).collect::<Vec<_>>(), ["F/a/b", "F/a"]);
        assert_eq!(place.within(&"F/a".parse().unwrap()), Some("b/c"));
        assert_eq!(place.within(&"F/a/bb".parse().unwrap()), None);
    }

    #[test]
    fn the_way_between_two_directories_goes_up_and_down() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(way("/a/b", "/a/c/d"), "../c/d");
        assert_eq!(way("/a", "/a/c"), "c");
        assert_eq!(way("/a", "/a"), ".");
    }
}
