//! The part of awk's language that matters: whether a program runs others or writes files.

/// Why a program does more than read lines and print, if so.
pub(super) fn does_more(program: &str) -> Option<&'static str> {
    let mut reader =
        Reader { left: program.chars().peekable(), before: None, word: String::new(), printing: 0, depth: 0 };
    reader.all()
}

struct Reader<'a> {
    left: std::iter::Peekable<std::str::Chars<'a>>,
    /// The last character that is no blank: it tells a pattern from a division.
    before: Option<char>,
    word: String,
    /// Inside `print` or `printf`: the depth of parentheses it stands at, plus one.
    printing: usize,
    depth: usize,
}

impl Reader<'_> {
    fn all(&mut self) -> Option<&'static str> {
        while let Some(next) = self.left.next() {
            if next.is_ascii_alphanumeric() || next == '_' {
                self.word.push(next);
                self.before = Some(next);
                continue;
            }
            if let Some(why) = self.end_word() {
                return Some(why);
            }
            if let Some(why) = self.sign(next) {
                return Some(why);
            }
            if !next.is_ascii_whitespace() {
                self.before = Some(next);
            }
        }
        self.end_word()
    }

    fn end_word(&mut self) -> Option<&'static str> {
        let why = match self.word.as_str() {
            "system" => Some("runs commands by `system`"),
            "ARGV" | "ARGC" => Some("reads other files than its operands"),
            "getline" => Some("reads by `getline`, from files or commands"),
            "print" | "printf" => {
                self.printing = self.depth + 1;
                None
            }
            _ => None,
        };
        self.word.clear();
        why
    }

    fn sign(&mut self, sign: char) -> Option<&'static str> {
        match sign {
            '"' => self.skip_to('"'),
            '/' if !self.divides() => self.skip_to('/'),
            '#' => while self.left.next_if(|c| *c != '\n').is_some() {},
            '(' | '[' => self.depth += 1,
            ')' | ']' => self.depth = self.depth.saturating_sub(1),
            ';' | '\n' | '{' | '}' => self.printing = 0,
            '@' => return Some("loads or calls what is named elsewhere"),
            '|' if self.left.next_if_eq(&'|').is_none() => return Some("pipes into or out of commands"),
            '>' if self.printing == self.depth + 1 => return Some("writes to a file"),
            _ => {}
        }
        None
    }

    fn divides(&self) -> bool {
        self.before.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ')' | ']' | '$' | '"'))
    }

    fn skip_to(&mut self, end: char) {
        while let Some(next) = self.left.next() {
            if next == '\\' {
                self.left.next();
            } else if next == end {
                return;
            }
        }
    }
}
