//! `device-write`: writes over a disk, or into the memory of the machine, below any file system.

use super::way::{Start, WordPath};
use super::{Line, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "device-write",
    about: "writes over a disk or other device",
    severity: Severity::High,
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
    blind: "a device that a link or a variable names, and programs whose arguments are not known here",
    watch: Watch::Line(|line: &Line<'_>| line.written().iter().any(is_device)),
};

fn is_device(way: &WordPath) -> bool {
    let steps = way.steps();
    let [dev, name, ..] = steps.as_slice() else { return false };
    way.start == Start::Root && dev.may_be("dev") && DEVICES.iter().any(|device| name.may_begin(device))
}

/// Prefixes of the names of disks, and of the machine's memory.
const DEVICES: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "md", "mapper", "loop", "nbd", "zd",
    "sr", "st0", "nst0", "mtd", "pmem", "ram", "bcache", "drbd", "rbd", "mem", "kmem", "port",
];
