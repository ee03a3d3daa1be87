//! The token of a server over HTTP: made for one start, kept in a file of the person, or given by the environment. It
//! stands on no command line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use pinfold_approvals::socket::AccessSecret;

use crate::exit::{FAILED, Failure, USAGE};
use crate::{env, output, record};

/// The fewest letters of a token that cannot be guessed.
const MIN_LETTERS: usize = 32;
/// The most that a line of a head may well have.
const MAX_LETTERS: usize = 512;

/// A token, and where it comes from.
pub(super) struct Token {
    text: String,
    from: TokenSource,
}

enum TokenSource {
    /// The person's file.
    File(PathBuf),
    Environment,
    /// A file that goes with the server.
    Start(PathBuf),
}

impl Token {
    /// The token of a server on this port.
    pub(super) fn load(file: Option<&Path>, port: u16) -> Result<Self, Failure> {
        match (file, env::mcp_token()) {
            (Some(file), _) => Self::read_file(file).map_err(|why| unusable(file, &why)),
            (None, Some(text)) => {
                let text = text.into_string().ok().filter(|text| is_token(text));
                let text =
                    text.ok_or_else(|| Failure::new(USAGE, "PINFOLD_MCP_TOKEN is no token").mend(FORM))?;
                Ok(Self { text, from: TokenSource::Environment })
            }
            (None, None) => Self::create(port),
        }
    }

    fn read_file(file: &Path) -> Result<Self, String> {
        // Not waited for, whatever it is.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let text = match OpenOptions::new().read(true).custom_flags(flags).open(file) {
            Ok(opened) => kept(opened)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => made(file).map_err(|e| e.to_string())?,
            Err(error) => return Err(error.to_string()),
        };
        Ok(Self { text, from: TokenSource::File(file.to_owned()) })
    }

    /// Creates a token for this start, in a directory that no agent reads.
    fn create(port: u16) -> Result<Self, Failure> {
        let directory = record::pins()?;
        let file = directory.join(format!("http-{port}.token"));
        let begun = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        // A file of an earlier server, which no longer has this port.
        let gone = begun.and_then(|()| match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        });
        let text = gone.and_then(|()| made(&file));
        let text = text.map_err(|e| Failure { code: FAILED, ..unusable(&file, &e.to_string()) })?;
        Ok(Self { text, from: TokenSource::Start(file) })
    }

    /// Returns the test whether a client presented this token.
    pub(super) fn knows(&self) -> Box<dyn Fn(&str) -> bool + Send + Sync> {
        let text = self.text.clone();
        Box::new(move |said| AccessSecret::is_same(&text, said))
    }

    /// Returns a sentence about the location of the token.
    pub(super) fn describe_location(&self) -> String {
        match &self.from {
            TokenSource::File(file) => format!("the token is in {}", output::path(file)),
            TokenSource::Start(file) => {
                format!("the token of this start is in {}", output::path(file))
            }
            TokenSource::Environment => "the token is that of PINFOLD_MCP_TOKEN".to_owned(),
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if let TokenSource::Start(file) = &self.from {
            // It is good for nothing any more.
            let _ = fs::remove_file(file);
        }
    }
}

const FORM: &str = "a token has 32 to 512 letters and digits; remove it and one is made";

/// Creates a file with a new token and mode 0600.
fn made(file: &Path) -> io::Result<String> {
    let secret = AccessSecret::new()?;
    let mut opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(opened, "{}", secret.as_str())?;
    Ok(secret.as_str().to_owned())
}

/// Reads the token of a file that no other user can read or write.
fn kept(file: File) -> Result<String, String> {
    let about = file.metadata().map_err(|e| e.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    let is_ours = about.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || about.mode() & 0o077 != 0 {
        return Err("others can read or change it (chmod 600, and be its owner)".to_owned());
    }
    let mut text = String::new();
    // A little more than fits, so that what is too long is noticed.
    file.take(MAX_LETTERS as u64 + 3).read_to_string(&mut text).map_err(|e| e.to_string())?;
    let text = text.trim();
    is_token(text).then(|| text.to_owned()).ok_or_else(|| FORM.to_owned())
}

/// Returns whether a text is a token of [RFC 6750](https://www.rfc-editor.org/rfc/rfc6750#section-2.1) that is long enough.
fn is_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    (MIN_LETTERS..=MAX_LETTERS).contains(&text.len()) && text.bytes().all(plain)
}

fn unusable(file: &Path, why: &str) -> Failure {
    let file = output::path(file);
    Failure::new(USAGE, format!("the token of `{file}` cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_read_again_where_nobody_else_can() {
        let bed = tempfile::tempdir().unwrap();
        let file = bed.path().join("token");
        let made = Token::read_file(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Token::read_file(&file).unwrap();
        assert!(again.knows()(&made.text) && !again.knows()("") && !again.knows()(&made.text[1..]));
        drop(again);
        assert!(file.exists(), "the person's own stays");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Token::read_file(&file).err().unwrap().contains("others"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        for text in ["", "short", &"x".repeat(513), &"a b".repeat(20), &"ü".repeat(40)] {
            fs::write(&file, text).unwrap();
            assert!(Token::read_file(&file).is_err(), "{text}");
        }
        assert!(Token::read_file(bed.path()).is_err());
        assert!(Token::read_file(&bed.path().join("missing/token")).is_err());
    }
}
