//! Hosts that pinfold itself would connect to. What a command reaches is for its relay to hold.

use pinfold_commands::HostClaim;
use pinfold_host::{Host, classify_special_purpose};

use super::{Case, allow, deny};
use crate::decision::{Opinion, Reason};
use crate::hosts::HostMatch;

/// Returns `true` if what the call does is to reach hosts, so that each host decides about it.
pub(super) fn decide(case: &Case<'_>) -> bool {
    case.claims.hosts.iter().any(|host| host.of_tool)
}

/// Allows a host that settings allow.
pub(super) fn allowed(case: &Case<'_>, claim: &HostClaim) -> Option<Opinion> {
    let (host, port) = claim.at.as_ref()?;
    match case.policy.hosts.host(host, *port) {
        HostMatch::Allowed(rule) => Some(allow(Reason::HostAllowed(rule.clone()))),
        HostMatch::Denied(_) | HostMatch::Asked(_) | HostMatch::Unnamed => None,
    }
}

/// Denies a host that settings deny, and an address on this machine or beside it that nothing names.
pub(super) fn denied(case: &Case<'_>, claim: &HostClaim) -> Option<Opinion> {
    let (host, port) = claim.at.as_ref()?;
    match case.policy.hosts.host(host, *port) {
        HostMatch::Denied(rule) => Some(deny(Reason::HostDenied(rule.clone()))),
        // A rule for a name opens no address that needs one either.
        HostMatch::Allowed(_) => unreachable(case, claim),
        // What a command reaches is for its relay to hold.
        HostMatch::Asked(_) if !claim.of_tool => None,
        // No approval opens it, so that no approver is asked.
        HostMatch::Asked(_) | HostMatch::Unnamed => match host {
            Host::Address(address) => {
                Some(deny(Reason::SpecialPurposeAddress(classify_special_purpose(*address)?)))
            }
            Host::Name(_) => unreachable(case, claim),
        },
    }
}

/// Denies a host that is known to lead to an address that no approval of the host opens.
fn unreachable(case: &Case<'_>, claim: &HostClaim) -> Option<Opinion> {
    let (host, port) = claim.at.as_ref().filter(|_| claim.of_tool)?;
    case.facts.unreachable_host(host, *port).map(|known| deny(Reason::UnreachableHost(known.clone())))
}

/// Returns the reason for a question about a host that no rule names.
pub(super) fn reason_to_ask(case: &Case<'_>, claim: &HostClaim) -> Option<Reason> {
    // What a command reaches is for its relay to hold.
    if !claim.of_tool {
        return None;
    }
    let Some((host, port)) = claim.at.as_ref() else { return Some(Reason::UnknownHost) };
    match (case.policy.hosts.host(host, *port), host) {
        (HostMatch::Allowed(_), _) => None,
        (HostMatch::Denied(_) | HostMatch::Asked(_) | HostMatch::Unnamed, Host::Address(_)) => {
            Some(Reason::BareAddress)
        }
        (HostMatch::Denied(_) | HostMatch::Asked(_) | HostMatch::Unnamed, Host::Name(_)) => {
            let usual = case.policy.hosts.is_usual(*port);
            Some(if usual { Reason::UnknownHost } else { Reason::UnusualPort(*port) })
        }
    }
}
