//! Changes inside the folder by processes of a mediated run.
//!
//! The supervisor executes every such call, so that this is the enforcement itself: a call refused here has no effect,
//! whether the name existed at the start or not, however it is spelled, and whatever else runs. Nothing is searched for
//! beforehand: a place is judged when it is named.

mod access_cache;
mod changes;
mod config_swap;
mod created;
mod git_dir;
mod in_git;
mod index_swap;
mod layouts;
mod linked_changes;
mod linked_files;
mod links;
mod lock_record;
mod locks;
mod nested;
mod read_links;
mod reads;
mod reference_swap;
mod rerere_swap;
mod subtree;
mod swap;
mod trees;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold_policy::git_dir::is_git_dir_marker;
use pinfold_policy::{Guard, GuardKind, KernelProtection};
use pinfold_sandbox::{Attempt, CompletedSyscall, Detail, EntryType, Intent};

use crate::access_list::PathAccess;
use crate::boundary::Boundary;
use crate::build_files::is_build_file;
use crate::git::layout;
use crate::git::person::Person;
use crate::guarded_links::{LinkSearch, LinkedBuildFiles, names_through};
use crate::lookup::{Lookup, is_out_of_sight, is_too_long};
use crate::scan::{Bounds, is_skipped};
use crate::within::{is_same_text, is_within, split};
use access_cache::AccessCache;
pub(crate) use changes::Changes;
use created::CreatedByRun;
pub(crate) use git_dir::{GitPart, part};
use in_git::InGit;
use layouts::Layouts;
use linked_changes::NamesInMoved;
use linked_files::LinkedFiles;
use links::Links;
pub(crate) use locks::Locks;
pub(crate) use read_links::ReadLinks;
pub(crate) use reads::ReadNames;
pub(crate) use subtree::{Visit, WalkOutcome, walk};
use swap::PendingReplacement;
use trees::Trees;

/// Why a change is refused: one clause.
pub(crate) type Why = String;

const STAYS: &str = "it contains protected places, so that it cannot be moved or removed";
const CLOSED: &str = "closed, the directory could not be searched for protected names and what they lead to";
const UNSEEN: &str = "its path cannot be resolved, since a directory above is closed or it is too long: what it belongs to is unknown";

/// The state of one run.
#[derive(Debug, Default)]
pub(crate) struct Mediator {
    created: CreatedByRun,
    layouts: Layouts,
    trees: Trees,
    links: Links,
    linked_files: LinkedFiles,
    linked_build_files: Option<LinkedBuildFiles>,
    names: AccessCache,
    changes: Changes,
    swap: PendingReplacement,
    locks: Locks,
    /// Source of a rename: a call is asked about for each of its places.
    moved: Option<(PathBuf, EntryType)>,
    /// Names in a directory of which a move was just judged.
    names_in_moved: NamesInMoved,
}

impl Mediator {
    pub(crate) fn new(boundary: &Boundary) -> Self {
        let locks = Locks::new(boundary.state_home());
        Self { created: CreatedByRun::new(boundary.granted()), locks, ..Self::default() }
    }

    /// Returns the content in place of that of a renamed file.
    pub(crate) fn content_for(&mut self, attempts: &[Attempt]) -> Option<Vec<u8>> {
        self.swap.content_for(attempts)
    }

    /// Returns the changes, the links by which some of them matter, and the locks that were made.
    pub(crate) fn into_changes(self) -> (Changes, LinkedBuildFiles, Locks) {
        (self.changes, self.linked_build_files.unwrap_or_default(), self.locks)
    }

