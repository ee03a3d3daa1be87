//! TLS whose server asks for a second `ClientHello`.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use pinfold_egress::{EgressViolation, RelayLimits};
use pinfold_host::Host;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::kx_group::{SECP384R1, X25519};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::kit::{OpenPolicy, Relayed};

/// A server that takes another group than clients try first: it answers with a `HelloRetryRequest`.
static SERVER: LazyLock<(Arc<ServerConfig>, CertificateDer<'static>)> = LazyLock::new(|| {
    let signed = rcgen::generate_simple_self_signed(["a.test".to_owned(), "b.test".to_owned()]).unwrap();
    let certificate = CertificateDer::from(signed.cert.der().to_vec());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    let provider = CryptoProvider { kx_groups: vec![SECP384R1], ..rustls::crypto::ring::default_provider() };
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (Arc::new(config), certificate)
});

/// Answers a word with the server name of the handshake.
fn serve(stream: TcpStream) {
    let connection = ServerConnection::new(Arc::clone(&SERVER.0)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    if stream.read_exact(&mut [0; 4]).is_ok() {
        let name = stream.conn.server_name().unwrap_or("nobody").to_owned();
        let _ = stream.write_all(name.as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    }
}

fn client(name: &str) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(SERVER.1.clone()).unwrap();
    let provider =
        CryptoProvider { kx_groups: vec![X25519, SECP384R1], ..rustls::crypto::ring::default_provider() };
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), ServerName::try_from(name.to_owned()).unwrap()).unwrap()
}

fn bed() -> Relayed {
    let limits = RelayLimits { connections: 8, idle: Duration::from_secs(10), hello: Duration::from_secs(5) };
    Relayed::start(OpenPolicy::default(), limits, serve)
}

#[test]
fn a_handshake_with_a_second_hello_works() {
    let bed = bed();
    let mut stream = StreamOwned::new(client("a.test"), bed.tunnel());
    stream.write_all(b"name").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert_eq!(said, "a.test");
    assert!(bed.policy.violations.lock().unwrap().is_empty());
}

#[test]
fn a_second_hello_that_names_another_host_is_refused() {
    let bed = bed();
    for second in ["b.test", "a.test"] {
        let (mut client, mut stream) = (client("a.test"), bed.tunnel());
        client.write_tls(&mut stream).unwrap();
        // The first answer is taken in whole: the HelloRetryRequest, and a change_cipher_spec behind it.
        while client.is_handshaking() && !client.wants_write() {
            client.read_tls(&mut stream).unwrap();
            client.process_new_packets().unwrap();
        }
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        let at = hello.windows(6).position(|part| part == b"a.test").unwrap();
        hello.splice(at..at + 6, second.bytes());
        stream.write_all(&hello).unwrap();
        let mut answer = Vec::new();
        stream.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let _ = stream.read_to_end(&mut answer);
        let refused = std::mem::take(&mut *bed.policy.violations.lock().unwrap());
        let other = EgressViolation::ServerName(Host::parse("b.test"));
        // The control: the same bytes with the first name are answered, though the transcript is another one.
        assert_eq!(refused, if second == "b.test" { vec![other] } else { Vec::new() }, "{second}");
    }
}
