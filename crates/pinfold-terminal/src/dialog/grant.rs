//! The page of a standing grant, to be read and narrowed before it is given.

use std::ops::Range;

use pinfold::consent::answer::RuleFile;
use pinfold::consent::{Choice, GrantOptionsShown, PartShown, ScopeShown};
use pinfold_render::{Block, Tone, note};

use crate::sheet::{Scroll, Sheet};
use crate::surface::{Key, KeyCode};

/// A grant that is being looked at.
#[derive(Debug)]
pub(crate) struct GrantPage<'a> {
    offer: &'a GrantOptionsShown,
    kind: GrantKind,
    pub(crate) scroll: Scroll<'a>,
    /// As much of [`WORD`] as was typed.
    pub(crate) word: String,
}

/// The word that confirms a permanent rule.
const WORD: &str = "always";

#[derive(Clone, Debug)]
enum GrantKind {
    /// For the session: which scope.
    Session(usize),
    /// For good.
    Always {
        /// Index of the chosen scope, for each part.
        scopes: Vec<usize>,
        /// The part that keys are about.
        part: usize,
        file: RuleFile,
    },
}

impl<'a> GrantPage<'a> {
    pub(crate) fn session(offer: &'a GrantOptionsShown) -> Self {
        Self::new(offer, GrantKind::Session(offer.first_beyond_yes()))
    }

    pub(crate) fn always(offer: &'a GrantOptionsShown) -> Self {
        let usual = |part: &PartShown| part.usual.min(part.scopes.len().saturating_sub(1));
        let scopes = offer.always.iter().map(usual).collect();
        Self::new(offer, GrantKind::Always { scopes, part: 0, file: RuleFile::Local })
    }

    fn new(offer: &'a GrantOptionsShown, kind: GrantKind) -> Self {
        let mut grant = Self { offer, kind, scroll: Scroll::new(Sheet::default(), 0), word: String::new() };
        let (blocks, _) = grant.blocks();
        let needed = blocks.len();
        grant.scroll = Scroll::new(Sheet::new(blocks), needed);
        grant
    }

    /// The answer as it stands.
    pub(crate) fn choice(&self) -> Choice {
        match &self.kind {
            GrantKind::Session(scope) => Choice::session(*scope),
            GrantKind::Always { scopes, file, .. } => Choice::Always { scopes: scopes.clone(), file: *file },
        }
    }

