//! Temporary trees, processes and output, for the tests of every crate.
//!
//! [`TempTree`] is a directory to try something in; [`bash`] starts a shell that harms nothing; [`ground`] finds where a directory
//! stays visible inside a run; [`processes`] finds, waits for and signals processes; [`output`] shows what a program printed; [`scripts`] makes random scripts and runs them; [`left_out`](missing::left_out)
//! reports what could not be tried here.
//!
//! Imports no crate of ours, so that unit tests can use it. Approvers, rules and sessions are in `pinfold-gate-testkit`.

pub mod bash;
pub mod ground;
pub mod missing;
pub mod output;
pub mod processes;
pub mod scripts;
pub mod tree;

pub use tree::TempTree;
