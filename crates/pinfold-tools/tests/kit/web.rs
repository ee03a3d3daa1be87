//! Sessions that fetch pages, and a server with a certificate.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pinfold::policy::hosts::Hosts;
use pinfold::policy::settings::{FetchBudget, Settings};
use pinfold::policy::{Bases, Effect, Layer, Policy};
use pinfold::{Plan, RawCall, Session, WebHost};
use pinfold_gate_testkit::rules::rule;
use pinfold_gate_testkit::session::open;
use pinfold_testkit::TempTree;
use pinfold_tools::{Reply, Web, call};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

/// What settings say.
pub(crate) struct Setup {
    pub(crate) network: Value,
    pub(crate) rules: Vec<(Effect, String)>,
    pub(crate) roots: Option<PathBuf>,
    /// The limit for the time of a page.
    pub(crate) timeout: Option<Duration>,
}

impl Default for Setup {
    fn default() -> Self {
        let hosts = json!({"a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"], "near.test": ["10.0.0.1"],
            "both.test": ["8.8.8.8", "127.0.0.1"], "localhost": ["127.0.0.1"], "ask.test": ["8.8.8.8"],
            "far.test": ["8.8.8.8"]});
        let network = json!({"allow": [], "deny": [], "hosts": hosts});
        Self { network, rules: Vec::new(), roots: None, timeout: None }
    }
}

impl Setup {
    pub(crate) fn allow(&mut self, host: &str) {
        self.network["allow"].as_array_mut().unwrap().push(host.into());
    }

    pub(crate) fn deny(&mut self, host: &str) {
        self.network["deny"].as_array_mut().unwrap().push(host.into());
    }

    pub(crate) fn rule(&mut self, effect: &str, rule: &str) -> &mut Self {
        let effect = if effect == "ask" { Effect::Ask } else { Effect::Deny };
        self.rules.push((effect, rule.to_owned()));
        self
    }

    pub(crate) fn policy(&self) -> Policy {
        let text = json!({"network": self.network}).to_string();
        let said = Settings::parse(text.as_bytes(), Layer::User, &Arc::from("f")).unwrap().says.network;
        let rules: Vec<_> = self.rules.iter().map(|(effect, text)| rule(*effect, text)).collect();
        let mut policy = Policy::default().with_rules(rules.clone(), &Bases::default());
        policy.hosts = Arc::new(Hosts::new(&said, &rules).unwrap());
        policy.fetches = FetchBudget::from_settings(&said);
        policy
    }

    pub(crate) fn start(&self) -> Surfer {
        let web = self.roots.clone().map_or_else(Web::default, Web::trusting);
        let web = match self.timeout {
            Some(timeout) => web.with_timeout(timeout),
            None => web,
        };
        self.open_with(Some(Arc::new(web)))
    }

    pub(crate) fn start_without_web(&self) -> Surfer {
        self.open_with(None)
    }

    pub(crate) fn open_with(&self, web: Option<Arc<dyn WebHost>>) -> Surfer {
        let folder = TempTree::new();
        let mut plan = Plan::for_folder(folder.top()).with_policy(self.policy());
        plan.web = web;
        Surfer { session: open(plan), _folder: folder }
    }
}

/// A session that fetches pages.
pub(crate) struct Surfer {
    _folder: TempTree,
    pub(crate) session: Session,
}

impl Surfer {
    pub(crate) fn call(&self, tool: &str, input: Value) -> Reply {
        call(&self.session, &RawCall::new(tool, input))
    }
}

pub(crate) fn text(reply: &Reply) -> String {
    reply.text()
}

/// An authority of its own.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Serves a text under this name, on the port that comes back.
    pub(crate) fn serve(&self, name: &str, body: &'static str) -> u16 {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], private)
                .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = rustls::Stream::new(&mut tls, &mut stream);
                let mut head = [0; 4096];
                if stream.read(&mut head).is_ok() {
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"
                    );
                    let _ = stream.write_all(answer.as_bytes());
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
            }
        });
        port
    }
}
