//! The held places of a permitted call, each with the deeds it was permitted for and no other.

mod in_place;

use std::any::Any;
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use pinfold_paths::{
    Contained, Directory, Expect, Kind, LastLink, OperationError, Outside, PathClaim, Place, Resolution,
    Version,
};
use pinfold_policy::{Claims, GuardHit, Operation, Policy};

use crate::guarded;
use crate::outcome::Failure;
use crate::refusal::RefusalCode;
use crate::session::{Shared, WeakSession};
use crate::shell::ShellHost;
use crate::web::WebHost;

/// The targets of one call, handed out in the order of its claims.
pub struct Targets {
    list: std::vec::IntoIter<Target>,
    /// Only for a call that claims a shell.
    shells: Option<Arc<dyn ShellHost>>,
    /// Only for a call that fetches a page.
    web: Option<Arc<dyn WebHost>>,
    session: WeakSession,
    /// The number of the call.
    id: u64,
}

enum Target {
    Read(ReadTarget),
    Write(WriteTarget),
}

impl Targets {
    /// The held places of a call that may go ahead; `None` when one of them may not be held for its operation.
    pub(crate) fn hold(
        shared: &Arc<Shared>,
        found: Vec<(Operation, Resolution)>,
        claims: &Claims,
        id: u64,
    ) -> Option<Self> {
        let list =
            found.into_iter().map(|(operation, resolution)| Target::new(shared, operation, resolution));
        let shells = shared.hosts.shells.clone().filter(|_| claims.shell.is_some());
        let web = shared.hosts.web.clone().filter(|_| claims.hosts.iter().any(|host| host.at.is_some()));
        let session = WeakSession::new(shared);
        Some(Self { list: list.collect::<Option<Vec<_>>>()?.into_iter(), shells, web, session, id })
    }

    /// The fetcher of the call's page.
    ///
    /// # Errors
    /// When the call fetches none, or the session has nothing of this kind to fetch with.
    pub fn web<W: WebHost>(&self) -> Result<&W, Failure> {
        let host: Option<&dyn Any> = self.web.as_deref().map(|host| host as &dyn Any);
        host.and_then(<dyn Any>::downcast_ref).ok_or_else(|| {
            Failure::plain(RefusalCode::NotHeld, "this session fetches no pages", "do without it")
        })
    }

    /// The host of the call's shell.
    ///
    /// # Errors
    /// When the call claimed no shell, or the session has none of this kind.
    pub fn shells<S: ShellHost>(&self) -> Result<&S, Failure> {
        let host: Option<&dyn Any> = self.shells.as_deref().map(|host| host as &dyn Any);
        host.and_then(<dyn Any>::downcast_ref).ok_or_else(unclaimed)
    }

    /// The session that the call belongs to: what a shell of it tries goes down the same road.
    pub fn session(&self) -> &WeakSession {
        &self.session
    }

    /// `SESSION:CALL`: the name of the call in the record; `None` when the session is over.
    pub fn call(&self) -> Option<String> {
        self.session.upgrade().map(|session| format!("{}:{}", session.id(), self.id))
    }

    /// The next target, which the call reads.
    ///
    /// # Errors
    /// When the call claimed nothing more to read: a mistake in the tool, answered like any failure.
    pub fn next_read(&mut self) -> Result<ReadTarget, Failure> {
        match self.list.next() {
            Some(Target::Read(target)) => Ok(target),
            Some(Target::Write(_)) | None => Err(unclaimed()),
        }
    }

    /// The next target, which the call writes.
    ///
    /// # Errors
    /// When the call claimed nothing more to write.
    pub fn next_write(&mut self) -> Result<WriteTarget, Failure> {
        match self.list.next() {
            Some(Target::Write(target)) => Ok(target),
            Some(Target::Read(_)) | None => Err(unclaimed()),
        }
    }
}

fn unclaimed() -> Failure {
    Failure::input(
        "the tool wanted something that its call does not claim",
        "report this as a defect of the tool",
    )
}

impl Target {
    fn new(shared: &Arc<Shared>, operation: Operation, resolution: Resolution) -> Option<Self> {
        let shared = Arc::clone(shared);
        match (resolution, operation.writes()) {
            (Resolution::Contained(place), true) => {
                Some(Self::Write(WriteTarget { place, inside: true, shared }))
            }
            (Resolution::Contained(place), false) => {
                Some(Self::Read(ReadTarget { place: HeldTarget::Inside(place), shared }))
            }
            (Resolution::Outside(place), false) => {
                Some(Self::Read(ReadTarget { place: HeldTarget::Outside(place), shared }))
            }
            // Judged and allowed all the same: by a rule that names it, by a mode, by a person.
            (Resolution::Outside(place), true) => {
                Some(Self::Write(WriteTarget { place: place.consented()?, inside: false, shared }))
            }
            (Resolution::Unresolved(_), _) => None,
        }
    }
}

