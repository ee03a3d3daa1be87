//! What the first bytes of a connection say: which protocol it is, and which host it means.
//!
//! The bytes are looked at and not changed. What a client says about the host has to be the host it connected to: a name
//! that is allowed is no way to one that is not, behind the same address.

use rustls::server::Acceptor;

use pinfold_host::Host;

/// The most bytes that are waited for before a connection has said what it is: a hello with large keys fits.
pub(crate) const MOST: usize = 64 * 1024;

/// What a connection has said so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// Not enough yet.
    More,
    /// A TLS hello, for this server if it names one.
    Tls(Option<Host>),
    /// A plain HTTP request; hosts are named in each of them.
    Http,
    /// HTTP/2 without TLS, in which each stream can name a host of its own.
    Http2,
    /// Something else, which names no host.
    Other,
    /// A TLS hello or request that cannot be understood.
    Broken,
}

/// The first byte of a TLS record with a handshake message.
/// [RFC 8446](https://www.rfc-editor.org/rfc/rfc8446#section-5.1)
const HANDSHAKE: u8 = 0x16;

/// Reads the bytes that a client has sent so far to a port.
pub(crate) fn read(bytes: &[u8], port: u16) -> First {
    match bytes {
        [] => First::More,
        [HANDSHAKE, ..] => hello(bytes),
        _ => plain(bytes, port),
    }
}

fn hello(bytes: &[u8]) -> First {
    let mut acceptor = Acceptor::default();
    let mut rest = bytes;
    // Reading takes a record's worth at a time.
    while !rest.is_empty() {
        match acceptor.read_tls(&mut rest) {
            Ok(0) => break,
            Ok(_) => {}
            Err(_) => return First::Broken,
        }
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                let named = accepted.client_hello().server_name().map(str::to_owned);
                return match named.as_deref().map(Host::parse) {
                    None => First::Tls(None),
                    Some(Some(host)) => First::Tls(Some(host)),
                    Some(None) => First::Broken,
                };
            }
            Ok(None) => {}
            Err(_) => return First::Broken,
        }
    }
    if bytes.len() < MOST { First::More } else { First::Broken }
}

/// The longest method that is taken for one; `WebDAV` has some of fifteen letters.
const LONGEST_METHOD: usize = 32;

/// What HTTP/2 begins with, and no method of HTTP/1 does.
/// [RFC 9113](https://www.rfc-editor.org/rfc/rfc9113#section-3.4)
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// Ports where HTTP is spoken, by registration or by custom: bytes that are neither it nor TLS are not passed there.
/// [Service names](https://www.iana.org/assignments/service-names-port-numbers)
const OF_HTTP: [u16; 7] = [80, 591, 8000, 8008, 8080, 8081, 8888];

/// A request begins with a word of capitals, a blank and a target. Nothing else that is in use does, but a protocol that
/// is shaped like HTTP, which is then held to its rules. What a server could take for a request although it is written
/// otherwise is none of it: it cannot be seen which host it names.
fn plain(bytes: &[u8], port: u16) -> First {
    if bytes.starts_with(PREFACE) {
        return First::Http2;
    }
    if PREFACE.starts_with(bytes) {
        return First::More;
    }
    if is_request(bytes) {
        return First::Http;
    }
    match loose(bytes) {
        First::Other if OF_HTTP.contains(&port) => First::Broken,
        First::More if bytes.len() >= MOST => First::Broken,
        first => first,
    }
}

/// Whether a text begins exactly as a request does.
fn is_request(bytes: &[u8]) -> bool {
    let method = bytes.iter().take_while(|b| b.is_ascii_uppercase() || **b == b'-').count();
    match (method, bytes.get(method), bytes.get(method + 1)) {
        (1..LONGEST_METHOD, Some(b' '), Some(b'/' | b'*' | b'h' | b'H')) => true,
        // The target of CONNECT is a host.
        (_, Some(b' '), Some(_)) => bytes.starts_with(b"CONNECT "),
        _ => false,
    }
}

/// Methods that servers know. Others are requests for some of them.
/// [Methods](https://www.iana.org/assignments/http-methods)
const METHODS: [&[u8]; 9] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH"];

/// What a text is that does not begin as a request does, read as the most lenient server would: empty lines and blanks
/// before it, a method in any case, any blanks between words. Decided from left to right, so that more bytes take nothing
/// back.
fn loose(bytes: &[u8]) -> First {
    let begun = bytes.iter().take_while(|b| is_blank(**b) || **b == b'\n').count();
    let line = bytes.get(begun..).unwrap_or_default();
    let (method, rest) = line.split_at(line.iter().take_while(|b| is_of_token(**b)).count());
    if begun == 0 && !could_be_method(method) {
        return First::Other;
    }
    match (method, rest.first()) {
        (_, None) => return First::More,
        ([], Some(_)) => return First::Other,
        (_, Some(b)) if !is_blank(*b) => return First::Other,
        (_, Some(_)) => {}
    }
    let end = rest.iter().position(|b| b.is_ascii_control() && !is_blank(*b));
    let words = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let is_known = METHODS.iter().any(|known| known.eq_ignore_ascii_case(method));
    let is_target = matches!(words.trim_ascii_start().first(), Some(b'/' | b'*' | b'h' | b'H'));
    if (is_known && is_target) || words.windows(VERSION.len()).any(|part| part.eq_ignore_ascii_case(VERSION))
    {
        return First::Broken;
    }
    match end.and_then(|end| rest.get(end)) {
        None => First::More,
        Some(b'\n') => First::Other,
        Some(_) if is_known || begun > 0 => First::Broken,
        Some(_) => First::Other,
    }
}

