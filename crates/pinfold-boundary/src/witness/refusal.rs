//! Refusals of what a run tried: why, what can be done inside instead, and how the person could let it pass.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold_policy::SourcedRule;
use pinfold_sandbox::{Intent, Tier};
use serde::Serialize;

/// How many different refusals are remembered; more are only counted.
pub(crate) const MOST: usize = 1000;

/// Something that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Its name in the record, where it has one already. Others are numbered at the end.
    #[serde(skip)]
    pub id: Option<String>,
    /// What was tried: `write`, `create`, `remove`, `connect`, `reach`, …
    pub tried: &'static str,
    /// Where.
    pub place: PathBuf,
    /// By which program, if it could be seen.
    pub program: String,
    /// How often.
    pub times: u64,
    /// Why not: one clause.
    pub why: String,
    /// The rule that says so, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What whoever runs inside can do instead. Never how the line is widened: that is not theirs to say.
    pub instead: &'static str,
    /// How the person who drew the line could let it pass.
    pub to_allow: Cow<'static, str>,
}

/// What whoever runs inside can do instead of writing outside.
pub const INSTEAD_OUTSIDE: &str =
    "write inside the folder or to $TMPDIR; what belongs elsewhere is for the person to do";

/// How the person can let a write outside pass.
pub const TO_ALLOW_OUTSIDE: &str = "start with --add-dir or --allow-write";

/// What looks like files and is the kernel's own.
pub(super) const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A refusal in the making.
pub(super) struct No {
    pub(super) why: String,
    pub(super) instead: &'static str,
    pub(super) to_allow: &'static str,
    /// No wall stands there: the watch itself has to say no.
    pub(super) by_us: bool,
    /// Somebody may let it pass.
    pub(super) negotiable: bool,
    /// The rule that says so, and where it stands.
    pub(super) rule: Option<(String, String)>,
}

impl No {
    pub(super) fn watched(why: &str) -> Self {
        let instead = "use `git init` or `git clone`, or tell the person what is needed there";
        Self {
            why: why.to_owned(),
            instead,
            to_allow: "make it yourself outside the run",
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// Something inside the folder, or hidden, that is held for a reason.
    pub(super) fn held(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            instead: "leave it as it is, and tell the person what would have to change there",
            to_allow: "change it yourself, or start with --allow-write",
            by_us: false,
            negotiable: false,
            rule: None,
        }
    }

    /// By a deny rule.
    pub(super) fn denied(rule: &SourcedRule) -> Self {
        Self {
            why: format!("{} denies it", crate::denied::named(rule)),
            instead: "leave it alone, and tell the person what it is needed for",
            to_allow: "change or remove the rule",
            by_us: true,
            negotiable: false,
            rule: Some((rule.rule.to_string(), rule.source.to_string())),
        }
    }

    pub(super) fn unreadable(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            instead: "do without it, and tell the person what it is needed for",
            to_allow: "start with --allow-read and its path",
            by_us: false,
            negotiable: false,
            rule: None,
        }
    }

    pub(super) fn network() -> Self {
        Self {
            why: "the network is off".into(),
            instead: "do without it, and tell the person what would have to be fetched",
            to_allow: "start with --allow-host NAME if it has to be reached",
            by_us: false,
            negotiable: false,
            rule: None,
        }
    }

    pub(super) fn undeclared() -> Self {
        Self {
            why: "this socket of a program on this machine was not declared".into(),
            instead: "do without it, or tell the person which program has to be reached and for what",
            to_allow: "start with --allow-socket and its path; abstract names cannot be allowed",
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// On the Landlock tier, where there are hosts to be reached.
    pub(super) fn unproxied() -> Self {
        Self {
            why: "without a network of its own a run reaches hosts by the proxy alone".into(),
            instead: "use a program, or an option, that goes by HTTP_PROXY and HTTPS_PROXY",
            to_allow: "run it where the full tier can be had (`pinfold doctor`)",
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// They speak to the kernel, to devices, or past the rules of the internet.
    pub(super) fn uncommon() -> Self {
        Self {
            why: "sockets of this kind are closed".into(),
            instead: "do without it, and tell the person what it was for",
            to_allow: "nothing allows that",
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    pub(super) fn brokers(tier: Tier) -> Self {
        Self {
            why: "sockets to programs on this machine are closed".into(),
            instead: "do without it; a server of your own can listen on 127.0.0.1",
            to_allow: match tier {
                Tier::Full => "start with --allow-socket and the path of the one that it needs",
                Tier::Landlock => "start with --open unix-sockets if it cannot do without",
            },
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }
}

/// What an intent is called in reports.
pub fn word(intent: Intent) -> &'static str {
    match intent {
        Intent::Read => "read",
        Intent::Write => "write",
        Intent::Create => "create",
        Intent::MakeDir => "make directory",
        Intent::Remove => "remove",
        Intent::MoveFrom => "move away",
        Intent::MoveTo => "move to",
        Intent::LinkFrom => "link to",
        Intent::Symlink => "link",
        Intent::Metadata => "change mode or owner",
        Intent::Lock => "lock",
        Intent::Access => "ask about",
        Intent::Connect => "connect",
        Intent::Socket => "open socket",
    }
}

/// The name of the program that a process runs: that of its executable, since a name that the kernel keeps beside it is
/// cut short, belongs to one thread, and is the program's own to change. Of an interpreter also the script.
pub(crate) fn program(pid: i32) -> String {
    let executable = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let name =
        executable.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let name = name.map(|name| name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned());
    let name = name.unwrap_or_else(|| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default());
    let script = INTERPRETERS.iter().any(|known| name.starts_with(known)).then(|| script(pid)).flatten();
    match script {
        Some(script) => format!("{} ({})", name.trim_end().escape_debug(), script.escape_debug()),
        None => name.trim_end().escape_debug().to_string(),
    }
}

/// Programs whose name says little beside that of their script.
const INTERPRETERS: [&str; 9] = ["bun", "deno", "java", "node", "perl", "php", "python", "ruby", "uv"];

/// The script that an interpreter was started with: its first argument, unless that is an option.
fn script(pid: i32) -> Option<String> {
    const ENOUGH: u64 = 4096;
    let mut text = Vec::new();
    fs::File::open(format!("/proc/{pid}/cmdline")).ok()?.take(ENOUGH).read_to_end(&mut text).ok()?;
    let argument =
        text.split(|byte| *byte == 0).nth(1).filter(|word| !word.is_empty() && !word.starts_with(b"-"))?;
    Some(Path::new(OsStr::from_bytes(argument)).file_name()?.to_string_lossy().into_owned())
}