    /// Returns the [access](Boundary::access) of a place.
    pub(crate) fn access<'b>(&mut self, boundary: &'b Boundary, place: &Path) -> PathAccess<'b> {
        self.names.access(&boundary.places, place)
    }

    /// Says why a change of a place that could be written is refused. `None`: it is allowed, and what matters later is noted.
    pub(crate) fn judge(&mut self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let place = attempt.place.as_path();
        self.swap.forget();
        self.names_in_moved = NamesInMoved::default();
        if attempt.intent == Intent::MoveFrom {
            self.moved = None;
        }
        // All that follows is found by paths.
        if is_too_long(place) || !self.is_beside_moved(attempt) && is_out_of_sight(place) {
            return Some(UNSEEN.to_owned());
        }
        if attempt.intent == Intent::MoveFrom {
            self.moved = entry_type(attempt).map(|entry_type| (place.to_owned(), entry_type));
        }
        // What is there already the kernel says.
        let exists = || is_there(attempt);
        if boundary.is_open(place) || matches!(attempt.intent, Intent::MakeDir | Intent::Symlink) && exists()
        {
            return None;
        }
        // What is opened or made is no directory that was there, nor is what was seen to be none or no link to one.
        let names_none = matches!(attempt.intent, Intent::Create | Intent::MakeDir | Intent::Symlink)
            || matches!(attempt.entry_type, Some(EntryType::Nothing | EntryType::File));
        let innermost = if names_none { split(place).0.unwrap_or(place) } else { place };
        let in_git = self.git_dir_around(boundary, place, innermost);
        let refused = self
            .refuse_by_link(boundary, attempt, in_git.as_ref())
            .or_else(|| self.by_tree(boundary, attempt))
            .or_else(|| self.by_closing(boundary, attempt))
            .or_else(|| self.by_git_dir(boundary, attempt, in_git.as_ref()))
            .or_else(|| self.by_guard(boundary, attempt))
            .or_else(|| self.by_what_lies_beneath(boundary, attempt));
        if refused.is_none() {
            self.note(boundary, attempt, in_git.as_ref());
        }
        refused
    }

    /// Remembers what was carried out.
    pub(crate) fn carried_out(&mut self, done: &CompletedSyscall) {
        let place = done.attempt.place.as_path();
        let is_directory = || match (&done.attempt.detail, &self.moved) {
            (Detail::From(from), Some((moved, entry_type))) if is_same_text(moved, from) => {
                *entry_type == EntryType::Directory
            }
            _ => Lookup::find(place).may_be_directory(),
        };
        let arrived = matches!(
            (done.attempt.intent, &done.attempt.detail),
            (Intent::MoveTo, _) | (Intent::MoveFrom, Detail::Exchange(_))
        );
        if arrived {
            self.linked_files.names_changed();
        }
        let moved_directory = arrived && is_directory();
        self.layouts.carried_out(place, moved_directory);
        self.locks.carried_out(done);
        self.swap.carried_out(&done.attempt);
        if let Some(gone) = done.gone {
            self.created.forget(place, gone);
        }
        if changes_something(&done.attempt) {
            self.trees.named(split(place).1.unwrap_or_default());
        }
        match (done.attempt.intent, &done.attempt.detail) {
            (Intent::MakeDir, _) => {
                done.made.into_iter().for_each(|file| self.created.add(place, file));
                self.trees.forget(place);
            }
            (Intent::MoveTo, Detail::From(from)) => {
                self.trees.forget(from);
                self.trees.forget(place);
                if moved_directory {
                    self.changes.moved(&[(from.as_path(), place)]);
                }
            }
            (Intent::MoveTo, Detail::Exchange(other)) => {
                let mut moves = vec![(other.as_path(), place), (place, other.as_path())];
                for (_, to) in &moves {
                    self.trees.forget(to);
                }
                moves.retain(|(_, to)| Lookup::find(to).may_be_directory());
                self.changes.moved(&moves);
            }
            _ => {}
        }
    }

    /// Held since a guarded name leads there, or would; or since something that is held lies beneath, there or yet to come.
    fn refuse_by_link(
        &mut self,
        boundary: &Boundary,
        attempt: &Attempt,
        in_git: Option<&InGit>,
    ) -> Option<Why> {
        let place = attempt.place.as_path();
        let replaces =
            matches!(attempt.intent, Intent::Remove | Intent::MoveFrom | Intent::MoveTo | Intent::Symlink);
        if replaces && self.names.holds_beneath(&boundary.places, place) {
            return Some(STAYS.to_owned());
        }
        if !self.moves_no_link(attempt)
            && puts_link(attempt)
            && let Some(why) = self.leads_guarded_names_away(boundary, place)
        {
            return Some(why);
        }
        let nearest = in_git.map(|(git_dir, _)| git_dir.as_path()).or_else(|| split(place).0);
        if let Err(why) = self.links.look_above(boundary, &self.created, nearest) {
            return Some(why);
        }
        match self.links.find(place) {
            Some(linked) => Some(linked.why.clone()),
            None if replaces && self.links.lies_beneath(place) => Some(STAYS.to_owned()),
            None => None,
        }
    }

    /// Returns what an attempt moves, if that was judged a moment ago, for the same call.
    fn moved_by(&self, attempt: &Attempt) -> Option<&(PathBuf, EntryType)> {
        let Detail::From(from) = &attempt.detail else { return None };
        self.moved.as_ref().filter(|(moved, _)| is_same_text(moved, from))
    }

    /// Returns whether an attempt gives a file another name in its directory, which was looked up for the name that it had: no directory
    /// is closed in this turn. The new name was looked at in the directory that is held, so that it is not too long.
    fn is_beside_moved(&self, attempt: &Attempt) -> bool {
        let directory = split(&attempt.place).0;
        attempt.entry_type.is_some()
            && self.moved_by(attempt).is_some_and(|(moved, _)| {
                directory.zip(split(moved).0).is_some_and(|(one, other)| is_same_text(one, other))
            })
    }

    /// Returns whether what an attempt moves was found to be no link a moment ago.
    fn moves_no_link(&self, attempt: &Attempt) -> bool {
        self.moved_by(attempt).is_some_and(|(_, entry_type)| *entry_type != EntryType::Link)
    }

    /// Why a link may not stand where guarded names begin (`.config` of `.config/fish`): it would lead them elsewhere.
    fn leads_guarded_names_away(&self, boundary: &Boundary, place: &Path) -> Option<Why> {
        let protected = |name: PathBuf| {
            let (guard, directory) = named_guard(boundary, &name)?;
            self.holds(boundary, &name, (guard, directory), None).then(|| guard.why().to_owned())
        };
        names_through(boundary.guards_by_name(), place).find_map(protected)
    }

    /// Held by the configuration of a repository that it lies in.
    fn by_tree(&mut self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let place = attempt.place.as_path();
        let may_be = |at: &Path| boundary.may_be_in_repository(at);
        let trees = self.trees.find_around(split(place).0?, &self.created, boundary.home(), may_be);
        for tree in trees.iter() {
            if let Some(why) = tree.closed {
                return Some(why.to_owned());
            }
            if let Some((_, why)) = tree.protected.iter().find(|(protected, _)| is_within(place, protected)) {
                return Some((*why).to_owned());
            }
            let is_beneath = |(protected, _): &(PathBuf, _)| is_within(protected, place);
            if tree.protected.iter().any(is_beneath) && moves_away(attempt) {
                return Some(STAYS.to_owned());
            }
        }
        None
    }

    /// A directory that was there can go on to be looked at, and so can one with a guarded name that is a link: the next run has to see
    /// where that leads.
    fn by_closing(&self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let place = attempt.place.as_path();
        if attempt.intent != Intent::Metadata || !closes(attempt) || !Lookup::find(place).may_be_directory() {
            return None;
        }
        let leads_nowhere = || {
            let person = Person::read(boundary.home());
            let look = LinkSearch::new(boundary.guards_by_name(), boundary.home(), Bounds::WHOLE);
            let mut look = look.with_repositories(&person);
            look.search_folder(place);
            let (found, gap) = look.finish();
            found.is_empty() && gap.is_none()
        };
        (!self.created.contains(place) || !leads_nowhere()).then(|| CLOSED.to_owned())
    }

    /// Held by its name.
    fn by_guard(&self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let place = attempt.place.as_path();
        let (guard, directory) = named_guard(boundary, place)?;
        self.holds(boundary, place, (guard, directory), None).then(|| guard.why().to_owned())
    }

    /// Returns whether a guarded path is held. `directory`: the one with the guarded name. `moved`: from where to where a directory is
    /// about to be moved; the path is one that it has afterwards, and what moves counts as what it is now.
    fn holds(
        &self,
        boundary: &Boundary,
        place: &Path,
        (guard, directory): (&Guard, &Path),
        moved: Option<(&Path, &Path)>,
    ) -> bool {
        let now = |at: &Path| match moved.and_then(|(from, to)| Some((from, at.strip_prefix(to).ok()?))) {
            Some((from, below)) => from.join(below),
            None => at.to_owned(),
        };
        let in_new_tree = || self.created.is_new_tree_up(directory.ancestors().map(now));
        match guard.kind() {
            GuardKind::Policy => !in_new_tree(),
            GuardKind::Build => false,
            _ if guard.kernel_protection() == KernelProtection::Asked
                || is_among_dependencies(boundary, place) =>
            {
                false
            }
            GuardKind::Autorun => !self.created.is_new_project(&now(directory)),
            GuardKind::Git
            | GuardKind::ShellStartup
            | GuardKind::Secret
            | GuardKind::Credential
            | GuardKind::Persistence
            | GuardKind::Place => !in_new_tree(),
        }
    }

    /// A directory stays where it is when something below it is held, and does not go where something below it would be.
    fn by_what_lies_beneath(&mut self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let (from, to) = match (attempt.intent, &attempt.detail) {
            (Intent::MoveFrom, Detail::To(to)) => (attempt.place.as_path(), to.as_path()),
            (Intent::MoveFrom | Intent::MoveTo, Detail::Exchange(to)) => {
                (attempt.place.as_path(), to.as_path())
            }
            _ => return None,
        };
        let is_directory = entry_type(attempt) == Some(EntryType::Directory);
        if self.names.holds_beneath(&boundary.places, from)
            || self.names.holds_beneath(&boundary.places, to)
            || is_directory && self.is_foreign_git_dir(from)
        {
            return Some(STAYS.to_owned());
        }
        if !is_directory {
            return None;
        }
        if let Some(into) = self.git_dir_of(boundary, to) {
            return self.directory_into_git_dir(boundary, from, &into);
        }
        self.linked_build_files(boundary);
        let mut names = NamesInMoved::default();
        let walked = walk(from, |entry, kind| {
            let visit = self.visit(boundary, (from, to), entry, kind);
            if !kind.is_dir() && matches!(visit, Visit::Enter) {
                self.add_names(boundary, (from, to), (entry, kind), &mut names);
            }
            visit
        });
        self.names_in_moved = names;
        match walked {
            WalkOutcome::Everything => None,
            WalkOutcome::Found(found) => Some(format!("{STAYS}: `{}`", found.display())),
            WalkOutcome::InPart => {
                Some("it could not be searched completely, and may contain protected places".to_owned())
            }
        }
    }

    /// Looks at an entry of a directory that is about to be moved.
    fn visit(
        &self,
        boundary: &Boundary,
        (from, to): (&Path, &Path),
        entry: &Path,
        kind: fs::FileType,
    ) -> Visit {
        let name = entry.file_name().unwrap_or_default();
        // Its own name, and the one that it would have; where it stands it is new or old.
        let there = entry.strip_prefix(from).map_or_else(|_| entry.to_owned(), |below| to.join(below));
        if name == ".git" {
            let stays = self.created.contains(entry) && !nested::moves_in(&self.created, entry, &there);
            return if stays { Visit::Skip } else { Visit::Found };
        }
        let protected = |at: &Path, moved| {
            named_guard(boundary, at).is_some_and(|found| self.holds(boundary, at, found, moved))
        };
        let denied = |at: &Path| boundary.denies_changing(at).is_some();
        if denied(entry)
            || denied(&there)
            || protected(entry, None)
            || protected(&there, Some((from, to)))
            || kind.is_dir() && self.is_foreign_git_dir(entry)
        {
            Visit::Found
        } else {
            Visit::Enter
        }
    }

    /// Notes what runs later.
    fn note(&mut self, boundary: &Boundary, attempt: &Attempt, in_git: Option<&InGit>) {
        let place = attempt.place.as_path();
        if !changes_something(attempt) {
            return;
        }
        let (parent, name) = split(place);
        let (name, parent) = (name.unwrap_or_default(), parent.unwrap_or(place));
        let makes =
            matches!(attempt.intent, Intent::Create | Intent::MoveTo | Intent::Symlink | Intent::MakeDir);
        if makes && name == ".git" && Lookup::find(place).is_missing() {
            self.changes.repository(place);
        }
        if makes && is_git_dir_marker(name) && !layout::serves_as_git_dir(parent) {
            self.changes.repository(parent);
        }
        let is_among_dependencies = name != ".git" && is_among_dependencies(boundary, place);
        if !self.moves_no_link(attempt) && puts_link(attempt) {
            self.changes.link(place, is_among_dependencies);
        }
        self.note_moved(attempt);
        if in_git.is_none() && name != ".git" {
            self.note_linked(boundary, attempt);
        }
        // Of what is there only a repository is acted on: by who goes there.
        if is_among_dependencies {
            return;
        }
        if let Some((git_dir, below)) = in_git {
            match git_dir::operation(git_dir, below) {
                Some(state) if state == below && makes && Lookup::find(place).is_missing() => {
                    self.changes.begun(place);
                }
                Some(_) if attempt.intent != Intent::MakeDir => self.changes.continued(place),
                _ => {}
            }
            return;
        }
        // What is guarded and was not refused is allowed for a reason that the report does not share.
        // A `.git` is told of as the repository that it makes.
        let matters = name != ".git" && (is_build_file(place) || boundary.guard(place).is_some());
        if attempt.intent == Intent::MakeDir || !matters {
            return;
        }
        self.note_file(place, attempt.intent);
    }
}

