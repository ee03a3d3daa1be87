//! What the tests do that [`each`](pinfold_tests_macros::each) makes: try a function where that is possible.

use crate::{Tier, Who};

/// As a user, when this process can be that one.
pub fn try_as(who: Who, test: impl FnOnce(Who)) {
    if who.is_present() {
        println!("{who}");
        test(who);
    }
}

/// On a tier, as whoever runs the tests.
pub fn try_on(tier: Tier, test: impl FnOnce(Tier)) {
    println!("{tier}");
    test(tier);
}

/// As a user on a tier, when this machine lets that user have it.
pub fn try_as_on(who: Who, tier: Tier, test: impl FnOnce(Who, Tier)) {
    if who.is_present() && tier.is_possible_for(who) {
        println!("{who}, {tier}");
        test(who, tier);
    }
}
