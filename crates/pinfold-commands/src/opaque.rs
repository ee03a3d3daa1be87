//! Parts that were not understood, in a clause for the person and the model.

use pinfold_shell::{Opaque, OpaqueReason};

use super::NotAllowlistable;

/// A part of a line that was not understood, as a reason against allow rules.
pub(super) fn exclusion(opaque: &Opaque) -> NotAllowlistable {
    let why = match &opaque.why {
        OpaqueReason::Character(character) => {
            format!("it holds U+{:04X}, which readers disagree about", u32::from(*character))
        }
        OpaqueReason::Syntax(expected) => format!("the shell would not take it: {expected}"),
        OpaqueReason::Construct(construct) => {
            format!("it holds what is not understood for certain: {construct}")
        }
        OpaqueReason::TooMuch(limit) => format!("it is more than is read: {limit}"),
    };
    NotAllowlistable::new("opaque", why)
}
