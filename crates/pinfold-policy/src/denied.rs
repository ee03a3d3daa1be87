//! Paths that deny rules close to every process, as a sandbox needs them: the same rules that calls are judged by.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::pattern::{Anchored, Bases, DescendantReach, ReachedName, ReachedPaths};
use crate::rule::{Effect, Rule, SourcedRule};
use crate::rules::RuleSet;
use crate::source::{Layer, Source};
use crate::tool::ToolName;

/// The deny rules about paths, compiled. A rule on `Read` closes its paths for reading, one on `Edit` or `Write` for writing;
/// one on another tool is about that tool alone.
///
/// A rule without a path (`deny: ["Edit"]`) is not in here but in [`DeniedPaths::writes_nowhere`].
#[derive(Debug, Clone, Default)]
pub struct DeniedPaths {
    rules: Arc<RuleSet>,
}

/// Equality of the rules, wherever their patterns are measured from.
impl PartialEq for DeniedPaths {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

/// One pattern of a rule, measured from the root of the file system.
#[derive(Debug, Clone, Copy)]
pub struct DeniedPattern<'a> {
    pattern: &'a Anchored,
    rule: &'a Arc<SourcedRule>,
}

impl DeniedPaths {
    pub(crate) fn new(rules: Arc<RuleSet>) -> Self {
        Self { rules }
    }

    /// Adds places whose reading is denied too, with everything beneath them: absolute paths, which need not
    /// exist. Wildcards of rules count in them.
    ///
    /// # Errors
    /// The first path that no rule can name, such as one that is not UTF-8.
    pub fn and_places<'p>(&self, places: &'p [PathBuf], layer: Layer) -> Result<Self, &'p Path> {
        let mut rules = (*self.rules).clone();
        for place in places {
            let text = place.to_str().filter(|text| text.starts_with('/')).ok_or(place.as_path())?;
            let rule = Rule::parse(&format!("Read(/{text})")).map_err(|_| place.as_path())?;
            let sourced = SourcedRule { effect: Effect::Deny, rule, source: Source::plain(layer) };
            rules.add(Arc::new(sourced), &Bases::default());
        }
        Ok(Self { rules: Arc::new(rules) })
    }

    /// Returns `true` if no rule denies a path.
    pub fn is_empty(&self) -> bool {
        !self.rules.has_paths()
    }

    /// The rule that denies reading a resolved path.
    pub fn reading(&self, real: &Path) -> Option<&Arc<SourcedRule>> {
        self.rules.path(real, true).into_iter().find(|found| is_read(found.tool)).map(|found| found.rule)
    }

    /// The rule that denies writing a resolved path.
    pub fn writing(&self, real: &Path) -> Option<&Arc<SourcedRule>> {
        self.rules.path(real, true).into_iter().find(|found| writes(found.tool)).map(|found| found.rule)
    }

    /// A rule that denies writing anything.
    pub fn writes_nowhere(&self) -> Option<&Arc<SourcedRule>> {
        self.rules.tool(ToolName::Edit.as_str())
    }

    /// A rule that denies reading anything. No process can be held to it: programs are files.
    pub fn reads_nowhere(&self) -> Option<&Arc<SourcedRule>> {
        self.rules.tool(ToolName::Read.as_str())
    }

    /// Every pattern that denies reading.
    pub fn read_patterns(&self) -> impl Iterator<Item = DeniedPattern<'_>> {
        self.patterns(is_read)
    }

    /// Every pattern that denies writing.
    pub fn write_patterns(&self) -> impl Iterator<Item = DeniedPattern<'_>> {
        self.patterns(writes)
    }

    fn patterns(&self, meant: fn(ToolName) -> bool) -> impl Iterator<Item = DeniedPattern<'_>> {
        let meant = self.rules.path_patterns().filter(move |(tool, ..)| meant(*tool));
        meant.map(|(_, pattern, rule)| DeniedPattern { pattern, rule })
    }
}

fn is_read(tool: ToolName) -> bool {
    tool == ToolName::Read
}

fn writes(tool: ToolName) -> bool {
    matches!(tool, ToolName::Edit | ToolName::Write)
}

impl<'a> DeniedPattern<'a> {
    /// The deepest directory or file that every match lies in or is.
    pub fn place(&self) -> PathBuf {
        let root = PathBuf::from("/");
        let names = self.pattern.leading.iter().map(|name| std::ffi::OsStr::from_bytes(name));
        names.fold(root, |path, name| path.join(name))
    }

    /// Returns `true` if [`DeniedPattern::place`] is denied as a whole, with all that lies beneath it. Else it is what matches below it.
    pub fn is_whole(&self) -> bool {
        self.pattern.is_whole()
    }

    /// Returns `true` if something below a directory may match.
    pub fn may_match_below(&self, directory: &Path) -> bool {
        let names = ReachedName::read(directory, false);
        self.pattern.may_meet(
            &names,
            ReachedPaths { below: DescendantReach::Yes, ..ReachedPaths::default() },
            true,
        )
    }

    /// The pattern from the root of the file system on, with `*`, `?` and `**`.
    pub fn text(&self) -> Vec<u8> {
        self.pattern.text()
    }

    /// The rule.
    pub fn rule(&self) -> &'a SourcedRule {
        self.rule
    }
}
