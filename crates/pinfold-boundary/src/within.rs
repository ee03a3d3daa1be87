//! Comparison and parts of paths, for those that are asked about with every call of a run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns what [`Path::starts_with`] returns. Most paths differ in a plain component: that is told by their bytes, without taking
/// them apart.
pub(crate) fn is_within(path: &Path, place: &Path) -> bool {
    let (bytes, wanted) = (path.as_os_str().as_encoded_bytes(), place.as_os_str().as_encoded_bytes());
    by_bytes(bytes, wanted).unwrap_or_else(|| path.starts_with(place))
}

/// `None`: a component is empty or `.`, which a comparison of bytes takes for one.
fn by_bytes(bytes: &[u8], wanted: &[u8]) -> Option<bool> {
    let same = bytes.iter().zip(wanted).take_while(|(one, other)| one == other).count();
    let (rest, wanted_rest) = (bytes.get(same..)?, wanted.get(same..)?);
    if wanted_rest.is_empty() && matches!(rest, [] | [b'/', ..]) && !wanted.is_empty() {
        return Some(true);
    }
    if rest.is_empty() && wanted_rest.starts_with(b"/") && !bytes.is_empty() {
        // A path that ends where the other goes on: asked for each directory above a place.
        plain_component(wanted, same + 1)?;
        return Some(false);
    }
    let start = bytes.get(..same)?.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    // What begins at one place in both, and differs or is at its end in one of them.
    let (one, other) = (plain_component(bytes, start)?, plain_component(wanted, start)?);
    (one != other).then_some(false)
}

fn plain_component(path: &[u8], start: usize) -> Option<&[u8]> {
    let component = path.get(start..)?.split(|byte| *byte == b'/').next()?;
    (!matches!(component, b"" | b".")).then_some(component)
}

/// Returns what [`Path::parent`] and [`Path::file_name`] return. Nearly every path has its last component behind its last slash.
pub(crate) fn split(path: &Path) -> (Option<&Path>, Option<&OsStr>) {
    split_plain(path.as_os_str().as_bytes()).unwrap_or_else(|| (path.parent(), path.file_name()))
}

/// `None`: a component at the end or before it is empty, `.` or `..`, or there is but one.
fn split_plain(path: &[u8]) -> Option<(Option<&Path>, Option<&OsStr>)> {
    let (parent, name) = path.split_at_checked(path.iter().rposition(|byte| *byte == b'/')?)?;
    let name = name.get(1..).filter(|name| !matches!(*name, b"" | b"." | b".."))?;
    let odd = matches!(parent, [] | [.., b'/' | b'.']);
    (!odd).then(|| (Some(Path::new(OsStr::from_bytes(parent))), Some(OsStr::from_bytes(name))))
}

/// Returns whether two paths are the same text. Of two that differ so, both may still lead to one place.
pub(crate) fn is_same_text(one: &Path, other: &Path) -> bool {
    one.as_os_str() == other.as_os_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of two to four parts, odd ones among them.
    fn texts() -> Vec<String> {
        let parts = ["", "/", "a", "ab", ".", "..", ".a", "a.", "/a", "/.", "b"];
        let starts = parts.iter().flat_map(|one| parts.iter().map(move |two| format!("{one}{two}")));
        let ends = |start: String| parts.map(|end| [format!("{start}{end}"), format!("{start}/{end}")]);
        starts.flat_map(ends).flatten().collect()
    }

    #[test]
    fn paths_are_split_as_the_library_does() {
        for text in texts() {
            let path = Path::new(&text);
            let (parent, name) = split(path);
            assert_eq!((parent, name), (path.parent(), path.file_name()), "{text}");
            let same = parent.map(Path::as_os_str) == path.parent().map(Path::as_os_str);
            assert!(same, "{text}: not only equal, but the same text");
        }
    }

    #[test]
    fn paths_lie_within_others_as_the_library_says() {
        let texts = texts();
        for path in &texts {
            for place in &texts {
                let (path, place) = (Path::new(path), Path::new(place));
                assert_eq!(is_within(path, place), path.starts_with(place), "{path:?} within {place:?}");
            }
        }
    }

    #[test]
    fn plain_paths_are_told_by_their_bytes() {
        for (path, place, expected) in [
            ("/w/folder/a", "/w/folder", true),
            ("/w/folder", "/w/folder", true),
            ("/w/folders", "/w/folder", false),
            ("/w/fold", "/w/folder", false),
            ("/tmp/x", "/var/tmp", false),
            ("/w/folder/a", "/w/folder/b", false),
            ("/w", "/w/folder", false),
        ] {
            assert_eq!(by_bytes(path.as_bytes(), place.as_bytes()), Some(expected), "{path} within {place}");
        }
    }
}
