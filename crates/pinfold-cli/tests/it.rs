//! The tests of this crate from outside, as one program: a file of tests is a module here.

mod kit;

mod agents;
mod call;
mod check;
mod control_characters;
mod export;
mod folder_choice;
mod hook_output;
mod hooks;
mod import;
mod learn;
mod log;
mod permissions;
mod profile;
mod project_servers;
mod replay;
mod serve;
mod settings;
mod setup;
mod why;
