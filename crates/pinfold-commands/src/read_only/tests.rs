use std::fmt::Write;

use pinfold_shell::parse;

use crate::PathClaim;
use crate::analyze;
use crate::program::{Program, ReadOnly, Takes, all, find};

/// Returns whether every command of a line only reads, or does nothing beside one that does.
fn reads(text: &str) -> bool {
    let commands = analyze(text, &parse(text));
    let mut claims = commands.commands.iter();
    commands.not_allowlistable.is_empty()
        && claims.clone().any(|claim| claim.read_only)
        && claims.all(|claim| claim.not_allowlistable.is_empty() && (claim.read_only || claim.inert))
}

const READS: &[&str] = &[
    "ls",
    "ls -la internal/tool",
    "ls --color=never -1 src/*.rs",
    "ls *",
    "cat README.md",
    "cat -n a b",
    "cat *",
    "cat ~/notes",
    "head -20 f",
    "head -n 5 -- -f",
    "tail -n +5 f",
    "tail -c10 f",
    "wc -l *.md",
    "nl -ba f",
    "cat go.mod | wc -l",
    "grep -rn foo internal",
    "grep -e a -e b src",
    "grep --include='*.rs' -r x .",
    "grep -C3 x f",
    "egrep 'a|b' f",
    "rg -n 'fn main' src",
    "rg -l x",
    "rg --files -g '!dist/**'",
    "rg -uu x",
    "fd -e go tool",
    "fd -t f",
    "tree -L 2 internal",
    "find . -name '*.go' -mtime -1",
    "find . \\( -name a -o -name b \\) -print",
    "find src test -type f -printf '%p\\n'",
    "find",
    "sort -k5 -n f",
    "sort -t, -k2 -u f",
    "uniq -c",
    "uniq -c f",
    "cut -d: -f1 f",
    "tr a-z A-Z",
    "tr -d '\\n'",
    "comm -12 <(sort a.txt) <(sort b.txt)",
    "diff -u a b",
    "diff -ru a b",
    "cmp a b",
    "join -1 2 a b",
    "paste -d, a b",
    "stat -c %s f",
    "file f",
    "du -sh .",
    "df -h",
    "pwd",
    "date",
    "date +%F",
    "date -u -d yesterday +%s",
    "uname -a",
    "whoami",
    "id",
    "hostname",
    "hostname -f",
    "ps aux",
    "ps -ef",
    "ps -eo pid,cmd --sort=-pcpu",
    "ps -p 1 -o comm",
    "which rg",
    "type ls",
    "command -v rg",
    "sha256sum f",
    "base64 -d f",
    "xxd -l 64 f",
    "xxd -ps f",
    "od -An -tx1 f",
    "hexdump -C f",
    "strings f",
    "tac f",
    "rev f",
    "column -t -s, f",
    "fold -w 80 f",
    "jq . f",
    "jq -r '.scripts | keys[]' package.json",
    "jq .env f",
    "jq --arg a b '.[$a]' f",
    "sed -n '1,20p' f",
    "sed -n 5p f",
    "sed -n '/x/,/y/p' f",
    "sed -n '$p' f",
    "sed -n '$=' f",
    "realpath f",
    "readlink -f f",
    "basename a/b",
    "dirname a/b",
    "test -f x",
    "[ -f x ]",
    "[ a = b ]",
    "git status",
    "git status -sb",
    "git log --oneline -20",
    "git log -n 5 -p -- src",
    "git log -S foo --format='%h %s'",
    "git show HEAD",
    "git show HEAD:src/a.rs",
    "git show --stat",
    "git diff",
    "git diff --stat",
    "git diff HEAD~1 -- src/a.rs",
    "git diff --name-only main...HEAD",
    "git diff --cached",
    "git branch",
    "git branch -a",
    "git branch -vv",
    "git branch --show-current",
    "git branch --list 'x*'",
    "git tag",
    "git tag -l 'v*'",
    "git rev-parse --show-toplevel",
    "git rev-parse --short HEAD",
    "git ls-files '*.md'",
    "git ls-tree -r HEAD",
    "git cat-file -p HEAD",
    "git blame -L 1,5 f",
    "git remote -v",
    "git remote get-url origin",
    "git config --get user.name",
    "git config --list",
    "git stash list",
    "git stash show -p",
    "git describe --tags",
    "git shortlog -sn",
    "git rev-list --count HEAD",
    "git merge-base a b",
    "git reflog",
    "git reflog show HEAD",
    "git --no-pager log",
    "git grep -n TODO -- '*.rs'",
    "git worktree list",
    "git for-each-ref --sort=-committerdate",
    "cd internal && rg -l Register",
    "ls missing 2>/dev/null",
    "ls |& head -3",
    "grep x < f",
    "LC_ALL=C sort f",
    "TZ=UTC date",
    "cat <<'EOF'\nx\nEOF",
    "/usr/bin/ls",
    "ls -la \\\n  src",
];

