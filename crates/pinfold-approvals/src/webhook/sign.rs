//! Signatures: HMAC-SHA256 (RFC 2104) over the body and its context.

use std::fmt;
use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The shared secret.
#[derive(Clone)]
pub(super) struct SigningKey(Vec<u8>);

/// The version prefix of a signature.
const VERSION: &str = "v1=";

impl SigningKey {
    pub(super) fn new(secret: &str) -> Self {
        Self(secret.as_bytes().to_owned())
    }

    /// Signs these parts. Each but the last has no line feed, so that no two lists have the same encoding.
    pub(super) fn sign(&self, parts: &[&str]) -> String {
        let mut signature = VERSION.to_owned();
        if let Some(mac) = self.mac(parts) {
            for byte in mac.finalize().into_bytes() {
                let _ = write!(signature, "{byte:02x}");
            }
        }
        signature
    }

    /// Verifies a signature of these parts, in constant time.
    pub(super) fn is_signed(&self, parts: &[&str], signature: &str) -> bool {
        let bytes = signature.strip_prefix(VERSION).and_then(bytes);
        let (Some(bytes), Some(mac)) = (bytes, self.mac(parts)) else { return false };
        mac.verify_slice(&bytes).is_ok()
    }

    fn mac(&self, parts: &[&str]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                mac.update(b"\n");
            }
            mac.update(part.as_bytes());
        }
        Some(mac)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits = hexadecimal.as_bytes();
    let whole = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
    let two = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if whole { digits.chunks(2).map(two).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_for_these_parts_and_this_key() {
        let key = SigningKey::new("a secret of some length");
        let parts = ["request", "1700000000", "nonce", "{}"];
        let signature = key.sign(&parts);
        assert!(key.is_signed(&parts, &signature));
        assert!(!key.is_signed(&["request", "1700000001", "nonce", "{}"], &signature));
        assert!(!SigningKey::new("another secret").is_signed(&parts, &signature));
        for wrong in
            ["", "v1=", "v1=00", &signature[3..], &signature.replace("v1=", "v2="), &format!("{signature}0")]
        {
            assert!(!key.is_signed(&parts, wrong), "{wrong}");
        }
    }

    /// The example in the manual, for other implementations to compare.
    #[test]
    fn the_example_of_the_manual_holds() {
        let key = SigningKey::new("correct horse battery staple");
        let signature = key.sign(&["request", "1700000000", "n", "{}"]);
        let manual = include_str!("../../../../docs/approvals.md");
        assert!(manual.contains(&signature), "{signature}");
    }
}
