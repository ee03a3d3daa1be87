//! What the first bytes of a connection say: which protocol it is, and which host it means.
//!
//! The bytes are looked at and not changed. What a client says about the host has to be the host it connected to: a name
//! that is allowed is no way to one that is not, behind the same address.

use rustls::server::Acceptor;

use pinfold_policy::host::Host;

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

/// Reads the bytes that a client has sent so far.
pub(crate) fn read(bytes: &[u8]) -> First {
    match bytes {
        [] => First::More,
        [HANDSHAKE, ..] => hello(bytes),
        _ => plain(bytes),
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

/// A request begins with a word of capitals, a blank and a target. Nothing else that is in use does, but a protocol that
/// is shaped like HTTP, which is then held to its rules.
fn plain(bytes: &[u8]) -> First {
    if bytes.starts_with(PREFACE) {
        return First::Http2;
    }
    if PREFACE.starts_with(bytes) {
        return First::More;
    }
    let method = bytes.iter().take_while(|b| b.is_ascii_uppercase() || **b == b'-').count();
    match (method, bytes.get(method), bytes.get(method + 1)) {
        (0 | LONGEST_METHOD.., ..) => First::Other,
        (_, None, _) | (_, Some(b' '), None) => First::More,
        (_, Some(b' '), Some(b'/' | b'*' | b'h' | b'H')) => First::Http,
        // The target of CONNECT is a host.
        (_, Some(b' '), Some(_)) if bytes.starts_with(b"CONNECT ") => First::Http,
        _ => First::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;
    use pinfold_policy::host::Name;

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
            assert_eq!(read(&bytes[..cut]), First::More, "{cut}");
        }
        let name = Name::parse("github.com").unwrap();
        assert_eq!(read(&bytes), First::Tls(Some(Host::Name(name))));
        let more = [bytes.as_slice(), b"early data"].concat();
        assert!(matches!(read(&more), First::Tls(Some(_))));
    }

    #[test]
    fn a_hello_to_an_address_names_nobody() {
        assert_eq!(read(&client_hello("127.0.0.1")), First::Tls(None));
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
            (b"get / HTTP/1.1", First::Other),
            (b"\x16\x03\x01", First::More),
            (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", First::Broken),
            (b"\x16garbage that is no record", First::Broken),
        ] {
            assert_eq!(read(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = read(&bytes);
            let _ = read(&[&[HANDSHAKE, 3, 1], bytes.as_slice()].concat());
        }

        /// Bytes come in pieces: what is said of a piece is not taken back when more has come.
        #[test]
        fn more_bytes_take_nothing_back(
            name in "[a-z]{1,9}\\.[a-z]{1,9}",
            plain in prop::option::of("(GET|PRI|CONNECT|[A-Z-]{0,33})[ ]?[/*h. a]{0,3}(HTTP/[12]\\.[01]\r\n)?"),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = plain.map_or_else(|| client_hello(&name), String::into_bytes);
            for (at, byte) in changes {
                if let Some(place) = bytes.len().checked_sub(1).map(|last| at.index(last + 1)) {
                    bytes[place] = byte;
                }
            }
            let (piece, whole) = (read(&bytes[..cut.index(bytes.len() + 1)]), read(&bytes));
            prop_assert!(piece == First::More || piece == whole, "{:?}, then {:?}", piece, whole);
        }
    }
}
