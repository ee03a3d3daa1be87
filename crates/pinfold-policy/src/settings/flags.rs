//! Flags of the command line, as a layer of settings like any other.

use pinfold_host::HostRule;

use super::{AllowRules, BadSetting, BadSettings, Settings};
use crate::mode::Mode;
use crate::rule::Rule;
use crate::source::{Layer, Located, Source};

/// Flags that stand for settings, as they were given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    /// `--permission-mode`.
    pub permission_mode: Option<String>,
    /// `--add-dir`.
    pub add_dir: Vec<String>,
    /// `--allowedTools`: rules, with commas or blanks between them.
    pub allowed_tools: Vec<String>,
    /// `--disallowedTools`: as above.
    pub disallowed_tools: Vec<String>,
    /// `--allow-bash`.
    pub allow_bash: bool,
    /// `--allow-host`.
    pub allow_host: Vec<String>,
}

impl Flags {
    /// The flags as settings.
    ///
    /// # Errors
    /// [`BadSettings`]: every flag that cannot be meant.
    pub fn settings(&self) -> Result<Settings, BadSettings> {
        let mut settings = Settings::silent(Layer::CommandLine);
        let mut bad = Vec::new();
        let says = &mut settings.says;
        says.allow_bash = self.allow_bash.then(|| located(true));
        says.permissions.default_mode = self.mode().unwrap_or_else(|wrong| {
            bad.push(wrong);
            None
        });
        says.permissions.additional_directories = self.add_dir.iter().cloned().map(located).collect();
        says.permissions.allow = AllowRules(rules("--allowedTools", &self.allowed_tools, &mut bad));
        says.permissions.deny = rules("--disallowedTools", &self.disallowed_tools, &mut bad);
        says.network.allow = hosts(&self.allow_host, &mut bad);
        if bad.is_empty() { Ok(settings) } else { Err(BadSettings { text: "".into(), bad }) }
    }

    fn mode(&self) -> Result<Option<Located<Mode>>, BadSetting> {
        let Some(word) = &self.permission_mode else { return Ok(None) };
        let mode = Mode::parse_chosen(word).map_err(|why| wrong("--permission-mode", &why, ""))?;
        Ok(Some(located(mode)))
    }
}

fn rules(flag: &str, lists: &[String], bad: &mut Vec<BadSetting>) -> Vec<Located<Rule>> {
    let mut rules = Vec::new();
    for text in lists.iter().flat_map(|list| separate_rules(list)) {
        match Rule::parse_written(text) {
            Ok(rule) => rules.push(located(rule)),
            Err(no) => bad.push(wrong(flag, &format!("`{}` is no rule: {}", no.text, no.why), &no.mend)),
        }
    }
    rules
}

fn hosts(texts: &[String], bad: &mut Vec<BadSetting>) -> Vec<Located<HostRule>> {
    let mut hosts = Vec::with_capacity(texts.len());
    for text in texts {
        match HostRule::parse(text) {
            Ok(host) => hosts.push(located(host)),
            Err(no) => {
                bad.push(wrong("--allow-host", &format!("`{}` names no host: {}", no.text, no.why), no.mend));
            }
        }
    }
    hosts
}

/// The rules of a list: between them stand commas or blanks, which within brackets belong to a rule.
pub fn separate_rules(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let parts = list.split(move |c: char| {
        match c {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.filter(|part| !part.is_empty())
}

fn located<T>(value: T) -> Located<T> {
    Located { value, source: Source::plain(Layer::CommandLine) }
}

fn wrong(flag: &str, what: &str, mend: &str) -> BadSetting {
    BadSetting {
        source: Source::plain(Layer::CommandLine),
        span: 0..0,
        what: format!("{flag}: {what}"),
        mend: mend.to_owned(),
    }
}
