//! Programs that read, compare, search and change text.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::super::super::words::known_start;
use super::super::super::{awk, sed};
use super::super::{
    Acts, Arg, Does, Operands, Program, Purpose, Style, flag, loads, maybe, program, reads, runs, takes,
    text, with, writes,
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
    program(&["wc"], Each(Read, Command)).options(&[reads(&["--files0-from"]), text(&["--total"])]),
    program(&["shuf", "gshuf"], Each(Read, Command)).options(&[
        writes(&["-o", "--output"]),
        reads(&["--random-source"]),
        takes(&["-n", "--head-count"]),
        with(&["-i", "--input-range"], Does::Text),
        flag(&["-e", "--echo"], Does::Otherwise(&Nothing)),
    ]),
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
    program(&["tr", "seq", "yes", "expr", "basename", "dirname", "factor", "numfmt"], Nothing).says(),
    program(&["bc"], Each(Read, Command)),
    // `!` of dc runs a command.
    program(&["dc"], Operands::Script)
        .options(&[with(&["-e", "--expression"], Does::Code), with(&["-f", "--file"], Does::FirstFile)]),
    program(&["less", "more", "most", "pg"], Each(Read, Command)).options(&[
        with(&["+"], Does::Bars("runs a command of the pager")),
        writes(&["-o", "-O", "--log-file", "--LOG-FILE"]),
        loads(&["-k", "--lesskey-file", "--lesskey-src", "--lesskey-content"]),
        runs(&["-t", "--tag"]),
        loads(&["-T", "--tag-file"]),
        takes(&["-p", "--pattern", "-b", "--buffers", "-h", "-j", "-P", "-x", "-y", "-z", "-D", "-n"]),
    ]),
    program(&["bat", "batcat"], Each(Read, Command)).commands(&[program(&["cache"], Nothing)]).options(&[
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
    program(&["grep", "egrep", "fgrep", "zgrep", "ggrep", "rgrep"], Own(grep)).options(&[
        with(&["-e", "--regexp"], Does::ForFirst),
        reads_first(&["-f", "--file"]),
        reads(&["--exclude-from"]),
        text(&[
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
        text(&[
            "--include",
            "--exclude",
            "--exclude-dir",
            "--label",
            "--binary-files",
            "--directories",
            "--devices",
        ]),
        flag(&["-r", "-R", "--recursive", "--dereference-recursive"], Does::Nothing),
        maybe(&["--color", "--colour"], Does::Nothing),
        flag(&["--binary"], Does::Nothing),
    ]),
    program(&["rg", "ripgrep"], Own(ripgrep)).options(&[
        runs(&["--pre", "--hostname-bin"]),
        with(&["-e", "--regexp"], Does::ForFirst),
        reads_first(&["-f", "--file"]),
        reads(&["--ignore-file"]),
        flag(&["--files", "--type-list"], Does::Otherwise(&Each(Operation::List, Command))),
        flag(&["-u", "--unrestricted", "-.", "--hidden", "--no-ignore"], Does::Nothing),
        text(&[
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
        text(&[
            "--context",
            "--encoding",
            "--glob",
            "--iglob",
            "--threads",
            "--max-columns",
            "--max-count",
            "--replace",
        ]),
        text(&[
            "--type",
            "--type-not",
            "--max-depth",
            "--max-filesize",
            "--sort",
            "--sortr",
            "--color",
            "--colors",
        ]),
        text(&[
            "--pre-glob",
            "--type-add",
            "--type-clear",
            "--engine",
            "--field-match-separator",
            "--path-separator",
        ]),
        text(&[
            "--dfa-size-limit",
            "--regex-size-limit",
            "--generate",
            "--hyperlink-format",
            "--context-separator",
        ]),
        flag(&["--pretty", "--pcre2", "-p"], Does::Nothing),
    ]),
    program(&["ag", "ack"], Own(ripgrep)).options(&[
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
        flag(&["-r", "--recursive"], Does::Otherwise(&Each(Search, Command))),
    ]),
    program(&["cmp"], Each(Read, Command)).options(&[takes(&["-i", "--ignore-initial", "-n", "--bytes"])]),
    program(&["diff3", "sdiff"], Each(Read, Command)).options(&[
        writes(&["-o", "--output"]),
        runs(&["--diff-program"]),
        takes(&["-L", "--label", "-I", "--ignore-matching-lines", "-w", "--width"]),
    ]),
    program(&["jq", "gojq"], Own(jq)).style(Style::Plain),
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
        maybe(&["-i", "--in-place"], Does::Suffix),
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
            flag(
                &["--fix", "--fix-dry-run", "--write", "-w", "--apply", "--apply-unsafe", "--unsafe"],
                Does::InPlace,
            ),
            flag(&["--cache", "--quiet"], Does::Nothing),
        ]),
];

/// Options whose value is a file of patterns, in place of the first operand.
const fn reads_first(names: &'static [&'static str]) -> super::super::Options {
    with(names, Does::FirstFile)
}

/// Whether one of these options is there.
fn has(args: &[Arg<'_>], wanted: &[&str]) -> bool {
    args.iter().any(|arg| match arg {
        Arg::Option { known: Some(known), .. } => known.names.iter().any(|name| wanted.contains(name)),
        _ => false,
    })
}

/// `grep [options] pattern file…`: with `-r` folders are gone through, and without a file this one is.
fn grep(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let recurses = |arg: &Arg<'_>| match arg {
        Arg::Option { known: Some(known), value: Some(value), .. } => {
            (known.names.contains(&"-d") || known.names.contains(&"--directories"))
                && value.as_static().is_none_or(|text| text.starts_with("rec"))
        }
        _ => false,
    };
    let recursive = acts.name == "rgrep" || has(args, &["-r"]) || args.iter().any(recurses);
    let operation = if recursive { Search } else { Read };
    let files = behind_pattern(acts, args);
    if files.is_empty() && recursive {
        acts.here_by(Search, false);
    }
    for file in files {
        acts.path(Cow::Owned(file), operation, Command);
    }
}

/// `rg [options] pattern place…`: without a place this folder is searched, unless something is piped into it. Names that
/// start with a dot are passed over, if nothing says otherwise.
fn ripgrep(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let strange = |arg: &Arg<'_>| matches!(arg, Arg::Option { known: None, name, .. } if name.len() > 2 || matches!(*name, "-a" | "-f" | "-t"));
    let all = acts.name == "ack" || has(args, &["-u"]) || acts.name == "ag" && args.iter().any(strange);
    let files = behind_pattern(acts, args);
    if files.is_empty() {
        acts.default_search = Some(!all);
    }
    for file in files {
        acts.search(Cow::Owned(file), !all);
    }
}

/// The operands behind the pattern, which an option may stand in for.
fn behind_pattern(acts: &mut Acts<'_>, args: &[Arg<'_>]) -> Vec<Word> {
    let given = has(args, &["-e", "-f"]);
    let mut words = args.iter().filter_map(Arg::operand);
    if !given && let Some(pattern) = words.next() {
        acts.take(pattern);
    }
    words.cloned().collect()
}

/// `jq [options] filter file…`. Some options take a name and a value, others a name and a file.
fn jq(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    let (mut filter, mut only_text) = (false, false);
    while let Some(word) = words.next() {
        let text = word.as_static().unwrap_or_else(|| known_start(word));
        let short = text.starts_with('-') && !text.starts_with("--");
        match text {
            "--arg" | "--argjson" | "--slurpfile" | "--rawfile" | "--argfile" => {
                acts.take(word);
                words.next().into_iter().for_each(|name| acts.take(name));
                let Some(value) = words.next() else { return };
                if text.ends_with("file") {
                    acts.path(Cow::Owned(value.clone()), Read, Command);
                } else {
                    acts.take(value);
                }
            }
            "--indent" => words.next().into_iter().for_each(|value| acts.take(value)),
            "--args" | "--jsonargs" => only_text = true,
            "-L" | "--library-path" => acts.option_bar("option", text, "loads code from where it says"),
            _ if short && text.contains('L') => {
                acts.option_bar("option", text, "loads code from where it says");
            }
            "--from-file" => {
                filter = true;
                words.next().into_iter().for_each(|file| acts.path(Cow::Owned(file.clone()), Read, Command));
            }
            _ if short && text.contains('f') => {
                filter = true;
                words.next().into_iter().for_each(|file| acts.path(Cow::Owned(file.clone()), Read, Command));
            }
            _ if text.starts_with('-') && text.len() > 1 => acts.take(word),
            _ if !filter => {
                filter = true;
                acts.take(word);
            }
            _ if only_text => acts.take(word),
            _ => acts.path(Cow::Owned(word.clone()), Read, Command),
        }
    }
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
        acts.take(script);
        sed::script(acts, script);
    }
    let operation = if is(&["-i"]) { Edit } else { Read };
    for word in words {
        acts.path(Cow::Owned(word.clone()), operation, Command);
    }
    // The suffix of `-i` with a slash says another folder for what was there.
    let suffix = args.iter().find_map(|arg| match arg {
        Arg::Option { known: Some(known), value: Some(value), .. } if known.names.contains(&"-i") => {
            Some(value)
        }
        _ => None,
    });
    match suffix.map(|suffix| (suffix.as_static(), suffix)) {
        Some((Some(text), suffix)) if text.contains('/') => {
            acts.path_text(&text.replace('*', "_"), suffix, Write, Aside);
        }
        Some((None, _)) => acts.unknown_operand(),
        Some((Some(_), _)) | None => {}
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
        acts.take(program);
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
