//! Repositories to try git in: a layout in a place of its own, put back as it was as often as needed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::Who;
use crate::ground::new_place;
use crate::product::pinfold;

/// One `[name]` with its `key: value` lines and its script.
#[derive(Clone, Debug)]
pub struct Section {
    /// What stands in the brackets.
    pub name: String,
    keys: Vec<(String, String)>,
    /// The other lines.
    pub script: String,
}

impl Section {
    /// The value of a key.
    pub fn key(&self, name: &str) -> Option<&str> {
        self.keys.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a file of sections. Keys are those named in `keys`; any other line belongs to the script.
pub fn sections(text: &str, keys: &[&str]) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            all.push(Section { name: name.into(), keys: Vec::new(), script: String::new() });
            continue;
        }
        let section = all.last_mut().expect("a file of sections starts with one");
        match line.split_once(": ").filter(|(key, _)| keys.contains(key)) {
            Some((key, value)) => section.keys.push((key.into(), value.into())),
            None => section.script.extend([line, "\n"]),
        }
    }
    all
}

/// What every git command of the tests finds in its home.
const HOME_CONFIG: &str = "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n\
                           [protocol \"file\"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n";

/// Makes `remote.git` with the branches `main` and `other`.
const REMOTE: &str = "git init -q seed && cd seed && echo f > f && git add f && git commit -qm first && git branch other \
                      && echo f2 >> f && git commit -qam second && git checkout -q other && echo g > g2 && git add g2 \
                      && git commit -qm other && git checkout -q main && cd .. && git clone -q --bare seed remote.git \
                      && rm -rf seed";

/// A layout of one user's.
#[derive(Debug)]
pub struct GitBed {
    who: Who,
    place: TempDir,
    folder: String,
    repo: String,
    /// The shared git directory and that of this working tree, as built: after an attack git may be led astray.
    git_dirs: [String; 2],
}

impl GitBed {
    /// Builds a layout.
    ///
    /// # Panics
    /// When its script fails.
    pub fn new(who: Who, layout: &Section) -> Self {
        let place = new_place("pinfold-git.");
        let of = |key: &str| layout.key(key).expect("a layout names its folder and repository").to_owned();
        let mut bed = Self {
            who,
            folder: of("folder"),
            repo: of("repo"),
            place,
            git_dirs: [String::new(), String::new()],
        };
        fs::create_dir_all(bed.at("bed/home")).expect("a home");
        fs::write(bed.at("bed/home/.gitconfig"), HOME_CONFIG).expect("a configuration");
        // The program of the attacks. What it leaves shows that it was run.
        let program = format!("#!/bin/sh\ntouch {}\nexit 0\n", bed.at("bed/ran").display());
        fs::write(bed.at("bed/x"), program).expect("a program");
        fs::set_permissions(bed.at("bed/x"), fs::Permissions::from_mode(0o755)).expect("its mode");
        who.give(bed.place.path());
        for script in [REMOTE, &layout.script] {
            let built = bed.free(&format!("set -e; cd {}\n{script}", bed.at("bed").display()));
            assert!(built.status.success(), "{}: {}", layout.name, crate::output::describe(&built));
        }
        bed.git_dirs = ["--git-common-dir", "--git-dir"].map(|what| bed.ask(what));
        let kept = Command::new("cp").arg("-a").arg(bed.at("bed")).arg(bed.at("kept")).status();
        assert!(kept.expect("cp can be started").success());
        bed
    }

    /// Whose it is.
    pub fn who(&self) -> Who {
        self.who
    }

    /// Puts everything back as it was built.
    ///
    /// # Panics
    /// When that is not possible.
    pub fn reset(&self) {
        let script = "rm -rf bed && cp -a kept bed";
        let done = Command::new("sh").args(["-c", script]).current_dir(self.place.path()).status();
        assert!(done.expect("a shell can be started").success(), "putting the bed back");
    }

    fn at(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    /// Everything that belongs to the layout.
    pub fn tree(&self) -> PathBuf {
        self.at("bed")
    }

    /// The granted folder.
    pub fn folder(&self) -> PathBuf {
        self.at("bed").join(&self.folder)
    }

    /// Where git is used.
    pub fn repo(&self) -> PathBuf {
        self.at("bed").join(&self.repo)
    }

    /// What the program of the attacks leaves behind.
    pub fn ran(&self) -> PathBuf {
        self.at("bed/ran")
    }

    /// Runs a shell script in the repository with nothing around it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn free(&self, script: &str) -> Output {
        let command = self.who.command("sh", &self.at("bed/home"));
        self.finish(command, script)
    }

    /// Runs a shell script in the repository, confined to the folder.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn confined(&self, script: &str) -> Output {
        let mut command = self.who.command(pinfold(), &self.at("bed/home"));
        command.args(["run", "--folder"]).arg(self.folder()).args(["--", "sh"]);
        self.finish(command, script)
    }

    fn finish(&self, mut command: Command, script: &str) -> Output {
        let repo = self.repo();
        // While a layout is being built there is no repository yet; a run starts in its folder.
        let start = format!("if [ -d \"$R\" ]; then cd \"$R\"; fi\n{script}");
        command.current_dir(self.at("bed"));
        command.env("F", self.folder()).env("R", &repo).env("X", self.at("bed/x"));
        for (name, dir) in ["G", "D"].into_iter().zip(&self.git_dirs) {
            command.env(name, dir);
        }
        command.args(["-c", &start]).output().expect("it can be started")
    }

    /// What git says about the repository.
    fn ask(&self, what: &str) -> String {
        let said = self.free(&format!("git rev-parse --path-format=absolute {what}"));
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    }
}
