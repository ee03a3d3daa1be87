//! Sockets that the C library connects to by itself: a refusal there is none of the command's.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Sockets of the name service.
const NAME_SERVICE: &str = include_str!("name_service.txt");

/// Returns whether a socket is one of the name service, by the path that the library writes: nothing is resolved, so that no link makes
/// another socket look like one of these.
pub(super) fn is_name_service(socket: &Path) -> bool {
    let socket = socket.as_os_str().as_bytes();
    let known = NAME_SERVICE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    known.map(str::as_bytes).any(|known| match socket.strip_prefix(known) {
        Some(rest) if known.ends_with(b"/") => !rest.is_empty() && !rest.contains(&b'/') && rest != b"..",
        Some(rest) => rest.is_empty(),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_service_is_known_by_the_exact_path_alone() {
        for (path, expected) in [
            ("/var/run/nscd/socket", true),
            ("/run/systemd/userdb/io.systemd.Multiplexer", true),
            ("/run/systemd/resolve/io.systemd.Resolve", true),
            ("/run/systemd/userdb", false),
            ("/run/systemd/userdb/..", false),
            ("/run/systemd/userdb/../private", false),
            ("/run/nscd/socket/../../docker.sock", false),
            ("/run/nscd/socket2", false),
            ("/w/run/nscd/socket", false),
            ("@/var/run/nscd/socket", false),
            ("/run/docker.sock", false),
            ("", false),
        ] {
            assert_eq!(is_name_service(Path::new(path)), expected, "{path}");
        }
    }
}
