//! `pinfold run -- AGENT`: what a profile gives, and to whom. A script stands in for each agent, which does what it is
//! told.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use pinfold_testkit::tree::snapshot;
use pinfold_tests::missing::SEARCH_PATH;
use pinfold_tests::output::describe;
use pinfold_tests::{Bed, Tier, Who, each};
use serde_json::Value;

/// A script that runs its first argument.
const AGENT: &str = "#!/bin/sh\nexec sh -c \"$1\"\n";

fn program(at: &Path) {
    fs::create_dir_all(at.parent().expect("a folder")).expect("a directory");
    fs::write(at, AGENT).expect("a script");
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("a mode");
}

fn bed(who: Who) -> Bed {
    let bed = Bed::new(who).with_options(&["--json", "--ask", "nobody"]);
    for name in ["claude", "codex", "other"] {
        program(&bed.outside().join("bin").join(name));
    }
    for (file, content) in [
        (".claude/settings.json", "{\"of\": \"the person\"}\n"),
        (".claude/.credentials.json", "login-of-claude\n"),
        (".claude/history.jsonl", "before\n"),
        (".claude.json", "{\"brought\": 1}\n"),
        (".codex/auth.json", "login-of-codex\n"),
        ("dotfiles/CLAUDE.md", "instructions\n"),
    ] {
        let at = bed.home().join(file);
        fs::create_dir_all(at.parent().expect("a folder")).expect("a directory");
        fs::write(at, content).expect("a file");
    }
    symlink("../dotfiles/CLAUDE.md", bed.home().join(".claude/CLAUDE.md")).expect("a link");
    bed.give();
    bed
}

/// Where that user can have the full tier.
fn with_bed(who: Who, attempt: impl Fn(&Bed)) {
    if Tier::Full.is_possible_for(who) {
        attempt(&bed(who));
    }
}

fn with_programs<'a>(bed: &Bed, command: &'a mut Command) -> &'a mut Command {
    command.env("PATH", format!("{}:{SEARCH_PATH}", bed.outside().join("bin").display()))
}

fn run(bed: &Bed, options: &[&str], agent: &str, script: &str) -> Output {
    let mut command = bed.run(Tier::Full, options);
    with_programs(bed, &mut command)
        .env("ANTHROPIC_API_KEY", "key-of-claude")
        .env("OPENAI_API_KEY", "key-of-codex");
    command.args([agent, script]).output().expect("pinfold can be started")
}

