//! `pinfold run`: a command in a sandbox.

pub(crate) mod agent;
mod escalation;
mod limits;
mod options;
mod output_limit;
mod own_terminal;
mod port_forward;
mod report;
mod run_record;
mod start;
mod stdin_watchdog;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pinfold::policy::FolderChoice;
use pinfold_boundary::{Boundary, CacheChoice, Egress, EgressOptions, RunListener, RunResult};
use pinfold_sandbox::{End, Temp, Tier};
use pinfold_terminal::PtySession;
use pinfold_tools::SandboxEscalations;

use crate::args::RunArgs;
use crate::env;
use crate::exit::{Failure, NO_SANDBOX, TIMED_OUT, USAGE};
use crate::network;
use crate::output::{visible, warn};
use crate::record;
use agent::AgentAccess;
use escalation::Escalation;
use options::RunOptions;
use output_limit::PrintedOutput;
use report::Report;
use run_record::RunRecord;
use start::{RunStart, StartedRun};

/// Returns the boundary of a run in this folder without options, for questions about it: nothing is started within it, and
/// nothing is made for it.
pub(crate) fn boundary(folder: &Path) -> Result<Boundary, Failure> {
    let RunOptions { request, guards, .. } = options::resolve(&RunArgs::plain(folder))?;
    let mut request =
        request.ok_or_else(|| Failure::new(USAGE, "settings say that nothing is held there"))?;
    request.folder_choice = FolderChoice::only_judged();
    request.temp = Temp::Directory(request.folder.clone());
    request.caches = CacheChoice::None;
    request.cache_home = None;
    request.deny_read = record::place().into_iter().collect();
    Boundary::compile(&request, &guards, Tier::Landlock).map_err(|e| Failure::new(USAGE, e.to_string()))
}

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    options::warn_of_exposure(args);
    let RunOptions { request, guards, escalation_settings } = options::resolve(args)?;
    let mut record = RunRecord::new(args, escalation_settings.limits)?;
    let Some(request) = request else {
        return run_unsandboxed(args, record);
    };
    let agent = AgentAccess::from_request(&request);
    if !args.quiet {
        agent.iter().for_each(AgentAccess::print);
    }
    let report_file = report::file(args, &request)?;
    let escalation = Escalation::new(args, &request, escalation_settings, &record)?;
    let request = escalation.extend(request);
    let asks = escalation.asks_at_terminal(&request);
    let published = port_forward::listen(&args.listen, &request.network)?;
    let nested = env::is_inside_another();
    record.start(args, &request.folder, Some(&request))?;
    // The places of the record are there only now.
    let request = request.and_deny_read(record.place().into_iter().chain(record::create_sibling_dirs()));
    let start = RunStart { args, request: &request, guards: &guards, nested, asks };
    let started = start.start().inspect_err(|_| record.not_started())?;
    let egress = EgressOptions { names: record.refusal_names(), published };
    let ObservedRun { result, too_much_output } = observe(args, started, &escalation, egress)?;
    let limits = limits::met(&args.limits, &result.limits, too_much_output);
    let reached = limits::describe(&limits);
    let message = how_it_ended(&result.ended, reached.as_deref());
    let name = record.end(&result, reached.as_deref());
    let RunResult { tier, watched, ended, tried, left, .. } = result;
    let report = Report::new(name.as_deref(), tier, watched, tried, left);
    report.with_agent(agent).with_limits(limits).write_out(args, report_file);
    message.iter().for_each(warn);
    match ended {
        Ok(End::Code(code)) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))),
        Ok(End::TimedOut) => Ok(ExitCode::from(TIMED_OUT)),
        Err(error) => Err(lost(&error)),
    }
}

/// The result of a run that was observed to its end.
struct ObservedRun {
    result: RunResult,
    too_much_output: bool,
}

/// Connects a started run with this process, and observes it to its end.
fn observe(
    args: &RunArgs,
    started: StartedRun,
    escalation: &Escalation,
    egress: EgressOptions,
) -> Result<ObservedRun, Failure> {
    let StartedRun { mut run, relay, mut terminal } = started;
    if run.lacks_sockets() {
        warn(
            "this machine does not let sockets be reached one by one; none is (Linux 5.19 and pidfd_getfd are needed)",
        );
    }
    if let Some(terminal) = &mut terminal {
        own_terminal::start(terminal, &mut run).map_err(|error| lost(&error))?;
        escalation.ask_on(terminal)?;
    }
    let flowing = match relay {
        Some(relay) => Some(relay.start(&Arc::new(run.remote().map_err(|error| lost(&error))?))),
        None => None,
    };
    if let Some(grace) = args.end_with_input {
        stdin_watchdog::tie(run.remote().map_err(|error| lost(&error))?, grace)
            .map_err(|error| lost(&error))?;
    }
    if run.boundary().hosts().is_some() && run.boundary().reaches_hosts() {
        network::make_room();
    }
    let mut course = RunCourse { flowing, terminal, escalation, too_much_output: false };
    let escalations = SandboxEscalations::observer(Some(escalation.session()));
    let result = run.observe(egress, escalations, &mut course);
    Ok(ObservedRun { result, too_much_output: course.too_much_output })
}

/// The course of a run, for the streams and the terminal that it was given.
struct RunCourse<'a> {
    flowing: Option<PrintedOutput>,
    terminal: Option<PtySession>,
    escalation: &'a Escalation,
    too_much_output: bool,
}

impl RunListener for RunCourse<'_> {
    fn observed(&mut self, egress: Egress) {
        if egress == Egress::Unavailable {
            warn(
                "no host is reached: system calls are not supervised here, or the kernel is older than Linux 5.14",
            );
        }
    }

    fn ended(&mut self) {
        self.too_much_output = self.flowing.take().is_some_and(PrintedOutput::finish);
        // From here on the terminal is ours to write to.
        self.terminal.take().into_iter().for_each(PtySession::finish);
        self.escalation.print_troubles();
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(NO_SANDBOX, format!("lost the sandboxed process; it was killed: {error}"))
}

/// Returns the message about a command that did not end well after a limit was reached.
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

/// Replaces this process by the command: the user said by name that it runs without a sandbox.
fn run_unsandboxed(args: &RunArgs, mut record: RunRecord) -> Result<ExitCode, Failure> {
    warn("the sandbox is off: nothing is held");
    let mut words = args.command.iter();
    let program = words.next().map_or(OsStr::new(""), OsString::as_os_str);
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => env::current_dir()?,
    };
    record.start(args, &folder, None)?;
    let error = std::process::Command::new(program).args(words).current_dir(folder).exec();
    record.not_started();
    let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    Err(Failure::new(code, format!("starting `{}`: {error}", visible(&program.to_string_lossy()))))
}
