//! Comparison of the server name (SNI) of a TLS `ClientHello` with the host that a connection is for.

use pinfold_host::Host;

use crate::policy::EgressViolation;

/// Why a `ClientHello` with this server name may not be relayed to a host. SNI has no form for addresses (RFC 6066 §3).
pub(crate) fn violation(name: Option<Host>, host: &Host) -> Option<EgressViolation> {
    match &name {
        Some(named) if named == host => None,
        None if matches!(host, Host::Address(_)) => None,
        Some(_) | None => Some(EgressViolation::ServerName(name)),
    }
}
