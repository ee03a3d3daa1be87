//! Logins as they are kept: a file for each server, which nobody else reads.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::client::Client;
use crate::grant::Tokens;
use crate::{Place, Trouble};

/// The only form of the file so far.
const VERSION: u32 = 1;

/// How long before its end a token is not used any more: a request takes its time, and clocks differ.
const SPARE: SignedDuration = SignedDuration::from_secs(60);

/// A login at a server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    version: u32,
    #[serde(flatten)]
    pub(crate) about: About,
    #[serde(flatten)]
    pub(crate) tokens: Tokens,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("server", &self.about.server).finish_non_exhaustive()
    }
}

/// What a login is about.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) server: String,
    /// What the server calls itself.
    pub(crate) resource: String,
    pub(crate) issuer: String,
    /// Where tokens are had, and given back.
    pub(crate) token: String,
    pub(crate) revoke: Option<String>,
    pub(crate) client: Client,
}

impl Login {
    /// `scope`: what was asked for. Who does not say what was given gave that.
    pub(crate) fn new(about: About, tokens: Tokens, scope: Option<String>) -> Self {
        let tokens = Tokens { scope: tokens.scope.clone().or(scope), ..tokens };
        Self { version: VERSION, about, tokens }
    }

    /// With newer tokens. Who gives no new one to renew by means the old one.
    pub(crate) fn renewed(self, newer: Tokens) -> Self {
        let older = self.tokens;
        let tokens = Tokens {
            refresh: newer.refresh.or(older.refresh),
            scope: newer.scope.or(older.scope),
            access: newer.access,
            until: newer.until,
        };
        Self { tokens, ..self }
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.about.server
    }

    /// Who let the person in.
    pub fn issuer(&self) -> &str {
        &self.about.issuer
    }

    /// What it allows, where that was said.
    pub fn scope(&self) -> Option<&str> {
        self.tokens.scope.as_deref()
    }

    /// How long it is good, where that was said.
    pub fn until(&self) -> Option<Timestamp> {
        self.tokens.until
    }

    /// Whether it is renewed by itself.
    pub fn is_renewable(&self) -> bool {
        self.tokens.refresh.is_some()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.tokens.until.is_some_and(|until| Timestamp::now() + SPARE >= until)
    }
}

/// The logins of a person.
#[derive(Debug, Clone)]
pub struct Logins {
    directory: PathBuf,
}

impl Logins {
    /// Those in a directory, which is made when the first is kept.
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The login at a server, if there is one.
    ///
    /// # Errors
    /// When it cannot be read or understood.
    pub fn get(&self, server: &Place) -> Result<Option<Login>, Trouble> {
        read(&self.file(server))
    }

    /// All logins.
    ///
    /// # Errors
    /// When one of them cannot be read or understood.
    pub fn all(&self) -> Result<Vec<Login>, Trouble> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|e| unusable(&self.directory, &e))?,
        };
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(|e| unusable(&self.directory, &e))?;
        files.retain(|file| file.extension().is_some_and(|end| end == END));
        let read: Result<Vec<_>, _> = files.iter().map(|file| read(file)).collect();
        let mut all: Vec<Login> = read?.into_iter().flatten().collect();
        all.sort_by(|one, other| one.server().cmp(other.server()));
        Ok(all)
    }

    /// Keeps a login in place of an older one.
    ///
    /// # Errors
    /// When it cannot be written. The older one is still there then.
    pub fn keep(&self, login: &Login) -> Result<(), Trouble> {
        let server = Place::parse(login.server()).map_err(Trouble::new)?;
        let file = self.file(&server);
        let text = serde_json::to_string_pretty(login).map_err(|e| unusable(&file, &e))?;
        let kept = self.made().and_then(|()| {
            let mut beside = tempfile::NamedTempFile::new_in(&self.directory)?;
            writeln!(beside, "{text}")?;
            beside.as_file().sync_all()?;
            beside.persist(&file).map_err(|e| e.error)
        });
        kept.map(drop).map_err(|e| unusable(&file, &e))
    }

    /// Forgets the login at a server. Whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn forget(&self, server: &Place) -> Result<bool, Trouble> {
        let file = self.file(server);
        match fs::remove_file(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(|e| unusable(&file, &e)),
        }
    }

    /// Waits until nobody else renews this login: a token to renew by is often good once.
    pub(crate) fn hold(&self, server: &Place) -> Result<File, Trouble> {
        let file = self.file(server).with_extension("lock");
        let held = self.made().and_then(|()| {
            let held = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&file)?;
            held.lock()?;
            Ok(held)
        });
        held.map_err(|e| unusable(&file, &e))
    }

    fn made(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)
    }

    fn file(&self, server: &Place) -> PathBuf {
        let name: String =
            Sha256::digest(server.to_string()).iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(name).with_extension(END)
    }
}