/// The turn among the supervisors of one folder in which an attempt is judged and carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TurnKind {
    /// Nothing is changed.
    None,
    /// Beside others: the judgement is about the path, which is the same as long as no directory is moved.
    Shared,
    /// The judgement is about what another run could exchange before the attempt is carried out, or the attempt does that to
    /// another's: whatever names a file that is there, makes a link, makes what is judged by its name when a directory around it is
    /// moved, or makes a directory, which counts as made here by what has its name afterwards.
    Exclusive,
}

/// Returns the turn that an attempt takes.
pub(crate) fn turn_kind(boundary: &Boundary, attempt: &Attempt) -> TurnKind {
    let place = attempt.place.as_path();
    let alone = match attempt.intent {
        Intent::MoveFrom | Intent::MoveTo | Intent::HardLinkSource | Intent::Symlink | Intent::MakeDir => {
            true
        }
        Intent::Create => {
            let tells = |name: &OsStr| name == ".git" || is_git_dir_marker(name);
            split(place).1.is_some_and(tells) || named_guard(boundary, place).is_some()
        }
        // No other run puts a link there between the look for some and the change.
        Intent::Metadata => closes(attempt),
        Intent::Write | Intent::Remove => false,
        Intent::Read | Intent::Access | Intent::Lock | Intent::Connect | Intent::Bind | Intent::Socket => {
            return TurnKind::None;
        }
    };
    if alone { TurnKind::Exclusive } else { TurnKind::Shared }
}

