//! git and its subcommands.
//!
//! What git reads of a repository may name programs that it runs, so that every use of another folder counts; what
//! changes a repository counts more.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::super::super::words::literal;
use super::super::{
    Acts, Arg, Does, FolderUse, Operands, Options, Program, Purpose, flag, loads, maybe, program, reads,
    runs, text, with, writes,
};
use crate::claim::Operation;
use Operands::{Each, Nothing, Own};
use Operation::{Delete, MakeDir, MoveFrom, MoveTo, Read, Write};
use Purpose::{Aside, Command};

pub(super) const PROGRAMS: &[Program] =
    &[program(&["git"], Own(alias)).stops().closed().commands(COMMANDS).options(&[
        with(&["-C"], Does::Folder),
        with(&["-c"], Does::Setting),
        with(&["--work-tree"], Does::Folder),
        with(&["--git-dir", "--namespace"], Does::Bars("takes the repository's settings from where it says")),
        with(&["--config-env"], Does::Bars("sets any option, and several of them run programs")),
        maybe(&["--exec-path"], Does::Bars("runs git's own programs from where it says")),
        text(&["--super-prefix", "--attr-source"]),
        maybe(&["--list-cmds"], Does::Nothing),
        flag(
            &[
                "-p",
                "--paginate",
                "-P",
                "--no-pager",
                "--bare",
                "--no-replace-objects",
                "--no-optional-locks",
                "--no-lazy-fetch",
                "--no-advice",
                "--literal-pathspecs",
                "--glob-pathspecs",
                "--noglob-pathspecs",
                "--icase-pathspecs",
                "--version",
                "-v",
                "--help",
                "-h",
                "--html-path",
                "--man-path",
                "--info-path",
            ],
            Does::Nothing,
        ),
    ])];

/// Subcommands that only look.
const fn looks(names: &'static [&'static str]) -> Program {
    Program { folder: FolderUse::Repository, ..program(names, Nothing).looks() }
}

/// Subcommands that change the repository or its files.
const fn changes(names: &'static [&'static str]) -> Program {
    Program { folder: FolderUse::ChangesRepository, ..program(names, Nothing) }
}

/// Subcommands of which it depends on the arguments.
const fn depends(names: &'static [&'static str], own: fn(&mut Acts<'_>, &[Arg<'_>])) -> Program {
    Program { folder: FolderUse::Repository, ..program(names, Own(own)) }
}

/// Options of everything that shows differences or commits.
const SHOWN: &[Options] = &[
    writes(&["--output"]),
    flag(&["--ext-diff"], Does::Bars("runs the program that the repository names")),
    flag(
        &["--no-ext-diff", "--textconv", "--no-textconv", "--output-indicator-new", "--output-indicator-old"],
        Does::Nothing,
    ),
    reads(&["-O"]),
    text(&[
        "-n",
        "--max-count",
        "-S",
        "-G",
        "-L",
        "-U",
        "--author",
        "--committer",
        "--grep",
        "--since",
        "--until",
        "--after",
    ]),
    text(&[
        "--before",
        "--skip",
        "--date",
        "--diff-filter",
        "--format",
        "--ignore-revs-file",
        "-l",
        "--encoding",
        "--not",
    ]),
    flag(&["--oneline", "--ext", "--output-indicator-context"], Does::Nothing),
    // Any two files are compared.
    flag(&["--no-index"], Does::Otherwise(&Each(Read, Command))),
];

/// Options of what is put aside, which can be shown as well.
const STASHED: &[Options] = &[
    writes(&["--output"]),
    flag(&["--ext-diff"], Does::Bars("runs the program that the repository names")),
    text(&["-m", "--message"]),
    reads(&["--pathspec-from-file"]),
];

