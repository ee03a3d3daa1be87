//! A place outside every writable root, held the same way: for reading, until more is approved.
//!
//! Promise: there is no deed here that changes anything. A caller that was allowed to write this very place turns
//! it into a place for deeds by name, [`Outside::consented`]; nothing is looked up again for that.

use std::ops::Deref;

use crate::contained::Contained;
use crate::held_place::Place;

/// A place outside every writable root.
#[derive(Debug)]
pub struct Outside {
    place: Place,
    disguise: Option<Disguise>,
}

/// The way in which a path that started inside came to lead outside.
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

    /// Turns the held place into one for deeds. Only for a call that a rule, a mode or a person let reach beyond the roots;
    /// `None` when the path looked inside and led out, which cannot be approved.
    #[must_use]
    pub fn consented(self) -> Option<Contained> {
        self.disguise.is_none().then(|| Contained::new(self.place))
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
