//! The tests of this crate from outside, as one program: a file of tests is a module here.

mod agents;
mod check;
mod consent;
mod exports;
mod gate;
mod git_dirs;
mod grants;
mod hooks;
mod learn;
mod ledger;
mod mcp_paths;
mod process;
mod record;
mod rules;
mod scripts;
mod settings;