    /// Returns the title of the dialog while this page is open.
    pub(crate) fn title(&self) -> &'static str {
        match self.kind {
            GrantKind::Session(_) => "yes, in this session",
            GrantKind::Always { .. } => "always allow",
        }
    }

    /// Returns the line for the confirming key, and its meaning.
    pub(crate) fn deed(&self) -> String {
        let rules = |scopes: &[usize]| match scopes.len() {
            1 => "this rule".to_owned(),
            count => format!("these {count} rules"),
        };
        match &self.kind {
            GrantKind::Session(_) => "enter  Yes, and this until the session ends".to_owned(),
            GrantKind::Always { scopes, .. } if self.is_confirmable() => {
                format!("enter  Yes, and write {}", rules(scopes))
            }
            GrantKind::Always { scopes, .. } => {
                format!("to write {} type {WORD}: {}_", rules(scopes), self.word)
            }
        }
    }

    /// Returns `true` if enter confirms it.
    pub(crate) fn is_confirmable(&self) -> bool {
        matches!(self.kind, GrantKind::Session(_)) || self.word == WORD
    }

    /// Returns `true` if a key belongs to the confirming word.
    pub(crate) fn takes(&self, key: Key) -> bool {
        match key.code {
            KeyCode::Backspace => !self.word.is_empty(),
            KeyCode::Char(c) if !key.ctrl && !key.alt && matches!(self.kind, GrantKind::Always { .. }) => {
                WORD.chars().nth(self.word.len()) == Some(c.to_ascii_lowercase())
            }
            _ => false,
        }
    }

    /// A key of the word that is asked for.
    pub(crate) fn letter(&mut self, key: Key) {
        match key.code {
            KeyCode::Backspace => drop(self.word.pop()),
            KeyCode::Char(c) => self.word.push(c.to_ascii_lowercase()),
            _ => {}
        }
    }

    /// The keys that change it, as far as there is something to change.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        let (parts, scopes, files) = match &self.kind {
            GrantKind::Session(_) => {
                (1, self.offer.session.len().saturating_sub(self.offer.first_beyond_yes()), 1)
            }
            GrantKind::Always { part, .. } => {
                let scopes = self.offer.always.get(*part).map_or(0, |part| part.scopes.len());
                (self.offer.always.len(), scopes, self.offer.files.len())
            }
        };
        let all =
            [("esc back", true), ("←→ scope", scopes > 1), ("↑↓ rule", parts > 1), ("tab file", files > 1)];
        all.into_iter().filter(|(_, is_there)| *is_there).map(|(key, _)| key).collect()
    }

    /// Returns `true` if a key changes it.
    pub(crate) fn changes(&self, key: Key) -> bool {
        let always = matches!(self.kind, GrantKind::Always { .. });
        match key.code {
            KeyCode::Left | KeyCode::Right => true,
            KeyCode::Up | KeyCode::Down => always,
            KeyCode::Tab => always && self.offer.files.len() > 1,
            _ => false,
        }
    }

    /// A key that changes it. What was typed of the word was meant for what it was.
    pub(crate) fn key(&mut self, key: Key, width: u16) {
        let offer = self.offer;
        self.word.clear();
        match (&mut self.kind, key.code) {
            (GrantKind::Session(at), code) => {
                let Some(to) = moved(*at, code, offer.session.len()) else { return };
                *at = to.max(offer.first_beyond_yes());
            }
            (GrantKind::Always { part, .. }, KeyCode::Up) => *part = part.saturating_sub(1),
            (GrantKind::Always { part, .. }, KeyCode::Down) => {
                *part = (*part + 1).min(offer.always.len().saturating_sub(1));
            }
            (GrantKind::Always { file, .. }, KeyCode::Tab) if offer.files.len() > 1 => {
                *file = match file {
                    RuleFile::Local => RuleFile::User,
                    RuleFile::User => RuleFile::Local,
                };
            }
            (GrantKind::Always { scopes, part, .. }, code) => {
                let count = offer.always.get(*part).map_or(0, |part| part.scopes.len());
                let Some(at) = scopes.get_mut(*part) else { return };
                let Some(to) = moved(*at, code, count) else { return };
                *at = to;
            }
        }
        self.refresh(width, key.code == KeyCode::Tab);
    }

    fn refresh(&mut self, width: u16, shows_file: bool) {
        let (blocks, chosen) = self.blocks();
        let needed = blocks.len();
        self.scroll.replace(Sheet::new(blocks), width, needed);
        let shown = if shows_file { needed.saturating_sub(2)..needed } else { chosen };
        self.scroll.reveal(shown);
    }

    /// All that has to be seen before it is given, and which blocks of it keys are about.
    fn blocks(&self) -> (Vec<Block<'a>>, Range<usize>) {
        match &self.kind {
            GrantKind::Session(at) => {
                let blocks = self.session_blocks(*at);
                let all = 0..blocks.len();
                (blocks, all)
            }
            GrantKind::Always { scopes, part, file } => self.always_blocks(scopes, *part, *file),
        }
    }

    fn session_blocks(&self, at: usize) -> Vec<Block<'a>> {
        let Some(scope) = self.offer.session.get(at) else { return Vec::new() };
        let mut blocks = vec![Block::inline("allows", &scope.says).tone(Tone::Strong)];
        let first = self.offer.first_beyond_yes();
        let count = self.offer.session.len().saturating_sub(first);
        blocks.extend(examples(scope, at.saturating_sub(first), count));
        blocks.push(Block::prose("until", "the session ends"));
        blocks
    }

    fn always_blocks(
        &self,
        scopes: &[usize],
        chosen: usize,
        file: RuleFile,
    ) -> (Vec<Block<'a>>, Range<usize>) {
        let (mut blocks, mut range) = (Vec::new(), 0..0);
        for (i, (part, at)) in self.offer.always.iter().zip(scopes).enumerate() {
            let Some(scope) = part.scopes.get(*at) else { continue };
            let begins = blocks.len();
            let is_chosen = i == chosen && self.offer.always.len() > 1;
            let sign = if is_chosen { '>' } else { ' ' };
            blocks.push(Block::inline("for", &part.part).sign(sign));
            blocks.push(Block::inline("rule", &scope.says).tone(Tone::Strong));
            if i == chosen {
                blocks.extend(examples(scope, *at, part.scopes.len()));
                range = begins..blocks.len();
            }
        }
        let (number, whose) = match file {
            RuleFile::Local => (0, "your own settings for this project"),
            RuleFile::User => (1, "your own settings for every project"),
        };
        blocks.extend(self.offer.files.get(number).map(|file| Block::inline("into", file)));
        blocks.push(note(whose));
        (blocks, range)
    }
}

/// Returns the blocks for a scope, with examples of calls that it lets through.
fn examples(scope: &ScopeShown, at: usize, of: usize) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    if of > 1 {
        blocks.push(Block::prose("scope", format!("{} of {of}", at + 1)).tone(Tone::Faint));
    }
    for (words, calls) in [("also allows", &scope.also), ("still asks", &scope.still_asks)] {
        if !calls.is_empty() {
            blocks.push(note(words));
            blocks.extend(calls.iter().map(|call| Block::inline("", call)));
        }
    }
    blocks
}

/// Narrower is left, wider is right.
fn moved(at: usize, code: KeyCode, count: usize) -> Option<usize> {
    match code {
        KeyCode::Left => Some(at.saturating_sub(1)),
        KeyCode::Right => Some((at + 1).min(count.saturating_sub(1))),
        _ => None,
    }
}
