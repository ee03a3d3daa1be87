//! Random changes to snippets.

/// Numbers that look random, the same ones each time.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

/// Pieces that are put into snippets.
const PIECES: &[&str] = &[
    " ",
    "\n",
    ";",
    "&",
    "|",
    "(",
    ")",
    "<",
    ">",
    "\\",
    "\"",
    "'",
    "`",
    "$",
    "{",
    "}",
    "[",
    "]",
    "!",
    "#",
    "=",
    "~",
    "*",
    "?",
    ",",
    ":",
    "-",
    "@",
    "%",
    "^",
    "+",
    "\t",
    "\\\n",
    "&&",
    "||",
    ";;",
    "$(",
    "$((",
    "))",
    "((",
    "${",
    "<<E\n",
    "<<-E\n",
    "\nE\n",
    "<<<",
    ">&",
    "<&",
    "&>",
    "<(",
    ">(",
    "$'",
    "$\"",
    "$[",
    "[[ ",
    " ]]",
    "{ ",
    "; }",
    "if ",
    "; then ",
    "; fi",
    "for x in ",
    "; do ",
    "; done",
    "case x in ",
    "x) ",
    " esac",
    "while ",
    "f() ",
    "function f ",
    "coproc ",
    "time ",
    "! ",
    "t1",
    "t2 a",
    "f1",
    "x",
    "x=",
    "x[",
    "]=",
    "x=(",
    "1",
    "2>",
    "{x}>",
    "..",
    "{a,b}",
    "$x",
    "${x:-",
    "=~ ",
    "==",
    "E",
    "\\`",
    "\\$",
    "'E'",
    "select ",
    "in",
    "do",
    "a",
];

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or_default()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A snippet with a few changes.
    pub(crate) fn change(&mut self, snippets: &[String]) -> String {
        let mut text = self.pick(snippets).clone();
        for _ in 0..=self.below(4) {
            let (from, to) = self.range(&text);
            match self.below(6) {
                0 => text.replace_range(from..to, ""),
                1 | 2 => text.insert_str(from, self.pick::<&str>(PIECES)),
                3 => text.replace_range(from..to, self.pick::<&str>(PIECES)),
                4 => {
                    let copied = text[from..to].to_owned();
                    let at = self.border(&text);
                    text.insert_str(at, &copied);
                }
                _ => {
                    let other = self.pick(snippets).clone();
                    let (start, end) = self.range(&other);
                    text.insert_str(from, &other[start..end]);
                }
            }
        }
        text
    }

    fn range(&mut self, text: &str) -> (usize, usize) {
        let from = self.border(text);
        let length = text[from..].chars().take(1 + self.below(6)).map(char::len_utf8).sum::<usize>();
        (from, from + length)
    }

    fn border(&mut self, text: &str) -> usize {
        let borders: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        *self.pick(&borders)
    }
}
