//! MCP servers that a project declares for an agent: none of them is one that the person has allowed, whatever it is
//! called, until the file that declares it is trusted.

use std::path::{Path, PathBuf};

use pinfold::Ambient;
use pinfold::settings::{Locations, TrustError, Widening, look_at};
use pinfold_dialects::{ServerFile, all_server_files, server_files};

/// Returns the reason why a call may be one of a server that is not trusted. `folder`: working directory of the agent.
pub(crate) fn doubt(agent: &str, tool: &str, folder: &Path, locations: &Locations) -> Option<String> {
    // The tools that agents have themselves are called by one word here.
    if !tool.contains(['_', '-']) {
        return None;
    }
    let locations = Locations {
        project: Some(locations.project.clone().unwrap_or_else(|| folder.to_owned())),
        ..locations.clone()
    };
    let folders = folders(folder, &locations);
    let files = server_files(agent).flat_map(|file| folders.iter().map(move |folder| (file, folder)));
    files.into_iter().find_map(|(file, folder)| describe_file(file, &shown(folder, file), tool, &locations))
}

fn describe_file(file: ServerFile, shown: &str, tool: &str, locations: &Locations) -> Option<String> {
    const MEND: &str = "`pinfold trust` shows it and lets it count";
    let cannot = |why: &str| {
        Some(format!("`{shown}` of the project may declare its server, and cannot be read: {why}"))
    };
    let text = match look_at(&Ambient::claim(), locations, shown) {
        Ok(None | Some((_, true))) => return None,
        Ok(Some((text, false))) => text,
        Err(trouble) => return cannot(&trouble.to_string()),
    };
    let servers = match file.servers(&text) {
        Ok(servers) => servers,
        Err(why) => return cannot(&why),
    };
    let server = servers.into_iter().find(|server| server.may_have(tool))?;
    Some(format!(
        "`{shown}` of the project declares the server `{}`, and is not trusted: {MEND}",
        server.name
    ))
}

/// The folders in which an agent looks: where it works, and above it to the top of the project. Each as it is called below
/// the project.
fn folders(folder: &Path, locations: &Locations) -> Vec<PathBuf> {
    let project = locations.project.as_deref().unwrap_or(folder);
    let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let below = folder.strip_prefix(&project).unwrap_or(Path::new("")).to_owned();
    below.ancestors().map(Path::to_owned).collect()
}

fn shown(folder: &Path, file: ServerFile) -> String {
    folder.join(file.path).display().to_string()
}

/// Adds the servers to the output of `pinfold trust`: of its folder, and of those above it in the project.
pub(crate) fn widen(
    widening: &mut Widening,
    ambient: &Ambient,
    locations: &Locations,
    folder: &Path,
) -> Result<(), TrustError> {
    for folder in folders(folder, locations) {
        for (agent, file) in all_server_files() {
            let name = shown(&folder, file);
            widening.add(ambient, locations, &name, |text| {
                let servers = file.servers(text).unwrap_or_default().into_iter();
                servers
                    .map(|server| format!("{name}: server `{}` of {agent}: {}", server.name, server.says))
                    .collect()
            })?;
        }
    }
    Ok(())
}
