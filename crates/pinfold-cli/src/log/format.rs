//! One line of the record in words.

use std::fmt::Write as _;

use pinfold::audit::read::AuditLine;
use pinfold::audit::{AuditEvent, DecisionEvent, RecordedHost};

use crate::output::visible;

/// The longest piece of a call that is shown on its line.
const MAX_SHOWN: usize = 120;

/// A line for a person: when, who, what, how it was decided and why; with `verbose` its parts and its input.
pub(super) fn format_line(line: &AuditLine, verbose: bool) -> String {
    let at = line.at.map(moment).unwrap_or_default();
    let mut text = format!("{at}  {:<28}  {}", visible(&name(line)), visible(event_text(line).trim_end()));
    let (reason, rule, source) = match &line.event {
        AuditEvent::Decision(decision) => (&decision.reason, &decision.rule, &decision.source),
        AuditEvent::Refusal(refusal) => {
            (&Some(refusal.denial.why.clone()), &refusal.denial.rule, &refusal.denial.source)
        }
        AuditEvent::Outcome(outcome) => (&outcome.reason, &None, &None),
        AuditEvent::End(end) => (&end.reason, &None, &None),
        AuditEvent::Note(note) => (&note.reason, &None, &None),
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
    let (hosts, more_hosts) = match &line.event {
        AuditEvent::End(end) => (end.hosts.as_slice(), end.more_hosts),
        AuditEvent::Outcome(outcome) => (outcome.hosts.as_slice(), outcome.more_hosts),
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
            let _ = writeln!(text, "      {}", visible(&input));
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
fn name(line: &AuditLine) -> String {
    match &line.event {
        AuditEvent::Refusal(refusal) => refusal.denial.id.clone(),
        _ => line.call().unwrap_or_else(|| line.session.clone()),
    }
}

fn event_text(line: &AuditLine) -> String {
    match &line.event {
        AuditEvent::Decision(decision) => {
            let step = decision.step.as_ref().map(|step| format!(" ({step})")).unwrap_or_default();
            format!("{:<8} {} {}{step}", decision.ruling.as_str(), line.tool, call_subject(decision))
        }
        AuditEvent::Refusal(refusal) => {
            format!(
                "refused  {} {} {}",
                refusal.denial.who,
                refusal.denial.what,
                refusal.denial.place.as_deref().unwrap_or_default()
            )
        }
        AuditEvent::Answer(answer) => format!("answer   {} by {}", answer.choice, answer.by.via),
        AuditEvent::NotWritten(told) => format!("not written: {}: {}", told.rules.join(", "), told.failed),
        AuditEvent::Outcome(outcome) => format!("{:<8} {} {} ms", outcome.end, line.tool, outcome.ms),
        AuditEvent::Start(start) => format!("start    {}", start.program),
        AuditEvent::End(end) => {
            let exit = end.exit.map(|exit| exit.to_string()).unwrap_or_default();
            format!("end      {} {exit}", end.end)
        }
        AuditEvent::Note(note) => format!("note     {}", note.note),
        AuditEvent::Other(kind) => kind.clone(),
    }
}

/// The hosts of a run or of a call, a line for each outcome.
pub(crate) fn host_lines(hosts: &[RecordedHost], more: u64) -> Vec<String> {
    let shown = |host: &RecordedHost| {
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

/// Returns the command of a call, or its first path, or its first host.
pub(crate) fn call_subject(decision: &DecisionEvent) -> String {
    let command = decision.input().and_then(|input| Some(input.get("command")?.as_str()?.to_owned()));
    let said = command.or_else(|| decision.shell.clone());
    let said = said.or_else(|| decision.places().next().map(str::to_owned));
    let said = said.or_else(|| decision.hosts.iter().flatten().next().cloned()).unwrap_or_default();
    let mut short: String = said.chars().take(MAX_SHOWN).collect::<String>().replace('\n', "\\n");
    if said.chars().nth(MAX_SHOWN).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_about_a_host_names_it() {
        let hosts = vec![None, Some("example.org".to_owned()), Some("other.org".to_owned())];
        let decision = DecisionEvent { hosts, ..DecisionEvent::default() };
        assert_eq!(call_subject(&decision), "example.org");
        let decision = DecisionEvent { shell: Some("make".to_owned()), ..decision };
        assert_eq!(call_subject(&decision), "make", "the command says more");
        assert_eq!(call_subject(&DecisionEvent::default()), "");
    }
}
