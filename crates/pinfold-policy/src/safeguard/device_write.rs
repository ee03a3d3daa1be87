//! `device-write`: writes over a disk, or into the memory of the machine, below any file system.

use pinfold_shell::{Redirect, RedirectKind, Word};

use super::arguments::{known, operands, program_name};
use super::way::{Start, Way};
use super::{Command, Safeguard, Watch};
use crate::command::{Gravity, Invocation};

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "device-write",
    about: "writes over a disk or other device",
    gravity: Gravity::Unrecoverable,
    hits: &[
        "cat x > /dev/sda1",
        "cat x >/dev/nvme0n1",
        "echo x >> /dev/sdb",
        "> /dev/mmcblk0",
        "cat x > /dev//vda",
        "cat x > /dev/sd*",
        "cat x > /dev/sd\"$d\"",
        "cat x > /dev/disk/by-id/x",
        "cat x > /dev/disk2",
        "cd /dev && cat x > sda",
        "tee /dev/sda < img",
        "cp img /dev/sda",
        "dd if=img of=/dev/sda",
        "dd of=/dev/rdisk2",
        "sudo tee -a /dev/sda",
        "echo x > /dev/mem",
    ],
    passes: &[
        "echo x > /dev/null",
        "echo x 2>/dev/null",
        "echo x > /dev/stderr",
        "echo x > /dev/tty",
        "echo x > /dev/shm/x",
        "echo x > /dev/fd/3",
        "ls /dev/sda",
        "cp /dev/sda1 x",
        "echo '> /dev/sda'",
        "cat x > dev/sda",
    ],
    blind: "a device that is given by a link or a variable, or written by other programs",
    watch: Watch::Commands(hits),
};

fn hits(command: &Command<'_>) -> bool {
    let is_device = |word: &Word| is_device(word, command.works_in);
    command.written.redirects.iter().any(|redirect| writes(redirect) && is_device(&redirect.target))
        || command.readings.iter().any(|reading| program_writes(reading, command.works_in))
}

/// Whether a redirect opens its file for writing.
pub(super) fn writes(redirect: &Redirect) -> bool {
    match redirect.kind {
        RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => true,
        RedirectKind::Read
        | RedirectKind::Duplicate
        | RedirectKind::HereDocument
        | RedirectKind::HereString => false,
    }
}

fn program_writes(reading: &Invocation, works_in: Option<&str>) -> bool {
    let Some(name) = reading.words.first().and_then(program_name) else { return false };
    let args = reading.args();
    match name {
        "tee" | "sponge" => operands(args).any(|word| is_device(word, works_in)),
        "cp" | "gcp" | "mv" | "install" | "ddrescue" => {
            operands(args).last().is_some_and(|word| is_device(word, works_in))
        }
        "dd" | "gdd" | "dcfldd" | "dc3dd" => args
            .iter()
            .filter_map(|word| known(word).strip_prefix("of="))
            .any(|path| is_device_way(&Way::of_text(path))),
        _ => false,
    }
}

fn is_device(word: &Word, works_in: Option<&str>) -> bool {
    is_device_way(&Way::of(word, works_in))
}

fn is_device_way(way: &Way) -> bool {
    let steps = way.steps();
    let [dev, name, ..] = steps.as_slice() else { return false };
    way.start == Start::Root && dev.may_be("dev") && DEVICES.iter().any(|device| name.may_begin(device))
}

/// What the names of disks, and of the machine's memory, begin with.
const DEVICES: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "md", "mapper", "loop", "nbd", "zd",
    "sr", "st0", "nst0", "mtd", "pmem", "ram", "bcache", "drbd", "rbd", "mem", "kmem", "port",
];