const NOT: &[&str] = &[
    // Writes or runs by an option.
    "sort -o f a",
    "sort -of a",
    "sort --output=f a",
    "sort --out=f a",
    "sort --compress-program=x f",
    "sort --comp=x f",
    "sort -T /tmp f",
    "rg --pre ./x foo",
    "rg --pre=./x foo",
    "rg -z foo",
    "rg --hostname-bin ./x foo",
    "rg --search-zip x",
    "fd -x rm",
    "fd -X rm",
    "fd --exec rm",
    "fd -l",
    "find . -delete",
    "find . -exec rm {} \\;",
    "find . -execdir x \\;",
    "find . -ok x \\;",
    "find . -fprint x",
    "find . -fprintf f %p",
    "find . -fls f",
    "find -files0-from f",
    "tree -o f",
    "tree -R -H . -L 1",
    "date -s x",
    "date --set=x",
    "date 01010000",
    "hostname new",
    "hostname -F f",
    "file -C -m x",
    "file -z f",
    "diff -l a b",
    "uniq a b",
    "xxd -r a b",
    "xxd a b",
    "xxd -ps a b",
    "xxd -r a",
    "git log --output=/tmp/x",
    "git diff --ext-diff",
    "git diff --textconv",
    "git grep -O x",
    "git grep --open-files-in-pager=x y",
    "git -c core.pager=x log",
    "git -p log",
    "git -C sub status",
    "git --git-dir=x status",
    "git log --show-signature",
    "git log --format=%G?",
    "git diff --no-index a b",
    "git diff /etc/passwd /dev/null",
    "git diff ~/.ssh/id_rsa a",
    "git diff ../../x a",
    "git branch x",
    "git branch -D x",
    "git branch -v x",
    "git tag x",
    "git tag -d x",
    "git stash",
    "git stash -p",
    "git stash -- list",
    "git stash pop",
    "git remote add x y",
    "git remote show origin",
    "git config a b",
    "git config --unset a",
    "git config --list -f f",
    "git reflog expire --all",
    "git worktree add x",
    "git commit -m msg",
    "git cat-file --textconv HEAD:f",
    "git checkout main",
    "git",
    "cd sub && git status",
    "git diff -Oorder",
    "git ls-remote",
    "git fetch",
    "git rev-parse --parseopt",
    "git symbolic-ref HEAD x",
    // Shows what it should not.
    "grep -f f x",
    "grep -r x ~",
    "rg x /",
    "grep -r x /home/u",
    "diff -r ~ x",
    "wc --files0-from=f",
    "date -f f",
    "du -X f",
    "jq env",
    "jq '$ENV.A' f",
    "jq -n 'env.A'",
    "jq 'import \"a\" as $a; .'",
    "jq -f f",
    "jq --slurpfile a f .",
    "ps eww",
    "ps auxe",
    "ps -o environ",
    "strings @f",
    "env",
    "printenv",
    "cat \"$X\"",
    "cat $(which rg)",
    "cat `which rg`",
    "head ~/.ssh/id_r*",
    "cat .en*",
    "cat /home/u/*",
    // Reads nothing, or is no such program.
    "echo hi",
    "printf x",
    "true",
    "less f",
    "man ls",
    "awk 1 f",
    "xargs ls",
    "tar tf a",
    "eval ls",
    "tee f",
    "make",
    "./ls",
    "/tmp/evil/ls",
    "vim f",
    "command ls",
    "command -p ls",
    "ls --unknown",
    "ls --alm",
    // A word that may become an option.
    "sort *",
    "find *",
    "rg *",
    "git diff *",
    "sort $X f",
    "ls $X",
    // What surrounds it.
    "cat < /dev/tcp/localhost/80",
    "cat < /dev/udp/x/53",
    "ls > f",
    "ls >> f",
    "ls <> f",
    "ls > /dev/nullx",
    "ls &",
    "PAGER=evil git log",
    "LD_PRELOAD=x ls",
    "A=1 ls",
    "LC_ALL=../x ls",
    "GIT_SSH_COMMAND=x git log",
    // More than lines and ranges.
    "sed 's/a/b/' f",
    "sed -n 's/a/b/w f' x",
    "sed -n '1w f' x",
    "sed -n '1{e x\n}' f",
    "sed -n 1e f",
    "sed -ni p f",
    "sed -n -i p f",
    "sed -n -f f x",
    "sed -n '/a;w x/p' f",
    "sed p f",
    "sed -n 'r f' x",
    "[ -v 'a[$(x)]' ]",
    "test -v x",
    "[ -f x",
];

