//! The beginning of a TLS handshake, under inspection until no further `ClientHello` can come in plaintext.
//!
//! A server may answer a `ClientHello` with a `HelloRetryRequest`. The client then sends a second one, in plaintext, and
//! servers serve the host that the second one names.
//! [RFC 8446 §4.1.4](https://www.rfc-editor.org/rfc/rfc8446#section-4.1.4)

use pinfold_host::Host;

use crate::policy::EgressViolation;
use crate::server_name;
use crate::sniff::{self, Sniffed};

/// The first messages of a TLS connection whose first `ClientHello` names the right host.
#[derive(Debug)]
pub(crate) struct TlsHandshake {
    host: Host,
    phase: Phase,
    client: RecordReader,
    server: RecordReader,
    /// The handshake messages of the side whose turn it is, so far.
    messages: Vec<u8>,
    /// Records with a part of the second `ClientHello`, which are held until all of it was judged.
    held: Vec<u8>,
}

/// The message that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    FirstHello,
    ServerAnswer,
    SecondHello,
    /// The server has accepted a `ClientHello` that was judged.
    Accepted,
}

/// The server's random in a `HelloRetryRequest`, which has the form of a `ServerHello` otherwise.
/// [RFC 8446 §4.1.3](https://www.rfc-editor.org/rfc/rfc8446#section-4.1.3)
const RETRY_RANDOM: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2,
    0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];

/// The type of a `ServerHello`, and the length of one up to its random: type, length, version.
const SERVER_HELLO: u8 = 2;
const BEFORE_RANDOM: usize = 1 + 3 + 2;
const TO_RANDOM: usize = BEFORE_RANDOM + RETRY_RANDOM.len();

impl TlsHandshake {
    /// A connection to `host`, from its first byte on.
    pub(crate) fn new(host: Host) -> Self {
        Self {
            host,
            phase: Phase::FirstHello,
            client: RecordReader::default(),
            server: RecordReader::default(),
            messages: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Returns whether no further `ClientHello` is served.
    pub(crate) fn is_accepted(&self) -> bool {
        self.phase == Phase::Accepted
    }

    /// Inspects bytes of the client. Returns those that may be relayed now.
    pub(crate) fn inspect_client(&mut self, bytes: &[u8]) -> Result<Vec<u8>, EgressViolation> {
        let messages = self.client.read(bytes).map_err(|NoRecord| EgressViolation::Malformed)?;
        match self.phase {
            Phase::Accepted => return Ok(bytes.to_vec()),
            // No client sends a handshake message before it has an answer.
            Phase::ServerAnswer if messages.is_empty() => return Ok(bytes.to_vec()),
            Phase::ServerAnswer => return Err(EgressViolation::Malformed),
            Phase::FirstHello | Phase::SecondHello => self.messages.extend(messages),
        }
        self.held.extend(bytes);
        match message_len(&self.messages) {
            Some(len) if len < self.messages.len() => return Err(EgressViolation::Malformed),
            Some(len) if len == self.messages.len() => {}
            Some(_) | None if self.held.len() > sniff::MAX_BYTES => return Err(EgressViolation::Malformed),
            Some(_) | None => return Ok(Vec::new()),
        }
        self.judge_hello()?;
        self.phase = if self.phase == Phase::FirstHello { Phase::ServerAnswer } else { Phase::Accepted };
        Ok(std::mem::take(&mut self.held))
    }

    /// Inspects bytes of the server, which are relayed in any case. Where they are no TLS, no further handshake message is.
    pub(crate) fn inspect_server(&mut self, bytes: &[u8]) {
        let Ok(messages) = self.server.read(bytes) else { return };
        if self.phase != Phase::ServerAnswer {
            return;
        }
        // Of what begins with another message nothing more is kept.
        self.messages.extend(messages.into_iter().take(TO_RANDOM.saturating_sub(self.messages.len())));
        let random = self.messages.get(BEFORE_RANDOM..TO_RANDOM);
        if let (Some(&SERVER_HELLO), Some(random)) = (self.messages.first(), random) {
            self.phase = if random == RETRY_RANDOM { Phase::SecondHello } else { Phase::Accepted };
            self.messages.clear();
        }
    }

    /// Compares the host that a whole `ClientHello` names.
    fn judge_hello(&mut self) -> Result<(), EgressViolation> {
        let message = std::mem::take(&mut self.messages);
        match sniff::sniff_hello(&message) {
            Sniffed::Tls(name) => server_name::violation(name, &self.host).map_or(Ok(()), Err),
            _ => Err(EgressViolation::Malformed),
        }
    }
}

/// The length of the first handshake message, its header included.
fn message_len(messages: &[u8]) -> Option<usize> {
    let [_, high, middle, low, ..] = *messages else { return None };
    Some(4 + (usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low)))
}

/// Bytes that are no TLS record.
#[derive(Debug)]
struct NoRecord;

/// Reads the handshake messages in TLS records, which come in pieces.
/// [RFC 8446 §5.1](https://www.rfc-editor.org/rfc/rfc8446#section-5.1)
#[derive(Debug, Default)]
struct RecordReader {
    header: Vec<u8>,
    /// Bytes of the current record that are still to come.
    left: usize,
    is_broken: bool,
}

impl RecordReader {
    const HEADER_LEN: usize = 5;

