//! A verdict in words: why, by which rule, about which part.

use pinfold_host::AddressBar;
use pinfold_policy::{
    Claims, Decision, Disguise, Facts, ForeignCall, Grant, PartId, PathFact, Reason, ShellClaim, SourcedRule,
    ToolCall, TrailEntry, UnreachableHost,
};

use serde::Serialize;

use crate::consent::request::mode_clause;
use crate::judgement::CheckResult;

/// Why, in one clause.
pub(crate) fn clause(reason: &Reason) -> String {
    let plain = match reason {
        Reason::DenyRule(_) => "a rule denies it",
        Reason::AskRule(_) => "a rule wants it to be asked about",
        Reason::AllowRule(_) => "a rule allows it",
        Reason::Grant(_) => "it was granted in this session",
        Reason::Hook(word) if word.is_doubt() => return word.reason.clone(),
        Reason::Hook(word) => return format!("a hook says {}: {}", word.decision.as_str(), word.reason),
        Reason::MayBeDenied(_) => "a part of it is known only at run time, and a rule may deny that",
        Reason::RuleNotRead(why) => return why.clone(),
        Reason::NotListed => "the definition of the agent does not list it",
        Reason::PathScopes(hit) => return hit.no.why.clause(),
        Reason::Safeguard(hit) => return format!("it {}", hit.about),
        Reason::Sensitive(hit) | Reason::GuardedWrite(hit) | Reason::GuardedRead(hit) => {
            return hit.why.clone();
        }
        Reason::NotAllowlistable(reason) => return reason.why.clone(),
        Reason::Mode(mode) => return mode_clause(*mode),
        Reason::OnlyReads => "the command does nothing but read",
        Reason::HeldByTheKernel => "the kernel holds what it does",
        Reason::DecidedElsewhere => "another part of the call decides about it",
        Reason::ReadOutside => "a read outside the folder, in a session that reads only there",
        Reason::NoFolder => "an agent works in a folder that is there",
        Reason::OutOfScope => "a write outside the scope of this agent",
        Reason::ReadOnly => "the session only reads",
        Reason::Unresolved(why) => return why.reason.clone(),
        Reason::Disguised(Disguise::Link) => "a link leads out of the folder",
        Reason::Disguised(Disguise::DotDot) => "`..` climbs out of the folder",
        Reason::Special(kind) => return format!("it is a {kind}"),
        Reason::TheLineItself => "it is the folder itself",
        Reason::WriteOutside => "a write outside the folder",
        Reason::OtherNames(names) => return format!("the file has {names} names"),
        Reason::OtherMount => "another file system is mounted there",
        Reason::UnknownHost => "no rule allows this host",
        Reason::HostAllowed(_) => "a rule allows the host",
        Reason::HostDenied(_) => "a rule denies the host",
        Reason::SpecialPurposeAddress(near) => near.reason(),
        Reason::UnreachableHost(known) => return known.leads_to.reason(),
        Reason::BareAddress => "it is an address without a name",
        Reason::UnusualPort(_) => "it is a port at which hosts are not usually reached",
        Reason::BashNotAllowed => "shells are off in this session",
        Reason::ShellNotHeld => "nothing holds a shell here",
        Reason::NothingToJudge => "the call has no part that could be judged",
    };
    plain.to_owned()
}

/// Returns what would let a host be reached that leads to an address that no approval opens.
fn describe_unreachable(known: &UnreachableHost) -> String {
    let address = known.leads_to.address;
    match known.leads_to.because {
        AddressBar::Near(_) => format!("name the address {address} under `network.allow`"),
        AddressBar::Denied => format!("take the rule away that denies {address} (`network.deny`)"),
        AddressBar::Asked => format!("take the rule away that asks about {address}"),
    }
}

/// The rule, guard or list that stands behind a reason, and where it stands.
pub(crate) fn rule(reason: &Reason) -> (Option<String>, Option<String>) {
    let written = |rule: &SourcedRule| (Some(rule.rule.text().to_owned()), Some(rule.source.to_string()));
    match reason {
        Reason::DenyRule(rule)
        | Reason::AskRule(rule)
        | Reason::AllowRule(rule)
        | Reason::MayBeDenied(Some(rule)) => written(rule),
        Reason::Grant(grant) => match grant.as_ref() {
            Grant::Rule(rule) => written(rule),
            Grant::PlainCommands | Grant::Place(..) | Grant::Folder(..) | Grant::Host(_) => {
                (Some(grant.to_string()), None)
            }
        },
        Reason::Hook(word) => (None, Some(word.by.clone())),
        Reason::Sensitive(hit) | Reason::GuardedWrite(hit) | Reason::GuardedRead(hit) => {
            (Some(hit.pattern.clone()), Some("built-in guards".to_owned()))
        }
        Reason::PathScopes(hit) => (Some(hit.no.list.clone()), Some(hit.no.source.to_string())),
        Reason::HostAllowed(rule) | Reason::HostDenied(rule) => {
            (Some(rule.value.to_string()), Some(rule.source.to_string()))
        }
        _ => (None, None),
    }
}

