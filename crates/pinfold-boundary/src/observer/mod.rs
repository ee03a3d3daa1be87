//! Attempts of a run: decided as they happen, reported at the end.
//!
//! In a [mediated](sandbox::Mediation) run what is refused here does not happen, and what is allowed the supervisor carries
//! out. Elsewhere the sandbox decides, and this only judges by the same [`Boundary`] what the kernel will say; a few names
//! that the sandbox does not protect are refused.

mod limits;
mod refusal;
mod sockets;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_policy::{GuardKind, KernelProtection, SourcedRule};
use pinfold_sandbox::{
    self as sandbox, Attempt, CompletedSyscall, Detail, InnerListeners, Intent, Limit, LinkedFile, MountView,
    Profile, Reply, SyscallHandler, Temp, Tier, Turn, Turns,
};

use crate::access_list::{AccessEntry, PathAccess};
use crate::boundary::Boundary;
use crate::egress::{HostApprover, is_listened_on};
use crate::git::layout;
use crate::lookup::Lookup;
use crate::mediation::{Mediator, ReadLinks, ReadNames, TurnKind, turn_kind};
use crate::outcome::{EscalationOutcome, LimitMet, MAX_REMEMBERED, Refused};
use crate::report::AutorunChanges;
use crate::turns::TurnsError;
use crate::within::is_within;
use limits::LimitsMet;
use refusal::{CHANGE_THE_RULE, Denial, OF_THE_KERNEL, program};
pub use refusal::{INSTEAD_OUTSIDE, TO_ALLOW_OUTSIDE, intent_name};

/// An observer of one run: judges what the run tries, and keeps what was refused and what was approved.
pub trait Observer: SyscallHandler + Debug {
    /// Returns the approver of hosts that no rule allows, where the run asks about them.
    fn host_approver(&self) -> Option<Arc<dyn HostApprover>>;

    /// Returns the escalations, once no process of the run is left, and the changes of files that run later, where every
    /// change was observed.
    fn finish(self: Box<Self>) -> (EscalationOutcome, Option<AutorunChanges>);
}

/// Watches one run.
#[derive(Debug)]
pub struct DenialObserver<'a> {
    boundary: &'a Boundary,
    tier: Tier,
    /// Writes outside are held until an approver has decided.
    negotiates: bool,
    refused: BTreeMap<(Intent, PathBuf, String), Refused>,
    more: u64,
    /// None where the kernel decides.
    mediator: Option<Mediator>,
    reads: ReadNames,
    read_links: ReadLinks,
    /// None where other runs are not met.
    turns: Option<Turns>,
    turns_error: Option<TurnsError>,
    /// Landlock grants reading to what was there at the start beside what is hidden: what appears later in the folder is
    /// opened by the supervisor.
    opens_for_reading: bool,
    limits: LimitsMet,
}

impl<'a> DenialObserver<'a> {
    /// An observer for a run within `boundary`, held by `tier`.
    pub fn new(boundary: &'a Boundary, tier: Tier) -> Self {
        let mediated = boundary.profile().mediated.is_some();
        let opens_for_reading = mediated && tier == Tier::Landlock && boundary.hides_within_granted();
        let watches_reading = boundary.profile().watches_reading;
        let read_links = if watches_reading {
            ReadLinks::new(boundary.guards_by_name(), boundary.home())
        } else {
            ReadLinks::default()
        };
        let reads = match watches_reading {
            true if opens_for_reading => read_names(boundary).all(),
            true => read_names(boundary).with_ends(&read_links.ends()),
            false => ReadNames::default(),
        };
        let (turns, turns_error) = match mediated.then(|| boundary.turns()) {
            Some(Ok(turns)) => (Some(turns), None),
            Some(Err(gap)) => (None, Some(gap)),
            None => (None, None),
        };
        Self {
            boundary,
            tier,
            negotiates: false,
            refused: BTreeMap::new(),
            more: 0,
            mediator: mediated.then(|| Mediator::new(boundary)),
            reads,
            read_links,
            turns,
            turns_error,
            opens_for_reading,
            limits: LimitsMet::default(),
        }
    }

    /// Suspends attempts outside the folder that an approver could allow. Held places inside, credentials, and places of the
    /// run's own or of the kernel stay denied.
    #[must_use]
    pub fn negotiating(self) -> Self {
        Self { negotiates: true, ..self }
    }