/// Returns the occupant of the path of an attempt, as the supervisor saw it, or by a look now. `None`: none, or none that can be looked
/// at.
fn entry_type(attempt: &Attempt) -> Option<EntryType> {
    let look = || {
        let kind = fs::symlink_metadata(&attempt.place).ok()?.file_type();
        let other = if kind.is_symlink() { EntryType::Link } else { EntryType::File };
        Some(if kind.is_dir() { EntryType::Directory } else { other })
    };
    attempt.entry_type.or_else(look).filter(|entry_type| *entry_type != EntryType::Nothing)
}

/// Returns whether something is at the place of an attempt.
fn is_there(attempt: &Attempt) -> bool {
    entry_type(attempt).is_some()
}

/// Returns whether a call takes a name away.
fn moves_away(attempt: &Attempt) -> bool {
    match attempt.intent {
        Intent::MoveFrom | Intent::Remove => true,
        Intent::MoveTo => matches!(attempt.detail, Detail::Exchange(_)) || is_there(attempt),
        _ => false,
    }
}

/// Returns whether a change of attributes would keep the owner from reading or entering a directory.
fn closes(attempt: &Attempt) -> bool {
    const READ_AND_ENTER: u32 = 0o500;
    match &attempt.detail {
        Detail::Mode(mode) => mode & READ_AND_ENTER != READ_AND_ENTER,
        // An access control list says the same in other words.
        Detail::Attribute(name) => name.as_encoded_bytes().starts_with(b"system.posix_acl"),
        _ => false,
    }
}

