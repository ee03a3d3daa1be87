//! Programs that make, move, change and remove files.

use super::super::super::words::{behind, known_start};
use super::super::{
    Acts, Arg, Does, Operands, Program, Purpose, flag, loads, maybe, program, reads, takes, with, writes,
};
use crate::claim::Operation;
use Operands::{AfterFirst, Each, Last, Own};
use Operation::{CopyFrom, CopyTo, Delete, Edit, List, MakeDir, MoveFrom, MoveTo, Read, Write};
use Purpose::{Aside, Command};
use std::borrow::Cow;

pub(super) const PROGRAMS: &[Program] = &[
    program(&["rm", "grm"], Each(Delete, Command)),
    program(&["unlink"], Each(Delete, Command)),
    program(&["rmdir"], Each(Delete, Command)),
    program(&["trash", "trash-put", "rmtrash", "srm"], Each(Delete, Command)),
    program(&["mkdir"], Each(MakeDir, Command))
        .options(&[takes(&["-m", "--mode"]), flag(&["-Z"], Does::Nothing)]),
    program(&["mkfifo"], Each(MakeDir, Command)).options(&[takes(&["-m", "--mode"])]),
    program(&["mknod"], Own(first_written)).options(&[takes(&["-m", "--mode"])]),
    program(&["mktemp"], Own(temporary)).options(&[
        with(&["-p"], Does::Path(MakeDir, Command)),
        maybe(&["--tmpdir"], Does::Path(MakeDir, Command)),
        takes(&["--suffix"]),
    ]),
    program(&["touch"], Each(Write, Command))
        .options(&[takes(&["-d", "--date", "-t", "--time"]), reads(&["-r", "--reference"])]),
    program(&["truncate"], Each(Write, Command))
        .options(&[takes(&["-s", "--size"]), reads(&["-r", "--reference"])]),
    program(&["fallocate"], Each(Write, Command)).options(&[takes(&["-l", "--length", "-o", "--offset"])]),
    program(&["shred"], Each(Write, Command))
        .options(&[takes(&["-n", "--iterations", "-s", "--size"]), reads(&["--random-source"])]),
    program(&["cp", "gcp"], Last(CopyFrom, CopyTo)).options(&[
        with(&["-t", "--target-directory"], Does::Target),
        takes(&["-S", "--suffix"]),
        maybe(
            &["--backup", "--preserve", "--no-preserve", "--reflink", "--sparse", "--context", "--update"],
            Does::Nothing,
        ),
    ]),
    program(&["mv", "gmv"], Last(MoveFrom, MoveTo)).options(&[
        with(&["-t", "--target-directory"], Does::Target),
        takes(&["-S", "--suffix"]),
        maybe(&["--backup", "--update"], Does::Nothing),
    ]),
    program(&["ln"], Last(Read, MoveTo)).options(&[
        with(&["-t", "--target-directory"], Does::Target),
        takes(&["-S", "--suffix"]),
        maybe(&["--backup"], Does::Nothing),
    ]),
    program(&["link"], Last(Read, MoveTo)),
    program(&["install", "ginstall"], Last(CopyFrom, CopyTo)).options(&[
        with(&["-t", "--target-directory"], Does::Target),
        takes(&["-m", "--mode", "-o", "--owner", "-g", "--group", "-S", "--suffix"]),
        with(&["--strip-program"], Does::Bars("runs the program that it names")),
        flag(&["-d", "--directory"], Does::Otherwise(&Each(MakeDir, Command))),
        flag(&["-s", "--strip"], Does::Nothing),
        maybe(&["--backup", "--context"], Does::Nothing),
    ]),
    program(&["rename"], AfterFirst(MoveTo, Command))
        .options(&[with(&["-e"], Does::Code), with(&["-E"], Does::Code)]),
    program(&["dd"], Own(dd)).style(super::super::Style::Plain),
    program(&["tee"], Each(Write, Command)).options(&[maybe(&["--output-error"], Does::Nothing)]),
    program(&["sponge"], Each(Write, Command)),
    program(&["chmod", "chown", "chgrp", "chcon"], AfterFirst(Edit, Command)).options(&[
        with(&["--reference"], Does::ForFirst),
        takes(&["--from", "-u", "-t", "-l"]),
        flag(
            &["--preserve-root", "--no-preserve-root", "--recursive", "--quiet", "--verbose"],
            Does::Nothing,
        ),
    ]),
    program(&["chattr", "setfattr"], AfterFirst(Edit, Command))
        .options(&[takes(&["-n", "--name", "-v", "--value"])]),
    program(&["setfacl"], Each(Edit, Command)).options(&[
        takes(&["-m", "--modify", "-x", "--remove"]),
        reads(&["-M", "--modify-file", "-X", "--remove-file", "--set-file", "--restore"]),
        takes(&["--set"]),
    ]),
    program(&["xattr"], AfterFirst(Edit, Command)),
    program(&["ls", "dir", "vdir"], Each(List, Command)).options(&[
        takes(&["-I", "--ignore", "-w", "--width", "-T", "--tabsize", "--block-size", "--hide", "--sort"]),
        takes(&["--time-style", "--quoting-style", "--indicator-style", "--format"]),
        maybe(&["--color", "--hyperlink", "--time", "--classify"], Does::Nothing),
    ]),
    program(&["exa", "eza", "lsd"], Each(List, Command)).options(&[
        takes(&[
            "-I",
            "--ignore",
            "--ignore-glob",
            "-w",
            "--width",
            "-L",
            "--level",
            "--depth",
            "-s",
            "--sort",
            "-t",
            "--time",
        ]),
        maybe(&["--color", "--colour", "--icons", "--hyperlink", "--classify"], Does::Nothing),
    ]),
    program(&["du"], Each(List, Command)).options(&[
        takes(&["-d", "--max-depth", "-B", "--block-size", "--exclude", "-t", "--threshold", "--time-style"]),
        maybe(&["--time"], Does::Nothing),
        reads(&["-X", "--exclude-from", "--files0-from"]),
    ]),
    program(&["df"], Each(List, Command)).options(&[
        takes(&["-B", "--block-size", "-t", "--type", "-x", "--exclude-type"]),
        maybe(&["--output"], Does::Nothing),
    ]),
    program(&["stat"], Each(List, Command)).options(&[takes(&["-c", "--format", "--printf", "--cached"])]),
    program(&["readlink", "namei", "lsattr", "getfacl", "getfattr"], Each(List, Command))
        .options(&[takes(&["--name", "--encoding", "--match"])]),
    program(&["realpath"], Each(List, Command)).options(&[reads(&["--relative-to", "--relative-base"])]),
    program(&["file"], Each(List, Command)).options(&[
        takes(&["-F", "--separator", "-e", "--exclude", "--exclude-quiet", "-P", "--parameter"]),
        reads(&["-m", "--magic-file", "-f", "--files-from"]),
        flag(&["-C", "--compile"], Does::Bars("writes what it compiled beside the file")),
    ]),
    program(&["tree"], Each(List, Command)).options(&[
        writes(&["-o", "--output"]),
        takes(&["-L", "-P", "-I", "--filelimit", "--timefmt", "--charset", "-H", "-T", "--sort"]),
        reads(&["--fromfile", "--gitfile", "--infofile"]),
        flag(&["-R"], Does::Bars("writes a file in each folder")),
    ]),
    program(&["rsync"], Own(rsync)).options(&[
        with(&["-e", "--rsh"], Does::Line),
        with(&["--rsync-path"], Does::Bars("runs the program that it names")),
        flag(&["--daemon"], Does::Bars("opens folders to other machines, by settings that run programs")),
        loads(&["--config", "--dparam"]),
        writes(&["--log-file", "--write-batch", "--only-write-batch"]),
        with(&["--backup-dir", "--partial-dir", "-T", "--temp-dir"], Does::Path(Write, Aside)),
        reads(&[
            "--exclude-from",
            "--include-from",
            "--files-from",
            "--password-file",
            "--read-batch",
            "--compare-dest",
        ]),
        reads(&["--copy-dest", "--link-dest"]),
        takes(&[
            "--exclude",
            "--include",
            "-f",
            "--filter",
            "--bwlimit",
            "--timeout",
            "--contimeout",
            "--port",
            "-B",
        ]),
        takes(&[
            "--block-size",
            "--max-size",
            "--min-size",
            "--chmod",
            "--chown",
            "--info",
            "--debug",
            "--out-format",
        ]),
        takes(&[
            "-M",
            "--remote-option",
            "--suffix",
            "--compress-level",
            "--modify-window",
            "--address",
            "--sockopts",
        ]),
        flag(
            &[
                "--include",
                "--recursive",
                "--delete",
                "--existing",
                "--exclude",
                "--relative",
                "--backup",
                "--partial",
            ],
            Does::Nothing,
        ),
    ]),
];

/// `mknod name type …`.
fn first_written(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if let Some(word) = args.iter().find_map(Arg::operand) {
        acts.path(Cow::Owned(word.clone()), Write, Command);
    }
}

/// `mktemp` without a template makes a file in the folder for temporary ones.
fn temporary(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        acts.path(Cow::Owned(word.clone()), Write, Command);
    }
}

/// `dd if=a of=b`.
fn dd(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let start = known_start(word);
        if start.starts_with("of=") {
            acts.path(Cow::Owned(behind(word, 3)), Write, Command);
        } else if start.starts_with("if=") {
            acts.path(Cow::Owned(behind(word, 3)), Read, Command);
        } else if !start.contains('=') && word.as_static().is_none() {
            acts.unknown_operand();
        }
    }
}

/// Either end may be on another host.
fn rsync(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    super::remote_copy(acts, args, CopyFrom, CopyTo);
}
