//! Hosts of a call that are known to lead where no approval opens them, before an approver is asked.

use std::fs::File;
use std::io::Read as _;

use pinfold_host::{Host, HostsFile, UnreachableAddress, classify_special_purpose, first_unreachable};
use pinfold_policy::{Claims, Policy, ToolCall, UnreachableHost};

use crate::session::Shared;

/// Most bytes that are read of the hosts file.
const MAX_HOSTS_FILE: u64 = 4 << 20;

/// Looks at the names that a tool reaches. Nothing is asked of a name server. Where a process would connect is for its relay to
/// see, which refuses with words of its own.
pub(crate) fn unreachable_hosts(
    shared: &Shared,
    policy: &Policy,
    call: &ToolCall,
    claims: &Claims,
) -> Vec<UnreachableHost> {
    if matches!(call, ToolCall::Process(_)) {
        return Vec::new();
    }
    let reached = claims.hosts.iter().filter(|claim| claim.of_tool).filter_map(|claim| claim.at.as_ref());
    let named: Vec<_> = reached.filter(|(host, _)| matches!(host, Host::Name(_))).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let file = hosts_file();
    let found = |(host, port): &(Host, u16)| {
        let leads_to =
            known(policy, &file, host, *port).or_else(|| remembered(shared, policy, host, *port))?;
        Some(UnreachableHost { host: host.clone(), port: *port, leads_to })
    };
    named.into_iter().filter_map(found).collect()
}

fn known(policy: &Policy, file: &HostsFile, host: &Host, port: u16) -> Option<UnreachableAddress> {
    let addresses = file.known_addresses(host, &*policy.hosts);
    first_unreachable(host, &addresses, port, &*policy.hosts, classify_special_purpose)
}

/// The address that the host led to when a page of it was fetched.
fn remembered(shared: &Shared, policy: &Policy, host: &Host, port: u16) -> Option<UnreachableAddress> {
    let refused = shared.hosts.web.as_ref()?.refused_address(host, port)?;
    refused.is_still_refused(port, &*policy.hosts).then_some(refused)
}

/// Reads this machine's hosts file. Without one there are the names of loopback alone.
fn hosts_file() -> HostsFile {
    let mut text = Vec::new();
    let read = File::open(HostsFile::PATH).and_then(|file| file.take(MAX_HOSTS_FILE).read_to_end(&mut text));
    if read.is_ok() { HostsFile::parse(&text) } else { HostsFile::default() }
}
