//! The sandbox profile of a process, as plain data.
//!
//! A [`Profile`] is compiled by a caller with a policy (which folder, which guards) and enforced by this crate, which has
//! none. Every path in it is absolute and already resolved: the sandbox opens each one without
//! following a link in its last component and refuses to start when that fails.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Limits of a confined process. Plain data; no path is looked up again by name after the start.
///
/// Begins with [`Self::new`], which grants nothing: each setter, or each field, opens or closes one thing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// Working directory of the command. The process must be able to see it.
    pub cwd: PathBuf,
    /// Writable places.
    pub writes: Writes,
    /// Existing files and directories below a writable one that stay read-only.
    pub read_only: Vec<PathBuf>,
    /// Directories that stay writable but cannot be renamed, removed or replaced.
    pub pinned: Vec<PathBuf>,
    /// Names that do not exist and must not appear. Their parents exist. Held by an empty, marked directory
    /// for the length of the run; nothing is left behind.
    pub absent: Vec<PathBuf>,
    /// Directory that keeps unused placeholders between runs; created on demand. Best on the file system of the folder.
    pub spare: Option<PathBuf>,
    /// Files that do not exist and must not appear with any other content than this. Held like [`Self::absent`],
    /// for names where a directory would disturb those who read them.
    pub stand_ins: Vec<StandIn>,
    /// Existing files and links over which a link to another place is mounted: who opens one inside is led to
    /// the other place, and the name itself can be neither removed nor replaced.
    pub detours: Vec<CoveringLink>,
    /// Places that stay visible, read-only, although a directory above them is covered: `/tmp`, `/run`, or one of
    /// [`Self::covered`].
    pub visible: Vec<PathBuf>,
    /// Directories in which nothing is seen but what is granted, layered or visible, and the way there. None lies
    /// below another, none below a granted, layered or visible place.
    pub covered: Vec<PathBuf>,
    /// Files and directories whose content cannot be read.
    pub hidden: Vec<PathBuf>,
    /// The private temporary directory at `/tmp` and `/var/tmp`.
    pub temp: Temp,
    /// Directories read shared and written to a private layer.
    pub layers: Vec<Layer>,
    /// Network access.
    pub network: Network,
    /// Sockets of programs on this machine that can be reached, and directories of such: the supervisor connects to
    /// them for the process. Needs the full tier, a network of its own, and user notifications.
    pub sockets: Vec<PathBuf>,
    /// Kernel features that are blocked unless named here.
    pub openings: Openings,
    /// A handler may hold calls and do them itself: calls that only change the times or the mode of a file by its name
    /// are shown to it too, which without mounts they always are.
    pub negotiable: bool,
    /// The supervisor carries out every call that changes a shared place, and the kernel lets no process do so by itself:
    /// see [`Mediation`]. Needs Linux 5.19 with Landlock, and a handler that says [`Reply::CarryOut`](crate::Reply::CarryOut).
    pub mediated: Option<Mediation>,
    /// Opens for reading are shown to the handler as well. Each open then costs a question.
    pub watches_reading: bool,
    /// The whole environment of the command, and of everything that runs inside.
    pub environment: Vec<(OsString, OsString)>,
    /// Resource limits.
    pub limits: Limits,
}

impl Profile {
    /// A profile of a command that works in this directory, writes nowhere and reaches no network.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self { cwd: cwd.into(), ..Self::default() }
    }
}

/// Defines a setter for each of these fields.
macro_rules! setters {
    ($($setter:ident($field:ident: $type:ty);)+) => {
        impl Profile {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $setter(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}

setters! {
    with_writes(writes: Writes);
    with_read_only(read_only: Vec<PathBuf>);
    with_pinned(pinned: Vec<PathBuf>);
    with_absent(absent: Vec<PathBuf>);
    with_spare(spare: Option<PathBuf>);
    with_stand_ins(stand_ins: Vec<StandIn>);
    with_detours(detours: Vec<CoveringLink>);
    with_visible(visible: Vec<PathBuf>);
    with_covered(covered: Vec<PathBuf>);
    with_hidden(hidden: Vec<PathBuf>);
    with_temp(temp: Temp);
    with_layers(layers: Vec<Layer>);
    with_network(network: Network);
    with_sockets(sockets: Vec<PathBuf>);
    with_openings(openings: Openings);
    with_negotiable(negotiable: bool);
    with_mediated(mediated: Option<Mediation>);
    with_watches_reading(watches_reading: bool);
    with_environment(environment: Vec<(OsString, OsString)>);
    with_limits(limits: Limits);
}

/// A missing file that is held by one with harmless content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandIn {
    /// The missing name. Its parent exists.
    pub path: PathBuf,
    /// Content for readers during the run.
    pub content: &'static [u8],
}

/// A link mounted over an existing file or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveringLink {
    /// The covered name.
    pub at: PathBuf,
    /// Target of the link, taken literally as that of any link.
    pub to: PathBuf,
}

/// Complete mediation of what changes files: what a process may write by itself, and by Landlock nothing else.
///
/// Everything that [`Writes`] allows beside is opened, made, renamed and removed by the supervisor, through directories that
/// it holds, in place of the process. So no name is ever looked up again after it was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mediation {
    /// Places of the run's own, beside its temporary directory and its layers.
    pub own: Vec<PathBuf>,
}

