//! What a run tried and was refused: seen as it happens, told at the end.
//!
//! The walls decide; this only judges by the same [`Boundary`] what the kernel will say. Three kinds of names have
//! no wall, and are refused here: those that would make a repository of a directory without `git init`; where
//! everything can be written, guarded places of the person and the system that are missing; and, where mounts cannot
//! be had, whatever is held inside the folder.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use pinfold_policy::{GuardKind, Held};
use pinfold_sandbox::{self as sandbox, Attempt, Entrances, Intent, Profile, Reply, Temp, Tier, Watcher};
use serde::Serialize;

use crate::boundary::Boundary;
use crate::place::Standing;

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

/// Watches one run.
#[derive(Debug)]
pub struct Witness<'a> {
    boundary: &'a Boundary,
    tier: Tier,
    /// What lies outside is held for somebody to decide.
    negotiates: bool,
    refused: BTreeMap<(Intent, PathBuf), Refused>,
    more: u64,
}

impl<'a> Witness<'a> {
    /// A witness for a run within `boundary`, held by `tier`.
    pub fn new(boundary: &'a Boundary, tier: Tier) -> Self {
        Self { boundary, tier, negotiates: false, refused: BTreeMap::new(), more: 0 }
    }

    /// The same, which holds what lies outside the folder and could be let through. What is held inside, credentials,
    /// and places of the run's own or of the kernel are walls as ever.
    #[must_use]
    pub fn negotiating(self) -> Self {
        Self { negotiates: true, ..self }
    }

    /// What was refused, and how many further ones are not in the list.
    pub fn refused(self) -> (Vec<Refused>, u64) {
        (self.refused.into_values().collect(), self.more)
    }

    fn remember(&mut self, attempt: &Attempt, no: No) -> Reply {
        let reply = if no.by_us { Reply::Refuse } else { Reply::MeetWall };
        let key = (attempt.intent, attempt.place.clone());
        if let Some(known) = self.refused.get_mut(&key) {
            known.times += 1;
        } else if self.refused.len() >= MOST {
            self.more += 1;
        } else {
            let refused = Refused {
                id: None,
                tried: word(attempt.intent),
                place: attempt.place.clone(),
                program: program(attempt.pid),
                times: 1,
                why: no.why,
                rule: None,
                source: None,
                instead: no.instead,
                to_allow: no.to_allow.into(),
            };
            self.refused.insert(key, refused);
        }
        reply
    }

    fn judge(&self, attempt: &Attempt) -> Option<No> {
        match attempt.intent {
            Intent::Socket => return Some(self.socket(&attempt.place)),
            Intent::Connect => return self.connection(&attempt.place),
            _ => {}
        }
        let place = attempt.place.as_path();
        match self.boundary.standing(place) {
            _ if self.is_private(place) => None,
            Standing::Writable => self.name_without_a_wall(attempt),
            Standing::Outside => would_be_done(attempt).then(|| self.outside(attempt)),
            Standing::ReadOnly(held) | Standing::Hidden(held) => would_be_done(attempt).then(|| No {
                why: held.why().to_owned(),
                instead: "leave it as it is, and tell the person what would have to change there",
                to_allow: "change it yourself, or start with --allow-write",
                by_us: self.tier == Tier::Landlock,
                negotiable: false,
            }),
        }
    }

    /// Where hosts can be reached, whoever listens decides; where nobody listens nobody else says it.
    fn connection(&self, place: &Path) -> Option<No> {
        const NAMES: u16 = 53;
        if place.is_absolute() || place.as_os_str().as_encoded_bytes().starts_with(b"@") {
            return Some(No::undeclared());
        }
        let Entrances { ports, .. } = match &self.boundary.profile().network {
            sandbox::Network::Relayed(entrances) => entrances,
            sandbox::Network::Proxied(_) => return Some(No::unproxied()),
            sandbox::Network::Off | sandbox::Network::Host => return Some(No::network()),
        };
        let to: SocketAddr = place.to_str()?.parse().ok()?;
        // Port 0 is how programs find out which way there would be.
        let is_open = [0, NAMES].contains(&to.port()) || ports.contains(&to.port());
        (!is_open).then(|| No {
            why: "no rule allows any host at this port".to_owned(),
            instead: "use the port of a host that was allowed, or tell the person which host and port are needed",
            to_allow: "start with --allow-host NAME:PORT",
            by_us: false,
            negotiable: false,
        })
    }

