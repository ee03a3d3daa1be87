//! `pinfold mcp login`: servers that let people in by their browser, good ones and bad ones.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pinfold_tests::mcp::{Client, LAST_WITH_HANDSHAKE};
use pinfold_tests::mcp_odd::{Came, good, odd, whole};
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Who};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded};

fn bed() -> Bed {
    Bed::new(Who::Ordinary)
}

/// How a server and its login go wrong.
#[derive(Clone)]
struct Ways {
    /// What is said otherwise about itself by the server, or whoever lets people in: where, which field, what. `ORIGIN` is its own, `LOCAL` the
    /// same by another name.
    otherwise: Option<(&'static str, &'static str, Value)>,
    /// How long a token is good.
    good_for: u64,
    /// Nothing is renewed.
    ends: bool,
}

const WELL: Ways = Ways { otherwise: None, good_for: 3600, ends: false };

/// What a server remembers.
#[derive(Default)]
struct Memory {
    /// What was promised for the code: the browser brings it.
    challenge: String,
    /// How many tokens were given.
    given: u32,
    /// How many of them are not taken any more.
    over: u32,
}

type Known = Arc<Mutex<Memory>>;

/// A server with a login of its own.
fn server(ways: Ways) -> (String, Receiver<Came>, Known) {
    let known = Known::default();
    let memory = Arc::clone(&known);
    let (url, came) = odd(move |came| answer(&ways, &mut memory.lock().expect("unbroken"), came));
    (url, came, known)
}

fn answer(ways: &Ways, memory: &mut Memory, came: &Came) -> Vec<u8> {
    let origin = format!("http://{}", came.header("host").unwrap_or_default());
    let says = |mut said: Value| {
        if let Some((_, field, value)) =
            ways.otherwise.as_ref().filter(|(place, ..)| came.what().contains(place))
        {
            let value = value
                .to_string()
                .replace("ORIGIN", &origin)
                .replace("LOCAL", &origin.replace("127.0.0.1", "localhost"));
            said[field] = serde_json::from_str(&value).expect("JSON");
        }
        whole("200 OK", "application/json", said.to_string().as_bytes())
    };
    match came.what() {
        "POST /mcp" if is_known(memory, came) => good(came),
        "GET /mcp" if is_known(memory, came) => whole("405 Method Not Allowed", "text/plain", b""),
        "POST /mcp" | "GET /mcp" => {
            let about = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            format!("HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer resource_metadata=\"{about}\", scope=\"read write\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes()
        }
        "GET /.well-known/oauth-protected-resource/mcp" => {
            says(json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}))
        }
        "GET /.well-known/oauth-authorization-server" => says(json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "revocation_endpoint": format!("{origin}/revoke"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        })),
        "POST /register" => says(json!({"client_id": "c-1", "redirect_uris": came.body["redirect_uris"]})),
        "POST /token" => match token(ways, memory, &form(&came.text)) {
            Ok(said) => says(said),
            Err(refusal) => refusal,
        },
        "POST /revoke" => whole("200 OK", "text/plain", b""),
        _ => whole("404 Not Found", "text/plain", b""),
    }
}

fn is_known(memory: &Memory, came: &Came) -> bool {
    let said = came.header("authorization").unwrap_or_default();
    (memory.over + 1..=memory.given).any(|number| said == format!("Bearer a-{number}"))
}

