//! What stands of a text in the base64 of a longer one: the characters that its bytes alone decide.
//!
//! Within a login the text can begin at any of three places of a group, and what stands before and behind it changes the
//! characters at its ends alone.
//! [RFC 4648](https://www.rfc-editor.org/rfc/rfc4648#section-4)

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::echo::Told;

/// What is to be looked for in place of a secret, each with what the program inside could have written there: at each place
/// where a group can begin, in both alphabets.
pub(super) fn fragments<'a>(secret: &'a str, said: &'a str) -> impl Iterator<Item = Told> + 'a {
    (0..3).flat_map(move |before| {
        [STANDARD, URL_SAFE].into_iter().map(move |alphabet| {
            let of = |text: &str| {
                let encoded = alphabet.encode([&vec![0; before], text.as_bytes()].concat());
                // Six bits a character: from the first that begins in the text to the last that ends in it.
                let (from, to) = ((before * 8).div_ceil(6), (before + text.len()) * 8 / 6);
                encoded.get(from..to).unwrap_or_default().to_owned()
            };
            (of(secret), of(said))
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_stands_around_a_secret_a_fragment_of_it_is_found(
            secret in "[!-~]{8,60}",
            user in "[ -~]{0,7}",
            behind in "[ -~]{0,300}",
            cut in 0usize..40,
        ) {
            let login = format!("{user}{secret}{behind}");
            for alphabet in [STANDARD, URL_SAFE] {
                let mut sent = alphabet.encode(&login);
                // The end can be missing, as long as the secret itself is whole.
                let needed = ((user.len() + secret.len()) * 8).div_ceil(6);
                sent.truncate(sent.len().saturating_sub(cut).max(needed));
                prop_assert!(fragments(&secret, "x").any(|(part, _)| sent.contains(&part)), "{sent}");
            }
        }
    }
}
