//! The subcommands of git that only read, with the options of each that are let through.
//!
//! Reviewed option by option against the manual of git 2.47.
//!
//! git runs programs that a repository's own settings name: a file system monitor, filters, converters and external
//! programs for differences, a pager, signature programs. The settings of the folder's repository are the person's:
//! they stand in a guarded place, where no command of an agent writes unasked, and what a checked-out tree says
//! (`.gitattributes`) can only choose among the programs that those settings name. So in the folder itself git reads
//! as the person set it up to read. In every other repository that would be someone else's word: `-C`,
//! `--git-dir`, `-c` and a `cd` in front are not let through, and neither is an option that asks for such a program
//! (`--ext-diff`, `--textconv`, `--show-signature`, a format with `%G`) or writes (`--output`).
//!
//! A plain `git diff` with two paths of which one lies outside compares any files: it is let through only with
//! names inside.

use pinfold_shell::Word;

use super::options::{Argument, Options, read};
use super::words::names_files;

/// A subcommand.
struct Subcommand {
    names: &'static [&'static str],
    /// Its options; where two lists have the same letter, the first one counts.
    options: &'static [Options],
    operands: Operands,
}

/// What the operands of a subcommand may be.
#[derive(Clone, Copy)]
enum Operands {
    /// Revisions and names in the repository.
    Any,
    /// None, since one would be made or changed.
    None,
    /// Any, behind one of these options only.
    With(&'static [&'static str]),
    /// The first argument is one of these, or there are no operands.
    Verb(&'static [&'static str]),
    /// The first argument is one of these.
    Needs(&'static [&'static str]),
}

/// Whether git with these arguments only reads.
pub(super) fn only_reads(args: &[Word]) -> bool {
    let mut rest = args;
    while let Some((word, behind)) = rest.split_first() {
        let Some(text) = word.as_static() else { return false };
        if !text.starts_with('-') {
            let listed = SUBCOMMANDS.iter().find(|subcommand| subcommand.names.contains(&text));
            return listed.is_some_and(|subcommand| subcommand.accepts(behind));
        }
        match text {
            "--version" | "-v" | "--help" | "-h" => return behind.is_empty(),
            "--no-pager"
            | "-P"
            | "--no-optional-locks"
            | "--no-replace-objects"
            | "--no-lazy-fetch"
            | "--literal-pathspecs"
            | "--glob-pathspecs"
            | "--noglob-pathspecs"
            | "--icase-pathspecs"
            | "--no-advice" => {}
            _ => return false,
        }
        rest = behind;
    }
    false
}

/// The options of a subcommand that are let through.
pub(super) fn options(name: &str) -> impl Iterator<Item = &'static Options> + '_ {
    let listed = SUBCOMMANDS.iter().filter(move |subcommand| subcommand.names.contains(&name));
    listed.flat_map(|subcommand| subcommand.options)
}

impl Subcommand {
    fn accepts(&self, args: &[Word]) -> bool {
        match read(self.options, args, false) {
            Some(arguments) => arguments.iter().all(is_tame_value) && self.operands.accept(args, &arguments),
            None => false,
        }
    }
}

impl Operands {
    fn accept(self, args: &[Word], arguments: &[Argument<'_>]) -> bool {
        let mut operands = arguments.iter().filter_map(|argument| match argument {
            Argument::Operand(word) => Some(*word),
            Argument::Option(..) => None,
        });
        let has = |options: &[&str]| {
            arguments
                .iter()
                .any(|argument| matches!(argument, Argument::Option(name, _) if options.contains(name)))
        };
        let begins =
            |verbs: &[&str]| args.first().and_then(Word::as_static).is_some_and(|verb| verbs.contains(&verb));
        let allowed = match self {
            Self::Any => true,
            Self::None => operands.clone().next().is_none(),
            Self::With(options) => operands.clone().next().is_none() || has(options),
            Self::Verb(verbs) => operands.clone().next().is_none() || begins(verbs),
            Self::Needs(verbs) => begins(verbs),
        };
        allowed && operands.all(is_inside)
    }
}

/// Whether an operand is a revision or a name in the repository, as far as its text says.
fn is_inside(word: &Word) -> bool {
    names_files(word)
        && word
            .as_static()
            .is_none_or(|text| !text.starts_with(['/', '~']) && text.split('/').all(|step| step != ".."))
        && !matches!(word.parts.first(), Some(pinfold_shell::Part::Tilde(_) | pinfold_shell::Part::Process))
}

/// Whether the value of an option asks for nothing that runs: formats with `%G` or `signature` check signatures.
fn is_tame_value(argument: &Argument<'_>) -> bool {
    match argument {
        Argument::Option("format" | "pretty" | "batch" | "batch-check", Some(value)) => {
            !value.contains("%G") && !value.contains("signature")
        }
        Argument::Option(..) | Argument::Operand(_) => true,
    }
}

const fn list(
    plain: &'static str,
    valued: &'static str,
    glued: &'static str,
    long: &'static [&'static str],
) -> Options {
    Options { plain, valued, glued, long }
}

