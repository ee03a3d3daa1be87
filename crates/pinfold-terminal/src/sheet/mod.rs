//! A sheet: texts of others on a screen, so that they can be read and do nothing else.
//!
//! Every line of a sheet has a gutter that no text can make or leave: what stands left of it is ours, what stands right
//! of it is theirs. No text draws on another line than the ones it was given, whatever width a terminal takes its
//! characters for.

mod edge;
mod field;
mod paint;
mod rows;
mod scroll;

pub(crate) use edge::{SMALLEST, draw_rule};
pub(crate) use field::TextInput;
pub use paint::Painter;
pub(crate) use rows::Sheet;
pub(crate) use scroll::Scroll;
