//! Sandbox: kernel limits around a command and all its descendants.
//!
//! In goes a [`Profile`], plain data about what can be read, written and talked to, and a [`Command`]; out comes a
//! [`RunningSandbox`] process, or the reason why the sandbox could not be set up. This crate has no opinions: it knows
//! neither rules nor tools nor what a repository is. It is the only crate with `unsafe` code: one function per system
//! call in `sys/`, and the few places that fork.
//!
//! ```no_run
//! use pinfold_sandbox::{ContinueAll, Command, End, Profile, Signalling, Tier, Writes, start};
//!
//! let folder = std::env::current_dir()?;
//! let profile = Profile::new(&folder)
//!     .with_writes(Writes::Beneath(vec![folder]))
//!     .with_environment(vec![("PATH".into(), "/usr/bin:/bin".into())]);
//! let run = |script: &str| -> Result<End, Box<dyn std::error::Error>> {
//!     let command = Command::new("sh").args(["-c".into(), script.into()]);
//!     Ok(start(&profile, command, Tier::Full, Signalling::Own, true)?.supervise(&mut ContinueAll)?)
//! };
//! assert_eq!(run("echo hi > here")?, End::Code(0));
//! assert_ne!(run("echo hi > /there")?, End::Code(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Vocabulary
//! [`Profile`], [`Command`], [`RunningSandbox`], [`Tier`], [`Attempt`], [`SyscallHandler`] and [`PendingSyscall`], [`JobControl`], [`ProbeResult`].
//!
//! # Invariants
//! 1. A limit that cannot be set up, or that its self-test finds open, stops the start: nothing has run then.
//! 2. Limits of a process bind all its descendants, and none can be lifted from inside.
//! 3. Continuing a notified system call never allows what the sandbox does not. A pending one never continues for a yes.
//! 4. With the full tier the whole tree ends with the command, with the supervisor, and when its time is over.
//! 5. Nothing is left behind in the file system, but for marked placeholders when the supervisor is killed; the next
//!    run takes those over.
//!
//! # What this does not stop
//! Holes in the kernel itself. What the command does with what it may: files in the granted places, processor time
//! within its limits. Reading: whatever the user can read and the profile does not hide.
//!
//! # Platforms
//! Linux 5.13 and later on x86-64 and aarch64 (the latter compiled from the same code, not run here). The full tier
//! needs user namespaces; `pinfold doctor` says what else. Other systems: nothing yet.

mod command;
mod identity;
mod job_control;
mod linux;
mod open_files;
mod open_for_writing;
mod passing;
mod placeholder;
mod probe;
mod profile;
mod program;
mod self_test;
mod start;
mod streams;
mod strength;
mod sys;
mod turn;
mod watch;

pub use command::Command;
pub use identity::FileIdentity;
pub use job_control::JobControl;
pub use linux::relay_sockets::RelaySockets;
pub use open_files::{open_plain, open_plain_in, open_plain_through_links, open_without_waiting};
pub use open_for_writing::is_open_for_writing;
pub use placeholder::{is_marked, is_placeholder, is_stand_in, remove_left_behind, unmark_left_behind};
pub use probe::{ProbeResult, probe, strongest};
pub use profile::{
    CoveringLink, InnerListeners, Layer, Limits, MAX_CALLERS, MAX_PORTS, Mediation, Network, Openings,
    Profile, StandIn, Temp, Writes,
};
pub use program::{UNSEEN_PROGRAM, program_of};
pub use start::{End, Remote, RunningSandbox, Signalling, StartError, can_mediate, start};
pub use strength::{Strength, Tier};
pub use turn::{Turn, Turns};
pub use watch::{
    Attempt, Caller, CompletedSyscall, ConnectionSink, ContinueAll, Detail, EntryType, FileOperation, Intent,
    Limit, LinkedFile, MountView, Opening, PendingSyscall, Reply, Sync, Syscall, SyscallHandler, Time,
    is_being_written,
};
