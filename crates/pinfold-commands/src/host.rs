//! Hosts in the arguments of programs.

/// The host of an address: `https://user@host:80/x`, `user@host:path`, `host`, `host:80`, `[::1]:80`. `None` when
/// there is none to be read.
pub(super) fn of_address(address: &str) -> Option<String> {
    let rest = match address.split_once("://") {
        Some((_, rest)) => rest.split(['/', '?', '#', '\\']).next().unwrap_or_default(),
        None => address.split('/').next().unwrap_or_default(),
    };
    let rest = rest.rsplit('@').next().unwrap_or(rest);
    let host = match rest.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or_default(),
        None => rest.split(':').next().unwrap_or_default(),
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':');
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty() && host.bytes().all(plain)).then_some(host)
}

/// Returns whether an operand names a place on another host: `host:path`, `user@host:path`, `rsync://host/path`, and not
/// a file with a colon in its name, which is written with a slash in front of the colon.
pub(super) fn is_remote(operand: &str) -> bool {
    if operand.contains("://") {
        return true;
    }
    match (operand.find(':'), operand.find('/')) {
        (Some(0) | None, _) => false,
        (Some(colon), Some(slash)) => colon < slash,
        (Some(_), None) => true,
    }
}