    fn socket(&self, kind: &Path) -> No {
        match (kind.to_str(), &self.boundary.profile().network) {
            (Some("unix"), _) => No::brokers(self.tier),
            (Some("internet"), sandbox::Network::Proxied(_)) => No::unproxied(),
            (Some("internet"), _) => No::network(),
            _ => No::uncommon(),
        }
    }

    fn outside(&self, attempt: &Attempt) -> No {
        No {
            why: "it lies outside the folder".into(),
            instead: INSTEAD_OUTSIDE,
            to_allow: TO_ALLOW_OUTSIDE,
            by_us: self.tier == Tier::Landlock && attempt.intent == Intent::Metadata,
            negotiable: self.negotiates && !OF_THE_KERNEL.iter().any(|own| attempt.place.starts_with(own)),
        }
    }

    /// Places of the run's own, which look different from outside.
    fn is_private(&self, place: &Path) -> bool {
        let own: &[&str] = match self.tier {
            Tier::Full => &["/tmp", "/var/tmp", "/dev", "/proc"],
            Tier::Landlock => &["/dev", "/proc"],
        };
        let Profile { visible: seen, temp, layers, .. } = self.boundary.profile();
        if matches!(temp, Temp::Directory(own) if place.starts_with(own)) {
            return true;
        }
        // A cache is written to a layer of the run's own.
        if layers.iter().any(|layer| place.starts_with(&layer.shared)) {
            let is_granted = || self.boundary.granted().iter().any(|granted| place.starts_with(granted));
            return match self.boundary.standing(place) {
                Standing::Outside => true,
                Standing::Writable => !is_granted(),
                Standing::ReadOnly(_) | Standing::Hidden(_) => false,
            };
        }
        own.iter().any(|own| place.starts_with(own))
            && self.boundary.standing(place) == Standing::Outside
            // A place from outside that was left uncovered there.
            && !seen.iter().any(|seen| place.starts_with(seen))
    }

    /// Names that would turn a directory into a repository whose configuration the run wrote, or set up what other
    /// programs run, at a depth where no mount stands.
    fn name_without_a_wall(&self, attempt: &Attempt) -> Option<No> {
        let makes = match attempt.intent {
            Intent::Create | Intent::MoveTo | Intent::Symlink => true,
            Intent::MakeDir => false,
            _ => return None,
        };
        let place = attempt.place.as_path();
        let (name, parent) = (place.file_name()?, place.parent()?);
        if self.boundary.is_open(place) {
            return None;
        }
        if makes && name == ".git" {
            if attempt.intent == Intent::Create && self.boundary.expects_worktree(place) {
                return None;
            }
            return Some(No::watched(
                "a `.git` file or link points git at configuration of somebody's making",
            ));
        }
        if completes_a_bare_repository(name, parent) {
            return Some(No::watched(
                "with it the directory would be a repository that nobody made with git",
            ));
        }
        let guard = self.boundary.guard(place)?;
        let held = guard.held() == Held::EvenMissing && guard.kind() != GuardKind::Git
            || self.boundary.would_appear(place);
        let fresh = makes || attempt.intent == Intent::MakeDir;
        (held && fresh).then(|| No::watched(guard.why()))
    }
}

impl Watcher for Witness<'_> {
    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        match self.judge(attempt) {
            None => Reply::GoOn,
            Some(no) if no.negotiable => Reply::Hold,
            // Whoever only asks has tried nothing; the walls answer.
            Some(_) if attempt.intent == Intent::Access => Reply::GoOn,
            Some(no) => self.remember(attempt, no),
        }
    }

    fn not_held(&mut self, attempt: &Attempt) -> Reply {
        let no = self.outside(attempt);
        self.remember(attempt, no)
    }
}

/// What whoever runs inside can do instead of writing outside.
pub const INSTEAD_OUTSIDE: &str =
    "write inside the folder or to $TMPDIR; what belongs elsewhere is for the person to do";

/// How the person can let a write outside pass.
pub const TO_ALLOW_OUTSIDE: &str = "start with --add-dir or --allow-write";

