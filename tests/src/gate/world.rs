//! The places that cases speak of, as they speak of them: a root of its own with empty homes, in a mount namespace.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;

use super::case::Case;
use crate::missing::SEARCH_PATH;

/// Says to a copy of the test program that it runs in the world of the cases.
const INSIDE: &str = "PINFOLD_GATE_WORLD";

/// What is empty in that world, and is emptied for each case. The rest of the system is seen as it is.
const EMPTIED: &[&str] = &["home", "tmp", "opt", "srv"];

/// What no case may leave in the root.
const ROOT_LINKS: &[&str] = &["alias"];

/// Whether this process runs in the world of the cases.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Builds the new root and runs the test program in it. `$1` is the folder for the root, `$2` the program, `$3` the
/// cases.
const ENTER: &str = r#"
set -e
root=$1 program=$2 corpus=$3; shift 3
mount -t tmpfs pinfold "$root"
mkdir "$root/.cases" "$root/.cases/corpus"
cp "$program" "$root/.cases/program"
for part in gate bash-gate; do
    if [ -d "$corpus/$part" ]; then cp -r "$corpus/$part" "$root/.cases/corpus/"; fi
done
for at in /*; do
    case ${at#/} in home|tmp|opt|srv|alias|proj) continue;; esac
    if [ -L "$at" ]; then cp -P "$at" "$root/"
    elif [ -d "$at" ]; then mkdir "$root/${at#/}"; mount --rbind "$at" "$root/${at#/}"
    fi
done
mkdir "$root/home" "$root/tmp" "$root/opt" "$root/srv"
cd /
exec chroot "$root" /.cases/program "$@"
"#;

/// Runs a test of this program once more, by its name with its modules, in the world of the cases. `None` when this machine
/// cannot make one.
///
/// # Panics
/// When this program cannot be started at all, or has no such test.
pub fn enter(test: &str, corpus: &Path) -> Option<ExitStatus> {
    let root = tempfile::tempdir().expect("a folder for the new root");
    let own = std::env::current_exe().expect("own place");
    let user: &[&str] = if crate::processes::is_superuser() { &[] } else { &["--user", "--map-root-user"] };
    let unshare = |script: &[&str]| {
        let mut command = Command::new("unshare");
        // The path of an ordinary user has no `chroot`.
        command.env("PATH", SEARCH_PATH);
        command.args(user).args(["--mount", "--propagation", "private", "--", "sh", "-c"]).args(script);
        command
    };
    let possible = unshare(&["mount -t tmpfs x /mnt && mount --rbind /usr /mnt", "sh"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !possible {
        return None;
    }
    let mut command = unshare(&[ENTER, "sh"]);
    command.arg(root.path()).arg(own).arg(corpus);
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
    command.env(INSIDE, "1").env("PINFOLD_CORPUS", "/.cases/corpus");
    let output = command.stderr(Stdio::inherit()).output().expect("unshare can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    assert!(said.contains("running 1 test"), "there is a test of the name {test}: {said}");
    Some(output.status)
}

/// Makes the world of one case. Only inside.
///
/// # Errors
/// What could not be made, or is not understood.
pub fn build(case: &Case) -> Result<(), String> {
    assert!(is_inside(), "a case is built in its own world only");
    empty();
    let setup = &case.setup;
    let mut folders: Vec<PathBuf> = vec![home(case).into(), project(case).into(), cwd(case).into()];
    for (outer, names) in [("scope", &["root_dir", "display_root"][..]), ("sandbox", &["writable"])] {
        let values = names.iter().filter_map(|name| setup.get(outer)?.get(name));
        folders.extend(values.flat_map(texts).map(PathBuf::from));
    }
    folders
        .extend(setup.get("additional_directories").iter().flat_map(|list| texts(list)).map(PathBuf::from));
    for folder in folders.iter().filter(|folder| is_ours(folder)) {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    if let Some(fs) = setup.get("fs") {
        tree(case, fs)?;
    }
    if !says_missing(case) {
        call_paths(case, &case.call.input);
        let earlier = case.setup.get("history").and_then(Value::as_array).into_iter().flatten();
        earlier.for_each(|step| call_paths(case, &step["call"]["input"]));
    }
    Ok(())
}

/// Whether a case is about something that is not there.
fn says_missing(case: &Case) -> bool {
    ["missing folder", "dangling"].iter().any(|word| case.why.contains(word))
}

fn empty() {
    for name in EMPTIED {
        for entry in fs::read_dir(Path::new("/").join(name)).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let _ = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
    for name in ROOT_LINKS {
        let _ = fs::remove_file(Path::new("/").join(name));
    }
}

fn is_ours(path: &Path) -> bool {
    let name = path.iter().nth(1).unwrap_or_default();
    path.is_absolute() && EMPTIED.iter().any(|ours| name == *ours)
}

/// The texts of a value: itself, or the entries of a list.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The home of a case.
pub fn home(case: &Case) -> &str {
    case.setup.get("home").and_then(Value::as_str).unwrap_or("/home/u")
}

/// The project of a case.
pub fn project(case: &Case) -> &str {
    case.setup.get("project_root").and_then(Value::as_str).unwrap_or("/home/u/proj")
}

/// The folder that a case works in.
pub fn cwd(case: &Case) -> &str {
    case.setup.get("cwd").and_then(Value::as_str).unwrap_or_else(|| project(case))
}

/// The files and links that a case names.
fn tree(case: &Case, fs: &Value) -> Result<(), String> {
    let object = fs.as_object().ok_or("`fs` is no object")?;
    for (kind, entries) in object {
        match kind.as_str() {
            "files" => {
                texts(entries).into_iter().try_for_each(file)?;
                let with_content = entries.as_object().into_iter().flatten();
                with_content
                    .map(|(path, content)| format!("{path} = {}", content.as_str().unwrap_or_default()))
                    .try_for_each(|text| file(&text))?;
            }
            "missing" => {
                for path in texts(entries).into_iter().map(Path::new).filter(|path| is_ours(path)) {
                    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
                }
            }
            "fifos" | "fifo" => texts(entries).into_iter().try_for_each(fifo)?,
            "dirs" | "directories" | "folders" => texts(entries).into_iter().try_for_each(folder)?,
            "symlinks" | "hardlinks" => {
                let links = entries.as_object().ok_or_else(|| format!("`fs.{kind}` is no object"))?;
                for (link, target) in links {
                    let target = target.as_str().ok_or_else(|| format!("`fs.{kind}` holds no text"))?;
                    make_link(case, kind, link, target)?;
                }
            }
            other => return Err(format!("`fs.{other}` is not known")),
        }
    }
    Ok(())
}

/// `path`, or `path = content`.
fn file(text: &str) -> Result<(), String> {
    let (path, content) = text.split_once(" = ").unwrap_or((text, "a\nx\ndup\ndup\n"));
    let path = Path::new(path);
    parents(path)?;
    fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}

fn fifo(path: &str) -> Result<(), String> {
    parents(Path::new(path))?;
    let made = Command::new("mkfifo").arg(path).status().map_err(|error| format!("mkfifo: {error}"))?;
    if made.success() { Ok(()) } else { Err(format!("mkfifo {path} failed")) }
}

fn folder(path: &str) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| format!("{path}: {error}"))
}

fn parents(path: &Path) -> Result<(), String> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))
}

fn make_link(case: &Case, kind: &str, link: &str, target: &str) -> Result<(), String> {
    let at = Path::new(link);
    parents(at)?;
    let real = at.parent().unwrap_or(Path::new("/")).join(target);
    let dangles = case.why.contains("dangling") || case.why.contains("loop");
    if !dangles && is_ours(&real) && real.symlink_metadata().is_err() {
        // What the call goes through is a folder.
        let name = at.file_name().unwrap_or_default().to_string_lossy();
        let through = case.call.input.to_string().contains(&format!("{name}/"));
        if through {
            let _ = fs::create_dir_all(&real);
        } else {
            parents(&real)?;
            fs::write(&real, "x\n").map_err(|error| format!("{}: {error}", real.display()))?;
        }
    }
    let made = if kind == "symlinks" { symlink(target, at) } else { fs::hard_link(target, at) };
    made.map_err(|error| format!("{link}: {error}"))
}

/// Replaces a link.
///
/// # Errors
/// When it cannot be made.
pub fn relink(link: &str, target: &str) -> Result<(), String> {
    let _ = fs::remove_file(link);
    symlink(target, link).map_err(|error| format!("{link}: {error}"))
}

/// Changes a file behind everybody's back.
///
/// # Errors
/// When it cannot be written.
pub fn change_behind(path: &str) -> Result<(), String> {
    let mut file =
        fs::OpenOptions::new().append(true).open(path).map_err(|error| format!("{path}: {error}"))?;
    file.write_all(b"changed\n").map_err(|error| format!("{path}: {error}"))
}

/// Files exist as needed: folders on the way of the paths that a call names, and the folder that an agent is given.
fn call_paths(case: &Case, input: &Value) {
    for field in ["file_path", "path", "notebook_path", "src", "dst", "source", "destination"] {
        if let Some(path) = input.get(field).and_then(Value::as_str) {
            on_the_way(case, path, false);
        }
    }
    if let Some(folder) = input.get("folder").and_then(Value::as_str) {
        on_the_way(case, folder, true);
    }
}

fn on_the_way(case: &Case, path: &str, whole: bool) {
    let path = match path.strip_prefix("~/") {
        Some(below) => Path::new(home(case)).join(below),
        None => Path::new(cwd(case)).join(path),
    };
    let parts: Vec<Component<'_>> = path.components().collect();
    let mut at = PathBuf::from("/");
    for (i, part) in parts.iter().enumerate() {
        let last = i + 1 == parts.len();
        match part {
            Component::Normal(name) => at.push(name),
            Component::ParentDir => drop(at.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
        if (!last || whole) && is_ours(&at) && at.symlink_metadata().is_err() {
            let _ = fs::create_dir(&at);
        }
    }
}
