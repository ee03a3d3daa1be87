//! `host-administration`: changes the machine itself: its services, users, schedules, modules, network rules.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

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
        "date -us x",
        "systemctl -t status stop nginx",
        "hostnamectl set-hostname x",
        "csrutil disable",
    ],
    passes: &[
        "systemctl status nginx",
        "systemctl --user list-units",
        "systemctl -t service list-units",
        "loginctl -o json list-sessions",
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
        "date -Is -dyesterday",
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
    if invoked.surely_has("", "help") || invoked.surely_has("", "version") {
        return false;
    }
    let is_any = |words: &[&str]| invoked.operands().any(|word| words.contains(&known_start(word)));
    let verb = || invoked.operands().next().map(known_start);
    match invoked.name {
        "systemctl" | "hostnamectl" | "timedatectl" | "loginctl" => {
            verb().is_some_and(|verb| !only_shows(verb))
        }
        "service" | "rc-service" => !is_any(&["status"]) && !invoked.surely_has("", "status-all"),
        "launchctl" => {
            verb().is_some_and(|verb| !matches!(verb, "list" | "print" | "blame" | "help" | "version"))
        }
        "crontab" => !invoked.surely_has("l", ""),
        "at" => !invoked.surely_has("lcV", ""),
        "passwd" => !invoked.surely_has("S", "status"),
        "modprobe" => !invoked.surely_has("nDc", "dry-run"),
        "sysctl" => {
            invoked.has("wp", "write")
                || invoked.has("", "system")
                || invoked.operands().any(|word| known_start(word).contains('='))
        }
        "iptables" | "ip6tables" => !invoked.surely_has("LSC", "list"),
        "nft" => verb() != Some("list"),
        "ufw" | "csrutil" => verb() != Some("status"),
        "firewall-cmd" => !args.iter().all(|word| only_asks(known_start(word))),
        "pfctl" => !invoked.surely_has("s", ""),
        "mount" => invoked.operands().next().is_some(),
        "swapon" => !invoked.surely_has("s", "show"),
        "efibootmgr" => !args.is_empty() && !invoked.surely_has("v", "verbose"),
        "date" => invoked.has("s", "set"),
        "hwclock" => invoked.has("ws", "systohc") || invoked.has("", "hctosys") || invoked.has("", "set"),
        "spctl" => args.iter().any(|word| known_start(word).contains("disable")),
        "dscl" => args.iter().any(|word| DSCL.contains(&known_start(word))),
        "nvram" => invoked.has("cd", "") || invoked.operands().any(|word| known_start(word).contains('=')),
        "pmset" => !invoked.surely_has("g", ""),
        "scutil" => invoked.has("", "set"),
        "systemsetup" => args.iter().any(|word| known_start(word).starts_with("-set")),
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
