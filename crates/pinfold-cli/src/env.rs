//! Environment of the process: home, folders, variables. Read here, nowhere else.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use pinfold::policy::FolderChoice;
use pinfold::settings::home_of_account;
use pinfold_approvals::socket::SocketHomes;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::exit::{Failure, USAGE};

/// The person's home directory, as the environment names it.
pub(crate) fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Returns the folders that are no project: homes, by the environment and by the account, and directories of the `PATH`.
/// `said_twice`: the user named the folder, and allowed that it is one of these.
pub(crate) fn folder_choice(said_twice: bool) -> FolderChoice {
    let homes = [home(), home_of_account()].into_iter().flatten();
    let path = env::var_os("PATH").unwrap_or_default();
    let programs = env::split_paths(&path).filter(|place| place.is_absolute());
    let real = |place: PathBuf| place.canonicalize().ok();
    FolderChoice {
        homes: homes.filter_map(real).collect(),
        programs: programs.filter_map(real).filter(|place| !is_of_a_project(place)).collect(),
        said_twice,
        only_judged: false,
    }
}

/// Returns whether programs there are those of a project that the person has switched on in this shell: a virtual environment of
/// Python or Conda, the programs that a package manager of JavaScript puts beside a package.
fn is_of_a_project(programs: &Path) -> bool {
    let beside = |name: &str| programs.parent().is_some_and(|parent| parent.join(name).exists());
    programs.ends_with("node_modules/.bin") || beside("pyvenv.cfg") || beside("conda-meta")
}

/// The place that a variable names, if it is absolute.
pub(crate) fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the working directory.
pub(crate) fn current_dir() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|e| {
        Failure::new(USAGE, format!("the current directory cannot be used: {e}"))
            .mend("change to a directory that exists")
    })
}

/// The environment, as far as it is text: what declared path scopes are expanded by.
pub(crate) fn variables() -> BTreeMap<String, String> {
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// This program, which is started for what it does by other commands: also when it was replaced meanwhile.
/// [proc_pid_exe(5)](https://man7.org/linux/man-pages/man5/proc_pid_exe.5.html)
pub(crate) const OWN_PROGRAM: &str = "/proc/self/exe";

/// The words of our own command line behind a command.
pub(crate) fn words_after(command: &str) -> impl Iterator<Item = OsString> {
    env::args_os().skip_while(move |word| word.to_str() != Some(command)).skip(1)
}

/// The environment: what hooks, as the person's own programs, get of it.
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// The place that an XDG variable names, or its default below home.
/// [basedir](https://specifications.freedesktop.org/basedir-spec/latest/)
fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| Some(home()?.join(below_home))).map(|path| path.join("pinfold"))
}

/// Returns the directory of the private layers of package caches, which stay between runs.
pub(crate) fn cache_home() -> Option<PathBuf> {
    xdg("XDG_CACHE_HOME", ".cache")
}

/// Returns the directory of the user's own settings.
pub(crate) fn config_home() -> Option<PathBuf> {
    xdg("XDG_CONFIG_HOME", ".config")
}

/// Returns the directory of the audit log and of other state.
pub(crate) fn state_home() -> Option<PathBuf> {
    xdg("XDG_STATE_HOME", ".local/state")
}

/// The token of our own server over HTTP, where the environment names it.
pub(crate) fn mcp_token() -> Option<OsString> {
    variable("PINFOLD_MCP_TOKEN")
}

/// The value of a variable that the person named.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    is_name.then(|| env::var_os(name)).flatten()
}

/// Returns the value of `USER`, which proves nothing.
pub(crate) fn user() -> Option<String> {
    env::var("USER").ok()
}

/// Returns the directories of the sockets through which other processes list and answer approval requests.
pub(crate) fn socket_homes() -> SocketHomes {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    SocketHomes { runtime, state: state_home() }
}

/// Creates and returns the directories that are hidden from confined processes beside the guarded places: those of the
/// approval sockets. They are created now, so that they are hidden also before the first request.
pub(crate) fn hidden() -> Vec<PathBuf> {
    socket_homes().create_all()
}

/// Directories for what ends with a run, best first.
pub(crate) fn temporary_homes() -> Vec<PathBuf> {
    let named = ["XDG_RUNTIME_DIR", "TMPDIR"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    named.filter(|path| path.is_absolute()).chain([PathBuf::from("/tmp")]).collect()
}

/// Returns the parent of directories that belong to one session.
pub(crate) fn private_base() -> PathBuf {
    temporary_homes().into_iter().find(|home| home.is_dir()).unwrap_or_else(env::temp_dir)
}

/// Returns whether this process already runs within a boundary that it cannot shed: then the outer one holds what the
/// inner cannot, and less is not a surprise.
pub(crate) fn is_inside_another() -> bool {
    if env::var_os(pinfold_boundary::SANDBOX_VARIABLE).is_none() {
        return false;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let has =
        |line: &str| status.lines().any(|l| l.split_ascii_whitespace().collect::<Vec<_>>().join(" ") == line);
    has("NoNewPrivs: 1") && has("Seccomp: 2")
}

/// Says when a signal ends the server.
pub(crate) fn ended() -> io::Result<UnixStream> {
    let (told, tells) = UnixStream::pair()?;
    pipe::register(SIGINT, tells.try_clone()?)?;
    pipe::register(SIGTERM, tells)?;
    Ok(told)
}
