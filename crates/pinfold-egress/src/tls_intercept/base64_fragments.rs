//! Base64 fragments of a secret: the characters that depend on its bytes alone, wherever it is inside a longer text.
//!
//! Within credentials a secret begins at one of three offsets of a base64 group, and its neighbours change only the
//! characters at its ends. [RFC 4648 §4](https://www.rfc-editor.org/rfc/rfc4648#section-4)

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::redactor::Replacement;

/// Returns the fragments of a secret at each offset in both alphabets, each with the replacement at the same offset.
pub(super) fn fragments<'a>(secret: &'a str, original: &'a str) -> impl Iterator<Item = Replacement> + 'a {
    (0..3).flat_map(move |before| {
        [STANDARD, URL_SAFE].into_iter().map(move |alphabet| {
            let fragment = |text: &str| {
                let encoded = alphabet.encode([&vec![0; before], text.as_bytes()].concat());
                // Six bits a character: from the first that begins within the text to the last that ends within it.
                let (from, to) = ((before * 8).div_ceil(6), (before + text.len()) * 8 / 6);
                encoded.get(from..to).unwrap_or_default().to_owned()
            };
            (fragment(secret), fragment(original))
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_fragment_is_found_whatever_surrounds_the_secret(
            secret in "[!-~]{8,60}",
            user in "[ -~]{0,7}",
            behind in "[ -~]{0,300}",
            cut in 0usize..40,
        ) {
            let login = format!("{user}{secret}{behind}");
            for alphabet in [STANDARD, URL_SAFE] {
                let mut sent = alphabet.encode(&login);
                // The end may be truncated, as long as the secret is whole.
                let needed = ((user.len() + secret.len()) * 8).div_ceil(6);
                sent.truncate(sent.len().saturating_sub(cut).max(needed));
                prop_assert!(fragments(&secret, "x").any(|(part, _)| sent.contains(&part)), "{sent}");
            }
        }
    }
}
