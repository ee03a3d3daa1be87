//! The escapes of `$'…'`.

/// The text that is meant, or why that is not certain.
pub(crate) fn decode(written: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte == b'\\' {
            rest = escape(behind, &mut bytes)?;
        } else {
            bytes.push(byte);
        }
    }
    if bytes.contains(&0) {
        return Err("a byte 0, at which bash ends the text");
    }
    String::from_utf8(bytes).map_err(|_| "bytes that are no text")
}

/// Decodes what follows a backslash; gives what follows that.
fn escape<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> Result<&'a [u8], &'static str> {
    let Some((&kind, rest)) = text.split_first() else {
        bytes.push(b'\\');
        return Ok(text);
    };
    let simple = match kind {
        b'a' => 7,
        b'b' => 8,
        b'e' | b'E' => 27,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' | b'\'' | b'"' | b'?' => kind,
        b'0'..=b'7' => return Ok(octal(text, bytes)),
        b'x' => return hexadecimal(rest, bytes),
        b'u' => return character(rest, 4, bytes),
        b'U' => return character(rest, 8, bytes),
        b'c' => return Err("a control character by its letter"),
        _ => {
            bytes.push(b'\\');
            kind
        }
    };
    bytes.push(simple);
    Ok(rest)
}

/// Up to three digits; what is more than a byte is cut off.
fn octal<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> &'a [u8] {
    let (digits, rest) = digits(text, 3, 8);
    let value = digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0'));
    bytes.push(value);
    rest
}

fn hexadecimal<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> Result<&'a [u8], &'static str> {
    let (digits, rest) = digits(text, 2, 16);
    if digits.is_empty() {
        return Err("`\\x` without digits");
    }
    bytes.push(u8::try_from(value(digits)).unwrap_or_default());
    Ok(rest)
}

/// A character by its number: beyond ASCII it depends on the locale what is made of it.
fn character<'a>(text: &'a [u8], length: usize, bytes: &mut Vec<u8>) -> Result<&'a [u8], &'static str> {
    let (digits, rest) = digits(text, length, 16);
    match u8::try_from(value(digits)) {
        Ok(byte) if byte.is_ascii() && !digits.is_empty() => bytes.push(byte),
        _ => return Err("a character by its number, which depends on the locale"),
    }
    Ok(rest)
}

fn digits(text: &[u8], most: usize, radix: u32) -> (&[u8], &[u8]) {
    let count = text.iter().take(most).take_while(|&&byte| char::from(byte).is_digit(radix)).count();
    text.split_at_checked(count).unwrap_or((text, &[]))
}

fn value(digits: &[u8]) -> u32 {
    digits
        .iter()
        .filter_map(|&byte| char::from(byte).to_digit(16))
        .fold(0, |value, digit| value.wrapping_mul(16) | digit)
}