/// Options of everything that talks to another repository.
const REMOTE: &[Options] = &[
    with(&["--upload-pack", "--receive-pack", "--exec"], Does::Line),
    text(&[
        "-o",
        "--push-option",
        "--server-option",
        "--depth",
        "--deepen",
        "--shallow-since",
        "--shallow-exclude",
        "-j",
        "--jobs",
    ]),
    text(&[
        "--refmap",
        "--negotiation-tip",
        "--filter",
        "-s",
        "--strategy",
        "-X",
        "--strategy-option",
        "--repo",
    ]),
    flag(
        &["--upload", "--recurse-submodules", "--set-upstream", "--update-shallow", "--server", "--receive"],
        Does::Nothing,
    ),
];

const COMMANDS: &[Program] = &[
    looks(&[
        "log",
        "diff",
        "show",
        "whatchanged",
        "diff-tree",
        "diff-index",
        "diff-files",
        "range-diff",
        "shortlog",
        "rev-list",
    ])
    .options(SHOWN),
    looks(&[
        "status",
        "rev-parse",
        "describe",
        "name-rev",
        "merge-base",
        "ls-files",
        "ls-tree",
        "check-ignore",
    ]),
    looks(&[
        "check-attr",
        "check-mailmap",
        "check-ref-format",
        "count-objects",
        "for-each-ref",
        "show-ref",
        "show-branch",
        "var",
    ]),
    looks(&[
        "verify-commit",
        "verify-tag",
        "verify-pack",
        "version",
        "fsck",
        "cherry",
        "get-tar-commit-id",
        "patch-id",
        "column",
    ]),
    looks(&["merge-tree", "stripspace", "show-index", "unpack-file", "diagnose", "bugreport"])
        .options(&[with(&["-o", "--output-directory"], Does::Path(Write, Aside))]),
    looks(&["blame", "annotate"])
        .options(&[reads(&["--contents", "-S", "--ignore-revs-file"]), text(&["-L", "--date", "--abbrev"])]),
    looks(&["cat-file"]).options(&[flag(
        &["--textconv", "--filters"],
        Does::Bars("runs the program that the repository names"),
    )]),
    looks(&["help"]).options(&[flag(
        &["-w", "--web", "-m", "--man", "-i", "--info"],
        Does::Bars("runs a viewer that settings name"),
    )]),
    Program { operands: Operands::AfterFirst(Operation::Search, Command), ..looks(&["grep"]) }.options(&[
        maybe(&["-O", "--open-files-in-pager"], Does::Bars("runs a program on what it finds")),
        reads(&["-f"]),
        with(&["-e"], Does::ForFirst),
        flag(&["--no-index"], Does::Nothing),
        text(&[
            "-A",
            "-B",
            "-C",
            "-m",
            "--max-depth",
            "--threads",
            "--max-count",
            "--after-context",
            "--before-context",
        ]),
        flag(&["--or", "--only-matching", "-o", "--textconv", "--and", "--not"], Does::Nothing),
    ]),
    depends(&["ls-remote"], remote_first).options(REMOTE),
    depends(&["branch"], branch).options(&[
        text(&[
            "-u",
            "--set-upstream-to",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
            "--sort",
            "--format",
        ]),
        flag(&["--edit-description"], Does::Bars("runs an editor that settings name")),
    ]),
    depends(&["tag"], tag).options(&[
        reads(&["-F", "--file"]),
        text(&[
            "-m",
            "--message",
            "-u",
            "--local-user",
            "--cleanup",
            "--sort",
            "--format",
            "--contains",
            "--points-at",
        ]),
        maybe(&["-n", "--column"], Does::Nothing),
    ]),
    depends(&["remote"], remote),
    depends(&["stash"], stash).options(STASHED),
    depends(&["config"], config).options(&[
        with(&["-f", "--file"], Does::ConfigFile),
        text(&["--blob", "--type", "--default", "--comment", "--value", "-t"]),
        flag(&["-e", "--edit"], Does::Bars("runs an editor that settings name")),
    ]),
    depends(&["reflog"], words_that_look).options(SHOWN),
    depends(&["notes"], words_that_look)
        .options(&[reads(&["-F", "--file"]), text(&["-m", "--message", "-C", "-c", "--ref"])]),
    depends(&["worktree"], worktree).options(&[text(&["-b", "-B", "--reason", "--expire"])]),
    depends(&["submodule"], submodule)
        .options(&[reads(&["--reference"]), text(&["-b", "--branch", "--name", "--depth", "-j"])])
        .stops(),
    depends(&["bisect"], bisect).stops(),
    depends(&["sparse-checkout", "replace", "symbolic-ref", "rerere"], words_that_look),
    depends(&["lfs"], lfs),
    depends(&["maintenance"], maintenance),
    depends(&["archive"], archive).options(&[
        writes(&["-o", "--output"]),
        runs(&["--exec"]),
        with(&["--remote"], Does::Bars("runs a program on the other side")),
        reads(&["--add-file"]),
        text(&["--format", "--prefix", "--mtime"]),
    ]),
    depends(&["bundle"], bundle),
    changes(&["format-patch"]).options(&[
        with(&["-o", "--output-directory", "--output"], Does::Path(Write, Aside)),
        flag(&["--ext-diff"], Does::Bars("runs the program that the repository names")),
        text(&[
            "-n",
            "--start-number",
            "--subject-prefix",
            "--to",
            "--cc",
            "--from",
            "--in-reply-to",
            "-v",
            "--reroll-count",
        ]),
    ]),
    changes(&[
        "add",
        "stage",
        "checkout",
        "switch",
        "restore",
        "reset",
        "clean",
        "revert",
        "cherry-pick",
        "merge",
        "read-tree",
        "write-tree",
    ])
    .options(&[
        text(&[
            "-m",
            "--message",
            "-b",
            "-B",
            "-c",
            "-C",
            "--source",
            "-s",
            "--strategy",
            "-X",
            "--strategy-option",
            "-e",
            "--chmod",
        ]),
        reads(&["-F", "--file", "--pathspec-from-file"]),
        flag(&["--edit", "--ext"], Does::Nothing),
    ]),
    changes(&["commit"]).options(&[
        text(&[
            "-m",
            "--message",
            "-C",
            "--reuse-message",
            "-c",
            "--reedit-message",
            "--author",
            "--date",
            "--cleanup",
            "--fixup",
        ]),
        text(&["--squash", "--trailer", "-u"]),
        reads(&["-F", "--file", "-t", "--template", "--pathspec-from-file"]),
        maybe(&["-S", "--gpg-sign"], Does::Nothing),
    ]),
    changes(&[
        "gc",
        "prune",
        "repack",
        "pack-refs",
        "pack-objects",
        "unpack-objects",
        "update-index",
        "update-ref",
    ]),
    changes(&["index-pack"]).options(&[writes(&["-o"]), text(&["--threads", "--max-input-size"])]),
    Program { operands: Each(Operation::Edit, Command), ..changes(&["merge-file"]) }
        .options(&[text(&["-L"])]),
    changes(&["commit-tree", "commit-graph", "multi-pack-index", "hash-object", "mktag", "mktree"]),
    changes(&["prune-packed", "update-server-info", "fast-import", "fast-export"]),
    changes(&["checkout-index"])
        .options(&[with(&["--prefix"], Does::Path(Write, Aside)), text(&["--stage"])]),
    Program { operands: Each(Read, Command), ..changes(&["interpret-trailers"]) }.options(&[
        flag(&["--in-place"], Does::InPlace),
        text(&["--trailer", "--where", "--if-exists", "--if-missing"]),
    ]),
    Program { operands: Each(Delete, Command), ..changes(&["rm"]) },
    Program { operands: Operands::Last(MoveFrom, MoveTo), ..changes(&["mv"]) },
    changes(&["rebase"]).options(&[
        with(&["-x", "--exec"], Does::Line),
        text(&["--onto", "-s", "--strategy", "-X", "--strategy-option", "--whitespace", "-C"]),
        flag(&["--edit-todo"], Does::Nothing),
    ]),
    Program { operands: Each(Read, Command), ..changes(&["apply", "am"]) }.options(&[
        writes(&["--build-fake-ancestor"]),
        flag(&["--unsafe-paths"], Does::Bars("lets a patch write outside the folder")),
        text(&["-p", "-C", "--whitespace", "--exclude", "--include", "--directory", "--patch-format"]),
    ]),
    Program { operands: Own(remote_first), ..changes(&["push", "fetch", "pull"]) }.options(REMOTE),
    Program { operands: Own(clone), ..changes(&["clone"]) }.options(&[
        with(&["-u", "--upload-pack"], Does::Line),
        with(&["-c", "--config"], Does::Setting),
        loads(&["--template"]),
        with(&["--separate-git-dir"], Does::Path(Write, Aside)),
        reads(&["--reference", "--reference-if-able", "--bundle-uri"]),
        text(&[
            "-b",
            "--branch",
            "-o",
            "--origin",
            "--depth",
            "--shallow-since",
            "--shallow-exclude",
            "-j",
            "--jobs",
            "--filter",
        ]),
    ]),
    Program { operands: Each(MakeDir, Command), ..changes(&["init", "init-db"]) }.options(&[
        loads(&["--template"]),
        with(&["--separate-git-dir"], Does::Path(Write, Aside)),
        text(&["-b", "--initial-branch", "--object-format", "--ref-format"]),
        maybe(&["--shared"], Does::Nothing),
    ]),
    Program {
        operands: Own(never),
        ..changes(&["filter-branch", "filter-repo", "instaweb", "difftool", "mergetool", "citool", "gui"])
    },
    Program {
        operands: Own(never),
        ..changes(&[
            "daemon",
            "shell",
            "credential",
            "hook",
            "merge-index",
            "for-each-repo",
            "http-backend",
            "gitk",
            "web--browse",
        ])
    },
    Program {
        operands: Own(never),
        ..changes(&["send-email", "imap-send", "upload-pack", "receive-pack", "remote-ext", "svn", "p4"])
    },
];

