//! Makes a long conversation shorter: what tools answered long ago is left out, from the oldest on.

use crate::model::Message;

/// Bytes of a conversation above which it is made shorter. A model with room for 200 000 tokens takes about four times as
/// many bytes of text.
const MAX_BYTES: usize = 400_000;

/// Number of messages at the end that stay as they are.
const KEPT: usize = 8;

/// Length of the part of a result that stays, so that it is known what it was.
const BEGINNING: usize = 200;

/// Returns `true` if a conversation is so long that something should be left out.
pub(crate) fn is_long(messages: &[Message]) -> bool {
    messages.iter().map(size_of).sum::<usize>() > MAX_BYTES
}

/// Leaves out as much as has to be. Says how many bytes that were.
pub(crate) fn compact(messages: &mut [Message]) -> usize {
    let size: usize = messages.iter().map(size_of).sum();
    let mut over = size.saturating_sub(MAX_BYTES);
    let mut gone = 0;
    let old = messages.len().saturating_sub(KEPT);
    for message in messages.iter_mut().take(old) {
        let Message::Results { results } = message else { continue };
        for result in results {
            if over == 0 {
                return gone;
            }
            let saved = shorten(&mut result.text);
            over = over.saturating_sub(saved);
            gone += saved;
        }
    }
    gone
}

fn shorten(text: &mut String) -> usize {
    let before = text.len();
    if before <= BEGINNING * 2 {
        return 0;
    }
    let mut at = BEGINNING;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    text.truncate(at);
    text.extend(["\n[", &(before - at).to_string(), " bytes were left out later; call again for them]"]);
    before.saturating_sub(text.len())
}

fn size_of(message: &Message) -> usize {
    match message {
        Message::User { text } => text.len(),
        Message::Model(turn) => {
            let inputs = turn.calls.iter().map(|call| call.input.to_string().len());
            turn.text.len() + inputs.sum::<usize>()
        }
        Message::Results { results } => results.iter().map(|result| result.text.len()).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Answered, CallOutcome};

    fn result(bytes: usize) -> Message {
        let text = "é".repeat(bytes / 2);
        let one = Answered { id: "1".into(), short: "Read(a)".into(), how: CallOutcome::Allowed, text };
        Message::Results { results: vec![one] }
    }

    #[test]
    fn what_is_old_is_left_out_first_and_what_is_new_stays() {
        let mut messages = vec![Message::User { text: "do it".into() }];
        messages.extend((0..20).map(|_| result(50_001)));
        let before: usize = messages.iter().map(size_of).sum();
        let gone = compact(&mut messages);
        let after: usize = messages.iter().map(size_of).sum();
        assert_eq!(before - after, gone);
        assert!(after <= MAX_BYTES + 50_000, "{after}");
        assert!(size_of(&messages[1]) < 1000, "the oldest is gone");
        assert!(messages.iter().rev().take(KEPT).all(|message| size_of(message) == 50_000));
        assert_eq!(compact(&mut [result(300)]), 0);
    }
}
