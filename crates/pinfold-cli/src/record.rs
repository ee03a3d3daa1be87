//! The audit log of this machine: its place, its readers, its writer.

pub(crate) mod span;

use std::fs::DirBuilder;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use pinfold::Ambient;
use pinfold::audit::read::{AuditLine, Damage, Read};
use pinfold::audit::{Ledger, Limits, LogReader, session_name};
use pinfold::policy::Guards;

use crate::exit::{FAILED, Failure, USAGE};
use crate::{env, output};

/// Advice where it cannot be written.
pub(crate) const MEND: &str = "set XDG_STATE_HOME to a directory that you can write, or say --no-record";

/// Name of the directory of the audit log.
const AUDIT_LOG: &str = "record";

/// Returns the directory of the audit log: one of its own, so that all of it can be hidden from confined processes.
pub(crate) fn directory() -> Result<PathBuf, Failure> {
    let home =
        env::state_home().ok_or_else(|| Failure::new(USAGE, "there is no home for the record").mend(MEND))?;
    Ok(home.join(AUDIT_LOG))
}

/// Returns the resolved directory of the audit log, if it is there.
pub(crate) fn place() -> Option<PathBuf> {
    directory().ok()?.canonicalize().ok()
}

/// The record, and what is kept beside it, resolved, as far as they are there.
pub(crate) fn places() -> Vec<PathBuf> {
    place().into_iter().chain(create_sibling_dirs()).collect()
}

/// Creates and returns the directories beside the audit log: runs of agents, and pins of servers. A confined process
/// neither reads nor changes them. They are created now, so that later files are hidden from processes that run already.
pub(crate) fn create_sibling_dirs() -> Vec<PathBuf> {
    let found = |name| {
        let place = env::state_home()?.join(name);
        // It is there, or nothing is kept here.
        let _ = DirBuilder::new().mode(0o700).create(&place);
        place.canonicalize().ok()
    };
    [RUNS, PINS].into_iter().filter_map(found).collect()
}

/// The directory in which it is kept what the tools of MCP servers are.
pub(crate) fn pins() -> Result<PathBuf, Failure> {
    let home = env::state_home();
    home.map(|home| home.join(PINS)).ok_or_else(|| {
        Failure::new(USAGE, "there is no home for what is known of servers")
            .mend("set XDG_STATE_HOME to a directory that you can write")
    })
}

/// Directory of it, beside the audit log.
const PINS: &str = "mcp";

/// Directory of the runs of agents, beside the audit log.
pub(crate) const RUNS: &str = "agents";

/// Guards them wherever they are: neither tools nor processes read or write what says what they did.
pub(crate) fn guarded(guards: Guards) -> Guards {
    create_sibling_dirs();
    guarded_where_kept(guards)
}

/// Guards the same places, whether they are there already or not, and creates none.
pub(crate) fn guarded_where_kept(guards: Guards) -> Guards {
    const WHY: &str = "it is pinfold's own record";
    let Some(home) = env::state_home() else { return guards };
    let home = home.canonicalize().unwrap_or(home);
    let resolved = |name| {
        let place = home.join(name);
        place.canonicalize().unwrap_or(place)
    };
    [AUDIT_LOG, RUNS, PINS].map(resolved).iter().fold(guards, |guards, place| guards.with_own(place, WHY))
}

/// The record, open. No record, no deed: what is wrong with it is told before anything else happens.
pub(crate) fn ledger(limits: Limits) -> Result<Ledger, Failure> {
    Ledger::open(&Ambient::claim(), directory()?, limits)
        .map_err(|e| Failure::new(USAGE, format!("nothing can be recorded: {e}")).mend(MEND))
}

/// Returns a unique name for a session.
pub(crate) fn session(kind: &str) -> Result<String, Failure> {
    session_name(kind).map_err(|e| Failure::new(FAILED, format!("there are no random numbers: {e}")))
}

/// A reader of this machine's record.
pub(crate) fn reader() -> Result<LogReader, Failure> {
    Ok(LogReader::open_record(&Ambient::claim(), directory()?))
}

/// A reader of another record, which is one file.
pub(crate) fn named_reader(file: &Path) -> Result<LogReader, Failure> {
    std::fs::File::open(file).map_err(|e| {
        let shown = output::path(file);
        Failure::new(USAGE, format!("the record `{shown}` cannot be read: {e}"))
    })?;
    Ok(LogReader::open_file(&Ambient::claim(), file))
}

/// Reason why no more is read.
enum Stop {
    Unreadable(io::Error),
    Taker(Failure),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// Hands on the lines of a record that were not read before, as they are understood and as they stand. Those that no
/// journal can have written are told: the first ones, and how many there are.
pub(crate) fn each_line(
    reader: &mut LogReader,
    mut take: impl FnMut(AuditLine, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut damaged = DamagedLines(0);
    let read = reader.for_each(|read| match read {
        Read::Line(line, text) => take(line, text).map_err(Stop::Taker),
        Read::Damaged(damage) => {
            damaged.report(&damage);
            Ok(())
        }
    });
    damaged.done(read)
}

/// Reads lines from the end, the last line first, until `take` has enough.
pub(crate) fn each_from_end(
    reader: &mut LogReader,
    mut take: impl FnMut(AuditLine, &str) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let mut damaged = DamagedLines(0);
    let read = reader.from_end(|read| match read {
        Read::Line(line, text) => Ok::<_, Stop>(take(line, text)),
        Read::Damaged(damage) => {
            damaged.report(&damage);
            Ok(ControlFlow::Continue(()))
        }
    });
    damaged.done(read)
}

/// Number of lines that no journal can have written.
struct DamagedLines(u64);

impl DamagedLines {
    /// Number of them that are reported one by one.
    const SHOWN: u64 = 3;

    fn report(&mut self, damage: &Damage) {
        self.0 += 1;
        if self.0 <= Self::SHOWN {
            output::warn(format_args!("no line of a record: {}", output::lines(&damage.to_string())));
        }
    }

    fn done(self, read: Result<(), Stop>) -> Result<(), Failure> {
        let Self(damaged) = self;
        if damaged > Self::SHOWN {
            output::warn(format_args!("{damaged} lines are no lines of a record; see `pinfold log verify`"));
        }
        read.map_err(|stop| match stop {
            Stop::Unreadable(error) => unreadable(&error),
            Stop::Taker(failure) => failure,
        })
    }
}

/// The record cannot be read.
pub(crate) fn unreadable(error: &io::Error) -> Failure {
    Failure::new(FAILED, format!("the record cannot be read: {error}"))
}