/// A subcommand that is not known: an alias of the repository, or a program of that name.
fn alias(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if args.iter().any(|arg| arg.operand().is_some()) {
        acts.folder = FolderUse::ChangesRepository;
    }
}

/// Runs programs by its nature.
fn never(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.subcommand_bar("runs programs that its arguments or settings name");
}

fn operands<'a>(args: &[Arg<'a>]) -> Vec<&'a Word> {
    args.iter().filter_map(Arg::operand).collect()
}

/// Whether one of these options is there.
fn has(args: &[Arg<'_>], wanted: &[&str]) -> bool {
    args.iter().any(|arg| match arg {
        Arg::Option { name, known, .. } => {
            wanted.contains(name)
                || known.is_some_and(|known| known.names.iter().any(|name| wanted.contains(name)))
                || cluster_has(name, wanted)
        }
        Arg::Operand(_) => false,
    })
}

/// `-vD`: the last letter of a cluster is what its part means.
fn cluster_has(name: &str, wanted: &[&str]) -> bool {
    let last = name.chars().last();
    !name.starts_with("--") && wanted.iter().any(|wanted| wanted.len() == 2 && wanted.chars().last() == last)
}

fn change(acts: &mut Acts<'_>) {
    acts.folder = FolderUse::ChangesRepository;
}

/// `git branch` lists; with a name it makes one, with several options it changes one.
fn branch(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let lists = has(
        args,
        &[
            "-l",
            "--list",
            "--show-current",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ],
    );
    let other = has(
        args,
        &[
            "-d",
            "-D",
            "--delete",
            "-m",
            "-M",
            "--move",
            "-c",
            "-C",
            "--copy",
            "-u",
            "--set-upstream-to",
            "--unset-upstream",
        ],
    );
    if other || !lists && !operands(args).is_empty() {
        change(acts);
    } else {
        list(acts, args);
    }
}

/// Listing names runs nothing that the repository names, unless signatures are shown: `gpg.program` checks those.
/// [git-config(1)](https://git-scm.com/docs/git-config)
fn list(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let static_and_plain = |word: &Word| word.as_static().is_some_and(|word| !word.contains("signature"));
    let plain = |arg: &Arg<'_>| match arg {
        Arg::Option { value, .. } => value.as_deref().is_none_or(static_and_plain),
        Arg::Operand(word) => static_and_plain(word),
    };
    if args.iter().all(plain) {
        acts.folder = FolderUse::Nothing;
    }
}