fn token(ways: &Ways, memory: &mut Memory, form: &dyn Fn(&str) -> String) -> Result<Value, Vec<u8>> {
    let verifies = URL_SAFE_NO_PAD.encode(Sha256::digest(form("code_verifier"))) == memory.challenge;
    let is_good = match &*form("grant_type") {
        "authorization_code" => form("code") == "good" && verifies && form("client_id") == "c-1",
        "refresh_token" => !ways.ends && form("refresh_token") == format!("r-{}", memory.given),
        _ => false,
    };
    if !is_good {
        return Err(whole("400 Bad Request", "application/json", br#"{"error":"invalid_grant"}"#));
    }
    memory.given += 1;
    let number = memory.given;
    // The first one is as good as is wanted, later ones are good.
    let time = if number == 1 { ways.good_for } else { 3600 };
    Ok(
        json!({"access_token": format!("a-{number}"), "refresh_token": format!("r-{number}"), "token_type": "bearer", "expires_in": time}),
    )
}

fn form(text: &str) -> impl Fn(&str) -> String {
    let all: Vec<(String, String)> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    move |name| all.iter().find(|(said, _)| said == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

fn command(bed: &Bed, words: &[&str]) -> Command {
    let mut command = bed.free(pinfold());
    command.arg("mcp").args(words);
    command
}

/// A login that waits for its browser.
struct Begun {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
    /// Where the person says yes.
    asks: Url,
}

fn begin(bed: &Bed, words: &[&str]) -> Result<Begun, String> {
    let mut child = command(bed, &["login", "--no-browser"])
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    let asks = loop {
        let mut line = String::new();
        if errors.read_line(&mut line).expect("text") == 0 {
            break None;
        }
        if let Some(asks) = Url::parse(line.trim()).ok().filter(Url::has_host) {
            break Some(asks);
        }
        said += &line;
    };
    if let Some(asks) = asks {
        return Ok(Begun { child, errors, asks });
    }
    child.wait().expect("it has ended");
    Err(said)
}

impl Begun {
    fn said(&self, name: &str) -> String {
        form(self.asks.query().unwrap_or_default())(name)
    }

    /// The browser comes back with this. What it is answered.
    fn returns(&self, said: &[(&str, &str)]) -> String {
        let mut back = Url::parse(&self.said("redirect_uri")).expect("an address");
        back.query_pairs_mut().extend_pairs(said);
        visit(&back, back.authority())
    }

    fn ends(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.errors.read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }
}

fn visit(url: &Url, host: &str) -> String {
    let mut stream = TcpStream::connect(url.authority()).expect("it listens");
    let target = &url[url::Position::BeforePath..];
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("it is said");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// Logs in as it should be.
fn logged_in(bed: &Bed, url: &str, known: &Known, words: &[&str]) -> String {
    let begun = begin(bed, &[&[url], words].concat()).expect("a browser is wanted");
    known.lock().expect("unbroken").challenge = begun.said("code_challenge");
    let page = begun.returns(&[("code", "good"), ("state", &begun.said("state"))]);
    assert!(page.contains("200 OK") && page.contains("close this page"), "{page}");
    let (code, said) = begun.ends();
    assert_eq!(code, Some(0), "{said}");
    said
}

fn proxied(bed: &Bed, url: &str) -> (Client, Value) {
    let mut proxy = command(bed, &["proxy", "--name", "up", "--url", url, "--allowedTools", "mcp__up"]);
    Client::start(&mut proxy).hello(LAST_WITH_HANDSHAKE, json!({}), Box::new(|_, _| None))
}

fn call(client: &Client) -> Value {
    client.request("tools/call", json!({"name": "t", "arguments": {}}))
}

fn of<'a>(came: &'a [Came], what: &str) -> Vec<&'a Came> {
    came.iter().filter(|came| came.what() == what).collect()
}

#[test]
fn a_login_is_kept_said_to_its_server_and_renewed() {
    let bed = bed();
    let (url, came, known) = server(WELL);
    let (client, refused) = proxied(&bed, &url);
    let why = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains(&format!("pinfold mcp login {url}")), "{refused}");
    assert!(client.close());

    let begun = begin(&bed, &[&url]).expect("a browser is wanted");
    assert_eq!(begun.asks.path(), "/authorize");
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "c-1"),
        ("code_challenge_method", "S256"),
        ("resource", &url),
        ("scope", "read write"),
    ] {
        assert_eq!(begun.said(name), value, "{}", begun.asks);
    }
    known.lock().expect("unbroken").challenge = begun.said("code_challenge");
    begun.returns(&[("code", "good"), ("state", &begun.said("state"))]);
    let (code, said) = begun.ends();
    assert!(code == Some(0) && said.contains("logged in") && !said.contains("a-1"), "{said}");
    let all: Vec<Came> = came.try_iter().collect();
    let registered = of(&all, "POST /register");
    assert!(
        registered[0].body["redirect_uris"][0].as_str().is_some_and(|to| to.starts_with("http://127.0.0.1:"))
    );
    assert_eq!(registered[0].body["token_endpoint_auth_method"], "none");
    assert_eq!(form(&of(&all, "POST /token")[0].text)("resource"), url);

    let kept = bed.home().join(".local/state/pinfold/mcp/logins");
    for entry in fs::read_dir(&kept).expect("what is kept") {
        let about = entry.expect("a file").metadata().expect("a file");
        assert_eq!(about.permissions().mode() & 0o077, 0);
    }
    let listed = command(&bed, &["logins"]).output().expect("it runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(
        listed.contains(&url) && listed.contains("refreshed automatically") && !listed.contains("a-1"),
        "{listed}"
    );

    let (client, _) = proxied(&bed, &url);
    assert_eq!(call(&client)["result"]["content"][0]["text"], "done");
    // The server takes it no more, before its time: it is renewed, and the call goes through.
    known.lock().expect("unbroken").over = 1;
    assert_eq!(call(&client)["result"]["content"][0]["text"], "done");
    assert!(client.close());
    let all: Vec<Came> = came.try_iter().collect();
    let renewed = form(&of(&all, "POST /token")[0].text);
    assert_eq!((renewed("refresh_token"), renewed("resource")), ("r-1".to_owned(), url.clone()));
    // The next start begins with the newer one.
    let (client, said) = proxied(&bed, &url);
    assert!(said["result"].is_object(), "{said}");
    assert!(client.close());
    let all: Vec<Came> = came.try_iter().collect();
    assert!(of(&all, "POST /token").is_empty() && of(&all, "POST /mcp")[0].has("authorization: bearer a-2"));

    let output = command(&bed, &["logout", &url]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let all: Vec<Came> = came.try_iter().collect();
    assert!(form(&of(&all, "POST /revoke")[0].text)("token") == "r-2");
    let output = command(&bed, &["logout", &url]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "there is none any more");
    let (client, refused) = proxied(&bed, &url);
    assert!(refused["error"]["message"].is_string(), "{refused}");
    assert!(client.close());
}

/// A token to renew by is good once: of two who need it one renews, and the other takes what came of it.
#[test]
fn of_several_processes_one_renews() {
    let bed = bed();
    let (url, came, known) = server(Ways { good_for: 1, ..WELL });
    logged_in(&bed, &url, &known, &[]);
    known.lock().expect("unbroken").over = 1;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (client, said) = proxied(&bed, &url);
                assert!(said["result"].is_object(), "{said}");
                assert_eq!(call(&client)["result"]["content"][0]["text"], "done");
                assert!(client.close());
            });
        }
    });
    let all: Vec<Came> = came.try_iter().collect();
    let renewed = of(&all, "POST /token").into_iter();
    let renewed = renewed.filter(|came| form(&came.text)("grant_type") == "refresh_token").count();
    assert_eq!(renewed, 1);
}

