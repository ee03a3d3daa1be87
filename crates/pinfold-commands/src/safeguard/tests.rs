use std::fmt::Write;

use pinfold_shell::parse;
use proptest::prelude::*;

use super::*;
use crate::analyze;

/// Every hit of a command line.
fn hits_of(text: &str) -> Vec<SafeguardHit> {
    let commands = analyze(text, &parse(text));
    commands.commands.into_iter().flat_map(|claim| claim.safeguards).chain(commands.safeguards).collect()
}

fn ids_of(text: &str) -> Vec<&'static str> {
    hits_of(text).into_iter().map(|hit| hit.id).collect()
}

/// The examples of all safeguards for which the safeguard's own hit is not what it should be.
fn wrong_examples(examples: fn(&Safeguard) -> &'static [&'static str], should_hit: bool) -> Vec<String> {
    ALL.iter()
        .flat_map(|safeguard| examples(safeguard).iter().map(move |text| (safeguard.id, *text, ids_of(text))))
        .filter(|(id, _, ids)| ids.contains(id) != should_hit)
        .map(|(id, text, ids)| format!("{id}: {text:?} gives {ids:?}"))
        .collect()
}

#[test]
fn every_safeguard_hits_what_it_says() {
    assert_eq!(wrong_examples(|safeguard| safeguard.hits, true), [""; 0]);
}

#[test]
fn every_safeguard_lets_pass_what_it_says() {
    assert_eq!(wrong_examples(|safeguard| safeguard.passes, false), [""; 0]);
}

#[test]
fn names_are_unique() {
    let mut ids: Vec<_> = ALL.iter().map(|safeguard| safeguard.id).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
}

#[test]
fn a_value_that_is_known_counts_beside_one_that_is_not() {
    for line in [
        "D=/; read D; rm -rf $D",
        "D=/; D=$(x); rm -rf $D",
        "D=(/ a); rm -rf $D",
        "export D=~; rm -rf $D",
        "D=/; unset D; rm -rf $D",
        "D=/; export \"$x\"; rm -rf $D",
        "builtin export D=/; rm -rf $D",
    ] {
        assert!(ids_of(line).contains(&"root-removal"), "{line}: {:?}", ids_of(line));
    }
}

