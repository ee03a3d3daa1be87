//! Git in a granted folder: its commands work, and nothing done inside makes git outside run code.
//!
//! [`layout`] finds out which directories belong to a repository, and believes a pointer out of the folder only
//! when the place it names points back. [`protect`] writes down what is held. [`config`] reads and edits git's
//! configuration without running git, [`named`] says which paths it names. [`settle`] brings harmless keys back after the run.

pub(crate) mod config;
pub(crate) mod config_files;
pub(crate) mod index;
pub(crate) mod layout;
pub(crate) mod named;
pub(crate) mod operations;
pub(crate) mod person;
pub(crate) mod protect;
pub(crate) mod references;
pub(crate) mod settle;