fn changes_something(attempt: &Attempt) -> bool {
    !matches!(attempt.intent, Intent::Read | Intent::Access | Intent::Lock | Intent::HardLinkSource)
}

/// Returns whether a symbolic link is put at a place. What cannot be looked up may be one.
fn puts_link(attempt: &Attempt) -> bool {
    let is_link = |place: &Path| match Lookup::find(place) {
        Lookup::Found(found) => found.is_symlink(),
        Lookup::Missing => false,
        Lookup::Unknown => true,
    };
    match (attempt.intent, &attempt.detail) {
        (Intent::Symlink, _) => true,
        (Intent::MoveTo, Detail::From(other) | Detail::HardLinkOf(other))
        | (Intent::MoveTo | Intent::MoveFrom, Detail::Exchange(other)) => is_link(other),
        _ => false,
    }
}

/// Returns whether a guard of git is about the person's own configuration, which lies in no git directory.
pub(crate) fn is_user_git_config(guard: &Guard) -> bool {
    !guard.pattern().contains(".git/")
        && guard.pattern() != "**/.git"
        && guard.kernel_protection() != KernelProtection::Asked
}

/// The guard of a place by its name, with the directory in which that stands. What belongs to a git directory is no such name.
fn named_guard<'b, 'p>(boundary: &'b Boundary, place: &'p Path) -> Option<(&'b Guard, &'p Path)> {
    boundary.guard_in(place).filter(|(guard, _)| guard.kind() != GuardKind::Git || is_user_git_config(guard))
}

/// Returns whether a place lies in a directory of dependencies or products below the folder: what is called like a guarded place
/// there is other people's, and no tool acts on it.
pub(crate) fn is_among_dependencies(boundary: &Boundary, place: &Path) -> bool {
    let Some(granted) = boundary.granted().iter().find(|granted| is_within(place, granted)) else {
        return false;
    };
    // As bytes: taking components apart costs more than all else that is asked about most files.
    let above = split(place).0.unwrap_or(place).as_os_str().as_bytes();
    // The granted folder itself lies in none.
    let below = above.strip_prefix(granted.as_os_str().as_bytes());
    below.is_some_and(|below| {
        below.split(|byte| *byte == b'/').any(|name| is_skipped(OsStr::from_bytes(name)))
    })
}