    /// The limits that were met.
    pub fn limits_met(&self) -> Vec<LimitMet> {
        self.limits.all()
    }

    /// Returns the refusals, the number of those that the list left out, and the changes.
    pub fn finish(self) -> (Vec<Refused>, u64, Option<AutorunChanges>) {
        let turns_error = self.turns_error;
        let changed = self.mediator.map(|mediator| {
            let (changes, linked_build_files, locks) = mediator.into_changes();
            AutorunChanges { changes, linked_build_files, locks, turns_error }
        });
        (self.refused.into_values().collect(), self.more, changed)
    }

    fn remember(&mut self, attempt: &Attempt, no: Denial) -> Reply {
        let reply = if no.by_us { Reply::Refuse } else { Reply::LeaveToSandbox };
        let program = program(attempt.pid);
        let key = (attempt.intent, attempt.place.clone(), program.clone());
        if let Some(known) = self.refused.get_mut(&key) {
            known.times += 1;
        } else if self.refused.len() >= MAX_REMEMBERED {
            self.more += 1;
        } else {
            let refused = Refused {
                id: None,
                tried: intent_name(attempt.intent),
                place: attempt.place.clone(),
                program,
                times: 1,
                why: no.why,
                rule: no.rule.as_ref().map(|(rule, _)| rule.clone()),
                source: no.rule.map(|(_, source)| source),
                instead: no.instead,
                to_allow: no.to_allow,
            };
            self.refused.insert(key, refused);
        }
        reply
    }

    fn judge(&mut self, attempt: &Attempt) -> AttemptRuling {
        match attempt.intent {
            Intent::Socket => return AttemptRuling::Refused(self.socket(&attempt.place)),
            Intent::Connect => {
                return self.connection(attempt).map_or(AttemptRuling::Free, AttemptRuling::Refused);
            }
            Intent::Bind => {
                return self.binding(&attempt.place).map_or(AttemptRuling::Free, AttemptRuling::Refused);
            }
            Intent::Read => {
                let ours = self.opens_for_reading
                    && self.boundary.is_within_granted(&attempt.place)
                    && fs::symlink_metadata(&attempt.place).is_ok_and(|found| found.is_file());
                let free = if ours { AttemptRuling::Allowed } else { AttemptRuling::Free };
                return self.reading(attempt).map_or(free, AttemptRuling::Refused);
            }
            _ => {}
        }
        if matches!(attempt.detail, sandbox::Detail::SetId(_)) {
            return AttemptRuling::Refused(Denial::sets_id());
        }
        let place = attempt.place.as_path();
        if self.is_own(attempt) {
            return AttemptRuling::Free;
        }
        if attempt.view == MountView::Elsewhere {
            return AttemptRuling::Refused(Denial { negotiable: false, ..self.outside(attempt) });
        }
        let mediated = self.mediator.is_some();
        if let Some(rule) = self.denied(attempt) {
            return AttemptRuling::Refused(Denial::denied(rule));
        }
        let standing = match &mut self.mediator {
            Some(mediator) => mediator.access(self.boundary, place),
            None => self.boundary.access(place),
        };
        match (standing, &mut self.mediator) {
            (PathAccess::Writable, _) if self.boundary.is_own(place) => AttemptRuling::Free,
            (PathAccess::Writable, Some(_)) if matches!(attempt.intent, Intent::Access | Intent::Lock) => {
                AttemptRuling::Free
            }
            (PathAccess::Writable, Some(mediator)) => match mediator.judge(self.boundary, attempt) {
                None if self.leads_to_own(attempt) => AttemptRuling::Apart,
                None => AttemptRuling::Allowed,
                Some(why) => AttemptRuling::Refused(Denial { by_us: true, ..Denial::protected(&why) }),
            },
            (PathAccess::Writable, None) => {
                self.name_without_a_wall(attempt).map_or(AttemptRuling::Free, AttemptRuling::Refused)
            }
            (PathAccess::Outside | PathAccess::ReadOnly(_) | PathAccess::Hidden(_), _)
                if attempt.intent == Intent::HardLinkSource && !mediated =>
            {
                AttemptRuling::Free
            }
            (PathAccess::Outside, _) if could_be_done(attempt) => {
                AttemptRuling::Refused(self.outside(attempt))
            }
            (PathAccess::ReadOnly(protected) | PathAccess::Hidden(protected), _)
                if could_be_done(attempt) =>
            {
                let by_us = self.tier == Tier::Landlock || mediated;
                AttemptRuling::Refused(Denial { by_us, ..Denial::protected(protected.why()) })
            }
            (PathAccess::Outside | PathAccess::ReadOnly(_) | PathAccess::Hidden(_), _) => AttemptRuling::Free,
        }
    }