/// `git tag` lists; with a name it makes one.
fn tag(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let lists = has(args, &["-l", "--list", "-v", "--verify", "--contains", "--points-at", "-n"]);
    if has(args, &["-d", "--delete"]) || !lists && !operands(args).is_empty() {
        change(acts);
    } else if !has(args, &["-v", "--verify"]) {
        list(acts, args);
    }
}

/// `git remote`, `git remote show` and `git remote get-url` look.
fn remote(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    if !matches!(words.first().map(|word| word.as_static()), None | Some(Some("show" | "get-url"))) {
        change(acts);
    }
    if let (Some(Some("add" | "set-url")), Some(address)) =
        (words.first().map(|word| word.as_static()), words.get(2))
    {
        acts.host(address);
    }
}

fn stash(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    if !matches!(words.first().and_then(|word| word.as_static()), Some("list" | "show")) {
        change(acts);
    }
}

/// Words that only look.
const LOOKS: &[&str] =
    &["list", "show", "exists", "status", "ls-files", "env", "version", "diff", "ls-remote"];

/// Subcommands whose first word says whether they look.
fn words_that_look(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    if !words.first().and_then(|word| word.as_static()).is_some_and(|word| LOOKS.contains(&word))
        && !words.is_empty()
    {
        change(acts);
    }
}

