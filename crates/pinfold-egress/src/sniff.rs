//! Protocol detection by the first bytes of a connection, and the host that they name.
//!
//! The bytes are read and not changed. The host that a client names has to be the host that it connected to: otherwise
//! an allowed name would lead to a denied one behind the same address (domain fronting).

use rustls::server::Acceptor;

use pinfold_host::Host;

/// The most bytes that are inspected: a `ClientHello` with large keys fits.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// The protocol of a connection, by the bytes so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sniffed {
    /// More bytes are needed.
    Incomplete,
    /// A TLS `ClientHello`, with its server name (SNI) if it has one.
    Tls(Option<Host>),
    /// Plain HTTP/1, which names a host in each request.
    Http,
    /// HTTP/2 without TLS, where each stream can name a host of its own.
    Http2,
    /// A first line of another protocol so far, which would be a lenient server's request if a version of HTTP followed.
    UnfinishedLine,
    /// Another protocol, which names no host.
    Other,
    /// A `ClientHello` or request that cannot be parsed, or that parsers may read differently.
    Malformed,
}

/// The content type of TLS handshake records. [RFC 8446 §5.1](https://www.rfc-editor.org/rfc/rfc8446#section-5.1)
pub(crate) const TLS_HANDSHAKE: u8 = 0x16;

/// Detects the protocol of the bytes that a client has sent to a port so far.
pub(crate) fn sniff(bytes: &[u8], port: u16) -> Sniffed {
    match bytes {
        [] => Sniffed::Incomplete,
        [TLS_HANDSHAKE, ..] => sniff_tls(bytes),
        _ => match disguised_hello(bytes) {
            Some(sniffed) => sniffed,
            None => sniff_plain(bytes, port),
        },
    }
}

/// Detects a `ClientHello` that servers accept although the connection does not begin with it: behind an alert or another
/// TLS record, or in the format of SSL 2 (RFC 5246, appendix E.2), which has no server name. `None` for other bytes.
fn disguised_hello(bytes: &[u8]) -> Option<Sniffed> {
    match bytes {
        // Change cipher spec, alert, application data or heartbeat of TLS; or the length of SSL 2 with the highest bit set, the
        // type, the version. 0xff, as Telnet begins, would be longer than a record.
        [0x14 | 0x15 | 0x17 | 0x18, 3, ..] | [0x80..=0xfe, _, 1, 3, ..] | [0x80..=0xfe, _, 1, 0, 2, ..] => {
            Some(Sniffed::Malformed)
        }
        [0x14 | 0x15 | 0x17 | 0x18 | 0x80..=0xfe]
        | [0x80..=0xfe, _]
        | [0x80..=0xfe, _, 1]
        | [0x80..=0xfe, _, 1, 0] => Some(Sniffed::Incomplete),
        _ => None,
    }
}

fn sniff_tls(bytes: &[u8]) -> Sniffed {
    let mut acceptor = Acceptor::default();
    let mut rest = bytes;
    // `read_tls` takes at most a record at a time.
    while !rest.is_empty() {
        match acceptor.read_tls(&mut rest) {
            Ok(0) => break,
            Ok(_) => {}
            Err(_) => return Sniffed::Malformed,
        }
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                let named = accepted.client_hello().server_name().map(str::to_owned);
                return match named.as_deref().map(Host::parse) {
                    None => Sniffed::Tls(None),
                    Some(Some(host)) => Sniffed::Tls(Some(host)),
                    Some(None) => Sniffed::Malformed,
                };
            }
            Ok(None) => {}
            Err(_) => return Sniffed::Malformed,
        }
    }
    if bytes.len() < MAX_BYTES { Sniffed::Incomplete } else { Sniffed::Malformed }
}

/// Detects the server name of a `ClientHello` message without its records.
pub(crate) fn sniff_hello(message: &[u8]) -> Sniffed {
    /// The longest content of a record. [RFC 8446 §5.1](https://www.rfc-editor.org/rfc/rfc8446#section-5.1)
    const MAX_CONTENT: usize = 1 << 14;
    let records = message.chunks(MAX_CONTENT).flat_map(|content| {
        let [.., high, low] = content.len().to_be_bytes();
        [&[TLS_HANDSHAKE, 3, 1, high, low], content].concat()
    });
    sniff_tls(&records.collect::<Vec<_>>())
}