    /// Returns whether an attempt is about what no supervisor has to look at: a place of the run's own, or what lies in no directory, such
    /// as a pipe.
    fn is_own(&self, attempt: &Attempt) -> bool {
        let place = attempt.place.as_path();
        if !changes_by_descriptor(attempt) {
            return !place.is_absolute() || attempt.view == MountView::Run && self.is_private(place);
        }
        // Neither Landlock nor a mount keeps these: what is not known to be the run's own is not.
        let is_of_kernel = match self.tier {
            Tier::Full => is_device(place),
            Tier::Landlock => is_within(place, Path::new("/dev")) || is_within(place, Path::new("/proc")),
        };
        let is_excepted = attempt.intent == Intent::Lock && is_device(place);
        attempt.view == MountView::Run
            && (!place.is_absolute() || self.is_private(place) && (!is_of_kernel || is_excepted))
    }

    /// Returns whether a call would move or link between the folder and a place where the run writes by itself. No supervisor carries out
    /// what happens there: what comes from there may be something else by the time it is moved, and what goes there can be
    /// written by its new name, whatever other names it has.
    fn leads_to_own(&self, attempt: &Attempt) -> bool {
        use sandbox::Detail::{Exchange, From, HardLinkOf, To};
        let (From(other) | HardLinkOf(other) | Exchange(other) | To(other)) = &attempt.detail else {
            return false;
        };
        self.is_private(other) || self.boundary.is_own(other)
    }

    /// The rule that denies a change that would be made.
    fn denied(&self, attempt: &Attempt) -> Option<&SourcedRule> {
        let asks = matches!(attempt.intent, Intent::Access | Intent::Lock);
        let rule = self.boundary.denies_changing(&attempt.place)?;
        (!asks && would_be_done(attempt)).then_some(rule)
    }

    /// The refusal of reading a hidden place. By the supervisor too: what hides a single file is lifted when a program outside
    /// renames another over it.
    fn hidden(&self, protected: &AccessEntry) -> Denial {
        let no = Denial { by_us: true, ..Denial::unreadable(protected.why()) };
        if self.boundary.hides_by_rule(protected.path()) {
            return Denial { to_allow: CHANGE_THE_RULE.into(), ..no };
        }
        no
    }

    /// The refusal of reading a place. A hidden one is refused by the sandbox; one that appears later is no less hidden, and only seen
    /// here.
    fn reading(&self, attempt: &Attempt) -> Option<Denial> {
        let place = attempt.place.as_path();
        // What cannot be looked up may still be opened, through a directory that is held open.
        if self.is_private(place) || Lookup::find(place).is_missing() {
            return None;
        }
        if let Some(rule) = self.boundary.denies_reading(place) {
            return Some(Denial::denied(rule));
        }
        if let PathAccess::Hidden(protected) = self.boundary.access(place) {
            return Some(self.hidden(protected));
        }
        let by_name = |why: String| Denial { by_us: true, ..Denial::unreadable(&why) };
        self.boundary.unreadable(place).map(by_name).or_else(|| self.reading_by_link(attempt))
    }

    /// The refusal of reading what a link leads to, since the name of the link is one that may not be read. What such a name leads to at the
    /// start is hidden there; this is about what appears later.
    fn reading_by_link(&self, attempt: &Attempt) -> Option<Denial> {
        // What lies in the folder is read by its own name in any case.
        let is_granted = self.boundary.is_within_granted(&attempt.place);
        let names = if is_granted { Vec::new() } else { self.read_links.names_of(&attempt.place) };
        attempt.passed.iter().chain(&names).find_map(|name| {
            if let Some(rule) = self.boundary.denies_reading(name) {
                return Some(Denial::denied(rule));
            }
            let why = self.boundary.unreadable_through(name, &attempt.place)?;
            let why = format!("`{}` leads there: {why}", name.display());
            Some(Denial { by_us: true, ..Denial::unreadable(&why) })
        })
    }

