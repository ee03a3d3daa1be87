//! `protected-write`: writes where the machine keeps its settings, or where a shell or a login reads what to run.

use super::way::{Start, Step, WordPath};
use super::{Line, Safeguard, Watch};
use crate::Severity;
use crate::startup_files::STARTUP_NAMES;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "protected-write",
    about: "writes where the machine, a shell or a login reads what to do",
    severity: Severity::Medium,
    hits: &[
        "echo bad >> /etc/hosts",
        "echo bad > /etc/passwd",
        "> /etc/passwd",
        "echo x > /etc/../etc/x",
        "echo key >> ~/.ssh/authorized_keys",
        "echo bad >> ~/.bashrc",
        "echo bad >| ~/.zshrc",
        "echo bad &>> ~/.bashrc",
        "echo bad >> $HOME/.profile",
        "echo x > \"$HOME/.ssh/config\"",
        "echo x > ~/./.bashrc",
        "echo x > ~/.bash'rc'",
        "echo x > ~/.bash*",
        "cd /etc && echo x > passwd",
        "cd ~ && echo x >> .bashrc",
        "{ echo x; } > ~/.bashrc",
        "echo x | tee -a /etc/hosts",
        "sudo tee /etc/sudoers.d/x",
        "cp x ~/.ssh/authorized_keys",
        "mv x /etc/cron.d/y",
        "touch ~/.bashrc",
        "wget -O /etc/hosts http://x",
        "curl -o ~/.ssh/config http://x",
        "unzip a.zip -d ~/.ssh",
        "tar -xf a.tar -C ~/.ssh",
        "sed -i s/a/b/ /etc/hosts",
        "echo x > ~/.bashrc.d/x",
        "echo x >> ~/.config/fish/config.fish",
        "echo x > ~/.config/fish/conf.d/x.fish",
        "echo x > ./config.fish",
        "tee ~/.xprofile",
        "cp x ~/.pythonrc.py",
    ],
    passes: &[
        "echo x > /dev/null",
        "ls 2>&1",
        "cat < /etc/hosts",
        "cat src/etc/passwd.rs",
        "echo x > etc/hosts",
        "echo x > notes.md",
        "cp /etc/hosts .",
        "cp ~/.bashrc backup",
        "echo '>> ~/.bashrc'",
        "echo x > bashrc",
        "echo x > ~/.config/*",
        "echo x > fish/config",
        "cat ~/.ssh/config",
        "echo x > $OUT",
    ],
    blind: "a path that a variable holds, and programs whose arguments are not known here",
    watch: Watch::Line(|line: &Line<'_>| line.written().iter().any(is_protected)),
};

fn is_protected(way: &WordPath) -> bool {
    let steps = way.steps();
    let is_named = |step: &Step<'_>, names: &[&str]| step.is_named() && step.may_be_any(names);
    let in_etc = match steps.as_slice() {
        [top, ..] if way.start == Start::Root && is_named(top, &["etc"]) => true,
        [top, below, ..] => {
            way.start == Start::Root && is_named(top, &["private"]) && is_named(below, &["etc"])
        }
        _ => false,
    };
    in_etc
        || steps.iter().any(|step| is_named(step, &[".ssh"]))
        || STARTUP_NAMES.iter().any(|names| is_startup(&steps, names))
}

/// Returns whether these steps can lead to a start-up file, or below a directory of such.
fn is_startup(steps: &[Step<'_>], names: &[&str]) -> bool {
    let is_all =
        |steps: &[Step<'_>]| steps.iter().zip(names).all(|(step, name)| step.is_named() && step.may_be(name));
    steps.windows(names.len()).any(is_all)
}