#[test]
fn commands_that_only_read_are_let_through() {
    let wrong: Vec<_> = READS.iter().filter(|text| !reads(text)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn everything_else_is_not() {
    let wrong: Vec<_> = NOT.iter().filter(|text| reads(text)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Lines with each option of each program that only reads in front of a file.
fn each_option() -> Vec<String> {
    let mut lines = Vec::new();
    for program in all() {
        let first = match program.read_only {
            ReadOnly::Files | ReadOnly::Objects | ReadOnly::Trees | ReadOnly::AtMost(_) => "",
            ReadOnly::Search(_) => "x ",
            _ => continue,
        };
        for name in program.names() {
            let mut put = |option: &str| lines.push(format!("{name} {option} {first}~/.ssh/id_rsa"));
            put("--");
            for option in program.safe_options() {
                match takes(program, option) {
                    Takes::Value => put(&format!("{option} 1")),
                    Takes::Nothing | Takes::Glued => put(option),
                }
            }
        }
    }
    assert!(lines.len() > 500, "{}", lines.len());
    lines
}

fn takes(program: &Program, option: &str) -> Takes {
    program.options().iter().find(|options| options.is_named(option)).unwrap().takes
}

/// Options that take the place of the pattern, so that no file is behind it.
fn has_no_pattern(line: &str) -> bool {
    [" -e ", " --regexp ", " --files ", " --type-list "].iter().any(|option| line.contains(option))
}

/// Programs that say nothing of what a file holds, only work with its name.
const NAMES_ONLY: &[&str] = &["dirname", "basename", "fd", "fdfind"];

/// git runs what a repository's settings name, so that it only reads where the gate finds these to be the folder itself.
#[test]
fn git_that_is_led_to_a_folder_says_to_which() {
    let folders = |line: &str| -> Vec<String> {
        let commands = analyze(line, &parse(line)).commands;
        let claim = commands.into_iter().next_back().unwrap();
        assert!(!claim.read_only, "{line}");
        claim.read_dirs.into_iter().map(|path| path.as_os_str().to_string_lossy().into_owned()).collect()
    };
    for (line, expected) in [
        ("cd /w && git status", &["/w"][..]),
        ("cd /w && timeout 5 git --no-pager log -3", &["/w"]),
        ("cd sub && git status", &["sub"]),
        ("git -C /w status", &["/w"]),
        ("git -C /w -C sub diff", &["/w/sub"]),
        ("cd /w && git -C /other log", &["/other"]),
        // What more than reads does so anywhere.
        ("cd /w && git commit -m x", &[]),
        ("cd /w && git -c core.fsmonitor=./x status", &[]),
        ("cd /w && git --git-dir=x status", &[]),
        ("cd /w && git status > f", &[]),
        ("cd /w && GIT_DIR=x git status", &[]),
        ("cd /w && git diff --ext-diff", &[]),
        ("cd /w && git status &", &[]),
        // Known only at run time.
        ("cd $X && git status", &[]),
        ("cd /w/* && git status", &[]),
        ("git -C $X status", &[]),
        ("cd /w && ./git status", &[]),
    ] {
        assert_eq!(folders(line), expected, "{line}");
    }
    // Where each way may lead counts.
    let both = folders("cd /w; cd sub; git status");
    assert!(both.contains(&"/w/sub".to_owned()) && both.len() > 1, "{both:?}");
}

#[test]
fn what_is_read_is_claimed_whatever_options_there_are() {
    let claims = |line: &str| {
        let commands = analyze(line, &parse(line));
        let only_reads =
            commands.commands.iter().all(|claim| claim.read_only && claim.not_allowlistable.is_empty());
        let path =
            |claim: &PathClaim| claim.path.as_ref().is_some_and(|path| path.as_os_str() == "~/.ssh/id_rsa");
        !only_reads || commands.paths.iter().any(path)
    };
    let special = [
        "jq .",
        "jq --arg a b .",
        "sed -n 1p",
        "sed -n -e 1p",
        "xxd",
        "xxd -c 8",
        "xxd -ps",
        "find",
        "find -L",
        "cat <",
        "grep x <",
    ];
    let special = special.iter().map(|line| format!("{line} ~/.ssh/id_rsa"));
    let named = |line: &String| {
        NAMES_ONLY.contains(&line.split(' ').next().unwrap_or_default()) || has_no_pattern(line)
    };
    let wrong: Vec<_> =
        each_option().into_iter().chain(special).filter(|line| !named(line) && !claims(line)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Safe options as a reader sees them.
fn shown(program: &Program) -> String {
    let with_value = |option| match takes(program, option) {
        Takes::Nothing => option.to_owned(),
        Takes::Value => format!("{option}="),
        Takes::Glued => format!("{option}[=]"),
    };
    let all: Vec<String> = program.safe_options().map(with_value).collect();
    if all.is_empty() { "none".to_owned() } else { format!("`{}`", all.join(" ")) }
}

fn described() -> String {
    let mut page = String::new();
    let names = |program: &Program| program.names().collect::<Vec<_>>().join(", ");
    for program in all().filter(|program| program.read_only != ReadOnly::No) {
        let options = match program.read_only {
            ReadOnly::Own(_) => "a language of its own, read word by word".to_owned(),
            _ => shown(program),
        };
        let manual = program.manual().map(|manual| format!(" ({manual})")).unwrap_or_default();
        let _ = writeln!(page, "- **{}**{manual}: {options}", names(program));
    }
    let git = find("git").unwrap();
    for command in git.commands().iter().filter(|command| command.read_only != ReadOnly::No) {
        let _ = writeln!(page, "- **git {}**: {}", names(command), shown(command));
    }
    page
}

#[test]
fn the_page_says_what_the_code_does() {
    crate::generated_docs::check("read-only-commands.md", &described());
}
