//! The test bed: what the whole-product tests share.
//!
//! [`pinfold`](product::pinfold) is the built binary; [`Who`] runs it as the superuser and as an ordinary user;
//! [`Tier`] takes parts of the sandbox away; [`Bed`] is a folder to do it in. Trees, processes and output come from
//! `pinfold-testkit`; [`left_out`](missing::left_out) reports what could not be tried here.

pub mod bed;
pub mod browser;
pub mod cases;
pub mod each;
pub mod expected;
pub mod gate;
pub mod git_bed;
pub mod hostile;
pub mod mcp;
pub mod mcp_http;
pub mod mcp_odd;
pub mod outside;
pub mod paths;
pub mod ports;
pub mod product;
pub mod record;
pub mod terminal;
pub mod tier;
pub mod tmux;
pub mod toolchain;
pub mod ways_in;
pub mod who;

pub use bed::Bed;
pub use pinfold_testkit::{ground, missing, output, processes};
pub use pinfold_tests_macros::each;
pub use tier::Tier;
pub use who::Who;

/// The embedding guide: its examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/embed.md")]
pub struct EmbedGuide;

/// The tutorial about an agent in 20 lines: its examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/your-agent.md")]
pub struct YourAgentGuide;
