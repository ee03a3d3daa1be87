//! Refusals of what a run tried: why, what can be done inside instead, and how the person could let it pass.

use std::borrow::Cow;
use std::path::Path;

use pinfold_policy::SourcedRule;
use pinfold_sandbox::{Intent, program_of};

use crate::outcome::shown_program;

/// Advice to a process that would write outside.
pub const INSTEAD_OUTSIDE: &str =
    "write inside the folder or to $TMPDIR; ask the user to do what belongs elsewhere";

/// Advice to the user about a write outside.
pub const TO_ALLOW_OUTSIDE: &str = "start with --add-dir or --allow-write";

/// Advice to the user about a denial by rule.
pub(super) const CHANGE_THE_RULE: &str = "change or remove the rule";

/// Trees that look like files and are the kernel's own.
pub(super) const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A refusal in the making.
pub(super) struct Denial {
    pub(super) why: String,
    pub(super) instead: &'static str,
    pub(super) to_allow: Cow<'static, str>,
    /// The kernel does not deny it: the supervisor has to.
    pub(super) by_us: bool,
    /// An approver may allow it.
    pub(super) negotiable: bool,
    /// The rule that says so, and where it stands.
    pub(super) rule: Option<(String, String)>,
}

impl Denial {
    pub(super) fn watched(why: &str) -> Self {
        let instead = "use `git init` or `git clone`, or tell the user what is needed there";
        Self {
            why: why.to_owned(),
            instead,
            to_allow: "make it yourself outside the run".into(),
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// Something inside the folder, or hidden, that is held for a reason.
    pub(super) fn protected(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            instead: "leave it as it is, and tell the user what would have to change there",
            to_allow: "change it yourself, or start with --allow-write".into(),
            by_us: false,
            negotiable: false,
            rule: None,
        }
    }

    /// A set-id bit of a file. Of any place, the run's own too: from there it could be moved.
    pub(super) fn sets_id() -> Self {
        Self {
            to_allow: "set it yourself outside the run".into(),
            by_us: true,
            ..Self::protected(
                "every user of this machine who runs it would have the rights of its owner or group",
            )
        }
    }

    /// Returns the refusal for a file with other names, under which it would change too.
    pub(super) fn linked() -> Self {
        Self {
            why: "it has other names (hard links), and not all of them are known to lie in the folder".into(),
            instead: "write a copy and rename it over this name: the file keeps its content by its other names",
            to_allow: "start with --allow-write and its path".into(),
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// Returns the refusal by a deny rule.
    pub(super) fn denied(rule: &SourcedRule) -> Self {
        Self {
            why: format!("{} denies it", crate::denied::describe_rule(rule)),
            instead: "leave it alone, and tell the user what it is needed for",
            to_allow: CHANGE_THE_RULE.into(),
            by_us: true,
            negotiable: false,
            rule: Some((rule.rule.to_string(), rule.source.to_string())),
        }
    }

    pub(super) fn unreadable(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            instead: "do without it, and tell the user what it is needed for",
            to_allow: "start with --allow-read and its path".into(),
            by_us: false,
            negotiable: false,
            rule: None,
        }
    }

    pub(super) fn network(host: &str) -> Self {
        Self {
            why: "the network is off".into(),
            instead: "do without it, and tell the user what would have to be fetched",
            to_allow: format!("start with --allow-host {host} if it has to be reached").into(),
            by_us: false,
            negotiable: false,
            rule: None,
        }
    }

    /// Returns the refusal at a port that no rule names.
    pub(super) fn port() -> Self {
        Self {
            why: "no rule allows any host at this port".into(),
            instead: "use the port of a host that was allowed, or tell the user which host and port are needed",
            to_allow: "start with --allow-host NAME:PORT".into(),
            by_us: false,
            negotiable: false,
            rule: None,
        }
    }

    pub(super) fn undeclared(place: &Path) -> Self {
        Self {
            why: "this socket of a program on this machine was not declared".into(),
            instead: "do without it, or tell the user which program has to be reached and for what",
            to_allow: allow_socket(place),
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// Returns the refusal on the Landlock tier, where there are hosts to be reached.
    pub(super) fn unproxied() -> Self {
        Self {
            why: "without a network of its own a run reaches hosts by the proxy alone".into(),
            instead: "use a program, or an option, that goes by HTTP_PROXY and HTTPS_PROXY",
            to_allow: "run it where the full tier can be had (`pinfold doctor`)".into(),
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// Returns the refusal of a direct connection where no host is reached by the proxy either.
    pub(super) fn unlisted_and_unproxied(host: &str) -> Self {
        let to_allow = format!("start with --allow-host {host}, with a program that goes by HTTP_PROXY");
        Self { why: "no rule allows this host".into(), to_allow: to_allow.into(), ..Self::unproxied() }
    }

    /// Returns the refusal of a server, which would be one of the machine.
    pub(super) fn server() -> Self {
        Self {
            why: "without a network of its own no process of a run can listen".into(),
            instead: "do without a server, and tell the user what would have to listen",
            to_allow: "run it where the full tier can be had (`pinfold doctor`)".into(),
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// They speak to the kernel, to devices, or past the rules of the internet.
    pub(super) fn uncommon() -> Self {
        Self {
            why: "sockets of this kind are closed".into(),
            instead: "do without it, and tell the user what it was for",
            to_allow: "nothing allows that".into(),
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }

    /// `place`: a path or an abstract name, or the kind of the socket where no more is known. `declarable`: single ones can be
    /// declared here.
    pub(super) fn brokers(place: &Path, declarable: bool) -> Self {
        Self {
            why: "sockets to programs on this machine are closed".into(),
            instead: "do without it; a server of your own can listen on 127.0.0.1",
            to_allow: if declarable { allow_socket(place) } else { OPEN_SOCKETS.into() },
            by_us: true,
            negotiable: false,
            rule: None,
        }
    }
}

/// Advice to the user about sockets of this machine.
const OPEN_SOCKETS: &str = "start with --allow-feature unix-sockets if it cannot do without";

fn allow_socket(place: &Path) -> Cow<'static, str> {
    if place.is_absolute() {
        format!("start with --allow-socket {}", place.to_string_lossy().escape_debug()).into()
    } else if place.as_os_str().as_encoded_bytes().starts_with(b"@") {
        format!("{OPEN_SOCKETS}: abstract names cannot be allowed one by one").into()
    } else {
        "start with --allow-socket and the path of the one that it needs".into()
    }
}

/// Returns the name of an intent in reports.
pub fn intent_name(intent: Intent) -> &'static str {
    match intent {
        Intent::Read => "read",
        Intent::Write => "write",
        Intent::Create => "create",
        Intent::MakeDir => "make directory",
        Intent::Remove => "remove",
        Intent::MoveFrom => "move away",
        Intent::MoveTo => "move to",
        Intent::HardLinkSource => "link to",
        Intent::Symlink => "link",
        Intent::Metadata => "change mode or owner",
        Intent::Lock => "lock",
        Intent::Access => "ask about",
        Intent::Connect => "connect",
        Intent::Bind => "bind socket",
        Intent::Socket => "open socket",
    }
}

/// The name of the program that a process runs, in characters that can be shown.
pub(super) fn program(pid: i32) -> String {
    shown_program(&program_of(pid))
}