/// The stable name of a safeguard that asks.
pub(crate) fn safeguard(reason: &Reason) -> Option<&'static str> {
    match reason {
        Reason::Safeguard(hit) => Some(hit.id),
        Reason::Sensitive(_) => Some(SENSITIVE),
        _ => None,
    }
}

/// The name of the one safeguard that is about places.
const SENSITIVE: &str = "sensitive-path";

/// The claims of a call, in the order of the call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ClaimsSummary {
    /// Paths that are read, absolute.
    pub reads: Vec<String>,
    /// Paths that are written, made, moved or removed, absolute.
    pub writes: Vec<String>,
    /// Simple commands, as they stand in the command line.
    pub commands: Vec<String>,
    /// Hosts; `null` for one that is known only at run time.
    pub hosts: Vec<Option<String>>,
    /// Reasons for which it is not known what runs.
    pub opaque: Vec<String>,
}

/// A call with what was found about it.
pub(crate) struct Explainer<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) claims: &'a Claims,
    pub(crate) facts: &'a Facts,
}

impl<'a> Explainer<'a> {
    /// The explainer of a considered call.
    pub(crate) fn new(considered: &'a CheckResult) -> Self {
        Self { call: &considered.call, claims: &considered.claims, facts: &considered.facts }
    }

    fn text(&self) -> &str {
        self.claims.shell.as_ref().and_then(ShellClaim::text).unwrap_or_default()
    }

    /// A part of the call.
    pub(crate) fn part(&self, part: PartId) -> String {
        match part {
            PartId::Path(i) => self
                .facts
                .paths
                .get(i)
                .map_or_else(String::new, |fact| format!("{} `{}`", fact.operation.as_str(), fact.shown)),
            PartId::Command(i) => format!("`{}`", shortened(self.command(i).unwrap_or_default())),
            PartId::Shell => "the command line".to_owned(),
            PartId::Host(i) => match self.claims.hosts.get(i).and_then(|claim| claim.host.as_deref()) {
                Some(host) => format!("host `{host}`"),
                None if self.is_unsaid(i) => "the hosts that it reaches".to_owned(),
                None => "a host that is known only at run time".to_owned(),
            },
            PartId::Tool => format!("tool `{}`", shortened(self.call.name())),
        }
    }

    /// The change that would make another decision of a part.
    pub(crate) fn change(&self, entry: &TrailEntry) -> String {
        match &entry.opinion.reason {
            Reason::DenyRule(rule) | Reason::AskRule(rule) | Reason::AllowRule(rule) => {
                format!("take the rule `{}` away ({})", rule.rule, rule.source)
            }
            Reason::Grant(_) => "take the grant back, or end the session".to_owned(),
            Reason::Hook(word) if word.is_doubt() => "no rule changes it: it needs approval".to_owned(),
            Reason::Hook(word) => format!("change the hook ({})", word.by),
            Reason::RuleNotRead(_) => "mend the rule".to_owned(),
            Reason::NotListed => "list it under `allow_tools` in the definition of the agent".to_owned(),
            Reason::PathScopes(hit) => format!("change `{}` ({})", hit.no.list, hit.no.source),
            Reason::Safeguard(_) | Reason::Sensitive(_) => {
                "no rule changes it: it needs approval each time, unless `alwaysAsk` in the user's settings leaves \
                 this safeguard out"
                    .to_owned()
            }
            Reason::HostAllowed(rule) | Reason::HostDenied(rule) => {
                format!("take the rule `{}` away ({})", rule.value, rule.source)
            }
            Reason::SpecialPurposeAddress(_) | Reason::BareAddress | Reason::UnusualPort(_) => {
                "name the host with its port under `network.allow`".to_owned()
            }
            Reason::UnreachableHost(known) => describe_unreachable(known),
            Reason::BashNotAllowed => "switch shells on: `--allow-bash`, or `\"allowBash\": true`".to_owned(),
            Reason::ReadOnly => "leave the read-only sandbox".to_owned(),
            Reason::ReadOutside => "set `\"reads\": \"anywhere\"`, or add the directory".to_owned(),
            Reason::OutOfScope | Reason::NoFolder => "give the agent another folder".to_owned(),
            Reason::Unresolved(_) | Reason::Disguised(_) | Reason::Special(_) | Reason::TheLineItself => {
                "nothing: name the place that is meant, plainly".to_owned()
            }
            Reason::WriteOutside
            | Reason::GuardedWrite(_)
            | Reason::GuardedRead(_)
            | Reason::OtherNames(_)
            | Reason::OtherMount => self.describe_rule(entry, "an allow rule that names the place"),
            Reason::UnknownHost if self.names_no_host(entry.part) => {
                format!("an allow rule, such as `{}`", shortened(self.call.name()))
            }
            Reason::UnknownHost => self.describe_host(entry),
            Reason::NotAllowlistable(_) | Reason::MayBeDenied(_) => {
                "write it without that, so that a rule can be about it".to_owned()
            }
            Reason::Mode(_) if entry.opinion.decision == Decision::Allow => {
                self.describe_rule(entry, "a deny or ask rule")
            }
            Reason::OnlyReads | Reason::HeldByTheKernel | Reason::DecidedElsewhere => {
                self.describe_rule(entry, "a deny or ask rule")
            }
            Reason::Mode(_) => self.describe_rule(entry, "an allow rule"),
            Reason::ShellNotHeld => "run it on a machine that can hold a shell".to_owned(),
            Reason::NothingToJudge => "call with something to do".to_owned(),
        }
    }

