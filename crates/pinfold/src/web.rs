//! What pages are fetched with: brought along by whoever knows the network, carried by the session.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What pages are fetched with in one session, with all that is kept from one fetch to the next. The gate only carries it;
/// whoever performs the call finds it again in the targets of the permit.
pub trait WebHost: Any + Debug + Send + Sync {
    /// The same for an agent below: it keeps nothing of this one's, and what it fetches is counted by itself.
    fn below(&self) -> Arc<dyn WebHost>;
}
