//! `pinfold rules learn`: rules that past answers speak for. Each is written only after the user confirmed it.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pinfold::audit::{Discard, LogReader, ledger, verify};
use pinfold::learn::past::Questions;
use pinfold::learn::{Learned, Proposal, learn};
use pinfold::policy::settings::{Flags, SettingsChange};
use pinfold::policy::{Effect, FolderChoice, Rule, WayIn};
use pinfold::settings::{Locations, change};
use pinfold::{Ambient, AssumedShells, Plan, Session, ShellHost};
use serde_json::{Value, json};

use super::failed;
use crate::args::Learn;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::{env, output, record, settings};

pub(super) fn run(locations: &Locations, wanted: &Learn) -> Result<ExitCode, Failure> {
    if wanted.apply && env::is_inside_another() {
        return Err(Failure::new(REFUSED, "rules are not changed from inside a run").mend("do it outside"));
    }
    if wanted.apply && !io::stdin().is_terminal() {
        return Err(Failure::new(USAGE, "cannot ask without a terminal")
            .mend("look at the list, then add each rule with `pinfold rules add`"));
    }
    let project = locations.project.clone().unwrap_or_default();
    let project = project.canonicalize().unwrap_or(project);
    let mut questions = Questions::in_folder(&project);
    record::each_line(&mut reader(wanted.record.as_deref())?, |line, _| {
        questions.take(&line);
        Ok(())
    })?;
    let past = questions.past();
    let answered = past.len();
    let learned = learn(&sessions(locations, &project)?, past, wanted.least.max(1));
    if wanted.apply {
        return apply(locations, wanted, &learned);
    }
    let text = if wanted.json { output::json_lines(&json_of(&learned)) } else { text_of(&learned, answered) };
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

/// Opens the audit log: the one that is named, else the machine's, if it verifies.
fn reader(named: Option<&Path>) -> Result<LogReader, Failure> {
    if let Some(named) = named {
        return record::named_reader(named);
    }
    let files = ledger::opened(&record::directory()?).map_err(|e| record::unreadable(&e))?;
    if let Err(mismatch) = verify(&files, None).map_err(|e| record::unreadable(&e))?.into_result() {
        let what = output::lines(&mismatch.to_string());
        return Err(Failure::new(FAILED, format!("the record was changed: {what}"))
            .mend("nothing is learnt from it; see `pinfold log verify`"));
    }
    record::reader()
}

/// The sessions that a call of the past could have been asked in: where the folder is granted, and where it is not.
fn sessions(locations: &Locations, project: &Path) -> Result<[Session; 2], Failure> {
    let mut setup = settings::setup(project, locations.clone(), Flags::default(), None)?;
    project.clone_into(&mut setup.situation.project);
    let resolved = settings::resolved(&setup)?;
    let shells: Arc<dyn ShellHost> = Arc::new(AssumedShells::in_folder(project.to_owned()));
    let plan = Plan::for_folder(project)
        .with_home(env::home())
        .with_folder_choice(FolderChoice::only_judged())
        .with_shells(shells);
    let open = |plan: Plan| {
        let opened = Session::open(&Ambient::claim(), plan, Arc::new(Discard));
        opened.map_err(|e| Failure::new(FAILED, output::lines(&e.to_string())))
    };
    let entered = |way| settings::plan(&resolved, plan.clone(), way);
    Ok([open(entered(WayIn::OwnTools)?)?, open(entered(WayIn::Check)?)?])
}

fn text_of(learned: &Learned, answered: usize) -> String {
    let mut text: String = learned.proposals.iter().map(shown).collect();
    for left in &learned.left {
        let call = output::visible(&left.call);
        let _ = writeln!(text, "no rule for `{call}`, yes {} times: {}", left.times, left.why);
    }
    let _ = match learned.proposals.as_slice() {
        [] => writeln!(text, "{answered} answers in this folder speak for no rule"),
        _ => writeln!(text, "\nadd them, one by one: pinfold rules learn --apply"),
    };
    text
}

/// A rule with what speaks for it.
fn shown(proposal: &Proposal) -> String {
    let rule = output::visible(proposal.rule.text());
    let mut text = format!("{rule}   would have saved {} questions\n", proposal.saves);
    for call in &proposal.calls {
        let names = output::visible(&call.names.join(" "));
        let _ = writeln!(text, "    yes to       {}   {names}", output::visible(&call.call));
    }
    for (label, calls) in [("also allows", &proposal.also), ("still asks ", &proposal.still_asks)] {
        for call in calls {
            let _ = writeln!(text, "    {label}  {}", output::visible(call));
        }
    }
    text
}

fn json_of(learned: &Learned) -> Value {
    let proposal = |proposal: &Proposal| {
        let call = |call: &pinfold::learn::Justifies| json!({"call": call.call, "records": call.names});
        json!({
            "rule": proposal.rule.text(),
            "saves": proposal.saves,
            "calls": proposal.calls.iter().map(call).collect::<Vec<_>>(),
            "also": proposal.also,
            "still_asks": proposal.still_asks,
        })
    };
    let left = |left: &pinfold::learn::UnlearnedCall| json!({"call": left.call, "times": left.times, "why": left.why});
    json!({
        "proposals": learned.proposals.iter().map(proposal).collect::<Vec<_>>(),
        "left": learned.left.iter().map(left).collect::<Vec<_>>(),
    })
}

/// Asks about each rule and writes those that are wanted.
fn apply(locations: &Locations, wanted: &Learn, learned: &Learned) -> Result<ExitCode, Failure> {
    let mut added = 0;
    for proposal in &learned.proposals {
        output::out(&shown(proposal))?;
        if agreed()? {
            add(locations, wanted, &proposal.rule)?;
            added += 1;
        }
    }
    output::out(&format!("{added} of {} rules added\n", learned.proposals.len()))?;
    Ok(ExitCode::from(DONE))
}

fn add(locations: &Locations, wanted: &Learn, rule: &Rule) -> Result<(), Failure> {
    let what = SettingsChange::Add(Effect::Allow, rule.clone());
    let done = change(&Ambient::claim(), locations, wanted.file.layer(), &what).map_err(|e| failed(&e))?;
    output::out(&format!("added to {}\n", output::path(&done.file.path)))
}

/// Asks at the terminal. Anything but a plain yes is no.
fn agreed() -> Result<bool, Failure> {
    output::out("Add it? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|e| Failure::new(FAILED, e.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
