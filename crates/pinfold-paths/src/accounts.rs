//! Home directories of the accounts of this machine, as `~name` means them for shells and git.

use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The list of accounts, [passwd(5)](https://man7.org/linux/man-pages/man5/passwd.5.html). Accounts of a directory
/// service are not in it; they stay unknown.
const ACCOUNTS: &str = "/etc/passwd";

/// The most bytes of the list that are read.
const MAX_BYTES: u64 = 1 << 20;

/// Returns a path in which `~name` is the home directory of that account. `None`: it does not start so, or no such account is
/// known.
pub fn expand_account_home(path: &Path) -> Option<PathBuf> {
    let (name, rest) = split(path.as_os_str().as_bytes())?;
    let mut list = Vec::new();
    std::fs::File::open(ACCOUNTS).ok()?.take(MAX_BYTES).read_to_end(&mut list).ok()?;
    let home = home_in(&list, name)?;
    Some(home.join(Path::new(std::ffi::OsStr::from_bytes(rest))))
}

/// `~name/rest` in its two parts.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let behind = path.strip_prefix(b"~")?;
    let end = behind.iter().position(|byte| *byte == b'/').unwrap_or(behind.len());
    let (name, rest) = behind.split_at_checked(end)?;
    let rest = rest.iter().position(|byte| *byte != b'/').and_then(|at| rest.get(at..)).unwrap_or_default();
    (!name.is_empty()).then_some((name, rest))
}

fn home_in(list: &[u8], name: &[u8]) -> Option<PathBuf> {
    let mut lines = list.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':'));
    let home = lines.find_map(|mut fields| {
        let own = fields.next() == Some(name);
        fields.nth(4).filter(|_| own)
    })?;
    let home = Path::new(std::ffi::OsStr::from_bytes(home));
    home.is_absolute().then(|| home.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_behind_a_tilde_is_an_account_of_the_list() {
        let list =
            b"root:x:0:0:root:/root:/bin/bash\nana:x:1000:1000::/home/ana:/bin/sh\nodd:x:1::relative:x\n";
        assert_eq!(home_in(list, b"ana"), Some("/home/ana".into()));
        assert_eq!(home_in(list, b"an"), None);
        assert_eq!(home_in(list, b"odd"), None);
        assert_eq!(split(b"~ana//x/y"), Some((&b"ana"[..], &b"x/y"[..])));
        assert_eq!(split(b"~ana"), Some((&b"ana"[..], &b""[..])));
        assert_eq!((split(b"~/x"), split(b"x~ana")), (None, None));
    }
}
