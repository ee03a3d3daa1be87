//! Any bytes as what a process inside sends to the relay first, and as a question about a name.
//!
//! Fails when it panics, when more bytes make something else of a connection that was understood, or when a name is answered
//! with more than was asked. The modules are taken by their files, since they are nobody else's.
//!
//! Run with `cargo fuzz run -s none network -- -dict=fuzz/dictionaries/network.dict`.

#![no_main]

#[path = "../../crates/pinfold-egress/src/dns_answer.rs"]
mod dns_answer;
#[path = "../../crates/pinfold-egress/src/fake_ip.rs"]
#[allow(dead_code, reason = "the target takes its part")]
mod fake_ip;
#[path = "../../crates/pinfold-egress/src/sniff.rs"]
#[allow(dead_code, reason = "the target takes its part")]
mod sniff;

use dns_answer::Lookup;
use fake_ip::{FakeIpPool, NameMatch};
use hickory_proto::op::{Message, MessageType};
use libfuzzer_sys::fuzz_target;
use sniff::Sniffed;

fuzz_target!(|bytes: &[u8]| {
    opening(bytes);
    question(bytes);
});

/// Bytes come in pieces: what is said of a piece is not taken back.
fn opening(bytes: &[u8]) {
    let whole = sniff::sniff(bytes, 80);
    for end in (0..bytes.len()).step_by(bytes.len() / 64 + 1) {
        let piece = sniff::sniff(&bytes[..end], 80);
        assert!(
            matches!(piece, Sniffed::Incomplete | Sniffed::UnfinishedLine) || piece == whole,
            "{piece:?}, then {whole:?}: {}",
            bytes.escape_ascii()
        );
    }
}

fn question(bytes: &[u8]) {
    let mut names = FakeIpPool::default();
    let said =
        dns_answer::answer_query(bytes, |name| names.assign(name, &NameMatch::Exact).map_or(Lookup::Unknown, Lookup::Known));
    let Some(said) = said else { return };
    let (asked, said) =
        (Message::from_vec(bytes).expect("it was read"), Message::from_vec(&said).expect("an answer"));
    assert_eq!((said.metadata.id, said.metadata.message_type), (asked.metadata.id, MessageType::Response));
    assert!(said.answers.len() <= 1 && said.authorities.is_empty() && said.additionals.is_empty());
    assert!(said.queries.len() <= 1);
}
