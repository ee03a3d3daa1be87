//! A place outside every writable root, held the same way: for reading, until somebody consents to more.
//!
//! Promise: there is no deed here that changes anything. Whoever was told that this very place may be written turns
//! it into a place for deeds by name, [`Outside::consented`]; nothing is looked up again for that.

use std::ops::Deref;

use crate::contained::Contained;
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

    /// The same held place, for deeds. Only for a call that a rule, a mode or a person let reach beyond the roots;
    /// `None` when the path looked inside and led out, which nobody can consent to.
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
