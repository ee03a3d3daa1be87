//! `pinfold call`: one tool call, or one per line, down the whole street.

use std::io::{self, BufRead};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use pinfold::audit::{Discard, Journal, Limits};
use pinfold::policy::merge::Merged;
use pinfold::policy::settings::Flags;
use pinfold::policy::{Access, BashMode, Interaction, Mode, Policy, Scope};
use pinfold::settings::{Locations, NotApplied, Situation, Watched};
use pinfold::{Ambient, Plan, RawCall, Session};
use pinfold_boundary::{Boundary, CacheChoice, EnvironmentWish, Grant, Network, SandboxMode};
use pinfold_sandbox::{Temp, Tier};
use pinfold_terminal::Alone;
use pinfold_tools::{Ended, Reply, Shells, Surroundings};
use serde::Deserialize;
use serde_json::Value;

use crate::args::Call;
use crate::asking::{self, Asker, Reach, Tell};
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::hooks::{self, Attended};
use crate::network;
use crate::record;
use crate::say;
use crate::settings;
use crate::surroundings;

pub(crate) fn call(wanted: &Call) -> Result<ExitCode, Failure> {
    if wanted.lines {
        return lines(wanted);
    }
    let (Some(tool), Some(input)) = (&wanted.tool, &wanted.input) else {
        return Err(Failure::new(USAGE, "a call needs a tool and its input").mend("see `pinfold tools`"));
    };
    let text = match input.as_str() {
        "-" => say::standard_input()?,
        text => text.to_owned(),
    };
    let input: Value = serde_json::from_str(&text).map_err(|e| {
        Failure::new(USAGE, format!("the input of {tool} is not JSON: {e}"))
            .mend("quote it for the shell: pinfold call Read '{\"file_path\":\"a.txt\"}'")
    })?;
    let mut attended = Attended::begin(session(wanted)?);
    let reply = attended.call(&RawCall::new(tool, input));
    print(&reply)?;
    Ok(ExitCode::from(code(reply.ended)))
}

/// One call of a stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tool: String,
    input: Value,
}

/// Calls of one session, so that a file that was read can be edited. The worst end is the exit code. Rules and modes
/// follow their files from call to call; the walls stay as they were drawn.
fn lines(wanted: &Call) -> Result<ExitCode, Failure> {
    let mut attended = Attended::begin(session(wanted)?);
    let settings = followed(wanted)?;
    let mut worst = DONE;
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|e| Failure::new(USAGE, format!("standard input: {e}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let call: Line = serde_json::from_str(&line).map_err(|e| {
            Failure::new(USAGE, format!("a line is not a call: {e}"))
                .mend("write {\"tool\":\"Read\",\"input\":{\"file_path\":\"a.txt\"}}, one per line")
        })?;
        attended.session().set_policy(policy_now(&settings));
        let reply = attended.call(&RawCall::new(&call.tool, call.input));
        print(&reply)?;
        worst = worst.max(code(reply.ended));
    }
    Ok(ExitCode::from(worst))
}

/// What holds for the next call. While a file cannot be read nobody has granted the folder: what it would have said is
/// not known, and a session would not start with it.
fn policy_now(settings: &Watched<Policy>) -> Arc<Policy> {
    let mut policy = settings.now();
    if settings.trouble().is_some() {
        let closed = Arc::make_mut(&mut policy);
        closed.mode = closed.mode.clamped_to(Mode::Default);
        closed.bash = BashMode::Ask;
    }
    policy
}

/// What the session judges by, made anew when a settings file changes.
fn followed(wanted: &Call) -> Result<Watched<Policy>, Failure> {
    let Said { plan, locations, flags, situation } = said(wanted)?;
    let make = move |merged: &Merged| match applied(plan.clone(), merged, &situation) {
        Ok(plan) => plan.policy,
        // What cannot be carried out any more denies, and says so.
        Err(failure) => {
            let mut nothing = Policy::default();
            nothing.unread.push(failure.to_string());
            nothing
        }
    };
    Watched::start(Ambient::claim(), locations, flags, make)
        .map_err(|e| Failure::new(USAGE, format!("settings cannot be used\n{e}")))
}

