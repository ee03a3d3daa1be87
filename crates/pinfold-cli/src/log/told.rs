//! One line of the record in words.

use std::fmt::Write as _;

use pinfold::audit::read::{DecisionRead, HostRead, Line, Says};

use crate::say::visible;

/// The longest piece of a call that is shown on its line.
const LONGEST: usize = 120;

/// A line for a person: when, who, what, how it was decided and why; with `verbose` its parts and its input.
pub(super) fn told(line: &Line, verbose: bool) -> String {
    let at = line.at.map(moment).unwrap_or_default();
    let mut text = format!("{at}  {:<28}  {}", visible(&name(line)), visible(what(line).trim_end()));
    let (reason, rule, source) = match &line.says {
        Says::Decision(decision) => (&decision.reason, &decision.rule, &decision.source),
        Says::Refusal(denial) => (&None, &denial.rule, &denial.source),
        Says::Outcome(outcome) => (&outcome.reason, &None, &None),
        Says::End(end) => (&end.reason, &None, &None),
        _ => (&None, &None, &None),
    };
    if let Some(reason) = reason {
        let _ = write!(text, ": {}", visible(reason));
    }
    if let Some(rule) = rule {
        let source = source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
        let _ = write!(text, "  [{}{}]", visible(rule), visible(&source));
    }
    text.push('\n');
    let (hosts, more_hosts) = match &line.says {
        Says::End(end) => (end.hosts.as_slice(), end.more_hosts),
        Says::Outcome(outcome) => (outcome.hosts.as_slice(), outcome.more_hosts),
        _ => (&[][..], 0),
    };
    for line in host_lines(hosts, more_hosts) {
        let _ = writeln!(text, "      {}", visible(&line));
    }
    if let (true, Some(decision)) = (verbose, line.decision()) {
        for part in &decision.parts {
            let words = format!("{} {} {}: {}", part.part, part.decision, part.step, part.reason);
            let _ = writeln!(text, "      {}", visible(&words));
        }
        if let Some(input) = decision.input_text() {
            let _ = writeln!(text, "      {}", visible(input));
        }
    }
    text
}

/// A moment, to the second.
pub(crate) fn moment(at: jiff::Timestamp) -> String {
    let text = at.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}

/// The name of what it is about, as `pinfold why` takes it.
fn name(line: &Line) -> String {
    match &line.says {
        Says::Refusal(denial) => denial.id.clone(),
        _ => line.call().unwrap_or_else(|| line.session.clone()),
    }
}

fn what(line: &Line) -> String {
    match &line.says {
        Says::Decision(decision) => {
            let step = decision.step.as_ref().map(|step| format!(" ({step})")).unwrap_or_default();
            format!("{:<8} {} {}{step}", decision.ruling.word(), line.tool, about(decision))
        }
        Says::Refusal(denial) => {
            format!("refused  {} {} {}", denial.who, denial.what, denial.place.as_deref().unwrap_or_default())
        }
        Says::Answer(answer) => format!("answer   {} by {}", answer.choice, answer.by.via),
        Says::NotWritten(told) => format!("not written: {}: {}", told.rules.join(", "), told.failed),
        Says::Outcome(outcome) => format!("{:<8} {} {} ms", outcome.end, line.tool, outcome.ms),
        Says::Start(start) => format!("start    {}", start.program),
        Says::End(end) => {
            let exit = end.exit.map(|exit| exit.to_string()).unwrap_or_default();
            format!("end      {} {exit}", end.end)
        }
        Says::Note(note) => format!("note     {}", note.note),
        Says::Other(kind) => kind.clone(),
    }
}

/// The hosts of a run or of a call, a line for each outcome.
pub(crate) fn host_lines(hosts: &[HostRead], more: u64) -> Vec<String> {
    let shown = |host: &HostRead| {
        let name = if host.host.contains(':') { format!("[{}]", host.host) } else { host.host.clone() };
        let port = host.port.map(|port| format!(":{port}")).unwrap_or_default();
        let often = if host.times > 1 { format!(" ({} times)", host.times) } else { String::new() };
        format!("{name}{port}{often}")
    };
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for host in hosts {
        match lines.iter_mut().find(|(outcome, _)| *outcome == host.outcome) {
            Some((_, hosts)) => hosts.push(shown(host)),
            None => lines.push((&host.outcome, vec![shown(host)])),
        }
    }
    let mut lines: Vec<String> =
        lines.into_iter().map(|(outcome, hosts)| format!("{outcome}: {}", hosts.join(", "))).collect();
    if more > 0 {
        lines.push(format!("{more} more hosts are not recorded one by one"));
    }
    lines
}

/// What a call is about: its command, or its first place.
pub(crate) fn about(decision: &DecisionRead) -> String {
    let command = decision.input().and_then(|input| Some(input.get("command")?.as_str()?.to_owned()));
    let said = command.or_else(|| decision.shell.clone());
    let said = said.or_else(|| decision.places().next().map(str::to_owned)).unwrap_or_default();
    let mut short: String = said.chars().take(LONGEST).collect::<String>().replace('\n', "\\n");
    if said.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}