/// Lines of ordinary work: a false alarm on any of them is a fault.
const EVERYDAY: &[&str] = &[
    "cargo build --release && cargo test -p core -- --nocapture",
    "cargo clippy --all-targets -- -D warnings 2>&1 | tail -20",
    "npm ci && npm run build",
    "npx tsc --noEmit -p .",
    "pnpm install --frozen-lockfile",
    "pip install -e '.[dev]' && pytest -q -k 'not slow'",
    "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt",
    "source .venv/bin/activate",
    "python3 -c 'import json,sys; print(json.load(sys.stdin)[\"a\"])' < f.json",
    "go test ./... -run 'TestA|TestB' -count=1",
    "make -j$(nproc) all",
    "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
    "docker compose up -d && docker compose logs -f web",
    "docker build -t app:dev . && docker run --rm -p 8080:80 app:dev",
    "kubectl get pods -n prod -o wide",
    "terraform plan -out plan.tfplan",
    "git add -A && git commit -m 'fix: handle rm -rf in the parser' && git push",
    "git commit -m \"$(cat <<'EOF'\nfeat: x\n\nbody with `ticks` && $(x)\nEOF\n)\"",
    "git checkout -b feature/x && git push -u origin feature/x",
    "git fetch --all --prune && git rebase origin/main",
    "git stash && git pull --rebase && git stash pop",
    "git restore --staged . && git reset HEAD~1",
    "git log --oneline --graph --all | head -30",
    "git diff main...HEAD --stat",
    "gh pr create --title 'Fix' --body \"$(cat body.md)\"",
    "gh api repos/o/r/pulls --jq '.[].title'",
    "curl -fsS http://localhost:8080/health",
    "curl -sL https://example.com/a.tar.gz -o a.tar.gz && tar xzf a.tar.gz",
    "curl -s https://api.example.com/x -H 'Authorization: Bearer x' | jq -r '.items[] | .name'",
    "curl -X POST -H 'Content-Type: application/json' -d '{\"a\":1}' http://localhost:3000/api",
    "wget -q https://example.com/f.zip && unzip -q f.zip -d out",
    "find . -name '*.rs' -not -path './target/*' | xargs grep -n TODO",
    "find . -type f -name '*.ts' -exec grep -l foo {} +",
    "rg -n 'fn main' --type rust | head",
    "sed -i 's/foo/bar/g' src/*.rs",
    "awk -F, '{print $1}' f.csv | sort | uniq -c | sort -rn",
    "for f in *.md; do wc -l \"$f\"; done",
    "for i in 1 2 3; do curl -s localhost:$i/health && break; sleep 1; done",
    "while IFS= read -r line; do echo \"$line\"; done < list.txt",
    "if [ -f package.json ]; then npm test; else echo none; fi",
    "mkdir -p a/b && cp -r src/. a/b/ && mv a/b/x a/b/y",
    "rm -f build/a.o /tmp/x.log",
    "rm notes.txt && rmdir empty",
    "ln -s ../shared shared",
    "chmod +x scripts/run.sh && ./scripts/run.sh",
    "chmod 644 f && chmod -R u+w dir",
    "tar czf out.tgz --exclude=node_modules .",
    "cat > src/a.rs <<'EOF'\nfn main() { println!(\"rm -rf /\"); }\nEOF",
    "echo 'export PATH=$PATH:~/bin' > env.sh",
    "printf '%s\\n' a b c > list.txt",
    "x=$(git rev-parse --short HEAD); echo \"$x\"",
    "VERSION=1.2.3; echo \"v$VERSION\" && npm version $VERSION",
    "NODE_ENV=test DEBUG='app:*' npm test",
    "ls -la /etc /usr/lib && cat /etc/os-release",
    "ps aux | grep node | grep -v grep",
    "kill 4711; kill %1; wait",
    "lsof -i :3000",
    "df -h && du -sh * | sort -h",
    "ssh host 'ls -la' && scp host:f .",
    "psql -c 'select 1; select 2 where a > b'",
    "sqlite3 x.db '.tables'",
    "redis-cli ping",
    "nohup npm run dev > dev.log 2>&1 &",
    "timeout 60 npm test || true",
    "(cd packages/a && npm test)",
    "cd packages/core && rm -f Cargo.lock && cargo test",
    "node -e 'console.log([1,2].map(x => x > 1 && x))'",
    "\\grep -rn 'a\\b' src",
    "systemctl status nginx --no-pager",
    "date -u +%Y-%m-%dT%H:%M:%SZ",
    "echo \"${BASH_VERSION}\" && echo ${#x} ${x%.rs} ${x:-default} ${x//a/b}",
    "test -n \"$CI\" && echo ci",
    "diff <(sort a) <(sort b)",
    "comm -12 <(sort a.txt) <(sort b.txt) | tee out.txt",
    "jq '.a | select(.b > 1)' f.json > g.json",
    "openssl rand -hex 16",
    "base64 -d <<< 'aGk=' | head -c 10",
    "echo $((1 + 2 * 3)) && let 'x=1+1'",
    "trap 'echo done' EXIT; npm test",
    "set -euo pipefail; npm test",
    "export FOO=bar; env | grep FOO",
    "killall --help",
];

