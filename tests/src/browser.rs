//! A browser that can be looked at: Chromium without a window, told what to do by its driver.
//! [WebDriver](https://www.w3.org/TR/webdriver2/)

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::missing::{SEARCH_PATH, all_there};
use crate::processes::TEST_TIMEOUT;
use crate::processes::is_superuser;

/// What stands before the number of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A screen to look at a page on.
#[derive(Clone, Copy, Debug)]
pub enum Screen {
    /// A telephone, 360 by 640.
    Phone,
    /// A window, 1200 by 900.
    Desk,
}

/// A browser with one page, and somebody who presses and reads.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    session: String,
    agent: ureq::Agent,
    /// Its home, its profile and whatever else it writes.
    _place: TempDir,
}

impl Browser {
    /// Whether it is on this machine; if not, it is counted that `what` was left out.
    pub fn is_there_for(what: &str) -> bool {
        all_there(what, &["chromium", "chromedriver"])
    }

    /// Starts one.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(screen: Screen) -> Self {
        let place = tempfile::tempdir().expect("a folder for the browser");
        let (driver, port) = start_driver(place.path());
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let browser = format!("http://127.0.0.1:{port}/session");
        let mut started = Self { driver, session: browser, agent, _place: place };
        let told = started.say("", Some(&wishes(screen)));
        let id = told["sessionId"].as_str().expect("a session");
        started.session = format!("{}/{id}", started.session);
        started
    }

    /// Says something to the driver: something to do, or nothing to ask what is.
    fn say(&self, path: &str, what: Option<&Value>) -> Value {
        self.try_to(path, what).unwrap_or_else(|error| panic!("{path} {what:?}: {error}"))
    }

    fn try_to(&self, path: &str, what: Option<&Value>) -> Result<Value, String> {
        let address = format!("{}{path}", self.session);
        let reply = match what {
            Some(what) => self.agent.post(&address).send(what.to_string()),
            None => self.agent.get(&address).call(),
        };
        let text = reply.and_then(|mut reply| reply.body_mut().read_to_string());
        let text = text.map_err(|error| error.to_string())?;
        let mut told: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        match told["value"].take() {
            value if value["error"].is_string() => Err(value["message"].to_string()),
            value => Ok(value),
        }
    }

    /// Goes to an address.
    pub fn go(&self, address: &str) {
        self.say("/url", Some(&json!({"url": address})));
    }

    /// Loads the page again.
    pub fn reload(&self) {
        self.say("/refresh", Some(&json!({})));
    }

    /// What a piece of script says about the page.
    pub fn eval(&self, expression: &str) -> Value {
        self.say("/execute/sync", Some(&json!({"script": format!("return {expression}"), "args": []})))
    }

    /// Waits until a piece of script says yes.
    ///
    /// # Panics
    /// When it does not.
    pub fn until(&self, expression: &str) {
        let end = Instant::now() + TEST_TIMEOUT;
        while self.eval(&format!("Boolean({expression})")) != json!(true) {
            assert!(Instant::now() < end, "{expression}: {}", self.eval("document.body.innerText"));
            thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// Presses what a selector finds, once it is there. It is scrolled to, as a person would.
    pub fn press(&self, selector: &str) {
        let element = self.find(selector);
        self.say(&format!("/element/{element}/click"), Some(&json!({})));
    }

    /// Presses the enabled button that begins with these words, once it is there.
    pub fn press_button(&self, words: &str) {
        let marked = format!(
            "(() => {{ const found = [...document.querySelectorAll('button')]
                 .find((b) => b.textContent.startsWith({}) && b.checkVisibility() && !b.disabled);
               document.querySelectorAll('[data-pressed]').forEach((b) => delete b.dataset.pressed);
               if (found) found.dataset.pressed = 'yes'; return found !== undefined }})()",
            json!(words)
        );
        self.until(&marked);
        self.press("[data-pressed]");
    }

    /// Types a text into what a selector finds.
    pub fn type_in(&self, selector: &str, text: &str) {
        let element = self.find(selector);
        self.say(&format!("/element/{element}/value"), Some(&json!({"text": text})));
    }

    /// What is on the screen, as a picture in PNG, in base64.
    pub fn picture(&self) -> String {
        self.say("/screenshot", None).as_str().expect("a picture").to_owned()
    }

    fn find(&self, selector: &str) -> String {
        let end = Instant::now() + TEST_TIMEOUT;
        let wanted = json!({"using": "css selector", "value": selector});
        loop {
            match self.try_to("/element", Some(&wanted)) {
                Ok(found) => return found[ELEMENT].as_str().expect("an element").to_owned(),
                Err(error) => assert!(Instant::now() < end, "{selector}: {error}"),
            }
            thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session, the driver by our hand.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Starts a driver, and returns its port. It ends at once where the port that it was given for IPv4 is taken for IPv6.
fn start_driver(home: &Path) -> (Child, u16) {
    const TRIES: usize = 5;
    let try_one = || {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env_clear()
            .env("PATH", SEARCH_PATH)
            .env("HOME", home)
            .env("TMPDIR", home)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a driver");
        let port = port(&mut driver);
        if port.is_none() {
            let _ = driver.wait();
        }
        Some((driver, port?))
    };
    (0..TRIES).find_map(|_| try_one()).expect("the driver says its port")
}

/// The port that the driver says.
fn port(driver: &mut Child) -> Option<u16> {
    let lines = BufReader::new(driver.stdout.take().expect("a pipe")).lines();
    let mut said = lines
        .map_while(Result::ok)
        .filter_map(|line| line.rsplit_once("on port ")?.1.trim_end_matches('.').parse().ok());
    // The first mention is that of the wish, 0.
    said.find(|port| *port != 0)
}

fn wishes(screen: Screen) -> Value {
    let mut arguments =
        vec!["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"];
    // Its own sandbox cannot be built by the superuser.
    if is_superuser() {
        arguments.push("--no-sandbox");
    }
    let mut options = json!({"args": arguments});
    if let Screen::Phone = screen {
        let metrics = json!({"width": 360, "height": 640, "pixelRatio": 2.0, "touch": true});
        options["mobileEmulation"] = json!({"deviceMetrics": metrics});
    }
    json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})
}

/// Keeps a picture in the folder that `PINFOLD_PICTURES` names, if it does, to be looked at.
///
/// # Panics
/// When it cannot be written.
pub fn keep(name: &str, picture: &str) {
    let Some(folder) = std::env::var_os("PINFOLD_PICTURES") else { return };
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, picture).expect("base64");
    fs::write(Path::new(&folder).join(format!("{name}.png")), bytes).expect("a picture");
}
