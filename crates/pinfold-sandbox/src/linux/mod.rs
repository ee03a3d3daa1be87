//! Linux: namespaces and mounts, Landlock, seccomp.

pub(crate) mod filter;
pub(crate) mod init;
pub(crate) mod landlock;
pub(crate) mod plan;
pub(crate) mod relay_sockets;
pub(crate) mod steps;
pub(crate) mod view;
