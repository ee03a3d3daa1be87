//! Many requests to one host: who is spoken to, and over what.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hyper::body::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use pinfold_egress::{AddressPolicy, AddressRule, EgressViolation, FetchError, OriginClient};
use pinfold_host::{Name, WebUrl};
use pinfold_testkit::TempTree;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// This machine under a name, named by a rule or not.
#[derive(Debug)]
struct Here {
    named: bool,
}

impl AddressPolicy for Here {
    fn address_rule(&self, _: IpAddr, _: u16) -> AddressRule {
        if self.named { AddressRule::Allowed } else { AddressRule::Unlisted }
    }

    fn pinned_addresses(&self, _: &Name) -> Option<Vec<IpAddr>> {
        Some(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
    }
}

/// A server within TLS that answers requests without a body, the second one on a connection by hanging up where `once`.
struct Server {
    port: u16,
    tree: TempTree,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Server {
    fn new(once: bool) -> Self {
        let signed = rcgen::generate_simple_self_signed(["tools.test".to_owned()]).unwrap();
        let certificate = CertificateDer::from(signed.cert.der().to_vec());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(pinfold_net::crypto_provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
        let port = listener.local_addr().unwrap().port();
        let tree = TempTree::new();
        tree.write("roots.pem", signed.cert.pem());
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (connected, asked) = (Arc::clone(&connections), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connected.fetch_add(1, Ordering::SeqCst);
                let asked = Arc::clone(&asked);
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                thread::spawn(move || {
                    let mut stream = StreamOwned::new(connection, stream);
                    while head(&mut stream) {
                        asked.fetch_add(1, Ordering::SeqCst);
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                        let _ = stream.flush();
                        if once {
                            return;
                        }
                    }
                });
            }
        });
        Self { port, tree, connections, requests }
    }

    fn roots(&self) -> PathBuf {
        self.tree.path("roots.pem")
    }

    fn client(&self, host: &str, named: bool, roots: &Path) -> OriginClient {
        let url = WebUrl::parse(&format!("https://{host}:{}/mcp", self.port)).unwrap();
        OriginClient::new(url, Arc::new(Here { named }), Some(roots)).unwrap()
    }

    fn counts(&self) -> (usize, usize) {
        (self.connections.load(Ordering::SeqCst), self.requests.load(Ordering::SeqCst))
    }
}

/// Reads a head. `false`: there is none.
fn head(stream: &mut impl Read) -> bool {
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => all.extend_from_slice(&byte),
            Ok(_) | Err(_) => return false,
        }
    }
    true
}

fn send(client: &OriginClient, times: usize) -> Vec<Result<StatusCode, FetchError>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut all = Vec::new();
        for _ in 0..times {
            let sent = client.send(&Method::GET, "/mcp", &HeaderMap::new(), &Bytes::new()).await;
            all.push(sent.map(|answer| answer.status()));
            // What has come is read, and a connection that ended is known to have.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        all
    })
}

#[test]
fn one_connection_serves_many_requests_and_one_that_ended_is_made_anew() {
    let server = Server::new(false);
    let all = send(&server.client("tools.test", true, &server.roots()), 3);
    assert_eq!(all, [Ok(StatusCode::OK), Ok(StatusCode::OK), Ok(StatusCode::OK)]);
    assert_eq!(server.counts(), (1, 3));
    let server = Server::new(true);
    let all = send(&server.client("tools.test", true, &server.roots()), 3);
    assert_eq!(all, [Ok(StatusCode::OK), Ok(StatusCode::OK), Ok(StatusCode::OK)]);
    assert_eq!(server.counts(), (3, 3));
}

#[test]
fn who_is_not_verified_or_leads_nearby_hears_nothing() {
    let (server, other) = (Server::new(false), Server::new(false));
    let of = |sent: Vec<Result<StatusCode, FetchError>>| sent.into_iter().next().unwrap();
    // By an authority that vouches for somebody else, and under another name.
    for (host, roots) in [("tools.test", other.roots()), ("else.test", server.roots())] {
        match of(send(&server.client(host, true, &roots), 1)) {
            Err(FetchError::Unreachable(why)) => assert!(why.contains("TLS"), "{why}"),
            sent => panic!("{sent:?}"),
        }
    }
    let near = of(send(&server.client("tools.test", false, &server.roots()), 1));
    assert!(matches!(near, Err(FetchError::Refused(EgressViolation::SpecialPurposeAddress(..)))), "{near:?}");
    assert_eq!(server.counts().1, 0);
}
