//! A list of hosts that may change while a run lives.

use std::fmt;
use std::sync::Arc;

use pinfold_policy::hosts::Hosts;

/// Source of the list that holds now.
type HostSource = dyn Fn() -> Arc<Hosts> + Send + Sync;

/// Hosts that can be reached: a fixed list, or one that follows its settings.
#[derive(Clone)]
pub struct HostList {
    configured: Arc<Hosts>,
    follow: Option<Arc<HostSource>>,
}

impl HostList {
    /// A list that changes. `follow` is asked for each connection, and should cost little where nothing has changed.
    #[must_use]
    pub fn following(self, follow: impl Fn() -> Arc<Hosts> + Send + Sync + 'static) -> Self {
        Self { follow: Some(Arc::new(follow)), ..self }
    }

    /// Returns the list of the settings.
    pub fn configured(&self) -> &Arc<Hosts> {
        &self.configured
    }

    /// The list that holds now.
    pub fn now(&self) -> Arc<Hosts> {
        self.follow.as_ref().map_or_else(|| Arc::clone(&self.configured), |follow| follow())
    }

    /// Takes what holds now for what was said: for another run.
    pub fn renew(&mut self) {
        self.configured = self.now();
    }
}

impl From<Hosts> for HostList {
    /// One that stays as it is.
    fn from(hosts: Hosts) -> Self {
        Self { configured: Arc::new(hosts), follow: None }
    }
}

impl PartialEq for HostList {
    /// Returns whether the same was said.
    fn eq(&self, other: &Self) -> bool {
        self.configured == other.configured
    }
}

impl fmt::Debug for HostList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostList").field("configured", &self.configured).finish_non_exhaustive()
    }
}