#[test]
fn ordinary_work_is_let_pass() {
    let wrong: Vec<_> =
        EVERYDAY.iter().map(|text| (text, ids_of(text))).filter(|(_, ids)| !ids.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every example that is hit.
fn all_hits() -> Vec<&'static str> {
    ALL.iter().flat_map(|safeguard| safeguard.hits).copied().collect()
}

/// Hits on characters and on length say what is in the text, wherever it stands.
fn is_about_text(id: &str) -> bool {
    matches!(id, "hidden-character" | "too-much")
}

#[test]
fn a_destructive_line_as_an_argument_is_data() {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let around: &[fn(&str) -> String] = &[
        |quoted| format!("echo {quoted}"),
        |quoted| format!("printf %s {quoted}"),
        |quoted| format!("git commit -m {quoted}"),
        |quoted| format!("grep -rn {quoted} src"),
        |quoted| format!("git log --grep={quoted}"),
    ];
    let mut wrong = Vec::new();
    for text in all_hits() {
        for put in around {
            let line = put(&quoted(text));
            wrong.extend(
                ids_of(&line).into_iter().filter(|id| !is_about_text(id)).map(|id| format!("{id}: {line}")),
            );
        }
        let document = format!("cat > notes.md <<'END OF NOTES'\n{text}\nEND OF NOTES");
        wrong.extend(
            ids_of(&document)
                .into_iter()
                .filter(|id| !is_about_text(id))
                .map(|id| format!("{id}: {document}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Words that can stand in front of a plain command without changing what it does.
const LAUNCHERS: &[&str] = &[
    "sudo",
    "env",
    "nohup",
    "timeout 5",
    "nice -n 5",
    "time",
    "command",
    "exec",
    "xargs",
    "doas",
    "setsid",
    "ionice -c3",
    "stdbuf -oL",
];

/// Examples that are one plain command: nothing around it but its words.
fn plain_hits() -> Vec<&'static str> {
    all_hits()
        .into_iter()
        .filter(|text| {
            let script = parse(text);
            let [command] = script.commands.as_slice() else { return false };
            script.opaque.is_empty()
                && command.assignments.is_empty()
                && command.redirects.is_empty()
                && command.words.first().is_some_and(|program| !is_builtin(program))
        })
        .collect()
}

/// Builtins that a launcher, which is a program, does not start.
fn is_builtin(program: &Word) -> bool {
    let builtins = [
        "eval", "enable", "hash", "alias", "export", "declare", "local", "read", "source", ".", "set",
        "printf",
    ];
    program.as_static().is_none_or(|name| {
        builtins.contains(&name) || INDEX.program(name).iter().any(|one| one.id == "zsh-builtin")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_launcher_in_front_takes_no_hit_away(
        text in prop::sample::select(plain_hits()),
        launchers in prop::collection::vec(prop::sample::select(LAUNCHERS), 1..4),
    ) {
        let line = format!("{} {text}", launchers.join(" "));
        let (before, after) = (ids_of(text), ids_of(&line));
        for id in before {
            prop_assert!(after.contains(&id), "{id} is lost by {line:?}: {after:?}");
        }
    }

    #[test]
    fn no_text_makes_it_panic(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let _ = hits_of(&pieces.concat());
    }
}

const PIECES: &[&str] = &[
    "rm", " ", "-rf", "/", "~", "*", "$", "{", "}", "(", ")", "|", "&", ";", "\n", "'", "\"", "\\", "`", "<",
    ">", "<<EOF\n", "$(", "${", "=", "git", "push", "--force", "+x", "[", "]", "?", "echo", "sh", "-c",
    "eval", "alias", "a=", "\u{200b}", "\u{1}", "é", "dd", "of=", "/dev/sda", "/proc/", "environ", "IFS",
    "f()", "{a,b}", "1", ":", "curl", "http://x", "for", "in", "do", "done",
];

/// The cost of each, and that four times as much costs four times as much, is shown by the benchmark `hostile`.
#[test]
fn hostile_lines_come_to_an_end() {
    for (front, piece, back) in [
        ("", "rm -rf a;", ""),
        ("a", "|sh", ""),
        ("cat f", "|python3", ""),
        ("x=1;", "\"$x\" y;", ""),
        ("f(){ \"$@\"; };", "\"$@\" y;", ""),
        ("a=(b);", "\"${a[@]}\";", ""),
        ("for x in ", "a ", "; do rm $x; done"),
        ("x=1; rm ", "$x ", ""),
        ("rm -rf ", "../", ""),
        ("rm -rf ", "*", "b"),
        ("echo ", "> /dev/sda ", ""),
        ("", "f(){ f|f& };", ""),
        ("", "sh -c \"a$(b)\";", ""),
        ("alias ", "a='rm x' ", ""),
        ("echo ", "${!a} ", ""),
    ] {
        let _ = hits_of(&format!("{front}{}{back}", piece.repeat(4_000)));
    }
}

/// The part of the page that is written from the code.
fn described() -> String {
    let mut page = String::from("| safeguard | what it would do | kept by |\n| --- | --- | --- |\n");
    for safeguard in ALL {
        let kept = match safeguard.severity {
            Severity::Medium => "`medium`",
            Severity::High => "`medium`, `high`",
            Severity::Critical => "always",
        };
        let _ = writeln!(
            page,
            "| [`{id}`](#{id}) | {about} | {kept} |",
            id = safeguard.id,
            about = safeguard.about
        );
    }
    for safeguard in ALL {
        let _ = writeln!(page, "\n## {}\n\nIt {}.\n", safeguard.id, safeguard.about);
        let _ = writeln!(
            page,
            "Hits: {}.\n",
            safeguard.hits.iter().map(|text| code(text)).collect::<Vec<_>>().join(" · ")
        );
        let _ = writeln!(
            page,
            "Lets pass: {}.",
            safeguard.passes.iter().map(|text| code(text)).collect::<Vec<_>>().join(" · ")
        );
        if !safeguard.blind.is_empty() {
            let _ = writeln!(page, "\nCannot see: {}.", safeguard.blind);
        }
    }
    page
}

/// A command line as code, on one line and with everything in it visible.
fn code(text: &str) -> String {
    const SHOWN: usize = 100;
    let visible = |c: char| {
        if c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric() {
            c.to_string()
        } else {
            c.escape_default().to_string()
        }
    };
    let cut = if text.chars().count() > SHOWN { "…" } else { "" };
    let shown: String = text.chars().take(SHOWN).map(visible).collect();
    let fence = if shown.contains("``") {
        "```"
    } else if shown.contains('`') {
        "``"
    } else {
        "`"
    };
    let blank = if fence == "`" { "" } else { " " };
    format!("{fence}{blank}{shown}{cut}{blank}{fence}")
}

#[test]
fn the_page_says_what_the_code_does() {
    crate::generated_docs::check("safeguards.md", &described());
}
