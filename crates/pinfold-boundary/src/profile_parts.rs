//! Parts of the profile that follow from network, sockets, temporary files and caches of a request.

use std::path::{Path, PathBuf};

use pinfold_policy::hosts::Hosts;
use pinfold_sandbox::{self as sandbox, InnerListeners, MAX_CALLERS, Temp, Tier};

use crate::builder::BoundaryBuilder;
use crate::caches::{Arrange, Caches};
use crate::compile_error::resolve;
use crate::egress::network;
use crate::hosts::HostList;
use crate::request::{CacheChoice, Network, SandboxMode, SandboxRequest};

impl BoundaryBuilder {
    /// Adds the network. Where none of its own can be had a proxy is all that is open. A socket of another kind, or one that is made
    /// unseen, would be a way around it.
    pub(crate) fn network(
        &mut self,
        request: &SandboxRequest,
        tier: Tier,
    ) -> (sandbox::Network, Option<HostList>) {
        if request.publishes && tier == Tier::Landlock {
            self.findings
                .notes
                .push("only the full tier has ports inside to be published; here none is".to_owned());
        }
        match (&request.network, tier) {
            // A network without a way out, in which DNS queries are observed; maybe with connections from outside.
            (Network::Off, Tier::Full) => lookups_only(request, Hosts::default()),
            // What was closed by name has no socket at all there, although one would tell the names.
            (Network::Off, Tier::Landlock) => (sandbox::Network::Off, None),
            (Network::Host, _) => (sandbox::Network::Host, None),
            (Network::Hosts(hosts), Tier::Full)
                if request.asks_about_hosts || !hosts.configured().is_empty() =>
            {
                let callers = if request.publishes { MAX_CALLERS } else { 0 };
                let entrances = InnerListeners {
                    callers,
                    ..network::entrances(hosts.configured(), request.asks_about_hosts)
                };
                (sandbox::Network::Relayed(entrances), Some(hosts.clone()))
            }
            (Network::Hosts(hosts), Tier::Full) => lookups_only(request, Hosts::clone(hosts.configured())),
            (Network::Hosts(hosts), Tier::Landlock) => self.proxied(request, hosts),
        }
    }

    /// Returns the network of a run without one of its own: a proxy, and sockets that lead to it alone. Sockets that are made
    /// unseen would be a way around it, so that there is none where they can be had. Where no host is wanted, the proxy is there
    /// for the names that programs tell it, as [`lookups_only`] is on the full tier.
    fn proxied(
        &mut self,
        request: &SandboxRequest,
        hosts: &HostList,
    ) -> (sandbox::Network, Option<HostList>) {
        let wants_hosts = request.asks_about_hosts || !hosts.configured().is_empty();
        if request.openings.unix_sockets || request.openings.io_uring {
            if wants_hosts {
                let note = "no host is reached: with `--allow-feature unix-sockets` or `--allow-feature io-uring` only the full tier can hold a run \
                            to some hosts";
                self.findings.notes.push(note.to_owned());
            }
            return (sandbox::Network::Off, None);
        }
        let proxy = network::proxy_port(&hosts.configured().reachable_ports());
        // Rules that change during the run open nothing where none was there.
        let hosts = if wants_hosts { hosts.clone() } else { Hosts::clone(hosts.configured()).into() };
        (sandbox::Network::Proxied(proxy), Some(hosts))
    }

    /// Returns the sockets to which the supervisor connects: the kernel cannot restrict a process to some sockets. It needs the
    /// view of the process, and a network in which no abstract name of this machine can be reached.
    pub(crate) fn sockets(&mut self, request: &SandboxRequest, cwd: &Path, tier: Tier) -> Vec<PathBuf> {
        if request.sockets.is_empty() {
            return Vec::new();
        }
        if tier == Tier::Landlock || request.network == Network::Host {
            let note = "sockets of this machine can be reached only on the full tier, and without `--network host`; here none is";
            self.findings.notes.push(note.to_owned());
            return Vec::new();
        }
        let mut found = Vec::with_capacity(request.sockets.len());
        for path in &request.sockets {
            match resolve(cwd, path) {
                Ok(real) => found.push(real),
                Err(error) => self.findings.notes.push(format!("{error}; no socket there is reached")),
            }
        }
        found
    }

    /// Without mounts there is no private `/tmp`: the private directory, which has no other use then, takes its place.
    pub(crate) fn temporary(&mut self, request: &SandboxRequest, tier: Tier) -> Temp {
        match (&request.temp, tier) {
            (Temp::Private, Tier::Landlock) => match request.private.path() {
                Ok(directory) => Temp::Directory(directory.to_owned()),
                Err(error) => {
                    self.findings.notes.push(format!("there is no place for temporary files: {error}"));
                    Temp::Private
                }
            },
            (temp, _) => temp.clone(),
        }
    }

    pub(crate) fn caches(&self, request: &SandboxRequest, home: Option<&Path>, tier: Tier) -> Caches {
        let read_only = request.mode == SandboxMode::ReadOnly;
        let choice = if read_only { &CacheChoice::None } else { &request.caches };
        let (Some(home), Some(cache_home), Some(folder)) = (home, &request.cache_home, self.granted.first())
        else {
            let agent = request.agent.iter();
            let notes = agent.map(|agent| format!("{} cannot write its state here", agent.name)).collect();
            return Caches { notes, ..Caches::default() };
        };
        Arrange {
            choice,
            agent: request.agent,
            home,
            cache_home,
            folder,
            environment: &request.environment,
            layered: tier == Tier::Full,
        }
        .arrange()
    }
}

/// No host is reached, and refusals can say which ones were looked up: an address alone does not tell what is needed. The list
/// stays as it is, since no port is there for what it may allow later.
fn lookups_only(request: &SandboxRequest, hosts: Hosts) -> (sandbox::Network, Option<HostList>) {
    let callers = if request.publishes { MAX_CALLERS } else { 0 };
    let entrances = InnerListeners { callers, ..InnerListeners::default() };
    (sandbox::Network::Relayed(entrances), Some(hosts.into()))
}
