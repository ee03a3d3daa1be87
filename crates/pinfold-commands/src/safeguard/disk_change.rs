//! `disk-change`: makes a file system, a partition table or a volume where another may be.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "disk-change",
    about: "formats, partitions or wipes a disk",
    severity: Severity::High,
    hits: &[
        "mkfs -t ext4 /dev/sdb",
        "mkfs.ext4 /dev/sdb",
        "mke2fs x.img",
        "mkswap /dev/sdb2",
        "newfs_msdos /dev/disk2",
        "fdisk /dev/sdz",
        "cfdisk",
        "sfdisk /dev/sda < table",
        "sgdisk -Z /dev/sda",
        "parted /dev/sda mklabel gpt",
        "wipefs -a /dev/sda",
        "blkdiscard /dev/sda",
        "cryptsetup luksFormat /dev/sda",
        "hdparm --security-erase x /dev/sda",
        "lvremove vg/x",
        "zpool destroy tank",
        "diskutil eraseDisk JHFS+ x disk2",
        "sudo mkfs.xfs -f /dev/sdb",
    ],
    passes: &[
        "man fdisk",
        "echo mkfs",
        "fdisk -l",
        "fdisk --list /dev/sda",
        "sfdisk -d /dev/sda",
        "sgdisk -p /dev/sda",
        "parted -l",
        "parted /dev/sda print",
        "wipefs /dev/sda",
        "cryptsetup luksDump /dev/sda",
        "hdparm -I /dev/sda",
        "diskutil list",
        "zpool status",
        "mkfs.ext4 --help",
        "which mkfs",
        "command -v fdisk",
    ],
    blind: "other programs that open the device themselves",
    watch: Watch::Programs(
        &[
            "mkfs",
            "mkfs.",
            "mke2fs",
            "mkdosfs",
            "mkntfs",
            "mkswap",
            "mkreiserfs",
            "newfs",
            "newfs_",
            "fdisk",
            "cfdisk",
            "sfdisk",
            "gdisk",
            "cgdisk",
            "sgdisk",
            "parted",
            "wipefs",
            "blkdiscard",
            "cryptsetup",
            "hdparm",
            "nvme",
            "lvremove",
            "vgremove",
            "pvremove",
            "mdadm",
            "zpool",
            "zfs",
            "diskutil",
            "badblocks",
            "tune2fs",
            "resize2fs",
        ],
        hits,
    ),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    let args = invoked.args;
    if invoked.surely_has("", "help") || invoked.surely_has("", "version") {
        return false;
    }
    let verb = || invoked.operands().next().map(known_start).unwrap_or_default();
    match invoked.name {
        "fdisk" => !invoked.surely_has("lxV", "list"),
        "sfdisk" => {
            !invoked.surely_has("ldJFgsVT", "dump")
                && !["list", "json", "list-free", "show-size", "verify"]
                    .iter()
                    .any(|long| invoked.has("", long))
        }
        "gdisk" | "tune2fs" => !invoked.surely_has("l", ""),
        "sgdisk" => !invoked.surely_has("pivO", "print") && !invoked.surely_has("", "info"),
        "parted" => {
            !invoked.surely_has("l", "list") && !invoked.operands().any(|word| known_start(word) == "print")
        }
        "wipefs" => invoked.has("a", "all") || invoked.has("o", "offset"),
        "cryptsetup" => CRYPT.contains(&verb()),
        "hdparm" => args.iter().any(|word| HDPARM.iter().any(|long| known_start(word).starts_with(long))),
        "nvme" => matches!(verb(), "format" | "sanitize" | "write" | "write-zeroes" | "dsm" | "delete-ns"),
        "mdadm" => ["create", "zero-superblock", "remove", "fail"].iter().any(|long| invoked.has("C", long)),
        "zpool" => matches!(verb(), "destroy" | "create" | "labelclear" | "remove" | "detach"),
        "zfs" => matches!(verb(), "destroy" | "rollback"),
        "diskutil" => verb().starts_with("erase") || DISKUTIL.contains(&verb()),
        "badblocks" => invoked.has("w", ""),
        _ => true,
    }
}

const CRYPT: &[&str] =
    &["luksFormat", "erase", "luksErase", "luksKillSlot", "luksRemoveKey", "reencrypt", "isLuksErase"];

const HDPARM: &[&str] =
    &["--security-", "--trim-", "--write-sector", "--make-bad-sector", "--fwdownload", "--sanitize-"];

const DISKUTIL: &[&str] = &[
    "partitionDisk",
    "reformat",
    "zeroDisk",
    "randomDisk",
    "secureErase",
    "splitPartition",
    "mergePartitions",
    "apfs",
    "resizeVolume",
];
