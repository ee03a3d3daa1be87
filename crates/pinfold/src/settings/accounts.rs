//! Accounts, as the machine's own files describe them: home directories and members of groups.
//!
//! Read as text, since a program of one file has no name service. Promise: what is not found there is not known, and
//! what is not known belongs to no user. [passwd(5)](https://man7.org/linux/man-pages/man5/passwd.5.html),
//! [group(5)](https://man7.org/linux/man-pages/man5/group.5.html)

use std::fs;
use std::path::PathBuf;

const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";

/// The home directory of the account that this process runs as, whatever the environment says.
#[must_use]
pub fn home_of_account() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    home_in(&fs::read_to_string(PASSWD).ok()?, user)
}

/// Returns true if a group has no other member than this user.
pub(super) fn is_private_group(group: u32, user: u32) -> bool {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    is_private_in(&read(PASSWD), &read(GROUP), group, user)
}

fn home_in(passwd: &str, user: u32) -> Option<PathBuf> {
    let account = accounts(passwd).find(|account| account.user == user)?;
    Some(PathBuf::from(account.home)).filter(|home| home.is_absolute())
}

fn is_private_in(passwd: &str, groups: &str, group: u32, user: u32) -> bool {
    let Some(name) = accounts(passwd).find(|account| account.user == user).map(|account| account.name) else {
        return false;
    };
    let Some(members) = members(groups, group) else { return false };
    let is_alone = accounts(passwd).all(|account| account.group != group || account.user == user);
    is_alone && members.iter().all(|member| *member == name)
}

struct Account<'a> {
    name: &'a str,
    user: u32,
    group: u32,
    home: &'a str,
}

fn accounts(passwd: &str) -> impl Iterator<Item = Account<'_>> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _, user, group, _, home) = (
            fields.next()?,
            fields.next()?,
            fields.next()?.parse().ok()?,
            fields.next()?.parse().ok()?,
            fields.next()?,
            fields.next()?,
        );
        Some(Account { name, user, group, home })
    })
}

/// The members that a group lists beside those whose own group it is; `None`: there is no such group, or two.
fn members(groups: &str, group: u32) -> Option<Vec<&str>> {
    let mut found = groups.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (_, _, number, members) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(group)).then(|| members.split(',').filter(|name| !name.is_empty()).collect())
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNTS: &str = "root:x:0:0:root:/root:/bin/sh\nana:x:1000:1000:,,,:/home/ana:/bin/sh\n\
                            bob:x:1001:1001::/home/bob:/bin/sh\neve:x:1002:1000::/home/eve:/bin/sh\nodd:x:y\n";
    const GROUPS: &str =
        "root:x:0:\nana:x:1000:\nbob:x:1001:bob\nteam:x:1003:ana,bob\ntwice:x:1004:\nagain:x:1004:\n";

    #[test]
    fn a_home_is_that_of_the_account() {
        assert_eq!(home_in(ACCOUNTS, 1000), Some("/home/ana".into()));
        assert_eq!(home_in(ACCOUNTS, 4), None);
        assert_eq!(home_in("x:x:4:4::relative:", 4), None);
    }

    #[test]
    fn a_group_is_private_where_nobody_else_is_in_it() {
        for (group, user, is_private) in [
            (0, 0, true),
            (1001, 1001, true),
            (1000, 1000, false), // also the own group of another
            (1003, 1000, false),
            (1001, 1000, false),
            (1004, 1001, false),
            (7, 1001, false),
            (0, 4, false),
        ] {
            assert_eq!(is_private_in(ACCOUNTS, GROUPS, group, user), is_private, "{group} {user}");
        }
    }
}
