//! Server-sent events, as far as providers use them: what stands behind `data:`, line by line.
//!
//! Follows [the standard](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream): an event
//! ends with an empty line, several lines of data are joined, other fields and comments are passed over.

use std::io::{self, BufRead, Read as _};

/// The longest line: more than any event of a provider.
const LONGEST: u64 = 16 << 20;

/// The data of the next event; `None` at the end of the stream.
pub(crate) fn next(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut data: Option<String> = None;
    loop {
        let mut line = Vec::new();
        let read = stream.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        if read == 0 {
            // What has no end was cut off.
            return Ok(None);
        }
        if !line.ends_with(b"\n") && read as u64 == LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an event is too long"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\n', '\r']);
        match (line.strip_prefix("data:"), line.is_empty()) {
            (Some(more), _) => {
                let more = more.strip_prefix(' ').unwrap_or(more);
                match &mut data {
                    None => data = Some(more.to_owned()),
                    Some(data) if (data.len() as u64) < LONGEST => {
                        data.push('\n');
                        data.push_str(more);
                    }
                    Some(_) => {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, "an event is too long"));
                    }
                }
            }
            (None, true) => {
                if let Some(data) = data.take() {
                    return Ok(Some(data));
                }
            }
            (None, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_one_by_one() {
        for (stream, events) in [
            ("data: a\n\ndata:b\r\n\r\n", &["a", "b"][..]),
            ("event: x\ndata: a\ndata: b\nid: 1\n\n", &["a\nb"]),
            (": comment\n\n\n\ndata: a\n\n", &["a"]),
            ("data: cut off", &[]),
            ("data: cut off\n", &[]),
            ("", &[]),
        ] {
            let mut reader = stream.as_bytes();
            let mut found = Vec::new();
            while let Some(event) = next(&mut reader).unwrap_or_default() {
                found.push(event);
            }
            assert_eq!(found, events, "{stream:?}");
        }
    }
}
