//! The port to the fetcher of pages, which an embedder that knows the network provides.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use pinfold_host::{Host, UnreachableAddress};

/// The fetcher of a session's pages, with all that is kept from one fetch to the next. The gate only carries it;
/// the tool that performs the call finds it again in the targets of the permit.
pub trait WebHost: Any + Debug + Send + Sync {
    /// The same for an agent below: it keeps nothing of this one's, and what it fetches is counted by itself.
    fn fork(&self) -> Arc<dyn WebHost>;

    /// Returns the address that a host was found to lead to a short time ago, where no approval of the host opens it: no
    /// approver is asked about that host again.
    fn refused_address(&self, host: &Host, port: u16) -> Option<UnreachableAddress> {
        let _ = (host, port);
        None
    }
}
