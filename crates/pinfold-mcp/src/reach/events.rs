//! A stream of events, cut into messages.
//! [Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)

/// Cuts what comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last number that the server gave, by which it knows where to go on.
    pub(super) last: Option<String>,
}

/// More has come in one event than a message may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Begins anew where these broke off.
    pub(super) fn goes_on(self) -> Self {
        Self { last: self.last, ..Self::default() }
    }

    /// Bytes that wait for the rest of their message.
    pub(super) fn len(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Takes what has come, and gives the messages that are whole, each on one line.
    pub(super) fn take(&mut self, piece: &[u8], most: usize) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut whole = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.len() > most {
                return Err(TooLong);
            }
            if self.line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                whole.extend(self.heard(line.trim_ascii_end()));
            }
        }
        Ok(whole)
    }

    fn heard(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            // One without data only says where to go on.
            return std::mem::take(&mut self.has_data).then_some(data).filter(|data| !data.is_empty());
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    // A line feed can stand between parts of JSON alone, where a blank means the same.
                    self.data.push(b' ');
                }
                self.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.last = String::from_utf8(value.to_vec()).ok(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_messages_however_they_are_cut() {
        let stream =
            b": hello\r\n\r\nevent: message\r\nid: 7/1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nid:8\ndata:\n\n\
                       retry: 3000\n\ndata:{\"b\":2}\n\ndata: {\"never\":";
        for size in [1, 2, 3, 7, 64, 1000] {
            let mut events = Events::default();
            let all: Vec<_> =
                stream.chunks(size).flat_map(|piece| events.take(piece, 100).unwrap()).collect();
            assert_eq!(all, [b"{\"a\": 1}".to_vec(), b"{\"b\":2}".to_vec()], "{size}");
            assert_eq!(events.last.as_deref(), Some("8"));
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut events = Events::default();
        assert_eq!(events.take(&[b'x'; 101], 100), Err(TooLong));
        let mut events = Events::default();
        let many = b"data: 0123456789\n".repeat(20);
        assert_eq!(events.take(&many, 100), Err(TooLong));
    }
}
