//! Which declared path scopes a call is asked about, and with what.

use std::path::Path;

use pinfold_paths::{self as paths, LastLink, Resolution};
use pinfold_policy::declared::{McpEffect, ScopedTool, terminal};
use pinfold_policy::{
    Claims, DeclaredHit, DeclaredNo, ForeignCall, McpCall, McpClass, Operation, PathClaim, PathText, Policy,
    ShellClaim, ToolCall, ToolName,
};

use crate::declared::{path_no, words_no};
use crate::session::Shared;

/// What declared scopes are asked about.
pub(crate) struct Asked<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) policy: &'a Policy,
    pub(crate) call: &'a ToolCall,
    /// The folder that relative paths start from.
    pub(crate) start: &'a Path,
}

impl Asked<'_> {
    /// The no to a path that the call itself names; a command's paths are audited as words.
    pub(crate) fn path(&self, operation: Operation, resolution: &Resolution) -> Option<DeclaredNo> {
        let tool = match self.call {
            ToolCall::Mcp(call) => ScopedTool::Mcp(&call.name),
            ToolCall::Foreign(ForeignCall::File { .. }) => ScopedTool::File,
            ToolCall::Foreign(_) => return None,
            own if own.tool().is_some_and(ToolName::takes_paths) => ScopedTool::File,
            _ => return None,
        };
        let declared = &self.policy.declared;
        if declared.is_silent(tool) {
            return None;
        }
        declared.tool_no(tool).or_else(|| path_no(declared, tool, operation, resolution))
    }

    /// The no to the call as a whole.
    pub(crate) fn whole(&self, claims: &Claims) -> Option<DeclaredHit> {
        let around = &self.policy.around;
        match self.call {
            ToolCall::Mcp(call) => self.mcp(call).map(DeclaredHit::of_all),
            ToolCall::Foreign(ForeignCall::Code { code }) => {
                self.text(ScopedTool::CodeExecution, || terminal::audit_code(code, self.start, around))
            }
            _ => {
                let said = claims.shell.as_ref().and_then(ShellClaim::said)?;
                let script = || pinfold_policy::shell::parse(said);
                self.text(ScopedTool::Terminal, || terminal::audit(&script(), self.start, around))
            }
        }
    }

    fn text(&self, tool: ScopedTool<'_>, audit: impl FnOnce() -> terminal::Audit) -> Option<DeclaredHit> {
        let declared = &self.policy.declared;
        if declared.is_silent(tool) {
            return None;
        }
        let no = declared.tool_no(tool).map(DeclaredHit::of_all);
        no.or_else(|| {
            let (no, word) = words_no(declared, tool, &audit(), &self.shared.line)?;
            Some(DeclaredHit { no, word })
        })
    }

    /// What a server names beside its plain paths, and what nobody knows about its operation.
    fn mcp(&self, call: &McpCall) -> Option<DeclaredNo> {
        let (declared, tool) = (&self.policy.declared, ScopedTool::Mcp(&call.name));
        if declared.is_silent(tool) {
            return None;
        }
        let class = match declared.mcp_effect(&call.name) {
            Some(McpEffect::Read) => McpClass::Read,
            Some(McpEffect::Write) => McpClass::Write,
            None => call.class(),
        };
        let known = class != McpClass::Unknown;
        let no = declared.tool_no(tool).or_else(|| declared.operation_no(&call.name, known));
        no.or_else(|| {
            let claims = call.claims(class).into_iter().chain(call.unnamed_claims(class));
            let looked = |claim: &PathClaim| path_no(declared, tool, claim.operation, &self.resolve(claim));
            claims.into_iter().find_map(|claim| looked(&claim))
        })
    }

    fn resolve(&self, claim: &PathClaim) -> Resolution {
        let words = claim.path.as_ref().map_or(self.start.as_os_str(), PathText::as_os_str);
        let last = if claim.operation.follows_last_link() { LastLink::Follow } else { LastLink::Keep };
        self.shared.line.resolve(self.start, &paths::PathClaim::new(words), last)
    }
}