    /// The refusal of a connection, where no proxy listens that would decide.
    fn connection(&self, attempt: &Attempt) -> Option<Denial> {
        const NAMES: u16 = 53;
        let place = attempt.place.as_path();
        let Some(to) = place.to_str().and_then(|text| text.parse::<SocketAddr>().ok()) else {
            return (!sockets::is_name_service(place)).then(|| {
                if self.boundary.profile().sockets.is_empty() {
                    Denial::brokers(place, self.sockets_are_declarable())
                } else {
                    Denial::undeclared(place)
                }
            });
        };
        let ports = match &self.boundary.profile().network {
            sandbox::Network::Relayed(InnerListeners { ports, .. }) => ports,
            sandbox::Network::Proxied(_) if self.boundary.reaches_hosts() => return Some(Denial::unproxied()),
            sandbox::Network::Proxied(_) => return Some(Denial::unlisted_and_unproxied(&to.to_string())),
            sandbox::Network::Off => return Some(Denial::network(&to.to_string())),
            sandbox::Network::Host => return None,
        };
        // Port 0 is how programs find out which way there would be.
        let is_open = [0, NAMES].contains(&to.port()) || ports.contains(&to.port());
        // Every address is local there: a server inside that listens on all of them answers.
        if is_open || is_listened_on(attempt.pid, to.port()) {
            return None;
        }
        if !ports.is_empty() {
            return Some(Denial::port());
        }
        let off = Denial::network(&to.to_string());
        let is_off = self.boundary.network_is_off();
        Some(if is_off { off } else { Denial { why: "no rule allows this host".into(), ..off } })
    }

    fn sockets_are_declarable(&self) -> bool {
        self.tier == Tier::Full && self.boundary.profile().network != sandbox::Network::Host
    }

    fn socket(&self, kind: &Path) -> Denial {
        match (kind.to_str(), &self.boundary.profile().network) {
            (Some("unix"), _) => Denial::brokers(kind, self.sockets_are_declarable()),
            (Some("internet"), sandbox::Network::Proxied(_)) if self.boundary.reaches_hosts() => {
                Denial::unproxied()
            }
            (Some("internet"), _) => Denial::network("NAME"),
            _ => Denial::uncommon(),
        }
    }

    /// The refusal of a socket that would be given an address.
    fn binding(&self, place: &Path) -> Option<Denial> {
        let Some(at) = place.to_str().and_then(|text| text.parse::<SocketAddr>().ok()) else {
            return Some(Denial::brokers(place, false));
        };
        // HTTP clients find out so whether there is IPv6. Where no host is reached any socket is worth a word.
        let is_probe = at.port() == 0 && self.boundary.reaches_hosts();
        (!is_probe).then(Denial::server)
    }

    fn outside(&self, attempt: &Attempt) -> Denial {
        Denial {
            why: "it lies outside the folder".into(),
            instead: INSTEAD_OUTSIDE,
            to_allow: TO_ALLOW_OUTSIDE.into(),
            by_us: self.tier == Tier::Landlock && attempt.intent == Intent::Metadata,
            negotiable: self.negotiates && is_negotiable(self.boundary, attempt),
            rule: None,
        }
    }

    /// Places of the run's own, which look different from outside.
    fn is_private(&self, place: &Path) -> bool {
        let own: &[&str] = match self.tier {
            Tier::Full => &["/tmp", "/var/tmp", "/dev", "/proc"],
            Tier::Landlock => &["/dev", "/proc"],
        };
        let Profile { visible: seen, temp, layers, .. } = self.boundary.profile();
        if matches!(temp, Temp::Directory(own) if is_within(place, own)) {
            return true;
        }
        // A cache is written to a layer of the run's own.
        if layers.iter().any(|layer| is_within(place, &layer.shared)) {
            let is_granted = || self.boundary.granted().iter().any(|granted| place.starts_with(granted));
            return match self.boundary.access(place) {
                PathAccess::Outside => true,
                PathAccess::Writable => !is_granted(),
                PathAccess::ReadOnly(_) | PathAccess::Hidden(_) => false,
            };
        }
        own.iter().any(|own| is_within(place, Path::new(own)))
            && self.boundary.access(place) == PathAccess::Outside
            // A place from outside that was left uncovered there.
            && !seen.iter().any(|seen| place.starts_with(seen))
    }

