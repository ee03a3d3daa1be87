//! The token store: one file per server, readable by this user only.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::registration::OAuthClient;
use crate::token_requests::TokenSet;
use crate::{Endpoint, LoginError};

/// The version of the file format.
const VERSION: u32 = 1;

/// The margin before expiry within which a token is not used any more, for network delay and clock skew.
const EXPIRY_MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// A login at a resource server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    version: u32,
    #[serde(flatten)]
    pub(crate) about: LoginMetadata,
    #[serde(flatten)]
    pub(crate) tokens: TokenSet,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("server", &self.about.server).finish_non_exhaustive()
    }
}

/// The servers and the client of a login.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoginMetadata {
    pub(crate) server: String,
    /// The resource identifier of the server (RFC 8707).
    pub(crate) resource: String,
    pub(crate) issuer: String,
    /// The token and revocation endpoints.
    #[serde(alias = "token")]
    pub(crate) token_endpoint: String,
    #[serde(alias = "revoke")]
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client: OAuthClient,
}

impl Login {
    /// Creates a login. `scope`: what was requested, which is what was granted where the response has no scope (RFC
    /// 6749 §5.1).
    pub(crate) fn new(about: LoginMetadata, tokens: TokenSet, scope: Option<String>) -> Self {
        let tokens = TokenSet { scope: tokens.scope.clone().or(scope), ..tokens };
        Self { version: VERSION, about, tokens }
    }

    /// Replaces the tokens. Without a new refresh token the old one stays valid (RFC 6749 §6).
    pub(crate) fn with_tokens(self, newer: TokenSet) -> Self {
        let older = self.tokens;
        let tokens = TokenSet {
            refresh_token: newer.refresh_token.or(older.refresh_token),
            scope: newer.scope.or(older.scope),
            access_token: newer.access_token,
            expires_at: newer.expires_at,
        };
        Self { tokens, ..self }
    }

    /// The URL of the server.
    pub fn server(&self) -> &str {
        &self.about.server
    }

    /// The issuer of the tokens.
    pub fn issuer(&self) -> &str {
        &self.about.issuer
    }

    /// The granted scope, where it is known.
    pub fn scope(&self) -> Option<&str> {
        self.tokens.scope.as_deref()
    }

    /// The expiry of the access token, where it is known.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.tokens.expires_at
    }

    /// Returns whether it can be refreshed.
    pub fn is_renewable(&self) -> bool {
        self.tokens.refresh_token.is_some()
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.tokens.expires_at.is_some_and(|expiry| Timestamp::now() + EXPIRY_MARGIN >= expiry)
    }
}

/// The stored logins of a user.
#[derive(Debug, Clone)]
pub struct TokenStore {
    directory: PathBuf,
}

impl TokenStore {
    /// A store in a directory, which is created with the first login.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads the login at a server, if there is one.
    ///
    /// # Errors
    /// When it cannot be read or parsed.
    pub fn get(&self, server: &Endpoint) -> Result<Option<Login>, LoginError> {
        read_login(&self.path_for(server))
    }

    /// Reads all logins.
    ///
    /// # Errors
    /// When one of them cannot be read or parsed.
    pub fn list(&self) -> Result<Vec<Login>, LoginError> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|e| store_error(&self.directory, &e))?,
        };
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(|e| store_error(&self.directory, &e))?;
        files.retain(|file| file.extension().is_some_and(|end| end == EXTENSION));
        let read: Result<Vec<_>, _> = files.iter().map(|file| read_login(file)).collect();
        let mut all: Vec<Login> = read?.into_iter().flatten().collect();
        all.sort_by(|one, other| one.server().cmp(other.server()));
        Ok(all)
    }

    /// Stores a login, in place of an older one.
    ///
    /// # Errors
    /// When it cannot be written. The older one is intact then.
    pub fn save(&self, login: &Login) -> Result<(), LoginError> {
        let server = Endpoint::parse(login.server()).map_err(LoginError::new)?;
        let file = self.path_for(&server);
        let text = serde_json::to_string_pretty(login).map_err(|e| store_error(&file, &e))?;
        let saved = self.create_directory().and_then(|()| {
            let mut temporary = tempfile::NamedTempFile::new_in(&self.directory)?;
            writeln!(temporary, "{text}")?;
            temporary.as_file().sync_all()?;
            temporary.persist(&file).map_err(|e| e.error)
        });
        saved.map(drop).map_err(|e| store_error(&file, &e))
    }

    /// Removes the login at a server. Returns whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, server: &Endpoint) -> Result<bool, LoginError> {
        let file = self.path_for(server);
        match fs::remove_file(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(|e| store_error(&file, &e)),
        }
    }

    /// Waits for the lock on a login, so that one process at a time uses its refresh token, which is often valid once.
    pub(crate) fn lock(&self, server: &Endpoint) -> Result<File, LoginError> {
        let file = self.path_for(server).with_extension("lock");
        let locked = self.create_directory().and_then(|()| {
            let locked =
                OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&file)?;
            locked.lock()?;
            Ok(locked)
        });
        locked.map_err(|e| store_error(&file, &e))
    }

    fn create_directory(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)
    }

    fn path_for(&self, server: &Endpoint) -> PathBuf {
        let name: String =
            Sha256::digest(server.to_string()).iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(name).with_extension(EXTENSION)
    }
}

