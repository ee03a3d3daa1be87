//! The digest that ties a yes to a call: over the call and everything that it was judged by.
//!
//! It holds the exact input, who calls and from where, each place as it was resolved, and the state of every file whose
//! content matters to the call: what is read or replaced, and what a command line names ([`scripts`]). A file that changes while
//! an approver decides makes another digest, and of a command line that names too many to look at each digest is another. What a
//! command only writes on the side is left out: its log may grow.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use pinfold_paths::{Place, Resolution, Version};
use pinfold_policy::{Operation, Origin, PathClaim, PathFact, Preview, ToolCall};
use sha2::{Digest as _, Sha256};

use super::scripts;
use crate::judgement::Judgement;
use crate::session::Shared;
use crate::survey::place;

/// Numbers the digests of calls of which not everything was looked up.
static INCOMPLETE: AtomicU64 = AtomicU64::new(0);

/// The digest of a call that was judged, in hexadecimal.
pub(crate) fn digest(shared: &Shared, judged: &Judgement<'_>) -> String {
    let mut sha = Sha256::new();
    // Every part with its length in front, so that no two different lists read the same.
    let mut part = |text: &[u8]| {
        sha.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        sha.update(text);
    };
    part(shared.identity.id.as_bytes());
    part(shared.identity.name.as_bytes());
    part(format!("{:?}", judged.call()).as_bytes());
    part(judged.submission.cwd.as_ref().map_or(b"".as_slice(), |cwd| cwd.as_os_str().as_encoded_bytes()));
    let facts = judged.claims.paths.iter().zip(&judged.survey.facts.paths).zip(&judged.survey.found);
    for ((claim, fact), found) in facts {
        let shown = counts(claim) || shows_what_goes(judged.call(), claim);
        part(seen(shown, fact, claim.operation, found).as_bytes());
    }
    for command in &judged.survey.facts.commands {
        part(format!("{command:?}").as_bytes());
    }
    match scripts::find(shared, judged) {
        Some(scripts) => scripts.iter().for_each(|script| part(format!("{script:?}").as_bytes())),
        // A yes is for what is known of this moment, and no other has it.
        None => part(&INCOMPLETE.fetch_add(1, Ordering::Relaxed).to_le_bytes()),
    }
    sha.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn seen(is_shown: bool, fact: &PathFact, operation: Operation, found: &Resolution) -> String {
    let version = place(found).and_then(Place::version).filter(|_| is_shown);
    let state = version.map(|v: Version| (v.id(), v.modified_ns(), v.changed_ns(), v.len()));
    let what = (operation, &fact.asked, &fact.real, &fact.path_status, fact.kind, fact.names, state);
    format!("{what:?}")
}

/// Returns true if the content of the file is part of what is approved.
fn counts(claim: &PathClaim) -> bool {
    match claim.origin {
        Origin::Call | Origin::Foreign | Origin::Supposed(_) => true,
        // Nobody is shown what a process will write, nor over what.
        Origin::Command(_) | Origin::Aside(_) | Origin::Process => !claim.operation.writes(),
    }
}

/// Returns true if the content that goes from there is shown beside the content that comes.
fn shows_what_goes(call: &ToolCall, claim: &PathClaim) -> bool {
    let ToolCall::Process(call) = call else { return false };
    let mut same = call.effects.iter().filter(|touch| Some(&touch.place) == claim.path.as_ref());
    same.any(|touch| matches!(touch.preview, Preview::Text(_)) && touch.operation == claim.operation)
}
