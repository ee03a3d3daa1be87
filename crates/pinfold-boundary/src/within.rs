//! Comparison of paths, for those that are asked about with every call of a run: whether one lies at or beneath another.

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
    let start = bytes.get(..same)?.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    // What begins at one place in both, and differs or is at its end in one of them.
    let (one, other) = (plain_component(bytes, start)?, plain_component(wanted, start)?);
    (one != other).then_some(false)
}

fn plain_component(path: &[u8], start: usize) -> Option<&[u8]> {
    let component = path.get(start..)?.split(|byte| *byte == b'/').next()?;
    (!matches!(component, b"" | b".")).then_some(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_within_others_as_the_library_says() {
        let parts = ["", "/", "a", "ab", ".", "..", ".a", "a.", "/a", "/.", "b"];
        let texts: Vec<String> = parts
            .iter()
            .flat_map(|one| parts.iter().map(move |two| format!("{one}{two}")))
            .flat_map(|start| {
                parts.iter().flat_map(move |end| [format!("{start}{end}"), format!("{start}/{end}")])
            })
            .collect();
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
        ] {
            assert_eq!(by_bytes(path.as_bytes(), place.as_bytes()), Some(expected), "{path} within {place}");
        }
    }
}
