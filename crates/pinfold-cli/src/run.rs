//! `pinfold run`: any command inside the line.

mod report;
mod wish;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use pinfold::policy::Guards;
use pinfold_boundary::{Boundary, Grant, Witness};
use pinfold_sandbox::{Command, Confined, End, Signalling, StartError, Tier, start};

use crate::args::{Run, Sandbox};
use crate::exit::{Failure, NO_WALLS, TIMED_OUT, USAGE};
use crate::say::warn;
use crate::surroundings;
use report::Report;

pub(crate) fn run(run: &Run) -> Result<ExitCode, Failure> {
    for door in &run.open {
        warn(wish::warning(*door));
    }
    if run.sandbox == Sandbox::Off {
        return without_walls(run);
    }
    let private = surroundings::private_directory().map_err(|e| {
        Failure::new(NO_WALLS, format!("no private directory can be made: {e}"))
            .mend("set XDG_RUNTIME_DIR or TMPDIR to a directory that you can write")
    })?;
    let grant = wish::grant(run, private.path())?;
    let (boundary, confined) = begin(run, &grant)?;
    let tier = confined.tier();
    let watched = confined.is_watched();
    let mut witness = Witness::new(&boundary, tier);
    let ended = confined.supervise(&mut witness);
    Report::new(tier, watched, witness, boundary.settle()).tell(run, &ended);
    match ended {
        Ok(End::Code(code)) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))),
        Ok(End::TimedOut) => {
            warn("the time was over; everything was ended");
            Ok(ExitCode::from(TIMED_OUT))
        }
        Err(error) => Err(Failure::new(NO_WALLS, format!("the run was lost and ended: {error}"))),
    }
}

/// Starts in the strongest tier that the person accepts.
fn begin(run: &Run, grant: &Grant) -> Result<(Boundary, Confined), Failure> {
    let guards = Guards::default();
    let attempt = |tier| -> Result<(Boundary, Result<Confined, StartError>), Failure> {
        let boundary = Boundary::compile(grant, &guards, tier)
            .map_err(|e| Failure::new(USAGE, e.to_string()).mend("check the paths and names given"))?;
        let confined = start(boundary.profile(), command(run), tier, Signalling::PassOn, true);
        Ok((boundary, confined))
    };
    if !run.landlock_only {
        match attempt(Tier::Full)? {
            (boundary, Ok(confined)) => return Ok((boundary, confined)),
            (_, Err(error)) if !error.is_machine() => return Err(not_started(&error)),
            (_, Err(error)) if !run.allow_degraded && !is_inside_another() => return Err(too_weak(&error)),
            (_, Err(error)) => warn(format_args!("this machine cannot hold the full tier ({error})")),
        }
    } else if !run.allow_degraded {
        let message = "--landlock-only holds less than the full tier";
        return Err(Failure::new(USAGE, message).mend("say --allow-degraded too if that is meant"));
    }
    let (boundary, confined) = attempt(Tier::Landlock)?;
    let confined = confined.map_err(|e| not_started(&e))?;
    if !run.quiet {
        warn("held by Landlock and seccomp only. Not held:");
        Tier::Landlock.gaps().iter().for_each(|gap| warn(format_args!("  - {gap}")));
    }
    Ok((boundary, confined))
}

/// Whether this process already runs within a boundary that it cannot shed: then the outer one holds what the
/// inner cannot, and less is not a surprise.
fn is_inside_another() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let has =
        |line: &str| status.lines().any(|l| l.split_ascii_whitespace().collect::<Vec<_>>().join(" ") == line);
    std::env::var_os(pinfold_boundary::MARKER).is_some() && has("NoNewPrivs: 1") && has("Seccomp: 2")
}

fn not_started(error: &StartError) -> Failure {
    let code = u8::try_from(error.exit_code()).unwrap_or(NO_WALLS);
    let failure = Failure::new(code, error.to_string());
    match code {
        127 => failure.mend("is it installed, and on the PATH?"),
        126 => failure.mend("is it a program, and executable?"),
        _ => failure.mend("`pinfold doctor` says what this machine can hold"),
    }
}

fn too_weak(error: &StartError) -> Failure {
    Failure::new(NO_WALLS, format!("this machine cannot hold the full tier: {error}")).mend(
        "`pinfold doctor` says why; --allow-degraded starts with what can be held, and says what is not",
    )
}

fn command(run: &Run) -> Command {
    let mut words = run.command.iter().cloned();
    Command::new(words.next().unwrap_or_default()).args(words)
}

/// The person said so by name: nothing is held.
fn without_walls(run: &Run) -> Result<ExitCode, Failure> {
    warn("--sandbox off: nothing is held");
    let mut words = run.command.iter();
    let program = words.next().map_or(OsStr::new(""), OsString::as_os_str);
    let folder = match &run.folder {
        Some(folder) => folder.clone(),
        None => surroundings::current_dir()?,
    };
    let error = std::process::Command::new(program).args(words).current_dir(folder).exec();
    let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
    Err(Failure::new(code, format!("starting `{}`: {error}", program.display())))
}