fn session(wanted: &Call) -> Result<Session, Failure> {
    let Settled { plan, limits, asker, without, network } = with_settings(wanted)?;
    // Open before the walls are drawn, so that it is there to be guarded.
    let journal = journal(wanted, limits)?;
    let plan = Plan { guards: record::guarded(plan.guards.clone()), ..plan };
    let mut plan = pinfold_tools::within(plan.clone(), &boundary(&plan)?);
    if plan.scope.allow_bash {
        plan.shells = Some(Arc::new(shells(&plan, wanted.allow_degraded, without, network)?));
    }
    let session = Session::open(&Ambient::claim(), plan, journal)
        .map_err(|e| Failure::new(USAGE, e.to_string()).mend("name an existing folder"))?;
    if let Some(asker) = asker {
        asker.know(&session, following(wanted.clone()));
    }
    Ok(session)
}

/// Has a session judge by its settings as they are now; those that cannot be followed stay as they were.
fn following(wanted: Call) -> impl Fn(&Session) + Send + Sync {
    let watched = OnceLock::new();
    move |session| {
        if let Some(watched) = watched.get_or_init(|| followed(&wanted).ok()) {
            session.set_policy(policy_now(watched));
        }
    }
}

/// The plan that the flags make, and where the settings are that complete it.
struct Said {
    plan: Plan,
    locations: Locations,
    flags: Flags,
    situation: Situation,
}

fn said(wanted: &Call) -> Result<Said, Failure> {
    let here = surroundings::current_dir()?;
    let folder = wanted.folder.as_ref().map_or_else(|| here.clone(), |f| here.join(f));
    let plan = Plan {
        id: record::session("call")?,
        scope: Scope {
            root: folder.clone(),
            display_root: folder,
            enforce_write: false,
            allow_bash: wanted.allow_bash,
        },
        home: surroundings::home(),
        access: if wanted.read_only { Access::ReadOnly } else { Access::ReadWrite },
        interaction: Interaction::Interactive,
        ..Plan::for_folder(&here)
    };
    let add_dir: Vec<_> = wanted.add_dir.iter().map(|dir| here.join(dir)).collect();
    let mut flags = wanted.settings.flags(&add_dir, wanted.allow_bash);
    flags.allow_host.clone_from(&wanted.allow_host);
    let locations = match (wanted.no_settings, &wanted.folder) {
        (true, _) => Locations { home: plan.home.clone(), ..Locations::default() },
        (false, folder) => settings::locations(folder.as_deref())?,
    };
    let situation = Situation {
        project: locations.project.clone().unwrap_or_else(|| plan.scope.display_root.clone()),
        cwd: None,
        variables: surroundings::variables(),
        profile: settings::profile(wanted.settings.profile.as_deref())?,
    };
    Ok(Said { plan, locations, flags, situation })
}

/// Who is asked: whoever sits at this terminal, or is reached elsewhere.
fn asking(
    wanted: &Call,
    name: &str,
    locations: &Locations,
    merged: &Merged,
) -> Result<Option<Asker>, Failure> {
    let reach = Reach {
        settings: &merged.approvals,
        name,
        rules_to: merged.managed_rules_only.is_none().then(|| locations.clone()),
    };
    let asker = Asker::new(&wanted.asking, reach)?;
    if let Some(asker) = asker.as_ref().filter(|asker| asker.is_at_terminal()) {
        asker.at(Alone::open, Tell::AtOnce)?;
    }
    Ok(asker)
}

/// What flags and settings come to.
struct Settled {
    plan: Plan,
    limits: Limits,
    asker: Option<Asker>,
    /// What no command gets of the environment.
    without: Option<EnvironmentWish>,
    /// What shells can reach.
    network: Network,
}

