//! Restriction of a session's plan to a boundary: file tools and shells of one request get the same paths.

use std::path::PathBuf;

use pinfold::policy::{Access, FolderChoice, Guards};
use pinfold::{GuardSearch, GuardSearchArea, Plan};
use pinfold_boundary::{Boundary, CacheChoice, CompileError, SandboxMode, SandboxRequest};
use pinfold_sandbox::Temp;

/// The plan of a session that is held to what `boundary` holds its shells to: the places to write, what is guarded,
/// and whether anything may be changed come from there.
///
/// Its folder has to be that of the boundary.
pub fn restrict_to_boundary(plan: Plan, boundary: &Boundary) -> Plan {
    let places = boundary.granted().iter().skip(1).chain(boundary.named());
    let access = if boundary.is_read_only() { Access::ReadOnly } else { plan.access };
    let plan = plan.with_also_writable(places.cloned()).with_guards(boundary.guards()).with_access(access);
    // They have been found.
    plan.with_guard_search(None)
}

/// Boundaries of file tools: like those of shells, but no process is started in them and nothing private is made.
///
/// As a [`GuardSearch`] it gives the same guards to a session that only judges, without a boundary of its own.
#[derive(Debug, Clone, Default)]
pub struct FileBoundaries {
    hidden: Vec<PathBuf>,
}

impl FileBoundaries {
    /// `hidden`: places that are neither read nor written, beside those that are guarded.
    pub fn new(hidden: Vec<PathBuf>) -> Self {
        Self { hidden }
    }

    /// The boundary of a plan, for [`restrict_to_boundary`].
    ///
    /// # Errors
    /// When a folder of the plan does not exist or is none to work in.
    pub fn compile(&self, plan: &Plan) -> Result<Boundary, CompileError> {
        let mut request = self.request(plan.scope.root.clone(), plan.access);
        request.folder_choice = plan.folder_choice.clone();
        request.add.clone_from(&plan.also_writable);
        request.home.clone_from(&plan.home);
        Boundary::compile_for_file_tools(&request, &plan.guards)
    }

    fn request(&self, folder: PathBuf, access: Access) -> SandboxRequest {
        let mut request = SandboxRequest::new(folder.clone());
        request.cwd.clone_from(&folder);
        request.mode = match access {
            Access::ReadOnly => SandboxMode::ReadOnly,
            Access::ReadWrite => SandboxMode::WorkspaceWrite,
            Access::DefaultWrite => SandboxMode::DefaultWrite,
        };
        request.deny_read.clone_from(&self.hidden);
        request.caches = CacheChoice::None;
        request.temp = Temp::Directory(folder);
        request
    }
}

impl GuardSearch for FileBoundaries {
    fn search(&self, area: &GuardSearchArea<'_>) -> Guards {
        // In a folder that is not there nothing leads anywhere, and a file has its own name alone.
        let mut folders = area.folders.iter().filter(|folder| folder.is_dir());
        let Some(first) = folders.next() else { return area.guards.clone() };
        let mut request = self.request(first.clone(), area.access);
        // Whether it can be granted was decided when the session was opened.
        request.folder_choice = FolderChoice::only_judged();
        request.add = folders.cloned().collect();
        request.home = area.home.map(ToOwned::to_owned);
        match Boundary::compile_for_file_tools(&request, area.guards) {
            Ok(boundary) => boundary.guards(),
            Err(error) => {
                let why = error.to_string();
                area.folders
                    .iter()
                    .fold(area.guards.clone(), |guards, folder| guards.with_protected(folder, &why))
            }
        }
    }
}