#[test]
fn a_login_that_is_over_says_what_to_do() {
    let bed = bed();
    let (url, _, known) = server(Ways { good_for: 1, ends: true, ..WELL });
    logged_in(&bed, &url, &known, &[]);
    let (client, said) = proxied(&bed, &url);
    let why = said["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("has expired") && why.contains("pinfold mcp login"), "{said}");
    assert!(client.close());
}

#[test]
fn who_says_something_else_than_it_should_lets_nobody_in() {
    let bed = bed();
    let (server_says, issuer_says) = ("protected-resource", "authorization-server");
    let cases = [
        (server_says, "resource", json!("https://other.example/"), "not about"),
        (server_says, "resource", json!("ORIGIN/mcp/deeper"), "not about"),
        (server_says, "resource", json!(7), "cannot be used"),
        (server_says, "authorization_servers", json!([]), "names no authorization server"),
        (server_says, "authorization_servers", json!(["http://auth.example"]), "unencrypted"),
        (issuer_says, "issuer", json!("https://other.example"), "not about"),
        (issuer_says, "code_challenge_methods_supported", json!(["plain"]), "S256"),
        (issuer_says, "token_endpoint", json!("http://auth.example/token"), "unencrypted"),
        (issuer_says, "authorization_endpoint", json!("file:///etc/passwd"), "another scheme"),
        (issuer_says, "registration_endpoint", Value::Null, "--client-id"),
        ("register", "client_id", json!(7), "cannot be used"),
    ];
    for (place, field, value, words) in cases {
        let (url, _, _) = server(Ways { otherwise: Some((place, field, value)), ..WELL });
        let said = begin(&bed, &[&url]).err().expect("nobody is sent anywhere");
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!bed.home().join(".local/state/pinfold/mcp/logins").exists(), "nothing is kept");
}

#[test]
fn a_token_that_no_request_can_carry_is_no_login() {
    let bed = bed();
    let ends = |token: &str| {
        let (url, _, known) =
            server(Ways { otherwise: Some(("POST /token", "access_token", json!(token))), ..WELL });
        let begun = begin(&bed, &[&url]).expect("a browser is wanted");
        known.lock().expect("unbroken").challenge = begun.said("code_challenge");
        begun.returns(&[("code", "good"), ("state", &begun.said("state"))]);
        begun.ends()
    };
    for token in ["", "A TOK", "a-1\r\nX: y", "a-1\n", "a-ü"] {
        let (code, said) = ends(token);
        assert_eq!(code, Some(1), "{token:?}: {said}");
        assert!(said.contains("no bearer token") && !said.contains("logged in"), "{token:?}: {said}");
    }
    assert!(!bed.home().join(".local/state/pinfold/mcp/logins").exists(), "nothing is kept");
    assert_eq!(ends("a-1.x~y+/=").0, Some(0), "the control");
}

#[test]
fn only_the_browser_that_was_sent_comes_back() {
    let bed = bed();
    let (url, came, known) = server(WELL);
    let begun = begin(&bed, &[&url]).expect("a browser is wanted");
    known.lock().expect("unbroken").challenge = begun.said("code_challenge");
    let state = begun.said("state");
    // Others, who know the port and not the state.
    for other in [&[("code", "good"), ("state", "x")][..], &[("code", "good")], &[]] {
        assert!(begun.returns(other).contains("400 Bad Request"));
    }
    let mut back = Url::parse(&begun.said("redirect_uri")).expect("an address");
    back.query_pairs_mut().extend_pairs([("code", "good"), ("state", &state)]);
    assert!(visit(&back, "evil.example").contains("404"), "a page whose name was made to lead here");
    assert!(of(&came.try_iter().collect::<Vec<_>>(), "POST /token").is_empty(), "no code was taken");
    // The one that was waited for.
    assert!(begun.returns(&[("code", "good"), ("state", &state)]).contains("200 OK"));
    assert_eq!(begun.ends().0, Some(0));

    for (said, words) in [
        (&[("error", "access_denied"), ("error_description", "not\x1b[31m you")][..], "access_denied"),
        (&[("code", "good"), ("iss", "https://other.example")], "another issuer"),
        (&[("code", "bad")], "rejected the grant"),
    ] {
        let begun = begin(&bed, &[&url]).expect("a browser is wanted");
        known.lock().expect("unbroken").challenge = begun.said("code_challenge");
        let state = begun.said("state");
        begun.returns(&[said, &[("state", &state)]].concat());
        let (code, errors) = begun.ends();
        assert!(code == Some(1) && errors.contains(words) && !errors.contains('\x1b'), "{words}: {errors}");
    }
}

/// Whoever lets people in may be somebody else than the server: then it is asked about, or allowed beforehand.
#[test]
fn a_host_that_nobody_has_named_is_not_spoken_to() {
    let bed = bed();
    let (url, came, known) = server(Ways {
        otherwise: Some(("protected-resource", "authorization_servers", json!(["LOCAL"]))),
        ..WELL
    });
    let said = begin(&bed, &[&url]).err().expect("nobody is sent anywhere");
    assert!(said.contains("--allow-host localhost"), "{said}");
    let all: Vec<Came> = came.try_iter().collect();
    assert!(of(&all, "GET /.well-known/oauth-authorization-server").is_empty(), "nothing was said to it");
    let port = Url::parse(&url).expect("an address").port().expect("a port");
    let named = format!("localhost:{port}");
    logged_in(&bed, &url, &known, &["--allow-host", &named]);
    let said =
        begin(&bed, &[&url, "--allow-host", &named, "--disallowedTools", "WebFetch(domain:localhost)"]);
    assert!(said.err().is_some_and(|said| said.contains("denies")), "what is denied stays denied");
}
