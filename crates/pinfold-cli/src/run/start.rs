//! The start of a run: in the strongest tier that the user accepts, with the streams that it needs.

use pinfold::policy::Guards;
use pinfold_boundary::{NotStarted, SandboxRequest};
use pinfold_sandbox::{Command, Signalling, StartError, Strength, Tier};
use pinfold_terminal::PtySession;

use super::output_limit::Relay;
use super::own_terminal;
use crate::args::RunArgs;
use crate::exit::{Failure, NO_SANDBOX, USAGE};
use crate::output::{visible, warn};

/// A run that has started.
pub(super) struct StartedRun {
    pub(super) run: pinfold_boundary::Run,
    /// Its output, if that is counted.
    pub(super) relay: Option<Relay>,
    /// Its terminal, if it has one of its own.
    pub(super) terminal: Option<PtySession>,
}

/// Circumstances of the start of a run.
#[derive(Clone, Copy)]
pub(super) struct RunStart<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) request: &'a SandboxRequest,
    pub(super) guards: &'a Guards,
    /// Set inside another run.
    pub(super) nested: bool,
    /// An approver is asked at the terminal.
    pub(super) asks: bool,
}

impl RunStart<'_> {
    /// Starts in the strongest tier that the user accepts.
    pub(super) fn start(self) -> Result<StartedRun, Failure> {
        let Self { args, nested, .. } = self;
        if args.landlock_only && !args.allow_degraded {
            let message = "--landlock-only holds less than the full tier";
            return Err(Failure::new(USAGE, message).mend("say --allow-degraded too if that is meant"));
        }
        if !args.landlock_only && !nested {
            match self.attempt(Tier::Full)? {
                Ok(started) => return Ok(started),
                Err(error) if !error.is_machine() => return Err(not_started(&error)),
                Err(error) if !args.allow_degraded => return Err(too_weak(&error)),
                Err(error) => warn(format_args!("this machine cannot hold the full tier ({error})")),
            }
        }
        let started = self
            .attempt(Tier::Landlock)?
            .map_err(|e| if nested && e.is_machine() { held_already(&e) } else { not_started(&e) })?;
        if !args.quiet {
            warn_of_gaps(&started);
        }
        Ok(started)
    }

    fn attempt(self, tier: Tier) -> Result<Result<StartedRun, StartError>, Failure> {
        let Self { args, request, guards, asks, .. } = self;
        let (mut relay, mut terminal) = (None, None);
        let prepare = || {
            let mut command = command(args);
            let mut streams = [None, None, None];
            if let Some((opened, own)) = own_terminal::open(args, asks)? {
                command = command.terminal(own.terminal);
                streams = own.streams;
                terminal = Some(opened);
            }
            if let Some(limit) = args.limits.max_output {
                let [input, out, error] = streams;
                let (counted, [out, error]) = Relay::new(limit, [out, error]).map_err(|e| {
                    Failure::new(NO_SANDBOX, format!("cannot make a pipe for the output: {e}"))
                })?;
                streams = [input, Some(out), Some(error)];
                relay = Some(counted);
            }
            Ok(command.stdio(streams))
        };
        match pinfold_boundary::Run::start(request, guards, tier, Signalling::PassOn, prepare) {
            Ok(run) => Ok(Ok(StartedRun { run, relay, terminal })),
            Err(NotStarted::Start(error)) => Ok(Err(error)),
            Err(NotStarted::Compile(error)) => {
                Err(Failure::new(USAGE, error.to_string()).mend("check the paths and names given"))
            }
            Err(NotStarted::Command(failure)) => Err(failure),
        }
    }
}

fn warn_of_gaps(started: &StartedRun) {
    let mediated = started.run.boundary().profile().mediated.is_some();
    let gaps = Strength { tier: Tier::Landlock, mediated }.gaps();
    let gaps: String = gaps.map(|gap| format!("\n- {gap}")).collect();
    warn(format_args!("held by Landlock and seccomp only. Not held:{gaps}"));
}

fn not_started(error: &StartError) -> Failure {
    let code = u8::try_from(error.exit_code()).unwrap_or(NO_SANDBOX);
    // The name of the command is not ours.
    let failure = Failure::new(code, visible(&error.to_string()));
    if error.is_out_of_files() {
        return failure.mend(MORE_FILES);
    }
    if error.is_about_streams() {
        return failure;
    }
    match code {
        127 => failure.mend("is it installed, and on the PATH?"),
        126 => failure.mend("is it a program, and executable?"),
        _ => failure.mend("`pinfold doctor` says what this machine can hold"),
    }
}

pub(super) const MORE_FILES: &str =
    "raise the limit on open files: `ulimit -n` tells it, `ulimit -n 256` sets it";

/// The run around carries file calls out in place of its processes, and would do so across any further boundary.
fn held_already(error: &StartError) -> Failure {
    let message = format!("inside another run no second boundary can be drawn: {error}");
    Failure::new(NO_SANDBOX, message).mend(
        "run the command without `pinfold run`: the run around holds it already; or start that one with --allow-feature landlock",
    )
}

fn too_weak(error: &StartError) -> Failure {
    Failure::new(NO_SANDBOX, format!("this machine cannot hold the full tier: {error}")).mend(
        "`pinfold doctor` says why; --allow-degraded starts with what can be held, and says what is not",
    )
}

fn command(run: &RunArgs) -> Command {
    let mut words = run.command.iter().cloned();
    Command::new(words.next().unwrap_or_default()).args(words)
}
