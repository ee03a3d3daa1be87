//! The two strengths that `pinfold run` has.

use std::fmt;
use std::path::Path;

use crate::Who;
use crate::missing::left_out;

/// Parts of the sandbox that stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Namespaces, mounts, Landlock, seccomp.
    Full,
    /// Landlock and seccomp, as where user namespaces are forbidden.
    LandlockOnly,
}

impl Tier {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Full, Self::LandlockOnly];

    /// The options of `pinfold run` that ask for it.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::Full => &[],
            Self::LandlockOnly => &["--landlock-only", "--allow-degraded"],
        }
    }

    /// Whether this machine lets a user have it; if not, [`left_out`] has been told. Found out without pinfold: what
    /// is possible must not depend on what is tested.
    pub fn is_possible_for(self, who: Who) -> bool {
        let namespaces = || {
            let mut attempt = who.command("unshare", Path::new("/"));
            attempt.args(["--user", "--map-current-user", "--mount", "--pid", "--fork", "true"]);
            attempt.output().is_ok_and(|o| o.status.success())
        };
        let possible = self == Self::LandlockOnly || namespaces();
        if !possible {
            left_out(&format!("the {self} tier for {who}"), "this machine forbids user namespaces");
        }
        possible
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::LandlockOnly => "landlock-only",
        })
    }
}
