//! `pinfold run`: any command inside the line.

pub(crate) mod agent;
mod leash;
mod limits;
mod output;
mod own_terminal;
mod published;
mod questions;
mod recorded;
mod report;
mod wish;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pinfold::policy::{FolderChoice, Guards};
use pinfold_boundary::{Boundary, CacheChoice, Grant, Means, NotStarted, Started, WayOut};
use pinfold_sandbox::{Command, Confined, End, Signalling, StartError, Strength, Temp, Tier};
use pinfold_terminal::PtySession;
use pinfold_tools::Attempts;

use crate::args::Run;
use crate::exit::{Failure, NO_WALLS, TIMED_OUT, USAGE};
use crate::network;
use crate::record;
use crate::say::{visible, warn};
use crate::surroundings;
use output::Relay;
use questions::Questions;
use recorded::{Came, Recorded};
use report::Report;
use wish::Wish;

/// The boundary of a run in this folder without options, for asking alone: nothing is started within it, and nothing is
/// made for it.
pub(crate) fn boundary(folder: &Path) -> Result<Boundary, Failure> {
    let Wish { grant, guards, .. } = wish::wish(&Run::plain(folder))?;
    let grant = grant.ok_or_else(|| Failure::new(USAGE, "settings say that nothing is held there"))?;
    let (temp, caches) = (Temp::Directory(grant.folder.clone()), CacheChoice::None);
    let grant = Grant {
        folder_choice: FolderChoice::only_judged(),
        temp,
        caches,
        cache_home: None,
        deny_read: record::place().into_iter().collect(),
        ..grant
    };
    Boundary::compile(&grant, &guards, Tier::Landlock).map_err(|e| Failure::new(USAGE, e.to_string()))
}

pub(crate) fn run(run: &Run) -> Result<ExitCode, Failure> {
    for door in &run.open {
        warn(wish::warning(*door));
    }
    for socket in &run.allow_socket {
        warn(wish::socket_warning(socket));
    }
    let Wish { grant, guards, judged } = wish::wish(run)?;
    let mut recorded = Recorded::new(run, judged.limits)?;
    let Some(mut grant) = grant else {
        return without_walls(run, recorded);
    };
    let nested = surroundings::is_inside_another();
    if nested {
        // The outer run has made the caches private already, and lets nobody make further ones.
        grant.cache_home = None;
    }
    let given = agent::Given::of(&grant);
    if !run.quiet {
        given.iter().for_each(agent::Given::tell);
    }
    let told_to = report_file(run, &grant)?;
    let questions = Questions::new(run, &grant, judged, &recorded)?;
    grant.negotiable = questions.may_let_processes_out();
    grant.asks_about_hosts = questions.may_let_processes_reach(&grant.network);
    let asks = questions.are_asked(&grant);
    let wanted = if run.landlock_only || nested { "landlock" } else { "full" };
    let published = published::listen(&run.listen, &grant.network)?;
    grant.publishes = !published.is_empty();
    recorded.start(run, &grant.folder, wanted, Some(&grant))?;
    grant.deny_read.extend(recorded.place().into_iter().chain(record::beside()));
    let begun = begin(run, &grant, &guards, nested, asks);
    let Begun { boundary, mut confined, relay, mut beside } = match begun {
        Ok(begun) => begun,
        Err(failure) => {
            recorded.not_started();
            return Err(failure);
        }
    };
    if !boundary.profile().sockets.is_empty() && !confined.reaches_sockets() {
        warn(
            "this machine does not let sockets be reached one by one; none is (Linux 5.19 and pidfd_getfd are needed)",
        );
    }
    let tier = confined.tier();
    let watched = confined.is_watched();
    let lost = |error| Failure::new(NO_WALLS, format!("the run was lost and ended: {error}"));
    if let Some(beside) = &mut beside {
        own_terminal::start(beside, &mut confined).map_err(lost)?;
        if asks {
            questions.at(beside)?;
        }
    }
    let flowing = match relay {
        Some(relay) => Some(relay.start(&Arc::new(confined.remote().map_err(lost)?))),
        None => None,
    };
    if let Some(grace) = run.end_with_input {
        leash::tie(confined.remote().map_err(lost)?, grace).map_err(lost)?;
    }
    let mut attempts = Attempts::new(&boundary, tier, Some(questions.session()));
    let names = recorded.name().map(|run| format!("{run}:n"));
    let means = Means { names, decides: attempts.about_hosts(), published };
    let way_out = way_out(&boundary, &mut confined, means).map_err(lost)?;
    if boundary.reaches_hosts() && boundary.hosts().is_some() && way_out.is_none() {
        warn(
            "no host is reached: nobody watches here, or the kernel hands out no sockets (Linux 5.14 is needed)",
        );
    }
    let ended = confined.supervise(&mut attempts);
    let too_much = flowing.is_some_and(output::Flowing::finish);
    // From here on the terminal is ours to write to.
    beside.into_iter().for_each(PtySession::finish);
    questions.tell_troubles();
    let (mut tried, changed) = attempts.finish();
    let left = boundary.settle(changed.as_ref());
    let closed = way_out.map(|way_out| way_out.close(&mut tried.refused, &mut tried.more));
    let mut hosts = closed.unwrap_or_default();
    hosts.add_refused(&tried.refused);
    let met = limits::met(&run.limits, &tried.limits, ended.as_ref().ok().copied(), too_much);
    let reached = limits::describe(&met);
    let message = how_it_ended(&ended, reached.as_deref());
    let came = Came {
        tier,
        watched,
        refused: &tried.refused,
        more: tried.more,
        left: &left,
        hosts: &hosts,
        limits: reached,
        ended: &ended,
    };
    let name = recorded.end(&came);
    let report = Report::new(name.as_deref(), tier, watched, tried, left).with_agent(given).with_limits(met);
    report.tell(run, told_to);
    message.iter().for_each(warn);
    match ended {
        Ok(End::Code(code)) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))),
        Ok(End::TimedOut) => Ok(ExitCode::from(TIMED_OUT)),
        Err(error) => Err(lost(error)),
    }
}