/// The writable part of the file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// Nothing but the private temporary directory.
    #[default]
    Nowhere,
    /// Only what lies beneath these. A file may stand here as well as a directory.
    Beneath(Vec<PathBuf>),
    /// Anywhere but what is read-only or hidden.
    Anywhere,
}

/// Location of temporary files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Temp {
    /// A memory file system that ends with the run.
    #[default]
    Private,
    /// This directory, so that several runs of one session share it.
    Directory(PathBuf),
}

/// A directory read shared and written to a private layer (overlay file system).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The shared directory; it is not changed. Appears at its own path.
    pub shared: PathBuf,
    /// Directory of the changes.
    pub private: PathBuf,
    /// Scratch space of the overlay, on the file system of `private`.
    pub work: PathBuf,
}

/// Network access of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Only itself: a loopback interface of its own.
    #[default]
    Off,
    /// Only the relay that takes the sockets of [`RunningSandbox::relay_sockets`](crate::RunningSandbox::relay_sockets): every address is local, and
    /// every connection arrives there. Needs the full tier.
    Relayed(InnerListeners),
    /// Only the taker of the connections of [`RunningSandbox::connections_go_to`](crate::RunningSandbox::connections_go_to): a
    /// proxy, for programs that connect to this port of `127.0.0.1`. Nothing else is connected to. Needs the Landlock
    /// tier, where a run has no network of its own, and user notifications.
    Proxied(u16),
    /// Everything that the host can reach.
    Host,
}

/// Listeners inside, for connections to any address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InnerListeners {
    /// Ports, beside the one for names (53). No process inside can listen there. With none no host is reached: only DNS
    /// queries arrive.
    pub ports: Vec<u16>,
    /// The port on the loopback interface where a relay is asked as a proxy, if it is.
    pub proxy: Option<u16>,
    /// Number of sockets of each IP version that are created inside for connections from outside to servers there.
    pub callers: u8,
}

/// Most sockets of [`InnerListeners::callers`].
pub const MAX_CALLERS: u8 = 48;

/// Most ports of [`InnerListeners`].
pub const MAX_PORTS: usize = 64;

/// Access to brokers that act outside on the caller's behalf, and kernel interfaces with a record of holes.
/// All are closed unless opened by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent features, each allowed or blocked")]
pub struct Openings {
    /// `socket(AF_UNIX)`: any daemon whose socket file can be seen.
    pub unix_sockets: bool,
    /// New user namespaces inside (nested sandboxes, browsers).
    pub user_namespaces: bool,
    /// `io_uring_*`: its operations pass seccomp unseen.
    pub io_uring: bool,
    /// `add_key`, `keyctl`, `request_key`: the user's key rings.
    pub keyrings: bool,
    /// `personality` values other than the plain ones.
    pub personality: bool,
    /// `landlock_*`: sandboxes that programs make for themselves. A supervisor that carries calls out would not keep their
    /// limits, so that a run with them is not [mediated](Profile::mediated).
    pub landlock: bool,
}

impl Openings {
    /// Returns whether system calls may be mediated: no process inside can have a view of files, limits or operations of its
    /// own that the supervisor does not know of.
    pub fn allow_mediation(self) -> bool {
        !(self.user_namespaces || self.io_uring || self.landlock)
    }
}

/// Resource limits of the process. `None` means the limit of the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Private writable memory of each process, in bytes.
    pub memory: Option<u64>,
    /// Processes and threads at one time.
    pub processes: Option<u64>,
    /// Processor time of each process.
    pub cpu_time: Option<Duration>,
    /// Time from start to end; then the whole tree is ended. The clock stops while a call waits for a decision,
    /// to a fifth of a second.
    pub wall_time: Option<Duration>,
    /// Size of any one file, in bytes.
    pub file_size: Option<u64>,
}

impl Limits {
    /// Returns whether the kernel kills a process that meets one of them.
    pub(crate) fn end_processes(&self) -> bool {
        self.cpu_time.is_some() || self.file_size.is_some()
    }
}
