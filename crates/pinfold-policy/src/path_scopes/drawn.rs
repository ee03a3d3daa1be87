//! Sections with every entry resolved: what each call is compared with.

use std::path::{Path, PathBuf};

use pinfold_commands::Operation;

use super::bad::BadScope;
use super::entry::ScopeEntry;
use super::expand::{self, ExpandContext, tidy};
use super::no::{ScopeViolation, ScopeViolationReason};
use super::section::{List, ListKind, McpEffect, ScopeSubject, ToolScope, ToolScopes};
use super::terminal::Unauditable;
use crate::mcp::{McpCall, McpClass};
use crate::source::Source;

/// Every declared scope that holds for a session. A call has to pass each of them: adding one only narrows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathScopes {
    scopes: Vec<Drawn>,
}

/// One tool of one section.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Drawn {
    key: String,
    covers: ScopeSubject,
    enabled: bool,
    lists: Vec<DrawnList>,
    allow_metacharacters: bool,
    operations: Vec<(String, McpEffect)>,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DrawnList {
    kind: ListKind,
    entries: Vec<ScopeEntry>,
}

/// The tool of a call, as sections name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopedTool<'a> {
    /// A shell.
    Terminal,
    /// The file tools.
    File,
    /// Code that is run as it stands.
    CodeExecution,
    /// An MCP tool, by its full name.
    Mcp(&'a str),
}

/// One path of a call after a look at the world.
#[derive(Debug, Clone, Copy)]
pub struct ScopedPath<'a> {
    /// The operation on it.
    pub operation: Operation,
    /// The path as written, absolute; it may hold `..`.
    pub asked: &'a Path,
    /// The place that it leads to.
    pub leads: ScopedTarget<'a>,
    /// The path does not exist.
    pub missing: bool,
    /// Upper and lower case are the same there.
    pub folds_case: bool,
    /// The certainty that a path is meant.
    pub mention: PathMention,
    /// Names that a shell fills in below it, as a pattern.
    pub pattern: Option<&'a str>,
}

/// The place that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopedTarget<'a> {
    /// Here, with every link followed; a dangling link leads to where it points.
    To(&'a Path),
    /// The path cannot exist: a name is too long, or a file is where a folder would have to be.
    Nowhere,
    /// Not known: a loop of links, a link of `/proc`, a folder that may not be searched.
    Unknown,
}

/// The certainty that a word means a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathMention {
    /// A path for certain.
    Named,
    /// Perhaps a word like any other; it counts if the path exists.
    Perhaps,
    /// A program of the system in the place of a program, or a standard stream: only a denied list speaks of it.
    System,
}

impl ToolScopes {
    /// Expands every entry and resolves it once. `resolve` says where an absolute path leads, links followed, with
    /// what is missing kept as written; its error is a clause.
    ///
    /// # Errors
    /// [`BadScope`] when an entry cannot be expanded or resolved: a line that is not known is not drawn by guess.
    pub fn draw(
        &self,
        source: &Source,
        around: &ExpandContext,
        resolve: &dyn Fn(&Path) -> Result<PathBuf, String>,
    ) -> Result<PathScopes, BadScope> {
        let scopes = self.scopes.iter().map(|scope| draw(scope, source, around, resolve));
        Ok(PathScopes { scopes: scopes.collect::<Result<_, _>>()? })
    }
}

fn draw(
    scope: &ToolScope,
    source: &Source,
    around: &ExpandContext,
    resolve: &dyn Fn(&Path) -> Result<PathBuf, String>,
) -> Result<Drawn, BadScope> {
    let list = |list: &List| {
        let key = format!("tools.{}.{}", scope.key, list.kind.key());
        let entry = |(i, written): (usize, &String)| {
            let bad = |(problem, hint)| BadScope { key: format!("{key}[{i}]"), problem, hint };
            let spelled = expand::entry(written, around).map_err(bad)?;
            let real = resolve(&spelled).map_err(|why| {
                bad((format!("`{written}` leads nowhere: {why}"), "name another place".to_owned()))
            })?;
            Ok(ScopeEntry { written: written.clone(), spelled, real })
        };
        let entries = list.entries.iter().enumerate().map(entry).collect::<Result<_, _>>()?;
        Ok(DrawnList { kind: list.kind, entries })
    };
    Ok(Drawn {
        key: scope.key.clone(),
        covers: scope.covers.clone(),
        enabled: scope.enabled,
        lists: scope.lists.iter().map(list).collect::<Result<_, _>>()?,
        allow_metacharacters: scope.allow_metacharacters,
        operations: scope.operations.clone(),
        source: source.clone(),
    })
}

