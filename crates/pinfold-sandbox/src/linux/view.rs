//! The order of mounts that makes a profile true.
//!
//! Nothing is pivoted: the child stands in its own copy of the mounts outside, makes all of them read-only and
//! puts on top what differs. What lies below cannot be uncovered again without capabilities, which are gone
//! before the command starts.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::steps::{MountStep, Slot};
use crate::profile::{Layer, Profile, Temp, Writes};

/// Device nodes that programs cannot do without. None of them stores anything.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Paths below `/run` that programs read, among the sockets there: name resolution, and the software itself on systems
/// that keep it there.
const KEPT: [&str; 6] = [
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
];

/// Directories with a private mount over those of the machine.
const COVERED: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev"];

/// Directory with the parts of the private file system. All of them are read-only, or visible at their real path too.
const BASE: &str = "/run/pinfold";

/// The steps, and how many slots they use.
pub(crate) struct View {
    pub(crate) steps: Vec<MountStep>,
    pub(crate) slots: usize,
    /// Private places that can be written inside, beside the granted ones.
    pub(crate) scratch: Vec<PathBuf>,
}

/// Writes down the steps for a profile. Looks at which places exist; changes nothing.
pub(crate) fn view(profile: &Profile) -> io::Result<View> {
    let mut writer = Writer { steps: vec![MountStep::Unshare], slots: 0 };
    let granted = writer.take_granted(profile)?;
    let temporary = writer.take_temporary(&profile.temp)?;
    let devices = writer.take_devices()?;
    let visible = writer.take_visible(profile)?;
    let seen: Vec<PathBuf> = visible.iter().map(|place| place.at.clone()).collect();
    let layers = writer.make_layers(&profile.layers)?;
    if profile.writes != Writes::Anywhere {
        writer.steps.push(MountStep::ReadOnlyAll);
    }
    let scratch = writer.private_parts(temporary)?;
    writer.devices(devices)?;
    let covers = writer.mount_covers(profile, &scratch)?;
    writer.attach_all(visible, &covers)?;
    // These were taken before everything became read-only. Modes and times are held by the mount alone.
    if profile.writes != Writes::Anywhere {
        for at in &seen {
            writer.steps.push(MountStep::ReadOnly(c_path(at)?));
        }
    }
    writer.attach_all(layers, &covers)?;
    writer.attach_all(granted, &covers)?;
    writer.guards(profile)?;
    // Alone: a granted place, or a private copy of the run, may lie below.
    for cover in std::iter::once(Path::new("/run")).chain(profile.covered.iter().map(PathBuf::as_path)) {
        writer.steps.push(MountStep::Seal(c_path(cover)?));
    }
    writer.steps.push(MountStep::Processes);
    Ok(View { steps: writer.steps, slots: writer.slots, scratch })
}

/// A place and the slot that waits to be attached there; whether it is a directory.
struct PendingMount {
    at: PathBuf,
    slot: Slot,
    directory: bool,
}

/// A mount on top of a path; the variants are in the order of two at one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Guard<'a> {
    Pinned,
    ReadOnly,
    CoveringLink(&'a Path),
    Hidden,
}

struct Writer {
    steps: Vec<MountStep>,
    slots: usize,
}

