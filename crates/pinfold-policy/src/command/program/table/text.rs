//! Programs that read, compare, search and change text.

use std::borrow::Cow;

use super::super::super::{awk, sed};
use super::super::{
    Acts, Arg, Does, Operands, Program, Purpose, Style, flag, loads, maybe, program, reads, runs, takes,
    with, writes,
};
use crate::claim::Operation;
use Operands::{AfterFirst, Each, Nothing, Own};
use Operation::{Edit, Read, Search, Write};
use Purpose::{Aside, Command};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &[
            "cat",
            "tac",
            "zcat",
            "bzcat",
            "xzcat",
            "zstdcat",
            "rev",
            "wc",
            "nl",
            "cksum",
            "sum",
            "md5sum",
            "sha1sum",
            "sha224sum",
        ],
        Each(Read, Command),
    ),
    program(&["sha256sum", "sha384sum", "sha512sum", "b2sum", "md5"], Each(Read, Command)),
    program(&["expand", "unexpand"], Each(Read, Command)).options(&[takes(&["-t", "--tabs"])]),
    program(&["strings"], Each(Read, Command)).options(&[takes(&[
        "-n",
        "--bytes",
        "-t",
        "--radix",
        "-e",
        "--encoding",
        "-s",
        "--output-separator",
        "-U",
        "--unicode",
    ])]),
    program(&["shasum"], Each(Read, Command)).options(&[takes(&["-a", "--algorithm"])]),
    program(&["head", "tail"], Each(Read, Command)).options(&[
        takes(&[
            "-n",
            "--lines",
            "-c",
            "--bytes",
            "-s",
            "--sleep-interval",
            "--pid",
            "--max-unchanged-stats",
        ]),
        maybe(&["--follow"], Does::Nothing),
    ]),
    program(&["fold"], Each(Read, Command)).options(&[takes(&["-w", "--width"])]),
    program(&["fmt"], Each(Read, Command))
        .options(&[takes(&["-w", "--width", "-g", "--goal", "-p", "--prefix"])]),
    program(&["pr"], Each(Read, Command))
        .options(&[takes(&["-h", "--header", "-l", "-o", "-w", "-W", "-D"])]),
    program(&["cut"], Each(Read, Command)).options(&[takes(&[
        "-b",
        "-c",
        "-d",
        "-f",
        "--bytes",
        "--characters",
        "--delimiter",
        "--fields",
        "--output-delimiter",
    ])]),
    program(&["paste"], Each(Read, Command)).options(&[takes(&["-d", "--delimiters"])]),
    program(&["comm"], Each(Read, Command)).options(&[takes(&["--output-delimiter"])]),
    program(&["join"], Each(Read, Command))
        .options(&[takes(&["-1", "-2", "-a", "-e", "-j", "-o", "-t", "-v"])]),
    program(&["colrm", "tsort"], Each(Read, Command)),
    program(&["column"], Each(Read, Command)).options(&[
        takes(&[
            "-c",
            "--output-width",
            "-o",
            "--output-separator",
            "-s",
            "--separator",
            "-N",
            "--table-columns",
        ]),
        takes(&[
            "-R",
            "--table-right",
            "-H",
            "--table-hide",
            "-T",
            "--table-truncate",
            "-E",
            "--table-noextreme",
        ]),
        takes(&["-W", "--table-wrap", "-O", "--table-order", "-l", "--table-columns-limit"]),
        takes(&["-r", "--tree", "-i", "--tree-id", "-p", "--tree-parent", "--table-name"]),
        flag(&["--table", "--table-noheadings", "--table-header-repeat"], Does::Nothing),
    ]),
    program(&["tr", "seq", "yes", "expr", "basename", "dirname", "factor", "numfmt", "bc", "dc"], Nothing),
    program(&["less", "more", "most", "pg"], Each(Read, Command)).options(&[
        with(&["+"], Does::Bars("runs a command of the pager")),
        writes(&["-o", "-O", "--log-file", "--LOG-FILE"]),
        loads(&["-k", "--lesskey-file", "--lesskey-src", "--lesskey-content"]),
        runs(&["-t", "--tag"]),
        loads(&["-T", "--tag-file"]),
        takes(&["-p", "--pattern", "-b", "--buffers", "-h", "-j", "-P", "-x", "-y", "-z", "-D", "-n"]),
    ]),
    program(&["bat", "batcat"], Each(Read, Command)).options(&[
        runs(&["--pager"]),
        takes(&[
            "-l",
            "--language",
            "-r",
            "--line-range",
            "-H",
            "--highlight-line",
            "--theme",
            "--style",
            "-m",
            "--map-syntax",
        ]),
        takes(&[
            "--color",
            "--paging",
            "--wrap",
            "--tabs",
            "--terminal-width",
            "--decorations",
            "--italic-text",
        ]),
        flag(&["-p", "--plain", "-P", "--paging"], Does::Nothing),
    ]),
    program(&["od"], Each(Read, Command)).options(&[
        takes(&[
            "-A",
            "--address-radix",
            "-j",
            "--skip-bytes",
            "-N",
            "--read-bytes",
            "-S",
            "-t",
            "--format",
            "--endian",
        ]),
        maybe(&["-w", "--width", "--strings"], Does::Nothing),
    ]),
    program(&["hexdump", "hd"], Each(Read, Command)).options(&[
        takes(&["-e", "--format", "-n", "--length", "-s", "--skip"]),
        maybe(&["-L", "--color"], Does::Nothing),
        reads(&["-f", "--format-file"]),
    ]),
    program(&["xxd"], Own(xxd)).style(Style::Single).options(&[takes(&[
        "-c",
        "-cols",
        "-g",
        "-groupsize",
        "-l",
        "-len",
        "-n",
        "-name",
        "-o",
        "-s",
        "-seek",
        "-R",
    ])]),
    program(&["base64", "base32", "basenc"], Each(Read, Command)).options(&[
        takes(&["-w", "--wrap", "-b"]),
        reads(&["-i", "--input"]),
        writes(&["-o", "--output"]),
        flag(&["--ignore-garbage"], Does::Nothing),
    ]),
    program(&["sort", "gsort"], Each(Read, Command)).options(&[
        writes(&["-o", "--output"]),
        runs(&["--compress-program"]),
        reads(&["--files0-from", "--random-source"]),
        with(&["-T", "--temporary-directory"], Does::Path(Write, Aside)),
        takes(&[
            "-k",
            "--key",
            "-t",
            "--field-separator",
            "-S",
            "--buffer-size",
            "--parallel",
            "--batch-size",
        ]),
        maybe(&["--sort", "--check"], Does::Nothing),
    ]),
    program(&["uniq"], Own(input_output)).options(&[
        takes(&["-f", "--skip-fields", "-s", "--skip-chars", "-w", "--check-chars"]),
        maybe(&["--group", "--all-repeated"], Does::Nothing),
    ]),
    program(&["iconv", "recode"], Each(Read, Command))
        .options(&[writes(&["-o", "--output"]), takes(&["-f", "--from-code", "-t", "--to-code"])]),
    program(&["grep", "egrep", "fgrep", "zgrep", "ggrep"], AfterFirst(Search, Command)).options(&[
        with(&["-e", "--regexp"], Does::ForFirst),
        reads_first(&["-f", "--file"]),
        reads(&["--exclude-from"]),
        takes(&[
            "-A",
            "-B",
            "-C",
            "-m",
            "-d",
            "-D",
            "--after-context",
            "--before-context",
            "--context",
            "--max-count",
        ]),
        takes(&[
            "--include",
            "--exclude",
            "--exclude-dir",
            "--label",
            "--binary-files",
            "--directories",
            "--devices",
        ]),
        maybe(&["--color", "--colour"], Does::Nothing),
        flag(&["--binary"], Does::Nothing),
    ]),
    program(&["rg", "ripgrep"], AfterFirst(Search, Command)).options(&[
        runs(&["--pre", "--hostname-bin"]),
        with(&["-e", "--regexp"], Does::ForFirst),
        reads_first(&["-f", "--file"]),
        reads(&["--ignore-file"]),
        flag(&["--files", "--type-list"], Does::Otherwise(&Each(Search, Command))),
        takes(&[
            "-A",
            "-B",
            "-C",
            "-E",
            "-g",
            "-j",
            "-M",
            "-m",
            "-r",
            "-t",
            "-T",
            "-d",
            "--after-context",
            "--before-context",
        ]),
        takes(&[
            "--context",
            "--encoding",
            "--glob",
            "--iglob",
            "--threads",
            "--max-columns",
            "--max-count",
            "--replace",
        ]),
        takes(&[
            "--type",
            "--type-not",
            "--max-depth",
            "--max-filesize",
            "--sort",
            "--sortr",
            "--color",
            "--colors",
        ]),
        takes(&[
            "--pre-glob",
            "--type-add",
            "--type-clear",
            "--engine",
            "--field-match-separator",
            "--path-separator",
        ]),
        takes(&[
            "--dfa-size-limit",
            "--regex-size-limit",
            "--generate",
            "--hyperlink-format",
            "--context-separator",
        ]),
        flag(&["--pretty", "--pcre2", "--hidden", "-p"], Does::Nothing),
    ]),
    program(&["ag", "ack"], AfterFirst(Search, Command)).options(&[
        runs(&["--pager"]),
        loads(&["--ackrc"]),
        takes(&[
            "-A",
            "-B",
            "-C",
            "-G",
            "-m",
            "-g",
            "--ignore",
            "--ignore-dir",
            "--type",
            "--depth",
            "--path-to-ignore",
        ]),
    ]),
    program(&["diff", "colordiff"], Each(Read, Command)).options(&[
        writes(&["-o", "--output"]),
        takes(&[
            "-U",
            "-C",
            "-W",
            "--width",
            "-x",
            "--exclude",
            "-I",
            "--ignore-matching-lines",
            "-F",
            "-L",
            "--label",
        ]),
        takes(&["-D", "--ifdef", "-S", "--starting-file", "--tabsize", "--horizon-lines", "--palette"]),
        takes(&["--show-function-line", "--line-format"]),
        maybe(&["--unified", "--context", "--color"], Does::Nothing),
        reads(&["-X", "--exclude-from", "--from-file", "--to-file"]),
        flag(&["--side-by-side"], Does::Nothing),
    ]),
    program(&["cmp"], Each(Read, Command)).options(&[takes(&["-i", "--ignore-initial", "-n", "--bytes"])]),
    program(&["diff3", "sdiff"], Each(Read, Command)).options(&[
        writes(&["-o", "--output"]),
        runs(&["--diff-program"]),
        takes(&["-L", "--label", "-I", "--ignore-matching-lines", "-w", "--width"]),
    ]),
    program(&["jq", "gojq"], AfterFirst(Read, Command)).options(&[
        reads_first(&["-f", "--from-file"]),
        loads(&["-L", "--library-path"]),
        takes(&["--indent", "--arg", "--argjson", "--slurpfile", "--rawfile", "--tab"]),
    ]),
    program(&["yq"], AfterFirst(Read, Command)).options(&[
        flag(&["-i", "--inplace", "--in-place"], Does::InPlace),
        reads_first(&["--from-file"]),
        writes(&["-s", "--split-exp"]),
        takes(&["-o", "--output-format", "-p", "--input-format", "-I", "--indent"]),
    ]),
    program(&["xmllint", "xsltproc"], Each(Read, Command))
        .options(&[writes(&["-o", "--output"]), takes(&["--xpath", "--encode", "--param", "--stringparam"])]),
    program(&["sed", "gsed"], Own(sed_script)).options(&[
        with(&["-e", "--expression"], Does::SedScript),
        loads(&["-f", "--file"]),
        maybe(&["-i", "--in-place"], Does::InPlace),
        takes(&["-l", "--line-length"]),
        flag(
            &["-n", "-E", "-r", "-s", "-z", "-u", "--silent", "--quiet", "--regexp-extended", "--separate"],
            Does::Nothing,
        ),
    ]),
    program(&["awk", "gawk", "mawk", "nawk"], Own(awk_program)).stops().options(&[
        loads(&["-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"]),
        with(&["-e", "--source"], Does::Code),
        takes(&["-F", "--field-separator", "-v", "--assign", "-W"]),
        maybe(
            &["-o", "--pretty-print", "-p", "--profile", "-d", "--dump-variables"],
            Does::Bars("writes a file"),
        ),
        maybe(&["-D", "--debug"], Does::Bars("runs commands of the debugger")),
    ]),
    program(&["patch"], Own(patch)).options(&[
        reads(&["-i", "--input"]),
        writes(&["-o", "--output", "-r", "--reject-file"]),
        with(&["-d", "--directory"], Does::Folder),
        takes(&[
            "-p",
            "--strip",
            "-F",
            "--fuzz",
            "-D",
            "--ifdef",
            "-B",
            "--prefix",
            "-V",
            "--version-control",
            "-z",
            "-Y",
        ]),
    ]),
    program(&["split", "csplit"], Own(pieces)).options(&[
        runs(&["--filter"]),
        takes(&[
            "-a",
            "--suffix-length",
            "-b",
            "--bytes",
            "-C",
            "--line-bytes",
            "-l",
            "--lines",
            "-n",
            "--number",
        ]),
        takes(&["-t", "--separator", "--additional-suffix", "--suffix-format", "--digits"]),
        with(&["-f", "--prefix"], Does::Path(Write, Command)),
    ]),
    program(&["dos2unix", "unix2dos"], Each(Edit, Command)),
    program(&["prettier", "eslint", "biome", "stylelint", "markdownlint", "dprint"], Each(Read, Command))
        .at_home()
        .options(&[
            writes(&["-o", "--output-file", "--cache-location"]),
            loads(&[
                "--plugin",
                "--plugin-search-dir",
                "--rulesdir",
                "--resolve-plugins-relative-to",
                "--parser",
            ]),
            with(&["-c", "--config", "--config-path", "-f", "--format"], Does::FolderOf),
            takes(&[
                "--ext",
                "--max-warnings",
                "--rule",
                "--global",
                "--env",
                "--log-level",
                "--ignore-pattern",
            ]),
            flag(&["--cache", "--fix", "--quiet"], Does::Nothing),
        ]),
];