impl PathScopes {
    /// Both: what one of them refuses is refused.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.scopes.extend(other.scopes);
        self
    }

    /// Returns `true` if nothing is declared for a tool: then nothing has to be looked at for it.
    pub fn is_silent(&self, tool: ScopedTool<'_>) -> bool {
        self.scopes_for(tool).next().is_none()
    }

    /// The no to the tool as such.
    pub fn tool_no(&self, tool: ScopedTool<'_>) -> Option<ScopeViolation> {
        self.scopes_for(tool)
            .find(|scope| !scope.enabled)
            .map(|scope| scope.no(ScopeViolationReason::Off, "enabled", Vec::new()))
    }

    /// The no to one path.
    pub fn path_no(&self, tool: ScopedTool<'_>, touched: &ScopedPath<'_>) -> Option<ScopeViolation> {
        let spelled = tidy(touched.asked);
        let whole = takes_all(tool, touched.operation);
        self.scopes_for(tool).find_map(|scope| scope.path_no(touched, &spelled, whole))
    }

    /// The no to a text with parts that cannot be audited.
    pub fn text_no(&self, tool: ScopedTool<'_>, unauditable: &[Unauditable]) -> Option<ScopeViolation> {
        let first = unauditable.first()?;
        let strict = self.scopes_for(tool).find(|scope| scope.restricts() && !scope.allow_metacharacters)?;
        let why = ScopeViolationReason::Unauditable(first.clone());
        Some(strict.no(why, "allow_metacharacters", strict.allowed_for(Operation::Read)))
    }

    /// Returns the denial of a call of an MCP tool as such: it is switched off, its operation is unknown, or an
    /// argument that may be a path is none.
    pub fn mcp_no(&self, call: &McpCall) -> Option<ScopeViolation> {
        let tool = ScopedTool::Mcp(&call.name);
        if let Some(no) = self.tool_no(tool) {
            return Some(no);
        }
        let strict = self.scopes_for(tool).find(|scope| scope.restricts())?;
        let no = |why, key: &str| Some(strict.no(why, key, strict.allowed_for(Operation::Read)));
        if self.mcp_class(call) == McpClass::Unknown {
            return no(ScopeViolationReason::UnknownOperation, "operations");
        }
        let odd = call.odd().first()?;
        no(ScopeViolationReason::NoPath(odd.field.clone()), strict.first_key(Operation::Write))
    }

    /// Returns the class of an MCP operation: the declared one, and otherwise the one of its name. Of several words the
    /// strictest counts.
    pub fn mcp_class(&self, call: &McpCall) -> McpClass {
        let said = self.scopes_for(ScopedTool::Mcp(&call.name)).flat_map(|scope| &scope.operations);
        let operation = call.tool.to_lowercase();
        match (said.filter(|(own, _)| *own == operation).map(|(_, effect)| *effect).max(), call.class()) {
            (Some(McpEffect::Read), _) => McpClass::Read,
            (
                Some(McpEffect::Write),
                McpClass::Read | McpClass::List | McpClass::Search | McpClass::Unknown,
            ) => McpClass::Write,
            (Some(McpEffect::Write) | None, class) => class,
        }
    }

    /// Returns `true` if a resolved path lies under a denied place of the tool: a search passes over it.
    pub fn denies(&self, tool: ScopedTool<'_>, real: &Path, folds_case: bool) -> bool {
        self.scopes_for(tool).any(|scope| scope.denied(real, folds_case).is_some())
    }

    fn scopes_for<'a>(&'a self, tool: ScopedTool<'a>) -> impl Iterator<Item = &'a Drawn> {
        self.scopes.iter().filter(move |scope| scope.covers.matches(tool))
    }
}

/// Returns `true` if the operation takes everything below a folder with it. Our own searches pass over what is denied; those
/// of others do not.
fn takes_all(tool: ScopedTool<'_>, operation: Operation) -> bool {
    match operation {
        Operation::Delete | Operation::MoveFrom | Operation::CopyFrom => true,
        Operation::Search => matches!(tool, ScopedTool::Mcp(_)),
        Operation::Read
        | Operation::List
        | Operation::Write
        | Operation::Edit
        | Operation::Patch
        | Operation::Create
        | Operation::MakeDir
        | Operation::Link
        | Operation::MoveTo
        | Operation::CopyTo
        | Operation::HandOver => false,
    }
}

impl ScopeSubject {
    fn matches(&self, tool: ScopedTool<'_>) -> bool {
        match (self, tool) {
            (Self::Terminal, ScopedTool::Terminal)
            | (Self::File, ScopedTool::File)
            | (Self::CodeExecution, ScopedTool::CodeExecution) => true,
            (Self::Mcp(pattern), ScopedTool::Mcp(name)) => pattern.matches(&name.to_lowercase()),
            (Self::Terminal | Self::File | Self::CodeExecution | Self::Mcp(_), _) => false,
        }
    }
}

impl Drawn {
    fn no(&self, why: ScopeViolationReason, key: &str, allowed: Vec<String>) -> ScopeViolation {
        ScopeViolation {
            why,
            list: format!("tools.{}.{key}", self.key),
            allowed,
            source: self.source.clone(),
        }
    }

    /// Returns `true` if it draws any line at all. An empty denied list draws none, an empty allowed list the narrowest.
    fn restricts(&self) -> bool {
        self.lists.iter().any(|list| list.kind != ListKind::Denied || !list.entries.is_empty())
    }