const fn subcommand(
    names: &'static [&'static str],
    options: &'static [Options],
    operands: Operands,
) -> Subcommand {
    Subcommand { names, options, operands }
}

/// How differences are shown. Not: `--output`, `-O`, `--ext-diff`, `--textconv`, `--no-index`.
const DIFF: Options = list(
    "pustzRabwW0",
    "SGIl",
    "UXBMCD",
    &[
        "patch",
        "no-patch",
        "unified=",
        "output-indicator-new=",
        "output-indicator-old=",
        "output-indicator-context=",
        "raw",
        "patch-with-raw",
        "indent-heuristic",
        "no-indent-heuristic",
        "minimal",
        "patience",
        "histogram",
        "anchored=",
        "diff-algorithm=",
        "stat?",
        "stat-width=",
        "stat-name-width=",
        "stat-count=",
        "stat-graph-width=",
        "compact-summary",
        "numstat",
        "shortstat",
        "dirstat?",
        "cumulative",
        "dirstat-by-file?",
        "summary",
        "patch-with-stat",
        "name-only",
        "name-status",
        "submodule?",
        "color?",
        "no-color",
        "color-moved?",
        "no-color-moved",
        "color-moved-ws=",
        "no-color-moved-ws",
        "word-diff?",
        "word-diff-regex=",
        "color-words?",
        "no-renames",
        "rename-empty",
        "no-rename-empty",
        "check",
        "ws-error-highlight=",
        "full-index",
        "binary",
        "abbrev?",
        "no-abbrev",
        "break-rewrites?",
        "find-renames?",
        "find-copies?",
        "find-copies-harder",
        "irreversible-delete",
        "diff-filter=",
        "find-object=",
        "pickaxe-all",
        "pickaxe-regex",
        "skip-to=",
        "rotate-to=",
        "relative?",
        "no-relative",
        "text",
        "ignore-cr-at-eol",
        "ignore-space-at-eol",
        "ignore-space-change",
        "ignore-all-space",
        "ignore-blank-lines",
        "ignore-matching-lines=",
        "inter-hunk-context=",
        "function-context",
        "exit-code",
        "quiet",
        "no-ext-diff",
        "no-textconv",
        "ignore-submodules?",
        "src-prefix=",
        "dst-prefix=",
        "no-prefix",
        "default-prefix",
        "line-prefix=",
        "ita-invisible-in-index",
        "cc",
        "combined-all-paths",
    ],
);