/// The extension of stored logins.
const EXTENSION: &str = "json";

fn read_login(file: &Path) -> Result<Option<Login>, LoginError> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|e| store_error(file, &e))?,
    };
    // The parse error may quote a token, so it is not shown.
    let login: Option<Login> = serde_json::from_slice(&text).ok();
    let login = login.filter(|login| login.version == VERSION);
    login.map(Some).ok_or_else(|| store_error(file, &"it is not in the expected format"))
}

fn store_error(file: &Path, why: &dyn fmt::Display) -> LoginError {
    LoginError::new(format!("the stored login {} cannot be used: {why}", file.display()))
        .with_hint("remove the file, and log in again")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn login(server: &str) -> Login {
        let client = OAuthClient { id: "id".to_owned(), secret: None, uses_basic_auth: false };
        let about = LoginMetadata {
            server: Endpoint::parse(server).unwrap().to_string(),
            resource: server.to_owned(),
            issuer: "https://auth.example/".to_owned(),
            token_endpoint: "https://auth.example/token".to_owned(),
            revocation_endpoint: None,
            client,
        };
        let tokens = TokenSet {
            access_token: "a-1".to_owned(),
            refresh_token: Some("r-1".to_owned()),
            expires_at: None,
            scope: None,
        };
        Login::new(about, tokens, Some("x".to_owned()))
    }

    #[test]
    fn stored_logins_are_readable_by_this_user_only() {
        let bed = tempfile::tempdir().unwrap();
        let logins = TokenStore::new(bed.path().join("logins"));
        let endpoint = Endpoint::parse("https://mcp.example/mcp").unwrap();
        assert!(logins.get(&endpoint).unwrap().is_none() && logins.list().unwrap().is_empty());
        assert!(!logins.remove(&endpoint).unwrap());
        let (one, other) = (login("https://mcp.example/mcp"), login("https://a.example/"));
        logins.save(&one).unwrap();
        logins.save(&other).unwrap();
        drop(logins.lock(&endpoint).unwrap());
        assert_eq!(logins.get(&endpoint).unwrap(), Some(one.clone()));
        assert_eq!(logins.list().unwrap(), [other, one.clone()], "by address, and no locks among them");
        for entry in fs::read_dir(logins.directory()).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(logins.directory()).unwrap().permissions().mode() & 0o777, 0o700);
        for text in ["", "{}", "[1", r#"{"version":1}"#] {
            fs::write(logins.path_for(&endpoint), text).unwrap();
            let why = logins.get(&endpoint).unwrap_err();
            assert!(why.message.contains("not in the expected format") && why.hint.is_some(), "{why:?}");
        }
        assert!(logins.remove(&endpoint).unwrap() && logins.get(&endpoint).unwrap().is_none());
    }

    #[test]
    fn no_token_is_shown() {
        assert!(!format!("{:?}", login("https://a.example/")).contains("-1"));
    }

    #[test]
    fn a_login_expires_a_little_early() {
        let after = |seconds| {
            let expiry = Timestamp::now() + SignedDuration::from_secs(seconds);
            let mut login = login("https://a.example/");
            login.tokens.expires_at = Some(expiry);
            login.is_expired()
        };
        assert!(!login("https://a.example/").is_expired(), "its expiry is not known");
        assert!(!after(3600) && after(30) && after(-1));
    }

    #[test]
    fn missing_fields_of_a_refresh_keep_their_values() {
        let tokens =
            TokenSet { access_token: "a-2".to_owned(), refresh_token: None, expires_at: None, scope: None };
        let renewed = login("https://a.example/").with_tokens(tokens).tokens;
        assert_eq!(
            (&*renewed.access_token, renewed.refresh_token.as_deref(), renewed.scope.as_deref()),
            ("a-2", Some("r-1"), Some("x"))
        );
    }
}
