//! The digest that ties a yes to a call: over the call and everything that it was judged by.
//!
//! It holds the exact input, who calls and from where, each place as it was resolved, and the state of every file whose
//! content matters to the call: what is read or replaced, and what a command line names. A file that changes while
//! an approver decides makes another digest. What a command only writes on the side is left out: its log may grow.

use std::fmt::Write as _;
use std::path::PathBuf;

use pinfold_paths::{Kind, LastLink, Place, Resolution, Version};
use pinfold_policy::{Operation, Origin, PathClaim, PathFact, Preview, ToolCall};
use sha2::{Digest as _, Sha256};

use crate::judgement::Judgement;
use crate::session::Shared;

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
    for script in scripts(shared, judged) {
        part(format!("{script:?}").as_bytes());
    }
    sha.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn seen(is_shown: bool, fact: &PathFact, operation: Operation, found: &Resolution) -> String {
    let version = place(found).and_then(Place::version).filter(|_| is_shown);
    let state = version.map(|v: Version| (v.id(), v.modified_ns(), v.changed_ns(), v.len()));
    let what = (operation, &fact.asked, &fact.real, &fact.standing, fact.kind, fact.names, state);
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
    let mut same = call.touches.iter().filter(|touch| Some(&touch.place) == claim.path.as_ref());
    same.any(|touch| matches!(touch.preview, Preview::Text(_)) && touch.operation == claim.operation)
}

fn place(found: &Resolution) -> Option<&Place> {
    match found {
        Resolution::Contained(place) => Some(place),
        Resolution::Outside(place) => Some(place),
        Resolution::Unresolved(_) => None,
    }
}

/// The most words of a command line that are looked up as files.
const MOST_WORDS: usize = 64;

/// The files that a command line names anywhere, in the state they are in: programs by path and scripts among them.
fn scripts(shared: &Shared, judged: &Judgement<'_>) -> Vec<(PathBuf, Option<Version>)> {
    let start =
        shared.hosts.shells.as_ref().map_or(shared.bounds.scope.root.as_path(), |shells| shells.folder());
    let words = judged.claims.commands.iter().flat_map(|command| &command.readings);
    let words = words.flat_map(|reading| reading.words.iter().filter_map(|word| word.as_static()));
    let resolved = words.take(MOST_WORDS).filter_map(|word| {
        let found = shared.bounds.line.resolve(start, &pinfold_paths::PathClaim::new(word), LastLink::Follow);
        let place = place(&found)?;
        matches!(place.kind(), Kind::File { .. }).then(|| (place.real().to_owned(), place.version()))
    });
    resolved.collect()
}