/// Which commits, and how they are shown. Not: `--show-signature`.
const LOG: Options = list(
    "0123456789iEFPgcm",
    "nL",
    "",
    &[
        "follow",
        "no-decorate",
        "decorate?",
        "decorate-refs=",
        "decorate-refs-exclude=",
        "clear-decorations",
        "source",
        "mailmap",
        "no-mailmap",
        "use-mailmap",
        "no-use-mailmap",
        "full-diff",
        "log-size",
        "max-count=",
        "skip=",
        "since=",
        "after=",
        "since-as-filter=",
        "until=",
        "before=",
        "author=",
        "committer=",
        "grep-reflog=",
        "grep=",
        "all-match",
        "invert-grep",
        "regexp-ignore-case",
        "basic-regexp",
        "extended-regexp",
        "fixed-strings",
        "perl-regexp",
        "remove-empty",
        "merges",
        "no-merges",
        "min-parents=",
        "max-parents=",
        "no-min-parents",
        "no-max-parents",
        "first-parent",
        "exclude-first-parent-only",
        "not",
        "all",
        "branches?",
        "tags?",
        "remotes?",
        "glob=",
        "exclude=",
        "exclude-hidden=",
        "reflog",
        "single-worktree",
        "ignore-missing",
        "cherry-mark",
        "cherry-pick",
        "left-only",
        "right-only",
        "cherry",
        "walk-reflogs",
        "merge",
        "boundary",
        "simplify-by-decoration",
        "show-pulls",
        "full-history",
        "dense",
        "sparse",
        "simplify-merges",
        "ancestry-path?",
        "date-order",
        "author-date-order",
        "topo-order",
        "reverse",
        "no-walk?",
        "do-walk",
        "pretty?",
        "format=",
        "abbrev-commit",
        "no-abbrev-commit",
        "oneline",
        "encoding=",
        "expand-tabs?",
        "no-expand-tabs",
        "notes?",
        "no-notes",
        "show-notes?",
        "standard-notes",
        "no-standard-notes",
        "relative-date",
        "date=",
        "parents",
        "children",
        "left-right",
        "graph",
        "no-graph",
        "show-linear-break?",
        "diff-merges=",
        "no-diff-merges",
        "remerge-diff",
        "dd",
        "bisect",
        "no-commit-id",
        "root",
        "always",
    ],
);

