//! The tour of the README and of `docs/guides/tour.md`: every command of their console blocks is run, and prints what stands
//! there.

use std::fs;
use std::path::Path;
use std::process::Command;

use pinfold_tests::missing::{all_there, left_out};
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Tier, Who};

/// Where the tour begins and where it ends: headings of the README.
const BEGIN: &str = "\n## Sixty seconds\n";
const END: &str = "\n## ";

/// The home of the user of the tour.
pub(super) const HOME: &str = "/home/ana";

/// The state in which the tour begins: a project with a change to commit, a key, rules that are trusted.
pub(super) const BEFORE: &str = r#"
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

/// A command and its output.
struct Step {
    command: String,
    printed: Vec<String>,
}

/// The commands of the console blocks of a text, each with the output that the text has.
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

/// A line without what differs by run or by kernel: the number of a run, the version of Landlock.
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

pub(super) fn shell(bed: &Bed, at: &Path, script: &str) -> Command {
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

/// The text of a page.
fn page(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(file).expect("a page")
}

/// A bed in which the tour can begin, or `None` where this machine cannot take it.
pub(super) fn bed() -> Option<Bed> {
    if !all_there("the tour of the README", &["git", "curl", "jq"]) {
        return None;
    }
    if !Tier::Full.is_possible_for(Who::Ordinary) {
        left_out("the tour of the README", "it is taken on the full tier");
        return None;
    }
    let bed = Bed::new(Who::Ordinary);
    let began = shell(&bed, &bed.home(), BEFORE).output().expect("a shell");
    assert!(began.status.success(), "{}", String::from_utf8_lossy(&began.stdout));
    Some(bed)
}

/// Runs the commands of a text in a bed of its own, and returns those that print something else, with what they print.
fn differences(text: &str) -> Vec<String> {
    let steps = steps(text);
    assert!(steps.len() > 3, "a tour of {} commands", steps.len());
    let Some(bed) = bed() else { return Vec::new() };
    let home = bed.home();
    let (site, home) = (home.join("work/site"), home.to_str().expect("UTF-8"));
    let mut differs = Vec::new();
    for Step { command, printed } in steps {
        let output = shell(&bed, &site, &command.replace(HOME, home)).output().expect("a shell");
        let output = String::from_utf8_lossy(&output.stdout).replace(home, HOME);
        let output: Vec<String> = output.lines().map(plain).collect();
        if output != printed {
            differs.push(format!("$ {command}\n{}\n", output.join("\n")));
        }
    }
    differs
}

#[test]
fn the_tour_of_the_readme_prints_what_the_readme_says() {
    let readme = page("README.md");
    let (_, tour) = readme.split_once(BEGIN).expect("a tour");
    let differs = differences(&tour[..tour.find(END).unwrap_or(tour.len())]);
    assert!(differs.is_empty(), "the README says something else than these print:\n{}", differs.join("\n"));
}

#[test]
fn the_whole_tour_prints_what_its_page_says() {
    let differs = differences(&page("docs/guides/tour.md"));
    assert!(differs.is_empty(), "the page says something else than these print:\n{}", differs.join("\n"));
}
