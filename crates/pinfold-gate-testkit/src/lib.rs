//! Approvers, rules and sessions, for the integration tests of the gate and of every crate above it.
//!
//! [`TestApprover`] answers by a list or a function and keeps what it was asked; [`rules`] makes rules and policies from
//! text; [`calls`] makes calls; [`session`] opens sessions with a journal in memory; [`request`] makes a request where no
//! session does. Shells that count as held are [`AssumedShells`](pinfold::AssumedShells) of the gate itself.
//!
//! Not for unit tests of the gate or of a crate below: those have types of their own, which these are no more. For them
//! there is `pinfold-testkit`.

pub mod approver;
pub mod calls;
pub mod request;
pub mod rules;
pub mod session;

pub use approver::{TestApprover, answer};