    /// Returns the handshake messages in these bytes. Bytes that are no record stay an error.
    fn read(&mut self, mut bytes: &[u8]) -> Result<Vec<u8>, NoRecord> {
        let mut messages = Vec::new();
        while let Some((first, behind)) = bytes.split_first() {
            if self.is_broken {
                return Err(NoRecord);
            }
            if self.left > 0 {
                let (content, rest) = bytes.split_at(self.left.min(bytes.len()));
                if self.header.first() == Some(&sniff::TLS_HANDSHAKE) {
                    messages.extend(content);
                }
                self.left -= content.len();
                bytes = rest;
                continue;
            }
            if self.header.len() == Self::HEADER_LEN {
                self.header.clear();
            }
            self.header.push(*first);
            self.is_broken = !matches!(*self.header, [0x14..=0x18] | [0x14..=0x18, 3, ..]);
            if let [_, _, _, high, low] = *self.header {
                self.left = usize::from(u16::from_be_bytes([high, low]));
            }
            bytes = behind;
        }
        if self.is_broken { Err(NoRecord) } else { Ok(messages) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sniff::tests::client_hello;

    fn host() -> Host {
        Host::parse("a.test").unwrap()
    }

    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        let len = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[kind, 3, 3], &len[..], content].concat()
    }

    fn server_hello(random: &[u8; 32]) -> Vec<u8> {
        record(0x16, &[&[2, 0, 0, 38, 3, 3][..], random, &[0; 4]].concat())
    }

    /// A handshake whose first hello was relayed.
    fn begun() -> TlsHandshake {
        let mut handshake = TlsHandshake::new(host());
        let hello = client_hello("a.test");
        assert_eq!(handshake.inspect_client(&hello), Ok(hello));
        handshake
    }

    fn retried() -> TlsHandshake {
        let mut handshake = begun();
        handshake.inspect_server(&server_hello(&RETRY_RANDOM));
        assert!(!handshake.is_accepted());
        handshake
    }

    #[test]
    fn after_the_answer_of_the_server_nothing_is_inspected() {
        for cut in 0..45 {
            let mut handshake = begun();
            let answer = [record(0x15, &[1, 0x70]), server_hello(&[7; 32])].concat();
            handshake.inspect_server(&answer[..cut]);
            assert!(!handshake.is_accepted(), "{cut}");
            handshake.inspect_server(&answer[cut..]);
            assert!(handshake.is_accepted(), "{cut}");
            assert_eq!(handshake.inspect_client(b"\x17\x03\x03\0\x01x"), Ok(b"\x17\x03\x03\0\x01x".to_vec()));
        }
    }

    #[test]
    fn a_second_hello_is_held_until_it_was_judged() {
        let hello = [record(0x14, &[1]), client_hello("a.test")].concat();
        for cut in 0..hello.len() {
            let mut handshake = retried();
            assert_eq!(handshake.inspect_client(&hello[..cut]), Ok(Vec::new()), "{cut}");
            assert_eq!(handshake.inspect_client(&hello[cut..]), Ok(hello.clone()), "{cut}");
            assert!(handshake.is_accepted());
        }
        let other = Some(Host::parse("b.test").unwrap());
        let violation = Err(EgressViolation::ServerName(other));
        assert_eq!(retried().inspect_client(&client_hello("b.test")), violation);
        let none = Err(EgressViolation::ServerName(None));
        assert_eq!(retried().inspect_client(&client_hello("127.0.0.1")), none);
    }

    #[test]
    fn a_second_hello_before_the_answer_is_refused() {
        let hello = client_hello("a.test");
        let malformed = Err(EgressViolation::Malformed);
        assert_eq!(begun().inspect_client(&hello), malformed);
        assert_eq!(TlsHandshake::new(host()).inspect_client(&hello.repeat(2)), malformed);
        // Both in one record.
        let both = record(0x16, &hello[5..].repeat(2));
        assert_eq!(TlsHandshake::new(host()).inspect_client(&both), malformed);
        // The control: data that a client sends before the answer (0-RTT), and an alert.
        for early in [record(0x14, &[1]), record(0x17, b"early"), record(0x15, &[2, 0])] {
            assert_eq!(begun().inspect_client(&early), Ok(early));
        }
    }

    #[test]
    fn what_is_no_tls_decides_nothing() {
        let mut handshake = begun();
        handshake.inspect_server(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        handshake.inspect_server(&server_hello(&[7; 32]));
        assert!(!handshake.is_accepted());
        assert_eq!(handshake.inspect_client(b"GET / HTTP/1.1\r\n"), Err(EgressViolation::Malformed));
    }
}