/// What git-lfs keeps beside the repository; `install` and its kind write hooks and the person's own settings.
fn lfs(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let verb = operands(args).first().and_then(|word| word.as_static());
    let known =
        ["track", "untrack", "fetch", "pull", "push", "checkout", "prune", "lock", "unlock", "locks", "logs"];
    if !verb.is_none_or(|verb| known.contains(&verb) || LOOKS.contains(&verb)) {
        acts.subcommand_bar("changes settings, hooks or what later commands run");
    }
    words_that_look(acts, args);
}

/// `start` and `register` install a schedule, outside any folder.
fn maintenance(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let verb = operands(args).first().and_then(|word| word.as_static());
    if verb != Some("run") && verb.is_some() {
        acts.subcommand_bar("changes what the system runs by itself");
    }
    change(acts);
}

/// `git config` reads with one name and writes with more.
fn config(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let looking = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--get-colorbool",
        "-l",
        "--list",
        "--show-origin",
    ];
    let first = words.first().and_then(|word| word.as_static());
    let changing = [
        "--unset",
        "--unset-all",
        "--add",
        "--replace-all",
        "--rename-section",
        "--remove-section",
        "-e",
        "--edit",
    ];
    let looks = has(args, &looking) && !has(args, &changing)
        || matches!(first, Some("get" | "list" | "get-color"))
        || words.len() < 2 && !has(args, &changing);
    let file = args.iter().find_map(|arg| match arg {
        Arg::Option { known: Some(known), value, .. } if matches!(known.does, Does::ConfigFile) => {
            value.clone()
        }
        _ => None,
    });
    if looks {
        if let Some(file) = file {
            acts.path(Cow::Owned(file.into_owned()), Read, Command);
        }
        return;
    }
    change(acts);
    let like = words.first().map_or_else(Word::default, |word| (*word).clone());
    if has(args, &["--global"]) {
        let home = Word {
            parts: vec![
                pinfold_shell::Part::Tilde(String::new()),
                pinfold_shell::Part::Literal("/.gitconfig".into()),
            ],
            ..like
        };
        acts.path(Cow::Owned(home), Write, Command);
    } else if has(args, &["--system"]) {
        acts.path(Cow::Owned(literal("/etc/gitconfig", &like)), Write, Command);
    } else if let Some(file) = file {
        acts.path(Cow::Owned(file.into_owned()), Write, Command);
    } else {
        acts.path(Cow::Owned(literal(".git/config", &like)), Write, Command);
    }
}

