//! Which declared path scopes a call is asked about, and with what.

use std::path::Path;

use pinfold_paths::{self as paths, LastLink, Resolution};
use pinfold_policy::path_scopes::{ScopedTool, terminal};
use pinfold_policy::{
    Claims, ForeignCall, McpCall, Operation, Origin, PathClaim, PathText, Policy, ScopeHit, ScopeViolation,
    ToolCall, ToolName,
};

use crate::possible_paths::{counts_in_a_scope, expand_own_home};
use crate::scope_resolution::{denial_text, path_no};
use crate::session::Shared;

/// A call that declared scopes are asked about.
pub(crate) struct ScopeCheck<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) policy: &'a Policy,
    pub(crate) call: &'a ToolCall,
    /// The folder that relative paths start from.
    pub(crate) start: &'a Path,
}

impl ScopeCheck<'_> {
    /// The no to a path that the call itself names; a command's paths are audited as words.
    pub(crate) fn path(&self, operation: Operation, resolution: &Resolution) -> Option<ScopeViolation> {
        let tool = match self.call {
            ToolCall::Foreign(ForeignCall::File { .. }) => ScopedTool::File,
            ToolCall::Process(_) => ScopedTool::Terminal,
            // Of an MCP call all paths are asked about as a whole: only the scope knows what the operation does.
            ToolCall::Mcp(_) | ToolCall::Foreign(_) => return None,
            own if own.tool().is_some_and(ToolName::takes_paths) => ScopedTool::File,
            _ => return None,
        };
        let path_scopes = &self.policy.path_scopes;
        if path_scopes.is_silent(tool) {
            return None;
        }
        path_scopes.tool_no(tool).or_else(|| path_no(path_scopes, tool, operation, resolution))
    }

    /// The no to the call as a whole.
    pub(crate) fn whole(&self, claims: &Claims) -> Option<ScopeHit> {
        let around = &self.policy.around;
        match self.call {
            ToolCall::Mcp(call) => self.mcp(call),
            ToolCall::Foreign(ForeignCall::Code { code }) => {
                self.text(ScopedTool::CodeExecution, || terminal::audit_code(code, self.start, around))
            }
            _ => {
                let script = claims.script.as_ref()?;
                let audit = || terminal::audit(script, &claims.commands, self.start, around);
                self.text(ScopedTool::Terminal, audit)
            }
        }
    }

    fn text(&self, tool: ScopedTool<'_>, audit: impl FnOnce() -> terminal::Audit) -> Option<ScopeHit> {
        let path_scopes = &self.policy.path_scopes;
        if path_scopes.is_silent(tool) {
            return None;
        }
        let no = path_scopes.tool_no(tool).map(ScopeHit::of_all);
        no.or_else(|| {
            let (no, word) = denial_text(path_scopes, tool, &audit(), &self.shared.bounds.line)?;
            Some(ScopeHit { no, word })
        })
    }

    /// Every path that a server is told, by what the person or the name says that the operation does.
    fn mcp(&self, call: &McpCall) -> Option<ScopeHit> {
        let (path_scopes, tool) = (&self.policy.path_scopes, ScopedTool::Mcp(&call.name));
        if path_scopes.is_silent(tool) {
            return None;
        }
        if let Some(no) = path_scopes.mcp_no(call) {
            return Some(ScopeHit::of_all(no));
        }
        let class = path_scopes.mcp_class(call);
        let looked = |claim: PathClaim| {
            let found = self.resolve(&claim);
            if let Origin::Supposed(supposed) = claim.origin
                && !counts_in_a_scope(supposed, &claim, &found)
            {
                return None;
            }
            let no = path_no(path_scopes, tool, claim.operation, &found)?;
            let word = claim.path.map(|path| path.as_os_str().to_string_lossy().into_owned());
            Some(ScopeHit { no, word })
        };
        call.claims(class).into_iter().find_map(looked)
    }

    fn resolve(&self, claim: &PathClaim) -> Resolution {
        let own = claim.path.as_ref().zip(self.shared.bounds.line.home());
        let own = own.and_then(|(path, home)| expand_own_home(path, home));
        let words = own.as_ref().or(claim.path.as_ref());
        let words = words.map_or(self.start.as_os_str(), PathText::as_os_str);
        let last = if claim.operation.follows_last_link() { LastLink::Follow } else { LastLink::Keep };
        self.shared.bounds.line.resolve(self.start, &paths::PathClaim::new(words), last)
    }
}
