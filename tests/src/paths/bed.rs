//! The tree of one case: `$T` with `$ROOT`, `$OUTSIDE` and `$HOME` in it, and the session that works there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use pinfold::audit::Memory;
use pinfold::paths::Strategy;
use pinfold::policy::{Access, Interaction, PathText, Principal};
use pinfold::{Ambient, Plan, Session};

use super::case::{Case, expand};

/// The tree of one case.
#[derive(Debug)]
pub struct Bed {
    temp: tempfile::TempDir,
    /// The folders by the names that cases use.
    pub names: BTreeMap<&'static str, PathBuf>,
    teardown: Option<String>,
}

impl Bed {
    /// Builds the tree.
    ///
    /// # Errors
    /// What the setup said when it failed.
    pub fn build(case: &Case) -> Result<Self, String> {
        let temp = tempfile::tempdir().map_err(|error| error.to_string())?;
        let top = temp.path().canonicalize().map_err(|error| error.to_string())?;
        let mut names = BTreeMap::from([("T", top.clone())]);
        for (name, folder) in [("ROOT", "root"), ("OUTSIDE", "outside"), ("HOME", "home")] {
            std::fs::create_dir(top.join(folder)).map_err(|error| error.to_string())?;
            names.insert(name, top.join(folder));
        }
        let bed = Self { temp, names, teardown: case.teardown.clone() };
        if case.requires.iter().any(|what| what == "casefold") {
            bed.fold_case()?;
        }
        bed.shell(&case.setup).map_err(|error| format!("setup: {error}"))?;
        Ok(bed)
    }

    /// Makes the root a folder where `A` and `a` are one name.
    fn fold_case(&self) -> Result<(), String> {
        self.shell("mount -t tmpfs -o casefold pinfold-test \"$ROOT\" && mkdir \"$ROOT/.probe\" && chattr +F \"$ROOT/.probe\" && rmdir \"$ROOT/.probe\" && chattr +F \"$ROOT\"")
            .inspect_err(|_| drop(self.shell("umount \"$ROOT\" 2>/dev/null")))
    }

    /// The top of everything.
    pub fn top(&self) -> &Path {
        self.names.get("T").map_or_else(|| self.temp.path(), PathBuf::as_path)
    }

    /// The workspace.
    pub fn root(&self) -> PathBuf {
        self.names.get("ROOT").cloned().unwrap_or_default()
    }

    /// Puts the folders in place of their names.
    pub fn expand(&self, text: &str) -> String {
        expand(text, &self.names)
    }

    /// A shell in the root that knows the folders by name.
    pub fn command(&self, lines: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(lines).current_dir(self.root()).stdin(Stdio::null()).envs(&self.names);
        command
    }

    fn shell(&self, lines: &str) -> Result<(), String> {
        let output = self.command(lines).output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Err(words.lines().next().unwrap_or("failed without a word").to_owned())
    }

    /// The folders that may be written, resolved.
    pub fn write_roots(&self, case: &Case) -> Vec<PathBuf> {
        let named = match &case.policy.write_roots {
            Some(roots) => roots.iter().map(|root| PathBuf::from(self.expand(root))).collect(),
            None => vec![self.root()],
        };
        named.into_iter().map(|root: PathBuf| root.canonicalize().unwrap_or(root)).collect()
    }

    /// The session of the case.
    ///
    /// # Errors
    /// When it cannot start.
    pub fn session(&self, case: &Case, strategy: Strategy) -> Result<Session, String> {
        let mut plan = Plan::for_folder(self.root());
        plan.home = self.names.get("HOME").cloned();
        if case.policy.read_only || case.policy.mode.as_deref() == Some("read-only") {
            plan.access = Access::ReadOnly;
        }
        if let Some(roots) = &case.policy.write_roots {
            let mut roots = roots.iter().map(|root| PathBuf::from(self.expand(root)));
            match roots.next() {
                Some(first) => plan.scope.root = first,
                None => plan.access = Access::ReadOnly,
            }
            plan.also_writable = roots.collect();
            plan.scope.display_root.clone_from(&plan.scope.root);
        }
        if let Some(display) = &case.policy.display_root {
            plan.scope.display_root = PathBuf::from(self.expand(display));
            plan.scope.enforce_write = plan.scope.root != plan.scope.display_root;
        }
        if plan.scope.enforce_write {
            plan.principal = Principal::Subagent("case".to_owned());
        }
        plan.interaction = Interaction::Interactive;
        let journal = Arc::new(Memory::default());
        let session =
            Session::open_along(&Ambient::claim(), plan, journal, |line| line.with_strategy(strategy));
        session.map_err(|error| format!("session: {error}"))
    }

    /// The folder that relative paths start from.
    pub fn cwd(&self, case: &Case) -> Option<PathText> {
        case.cwd.as_ref().map(|cwd| PathText::new(self.expand(cwd)))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(lines) = &self.teardown {
            let _ = self.shell(&self.expand(lines));
        }
        // A file system that was mounted over the root goes with the bed; there is none in most.
        let _ = self.command("cd / && umount \"$ROOT\" 2>/dev/null").output();
    }
}
