//! Folders and values beside a real bash: wherever a command of a random script is run, and whatever a variable in its words holds,
//! that is among what is claimed for it, or the claim says that it is not known.

#![expect(clippy::panic, reason = "a test that cannot go on fails")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinfold_commands::{BaseDirectory, CommandEffects, Origin, analyze};
use pinfold_shell::{Part, Script};
use pinfold_testkit::scripts::{READS, ScriptBed, resolve, runner, script};
use proptest::test_runner::TestCaseError;

/// The place that a claim means by a path.
fn place(bed: &ScriptBed, path: &str) -> PathBuf {
    match path.strip_prefix('~') {
        Some(below) => bed.home().join(below.trim_start_matches('/')),
        None => bed.start().join(path),
    }
}

/// Returns whether a claimed folder is this one, or may be any.
fn is_claimed(bed: &ScriptBed, claimed: &BaseDirectory, real: &Path) -> bool {
    let path = match claimed {
        BaseDirectory::Call => bed.start(),
        BaseDirectory::At(path) => place(bed, path),
        BaseDirectory::Named(_) | BaseDirectory::Unknown => return true,
    };
    path.canonicalize().is_ok_and(|path| path == real)
}

/// The folders that are claimed for each `p`, by its number.
fn claimed_folders(script: &Script, effects: &CommandEffects) -> BTreeMap<String, Vec<BaseDirectory>> {
    let probes = script.commands.iter().zip(&effects.commands).filter_map(|(command, claim)| {
        let [program, number, ..] = command.words.as_slice() else { return None };
        let number = number.as_static().filter(|_| program.as_static() == Some("p"))?;
        let folders = claim.folders.stands_in.iter().map(|folder| folder.now().clone());
        Some((number.to_owned(), folders.collect()))
    });
    probes.collect()
}

/// The paths that are claimed for each `cat`, by the number that its file is named by; `None` where it may read any file.
fn claimed_paths(script: &Script, effects: &CommandEffects) -> BTreeMap<String, Option<Vec<String>>> {
    let probes =
        script.commands.iter().zip(&effects.commands).enumerate().filter_map(|(at, (command, claim))| {
            let [program, file] = command.words.as_slice() else { return None };
            let Some(Part::Literal(end)) = file.parts.last().filter(|_| program.as_static() == Some("cat"))
            else {
                return None;
            };
            let number = end.rsplit('/').next()?.to_owned();
            let own = effects.paths.iter().filter(|claim| claim.origin == Origin::Command(at));
            let paths = own.filter_map(|claim| {
                claim.path.as_ref().and_then(|path| path.as_os_str().to_str().map(str::to_owned))
            });
            let is_known = claim.not_allowlistable.is_empty() && !claim.may_name_any_file;
            Some((number, is_known.then(|| paths.collect())))
        });
    probes.collect()
}

/// Runs random scripts and compares each probe that was run. Returns an error where a claim misses one.
fn compare(
    probes: &'static [&str],
    check: impl Fn(&ScriptBed, &Script, &CommandEffects, &[(String, PathBuf)]) -> Result<usize, String>,
) {
    let (bed, known) = (ScriptBed::new(), Cell::new(0));
    let (mut runner, cases) = runner();
    let result = runner.run(&script(probes), |text| {
        let script = pinfold_shell::parse(&text);
        if script.opaque.is_empty() {
            let checked = check(&bed, &script, &analyze(&text, &script), &bed.run(&text));
            known.set(known.get() + checked.map_err(|why| TestCaseError::fail(format!("{text}\n{why}")))?);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(known.get() > cases / 10, "only {} probes say something", known.get());
}

#[test]
fn a_command_is_claimed_in_the_folder_that_it_runs_in() {
    compare(&["p @"], |bed, script, effects, ran| {
        let claimed = claimed_folders(script, effects);
        let mut known = 0;
        for (number, real) in ran {
            // Where the program is a variable that holds `p`, there is no claim to compare.
            let Some(folders) = claimed.get(number) else { continue };
            if !folders.iter().any(|folder| is_claimed(bed, folder, real)) {
                return Err(format!("p {number} ran in {} and not in {folders:?}", real.display()));
            }
            known += 1;
        }
        Ok(known)
    });
}

#[test]
fn a_file_is_claimed_by_every_value_that_a_variable_in_its_name_may_have() {
    compare(READS, |bed, script, effects, ran| {
        let claimed = claimed_paths(script, effects);
        let mut known = 0;
        for (file, folder) in ran {
            let number = file.rsplit('/').next().unwrap_or_default();
            let Some(Some(paths)) = claimed.get(number) else { continue };
            let real = resolve(&folder.join(file));
            if !paths.iter().any(|path| resolve(&place(bed, path)) == real) {
                return Err(format!("{file} was read in {} and not {paths:?}", folder.display()));
            }
            known += 1;
        }
        Ok(known)
    });
}
