//! Many rules, compiled so that one call is compared with few of them: commands by their leading words, paths
//! by their leading names.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use pinfold_host::HostPattern;

use crate::pattern::{
    Anchored, Bases, CommandKey, DYNAMIC, DescendantReach, NamePattern, ReachedName, ReachedPaths, Rest,
    names,
};
use crate::rule::{RuleSubject, SourcedRule};
use crate::tool::ToolName;

/// Rules of one effect, compiled. Which of two matching rules is found is not said; that one matches is.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    rules: Vec<Arc<SourcedRule>>,
    tools: HashMap<Box<str>, usize>,
    commands: CommandNode,
    paths: PathNode,
    /// Patterns that start with `**`, by the name they end with.
    tails: HashMap<Box<[u8]>, Vec<PathRule>>,
    /// Rules for commands whose patterns hold operators.
    with_operators: Vec<usize>,
    hosts: Vec<(HostPattern, usize)>,
    skills: Vec<(NamePattern, usize)>,
    agents: Vec<(NamePattern, usize)>,
    mcp: Vec<(NamePattern, usize)>,
}

/// Equality of the rules, wherever their patterns are measured from.
impl PartialEq for RuleSet {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

/// The words that have to follow, and the rule that says so.
type RuleSuffix = (Rest, usize);

/// Endings by the bytes that they begin with, all of one length.
type ByStart = HashMap<Box<[u8]>, Vec<RuleSuffix>>;

/// Rules found by the words so far.
#[derive(Debug, Clone, Default)]
struct CommandNode {
    next: HashMap<Box<[u8]>, CommandNode>,
    rests: Vec<RuleSuffix>,
    /// Rests that are globs, by what they start with: the lengths in use, and the rests of each start.
    starts: Vec<(usize, ByStart)>,
}

/// Rules found by the names so far.
#[derive(Debug, Clone, Default)]
struct PathNode {
    next: HashMap<Box<[u8]>, PathNode>,
    rules: Vec<PathRule>,
}

#[derive(Debug, Clone)]
struct PathRule {
    tool: ToolName,
    pattern: Anchored,
    anchored: bool,
    index: usize,
}

/// A path rule that matches.
#[derive(Debug, Clone, Copy)]
pub struct PathMatch<'a> {
    /// The tool it names.
    pub tool: ToolName,
    /// Set if it names its start.
    pub anchored: bool,
    /// The rule.
    pub rule: &'a Arc<SourcedRule>,
}

impl RuleSet {
    /// Compiles rules, with their patterns measured from `bases`.
    pub fn compile(rules: impl IntoIterator<Item = Arc<SourcedRule>>, bases: &Bases) -> Self {
        let mut set = Self::default();
        for rule in rules {
            set.add(rule, bases);
        }
        set
    }

    pub(crate) fn add(&mut self, rule: Arc<SourcedRule>, bases: &Bases) {
        let index = self.rules.len();
        match rule.rule.covers() {
            RuleSubject::Tool(name) => drop(self.tools.entry(name.as_str().into()).or_insert(index)),
            RuleSubject::Command(pattern) => {
                self.commands.add(pattern.leading(), pattern.rest(), index);
                if pattern.has_operator() {
                    self.with_operators.push(index);
                }
            }
            RuleSubject::Path(tool, pattern) => {
                let anchored = pattern.is_anchored();
                for pattern in pattern.anchored(bases) {
                    self.add_path(PathRule { tool: *tool, pattern, anchored, index });
                }
            }
            RuleSubject::Host(pattern) => self.hosts.push((pattern.clone(), index)),
            RuleSubject::Skill(pattern) => self.skills.push((pattern.clone(), index)),
            RuleSubject::Agent(pattern) => self.agents.push((pattern.clone(), index)),
            RuleSubject::Mcp(pattern) => self.mcp.push((pattern.clone(), index)),
        }
        self.rules.push(rule);
    }

    fn add_path(&mut self, rule: PathRule) {
        match rule.pattern.last_name() {
            Some(name) if rule.pattern.leading.is_empty() => {
                self.tails.entry(name.into()).or_default().push(rule);
            }
            _ => self.paths.add(rule),
        }
    }