impl Writer {
    fn slot(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    fn take(&mut self, at: &Path, writable: bool) -> io::Result<PendingMount> {
        let found = std::fs::symlink_metadata(at)?;
        let slot = self.slot();
        let is = writable.then(|| (found.dev(), found.ino()));
        self.steps.push(MountStep::Take { at: c_path(at)?, writable, is, slot });
        Ok(PendingMount { at: at.to_owned(), slot, directory: found.is_dir() })
    }

    fn take_granted(&mut self, profile: &Profile) -> io::Result<Vec<PendingMount>> {
        let Writes::Beneath(places) = &profile.writes else { return Ok(Vec::new()) };
        shallow_first(places).into_iter().map(|at| self.take(at, true)).collect()
    }

    /// A temporary directory of the caller's, for each place where it will be seen.
    fn take_temporary(&mut self, temp: &Temp) -> io::Result<Option<[Slot; 2]>> {
        match temp {
            Temp::Private => Ok(None),
            Temp::Directory(at) => Ok(Some([self.take(at, true)?.slot, self.take(at, true)?.slot])),
        }
    }

    fn take_devices(&mut self) -> io::Result<Vec<PendingMount>> {
        let nodes = DEVICES.iter().map(|name| Path::new("/dev").join(name));
        nodes.filter(|at| at.exists()).map(|at| self.take(&at, false)).collect()
    }

    fn take_visible(&mut self, profile: &Profile) -> io::Result<Vec<PendingMount>> {
        let kept =
            KEPT.iter().map(PathBuf::from).filter(|at| at.symlink_metadata().is_ok_and(|m| !m.is_symlink()));
        // What is granted comes back by itself; what is not below a cover was never away.
        let granted = match &profile.writes {
            Writes::Beneath(places) => places.as_slice(),
            Writes::Nowhere | Writes::Anywhere => &[],
        };
        let covered = |at: &&PathBuf| is_covered(profile, at);
        let wanted = profile.visible.iter().filter(covered).filter(|at| !granted.contains(at));
        let all: Vec<PathBuf> = kept.chain(wanted.cloned()).collect();
        shallow_first(&all).into_iter().map(|at| self.take(at, false)).collect()
    }

    /// Layers are mounted on the spot, while their private part can still be written, and moved on top later.
    fn make_layers(&mut self, layers: &[Layer]) -> io::Result<Vec<PendingMount>> {
        layers
            .iter()
            .map(|layer| {
                let at = c_path(&layer.shared)?;
                let options = layer_options(layer)?;
                self.steps.push(MountStep::Layer { at: at.clone(), options });
                let slot = self.slot();
                self.steps.push(MountStep::Take { at, writable: true, is: None, slot });
                Ok(PendingMount { at: layer.shared.clone(), slot, directory: true })
            })
            .collect()
    }

    /// One memory file system carries everything private; its parts are put where programs look for them.
    fn private_parts(&mut self, temporary: Option<[Slot; 2]>) -> io::Result<Vec<PathBuf>> {
        self.steps
            .push(MountStep::Memory { at: c_path(Path::new("/run"))?, options: c"mode=0755".to_owned() });
        for (name, mode) in [("", 0o755), ("/tmp", 0o1777), ("/shm", 0o1777), ("/dev", 0o755), ("/void", 0)] {
            self.steps.push(MountStep::MakeDir(c_string(format!("{BASE}{name}").as_bytes())?, mode));
        }
        self.steps.push(MountStep::MakeFile(c_string(format!("{BASE}/blank").as_bytes())?, 0));
        let mut scratch = Vec::new();
        for (i, at) in ["/tmp", "/var/tmp"].map(Path::new).into_iter().enumerate() {
            if !at.symlink_metadata().is_ok_and(|m| m.is_dir()) {
                continue;
            }
            match temporary.and_then(|slots| slots.get(i).copied()) {
                Some(slot) => self.steps.push(MountStep::Attach { slot, at: c_path(at)? }),
                None => self.put(&Path::new(BASE).join("tmp"), at)?,
            }
            scratch.push(at.to_owned());
        }
        self.put(&Path::new(BASE).join("dev"), Path::new("/dev"))?;
        for (name, mode) in [("shm", 0o755), ("pts", 0o755)] {
            self.steps.push(MountStep::MakeDir(c_path(&Path::new("/dev").join(name))?, mode));
        }
        self.put(&Path::new(BASE).join("shm"), Path::new("/dev/shm"))?;
        scratch.push(PathBuf::from("/dev/shm"));
        self.steps.push(MountStep::Terminals(c_path(Path::new("/dev/pts"))?));
        Ok(scratch)
    }

    /// Mounts what is at `from` at `at` too.
    fn put(&mut self, from: &Path, at: &Path) -> io::Result<()> {
        let slot = self.slot();
        self.steps.push(MountStep::Take { at: c_path(from)?, writable: false, is: None, slot });
        self.steps.push(MountStep::Attach { slot, at: c_path(at)? });
        Ok(())
    }

    fn devices(&mut self, nodes: Vec<PendingMount>) -> io::Result<()> {
        for node in nodes {
            self.steps.push(MountStep::MakeFile(c_path(&node.at)?, 0o666));
            self.steps.push(MountStep::Attach { slot: node.slot, at: c_path(&node.at)? });
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            let at = c_path(&Path::new("/dev").join(name))?;
            self.steps.push(MountStep::MakeLink { target: c_string(target.as_bytes())?, at });
        }
        Ok(())
    }

    /// Puts an empty directory over what is covered, and lists all places below which a way has to be made.
    fn mount_covers(&mut self, profile: &Profile, scratch: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        for (number, cover) in profile.covered.iter().enumerate() {
            let empty = Path::new(BASE).join(format!("cover-{number}"));
            self.steps.push(MountStep::MakeDir(c_path(&empty)?, 0o755));
            self.put(&empty, cover)?;
        }
        Ok(scratch.iter().chain([&PathBuf::from("/run")]).chain(&profile.covered).cloned().collect())
    }

    fn attach_all(&mut self, waiting: Vec<PendingMount>, covers: &[PathBuf]) -> io::Result<()> {
        for place in waiting {
            self.make_way(&place, covers)?;
            self.steps.push(MountStep::Attach { slot: place.slot, at: c_path(&place.at)? });
        }
        Ok(())
    }

    /// Below a covered directory the place to mount on has to be made first.
    fn make_way(&mut self, place: &PendingMount, covers: &[PathBuf]) -> io::Result<()> {
        let Some((cover, below)) = covers.iter().find_map(|c| Some((c, place.at.strip_prefix(c).ok()?)))
        else {
            return Ok(());
        };
        let mut at = cover.clone();
        let mut names = below.components().peekable();
        while let Some(name) = names.next() {
            at.push(name);
            if names.peek().is_some() || place.directory {
                self.steps.push(MountStep::MakeDir(c_path(&at)?, 0o755));
            } else {
                self.steps.push(MountStep::MakeFile(c_path(&at)?, 0o644));
            }
        }
        Ok(())
    }

    /// Pins, read-only places and covers, outer ones first so that inner ones stay on top.
    fn guards(&mut self, profile: &Profile) -> io::Result<()> {
        let kinds = [
            (&profile.pinned, Guard::Pinned),
            (&profile.read_only, Guard::ReadOnly),
            (&profile.absent, Guard::ReadOnly),
            (&profile.hidden, Guard::Hidden),
        ];
        let mut all: Vec<(&PathBuf, Guard<'_>)> =
            kinds.iter().flat_map(|(paths, kind)| paths.iter().map(move |path| (path, *kind))).collect();
        all.extend(profile.stand_ins.iter().map(|file| (&file.path, Guard::ReadOnly)));
        all.extend(profile.detours.iter().map(|detour| (&detour.at, Guard::CoveringLink(&detour.to))));
        // Nothing is there to be held where something private was mounted, unless it came back.
        let granted = match &profile.writes {
            Writes::Beneath(places) => places.as_slice(),
            Writes::Nowhere | Writes::Anywhere => &[],
        };
        let back = |path: &Path| granted.iter().chain(&profile.visible).any(|place| path.starts_with(place));
        all.retain(|(path, _)| !is_covered(profile, path) || back(path));
        all.sort_by_cached_key(|(path, kind)| (path.components().count(), *kind));
        for (number, (path, kind)) in all.into_iter().enumerate() {
            match kind {
                Guard::Pinned => self.steps.push(MountStep::Pin { at: c_path(path)?, read_only: false }),
                Guard::ReadOnly => self.steps.push(MountStep::Pin { at: c_path(path)?, read_only: true }),
                Guard::CoveringLink(to) => {
                    let link = Path::new(BASE).join(format!("way-{number}"));
                    self.steps.push(MountStep::MakeLink { target: c_path(to)?, at: c_path(&link)? });
                    self.steps.push(MountStep::CoveringLink { link: c_path(&link)?, at: c_path(path)? });
                }
                Guard::Hidden => {
                    let could_come_back = profile.writes == Writes::Anywhere
                        || granted.iter().any(|place| path.starts_with(place));
                    self.hide(path, !could_come_back)?;
                }
            }
        }
        Ok(())
    }

    /// Covers a place. Another program may remove it meanwhile.
    fn hide(&mut self, path: &Path, may_be_gone: bool) -> io::Result<()> {
        let is_dir = match std::fs::symlink_metadata(path) {
            Err(error) if may_be_gone && error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?.is_dir(),
        };
        let slot = self.slot();
        let at = c_path(&Path::new(BASE).join(if is_dir { "void" } else { "blank" }))?;
        self.steps.push(MountStep::Take { at, writable: false, is: None, slot });
        self.steps.push(MountStep::Hide { slot, at: c_path(path)?, may_be_gone });
        Ok(())
    }
}

/// Returns whether something stands over a place that does not show it.
fn is_covered(profile: &Profile, path: &Path) -> bool {
    let always = COVERED.iter().map(Path::new);
    always.chain(profile.covered.iter().map(PathBuf::as_path)).any(|cover| path.starts_with(cover))
}

/// Parents before children, so that a child is mounted on top.
fn shallow_first(paths: &[PathBuf]) -> Vec<&Path> {
    let mut paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    paths.sort_by_cached_key(|path| path.components().count());
    paths.dedup();
    paths
}

/// [overlayfs](https://docs.kernel.org/filesystems/overlayfs.html): `:` and `\` are escaped; a comma cannot be.
fn layer_options(layer: &Layer) -> io::Result<CString> {
    let mut options = Vec::new();
    for (key, path) in [("lowerdir", &layer.shared), ("upperdir", &layer.private), ("workdir", &layer.work)] {
        options.extend_from_slice(key.as_bytes());
        options.push(b'=');
        for &byte in path.as_os_str().as_bytes() {
            match byte {
                b',' => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
                b':' | b'\\' => options.extend_from_slice(&[b'\\', byte]),
                _ => options.push(byte),
            }
        }
        options.push(b',');
    }
    options.extend_from_slice(b"userxattr");
    c_string(&options)
}

fn c_path(path: &Path) -> io::Result<CString> {
    c_string(path.as_os_str().as_bytes())
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}
