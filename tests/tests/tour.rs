//! The tour of the README: every command of its console blocks is run, and prints what stands there.

use std::fs;
use std::path::Path;
use std::process::Command;

use pinfold_tests::missing::{all_there, left_out};
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Tier, Who};

/// Where the tour begins and where it ends: headings of the README.
const BEGIN: &str = "\n## Sixty seconds\n";
const END: &str = "\n## ";

/// The home of the person whom the tour is about.
const HOME: &str = "/home/ana";

/// What the tour finds when it begins, besides the product: a project of two commits to be, a key, rules that are trusted.
const BEFORE: &str = r#"
git config --global user.name Ana
git config --global user.email ana@example.com
git config --global init.defaultBranch main
mkdir -p ~/.ssh ~/work/site/.pinfold
(umask 077; echo key > ~/.ssh/id_ed25519)
cd ~/work/site
git init --quiet
cat > .pinfold/settings.json <<'RULES'
{
  "permissions": {
    "allow": ["Bash(git status)", "Bash(npm run *)"]
  }
}
RULES
echo one > index.html
git add .
git commit --quiet --message first
echo two > index.html
pinfold trust --yes > ~/trusted
"#;

/// A command and what it prints.
struct Step {
    command: String,
    printed: Vec<String>,
}

/// The commands of the console blocks of a text, with what is said to come after each.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (inside, line.strip_prefix("$ ")) {
            (false, _) => inside = line == "```console",
            (true, _) if line == "```" => inside = false,
            (true, Some(command)) => steps.push(Step { command: command.to_owned(), printed: Vec::new() }),
            (true, None) => {
                steps.last_mut().expect("a command comes first").printed.push(plain(line));
            }
        }
    }
    steps
}

/// A line without what is another thing each time or on each kernel: the number of a run, the version of Landlock.
fn plain(line: &str) -> String {
    let mut plain = line.to_owned();
    for before in ["run-", "(version "] {
        if let Some((start, rest)) = plain.split_once(before) {
            let after = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            plain = format!("{start}{before}…{after}");
        }
    }
    plain
}

fn shell(bed: &Bed, at: &Path, script: &str) -> Command {
    let programs = pinfold().parent().expect("a directory of programs");
    let mut shell = bed.free("sh");
    let path = shell.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value?.to_owned()));
    let path = format!("{}:{}", programs.display(), path.expect("a path").display());
    // Both into one place, in the order in which a terminal shows them.
    shell.args(["-c", &format!("exec 2>&1\n{script}")]).env("PATH", path).current_dir(at);
    // So that commits have the same names each time.
    for date in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        shell.env(date, "2026-01-01T12:00:00Z");
    }
    shell
}

#[test]
fn the_tour_of_the_readme_prints_what_the_readme_says() {
    let tools = ["git", "curl", "jq"];
    if !all_there("the tour of the README", &tools) {
        return;
    }
    if !Tier::Full.is_possible_for(Who::Ordinary) {
        left_out("the tour of the README", "it is taken on the full tier");
        return;
    }
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(readme).expect("a README");
    let (_, tour) = readme.split_once(BEGIN).expect("a tour");
    let tour = &tour[..tour.find(END).unwrap_or(tour.len())];
    let steps = steps(tour);
    assert!(steps.len() > 10, "a tour of {} commands", steps.len());

    let bed = Bed::new(Who::Ordinary);
    let home = bed.home();
    let site = home.join("work/site");
    let began = shell(&bed, &home, BEFORE).output().expect("a shell");
    assert!(began.status.success(), "{}", String::from_utf8_lossy(&began.stdout));
    let said = home.to_str().expect("a name that can be written");
    let mut differs = Vec::new();
    for Step { command, printed } in steps {
        let output = shell(&bed, &site, &command.replace(HOME, said)).output().expect("a shell");
        let output = String::from_utf8_lossy(&output.stdout).replace(said, HOME);
        let output: Vec<String> = output.lines().map(plain).collect();
        if output != printed {
            differs.push(format!("$ {command}\n{}\n", output.join("\n")));
        }
    }
    assert!(differs.is_empty(), "the README says something else than these print:\n{}", differs.join("\n"));
}