/// What looks like files and is the kernel's own.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A refusal in the making.
struct No {
    why: String,
    instead: &'static str,
    to_allow: &'static str,
    /// No wall stands there: the watch itself has to say no.
    by_us: bool,
    /// Somebody may let it pass.
    negotiable: bool,
}

impl No {
    fn watched(why: &str) -> Self {
        let instead = "use `git init` or `git clone`, or tell the person what is needed there";
        Self {
            why: why.to_owned(),
            instead,
            to_allow: "make it yourself outside the run",
            by_us: true,
            negotiable: false,
        }
    }

    fn network() -> Self {
        Self {
            why: "the network is off".into(),
            instead: "do without it, and tell the person what would have to be fetched",
            to_allow: "start with --allow-host NAME if it has to be reached",
            by_us: false,
            negotiable: false,
        }
    }

    fn undeclared() -> Self {
        Self {
            why: "this socket of a program on this machine was not declared".into(),
            instead: "do without it, or tell the person which program has to be reached and for what",
            to_allow: "start with --allow-socket and its path; abstract names cannot be allowed",
            by_us: true,
            negotiable: false,
        }
    }

    /// On the Landlock tier, where there are hosts to be reached.
    fn unproxied() -> Self {
        Self {
            why: "without a network of its own a run reaches hosts by the proxy alone".into(),
            instead: "use a program, or an option, that goes by HTTP_PROXY and HTTPS_PROXY",
            to_allow: "run it where the full tier can be had (`pinfold doctor`)",
            by_us: true,
            negotiable: false,
        }
    }

    /// They speak to the kernel, to devices, or past the rules of the internet.
    fn uncommon() -> Self {
        Self {
            why: "sockets of this kind are closed".into(),
            instead: "do without it, and tell the person what it was for",
            to_allow: "nothing allows that",
            by_us: true,
            negotiable: false,
        }
    }

    fn brokers(tier: Tier) -> Self {
        Self {
            why: "sockets to programs on this machine are closed".into(),
            instead: "do without it; a server of your own can listen on 127.0.0.1",
            to_allow: match tier {
                Tier::Full => "start with --allow-socket and the path of the one that it needs",
                Tier::Landlock => "start with --open unix-sockets if it cannot do without",
            },
            by_us: true,
            negotiable: false,
        }
    }
}

/// Whether the kernel would do it if nothing held it back: what fails anyway is no refusal.
fn would_be_done(attempt: &Attempt) -> bool {
    match attempt.intent {
        Intent::Create | Intent::MoveTo => attempt.place.parent().is_some_and(Path::is_dir),
        Intent::MakeDir | Intent::Symlink => {
            attempt.place.parent().is_some_and(Path::is_dir) && fs::symlink_metadata(&attempt.place).is_err()
        }
        Intent::Write | Intent::Remove | Intent::MoveFrom | Intent::Metadata | Intent::Access => {
            fs::symlink_metadata(&attempt.place).is_ok()
        }
        Intent::Connect | Intent::Socket => true,
    }
}

/// What git needs to take a directory for a repository:
/// [gitrepository-layout(5)](https://git-scm.com/docs/gitrepository-layout).
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];

fn completes_a_bare_repository(name: &OsStr, parent: &Path) -> bool {
    let part = BARE.iter().any(|b| name == *b) || name == "config";
    let inside_git = parent.components().any(|c| c.as_os_str() == ".git");
    part && !inside_git
        && BARE.iter().filter(|b| name != **b).all(|b| fs::symlink_metadata(parent.join(b)).is_ok())
}

/// What an intent is called in reports.
pub fn word(intent: Intent) -> &'static str {
    match intent {
        Intent::Write => "write",
        Intent::Create => "create",
        Intent::MakeDir => "make directory",
        Intent::Remove => "remove",
        Intent::MoveFrom => "move away",
        Intent::MoveTo => "move to",
        Intent::Symlink => "link",
        Intent::Metadata => "change mode or owner",
        Intent::Access => "ask about",
        Intent::Connect => "connect",
        Intent::Socket => "open socket",
    }
}

/// The name of the program: what the kernel calls it, which the program itself can change.
pub(crate) fn program(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().escape_debug().to_string()
}