/// `git worktree add folder`, `remove`, `move`.
fn worktree(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let Some((verb, rest)) = words.split_first() else { return };
    let verb = verb.as_static();
    if verb == Some("list") {
        return;
    }
    change(acts);
    let operation = if verb == Some("remove") { Delete } else { MakeDir };
    match (verb, rest) {
        (Some("add" | "remove"), [folder, ..]) => {
            acts.path(Cow::Owned((*folder).clone()), operation, Command);
        }
        (Some("move"), [from, to, ..]) => {
            acts.path(Cow::Owned((*from).clone()), MoveFrom, Command);
            acts.path(Cow::Owned((*to).clone()), MoveTo, Command);
        }
        _ => {}
    }
}

fn submodule(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let Some((verb, rest)) = words.split_first() else { return };
    match verb.as_static() {
        Some("status" | "summary") => {}
        Some("foreach") => {
            change(acts);
            acts.option_bar("option", "foreach", "runs a command line in each submodule");
            let line =
                rest.iter().position(|word| !word.as_static().is_some_and(|text| text.starts_with('-')));
            acts.joined(rest.get(line.unwrap_or(rest.len())..).unwrap_or_default());
        }
        _ => change(acts),
    }
}

fn bisect(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let Some((verb, rest)) = words.split_first() else { return };
    match verb.as_static() {
        Some("log" | "visualize" | "view" | "terms") => {}
        Some("run") => {
            change(acts);
            acts.option_bar("option", "run", "runs a command at each step");
            acts.start(rest);
        }
        _ => change(acts),
    }
}

fn archive(_: &mut Acts<'_>, _: &[Arg<'_>]) {}

/// `git bundle create file …`.
fn bundle(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    if let [verb, file, ..] = words.as_slice() {
        let creates = verb.as_static() == Some("create");
        let (operation, purpose) = if creates { (Write, Aside) } else { (Read, Command) };
        acts.path(Cow::Owned((*file).clone()), operation, purpose);
    }
}

/// The first operand may be an address.
fn remote_first(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if let Some(address) = operands(args).first() {
        address_of(acts, address);
    }
}

/// `git clone address [folder]`.
fn clone(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words = operands(args);
    let Some(address) = words.first() else { return };
    address_of(acts, address);
    if let Some(folder) = words.get(1) {
        return acts.path(Cow::Owned((*folder).clone()), MakeDir, Command);
    }
    let named = address.as_static().map(|text| {
        let text = text.trim_end_matches('/');
        let name = text.rsplit(['/', ':']).next().unwrap_or(text);
        name.strip_suffix(".git").unwrap_or(name)
    });
    match named {
        Some(name) if !name.is_empty() => acts.path(Cow::Owned(literal(name, address)), MakeDir, Command),
        _ => acts.unknown_operand(),
    }
}

/// An address that git would reach; `ext::` runs what stands behind it.
fn address_of(acts: &mut Acts<'_>, address: &Word) {
    let start = address.literal_prefix();
    if start.contains("::") && !start.starts_with('[') {
        acts.option_bar("option", start.split("::").next().unwrap_or(start), "runs a helper for the address");
    } else if super::super::super::host::is_remote(start) {
        acts.host(address);
    } else if start.starts_with(['/', '.']) && acts.command_word() != Some("push") {
        acts.path(Cow::Owned(address.clone()), Read, Command);
    } else if address.as_static().is_none() && start.is_empty() {
        acts.hosts.push(super::super::super::HostClaim::of_command(None));
    }
}
