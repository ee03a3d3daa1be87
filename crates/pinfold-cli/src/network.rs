//! Network of commands, by flags and settings.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pinfold::Ambient;
use pinfold::policy::hosts::Hosts;
use pinfold::policy::merge::Merged;
use pinfold::policy::settings::{self, Flags, Secrets};
use pinfold::policy::{Layer, Source};
use pinfold::settings::{Locations, Watched};
use pinfold_boundary::Network;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::args::NetworkFlag;
use crate::env;
use crate::exit::{Failure, USAGE};

/// Returns the network access of a run. A flag goes before settings; hosts on the command line are a flag.
pub(crate) fn run_network(
    flag: Option<NetworkFlag>,
    named: bool,
    merged: &Merged,
) -> Result<Network, Failure> {
    let said = match flag {
        Some(NetworkFlag::Host) => Some(settings::Network::Host),
        Some(NetworkFlag::Off) => Some(settings::Network::Off),
        None if named => None,
        None => merged.sandbox.network.as_ref().map(|said| said.value),
    };
    match said {
        Some(settings::Network::Host) => Ok(Network::Host),
        Some(settings::Network::Off) => Ok(Network::Off),
        None => hosts(merged),
    }
}

/// Returns the network access of an agent's shells: that of a run without a flag, but a network that settings close stays
/// closed whatever hosts are named.
pub(crate) fn shells_network(named: bool, merged: &Merged) -> Result<Network, Failure> {
    match merged.sandbox.network.as_ref().map(|said| said.value) {
        Some(settings::Network::Off) => Ok(Network::Off),
        Some(settings::Network::Host) | None => run_network(None, named, merged),
    }
}

/// The secrets that are put in on the way.
pub(crate) fn secrets(merged: &Merged) -> Secrets {
    merged.network.secrets.as_ref().map(|secrets| secrets.value.clone()).unwrap_or_default()
}

/// The sockets of programs on this machine that can be connected to.
pub(crate) fn sockets(merged: &Merged) -> Vec<PathBuf> {
    let home = env::home();
    let from_home = |path: &Path| match (path.strip_prefix("~"), &home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_), None) | (Err(_), _) => path.to_owned(),
    };
    merged.network.sockets.iter().map(|socket| from_home(&socket.value.0)).collect()
}

fn hosts(merged: &Merged) -> Result<Network, Failure> {
    let hosts = Hosts::new(&merged.network, &merged.rules).map_err(|e| Failure::new(USAGE, e.to_string()))?;
    Ok(Network::Hosts(hosts.into()))
}

/// Returns a list of hosts that follows its settings files. `said` is their merged value. The files are read at the first
/// question.
pub(crate) fn following(
    network: Network,
    (locations, flags): (&Locations, &Flags),
    said: impl Fn(&Merged) -> Result<Network, Failure> + Send + Sync + 'static,
) -> Network {
    let Network::Hosts(list) = network else { return network };
    let (locations, flags, said) = (locations.clone(), flags.clone(), Arc::new(said));
    let closed = Arc::new(Hosts::closed(&Source::plain(Layer::BuiltIn)));
    let watched = OnceLock::new();
    Network::Hosts(list.following(move || {
        if watched.get().is_none() {
            let said = Arc::clone(&said);
            let make = move |merged: &Merged| hosts_now(said(merged), merged);
            // Until the files can be read again nothing is reached.
            if let Ok(started) = Watched::start(Ambient::claim(), locations.clone(), flags.clone(), make) {
                let _ = watched.set(started);
            }
        }
        watched.get().map_or_else(|| Arc::clone(&closed), Watched::current)
    }))
}

/// The list while a run lives that began with one. What cannot be carried out any more closes it; nothing makes it more
/// than a list.
fn hosts_now(said: Result<Network, Failure>, merged: &Merged) -> Hosts {
    let source = merged.sandbox.network.as_ref().map(|said| &said.source);
    let closed = || Hosts::closed(source.unwrap_or(&Source::plain(Layer::BuiltIn)));
    match said {
        Ok(Network::Hosts(list)) => Hosts::clone(list.configured()),
        Ok(Network::Host) => Hosts::new(&merged.network, &merged.rules).unwrap_or_else(|_| closed()),
        Ok(Network::Off) | Err(_) => closed(),
    }
}

/// Lets this process have as many connections open as it may. For a program that does nothing else, once its command
/// has started, which keeps the limit that the person's shell has.
pub(crate) fn make_room() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // With fewer descriptors more connections wait.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