enum HeldTarget {
    Inside(Contained),
    Outside(Outside),
}

/// A place that may be read.
pub struct ReadTarget {
    place: HeldTarget,
    shared: Arc<Shared>,
}

impl Deref for HeldTarget {
    type Target = Place;

    fn deref(&self) -> &Place {
        match self {
            Self::Inside(place) => place,
            Self::Outside(place) => place,
        }
    }
}

/// The entries that a walk passes over.
#[derive(Debug)]
pub struct ExcludedEntries(Arc<Policy>);

impl ExcludedEntries {
    /// Returns true if this file or folder is passed over, with all below it.
    pub fn covers(&self, real: &Path) -> bool {
        self.0.leaves_out(real)
    }
}

/// The longest ignore file that is read: far longer than anyone writes.
const MAX_RULES_LEN: u64 = 1024 * 1024;

impl ReadTarget {
    fn place(&self) -> &Place {
        &self.place
    }

    /// The place as the caller knows it.
    pub fn shown(&self) -> String {
        self.shared.show(self.place().asked())
    }

    /// The real path: for names to show and to compare with guards, never for opening.
    pub fn real(&self) -> &Path {
        self.place().real()
    }

    /// The kind of the thing there.
    pub fn kind(&self) -> Kind {
        self.place().kind()
    }

    /// Opens the file, with the state it is in.
    ///
    /// # Errors
    /// In the words of a failure.
    pub fn open_file(&self) -> Result<(File, Version), Failure> {
        self.place().open_file_with_version().map_err(|error| failure(&self.shown(), &error))
    }

    /// Opens the folder.
    ///
    /// # Errors
    /// In the words of a failure.
    pub fn open_dir(&self) -> Result<Directory, Failure> {
        self.place().open_dir().map_err(|error| failure(&self.shown(), &error))
    }

    /// Notes that the caller has now seen the file in this state.
    pub fn mark_read(&self, version: Version) {
        self.shared.seen.mark(self.place().real(), version);
    }

    /// A path below, as the caller knows it.
    pub fn show(&self, path: &Path) -> String {
        self.shared.show(path)
    }

    /// The text of a file elsewhere that says how to walk here (`.gitignore` of a folder above), when it is a small
    /// one.
    pub fn walking_rules(&self, path: &Path) -> Option<String> {
        let place = self.resolve_other(path)?;
        let mut text = String::new();
        let file = place.open_file().ok()?;
        file.take(MAX_RULES_LEN).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Returns true if anything stands at a place elsewhere.
    pub fn stands(&self, path: &Path) -> bool {
        self.resolve_other(path).is_some_and(|place| !matches!(place.kind(), Kind::Missing { .. }))
    }

    /// Reads range over everything, so that looking beside the target needs no further word.
    fn resolve_other(&self, path: &Path) -> Option<HeldTarget> {
        match self.shared.bounds.line.resolve(Path::new("/"), &PathClaim::new(path), LastLink::Follow) {
            Resolution::Contained(place) => Some(HeldTarget::Inside(place)),
            Resolution::Outside(place) => Some(HeldTarget::Outside(place)),
            Resolution::Unresolved(_) => None,
        }
    }

    /// The entries that a walk passes over, by the rules and scopes that hold now.
    pub fn left_out(&self) -> ExcludedEntries {
        ExcludedEntries(self.shared.judged_by().policy)
    }

    /// The guard that keeps a file met on a walk from being read.
    pub fn guard_of(&self, real: &Path, open: impl FnOnce() -> Option<File>) -> Option<GuardHit> {
        guarded::find_for_member(&self.shared, real, open)
    }

    /// Copies the file or folder to a place where nothing stands.
    ///
    /// # Errors
    /// In the words of a failure; a folder may have been copied in part.
    pub fn copy_to(&self, to: &WriteTarget) -> Result<(), Failure> {
        self.place().copy_to(&to.place).map_err(|error| failure(&to.shown(), &error))
    }
}

/// A place that may be changed. It lies inside the line, or an approver consented to it.
pub struct WriteTarget {
    place: Contained,
    inside: bool,
    shared: Arc<Shared>,
}

impl WriteTarget {
    /// The place as the caller knows it.
    pub fn shown(&self) -> String {
        self.shared.show(self.place.asked())
    }

    /// The real path: for showing and comparing, never for opening.
    pub fn real(&self) -> &Path {
        self.place.real()
    }

    /// The kind of the thing there when it was judged.
    pub fn kind(&self) -> Kind {
        self.place.kind()
    }