/// How files of logins end.
const END: &str = "json";

fn read(file: &Path) -> Result<Option<Login>, Trouble> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|e| unusable(file, &e))?,
    };
    // What stands there is not told: it may be a token.
    let login: Option<Login> = serde_json::from_slice(&text).ok();
    let login = login.filter(|login| login.version == VERSION);
    login.map(Some).ok_or_else(|| unusable(file, &"it has another form"))
}

fn unusable(file: &Path, why: &dyn fmt::Display) -> Trouble {
    Trouble::new(format!("the login in {} cannot be used: {why}", file.display()))
        .mend("remove the file, and log in again")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn login(server: &str) -> Login {
        let client = Client { id: "id".to_owned(), secret: None, in_header: false };
        let about = About {
            server: Place::parse(server).unwrap().to_string(),
            resource: server.to_owned(),
            issuer: "https://auth.example/".to_owned(),
            token: "https://auth.example/token".to_owned(),
            revoke: None,
            client,
        };
        let tokens =
            Tokens { access: "a-1".to_owned(), refresh: Some("r-1".to_owned()), until: None, scope: None };
        Login::new(about, tokens, Some("x".to_owned()))
    }

    #[test]
    fn what_is_kept_is_found_again_where_nobody_else_reads_it() {
        let bed = tempfile::tempdir().unwrap();
        let logins = Logins::at(bed.path().join("logins"));
        let place = Place::parse("https://mcp.example/mcp").unwrap();
        assert!(logins.get(&place).unwrap().is_none() && logins.all().unwrap().is_empty());
        assert!(!logins.forget(&place).unwrap());
        let (one, other) = (login("https://mcp.example/mcp"), login("https://a.example/"));
        logins.keep(&one).unwrap();
        logins.keep(&other).unwrap();
        drop(logins.hold(&place).unwrap());
        assert_eq!(logins.get(&place).unwrap(), Some(one.clone()));
        assert_eq!(logins.all().unwrap(), [other, one.clone()], "by address, and no locks among them");
        for entry in fs::read_dir(logins.directory()).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(logins.directory()).unwrap().permissions().mode() & 0o777, 0o700);
        for text in ["", "{}", "[1", r#"{"version":1}"#] {
            fs::write(logins.file(&place), text).unwrap();
            let why = logins.get(&place).unwrap_err();
            assert!(why.what.contains("another form") && why.mend.is_some(), "{why:?}");
        }
        assert!(logins.forget(&place).unwrap() && logins.get(&place).unwrap().is_none());
    }

    #[test]
    fn no_token_is_shown() {
        assert!(!format!("{:?}", login("https://a.example/")).contains("-1"));
    }

    #[test]
    fn a_login_is_over_a_little_before_its_time() {
        let after = |seconds| {
            let until = Timestamp::now() + SignedDuration::from_secs(seconds);
            let mut login = login("https://a.example/");
            login.tokens.until = Some(until);
            login.is_over()
        };
        assert!(!login("https://a.example/").is_over(), "nothing was said about it");
        assert!(!after(3600) && after(30) && after(-1));
    }

    #[test]
    fn what_is_not_said_anew_stays() {
        let tokens = Tokens { access: "a-2".to_owned(), refresh: None, until: None, scope: None };
        let renewed = login("https://a.example/").renewed(tokens).tokens;
        assert_eq!(
            (&*renewed.access, renewed.refresh.as_deref(), renewed.scope.as_deref()),
            ("a-2", Some("r-1"), Some("x"))
        );
    }
}
