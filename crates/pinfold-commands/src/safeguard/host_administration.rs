//! `host-administration`: changes the machine itself: its services, users, schedules, modules, network rules.

use super::arguments::{has, known, operands};
use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "host-administration",
    about: "changes the machine itself: services, users, schedules, modules or network rules",
    severity: Severity::Medium,
    hits: &[
        "shutdown -h now",
        "sudo reboot",
        "init 6",
        "systemctl stop nginx",
        "systemctl --user enable x",
        "service nginx restart",
        "launchctl load x.plist",
        "crontab -e",
        "crontab x",
        "crontab -r",
        "at now -f x",
        "batch",
        "systemd-run --user touch x",
        "useradd x",
        "userdel x",
        "passwd u",
        "chsh -s /bin/x",
        "visudo",
        "insmod x.ko",
        "modprobe x",
        "sysctl -w kernel.x=1",
        "iptables -F",
        "nft flush ruleset",
        "ufw disable",
        "mount /dev/sda1 /mnt",
        "umount /mnt",
        "swapoff -a",
        "setenforce 0",
        "date -s x",
        "hostnamectl set-hostname x",
        "csrutil disable",
    ],
    passes: &[
        "systemctl status nginx",
        "systemctl --user list-units",
        "systemctl is-active x",
        "service nginx status",
        "launchctl list",
        "crontab -l",
        "at -l",
        "atq",
        "sysctl -n kernel.x",
        "iptables -L",
        "nft list ruleset",
        "ufw status",
        "mount",
        "date",
        "date -d yesterday",
        "hostnamectl",
        "man reboot",
        "cat reboot.md",
        "npm run reboot",
        "git commit -m shutdown",
    ],
    blind: "package managers, which do the same as part of an installation",
    watch: Watch::Programs(
        &[
            "shutdown",
            "reboot",
            "halt",
            "poweroff",
            "init",
            "telinit",
            "systemctl",
            "service",
            "rc-service",
            "rc-update",
            "update-rc.d",
            "chkconfig",
            "launchctl",
            "crontab",
            "at",
            "batch",
            "systemd-run",
            "useradd",
            "userdel",
            "usermod",
            "adduser",
            "deluser",
            "addgroup",
            "delgroup",
            "groupadd",
            "groupdel",
            "groupmod",
            "gpasswd",
            "passwd",
            "chpasswd",
            "chsh",
            "chfn",
            "chage",
            "vipw",
            "vigr",
            "visudo",
            "insmod",
            "rmmod",
            "modprobe",
            "kexec",
            "sysctl",
            "iptables",
            "ip6tables",
            "iptables-restore",
            "nft",
            "ufw",
            "firewall-cmd",
            "pfctl",
            "mount",
            "umount",
            "swapon",
            "swapoff",
            "setenforce",
            "update-grub",
            "grub-install",
            "efibootmgr",
            "date",
            "hwclock",
            "hostnamectl",
            "timedatectl",
            "loginctl",
            "csrutil",
            "spctl",
            "dscl",
            "nvram",
            "pmset",
            "scutil",
            "systemsetup",
        ],
        hits,
    ),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    let args = invoked.args;
    if has(args, "", "help") || has(args, "", "version") {
        return false;
    }
    let is_any = |words: &[&str]| operands(args).any(|word| words.contains(&known(word)));
    let verb = || operands(args).next().map(known);
    match invoked.name {
        "systemctl" | "hostnamectl" | "timedatectl" | "loginctl" => {
            verb().is_some_and(|verb| !only_shows(verb))
        }
        "service" | "rc-service" => !is_any(&["status"]) && !has(args, "", "status-all"),
        "launchctl" => {
            verb().is_some_and(|verb| !matches!(verb, "list" | "print" | "blame" | "help" | "version"))
        }
        "crontab" => !has(args, "l", ""),
        "at" => !has(args, "lcV", ""),
        "passwd" => !has(args, "S", "status"),
        "modprobe" => !has(args, "nDc", "dry-run"),
        "sysctl" => {
            has(args, "wp", "write")
                || has(args, "", "system")
                || operands(args).any(|word| known(word).contains('='))
        }
        "iptables" | "ip6tables" => !has(args, "LSC", "list"),
        "nft" => verb() != Some("list"),
        "ufw" | "csrutil" => verb() != Some("status"),
        "firewall-cmd" => !args.iter().all(|word| only_asks(known(word))),
        "pfctl" => !has(args, "s", ""),
        "mount" => operands(args).next().is_some(),
        "swapon" => !has(args, "s", "show"),
        "efibootmgr" => !args.is_empty() && !has(args, "v", "verbose"),
        "date" => has(args, "s", "set"),
        "hwclock" => has(args, "ws", "systohc") || has(args, "", "hctosys") || has(args, "", "set"),
        "spctl" => args.iter().any(|word| known(word).contains("disable")),
        "dscl" => args.iter().any(|word| DSCL.contains(&known(word))),
        "nvram" => has(args, "cd", "") || operands(args).any(|word| known(word).contains('=')),
        "pmset" => !has(args, "g", ""),
        "scutil" => has(args, "", "set"),
        "systemsetup" => args.iter().any(|word| known(word).starts_with("-set")),
        _ => true,
    }
}

/// Verbs of systemd's programs that only show something.
fn only_shows(verb: &str) -> bool {
    verb.starts_with("list-")
        || verb.starts_with("is-")
        || verb.starts_with("show")
        || verb.ends_with("status")
        || matches!(verb, "cat" | "help")
}

/// Options of the firewall's program that only ask.
fn only_asks(option: &str) -> bool {
    ["--list", "--get", "--query", "--state", "--zone", "--permanent", "--info"]
        .iter()
        .any(|start| option.starts_with(start))
}

const DSCL: &[&str] = &[
    "-create", "create", "-delete", "delete", "-append", "append", "-merge", "merge", "-change", "change",
    "-passwd", "passwd",
];