const SUBCOMMANDS: &[Subcommand] = &[
    subcommand(
        &["status"],
        &[list(
            "sbvz",
            "",
            "uM",
            &[
                "short",
                "branch",
                "show-stash",
                "porcelain?",
                "long",
                "verbose",
                "untracked-files?",
                "ignore-submodules?",
                "ignored?",
                "column?",
                "no-column",
                "ahead-behind",
                "no-ahead-behind",
                "renames",
                "no-renames",
                "find-renames?",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["diff"],
        &[list("q123", "", "", &["cached", "staged", "merge-base", "base", "ours", "theirs"]), DIFF],
        Operands::Any,
    ),
    subcommand(&["log", "show", "whatchanged"], &[list("q", "", "", &[]), LOG, DIFF], Operands::Any),
    subcommand(
        &["reflog"],
        &[list("q", "", "", &[]), LOG, DIFF],
        Operands::Verb(&["show", "list", "exists", "HEAD"]),
    ),
    subcommand(
        &["diff-tree", "diff-index", "diff-files"],
        &[list("rcmv", "", "", &["cached", "merge-base"]), LOG, DIFF],
        Operands::Any,
    ),
    subcommand(
        &["rev-list"],
        &[
            list(
                "",
                "",
                "",
                &[
                    "count",
                    "timestamp",
                    "header",
                    "objects",
                    "objects-edge",
                    "in-commit-order",
                    "unpacked",
                    "object-names",
                    "no-object-names",
                    "filter=",
                    "no-filter",
                    "missing=",
                    "commit-header",
                    "no-commit-header",
                    "disk-usage?",
                    "use-bitmap-index",
                    "bisect-vars",
                    "bisect-all",
                ],
            ),
            LOG,
        ],
        Operands::Any,
    ),
    subcommand(
        &["shortlog"],
        &[list("nsec", "", "w", &["numbered", "summary", "email", "group=", "committer"]), LOG],
        Operands::Any,
    ),
    subcommand(
        &["rev-parse"],
        &[list(
            "q",
            "",
            "",
            &[
                "verify",
                "quiet",
                "short?",
                "abbrev-ref?",
                "symbolic",
                "symbolic-full-name",
                "all",
                "branches?",
                "tags?",
                "remotes?",
                "glob=",
                "exclude=",
                "disambiguate=",
                "path-format=",
                "git-dir",
                "git-common-dir",
                "git-path=",
                "show-toplevel",
                "show-superproject-working-tree",
                "absolute-git-dir",
                "is-inside-git-dir",
                "is-inside-work-tree",
                "is-bare-repository",
                "is-shallow-repository",
                "show-cdup",
                "show-prefix",
                "show-object-format?",
                "show-ref-format",
                "revs-only",
                "no-revs",
                "flags",
                "no-flags",
                "default=",
                "not",
                "since=",
                "after=",
                "until=",
                "before=",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["branch"],
        &[list(
            "avrlqi",
            "",
            "",
            &[
                "list",
                "all",
                "remotes",
                "show-current",
                "verbose",
                "quiet",
                "contains=",
                "no-contains=",
                "merged=",
                "no-merged=",
                "points-at=",
                "sort=",
                "format=",
                "color?",
                "no-color",
                "column?",
                "no-column",
                "abbrev?",
                "no-abbrev",
                "ignore-case",
                "omit-empty",
            ],
        )],
        // A name without `--list` would become a branch.
        Operands::With(&["list"]),
    ),
    subcommand(
        &["tag"],
        &[list(
            "li",
            "",
            "n",
            &[
                "list",
                "contains=",
                "no-contains=",
                "merged=",
                "no-merged=",
                "points-at=",
                "sort=",
                "format=",
                "color?",
                "column?",
                "no-column",
                "ignore-case",
                "omit-empty",
            ],
        )],
        Operands::With(&["l", "list"]),
    ),
    // Without a subcommand it lists; `show` would ask the other side.
    subcommand(&["remote"], &[list("v", "", "", &["verbose", "push", "all"])], Operands::Verb(&["get-url"])),
    subcommand(
        &["config"],
        &[list(
            "lz",
            "",
            "",
            &[
                "get",
                "get-all",
                "get-regexp",
                "get-urlmatch",
                "list",
                "global",
                "system",
                "local",
                "worktree",
                "null",
                "name-only",
                "show-origin",
                "show-scope",
                "includes",
                "no-includes",
                "type=",
                "bool",
                "int",
                "bool-or-int",
                "path",
                "expiry-date",
                "no-type",
                "default=",
                "all",
                "regexp",
                "value=",
                "fixed-value",
                "show-names",
            ],
        )],
        // `git config NAME VALUE` sets.
        Operands::With(&["get", "get-all", "get-regexp", "get-urlmatch", "list", "l"]),
    ),
    subcommand(
        &["stash"],
        &[list("u", "", "", &["include-untracked", "only-untracked"]), LOG, DIFF],
        Operands::Needs(&["list", "show"]),
    ),
    subcommand(
        &["worktree"],
        &[list("vz", "", "", &["porcelain", "verbose", "expire="])],
        Operands::Needs(&["list"]),
    ),
    subcommand(
        &["ls-files"],
        &[list(
            "cdmoisukztvf",
            "x",
            "",
            &[
                "cached",
                "deleted",
                "modified",
                "others",
                "ignored",
                "stage",
                "directory",
                "no-empty-directory",
                "unmerged",
                "killed",
                "deduplicate",
                "exclude=",
                "exclude-standard",
                "error-unmatch",
                "with-tree=",
                "full-name",
                "recurse-submodules",
                "abbrev?",
                "debug",
                "eol",
                "sparse",
                "format=",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["ls-tree"],
        &[list(
            "drtlz",
            "",
            "",
            &[
                "long",
                "name-only",
                "name-status",
                "object-only",
                "abbrev?",
                "full-name",
                "full-tree",
                "format=",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["cat-file"],
        &[list(
            "tsepzZ",
            "",
            "",
            &[
                "mailmap",
                "no-mailmap",
                "use-mailmap",
                "no-use-mailmap",
                "batch?",
                "batch-check?",
                "batch-all-objects",
                "buffer",
                "unordered",
                "allow-unknown-type",
                "follow-symlinks",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["blame", "annotate"],
        &[list(
            "bltphcfnsew",
            "L",
            "MC",
            &[
                "root",
                "show-stats",
                "reverse",
                "first-parent",
                "porcelain",
                "line-porcelain",
                "incremental",
                "encoding=",
                "date=",
                "progress",
                "no-progress",
                "ignore-rev=",
                "color-lines",
                "color-by-age",
                "score-debug",
                "show-name",
                "show-number",
                "show-email",
                "abbrev?",
                "since=",
                "minimal",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["grep"],
        &[list(
            "aiIrwvhHEGPFnlLzocpWq0123456789",
            "eACBm",
            "",
            &[
                "cached",
                "untracked",
                "exclude-standard",
                "recurse-submodules",
                "text",
                "no-textconv",
                "ignore-case",
                "max-depth=",
                "recursive",
                "no-recursive",
                "word-regexp",
                "invert-match",
                "full-name",
                "extended-regexp",
                "basic-regexp",
                "perl-regexp",
                "fixed-strings",
                "line-number",
                "column",
                "files-with-matches",
                "name-only",
                "files-without-match",
                "null",
                "only-matching",
                "count",
                "color?",
                "no-color",
                "break",
                "heading",
                "show-function",
                "context=",
                "after-context=",
                "before-context=",
                "function-context",
                "max-count=",
                "threads=",
                "and",
                "or",
                "not",
                "all-match",
                "quiet",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["describe"],
        &[list(
            "",
            "",
            "",
            &[
                "dirty?",
                "broken?",
                "all",
                "tags",
                "contains",
                "abbrev=",
                "candidates=",
                "exact-match",
                "debug",
                "long",
                "match=",
                "exclude=",
                "always",
                "first-parent",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["for-each-ref"],
        &[list(
            "s",
            "",
            "",
            &[
                "count=",
                "sort=",
                "format=",
                "color?",
                "points-at=",
                "merged=",
                "no-merged=",
                "contains=",
                "no-contains=",
                "ignore-case",
                "omit-empty",
                "exclude=",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["show-ref"],
        &[list(
            "dq",
            "",
            "s",
            &[
                "head",
                "heads",
                "branches",
                "tags",
                "dereference",
                "hash?",
                "verify",
                "abbrev?",
                "quiet",
                "exists",
            ],
        )],
        Operands::Any,
    ),
    subcommand(
        &["merge-base"],
        &[list("a", "", "", &["all", "octopus", "independent", "is-ancestor", "fork-point"])],
        Operands::Any,
    ),
    subcommand(
        &["name-rev"],
        &[list(
            "",
            "",
            "",
            &["tags", "refs=", "exclude=", "all", "name-only", "no-undefined", "undefined", "always"],
        )],
        Operands::Any,
    ),
    subcommand(&["cherry"], &[list("v", "", "", &["verbose", "abbrev?"])], Operands::Any),
    subcommand(&["count-objects"], &[list("vH", "", "", &["verbose", "human-readable"])], Operands::None),
    subcommand(
        &["check-ignore"],
        &[list("qvzn", "", "", &["quiet", "verbose", "non-matching", "no-index"])],
        Operands::Any,
    ),
    subcommand(&["check-attr"], &[list("az", "", "", &["all", "cached", "source="])], Operands::Any),
    subcommand(&["version"], &[list("", "", "", &["build-options"])], Operands::None),
];

/// Every list of options.
#[cfg(test)]
pub(super) fn lists() -> impl Iterator<Item = Options> {
    SUBCOMMANDS.iter().flat_map(|subcommand| subcommand.options.iter().copied())
}

/// Every subcommand's names with the options that are its own and the names of the lists it shares.
#[cfg(test)]
pub(super) fn described() -> impl Iterator<Item = (String, Vec<Options>, Vec<&'static str>)> {
    SUBCOMMANDS.iter().map(|subcommand| {
        let shared = |list: &Options| SHARED.iter().find(|(_, shared)| shared.long == list.long);
        let own = subcommand.options.iter().filter(|list| shared(list).is_none()).copied().collect();
        let names =
            subcommand.options.iter().filter_map(|list| shared(list).map(|(name, _)| *name)).collect();
        (subcommand.names.join(", "), own, names)
    })
}

/// Lists that subcommands share.
#[cfg(test)]
pub(super) const SHARED: &[(&str, Options)] = &[("commits", LOG), ("differences", DIFF)];
