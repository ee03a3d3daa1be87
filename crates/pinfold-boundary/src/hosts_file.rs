//! The machine's own file of hosts: programs read it before they ask for a name, and connect to the address that stands
//! there. An allowed name that stands there would never be asked for, and the connection would belong to no name.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use pinfold_host::Name;
use pinfold_policy::hosts::Hosts;
use pinfold_sandbox::Profile;

use crate::access_list::Hold;
use crate::builder::BoundaryBuilder;
use crate::request::SandboxRequest;

/// [hosts(5)](https://man7.org/linux/man-pages/man5/hosts.5.html)
const FILE: &str = "/etc/hosts";

impl BoundaryBuilder {
    /// Replaces `/etc/hosts` for the run by a copy without the allowed names, where it has some: those are resolved by DNS then
    /// like others. Outside, they resolve as the file says.
    pub(crate) fn hosts_file(&mut self, request: &SandboxRequest, hosts: &Hosts, profile: &mut Profile) {
        let own = rustix::system::uname();
        let own = own.nodename().to_string_lossy();
        let Some(text) =
            fs::read_to_string(FILE).ok().and_then(|text| remove_allowed_names(&text, hosts, &own))
        else {
            return;
        };
        match write(request, &text) {
            Ok(file) => {
                profile.visible.push(file.clone());
                let why = "allowed names that stand in it are looked up by the relay";
                self.places.add(Path::new(FILE).to_owned(), Hold::CoveringLink(file), why);
            }
            Err(error) => {
                self.findings
                    .notes
                    .push(format!("allowed names that stand in {FILE} are not found: {error}"));
            }
        }
    }
}

fn write(request: &SandboxRequest, text: &str) -> io::Result<PathBuf> {
    let file = fs::canonicalize(request.private.path()?)?.join("hosts");
    fs::write(&file, text)?;
    Ok(file)
}

/// The file without allowed names; `None` where it has none. What stands for this machine itself stays.
fn remove_allowed_names(text: &str, hosts: &Hosts, own: &str) -> Option<String> {
    let lines: Vec<String> = text.lines().filter_map(|line| line_without(line, hosts, own)).collect();
    (lines.len() != text.lines().count() || lines.iter().ne(text.lines())).then(|| lines.join("\n") + "\n")
}

/// A line as it stays; `None` when nothing of it does.
fn line_without(line: &str, hosts: &Hosts, own: &str) -> Option<String> {
    let entry = line.split('#').next().unwrap_or_default();
    let mut words = entry.split_ascii_whitespace();
    let address = words.next();
    let is_own =
        address.and_then(|word| word.parse::<IpAddr>().ok()).is_none_or(|at| at.to_canonical().is_loopback());
    let is_allowed = |name: &&str| *name != own && Name::parse(name).is_some_and(|name| hosts.knows(&name));
    let (allowed, others): (Vec<&str>, Vec<&str>) = words.partition(is_allowed);
    match (address, allowed.is_empty() || is_own, others.is_empty()) {
        (None, ..) | (_, true, _) => Some(line.to_owned()),
        (Some(_), false, true) => None,
        (Some(address), false, false) => Some(format!("{address} {}", others.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pinfold_policy::Layer;
    use pinfold_policy::settings::Settings;

    use super::*;

    #[test]
    fn allowed_names_are_taken_out_and_all_else_stays() {
        let said = r#"{"network": {"allow": ["db.test", "*.wide.test"]}}"#;
        let said = Settings::parse(said.as_bytes(), Layer::User, &Arc::from("f")).unwrap().says.network;
        let hosts = Hosts::new(&said, &[]).unwrap();
        let text = "# the machine\n127.0.0.1 localhost db.test\n10.0.0.9 own.wide.test own\n10.0.0.5\tDB.test other.test # here\n\
                    10.0.0.6 a.wide.test\n::1 localhost\nfe80::1%lo b.wide.test\nno line\n\n";
        let left = "# the machine\n127.0.0.1 localhost db.test\n10.0.0.9 own.wide.test own\n10.0.0.5 other.test\n\
                    ::1 localhost\nfe80::1%lo b.wide.test\nno line\n\n";
        assert_eq!(remove_allowed_names(text, &hosts, "own.wide.test").as_deref(), Some(left));
        assert_eq!(
            remove_allowed_names(left, &hosts, "own.wide.test"),
            None,
            "nothing is left to be taken out"
        );
        assert_eq!(remove_allowed_names("", &hosts, "own"), None);
    }
}