/// The longest request method; `WebDAV` has some of fifteen letters.
const MAX_METHOD: usize = 32;

/// The connection preface of HTTP/2, which is no HTTP/1 request.
/// [RFC 9113 §3.4](https://www.rfc-editor.org/rfc/rfc9113#section-3.4)
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// Ports of HTTP, by registration or by custom. Bytes that are neither HTTP nor TLS are refused there.
/// [Service names](https://www.iana.org/assignments/service-names-port-numbers)
const HTTP_PORTS: [u16; 7] = [80, 591, 8000, 8008, 8080, 8081, 8888];

/// Detects HTTP. A request line begins with a method in capitals, a space and a target; another protocol that looks the
/// same is held to HTTP's rules. Text that a lenient server might take for a request, and a strict one not, is
/// malformed: the host that it names is not known for certain.
fn sniff_plain(bytes: &[u8], port: u16) -> Sniffed {
    if bytes.starts_with(PREFACE) {
        return Sniffed::Http2;
    }
    if PREFACE.starts_with(bytes) {
        return Sniffed::Incomplete;
    }
    if is_request(bytes) {
        return Sniffed::Http;
    }
    match sniff_lenient(bytes) {
        Sniffed::Other | Sniffed::UnfinishedLine if HTTP_PORTS.contains(&port) => Sniffed::Malformed,
        Sniffed::Incomplete | Sniffed::UnfinishedLine if bytes.len() >= MAX_BYTES => Sniffed::Malformed,
        first => first,
    }
}

/// Returns whether a text begins exactly as a request line does.
fn is_request(bytes: &[u8]) -> bool {
    let method = bytes.iter().take_while(|b| b.is_ascii_uppercase() || **b == b'-').count();
    match (method, bytes.get(method), bytes.get(method + 1)) {
        (1..MAX_METHOD, Some(b' '), Some(b'/' | b'*' | b'h' | b'H')) => true,
        // The target of CONNECT is a host.
        (_, Some(b' '), Some(_)) => bytes.starts_with(b"CONNECT "),
        _ => false,
    }
}

/// Registered methods. Some servers accept others. [Methods](https://www.iana.org/assignments/http-methods)
const METHODS: [&[u8]; 9] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH"];

/// Detects the protocol of a text that is not exactly a request line, as the most lenient server would read it: empty
/// lines and blanks before it, a method in any case, any blanks between words. It reads from left to right, so that
/// more bytes never change a result.
fn sniff_lenient(bytes: &[u8]) -> Sniffed {
    let skipped = bytes.iter().take_while(|b| is_blank(**b) || **b == b'\n').count();
    let line = bytes.get(skipped..).unwrap_or_default();
    let (method, rest) = line.split_at(line.iter().take_while(|b| is_token_char(**b)).count());
    // A word that is no method so far may be all that a client sends before it waits for an answer.
    let unfinished =
        if skipped == 0 && !may_be_method(method) { Sniffed::UnfinishedLine } else { Sniffed::Incomplete };
    match (method, rest.first()) {
        (_, None) => return unfinished,
        ([], Some(_)) => return Sniffed::Other,
        (_, Some(b)) if !is_blank(*b) => return Sniffed::Other,
        (_, Some(_)) => {}
    }
    let end = rest.iter().position(|b| b.is_ascii_control() && !is_blank(*b));
    let words = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let is_known = METHODS.iter().any(|known| known.eq_ignore_ascii_case(method));
    let is_target = matches!(words.trim_ascii_start().first(), Some(b'/' | b'*' | b'h' | b'H'));
    if (is_known && is_target)
        || words.windows(HTTP_VERSION.len()).any(|part| part.eq_ignore_ascii_case(HTTP_VERSION))
    {
        return Sniffed::Malformed;
    }
    match end.and_then(|end| rest.get(end)) {
        None => unfinished,
        Some(b'\n') => Sniffed::Other,
        Some(_) if is_known || skipped > 0 => Sniffed::Malformed,
        Some(_) => Sniffed::Other,
    }
}

/// Returns whether a word is a method or the beginning of one: a registered method in any case, another one in
/// capitals.
fn may_be_method(word: &[u8]) -> bool {
    let begins =
        |known: &&[u8]| known.get(..word.len()).is_some_and(|known| known.eq_ignore_ascii_case(word));
    METHODS.iter().any(begins) || !word.iter().any(u8::is_ascii_lowercase)
}

