//! The test bed: what the whole-product tests share.

pub mod paths;

/// The embedding guide: its examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/embed.md")]
pub struct EmbedGuide;
