//! Path resolution and containment: places held by descriptor.
//!
//! An alleged path goes in; out comes a place that is held by descriptor, inside or outside of a line, or the reason
//! why it leads nowhere. What was judged is what is touched: reading, creating, replacing, moving and removing all act
//! through the held place. There are no rules here, no modes, no tools: no opinion about what *should* happen.
//!
//! ```
//! use pinfold_paths::{Ambient, Expect, LastLink, WritableRoots, PathClaim, Resolution, Workspace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let line = WritableRoots::new(Workspace::open(&Ambient::claim(), folder.path())?, None);
//! let cwd = line.display_root().path().to_owned();
//! let resolve = |claim: &str| line.resolve(&cwd, &PathClaim::new(claim), LastLink::Follow);
//!
//! // Inside: the deed is done through what was resolved.
//! let Resolution::Contained(place) = resolve("notes/today.md") else { panic!("it is inside") };
//! place.replace(b"written\n", Expect::default())?;
//!
//! // Outside: reading, and nothing else until it is approved; the type has no other deed.
//! let Resolution::Outside(hosts) = resolve("/etc/passwd") else { panic!("it is outside") };
//! assert_eq!(hosts.disguise(), None);
//!
//! // A link that looks inside and leads out says so.
//! std::os::unix::fs::symlink("/etc", cwd.join("inside"))?;
//! let Resolution::Outside(place) = resolve("inside/passwd") else { panic!("it leads outside") };
//! assert!(place.disguise().is_some());
//! # Ok(())
//! # }
//! ```
//!
//! # Vocabulary
//! - [`Workspace`]: an open folder. [`WritableRoots`]: which folders count as inside, for one caller. [`Imagined`]: a folder
//!   that need not be there, for looking.
//! - [`PathClaim`]: a path as it was written.
//! - [`Contained`], [`Outside`], [`Unresolved`]: where it leads. [`Place`]: what the first two have in common.
//! - [`Version`], [`SessionReads`]: whether a file is still as it was read.
//!
//! # Invariants
//! 1. A [`Contained`] was opened beneath its root by plain names only; it is never made from a path in any other way.
//! 2. Nothing is written, created, moved or removed but through a [`Contained`].
//! 3. No deed follows a link at the last name; none opens a FIFO, a socket or a device.
//! 4. A place that changed since it was resolved makes the operation fail ([`OperationError::Changed`]).
//! 5. The process's own rights are used by path in one function only: [`Workspace::open`].
//!
//! # What this does not stop
//! - A process with rights outside that moves a held folder out of the root *between* the last look and the deed, a
//!   window of microseconds: the deed then lands in the moved folder. Nothing that is confined to the root can do that.
//! - Hard links: another name of the same file may lie elsewhere. Writing breaks the link, so the other name keeps its
//!   content; reading shows the content. [`Kind::File`] tells the number of names; the caller judges.
//! - Bind mounts inside the root: [`Place::crosses_mount`] tells; the caller judges.
//! - Processes that were started by the caller: the kernel's limits are another crate's part.
//!
//! # Platforms
//! Linux. [`Strategy::Openat2`] from 5.6 on ([openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html)), one
//! call for any depth; [`Strategy::ByHand`] elsewhere, one call for each component, with the same outcomes.
//! Mounts are told apart by number from 5.8 on; before that by device, so that a bind mount of the same device is not
//! told. Changes of one file are told apart by its clocks, which tick every few milliseconds before 6.13.
//! Elsewhere this crate does not build: another system needs its own file beside `sys/linux.rs`.

mod accounts;
mod claim;
mod contained;
mod directory;
mod error;
mod file_copy;
mod follow;
mod held_place;
mod imagined;
mod in_place;
mod outside;
mod replace;
mod resolve;
mod seen;
mod show;
mod sys;
mod tree;
mod version;
mod workspace;
mod writable_roots;

pub use accounts::expand_account_home;
pub use claim::PathClaim;
pub use contained::Contained;
pub use directory::{Directory, DirectoryEntry, EntryKind};
pub use error::OperationError;
pub use file_copy::Copied;
pub use held_place::{Kind, Place, Special};
pub use imagined::Imagined;
pub use in_place::{Opening, Owner, SetTime};
pub use outside::{Disguise, Outside};
pub use replace::{ABANDONED_AFTER, Expect, NEW_FILE_MODE};
pub use resolve::{LastLink, Resolution, Unresolved, Why};
pub use seen::{Freshness, SessionReads};
pub use show::show;
pub use sys::Strategy;
pub use tree::MAX_TREE_DEPTH;
pub use version::{FileId, Version};
pub use workspace::{Ambient, Workspace, WorkspaceError};
pub use writable_roots::{NotInside, WritableRoots};
