//! The test bed: what the whole-product tests share.

pub mod paths;