/// The version at the end of a request line.
const HTTP_VERSION: &[u8] = b"HTTP/";

/// Bytes that some servers accept as a space. [RFC 9112 §3](https://www.rfc-editor.org/rfc/rfc9112#section-3)
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0B | 0x0C)
}

/// Characters of a token, of which methods consist.
/// [RFC 9110 §5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)
fn is_token_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;
    use pinfold_host::Name;

    /// At a port without a registered protocol.
    fn sniffed(bytes: &[u8]) -> Sniffed {
        sniff(bytes, 4321)
    }

    pub(crate) fn client_hello(name: &str) -> Vec<u8> {
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    fn is_open(sniffed: &Sniffed) -> bool {
        matches!(sniffed, Sniffed::Incomplete | Sniffed::UnfinishedLine)
    }

    #[test]
    fn a_hello_names_its_server_once_it_is_whole() {
        let bytes = client_hello("GitHub.com");
        for cut in 1..bytes.len() {
            assert_eq!(sniffed(&bytes[..cut]), Sniffed::Incomplete, "{cut}");
        }
        let name = Name::parse("github.com").unwrap();
        assert_eq!(sniffed(&bytes), Sniffed::Tls(Some(Host::Name(name))));
        let more = [bytes.as_slice(), b"early data"].concat();
        assert!(matches!(sniffed(&more), Sniffed::Tls(Some(_))));
    }

    #[test]
    fn a_hello_to_an_address_names_nobody() {
        assert_eq!(sniffed(&client_hello("127.0.0.1")), Sniffed::Tls(None));
    }

    #[test]
    fn what_is_no_hello_is_told_apart() {
        for (bytes, expected) in [
            (&b""[..], Sniffed::Incomplete),
            (b"G", Sniffed::Incomplete),
            (b"GET", Sniffed::Incomplete),
            (b"GET ", Sniffed::Incomplete),
            (b"GET /", Sniffed::Http),
            (b"GET http://a/ HTTP/1.1\r\n", Sniffed::Http),
            (b"OPTIONS * HTTP/1.1\r\n", Sniffed::Http),
            (b"VERSION-CONTROL /", Sniffed::Http),
            (b"CONNECT a:443 HTTP/1.1", Sniffed::Http),
            (b"SSH-2.0-OpenSSH_9.2\r\n", Sniffed::Other),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Sniffed::Http2),
            (b"PRI * HTTP/2.0\r", Sniffed::Incomplete),
            (b"PRI * HTTP/1.1\r\n", Sniffed::Http),
            (b"PING\r\n", Sniffed::Other),
            (b"*1\r\n$4\r\nPING\r\n", Sniffed::Other),
            (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", Sniffed::Other),
            (b"get / HTTP/1.1", Sniffed::Malformed),
            (b"0032git-upload-pack /p.git\0host=a\0", Sniffed::Other),
            (b"AMQP\0\0\x09\x01", Sniffed::Other),
            (b"EHLO a.example\r\n", Sniffed::Other),
            (b"EHLO a.example", Sniffed::Incomplete),
            (b"get key\r\n", Sniffed::Other),
            (b"set key\r\n", Sniffed::Other),
            (b"\r\n", Sniffed::Incomplete),
            (b"\r\nPING\r\n", Sniffed::Other),
            (b"{\"a\":1}", Sniffed::Other),
            (b"GET ftp://a/ HTTP/1.1\r\n", Sniffed::Malformed),
            (b"\nfoo / http/1.1\r\n", Sniffed::Malformed),
            (b"FOO / http/1.1\r\n", Sniffed::Http),
            (b"FOO  / http/1.1\r\n", Sniffed::Malformed),
            (b"hello", Sniffed::UnfinishedLine),
            (b"hello\r\n", Sniffed::Other),
            (b"hello there", Sniffed::UnfinishedLine),
            (b"hello there\n", Sniffed::Other),
            (b"hello{", Sniffed::Other),
            (b"Foo /", Sniffed::UnfinishedLine),
            (b"Foo / HTTP/1.1\r\n", Sniffed::Malformed),
            (b"f!#$ a http/1.1\r\n", Sniffed::Malformed),
            (b"pos", Sniffed::Incomplete),
            (b"GET  /\r\n", Sniffed::Malformed),
            (b" GET /", Sniffed::Malformed),
            (b"GET\t/", Sniffed::Malformed),
            (b"\nGET a\0", Sniffed::Malformed),
            (b"\x16\x03\x01", Sniffed::Incomplete),
            (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", Sniffed::Malformed),
            (b"\x16garbage that is no record", Sniffed::Malformed),
            // A hello behind another record, and one in the format of SSL 2.
            (b"\x15", Sniffed::Incomplete),
            (b"\x15\x03\x01\0\x02\x01\x70\x16\x03\x01", Sniffed::Malformed),
            (b"\x14\x03\x03\0\x01\x01", Sniffed::Malformed),
            (b"\x17\x03\x03", Sniffed::Malformed),
            (b"\x18\x03\x03", Sniffed::Malformed),
            (b"\x15\x02\x01\0", Sniffed::Other),
            (b"\x80\x2e\x01", Sniffed::Incomplete),
            (b"\x80\x2e\x01\x03\x03", Sniffed::Malformed),
            (b"\x80\x2e\x01\0\x02", Sniffed::Malformed),
            (b"\x80\x2e\x02", Sniffed::Other),
            (b"\xff\xfd\x01\xff", Sniffed::Other),
        ] {
            assert_eq!(sniffed(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn where_http_is_spoken_nothing_else_is_passed() {
        for other in [&b"SSH-2.0-x\r\n"[..], b"\0\0", b"PING\r\n", b"{}"] {
            assert_eq!(sniffed(other), Sniffed::Other, "the control: {}", other.escape_ascii());
            for port in HTTP_PORTS {
                assert_eq!(sniff(other, port), Sniffed::Malformed, "{port}: {}", other.escape_ascii());
            }
        }
        assert_eq!(sniff(b"GET / HTTP/1.1\r\n", 80), Sniffed::Http, "the control");
    }

    proptest! {
        /// However a request line is spelled, and wherever it is split: it is a request that is judged, or malformed.
        #[test]
        fn no_writing_of_a_request_line_makes_it_something_else(
            before in "[ \t\r\n\x0B\x0C]{0,4}",
            method in "(GET|get|Post|PATCH|[A-Z]{1,40}|[a-z0-9!#$%&'*+.^_|~-]{1,40})",
            blank in "[ \t\r\x0B\x0C]{1,3}",
            target in "(/|\\*|\\?|x:|http://|evil|\"|\\\\)[a-z./:]{0,12}",
            version in "(HTTP|http|Http)/[0-9]\\.[0-9]",
            cut in any::<prop::sample::Index>(),
        ) {
            let line = format!("{before}{method}{blank}{target}{blank}{version}\r\nHost: evil\r\n\r\n");
            let whole = sniffed(line.as_bytes());
            prop_assert!(matches!(whole, Sniffed::Http | Sniffed::Http2 | Sniffed::Malformed), "{:?}: {:?}", line, whole);
            let piece = sniffed(&line.as_bytes()[..cut.index(line.len())]);
            prop_assert!(is_open(&piece) || piece == whole, "{:?}, then {:?}", piece, whole);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = sniffed(&bytes);
            let _ = sniffed(&[&[TLS_HANDSHAKE, 3, 1], bytes.as_slice()].concat());
        }

        /// A result for the beginning of a text holds for the whole text.
        #[test]
        fn more_bytes_take_nothing_back(
            name in "[a-z]{1,9}\\.[a-z]{1,9}",
            plain in prop::option::of("[ \n]?(GET|PRI|CONNECT|get|[A-Za-z-]{0,33})[ \0]{0,2}[/*h. a]{0,3}(HTTP/[12]\\.[01]\r\n)?"),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = plain.map_or_else(|| client_hello(&name), String::into_bytes);
            for (at, byte) in changes {
                if let Some(place) = bytes.len().checked_sub(1).map(|last| at.index(last + 1)) {
                    bytes[place] = byte;
                }
            }
            let (piece, whole) = (sniffed(&bytes[..cut.index(bytes.len() + 1)]), sniffed(&bytes));
            prop_assert!(is_open(&piece) || piece == whole, "{:?}, then {:?}", piece, whole);
            // What is relayed before it is decided is never taken for a request later.
            prop_assert!(piece != Sniffed::UnfinishedLine || whole != Sniffed::Http && whole != Sniffed::Incomplete);
        }
    }
}
