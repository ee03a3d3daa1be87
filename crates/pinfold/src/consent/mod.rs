//! Consent: what is shown to whoever can say yes, what they answer, and what an answer covers.
//!
//! A [`Question`](crate::Question) is made into a [`Request`]: plain data that can be shown anywhere. An [`Answer`]
//! names the request by its digest, so that a yes is for what was shown and for nothing else: when it is used the world
//! is looked at again, and another digest is another question.

pub mod answer;
pub mod approver;
mod ask;
mod digest;
mod hooked;
pub mod hooks;
mod kept;
pub mod request;
mod road;
mod scrubbed;
mod theirs;

pub use answer::{Answer, Bound, By, Choice, Via};
pub use approver::{Approver, Asking, Heard};
pub use hooks::{Afterwards, Before, HookCall, HookMoment, Hooks, OnQuestion, Told, Update};
pub use kept::{Kept, Lasts};
pub use request::{
    Act, Asker, Change, Deed, Hunk, OfferShown, PartShown, ProcessShown, Request, WhyAsked, WidthShown,
};
pub use road::{Aside, Caller, Decided};
pub use theirs::{Asks, Theirs};

pub(crate) use ask::{Judged, offer, request};
pub(crate) use digest::digest;
pub(crate) use kept::Keeper;
pub(crate) use road::Given;
