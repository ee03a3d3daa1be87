//! Folders that are no project: a grant around them would protect nothing that a person cares about.
//!
//! One check for every way in. It compares resolved paths and looks at nothing.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// Directories of the kernel.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Directories in which every run has places of its own. What lies below them can be a project.
const OF_EVERY_RUN: [&str; 3] = ["/run", "/tmp", "/var/tmp"];

/// The person's own folders, and their confirmation of the one that is to be granted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderChoice {
    /// Home directories, resolved.
    pub homes: Vec<PathBuf>,
    /// Directories of the `PATH`, resolved: what is written there runs later.
    pub programs: Vec<PathBuf>,
    /// The person named the folder, and said beside it that it may be a home (`--folder ~ --allow-home`).
    pub said_twice: bool,
    /// No folder is granted: calls are only judged.
    pub only_judged: bool,
}

/// Reason why a folder is not granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoProject {
    /// The root of the file system.
    Root,
    /// A directory of the kernel.
    Kernel,
    /// A directory that every run has of its own.
    OfEveryRun,
    /// A home directory.
    Home,
    /// A directory above a home directory.
    AboveHome(PathBuf),
    /// A directory that holds one of the `PATH`.
    HoldsPrograms(PathBuf),
}

impl NoProject {
    /// Returns `true` if the person can say twice that they mean it.
    pub fn can_be_meant(&self) -> bool {
        match self {
            Self::Root | Self::Kernel | Self::OfEveryRun => false,
            Self::Home | Self::AboveHome(_) | Self::HoldsPrograms(_) => true,
        }
    }
}

/// Why, and what to do.
impl fmt::Display for NoProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MEND: &str = "name the directory of one project";
        match self {
            Self::Root | Self::Kernel => f.write_str(MEND),
            Self::OfEveryRun => write!(f, "every run has one of its own there; {MEND}, below it if need be"),
            Self::Home => write!(f, "it is a home directory; {MEND}, or say --folder and --allow-home"),
            Self::AboveHome(home) => {
                let home = home.display();
                write!(f, "the home directory `{home}` lies in it; {MEND}, or say --folder and --allow-home")
            }
            Self::HoldsPrograms(place) => {
                let place = place.display();
                write!(
                    f,
                    "`{place}` lies in it, which is on the PATH: what is written there runs later; {MEND}, or say \
                     --folder and --allow-home"
                )
            }
        }
    }
}

impl FolderChoice {
    /// Returns the choice for sessions that execute nothing.
    #[must_use]
    pub fn only_judged() -> Self {
        Self { only_judged: true, ..Self::default() }
    }

    /// Adds one more home directory, resolved.
    #[must_use]
    pub fn with_home(mut self, home: Option<&Path>) -> Self {
        self.homes.extend(home.map(Path::to_owned));
        self
    }

    /// Why a resolved folder is not granted.
    ///
    /// # Errors
    /// [`NoProject`].
    pub fn check(&self, folder: &Path) -> Result<(), NoProject> {
        match self.objection(folder) {
            Some(no) if !(self.only_judged || self.said_twice && no.can_be_meant()) => Err(no),
            _ => Ok(()),
        }
    }

    fn objection(&self, folder: &Path) -> Option<NoProject> {
        if folder.parent().is_none() {
            return Some(NoProject::Root);
        }
        if KERNEL.iter().any(|kernel| folder.starts_with(kernel)) {
            return Some(NoProject::Kernel);
        }
        if OF_EVERY_RUN.iter().any(|own| folder == Path::new(own)) {
            return Some(NoProject::OfEveryRun);
        }
        // A user without a home has the root for one.
        let mut homes = self.homes.iter().filter(|home| home.parent().is_some());
        if let Some(home) = homes.find(|home| home.starts_with(folder)) {
            let is_home = home.as_path() == folder;
            return Some(if is_home { NoProject::Home } else { NoProject::AboveHome(home.clone()) });
        }
        let is_of_others = |place: &&PathBuf| {
            place.strip_prefix(folder).is_ok_and(|below| !below.components().any(is_of_the_project))
        };
        let holds = self.programs.iter().find(is_of_others);
        holds.map(|place| NoProject::HoldsPrograms(place.clone()))
    }
}

/// Directories of a project in which its own programs stand, and which are put on the `PATH` while a person works there.
const OF_THE_PROJECT: [&str; 5] = [".direnv", ".tox", ".venv", "node_modules", "venv"];

fn is_of_the_project(component: Component<'_>) -> bool {
    OF_THE_PROJECT.iter().any(|name| component.as_os_str() == *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice() -> FolderChoice {
        FolderChoice {
            homes: vec!["/home/ana".into(), "/root".into(), "/".into()],
            programs: vec![
                "/srv/site/.venv/bin".into(),
                "/srv/site/node_modules/.bin".into(),
                "/usr/local/bin".into(),
                "/home/ana/.local/bin".into(),
                "/opt/tool/bin".into(),
            ],
            ..FolderChoice::default()
        }
    }

    #[test]
    fn a_home_what_is_above_it_and_what_holds_programs_is_no_project() {
        use NoProject as N;
        let programs = |place: &str| Some(N::HoldsPrograms(place.into()));
        for (folder, no) in [
            ("/", Some(N::Root)),
            ("/proc", Some(N::Kernel)),
            ("/proc/1/cwd", Some(N::Kernel)),
            ("/sys/fs", Some(N::Kernel)),
            ("/dev/shm/x", Some(N::Kernel)),
            ("/run", Some(N::OfEveryRun)),
            ("/run/user/1000/project", None),
            ("/tmp", Some(N::OfEveryRun)),
            ("/tmp/project", None),
            ("/var/tmp", Some(N::OfEveryRun)),
            ("/home/ana", Some(N::Home)),
            ("/root", Some(N::Home)),
            ("/home", Some(N::AboveHome("/home/ana".into()))),
            ("/usr", programs("/usr/local/bin")),
            ("/usr/local", programs("/usr/local/bin")),
            ("/usr/local/bin", programs("/usr/local/bin")),
            ("/home/ana/.local", programs("/home/ana/.local/bin")),
            ("/opt/tool", programs("/opt/tool/bin")),
            ("/home/ana/p", None),
            ("/home/anabel", None),
            ("/opt/tool/bin/x", None),
            ("/opt/toolbox", None),
            ("/srv/site", None),
            ("/procedures", None),
        ] {
            assert_eq!(choice().check(Path::new(folder)).err(), no, "{folder}");
        }
    }

    #[test]
    fn what_can_be_meant_is_granted_once_it_is_said_twice() {
        let said_twice = FolderChoice { said_twice: true, ..choice() };
        for (folder, granted) in
            [("/home/ana", true), ("/home", true), ("/usr/local", true), ("/", false), ("/proc/self", false)]
        {
            assert_eq!(said_twice.check(Path::new(folder)).is_ok(), granted, "{folder}");
        }
        assert_eq!(FolderChoice::only_judged().check(Path::new("/")), Ok(()));
    }
}