    /// Opens the file for reading, in the state that was judged.
    ///
    /// # Errors
    /// [`RefusalCode::StaleRead`] when it is in another state by now.
    pub fn open_file(&self) -> Result<(File, Version), Failure> {
        let (file, version) = self.place.open_file_with_version().map_err(|error| self.failure(&error))?;
        if Some(version) == self.place.version() {
            Ok((file, version))
        } else {
            Err(self.failure(&OperationError::Stale))
        }
    }

    /// Puts `bytes` in place of the content that was judged, in one step; creates the file when nothing stood there.
    ///
    /// # Errors
    /// In the words of a failure; the old content is then untouched.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), Failure> {
        // A file with more names is asked about; a permit without a question is for one name.
        let expect = Expect { version: self.place.version(), links: Some(1) };
        let written = self.place.replace(bytes, expect).map_err(|error| self.failure(&error))?;
        self.shared.seen.mark(self.place.real(), written);
        Ok(())
    }

    /// Creates the file with its content; nothing may stand there.
    ///
    /// # Errors
    /// In the words of a failure.
    pub fn create_new(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.create_with_mode(bytes, pinfold_paths::NEW_FILE_MODE)
    }

    /// The same with permission bits.
    ///
    /// # Errors
    /// In the words of a failure.
    pub fn create_with_mode(&self, bytes: &[u8], mode: u32) -> Result<(), Failure> {
        let written = self.place.create_new(bytes, mode).map_err(|error| self.failure(&error))?;
        self.shared.seen.mark(self.place.real(), written);
        Ok(())
    }

    /// Makes the folder and those above it. `false` when it was there.
    ///
    /// # Errors
    /// In the words of a failure.
    pub fn make_dirs(&self) -> Result<bool, Failure> {
        self.place.make_dirs().map_err(|error| self.failure(&error))
    }

    /// Removes the file or link.
    ///
    /// # Errors
    /// In the words of a failure.
    pub fn remove(&self) -> Result<(), Failure> {
        self.place.remove().map_err(|error| self.failure(&error))?;
        self.shared.seen.forget(self.place.real());
        Ok(())
    }

    /// Removes the empty folder.
    ///
    /// # Errors
    /// In the words of a failure.
    pub fn remove_dir(&self) -> Result<(), Failure> {
        self.place.remove_dir().map_err(|error| self.failure(&error))
    }

    /// Removes the folder with all that is in it.
    ///
    /// # Errors
    /// In the words of a failure; part of it may be gone.
    pub fn remove_tree(&self) -> Result<(), Failure> {
        self.place.remove_tree().map_err(|error| self.failure(&error))
    }

    /// Gives what stands here the name `to`.
    ///
    /// # Errors
    /// In the words of a failure.
    pub fn rename_to(&self, to: &Self, overwrite: bool) -> Result<(), Failure> {
        self.place.rename_to(&to.place, overwrite).map_err(|error| match error {
            // These speak of the destination; the others of the source.
            OperationError::Exists | OperationError::IsFolder | OperationError::Special => to.failure(&error),
            other => self.failure(&other),
        })?;
        self.shared.seen.forget(self.place.real());
        self.shared.seen.forget(to.place.real());
        Ok(())
    }

    fn failure(&self, error: &OperationError) -> Failure {
        failure(&self.shown(), error)
    }
}

/// A deed that did not happen, in words for a model.
fn failure(shown: &str, error: &OperationError) -> Failure {
    let (code, hint) = match error {
        OperationError::Changed => (RefusalCode::Changed, "look at it again, then try again"),
        OperationError::Stale => (RefusalCode::StaleRead, "read it again, then try again"),
        OperationError::Shared(_) => {
            (RefusalCode::RequiresApproval, "ask, since another name of it may lie outside")
        }
        OperationError::Missing => (RefusalCode::NotFound, "list the folder to find the right name"),
        OperationError::Exists => {
            (RefusalCode::AlreadyExists, "choose another name, or say that it may be overwritten")
        }
        OperationError::IsFolder => (RefusalCode::IsAFolder, "name a file, or use LS for the folder"),
        OperationError::NotAFolder => (RefusalCode::NotAFolder, "name a folder"),
        OperationError::IsLink => (RefusalCode::Unresolved, "name what the link points to"),
        OperationError::Special => (RefusalCode::SpecialFile, "leave it alone; use a file"),
        OperationError::Root => (RefusalCode::Denied, "name the files and folders inside it"),
        OperationError::NotEmpty => {
            (RefusalCode::NotEmpty, "set recursive to delete it with everything in it")
        }
        OperationError::Mount => (RefusalCode::Denied, "stay within one file system: copy, then delete"),
        OperationError::TooDeep => (RefusalCode::TooLarge, "take the tree in parts"),
        _ => (RefusalCode::Io, "look at the place, then decide"),
    };
    Failure::with_path(code, shown, format!("{shown}: {error}"), hint)
}
