//! Server-sent events, parsed incrementally and within a byte limit.
//! [HTML Standard, 9.2.6](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)
//!
//! Own code, since the parsers that exist as crates buffer an event without a limit, and a server must not decide how much
//! memory a client uses. A lone carriage return ends no line here: no server writes one.

use std::collections::VecDeque;
use std::io::{self, BufRead};

/// The data of one event, its lines joined by a line feed.
pub type Event = Vec<u8>;

/// Cuts a stream of bytes into events, however the bytes are split into pieces.
#[derive(Debug, Default)]
pub struct EventParser {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    last_id: Option<String>,
}

/// An event that exceeds the byte limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLong;

impl EventParser {
    /// Starts over on a new connection, with the identifier to resume from kept.
    #[must_use]
    pub fn reconnected(self) -> Self {
        Self { last_id: self.last_id, ..Self::default() }
    }

    /// The last event identifier, for the `Last-Event-ID` header of a reconnection.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The number of bytes that are buffered until their event is complete.
    pub fn buffered(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Parses the next piece of the stream, and returns the events that it completes. Events without data are left out: they
    /// only move the last event identifier.
    ///
    /// # Errors
    /// When an event has more than `limit` bytes.
    pub fn feed(&mut self, piece: &[u8], limit: usize) -> Result<Vec<Event>, EventTooLong> {
        let mut events = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.buffered() > limit {
                return Err(EventTooLong);
            }
            if self.line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let line = line.strip_suffix(b"\n").unwrap_or(&line);
                events.extend(self.end_line(line.strip_suffix(b"\r").unwrap_or(line)));
            }
        }
        Ok(events)
    }

    fn end_line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(data).filter(|data| !data.is_empty());
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.last_id = String::from_utf8(value.to_vec()).ok(),
            _ => {}
        }
        None
    }
}

/// Events of a stream that is read by blocking.
#[derive(Debug)]
pub struct EventReader<R> {
    stream: R,
    parser: EventParser,
    ready: VecDeque<Event>,
    limit: usize,
}

impl<R: BufRead> EventReader<R> {
    /// Reads events of at most `limit` bytes from `stream`.
    pub fn new(stream: R, limit: usize) -> Self {
        Self { stream, parser: EventParser::default(), ready: VecDeque::new(), limit }
    }

    /// Reads the next event; `None` at the end of the stream. An event that the end cuts off is dropped.
    ///
    /// # Errors
    /// When the stream fails, or an event exceeds the limit ([`io::ErrorKind::InvalidData`]).
    pub fn next_event(&mut self) -> io::Result<Option<Event>> {
        while self.ready.is_empty() {
            let piece = match self.stream.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                piece => piece?,
            };
            if piece.is_empty() {
                return Ok(None);
            }
            let events = self.parser.feed(piece, self.limit);
            let len = piece.len();
            self.stream.consume(len);
            let too_long = |_| io::Error::new(io::ErrorKind::InvalidData, "an event is too long");
            self.ready.extend(events.map_err(too_long)?);
        }
        Ok(self.ready.pop_front())
    }

    /// The stream, without the events that were read from it and not returned yet.
    pub fn into_inner(self) -> R {
        self.stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        let stream =
            b": hello\r\n\r\nevent: message\r\nid: 7/1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nid:8\ndata:\n\n\
                       retry: 3000\n\ndata:{\"b\":2}\n\ndata: {\"never\":";
        for size in [1, 2, 3, 7, 64, 1000] {
            let mut parser = EventParser::default();
            let all: Vec<_> =
                stream.chunks(size).flat_map(|piece| parser.feed(piece, 100).unwrap()).collect();
            assert_eq!(all, [b"{\"a\":\n1}".to_vec(), b"{\"b\":2}".to_vec()], "{size}");
            assert_eq!(parser.last_id(), Some("8"));
            assert_eq!(parser.reconnected().last_id(), Some("8"));
        }
    }

    #[test]
    fn an_event_without_an_end_is_an_error() {
        let mut parser = EventParser::default();
        assert_eq!(parser.feed(&[b'x'; 101], 100), Err(EventTooLong));
        let mut parser = EventParser::default();
        let many = b"data: 0123456789\n".repeat(20);
        assert_eq!(parser.feed(&many, 100), Err(EventTooLong));
    }

    #[test]
    fn a_reader_returns_events_one_by_one() {
        for (stream, events) in [
            ("data: a\n\ndata:b\r\n\r\n", &["a", "b"][..]),
            ("event: x\ndata: a\ndata: b\nid: 1\n\n", &["a\nb"]),
            (": comment\n\n\n\ndata: a\n\n", &["a"]),
            ("data\n\ndata: a\n\n", &["a"]),
            ("data: cut off", &[]),
            ("data: cut off\n", &[]),
            ("", &[]),
        ] {
            let mut reader = EventReader::new(stream.as_bytes(), 100);
            let mut found = Vec::new();
            while let Some(event) = reader.next_event().unwrap() {
                found.push(String::from_utf8(event).unwrap());
            }
            assert_eq!(found, events, "{stream:?}");
        }
        let error = EventReader::new(&b"data: 0123456789"[..], 9).next_event().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
