//! A place outside every writable root, held the same way: for reading, and only that.
//!
//! Promise: there is no deed here that changes anything. To write there, widen the [`Line`](crate::Line) by what
//! a person consented to and resolve again.

use std::ops::Deref;

use crate::place::Place;

/// A place outside every writable root.
#[derive(Debug)]
pub struct Outside {
    place: Place,
    disguise: Option<Disguise>,
}

/// How a path that started inside came to lead outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disguise {
    /// Through a link that looks inside.
    Link,
    /// By climbing out with `..`.
    DotDot,
}

impl Outside {
    pub(crate) fn new(place: Place, disguise: Option<Disguise>) -> Self {
        Self { place, disguise }
    }

    /// `None` when the place was plainly named outside; otherwise how the claim, inside at some point, left.
    #[must_use]
    pub fn disguise(&self) -> Option<Disguise> {
        self.disguise
    }
}

impl Deref for Outside {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}
