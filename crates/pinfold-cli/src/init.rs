//! `pinfold init`: a first settings file, with an explanation of each part.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitCode;

use pinfold::policy::Layer;
use pinfold::policy::settings::SCHEMA_URL;
use pinfold_sandbox::open_plain;

use crate::args::Init;
use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::output;
use crate::settings;

pub(crate) fn init(wanted: &Init) -> Result<ExitCode, Failure> {
    let locations = settings::locations(wanted.folder.as_deref())?;
    let layer = if wanted.user { Layer::User } else { Layer::Project };
    let Some(file) = locations.file(layer) else {
        return Err(Failure::new(USAGE, "there is no place for your own settings")
            .mend("set XDG_CONFIG_HOME to a directory that you can write"));
    };
    create(&file.path, &TEMPLATE.replace("SCHEMA", SCHEMA_URL))
        .map_err(|e| Failure::new(FAILED, format!("{}: {e}", output::path(&file.path))))?;
    let mut told = format!("wrote {}\n", output::path(&file.path));
    if let (Layer::Project, Some(project)) = (layer, &locations.project) {
        told += "look at it, then `pinfold trust` lets its allow rules count\n";
        if !ignores_local(project) {
            told += "add `.pinfold/settings.local.json` to .gitignore: it is yours alone\n";
        }
    }
    output::out(&told)?;
    Ok(ExitCode::from(DONE))
}

/// Makes a file that is not there yet.
fn create(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        if folder.is_symlink() {
            return Err(io::Error::other("its folder is a link; make it a folder"));
        }
        fs::create_dir_all(folder)?;
    }
    // Never through a link, and never over what is there.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path);
    let mut file = made.map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => io::Error::other("it is there already, and stays as it is"),
        _ => e,
    })?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Bytes of an ignore file that are read.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// Returns whether the ignore file of the project names the local settings plainly. Other ways to ignore them are not seen:
/// the proposal is one line too many then.
fn ignores_local(project: &Path) -> bool {
    let mut text = Vec::new();
    // Git follows no link there, and reads nothing but a regular file.
    let read = open_plain(&project.join(".gitignore"));
    let _ = read.and_then(|file| file.take(MAX_IGNORE_FILE_BYTES).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    let names = [
        ".pinfold/settings.local.json",
        "settings.local.json",
        "*.local.json",
        ".pinfold/*.local.json",
        ".pinfold",
    ];
    text.lines().map(|line| line.trim().trim_matches('/')).any(|line| names.contains(&line))
}

/// Content of a new file: nothing that is not so without it.
const TEMPLATE: &str = r#"{
  // Settings of pinfold for this project. Comments and trailing commas are welcome.
  "$schema": "SCHEMA",

  "permissions": {
    // What happens when no rule has an opinion: default, acceptEdits, dontAsk, bypassPermissions or auto.
    // Where no mode is chosen, edits in the folder and commands that the kernel holds need no question.
    // "defaultMode": "default",

    // Calls that need no question. They count once you said `pinfold trust`.
    "allow": [
      // "Bash(npm run *)", "Read(./src/**)", "WebFetch(domain:github.com)"
    ],

    // Calls that are asked about, whatever is allowed.
    "ask": [
      // "Bash(git push *)"
    ],

    // Calls that are denied, whatever else is said anywhere.
    "deny": [
      // "Read(./secrets/**)"
    ],
  },

  // When a command needs no question: "ask" (never), "read-only" (when every part of it only reads)
  // or "sandboxed" (when the kernel holds it in full).
  // "bash": "ask",

  // What these settings are meant to decide: `pinfold rules test` tells whether they do.
  "tests": [
    { "call": "Bash(git push origin main)", "expect": "ask" },
  ],
}
"#;

#[cfg(test)]
mod tests {
    use pinfold::policy::Settings;

    use super::*;

    #[test]
    fn what_is_written_can_be_read_and_widens_nothing() {
        let settings = Settings::parse(TEMPLATE.as_bytes(), Layer::Project, &"f".into()).unwrap();
        let layered = pinfold::policy::Layered { settings, trusted: false };
        let merged = pinfold::policy::merge(&[layered]);
        assert!(merged.ignored.is_empty() && merged.rules.is_empty());
        for key in ["defaultMode", "bash"] {
            let chosen = TEMPLATE.lines().find(|line| line.trim_start().starts_with(&format!("\"{key}\"")));
            assert_eq!(chosen, None, "a choice that a person has not made");
        }
    }

    #[test]
    fn what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".pinfold/settings.json");
        create(&path, "first").unwrap();
        assert!(create(&path, "second").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }
}
