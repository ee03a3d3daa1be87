//! Restriction of a session's plan to a boundary: file tools and shells of one request get the same paths.

use pinfold::Plan;
use pinfold::policy::Access;
use pinfold_boundary::Boundary;

/// The plan of a session that is held to what `boundary` holds its shells to: the places to write, what is guarded,
/// and whether anything may be changed come from there.
///
/// Its folder has to be that of the boundary.
pub fn restrict_to_boundary(plan: Plan, boundary: &Boundary) -> Plan {
    let places = boundary.granted().iter().skip(1).chain(boundary.named());
    let access = if boundary.is_read_only() { Access::ReadOnly } else { plan.access };
    plan.with_also_writable(places.cloned()).with_guards(boundary.guards()).with_access(access)
}
