//! Turns of a run with others in one folder, and the gap where it cannot take any.

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use pinfold_sandbox::Turns;

use crate::boundary::Boundary;

/// The reason why a run takes no turns with others in its folder.
#[derive(Debug)]
pub(crate) enum TurnsError {
    /// No directory is known in which supervisors meet.
    NoDirectory,
    /// The file by which they take turns can be neither opened nor made.
    Unusable { file: PathBuf, error: io::Error },
}

impl Boundary {
    /// Returns the lock by which supervisors in one folder take turns.
    ///
    /// # Errors
    /// The gap, where it cannot be had.
    pub(crate) fn turns(&self) -> Result<Turns, TurnsError> {
        let Some(directory) = self.state_home() else { return Err(TurnsError::NoDirectory) };
        let file = directory.join("turn");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.and_then(|()| Turns::open(&file)).map_err(|error| TurnsError::Unusable { file, error })
    }
}

/// A note for the user, in one sentence.
impl fmt::Display for TurnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MISSING: &str = "what another run in this folder does at the same time is not kept apart from this one, so that it can \
             exchange what was judged here";
        match self {
            Self::NoDirectory => {
                write!(f, "{MISSING}: no state directory is known, as by HOME or XDG_STATE_HOME")
            }
            Self::Unusable { file, error } => {
                write!(f, "{MISSING}: `{}` cannot be opened: {error}", file.display())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pinfold_policy::Guards;
    use pinfold_sandbox::{Strength, Tier};
    use pinfold_testkit::TempTree;

    use super::*;
    use crate::request::SandboxRequest;

    #[test]
    fn a_run_without_turns_says_why() {
        let tree = TempTree::new().with_dirs(["w", "state"]);
        tree.write("file", "");
        let gap = |state_home: Option<&str>| {
            let mut request = SandboxRequest::new(tree.path("w"));
            request.state_home = state_home.map(|name| tree.path(name));
            let strength = Strength { tier: Tier::Landlock, mediated: true };
            let boundary = Boundary::compile(&request, &Guards::default(), strength).unwrap();
            boundary.turns().err().map(|gap| gap.to_string())
        };
        assert_eq!(gap(Some("state")), None, "the control");
        assert!(gap(None).is_some_and(|why| why.contains("no state directory is known")));
        let why = gap(Some("file")).unwrap();
        assert!(why.contains("/file/turn` cannot be opened: "), "{why}");
    }
}
