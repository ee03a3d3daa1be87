//! The refusal of a judged call, in words.

use pinfold_paths::Freshness;
use pinfold_policy::{Claims, Facts, PartId, PathFact, Reason, ShellClaim, Verdict};

use crate::explain::shortened;
use crate::judgement::Judgement;
use crate::refusal::{Refusal, RefusedPath};
use crate::session::Shared;

/// Writes the refusal of a judged call.
pub(crate) struct RefusalWriter<'a> {
    shared: &'a Shared,
    judged: &'a Judgement<'a>,
    tool: &'a str,
    claims: &'a Claims,
    facts: &'a Facts,
    verdict: &'a Verdict,
}

impl<'a> RefusalWriter<'a> {
    pub(crate) fn new(shared: &'a Shared, judged: &'a Judgement<'a>) -> Self {
        let Judgement { claims, survey, verdict, .. } = judged;
        Self { shared, judged, tool: judged.call().name(), claims, facts: &survey.facts, verdict }
    }

    /// The refusal for the reason of the verdict. `approvable`: a person could still allow the call.
    pub(crate) fn write(&self, approvable: bool) -> Refusal {
        let Some(entry) = self.verdict.deciding() else {
            let message = "the call has no part that could be judged";
            return Refusal::plain(crate::RefusalCode::Denied, self.tool, None, message, "name a place");
        };
        let reason = &entry.opinion.reason;
        let fact = match entry.part {
            PartId::Path(i) => self.facts.paths.get(i),
            PartId::Command(_) | PartId::Shell | PartId::Host(_) | PartId::Tool => None,
        };
        if let Some(fact) = fact {
            return self.refused_path(fact).refusal(reason, approvable);
        }
        let subject = self.subject(entry.part);
        let refusal =
            Refusal::for_part(self.tool, &self.shared.identity.principal, &subject, reason, approvable);
        match (reason, self.safeguard(entry.part)) {
            // That it is not listed is one thing; that nobody should list it another.
            (Reason::NotListed, Some(about)) => {
                Refusal { reason: format!("{}, and it {about}", refusal.reason), ..refusal }
            }
            _ => refusal,
        }
    }

    /// The warning of a safeguard about a command.
    fn safeguard(&self, part: PartId) -> Option<&'static str> {
        let PartId::Command(i) = part else { return None };
        self.claims.commands.get(i)?.safeguards.first().map(|hit| hit.about)
    }

    /// A part that is no path, in words.
    fn subject(&self, part: PartId) -> String {
        let said = self.claims.shell.as_ref().and_then(ShellClaim::text).unwrap_or_default();
        let quoted = |text: &str| format!("`{}`", shortened(text));
        match part {
            PartId::Command(i) => {
                let span = self.claims.commands.get(i).map(|command| command.span.clone());
                quoted(span.and_then(|span| said.get(span)).unwrap_or(said))
            }
            PartId::Shell => quoted(said),
            PartId::Host(i) => {
                let claim = self.claims.hosts.get(i);
                match claim.and_then(|claim| claim.host.as_deref()) {
                    Some(host) => quoted(host),
                    None if claim.is_some_and(|claim| claim.of_tool) => quoted(self.tool),
                    None => "the host that it would reach".to_owned(),
                }
            }
            PartId::Path(_) | PartId::Tool => quoted(self.tool),
        }
    }

    fn refused_path<'b>(&'b self, fact: &'b PathFact) -> RefusedPath<'b> {
        let shared = self.shared;
        RefusedPath {
            tool: self.tool,
            principal: &shared.identity.principal,
            shown: &fact.shown,
            operation: fact.operation,
            line: &shared.bounds.shown,
            roots: &shared.bounds.roots,
        }
    }

    /// The refusal to overwrite a file that was not read, or has changed since.
    pub(crate) fn write_unread(&self) -> Refusal {
        let (index, how) = self.judged.survey.unread.unwrap_or((0, Freshness::Unread));
        let shown = self.facts.paths.get(index).map_or("", |fact| fact.shown.as_str());
        match how {
            Freshness::Changed => Refusal::stale(self.tool, shown),
            Freshness::Unread | Freshness::Fresh => Refusal::not_read(self.tool, shown),
        }
    }
}