fn with_settings(wanted: &Call) -> Result<Settled, Failure> {
    let Said { plan, locations, flags, situation } = said(wanted)?;
    let merged = settings::loaded(&locations, &flags)?.merged;
    let asker = asking(wanted, &plan.id, &locations, &merged)?;
    let plan = Plan { asking: asker.as_ref().map(Asker::asking), ..plan };
    let plan = applied(plan, &merged, &situation).map_err(|e| Failure::new(USAGE, e.to_string()))?;
    let hooks = hooks::of_settings(&merged, &plan, &situation)?;
    let network = network::of_shells(&merged)?;
    let allow_bash = merged.allow_bash.is_some_and(|allowed| allowed.value);
    let plan = Plan { hooks, scope: Scope { allow_bash, ..plan.scope }, ..plan };
    let without = asking::own_secret(&merged.approvals);
    Ok(Settled { plan, limits: Limits::from(&merged.record), asker, without, network })
}

/// Whoever calls a tool by hand gives it the folder; what settings and flags say beyond that holds.
fn applied(plan: Plan, merged: &Merged, situation: &Situation) -> Result<Plan, NotApplied> {
    let rules = merged.rules.iter().cloned().chain(asking::closed_places()).collect();
    let merged = Merged { rules, ..merged.clone() };
    let plan = plan.with_settings(&Ambient::claim(), &merged, situation)?;
    Ok(plan.where_the_folder_is_granted(&merged))
}

/// What a shell of this session could do, so that no tool does more.
fn boundary(plan: &Plan) -> Result<Boundary, Failure> {
    let grant = Grant {
        folder: plan.scope.root.clone(),
        cwd: plan.scope.root.clone(),
        mode: match plan.access {
            Access::ReadOnly => SandboxMode::ReadOnly,
            Access::ReadWrite => SandboxMode::WorkspaceWrite,
        },
        add: plan.also_writable.clone(),
        deny_read: surroundings::hidden(),
        home: plan.home.clone(),
        caches: CacheChoice::None,
        // No process is started with it, so nothing private is made.
        temp: Temp::Directory(plan.scope.root.clone()),
        ..Grant::default()
    };
    Boundary::compile(&grant, &plan.guards, Tier::Landlock)
        .map_err(|e| Failure::new(USAGE, e.to_string()).mend("name an existing folder"))
}

/// What runs the shells: held like a run of this folder without options.
fn shells(
    plan: &Plan,
    allow_degraded: bool,
    without: Option<EnvironmentWish>,
    network: Network,
) -> Result<Shells, Failure> {
    // Inside another run the outer line holds what this one cannot build a second time.
    let nested = surroundings::is_inside_another();
    let surroundings = Surroundings {
        grant: Grant {
            deny_read: record::place().into_iter().chain(surroundings::hidden()).collect(),
            environment: std::env::vars_os().collect(),
            environment_wishes: without.into_iter().collect(),
            cache_home: surroundings::cache_home(),
            network,
            ..Grant::default()
        },
        weakest: if allow_degraded || nested { Tier::Landlock } else { Tier::Full },
        strongest: if nested { Tier::Landlock } else { Tier::Full },
        ..Surroundings::new(surroundings::private_base())
    };
    Shells::of_plan(plan, surroundings).map_err(|e| {
        Failure::new(USAGE, e.to_string())
            .mend("name an existing folder, and set TMPDIR to one you can write")
    })
}

/// No record, no deed: without a place for the record there is no call.
fn journal(wanted: &Call, limits: Limits) -> Result<Arc<dyn Journal>, Failure> {
    if wanted.no_record {
        return Ok(Arc::new(Discard));
    }
    Ok(Arc::new(record::ledger(limits)?))
}

fn print(reply: &Reply) -> Result<(), Failure> {
    say::out(&(serde_json::to_string(reply).unwrap_or_default() + "\n"))
}

fn code(ended: Ended) -> u8 {
    match ended {
        Ended::Done => DONE,
        Ended::Failed => FAILED,
        Ended::Refused => REFUSED,
    }
}