/// Whether a word is a method or the beginning of one: of those that servers know in any case, of others in capitals. Any other
/// word can be all that a client of another protocol says before it is answered.
fn could_be_method(word: &[u8]) -> bool {
    let begins =
        |known: &&[u8]| known.get(..word.len()).is_some_and(|known| known.eq_ignore_ascii_case(word));
    METHODS.iter().any(begins) || !word.iter().any(u8::is_ascii_lowercase)
}

/// What stands at the end of a request line.
const VERSION: &[u8] = b"HTTP/";

/// What some server takes for a blank.
/// [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112#section-3)
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0B | 0x0C)
}

/// What a method can consist of.
/// [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;
    use pinfold_host::Name;

    /// On a port of which nothing is known.
    fn at(bytes: &[u8]) -> First {
        read(bytes, 4321)
    }

    fn client_hello(name: &str) -> Vec<u8> {
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

    #[test]
    fn a_hello_names_its_server_once_it_is_whole() {
        let bytes = client_hello("GitHub.com");
        for cut in 1..bytes.len() {
            assert_eq!(at(&bytes[..cut]), First::More, "{cut}");
        }
        let name = Name::parse("github.com").unwrap();
        assert_eq!(at(&bytes), First::Tls(Some(Host::Name(name))));
        let more = [bytes.as_slice(), b"early data"].concat();
        assert!(matches!(at(&more), First::Tls(Some(_))));
    }

    #[test]
    fn a_hello_to_an_address_names_nobody() {
        assert_eq!(at(&client_hello("127.0.0.1")), First::Tls(None));
    }

    #[test]
    fn what_is_no_hello_is_told_apart() {
        for (bytes, expected) in [
            (&b""[..], First::More),
            (b"G", First::More),
            (b"GET", First::More),
            (b"GET ", First::More),
            (b"GET /", First::Http),
            (b"GET http://a/ HTTP/1.1\r\n", First::Http),
            (b"OPTIONS * HTTP/1.1\r\n", First::Http),
            (b"VERSION-CONTROL /", First::Http),
            (b"CONNECT a:443 HTTP/1.1", First::Http),
            (b"SSH-2.0-OpenSSH_9.2\r\n", First::Other),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", First::Http2),
            (b"PRI * HTTP/2.0\r", First::More),
            (b"PRI * HTTP/1.1\r\n", First::Http),
            (b"PING\r\n", First::Other),
            (b"*1\r\n$4\r\nPING\r\n", First::Other),
            (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", First::Other),
            (b"get / HTTP/1.1", First::Broken),
            (b"0032git-upload-pack /p.git\0host=a\0", First::Other),
            (b"AMQP\0\0\x09\x01", First::Other),
            (b"EHLO a.example\r\n", First::Other),
            (b"EHLO a.example", First::More),
            (b"get key\r\n", First::Other),
            (b"set key\r\n", First::Other),
            (b"\r\n", First::More),
            (b"\r\nPING\r\n", First::Other),
            (b"{\"a\":1}", First::Other),
            (b"GET ftp://a/ HTTP/1.1\r\n", First::Broken),
            (b"\nfoo / http/1.1\r\n", First::Broken),
            (b"FOO / http/1.1\r\n", First::Http),
            (b"FOO  / http/1.1\r\n", First::Broken),
            (b"hello", First::Other),
            (b"pos", First::More),
            (b"GET  /\r\n", First::Broken),
            (b" GET /", First::Broken),
            (b"GET\t/", First::Broken),
            (b"\nGET a\0", First::Broken),
            (b"\x16\x03\x01", First::More),
            (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", First::Broken),
            (b"\x16garbage that is no record", First::Broken),
        ] {
            assert_eq!(at(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn where_http_is_spoken_nothing_else_is_passed() {
        for other in [&b"SSH-2.0-x\r\n"[..], b"\0\0", b"PING\r\n", b"{}"] {
            assert_eq!(at(other), First::Other, "the control: {}", other.escape_ascii());
            for port in OF_HTTP {
                assert_eq!(read(other, port), First::Broken, "{port}: {}", other.escape_ascii());
            }
        }
        assert_eq!(read(b"GET / HTTP/1.1\r\n", 80), First::Http, "the control");
    }

    proptest! {
        /// However a request line is written, and wherever it is cut: it is a request of which each is judged, or nothing.
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
            // A method of its own in small letters is none of HTTP's; where HTTP is spoken it is not passed either.
            let is_own = before.is_empty() && !could_be_method(method.as_bytes());
            let port = if is_own { 8080 } else { 4321 };
            let whole = read(line.as_bytes(), port);
            prop_assert!(matches!(whole, First::Http | First::Http2 | First::Broken), "{:?}: {:?}", line, whole);
            let piece = read(&line.as_bytes()[..cut.index(line.len())], port);
            prop_assert!(piece == First::More || piece == whole, "{:?}, then {:?}", piece, whole);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = at(&bytes);
            let _ = at(&[&[HANDSHAKE, 3, 1], bytes.as_slice()].concat());
        }

        /// Bytes come in pieces: what is said of a piece is not taken back when more has come.
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
            let (piece, whole) = (at(&bytes[..cut.index(bytes.len() + 1)]), at(&bytes));
            prop_assert!(piece == First::More || piece == whole, "{:?}, then {:?}", piece, whole);
        }
    }
}
