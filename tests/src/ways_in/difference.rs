//! What a way in may say otherwise than the case, and why.

use std::collections::BTreeMap;
use std::fs;

use super::{Seen, data};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The ways that it is for.
    ways: Vec<String>,
    /// What is said there: `decision step`, or `-` where the way has no such call.
    says: Option<(String, String)>,
    /// It holds for every case that expects this: `decision step`, a `*` for any step.
    whenever: Option<(String, String)>,
    /// Why.
    pub because: String,
}

impl Difference {
    /// All of them, by name.
    ///
    /// # Panics
    /// When the data cannot be read.
    pub fn all() -> BTreeMap<String, Self> {
        let text = fs::read_to_string(data("differences.txt")).expect("the differences");
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        lines.map(Self::read).collect()
    }

    fn read(line: &str) -> (String, Self) {
        let fields: Vec<&str> = line.splitn(5, '|').map(str::trim).collect();
        let [name, ways, whenever, says, because] = fields.as_slice() else {
            panic!("five columns: {line}");
        };
        let pair = |text: &str| text.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
        let difference = Self {
            ways: ways.split(", ").map(str::to_owned).collect(),
            whenever: pair(whenever),
            says: pair(says),
            because: (*because).to_owned(),
        };
        ((*name).to_owned(), difference)
    }

    /// Whether it is for a way.
    pub fn is_for(&self, way: &str) -> bool {
        self.ways.iter().any(|known| known == way)
    }

    /// Whether it holds for a case by what that expects, without being named.
    pub fn holds_whenever(&self, decision: &str, step: &str) -> bool {
        self.whenever.as_ref().is_some_and(|(d, s)| d == decision && (s == "*" || s == step))
    }

    /// What is said there; `None` where the way has no such call.
    pub fn seen(&self) -> Option<Seen> {
        self.says.as_ref().map(|(decision, step)| Seen { decision: decision.clone(), step: step.clone() })
    }
}