    /// Every rule, in the order they were given.
    pub fn rules(&self) -> &[Arc<SourcedRule>] {
        &self.rules
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rule that covers every call of a tool.
    pub fn tool(&self, name: &str) -> Option<&Arc<SourcedRule>> {
        self.rules.get(*self.tools.get(name)?)
    }

    /// A rule for commands that `accept` takes, too. It is asked about each that matches the words.
    pub fn command(
        &self,
        key: &CommandKey,
        accept: impl Fn(&SourcedRule) -> bool,
    ) -> Option<&Arc<SourcedRule>> {
        let taken = |index: &usize| self.rules.get(*index).filter(|rule| accept(rule));
        let mut node = &self.commands;
        for at in 0..=key.len() {
            if let Some(found) = node.matches(key, at).find_map(|index| taken(&index)) {
                return Some(found);
            }
            node = node.next.get(key.nth_word(at)?)?;
        }
        None
    }

    /// Returns `true` if a rule for commands could match, were it known what some words become: its words are those of the
    /// command up to an unknown one.
    pub fn may_match(&self, key: &CommandKey) -> bool {
        let mut node = &self.commands;
        for at in 0..key.len() {
            let Some(word) = key.nth_word(at) else { return false };
            if word.contains(&DYNAMIC) {
                return !node.next.is_empty() || !node.rests.is_empty() || !node.starts.is_empty();
            }
            let Some(next) = node.next.get(word) else { return false };
            node = next;
        }
        false
    }

    /// Returns a rule for commands whose program is named anywhere in a text.
    pub fn named_in(&self, text: &str) -> Option<&Arc<SourcedRule>> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
        let programs = &self.commands.next;
        if programs.is_empty() {
            return None;
        }
        let node = text.split(|c| !plain(c)).find_map(|word| programs.get(word.as_bytes()))?;
        self.rules.get(node.any()?)
    }

    /// Returns the rules for commands whose patterns hold operators: they can only mean a whole line.
    pub fn with_operators(&self) -> impl Iterator<Item = &Arc<SourcedRule>> {
        self.with_operators.iter().filter_map(|index| self.rules.get(*index))
    }

