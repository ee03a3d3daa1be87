//! The laws of scrubbing, for one text. Also run by the fuzzer.

use pinfold_scrub::{MAX_HELD_BACK, Scrubber};

/// Scrubbing twice is scrubbing once; lines stay; text stays text; what is no secret stays.
pub(crate) fn holds(bytes: &[u8]) {
    let scrubber = Scrubber::default();
    let (once, found) = scrubber.scrub_bytes(bytes);
    let (twice, again) = scrubber.scrub_bytes(&once);
    assert_eq!(shown(&once), shown(&twice), "of {}", shown(bytes));
    assert!(again.is_empty());
    assert_eq!(found.is_empty(), matches!(once, std::borrow::Cow::Borrowed(_)));
    let breaks = |bytes: &[u8]| bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    assert_eq!(breaks(bytes), breaks(&once));
    let hits = scrubber.hits(bytes);
    assert_eq!(hits.len() as u64, found.total());
    for hit in &hits {
        let end = once.get(once.len() - (bytes.len() - hit.range.end).min(once.len())..);
        assert!(hit.range.start < hit.range.end && end.is_some());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let again = scrubber.scrub(text);
        assert_eq!(again.text.as_bytes(), &*once, "no character is cut");
        assert_eq!(again.found, found);
    }
}

/// In chunks it is what it is as a whole, and little is held back.
pub(crate) fn holds_cut(bytes: &[u8], cuts: &[usize]) {
    let scrubber = Scrubber::default();
    let (whole, found) = scrubber.scrub_bytes(bytes);
    let mut cuts = cuts.to_vec();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let (mut stream, mut said, mut from) = (scrubber.stream(), Vec::new(), 0);
    for cut in cuts {
        said.extend(stream.push(&bytes[from..cut]));
        assert!(stream.held_back() <= MAX_HELD_BACK, "{} bytes held back", stream.held_back());
        from = cut;
    }
    said.extend(stream.finish());
    assert_eq!(shown(&said), shown(&whole), "of {}", shown(bytes));
    assert_eq!(*stream.found(), found);
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