fn report(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().rev().find(|line| line.starts_with('{'));
    line.and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_else(|| panic!("no report: {}", describe(output)))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// What the agent's own configuration is tried with. Each succeeds when nothing holds it.
const TRIED: [&str; 12] = [
    "echo evil > ~/.claude/settings.json",
    "echo evil >> ~/.claude/settings.json",
    "rm -f ~/.claude/settings.json && ! test -e ~/.claude/settings.json",
    "mv ~/.claude/settings.json ~/.claude/old",
    "echo evil > ~/.claude/new && mv ~/.claude/new ~/.claude/settings.json",
    "chmod 777 ~/.claude/settings.json",
    "mkdir -p ~/.claude/hooks && echo evil > ~/.claude/hooks/run.sh",
    "echo evil > ~/.claude/settings.local.json",
    "mkdir -p ~/.claude/agents && mv ~/.claude/agents ~/.claude/away",
    "rm -f ~/.claude/CLAUDE.md && echo evil > ~/.claude/CLAUDE.md",
    "echo evil > ~/.claude/.credentials.json",
    "mv ~/.claude ~/.away",
];

#[each(user)]
fn what_runs_later_is_not_written_and_nothing_reaches_the_state_outside(who: Who) {
    with_bed(who, |bed| {
        let before = snapshot(&bed.home().join(".claude"));
        for script in TRIED {
            let free = self::bed(bed.who());
            let done = free.free("sh").args(["-c", script]).output().expect("a shell");
            assert!(done.status.success(), "free, it works: {script}: {}", describe(&done));
            let held = run(bed, &[], "claude", script);
            assert!(!held.status.success(), "{script}: {}", describe(&held));
        }
        // Neither is it there for the next run, whatever the last ones did.
        let script = "cat ~/.claude/settings.json; ls ~/.claude/hooks; cat ~/.claude/settings.local.json";
        let next = run(bed, &[], "claude", script);
        assert_eq!(said(&next), "{\"of\": \"the person\"}\n{}", "{}", describe(&next));
        assert_eq!(snapshot(&bed.home().join(".claude")), before);
    });
}

#[each(user)]
fn an_agent_keeps_its_state_from_run_to_run(who: Who) {
    with_bed(who, |bed| {
        let first =
            "echo inside >> ~/.claude/history.jsonl; mkdir -p ~/.claude/projects/x; echo $CLAUDE_CONFIG_DIR";
        let first = run(bed, &[], "claude", first);
        assert_eq!(said(&first), bed.home().join(".claude").display().to_string(), "{}", describe(&first));
        let next = run(
            bed,
            &[],
            "claude",
            "cat ~/.claude/history.jsonl; ls ~/.claude/projects; cat ~/.claude/.claude.json",
        );
        assert_eq!(said(&next), "before\ninside\nx\n{\"brought\": 1}", "{}", describe(&next));
        assert_eq!(fs::read_to_string(bed.home().join(".claude/history.jsonl")).expect("it"), "before\n");
        // In a run that writes nothing too; and elsewhere there is nothing of it.
        let read_only = run(bed, &["--read-only"], "claude", "echo more >> ~/.claude/history.jsonl");
        assert!(read_only.status.success(), "{}", describe(&read_only));
        let everywhere =
            run(bed, &["--sandbox", "default-write"], "claude", "echo more >> ~/.claude/history.jsonl");
        assert!(everywhere.status.success(), "{}", describe(&everywhere));
        let outside = bed.outside().display().to_string();
        let elsewhere = run(
            bed,
            &["--folder", &outside, "--allow-home", "--agent", "claude"],
            "claude",
            "cat ~/.claude/history.jsonl",
        );
        assert_eq!(said(&elsewhere), "before", "{}", describe(&elsewhere));
        assert_eq!(fs::read_to_string(bed.home().join(".claude/history.jsonl")).expect("it"), "before\n");
    });
}

#[each(user)]
fn logins_and_keys_are_for_the_agent_that_they_belong_to(who: Who) {
    with_bed(who, |bed| {
        let look =
            "cat ~/.claude/.credentials.json ~/.codex/auth.json; echo $ANTHROPIC_API_KEY$OPENAI_API_KEY";
        for (options, program, expected) in [
            (&[][..], "claude", "login-of-claude\nkey-of-claude"),
            (&[], "codex", "login-of-codex\nkey-of-codex"),
            (&[], "other", ""),
            (&["--agent", "none"], "claude", ""),
            (&["--agent", "codex"], "other", "login-of-codex\nkey-of-codex"),
            (&["--unset-env", "ANTHROPIC_API_KEY"], "claude", "login-of-claude"),
        ] {
            let output = run(bed, options, program, look);
            assert_eq!(said(&output), expected, "{options:?} {program}: {}", describe(&output));
        }
    });
}

#[each(user)]
fn what_is_given_is_told_and_settings_have_the_last_word_about_hosts(who: Who) {
    with_bed(who, |bed| {
        let output = run(bed, &[], "claude", "true");
        let given = &report(&output)["agent"];
        assert_eq!(given["name"], "claude", "{}", describe(&output));
        assert_eq!(given["hosts"], serde_json::json!(["api.anthropic.com"]));
        assert_eq!(given["keys"], serde_json::json!(["ANTHROPIC_API_KEY"]));
        let line = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
        for word in
            ["the agent claude", ".claude", ".credentials.json", "ANTHROPIC_API_KEY", "api.anthropic.com"]
        {
            assert!(line.contains(word), "{word}: {line}");
        }
        assert!(report(&run(bed, &[], "other", "true"))["agent"].is_null());
        let settings = bed.home().join(".config/pinfold/settings.json");
        fs::create_dir_all(settings.parent().expect("a folder")).expect("a directory");
        for (said, options, hosts) in [
            ("{\"network\": {\"deny\": [\"api.anthropic.com\"]}}", &[][..], 0),
            ("{\"sandbox\": {\"network\": \"off\"}}", &[], 0),
            ("{}", &["--network", "off"], 0),
            ("{}", &[], 1),
        ] {
            fs::write(&settings, said).expect("settings");
            bed.give();
            let output = run(bed, options, "claude", "true");
            let given = &report(&output)["agent"]["hosts"];
            assert_eq!(given.as_array().map(Vec::len), Some(hosts), "{said}: {}", describe(&output));
        }
    });
}

#[each(user)]
fn a_program_that_a_run_could_have_written_is_no_agent_by_its_name(who: Who) {
    with_bed(who, |bed| {
        let folder = bed.folder();
        program(&folder.join("claude"));
        program(&folder.join("bin/claude"));
        symlink(folder.join("claude"), bed.outside().join("bin/linked")).expect("a link");
        fs::rename(bed.outside().join("bin/claude"), bed.outside().join("bin/away")).expect("moved");
        fs::rename(bed.outside().join("bin/linked"), bed.outside().join("bin/claude")).expect("moved");
        bed.give();
        let (granted, inside) = (folder.display().to_string(), folder.join("claude").display().to_string());
        let cases = [
            ("./claude", SEARCH_PATH.to_owned()),
            (inside.as_str(), SEARCH_PATH.to_owned()),
            ("claude", format!("{}:{SEARCH_PATH}", folder.join("bin").display())),
            ("claude", format!("bin:{SEARCH_PATH}")),
            // A link outside that leads in.
            ("claude", format!("{}:{SEARCH_PATH}", bed.outside().join("bin").display())),
        ];
        for (word, path) in cases {
            // A folder with programs of the PATH is granted to a person who says so twice.
            let mut command = bed.run(Tier::Full, &["--folder", &granted, "--allow-home"]);
            let output = command.env("PATH", &path).args([word, "cat ~/.claude/.credentials.json"]).output();
            let output = output.expect("pinfold can be started");
            assert!(
                report(&output)["agent"].is_null() && said(&output).is_empty(),
                "{word} {path}: {}",
                describe(&output)
            );
            assert!(String::from_utf8_lossy(&output.stderr).contains("is not taken for the agent claude"));
        }
        // Somebody who says so means it.
        let named = run(bed, &["--agent", "claude"], "./claude", "cat ~/.claude/.credentials.json");
        assert_eq!(said(&named), "login-of-claude", "{}", describe(&named));
        // Nor one in another place that can be written.
        let bin = bed.outside().join("bin").display().to_string();
        let other = run(
            bed,
            &["--folder", &granted, "--allow-home", "--add-dir", &bin],
            "codex",
            "cat ~/.codex/auth.json",
        );
        assert_eq!(said(&other), "", "{}", describe(&other));
    });
}

#[each(user)]
fn where_no_layer_can_be_had_the_state_stays_as_it_is_and_it_is_said(who: Who) {
    let bed = bed(who);
    let mut command = bed.run(Tier::LandlockOnly, &[]);
    let script = "echo x > ~/.claude/history.jsonl";
    let output = with_programs(&bed, &mut command).args(["claude", script]).output().expect("pinfold");
    assert!(!output.status.success(), "{}", describe(&output));
    let notes = report(&output)["notes"].to_string();
    assert!(notes.contains("claude cannot write its state"), "{notes}");
}

#[each(user)]
fn what_goes_through_a_descriptor_of_its_own_is_told_as_what_it_is(who: Who) {
    with_bed(who, |bed| {
        let script = "exec 5<. && mkdir /proc/self/fd/5/made && echo hi > /proc/self/fd/5/made/file";
        let output = run(bed, &[], "other", script);
        assert!(output.status.success() && bed.folder().join("made/file").is_file(), "{}", describe(&output));
        assert_eq!(report(&output)["refused"], serde_json::json!([]), "{}", describe(&output));
        let outside = bed.outside();
        let script = format!("exec 5<'{}' && mkdir /proc/self/fd/5/made", outside.display());
        let output = run(bed, &[], "other", &script);
        assert!(!output.status.success() && !outside.join("made").exists(), "{}", describe(&output));
        assert_eq!(report(&output)["refused"][0]["place"], outside.join("made").display().to_string());
    });
}