    /// Names that would turn a directory into a repository whose configuration the run wrote, or set up what other
    /// programs run, at a depth where no mount stands.
    fn name_without_a_wall(&self, attempt: &Attempt) -> Option<Denial> {
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
            return Some(Denial::watched(
                "a `.git` file or link points git at a configuration of unknown origin",
            ));
        }
        if layout::completes_a_bare_repository(name, parent) {
            return Some(Denial::watched(
                "with it the directory would be a repository that was not made with git",
            ));
        }
        let guard = self.boundary.guard(place)?;
        let protected = guard.kernel_protection() == KernelProtection::EvenMissing
            && guard.kind() != GuardKind::Git
            || self.boundary.would_appear(place);
        let fresh = makes || attempt.intent == Intent::MakeDir;
        (protected && fresh).then(|| Denial::watched(guard.why()))
    }
}

/// Ruling about an attempt.
enum AttemptRuling {
    /// No limit is known there, or the path is the run's own.
    Free,
    /// The supervisor carries it out.
    Allowed,
    /// Fails as between two file systems.
    Apart,
    Refused(Denial),
}

/// Returns the names by which a path is looked at that is opened for reading.
fn read_names(boundary: &Boundary) -> ReadNames {
    let denied = boundary.denied_paths();
    ReadNames::new(boundary.guards_by_name(), boundary.hidden(), denied.read_patterns())
}

/// Makes the observer of a run about which no approver is asked, for [`Run::observe`](crate::Run::observe).
pub fn observe_denials<'b>(boundary: &'b Boundary, tier: Tier) -> Box<dyn Observer + 'b> {
    Box::new(DenialObserver::new(boundary, tier))
}

/// An observer of a run about which no approver is asked.
impl Observer for DenialObserver<'_> {
    fn host_approver(&self) -> Option<Arc<dyn HostApprover>> {
        None
    }

    fn finish(self: Box<Self>) -> (EscalationOutcome, Option<AutorunChanges>) {
        let limits = self.limits_met();
        let (refused, omitted_count, changed) = Self::finish(*self);
        (EscalationOutcome { refused, approved: Vec::new(), omitted_count, limits }, changed)
    }
}