    /// A rule that would be about the part.
    fn describe_rule(&self, entry: &TrailEntry, which: &str) -> String {
        let rule = match entry.part {
            PartId::Path(i) => {
                self.facts.paths.get(i).map(|fact| format!("{}(/{})", self.call.name(), path(fact)))
            }
            PartId::Command(i) => self.command(i).map(|command| format!("Bash({})", shortened(command))),
            PartId::Shell => Some(format!("Bash({})", shortened(self.text()))),
            PartId::Host(i) => {
                let host = self.claims.hosts.get(i).and_then(|claim| claim.host.as_deref());
                host.map(|host| format!("WebFetch(domain:{host})"))
            }
            PartId::Tool => Some(shortened(self.call.name())),
        };
        rule.map_or_else(|| which.to_owned(), |rule| format!("{which}, such as `{rule}`"))
    }

    /// An entry of the list of hosts that would be about the part.
    fn describe_host(&self, entry: &TrailEntry) -> String {
        let host = match entry.part {
            PartId::Host(i) => self.claims.hosts.get(i).and_then(|claim| claim.host.as_deref()),
            PartId::Path(_) | PartId::Command(_) | PartId::Shell | PartId::Tool => None,
        };
        format!(
            "name it in `network.allow` of the settings, or start with --allow-host {}",
            host.unwrap_or("HOST")
        )
    }

    /// Returns true if the tool reaches hosts that its calls do not name.
    fn is_unsaid(&self, i: usize) -> bool {
        self.claims.hosts.get(i).is_some_and(|claim| claim.of_tool && claim.host.is_none())
    }

    fn names_no_host(&self, part: PartId) -> bool {
        matches!(part, PartId::Host(i) if self.is_unsaid(i))
    }

    fn command(&self, i: usize) -> Option<&str> {
        let span = self.claims.commands.get(i)?.span.clone();
        self.text().get(span)
    }

    /// The claims of the call.
    pub(crate) fn claims(&self) -> ClaimsSummary {
        let mut told = ClaimsSummary::default();
        for fact in &self.facts.paths {
            let list = if fact.operation.writes() { &mut told.writes } else { &mut told.reads };
            list.push(path(fact));
        }
        let commands = (0..self.claims.commands.len()).filter_map(|i| self.command(i));
        told.commands = commands.map(str::to_owned).collect();
        told.hosts = self.claims.hosts.iter().map(|claim| claim.host.clone()).collect();
        told.opaque = self.claims.not_allowlistable.iter().map(|reason| reason.why.clone()).collect();
        if let ToolCall::Foreign(ForeignCall::Unknown { name }) = self.call {
            told.opaque.push(format!("nothing is known about the tool `{}`", shortened(name)));
        }
        told
    }
}

/// A path as it was asked for, absolute.
fn path(fact: &PathFact) -> String {
    fact.asked.display().to_string()
}

/// Text short enough for a message, with nothing in it that a terminal or reader would take for something else.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN: usize = 200;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown.replace("\\'", "'").replace("\\\"", "\"")
}