    fn lists(&self, kind: ListKind) -> impl Iterator<Item = &DrawnList> {
        self.lists.iter().filter(move |list| list.kind == kind)
    }

    /// The allowed lists that an operation has to satisfy. What may not be read may not be written either, so
    /// without a list for writing the one for reading speaks.
    fn speaking(&self, operation: Operation) -> impl Iterator<Item = &DrawnList> {
        let own = if operation.writes() && self.lists(ListKind::AllowedWrite).next().is_some() {
            ListKind::AllowedWrite
        } else {
            ListKind::AllowedRead
        };
        self.lists.iter().filter(move |list| list.kind == ListKind::Allowed || list.kind == own)
    }

    fn allowed_for(&self, operation: Operation) -> Vec<String> {
        self.speaking(operation).flat_map(|list| &list.entries).map(|entry| entry.written.clone()).collect()
    }

    fn denied(&self, path: &Path, folds_case: bool) -> Option<&ScopeEntry> {
        self.first_denied(|entry| entry.covers(path, folds_case))
    }

    fn first_denied(&self, wanted: impl Fn(&ScopeEntry) -> bool) -> Option<&ScopeEntry> {
        self.lists(ListKind::Denied).flat_map(|list| &list.entries).find(|entry| wanted(entry))
    }

    fn path_no(&self, touched: &ScopedPath<'_>, spelled: &Path, whole: bool) -> Option<ScopeViolation> {
        self.denied_no(touched, spelled, whole).or_else(|| self.outside_no(touched, spelled))
    }

    fn denied_no(&self, touched: &ScopedPath<'_>, spelled: &Path, whole: bool) -> Option<ScopeViolation> {
        let fold = touched.folds_case;
        let real = if let ScopedTarget::To(real) = touched.leads { Some(real) } else { None };
        let paths = || std::iter::once(spelled).chain(real);
        let under = || self.first_denied(|entry| paths().any(|path| entry.covers(path, fold)));
        let inside =
            || self.first_denied(|entry| paths().any(|path| entry.is_in(path, fold))).filter(|_| whole);
        let met = || {
            let pattern = touched.pattern?;
            self.first_denied(|entry| paths().any(|folder| entry.meets(folder, pattern, fold)))
        };
        let why = |entry: &ScopeEntry, why: fn(String) -> ScopeViolationReason| why(entry.written.clone());
        let why = under()
            .map(|entry| why(entry, ScopeViolationReason::Denied))
            .or_else(|| inside().map(|entry| why(entry, ScopeViolationReason::Holds)))
            .or_else(|| met().map(|entry| why(entry, ScopeViolationReason::MayReach)))?;
        Some(self.no(why, ListKind::Denied.key(), self.allowed_for(touched.operation)))
    }

    fn outside_no(&self, touched: &ScopedPath<'_>, spelled: &Path) -> Option<ScopeViolation> {
        if touched.mention == PathMention::System || !self.restricts() {
            return None;
        }
        let no = |why, list: &str| Some(self.no(why, list, self.allowed_for(touched.operation)));
        let real = match touched.leads {
            ScopedTarget::To(real) => real,
            ScopedTarget::Nowhere => spelled,
            ScopedTarget::Unknown => {
                return no(ScopeViolationReason::Unknown, self.first_key(touched.operation));
            }
        };
        if touched.mention == PathMention::Perhaps && touched.missing && real == spelled {
            return None;
        }
        let fold = touched.folds_case;
        let inside = |list: &DrawnList| {
            [spelled, real].into_iter().all(|path| list.entries.iter().any(|entry| entry.covers(path, fold)))
        };
        let missed = self.speaking(touched.operation).find(|list| !inside(list))?;
        no(ScopeViolationReason::Outside, missed.kind.key())
    }

    /// The list that is named where no single one decides.
    fn first_key(&self, operation: Operation) -> &'static str {
        self.speaking(operation).next().map_or(ListKind::Denied.key(), |list| list.kind.key())
    }
}

/// Path lists for the kernel: those of the terminal, resolved, of every section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelLists {
    /// Each allowed list; a place has to lie in every one of them. None: no restriction.
    pub allowed: Vec<Vec<PathBuf>>,
    /// Places that are neither read nor written.
    pub denied: Vec<PathBuf>,
}

impl PathScopes {
    /// The lists of the terminal, for the kernel.
    pub fn kernel_lists(&self) -> KernelLists {
        let mut lists = KernelLists::default();
        for list in self.scopes_for(ScopedTool::Terminal).flat_map(|scope| &scope.lists) {
            let places = list.entries.iter().map(|entry| entry.real.clone());
            match list.kind {
                ListKind::Denied => lists.denied.extend(places),
                ListKind::Allowed | ListKind::AllowedRead | ListKind::AllowedWrite => {
                    lists.allowed.push(places.collect());
                }
            }
        }
        lists
    }
}
