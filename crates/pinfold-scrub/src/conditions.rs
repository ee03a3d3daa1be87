//! Conditions on a secret beyond its form. Most false alarms end here.
//!
//! The trap: a condition that is too clever lets a real secret through, unnoticed.

use std::sync::LazyLock;

use crate::value::{KeyedValue, WordList};

/// A condition, by the name that `kinds.txt` gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormCondition {
    /// Its form says it all.
    Always,
    /// More than a first line.
    Block,
    /// No repetition, no count and no placeholder of a manual.
    Random,
    /// `Random`, with both letters and digits.
    Mixed,
    /// A value that may follow `Bearer`.
    Bearer,
    /// The password of a URL: anything but a placeholder or a variable.
    Password,
    /// The value of `name = "value"`.
    Quoted,
    /// The value of `NAME=value`.
    Assigned,
    /// The value of `name: value` or `name = value`, without quotes.
    Bare,
    /// `user:password` in base64.
    Basic,
}

/// Placeholders that manuals write in place of a secret. The last is the sign with which `kinds.txt` breaks its examples.
static STAND_INS: LazyLock<WordList> =
    LazyLock::new(|| WordList::new("example xxxx placeholder redacted your_ your- dummy ¦"));

/// Placeholders in values that people make up themselves.
static MADE_UP: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "changeme change_me change-me changeit yourpass yourtoken yoursecret yourkey yourapi insert replace \
                       sample notreal not-a-secret not_a_secret fixme todo -here _here ....",
    )
});

/// Well-known passwords that protect nothing.
const KNOWN: &str = "password passwd pass pwd pw secret user username token test testing guest none null nil undefined \
                     true false empty default admin root postgres mysql redis changeme redacted hidden masked";

/// Well-known passwords in URLs, where a password may be short.
const SHORT: &str = "xxx *** ... foo bar baz xyz abc 123";

/// References to a place that keeps the value, and forms that a program fills in.
static ELSEWHERE: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "environ process.env getenv env. secrets. vars. var. vault: arn:aws ssm: op:// :// ${ $( {{ #{ %s %( {} < [^ (? .* \\w \\d \\s \\W \\\"$",
    )
});

/// As many bits a byte as random text of some length has, and words of that length do not.
const RANDOM_BITS: f64 = 3.0;

impl FormCondition {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "always" => Some(Self::Always),
            "block" => Some(Self::Block),
            "random" => Some(Self::Random),
            "mixed" => Some(Self::Mixed),
            "bearer" => Some(Self::Bearer),
            "password" => Some(Self::Password),
            "quoted" => Some(Self::Quoted),
            "assigned" => Some(Self::Assigned),
            "bare" => Some(Self::Bare),
            "basic" => Some(Self::Basic),
            _ => None,
        }
    }

    pub(crate) fn holds(self, value: &KeyedValue<'_>) -> bool {
        match self {
            Self::Always => true,
            Self::Block => value.goes_on_behind(b"KEY-----") || value.goes_on_behind(b"BLOCK-----"),
            Self::Random => is_random(value),
            Self::Mixed => is_random(value) && value.is_mixed(),
            Self::Bearer => is_made_up(value) && !value.is_words() && value.is_mixed(),
            Self::Password => !is_told_elsewhere(value) && !is_known(value) && !value.is_one_of(SHORT),
            Self::Quoted => {
                is_made_up(value) && !value.is_words() && !is_colour_or_number(value) && closes(value.next)
            }
            Self::Assigned => {
                is_made_up(value) && (!value.is_words() || has_digit(value)) && !is_call(value.next)
            }
            Self::Bare => is_bare(value),
            Self::Basic => is_credentials(value.bytes),
        }
    }
}

fn is_random(value: &KeyedValue<'_>) -> bool {
    !value.is_pattern() && value.entropy() >= RANDOM_BITS && !value.has(&STAND_INS)
}

/// Neither a placeholder nor a word for where the value really is.
fn is_made_up(value: &KeyedValue<'_>) -> bool {
    !value.is_pattern() && !is_known(value) && !is_told_elsewhere(value)
}

fn is_known(value: &KeyedValue<'_>) -> bool {
    value.is_one_of(KNOWN) || value.has(&STAND_INS) || value.has(&MADE_UP)
}

/// `$NAME`, `${NAME}`, `$(command)`, `{{ name }}`, `<name>`, `%(name)s`, `os.environ[…]`.
fn is_told_elsewhere(value: &KeyedValue<'_>) -> bool {
    let is_variable = matches!(
        value.bytes,
        [b'$', b'(' | b'{' | b'_' | b'A'..=b'Z' | b'a'..=b'z', ..] | [b'{' | b'<', ..] | [b'%', .., b'%']
    );
    is_variable || value.has(&ELSEWHERE)
}

fn is_bare(value: &KeyedValue<'_>) -> bool {
    let is_odd =
        value.has_symbol() || value.switches() >= 2 || value.entropy() >= 3.5 && value.bytes.len() >= 16;
    let is_number = value.bytes.starts_with(b"0x") && value.bytes.len() <= 18;
    is_made_up(value) && !value.is_words() && value.is_mixed() && is_odd && !is_number && ends(value.next)
}

/// `#d8dee9`, `1.2.840.113549`.
fn is_colour_or_number(value: &KeyedValue<'_>) -> bool {
    let is_hex = |rest: &[u8]| matches!(rest.len(), 6 | 8) && rest.iter().all(u8::is_ascii_hexdigit);
    value.bytes.strip_prefix(b"#").is_some_and(is_hex) || !value.bytes.iter().any(u8::is_ascii_alphabetic)
}

fn has_digit(value: &KeyedValue<'_>) -> bool {
    value.bytes.iter().any(u8::is_ascii_digit) && !value.bytes.starts_with(b"/")
}

/// Returns `true` for a byte that may follow a value in quotes; a value that is too long to be seen whole is taken.
fn closes(next: Option<u8>) -> bool {
    matches!(next, None | Some(b'"' | b'\'' | b'`' | b'\\' | b'<'))
}

fn is_call(next: Option<u8>) -> bool {
    matches!(next, Some(b'(' | b'[' | b'{'))
}

/// Returns `true` for a byte that may follow a value without quotes.
fn ends(next: Option<u8>) -> bool {
    next.is_none_or(|byte| byte.is_ascii_whitespace() || b",;\"'`)}]\\&".contains(&byte))
}

/// Returns `true` if it is base64 of text with a `:`.
fn is_credentials(bytes: &[u8]) -> bool {
    let mut bits = 0_u32;
    let mut have = 0;
    let mut colon = false;
    for byte in bytes.iter().take_while(|byte| **byte != b'=') {
        let Some(six) = six_bits(*byte) else { return false };
        bits = bits << 6 | six;
        have += 6;
        if have >= 8 {
            have -= 8;
            let said = bits >> have & 0xff;
            colon |= said == u32::from(b':');
            if said < 0x20 {
                return false;
            }
        }
        bits &= 0xff;
    }
    colon
}

fn six_bits(byte: u8) -> Option<u32> {
    let six = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(six.into())
}