    /// Every path rule that matches an absolute path without links. `covers_below`: a pattern without wildcards
    /// covers what lies beneath it too.
    pub fn path<'a>(&'a self, path: &Path, covers_below: bool) -> Vec<PathMatch<'a>> {
        if self.paths.is_empty() && self.tails.is_empty() {
            return Vec::new();
        }
        let all: Vec<&[u8]> = names(path).collect();
        let mut found: Vec<&PathRule> = Vec::new();
        let tails = all.last().and_then(|last| self.tails.get(*last)).into_iter().flatten();
        found.extend(tails.filter(|rule| rule.pattern.rest_matches(&all, covers_below)));
        self.paths.find(&all, covers_below, &mut found);
        let matched = |rule: &PathRule| {
            let found = self.rules.get(rule.index)?;
            Some(PathMatch { tool: rule.tool, anchored: rule.anchored, rule: found })
        };
        found.into_iter().filter_map(matched).collect()
    }

    /// Returns `true` if there are rules for paths.
    pub fn has_paths(&self) -> bool {
        !self.paths.is_empty() || !self.tails.is_empty()
    }

    /// A rule for paths, whatever they match, that `accept` takes by the tool it names.
    pub(crate) fn any_path(&self, accept: impl Fn(ToolName) -> bool) -> Option<&Arc<SourcedRule>> {
        self.path_rules().find(|rule| accept(rule.tool)).and_then(|rule| self.rules.get(rule.index))
    }

    /// A rule for paths that a path may be meant by, when it reaches more than itself. `accept` takes the tool it names.
    pub(crate) fn path_that_may_match(
        &self,
        path: &Path,
        reached: ReachedPaths,
        accept: impl Fn(ToolName) -> bool,
    ) -> Option<&Arc<SourcedRule>> {
        let names = ReachedName::read(path, reached.wild);
        let near = self.paths.collect_near(&names, reached.below != DescendantReach::No);
        let mut rules = near.into_iter().chain(self.tails.values().flatten());
        let found = rules.find(|rule| accept(rule.tool) && rule.pattern.may_meet(&names, reached, true))?;
        self.rules.get(found.index)
    }

    /// Every pattern for paths, with the tool that its rule names.
    pub(crate) fn path_patterns(&self) -> impl Iterator<Item = (ToolName, &Anchored, &Arc<SourcedRule>)> {
        let with_rule = |rule: &PathRule| self.rules.get(rule.index);
        self.path_rules().filter_map(move |rule| Some((rule.tool, &rule.pattern, with_rule(rule)?)))
    }

    fn path_rules(&self) -> impl Iterator<Item = &PathRule> {
        self.paths.collect_near(&[], true).into_iter().chain(self.tails.values().flatten())
    }

    /// A rule for a host.
    pub fn host(&self, host: &str) -> Option<&Arc<SourcedRule>> {
        self.first(&self.hosts, |pattern| pattern.matches(host))
    }

    /// Returns `true` if there are rules for hosts.
    pub fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// A rule for a skill.
    pub fn skill(&self, name: &str) -> Option<&Arc<SourcedRule>> {
        self.first(&self.skills, |pattern| pattern.matches(name))
    }

    /// A rule for a type of agent.
    pub fn agent(&self, name: &str) -> Option<&Arc<SourcedRule>> {
        self.first(&self.agents, |pattern| pattern.matches(name))
    }

    /// A rule for an MCP tool.
    pub fn mcp(&self, name: &str) -> Option<&Arc<SourcedRule>> {
        self.first(&self.mcp, |pattern| pattern.matches(name))
    }

    fn first<P>(&self, patterns: &[(P, usize)], matches: impl Fn(&P) -> bool) -> Option<&Arc<SourcedRule>> {
        patterns.iter().find(|(pattern, _)| matches(pattern)).and_then(|(_, index)| self.rules.get(*index))
    }
}

impl CommandNode {
    /// Any of the rules below.
    fn any(&self) -> Option<usize> {
        let mut waiting = vec![self];
        while let Some(node) = waiting.pop() {
            let started = node.starts.iter().flat_map(|(_, by_start)| by_start.values().flatten());
            if let Some((_, index)) = node.rests.iter().chain(started).next() {
                return Some(*index);
            }
            waiting.extend(node.next.values());
        }
        None
    }

    fn add(&mut self, leading: &[Box<str>], rest: &Rest, index: usize) {
        if let [word, after @ ..] = leading {
            return self.next.entry(word.as_bytes().into()).or_default().add(after, rest, index);
        }
        let start = match rest {
            Rest::Glob(glob) => glob.literal_prefix(),
            Rest::End | Rest::Anything => &[],
        };
        if start.is_empty() {
            return self.rests.push((rest.clone(), index));
        }
        let length = start.len();
        if !self.starts.iter().any(|(own, _)| *own == length) {
            self.starts.push((length, HashMap::new()));
        }
        if let Some((_, by_start)) = self.starts.iter_mut().find(|(own, _)| *own == length) {
            by_start.entry(start.into()).or_default().push((rest.clone(), index));
        }
    }

    /// The rules that match what follows the first `at` words.
    fn matches<'a>(&'a self, key: &'a CommandKey, at: usize) -> impl Iterator<Item = usize> + 'a {
        let started = self.starts.iter().flat_map(move |(length, by_start)| {
            key.text_after(at).get(..*length).and_then(|start| by_start.get(start)).into_iter().flatten()
        });
        let all = self.rests.iter().chain(started);
        all.filter(move |(rest, _)| rest.matches(key, at)).map(|(_, index)| *index)
    }
}

impl PathNode {
    fn is_empty(&self) -> bool {
        self.next.is_empty() && self.rules.is_empty()
    }

