//! Hosts as arguments name them.

/// Returns whether a host is the machine itself. What is not known is not.
pub(super) fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    matches!(host, "localhost" | "::1" | "0.0.0.0")
        || host.ends_with(".localhost")
        || host.strip_prefix("127.").is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.'))
}

/// The host of a URL, or of `host:port/path`.
pub(super) fn host_of(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let authority = behind.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((inner, _)) => inner,
        None => host.split(':').next().unwrap_or_default(),
    }
}
