//! Texts that a server is given and that are perhaps paths: which of them the look at the world takes for one.
//!
//! The price of a wrong yes is a question or a refusal that no reader understands, the price of a wrong no is a rule
//! that does not hold. So a text counts where something stands, or could be made, at the place that it would name, and
//! then only for rules and guards that speak of the place; one that begins as a path counts for those wherever it
//! leads.

use std::path::Path;

use pinfold_paths::{Kind, Place, Resolution, Why};
use pinfold_policy::{Assumption, PathClaim, PathFact, PathText, Policy, Standing, restricts_place};

/// The weight of a text that is perhaps a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
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
) -> Weight {
    use Assumption::{Evident, Prose, Reading, Text};
    let writes = claim.operation.writes();
    match (supposed, stands(found)) {
        (_, Stands::Unknown) | (Reading, Stands::There | Stands::Dangling | Stands::Closed) => Weight::Full,
        (Reading, Stands::Open { .. }) if writes => Weight::Full,
        (Evident, _) | (Text | Prose, Stands::There | Stands::Dangling) => Weight::RulesAndGuards,
        (Text, Stands::Open { .. }) | (Prose, Stands::Open { in_folder: true }) if writes => {
            Weight::RulesAndGuards
        }
        (Text, Stands::Open { .. } | Stands::Nowhere) if is_imagined => Weight::RulesAndGuards,
        (Reading | Text | Prose, Stands::Open { .. } | Stands::Closed | Stands::Nowhere) => Weight::Nothing,
    }
}

/// Returns true if rules say anything but the name of the server about a place that is only suspected.
pub(crate) fn is_spoken_of(policy: &Policy, fact: &PathFact) -> bool {
    fact.standing != Standing::Suspected || fact.guarded.is_some() || restricts_place(policy, fact)
}

/// Returns true if a text can be a path for a declared scope, which does not speak of places but of all of them.
pub(crate) fn counts_in_a_scope(supposed: Assumption, claim: &PathClaim, found: &Resolution) -> bool {
    use Assumption::{Evident, Prose, Reading, Text};
    let text = |path: &PathText| path.as_os_str().as_encoded_bytes().contains(&b'/');
    let names_a_folder = claim.path.as_ref().is_some_and(text);
    match (supposed, stands(found)) {
        (Evident, _) | (_, Stands::There | Stands::Dangling | Stands::Unknown) => true,
        (Reading, Stands::Open { .. }) => claim.operation.writes(),
        (Text, Stands::Open { .. }) => claim.operation.writes() && names_a_folder,
        (Prose, Stands::Open { .. }) | (Reading | Text | Prose, Stands::Closed | Stands::Nowhere) => false,
    }
}

/// The thing at the place that a text would name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
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

fn stands(found: &Resolution) -> Stands {
    let place: &Place = match found {
        Resolution::Contained(place) => place,
        Resolution::Outside(place) => place,
        Resolution::Unresolved(lost) => return no_place(lost.why),
    };
    match place.kind() {
        Kind::Missing { missing_dirs: 0 } => {
            let folder = place.real().parent();
            Stands::Open { in_folder: folder.is_some_and(|folder| folder.parent().is_some()) }
        }
        Kind::Missing { .. } => Stands::Nowhere,
        Kind::File { .. } | Kind::Directory | Kind::Link | Kind::Special(_) => Stands::There,
    }
}

fn no_place(why: Why) -> Stands {
    match why {
        Why::Empty
        | Why::Nul
        | Why::TooLong
        | Why::LinkLoop
        | Why::NotADirectory
        | Why::ClimbsFromMissing
        | Why::NoHome => Stands::Nowhere,
        Why::Denied | Why::OtherUsersHome | Why::WorkingDirectory => Stands::Closed,
        Why::Dangling => Stands::Dangling,
        // Among them what nobody knows yet.
        _ => Stands::Unknown,
    }
}

/// `~ana/x` where the person is `ana`: the same as `~/x`, which programs that look up users take it for.
pub(crate) fn expand_own_home(path: &PathText, home: &Path) -> Option<PathText> {
    let text = path.as_os_str().to_str()?.strip_prefix('~')?;
    let (user, rest) = text.split_at(text.find('/').unwrap_or(text.len()));
    (!user.is_empty() && home.file_name()? == user).then(|| PathText::new(format!("~{rest}")))
}