/// Opens the way to the hosts that may be reached, where some may and others not.
fn way_out(boundary: &Boundary, confined: &mut Confined, means: Means) -> io::Result<Option<WayOut>> {
    if boundary.hosts().is_none() {
        return Ok(None);
    }
    if boundary.reaches_hosts() {
        network::make_room();
    }
    WayOut::open(boundary, confined, means)
}

/// What is said of a command that did not end well after a limit was reached.
fn how_it_ended(ended: &io::Result<End>, reached: Option<&str>) -> Option<String> {
    match ended {
        Ok(End::TimedOut) => {
            Some(format!("timed out; all processes were killed: {}", reached.unwrap_or_default()))
        }
        Ok(End::Code(0)) | Err(_) => None,
        Ok(End::Code(code)) => {
            reached.map(|reached| format!("ended with exit code {code} after a limit was reached: {reached}"))
        }
    }
}

fn report_file(run: &Run, grant: &Grant) -> Result<Option<fs::File>, Failure> {
    let Some(file) = &run.report else { return Ok(None) };
    let folders: Vec<_> =
        [&grant.folder].into_iter().chain(&grant.add).chain(&grant.allow_write).cloned().collect();
    let opened = report::open(&surroundings::current_dir()?.join(file), &folders);
    opened.map(Some).map_err(|e| {
        Failure::new(USAGE, format!("the report cannot be written to `{}`: {e}", file.display()))
            .mend("name a file in an existing directory that you can write")
    })
}

