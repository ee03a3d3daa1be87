//! Hosts that pinfold itself would connect to. What a command reaches is for its relay to hold.

use super::{Case, deny};
use crate::command::HostClaim;
use crate::decision::{Opinion, Reason};
use crate::host::{Host, Reach, near};

/// What settings deny, and an address on this machine or beside it that nothing names.
pub(super) fn denied(case: &Case<'_>, claim: &HostClaim) -> Option<Opinion> {
    let (host, port) = claim.at.as_ref()?;
    match case.policy.hosts.host(host, *port) {
        Reach::Denied(rule) => Some(deny(Reason::HostDenied(rule.clone()))),
        Reach::Allowed(_) | Reach::Asked(_) => None,
        Reach::Unnamed => match host {
            Host::Address(address) => Some(deny(Reason::NearAddress(near(*address)?))),
            Host::Name(_) => None,
        },
    }
}

/// What is no ordinary page: an address without a name, a port that is not among the usual ones.
pub(super) fn beyond(case: &Case<'_>, claim: &HostClaim) -> Option<Reason> {
    let (host, port) = claim.at.as_ref()?;
    match case.policy.hosts.host(host, *port) {
        Reach::Allowed(_) => return None,
        Reach::Denied(_) | Reach::Asked(_) | Reach::Unnamed => {}
    }
    match host {
        Host::Address(_) => Some(Reason::BareAddress),
        Host::Name(_) if !case.policy.hosts.is_usual(*port) => Some(Reason::UnusualPort(*port)),
        Host::Name(_) => None,
    }
}
