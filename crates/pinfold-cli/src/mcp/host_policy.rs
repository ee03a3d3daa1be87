//! The hosts that may be reached for an MCP server over HTTP, and for a login there.

use std::path::Path;
use std::sync::Arc;

use pinfold::policy::hosts::{HostMatch, Hosts};
use pinfold::policy::settings::Flags;
use pinfold::settings::Locations;
use pinfold_host::{Host, WebUrl};
use pinfold_login::{Endpoint, LoginError};
use pinfold_mcp::OriginClient;

use crate::args::{Going, McpProxy, SettingsFlags};
use crate::exit::{FAILED, Failure, REFUSED, USAGE};
use crate::{output, settings};

/// Hosts that settings and the command line allow.
pub(super) struct HostConnector {
    allow_host: Vec<String>,
    settings: SettingsFlags,
    locations: Locations,
}

impl HostConnector {
    pub(super) fn from_proxy_args(wanted: &McpProxy) -> Result<Self, Failure> {
        let new =
            Self::new(&wanted.allow_host, &wanted.settings, wanted.no_settings, wanted.folder.as_deref())?;
        let allow_home = wanted.allow_home && wanted.folder.is_some();
        Ok(Self { locations: new.locations.with_allowed_home(allow_home), ..new })
    }

    pub(super) fn from_login_args(going: &Going) -> Result<Self, Failure> {
        Self::new(&going.allow_host, &going.settings, going.no_settings, going.folder.as_deref())
    }

    fn new(
        allow_host: &[String],
        settings: &SettingsFlags,
        no_settings: bool,
        folder: Option<&Path>,
    ) -> Result<Self, Failure> {
        let locations = if no_settings { Locations::default() } else { settings::locations(folder)? };
        Ok(Self { allow_host: allow_host.to_vec(), settings: settings.clone(), locations })
    }

    /// Returns the host list with these hosts added.
    fn hosts_with(&self, named: &[String]) -> Result<Hosts, Failure> {
        let allow_host = self.allow_host.iter().chain(named).cloned().collect();
        let flags = Flags { allow_host, ..self.settings.flags(&[], false) };
        let merged = settings::read(&self.locations, &flags)?.merged;
        Hosts::new(&merged.network, &merged.rules).map_err(|e| Failure::new(USAGE, e.to_string()))
    }

    /// Returns whether a host is allowed without being named.
    pub(super) fn is_allowed(&self, url: &WebUrl) -> Result<bool, Failure> {
        Ok(matches!(self.hosts_with(&[])?.host(url.host(), url.port()), HostMatch::Allowed(_)))
    }

    /// Returns the host list for a host that was named: allowed as that name at that port; a deny rule still denies it.
    pub(super) fn hosts(&self, place: &Endpoint) -> Result<Hosts, Failure> {
        let (host, port) = (place.url().host(), place.url().port());
        let named = match host {
            Host::Address(address) if address.is_ipv6() => format!("[{address}]:{port}"),
            host => format!("{host}:{port}"),
        };
        // This name stands for two addresses, and for no others.
        let here = [format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
        let all: Vec<String> = std::iter::once(named.clone())
            .chain(here.into_iter().filter(|_| place.is_loopback() && matches!(host, Host::Name(_))))
            .collect();
        let hosts = self.hosts_with(&all)?;
        let why = match hosts.host(host, port) {
            HostMatch::Allowed(_) => return Ok(hosts),
            HostMatch::Denied(rule) => format!("the rule `{}` denies it", rule.value),
            HostMatch::Asked(rule) => format!(
                "the rule `{}` needs an approval, and no approver can be asked before it is reached",
                rule.value
            ),
            HostMatch::Unnamed => "the settings do not let it be allowed here".to_owned(),
        };
        Err(Failure::new(REFUSED, format!("{named} is not reached: {why}")))
    }

    pub(super) fn exchange(&self, place: &Endpoint) -> Result<OriginClient, Failure> {
        let hosts = self.hosts(place)?;
        OriginClient::new(place.url().clone(), Arc::new(hosts), None).map_err(|why| Failure::new(FAILED, why))
    }
}

/// Connects to the authorization server of a login: the user agreed to that when they logged in.
impl pinfold_login::Connector for HostConnector {
    fn connect(&self, place: &Endpoint) -> Result<OriginClient, LoginError> {
        HostConnector::exchange(self, place).map_err(trouble)
    }
}

pub(super) fn trouble(failure: Failure) -> LoginError {
    LoginError { message: failure.message, hint: failure.mend }
}

pub(super) fn failure(trouble: LoginError) -> Failure {
    Failure {
        code: FAILED,
        message: output::lines(&trouble.message),
        mend: trouble.hint.map(|mend| output::lines(&mend)),
    }
}

/// A server, as it is named on the command line.
pub(super) fn server(text: &str) -> Result<Endpoint, Failure> {
    Endpoint::parse(text).map_err(|why| {
        let shown = output::visible(text);
        let failure = Failure::new(USAGE, format!("the server at `{shown}` cannot be reached: {why}"));
        if text.starts_with("http:") {
            return failure.mend("write https, or an address of this machine (http://127.0.0.1:PORT/PATH)");
        }
        failure
    })
}
