//! Secrets that stay outside: the placeholders that stand inside, and the authority that the way out plays their hosts
//! under.
//!
//! What is drawn here holds no secret. They are read when the way out opens, after the command has been started: a copy
//! of this process that becomes the first one inside must not have them.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_egress::{EphemeralCa, InjectedSecret, SecretInjector};
use pinfold_policy::settings::{SecretFrom, SecretSetting};
use pinfold_sandbox::{self as sandbox, Profile};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::access_list::Hold;
use crate::builder::BoundaryBuilder;
use crate::request::SandboxRequest;

/// Variables that name the trusted certificate authorities of programs.
/// Where one takes the place of the system's file, the system's authorities are in the file that it names.
const ROOTS: [&str; 13] = [
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "npm_config_cafile",
];

/// The longest file that a secret is in.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// The secrets of a boundary, none of them read.
#[derive(Debug)]
pub(crate) struct SecretPlaceholders {
    authority: Arc<EphemeralCa>,
    all: Vec<Placeholder>,
    home: Option<PathBuf>,
    /// File of the authorities that are trusted inside, for as long as the run lasts: another run has an authority of its own.
    bundle: PathBuf,
}

impl Drop for SecretPlaceholders {
    fn drop(&mut self) {
        // The directory that it lies in goes too, sooner or later.
        let _ = fs::remove_file(&self.bundle);
    }
}

/// Placeholder of a secret.
#[derive(Debug)]
struct Placeholder {
    name: String,
    setting: SecretSetting,
    stand_in: String,
}

impl BoundaryBuilder {
    /// Puts placeholders where the secrets would be. Only where the way out can put these in: else they are not there at
    /// all.
    pub(crate) fn secrets(
        &mut self,
        request: &SandboxRequest,
        profile: &mut Profile,
        reaches_hosts: bool,
        added: &mut Vec<(OsString, OsString)>,
    ) -> Option<SecretPlaceholders> {
        self.hide_sources(request);
        if request.secrets.0.is_empty() || profile.network == sandbox::Network::Host || !reaches_hosts {
            if !request.secrets.0.is_empty() {
                let note = "the secrets of `network.secrets` are not used: no host can be reached here";
                self.findings.notes.push(note.to_owned());
            }
            return None;
        }
        match make_placeholders(request) {
            Ok(kept) => {
                let variables =
                    kept.all.iter().map(|one| (one.name.clone().into(), one.stand_in.clone().into()));
                added.extend(variables);
                added.extend(ROOTS.map(|name| (name.into(), kept.bundle.clone().into_os_string())));
                profile.visible.push(kept.bundle.clone());
                Some(kept)
            }
            Err(why) => {
                self.findings.notes.push(format!("the secrets of `network.secrets` are not used: {why}"));
                None
            }
        }
    }

    /// A file with a secret cannot be read inside.
    fn hide_sources(&mut self, request: &SandboxRequest) {
        for setting in request.secrets.0.values() {
            if let SecretFrom::File(path) = &setting.from
                && let Ok(real) = fs::canonicalize(at_home(path, request.home.as_deref()))
            {
                self.places.add(real, Hold::Hidden, "a secret of `network.secrets` is in it");
            }
        }
    }
}

/// The environment without the variables that secrets are in, whatever they are called.
pub(crate) fn without_sources(request: &SandboxRequest) -> Cow<'_, [(OsString, OsString)]> {
    if request.secrets.0.is_empty() {
        return Cow::Borrowed(&request.environment);
    }
    let is_source = |name: &OsString| {
        request.secrets.0.iter().any(|(own, setting)| match &setting.from {
            SecretFrom::Env(source) => name == source.as_str() || name == own.as_str(),
            SecretFrom::File(_) => name == own.as_str(),
        })
    };
    request.environment.iter().filter(|(name, _)| !is_source(name)).cloned().collect()
}

/// The placeholders, and the file with all authorities that are believed inside.
fn make_placeholders(request: &SandboxRequest) -> io::Result<SecretPlaceholders> {
    let all = request.secrets.0.iter().map(|(name, setting)| {
        let stand_in = format!("pinfold_{}_{}", name.to_ascii_lowercase(), random()?);
        Ok(Placeholder { name: name.clone(), setting: setting.clone(), stand_in })
    });
    let all = all.collect::<io::Result<Vec<_>>>()?;
    let authority =
        EphemeralCa::new(all.iter().map(|one| &one.setting.host.name)).map_err(io::Error::other)?;
    let bundle = fs::canonicalize(request.private.path()?)?.join(format!("authorities-{}.pem", random()?));
    fs::write(&bundle, pinfold_net::pem_bundle(authority.pem()))?;
    Ok(SecretPlaceholders { authority: Arc::new(authority), all, home: request.home.clone(), bundle })
}

fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    if getrandom(&mut bytes, GetRandomFlags::empty())? < bytes.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn at_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

impl SecretPlaceholders {
    /// Reads the secrets.
    ///
    /// # Errors
    /// When one of them is not where it should be. No error has one in its words.
    pub(crate) fn open(&self) -> io::Result<SecretInjector> {
        let secrets = self.all.iter().map(|one| self.read(one)).collect::<io::Result<Vec<_>>>()?;
        SecretInjector::new(secrets, Arc::clone(&self.authority)).map_err(io::Error::other)
    }

    fn read(&self, one: &Placeholder) -> io::Result<InjectedSecret> {
        let SecretSetting { host, header, from } = &one.setting;
        let bad = |why: &str| io::Error::other(format!("the secret `{}` {why}", one.name));
        let text = match from {
            SecretFrom::Env(name) => {
                env::var(name).map_err(|_| bad(&format!("is not there: `{name}` is not set, or no text")))?
            }
            SecretFrom::File(path) => {
                let mut text = String::new();
                let file = File::open(at_home(path, self.home.as_deref()));
                file.and_then(|file| file.take(MAX_SECRET_BYTES).read_to_string(&mut text))
                    .map_err(|e| bad(&format!("cannot be read from `{}`: {e}", path.display())))?;
                text
            }
        };
        let value = text.trim().to_owned();
        let secret = InjectedSecret::new(host.name.clone(), host.port, header, one.stand_in.clone(), value);
        secret.ok_or_else(|| bad("is empty, or has what no header can have"))
    }
}