/// Options whose value is a file of patterns, in place of the first operand.
const fn reads_first(names: &'static [&'static str]) -> super::super::Options {
    with(names, Does::FirstFile)
}

/// `xxd [infile [outfile]]`.
fn xxd(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    input_output(acts, args);
}

/// The first operand is read, the second written.
fn input_output(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for (at, word) in args.iter().filter_map(Arg::operand).enumerate() {
        let (operation, purpose) = if at == 0 { (Read, Command) } else { (Write, Aside) };
        acts.path(Cow::Owned(word.clone()), operation, purpose);
    }
}

/// `sed [options] script file…`.
fn sed_script(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let is = |wanted: &[&str]| {
        args.iter().any(|arg| match arg {
            Arg::Option { known: Some(known), .. } => known.names.iter().any(|name| wanted.contains(name)),
            _ => false,
        })
    };
    let mut words = args.iter().filter_map(Arg::operand);
    if !is(&["-e", "-f"])
        && let Some(script) = words.next()
    {
        sed::script(acts, script);
    }
    let operation = if is(&["-i"]) { Edit } else { Read };
    for word in words {
        acts.path(Cow::Owned(word.clone()), operation, Command);
    }
}

/// `awk [options] program file…`; `name=value` among the files is an assignment.
fn awk_program(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let elsewhere = |arg: &Arg<'_>| match arg {
        Arg::Option { known: Some(known), .. } => known.names.contains(&"-f") || known.names.contains(&"-e"),
        _ => false,
    };
    let mut words = args.iter().filter_map(Arg::operand);
    if !args.iter().any(elsewhere)
        && let Some(program) = words.next()
    {
        match program.as_static().map(awk::does_more) {
            None => acts.script_bar("is known only by running"),
            Some(Some(why)) => acts.script_bar(why),
            Some(None) => {}
        }
    }
    for word in words {
        acts.path(Cow::Owned(word.clone()), Read, Command);
    }
}

/// `patch [original [patchfile]]`; without an original the patch itself names what is changed.
fn patch(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    match words.next() {
        Some(original) => acts.path(Cow::Owned(original.clone()), Edit, Command),
        None => acts.unknown_operand(),
    }
    if let Some(changes) = words.next() {
        acts.path(Cow::Owned(changes.clone()), Read, Command);
    }
}

/// `split file prefix`: what is written starts with the prefix.
fn pieces(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    if let Some(file) = words.next() {
        acts.path(Cow::Owned(file.clone()), Read, Command);
    }
    if acts.name == "split"
        && let Some(prefix) = words.next()
    {
        acts.path(Cow::Owned(prefix.clone()), Write, Command);
    }
}