/// Starts in the strongest tier that the person accepts.
fn begin(run: &Run, grant: &Grant, guards: &Guards, nested: bool, asks: bool) -> Result<Begun, Failure> {
    if run.landlock_only && !run.allow_degraded {
        let message = "--landlock-only holds less than the full tier";
        return Err(Failure::new(USAGE, message).mend("say --allow-degraded too if that is meant"));
    }
    if !run.landlock_only && !nested {
        match attempt(run, grant, guards, Tier::Full, asks)? {
            Ok(begun) => return Ok(begun),
            Err(error) if !error.is_machine() => return Err(not_started(&error)),
            Err(error) if !run.allow_degraded => return Err(too_weak(&error)),
            Err(error) => warn(format_args!("this machine cannot hold the full tier ({error})")),
        }
    }
    let begun = attempt(run, grant, guards, Tier::Landlock, asks)?
        .map_err(|e| if nested && e.is_machine() { held_already(&e) } else { not_started(&e) })?;
    if !run.quiet {
        let mediated = begun.boundary.profile().mediated.is_some();
        let gaps = Strength { tier: Tier::Landlock, mediated }.gaps();
        let gaps: String = gaps.map(|gap| format!("\npinfold:   - {gap}")).collect();
        warn(format_args!("held by Landlock and seccomp only. Not held:{gaps}"));
    }
    Ok(begun)
}

/// A run that has started.
struct Begun {
    boundary: Boundary,
    confined: Confined,
    /// Its output, if that is counted.
    relay: Option<Relay>,
    /// Its terminal, if it has one of its own.
    beside: Option<PtySession>,
}

fn attempt(
    run: &Run,
    grant: &Grant,
    guards: &Guards,
    tier: Tier,
    asks: bool,
) -> Result<Result<Begun, StartError>, Failure> {
    let (mut relay, mut beside) = (None, None);
    let prepare = || {
        let mut command = command(run);
        let mut streams = [None, None, None];
        if let Some((opened, own)) = own_terminal::open(run, asks)? {
            command = command.terminal(own.terminal);
            streams = own.streams;
            beside = Some(opened);
        }
        if let Some(limit) = run.limits.max_output {
            let [input, out, error] = streams;
            let (counted, [out, error]) = Relay::new(limit, [out, error])
                .map_err(|e| Failure::new(NO_WALLS, format!("no pipe for the output can be had: {e}")))?;
            streams = [input, Some(out), Some(error)];
            relay = Some(counted);
        }
        Ok(command.stdio(streams))
    };
    match Boundary::start(grant, guards, tier, Signalling::PassOn, prepare) {
        Ok(Started { boundary, confined }) => Ok(Ok(Begun { boundary, confined, relay, beside })),
        Err(NotStarted::Start(error)) => Ok(Err(error)),
        Err(NotStarted::Compile(error)) => {
            Err(Failure::new(USAGE, error.to_string()).mend("check the paths and names given"))
        }
        Err(NotStarted::Command(failure)) => Err(failure),
    }
}

fn not_started(error: &StartError) -> Failure {
    let code = u8::try_from(error.exit_code()).unwrap_or(NO_WALLS);
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

const MORE_FILES: &str = "raise the limit on open files: `ulimit -n` tells it, `ulimit -n 256` sets it";

/// The run around carries file calls out in place of its processes, and would do so across any further boundary.
fn held_already(error: &StartError) -> Failure {
    let message = format!("inside another run no second boundary can be drawn: {error}");
    Failure::new(NO_WALLS, message).mend(
        "run the command without `pinfold run`: the run around holds it already; or start that one with --open landlock",
    )
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
fn without_walls(run: &Run, mut recorded: Recorded) -> Result<ExitCode, Failure> {
    warn("the sandbox is off: nothing is held");
    let mut words = run.command.iter();
    let program = words.next().map_or(OsStr::new(""), OsString::as_os_str);
    let folder = match &run.folder {
        Some(folder) => folder.clone(),
        None => surroundings::current_dir()?,
    };
    recorded.start(run, &folder, "off", None)?;
    let error = std::process::Command::new(program).args(words).current_dir(folder).exec();
    recorded.not_started();
    let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    Err(Failure::new(code, format!("starting `{}`: {error}", visible(&program.to_string_lossy()))))
}
