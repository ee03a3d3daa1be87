//! Texts that a server is given and that are perhaps paths: which of them the look at the world takes for one.
//!
//! The price of a wrong yes is a question or a refusal that no reader understands, the price of a wrong no is a rule
//! that does not hold. So a text counts where something stands, or could be made, at the place that it would name, and
//! then only for rules and guards that speak of the place; one that begins as a path counts for those wherever it
//! leads.

use std::path::Path;

use pinfold_paths::{Kind, Place, Resolution, Why};
use pinfold_policy::{Assumption, PathClaim, PathFact, PathStatus, PathText, Policy, restricts_place};

/// The weight of a text that is perhaps a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathWeight {
    /// Nothing: it is no path, or none that anything is said about.
    Nothing,
    /// Rules that take something away, and guards.
    RulesAndGuards,
    /// As a path that the call names.
    Full,
}

/// Weighs a claim, by what was found about it. `is_imagined`: the folder of the session does not exist, so that
/// nothing is known about what would stand in it.
pub(crate) fn weigh(
    supposed: Assumption,
    claim: &PathClaim,
    found: &Resolution,
    is_imagined: bool,
) -> PathWeight {
    use Assumption::{Evident, Prose, Reading, Text};
    let writes = claim.operation.writes();
    match (supposed, stands(found)) {
        (_, PlaceState::Unknown)
        | (Reading, PlaceState::There | PlaceState::Dangling | PlaceState::Closed) => PathWeight::Full,
        (Reading, PlaceState::Open { .. }) if writes => PathWeight::Full,
        (Evident, _) | (Text | Prose, PlaceState::There | PlaceState::Dangling) => PathWeight::RulesAndGuards,
        (Text, PlaceState::Open { .. }) | (Prose, PlaceState::Open { in_folder: true }) if writes => {
            PathWeight::RulesAndGuards
        }
        (Text, PlaceState::Open { .. } | PlaceState::Nowhere) if is_imagined => PathWeight::RulesAndGuards,
        (Reading | Text | Prose, PlaceState::Open { .. } | PlaceState::Closed | PlaceState::Nowhere) => {
            PathWeight::Nothing
        }
    }
}

/// Returns true if rules say anything but the name of the server about a place that is only suspected.
pub(crate) fn is_spoken_of(policy: &Policy, fact: &PathFact) -> bool {
    fact.path_status != PathStatus::Suspected || fact.guarded.is_some() || restricts_place(policy, fact)
}

/// Returns true if a text can be a path for a declared scope, which does not speak of places but of all of them.
pub(crate) fn counts_in_a_scope(supposed: Assumption, claim: &PathClaim, found: &Resolution) -> bool {
    use Assumption::{Evident, Prose, Reading, Text};
    let text = |path: &PathText| path.as_os_str().as_encoded_bytes().contains(&b'/');
    let names_a_folder = claim.path.as_ref().is_some_and(text);
    match (supposed, stands(found)) {
        (Evident, _) | (_, PlaceState::There | PlaceState::Dangling | PlaceState::Unknown) => true,
        (Reading, PlaceState::Open { .. }) => claim.operation.writes(),
        (Text, PlaceState::Open { .. }) => claim.operation.writes() && names_a_folder,
        (Prose, PlaceState::Open { .. })
        | (Reading | Text | Prose, PlaceState::Closed | PlaceState::Nowhere) => false,
    }
}

/// The thing at the place that a text would name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceState {
    There,
    /// A link that leads to nothing, through which something can be made.
    Dangling,
    /// Nothing, in a folder that is there. `in_folder`: and that is not the root.
    Open {
        in_folder: bool,
    },
    /// Something that the kernel keeps from every process of this user, or that only other users could mean.
    Closed,
    /// Nothing, and nothing can be made there by opening it.
    Nowhere,
    /// Unknown.
    Unknown,
}

fn stands(found: &Resolution) -> PlaceState {
    let place: &Place = match found {
        Resolution::Contained(place) => place,
        Resolution::Outside(place) => place,
        Resolution::Unresolved(lost) => return no_place(lost.why),
    };
    match place.kind() {
        Kind::Missing { missing_dirs: 0 } => {
            let folder = place.real().parent();
            PlaceState::Open { in_folder: folder.is_some_and(|folder| folder.parent().is_some()) }
        }
        Kind::Missing { .. } => PlaceState::Nowhere,
        Kind::File { .. } | Kind::Directory | Kind::Link | Kind::Special(_) => PlaceState::There,
    }
}

fn no_place(why: Why) -> PlaceState {
    match why {
        Why::Empty
        | Why::Nul
        | Why::TooLong
        | Why::LinkLoop
        | Why::NotADirectory
        | Why::ClimbsFromMissing
        | Why::NoHome => PlaceState::Nowhere,
        Why::Denied | Why::OtherUsersHome | Why::WorkingDirectory => PlaceState::Closed,
        Why::Dangling => PlaceState::Dangling,
        // Among them what nobody knows yet.
        _ => PlaceState::Unknown,
    }
}

/// `~ana/x` where the person is `ana`: the same as `~/x`, which programs that look up users take it for.
pub(crate) fn expand_own_home(path: &PathText, home: &Path) -> Option<PathText> {
    let text = path.as_os_str().to_str()?.strip_prefix('~')?;
    let (user, rest) = text.split_at(text.find('/').unwrap_or(text.len()));
    (!user.is_empty() && home.file_name()? == user).then(|| PathText::new(format!("~{rest}")))
}