    fn add(&mut self, rule: PathRule) {
        let mut node = self;
        for name in &rule.pattern.leading {
            node = node.next.entry(name.clone()).or_default();
        }
        node.rules.push(rule);
    }

    /// The rules whose leading names may be the first ones of a path that is reached and, if what lies `below` it is reached too,
    /// those that go on from there.
    fn collect_near<'a>(&'a self, names: &[ReachedName<'_>], below: bool) -> Vec<&'a PathRule> {
        let mut found = Vec::new();
        let mut waiting = vec![(self, names)];
        while let Some((node, left)) = waiting.pop() {
            found.extend(&node.rules);
            match left.split_first() {
                Some((ReachedName::Plain(name), after)) => {
                    waiting.extend(node.next.get(*name).map(|next| (next, after)));
                }
                Some((name, after)) => {
                    let next = node.next.iter().filter(|(own, _)| name.may_be(own));
                    waiting.extend(next.map(|(_, next)| (next, after)));
                }
                None if below => waiting.extend(node.next.values().map(|next| (next, left))),
                None => {}
            }
        }
        found
    }

    fn find<'a>(&'a self, names: &[&[u8]], covers_below: bool, found: &mut Vec<&'a PathRule>) {
        let mut node = self;
        let mut left = names;
        loop {
            found.extend(node.rules.iter().filter(|rule| rule.pattern.rest_matches(left, covers_below)));
            let Some((name, after)) = left.split_first() else { return };
            let Some(next) = node.next.get(*name) else { return };
            (node, left) = (next, after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Effect, Rule};
    use crate::source::{Layer, Source};

    const RULES: &[&str] = &[
        "Read(./a/b/**)",
        "Read(./a/b/c)",
        "Edit(./a*/x)",
        "Read(./.hidden/k)",
        "Read(//etc/**)",
        "Read(//w/ab/*.rs)",
        "Read(~/.ssh/**)",
        "Edit(**/*.pem)",
        "Read(**/.env)",
        "Read(./ü/ö)",
    ];

    const PATHS: &[&str] = &[
        "/",
        "/w",
        "/w/a",
        "/w/a/b",
        "/w/a/b/c",
        "/w/a/b/c/d",
        "/w/*",
        "/w/*/b",
        "/w/a/*",
        "/w/?/b/c",
        "/w/[ab]/b",
        "/w/ab/*.rs",
        "/w/**/x",
        "/w/.h*/k",
        "/*/ab",
        "/etc",
        "/e*/passwd",
        "/home/u/.ssh/id",
        "/home/*/.ssh",
        "/w/x.pem",
        "/w/*.pem",
        "/w/ü",
        "/w/?/ö",
        "/w/\u{fc}*/ö",
        "/w/a\\b",
    ];

    #[test]
    fn a_look_down_the_tree_finds_what_a_look_at_every_rule_does() {
        let bases = Bases { cwd: "/w".into(), project: "/w".into(), home: vec!["/home/u".into()] };
        let reaches = [false, true].into_iter().flat_map(|wild| {
            let below = [DescendantReach::No, DescendantReach::Anchored, DescendantReach::Yes].into_iter();
            below.flat_map(move |below| [false, true].map(|visible| ReachedPaths { wild, below, visible }))
        });
        let (mut found, mut none) = (0, 0);
        for reached in reaches {
            for path in PATHS.iter().map(Path::new) {
                for text in RULES {
                    let rule = Rule::parse(text).unwrap();
                    let rule = SourcedRule { effect: Effect::Deny, rule, source: Source::plain(Layer::User) };
                    let set = RuleSet::compile([Arc::new(rule)], &bases);
                    let names = ReachedName::read(path, reached.wild);
                    let meets = set.path_rules().any(|rule| rule.pattern.may_meet(&names, reached, true));
                    let walked = set.path_that_may_match(path, reached, |_| true).is_some();
                    assert_eq!(walked, meets, "{text} {} {reached:?}", path.display());
                    *(if meets { &mut found } else { &mut none }) += 1;
                }
            }
        }
        assert!(found > 100 && none > 100, "{found} {none}");
    }
}