impl SyscallHandler for DenialObserver<'_> {
    fn turn(&mut self, attempts: &[Attempt]) -> io::Result<Option<Turn>> {
        if self.turns.is_none() {
            return Ok(None);
        }
        let boundary = self.boundary;
        // The place is looked at last: most calls need no such turn, and for the run's own places a shared one does no harm.
        let is_own = |attempt: &Attempt| !boundary.is_within_granted(&attempt.place) && self.is_own(attempt);
        let wanted = attempts.iter().map(|attempt| match turn_kind(boundary, attempt) {
            TurnKind::Exclusive if is_own(attempt) => TurnKind::Shared,
            wanted => wanted,
        });
        let wanted = wanted.max();
        match (wanted, &mut self.turns) {
            (Some(TurnKind::Exclusive), Some(turns)) => turns.take().map(Some),
            (Some(TurnKind::Shared), Some(turns)) => turns.share().map(Some),
            (Some(TurnKind::None) | None, _) | (_, None) => Ok(None),
        }
    }

    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        match self.judge(attempt) {
            AttemptRuling::Free => Reply::Continue,
            AttemptRuling::Allowed => Reply::CarryOut,
            AttemptRuling::Apart => Reply::CrossDevice,
            AttemptRuling::Refused(no) if no.negotiable => Reply::Hold,
            // `access` changes nothing; the sandbox answers.
            AttemptRuling::Refused(_) if attempt.intent == Intent::Access => Reply::Continue,
            // Nothing is lost by that: what is not written needs no lock.
            AttemptRuling::Refused(_) if attempt.intent == Intent::Lock => Reply::Refuse,
            AttemptRuling::Refused(no) => self.remember(attempt, no),
        }
    }

    fn looks_at_reading(&self, path: &OsStr) -> bool {
        self.reads.matches(path)
    }

    fn looks_at_reading_in(&self, directory: &Path) -> bool {
        self.reads.matches(directory.as_os_str())
            || !self.boundary.is_within_granted(directory) && self.read_links.lead_into(directory)
    }

    fn on_hidden_path(&mut self, attempt: &Attempt) {
        let rule = self.boundary.denies_reading(&attempt.place);
        let no = match self.boundary.access(&attempt.place) {
            PathAccess::Hidden(protected) if would_be_done(attempt) => match (rule, attempt.intent) {
                (Some(rule), _) => Denial::denied(rule),
                (None, Intent::Read) => self.hidden(protected),
                (None, _) => Denial::protected(protected.why()),
            },
            PathAccess::Hidden(_) | PathAccess::Outside | PathAccess::Writable | PathAccess::ReadOnly(_) => {
                return;
            }
        };
        self.remember(attempt, no);
    }

    fn limit_met(&mut self, limit: Limit, program: &OsStr) {
        self.limits.add(limit, program);
    }

    fn content_for(&mut self, attempts: &[Attempt]) -> Option<Vec<u8>> {
        self.mediator.as_mut()?.content_for(attempts)
    }

    fn can_change_linked(&mut self, attempts: &[Attempt], file: LinkedFile) -> bool {
        let Some(attempt) = attempts.first() else { return false };
        let place = attempt.place.as_path();
        if self.is_own(attempt) || self.boundary.is_own(place) || self.boundary.is_open(place) {
            return true;
        }
        let boundary = self.boundary;
        let can = self
            .mediator
            .as_mut()
            .is_some_and(|mediator| mediator.can_change_linked(boundary, attempt, file));
        if !can {
            self.remember(attempt, Denial::linked());
        }
        can
    }

    fn carried_out(&mut self, done: &CompletedSyscall) {
        let place = done.attempt.place.as_path();
        match (done.attempt.intent, &done.attempt.detail) {
            (Intent::Symlink, Detail::LinkText(text)) => self.reads.add_link(place, text),
            (Intent::MoveTo, Detail::From(from) | Detail::HardLinkOf(from)) => {
                self.reads.rename_link(place, from);
            }
            _ => {}
        }
        if let Some(mediator) = &mut self.mediator {
            mediator.carried_out(done);
        }
    }

    fn not_held(&mut self, attempt: &Attempt) -> Reply {
        let no = self.outside(attempt);
        self.remember(attempt, no)
    }
}

/// Returns whether an approver may allow an attempt outside: not in the kernel's own places, nor a second name inside for a
/// file that lies outside.
fn is_negotiable(boundary: &Boundary, attempt: &Attempt) -> bool {
    let names_inside = match (attempt.intent, &attempt.detail) {
        (Intent::HardLinkSource, sandbox::Detail::To(to)) => boundary.access(to) != PathAccess::Outside,
        _ => false,
    };
    !names_inside && !OF_THE_KERNEL.iter().any(|own| attempt.place.starts_with(own))
}

/// Device nodes in which nothing is stored.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

fn is_device(place: &Path) -> bool {
    place.strip_prefix("/dev").is_ok_and(|name| DEVICES.iter().any(|device| name == Path::new(device)))
}

/// Returns whether an attempt changes a file by any descriptor of it, whatever that was opened for.
fn changes_by_descriptor(attempt: &Attempt) -> bool {
    matches!(attempt.intent, Intent::Metadata | Intent::Lock)
}

/// Returns whether an attempt may change something outside. A path that is not of the run's view says nothing about what is there.
fn could_be_done(attempt: &Attempt) -> bool {
    attempt.view != MountView::Run || would_be_done(attempt)
}

/// Returns whether the kernel would do it if nothing held it back: what fails anyway is no refusal.
fn would_be_done(attempt: &Attempt) -> bool {
    match attempt.intent {
        Intent::Create | Intent::MoveTo => attempt.place.parent().is_some_and(Path::is_dir),
        Intent::MakeDir | Intent::Symlink => {
            attempt.place.parent().is_some_and(Path::is_dir) && fs::symlink_metadata(&attempt.place).is_err()
        }
        Intent::Read
        | Intent::Write
        | Intent::Remove
        | Intent::MoveFrom
        | Intent::HardLinkSource
        | Intent::Metadata
        | Intent::Lock
        | Intent::Access => fs::symlink_metadata(&attempt.place).is_ok(),
        Intent::Connect | Intent::Bind | Intent::Socket => true,
    }
}
