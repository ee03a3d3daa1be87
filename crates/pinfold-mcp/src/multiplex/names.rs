//! Names of tools and prompts over all servers: the own name where it is unique, otherwise prefixed with the server's
//! name.

use std::collections::HashMap;

/// The owner of a name, and the name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameOwner {
    pub(super) server: usize,
    pub(super) name: String,
}

/// The names that the client sees.
#[derive(Debug, Default)]
pub(super) struct NameTable(HashMap<String, NameOwner>);

impl NameTable {
    /// Assigns names. `all`: the names of each server, in order. `servers`: the servers' names.
    pub(super) fn assign(servers: &[String], all: &[(usize, String)]) -> Self {
        let mut names = Self::default();
        for (server, name) in all {
            let Some(shown) = client_name(servers, all, *server, name) else { continue };
            names.0.entry(shown).or_insert(NameOwner { server: *server, name: name.clone() });
        }
        names
    }

    pub(super) fn owner(&self, shown: &str) -> Option<&NameOwner> {
        self.0.get(shown)
    }

    /// The client's name for something of a server; `None` where that is the name of something else.
    pub(super) fn client_name(&self, server: usize, name: &str, servers: &[String]) -> Option<String> {
        let called = |shown: &String| {
            self.owner(shown).is_some_and(|whose| whose.server == server && whose.name == name)
        };
        [Some(name.to_owned()), prefixed(servers, server, name)].into_iter().flatten().find(called)
    }
}

/// A name that two servers have belongs to neither: the later server could take over the calls of the other.
fn client_name(servers: &[String], all: &[(usize, String)], server: usize, name: &str) -> Option<String> {
    let clashes = all.iter().any(|(other, same)| *other != server && same == name);
    if clashes { prefixed(servers, server, name) } else { Some(name.to_owned()) }
}

fn prefixed(servers: &[String], server: usize, name: &str) -> Option<String> {
    Some(format!("{}__{name}", servers.get(server)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_takes_over_the_name_of_another() {
        let servers = ["a".to_owned(), "b".to_owned()];
        let all = [(0, "x"), (0, "y"), (1, "y"), (1, "z"), (1, "a__y"), (0, "x")];
        let all: Vec<(usize, String)> = all.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
        let names = NameTable::assign(&servers, &all);
        let owner = |shown: &str| names.owner(shown).map(|whose| (whose.server, whose.name.as_str()));
        assert_eq!(owner("x"), Some((0, "x")));
        assert_eq!(owner("y"), None);
        assert_eq!(owner("a__y"), Some((0, "y")), "the first that has a name keeps it");
        assert_eq!(owner("b__y"), Some((1, "y")));
        assert_eq!(owner("z"), Some((1, "z")));
        assert_eq!(names.client_name(1, "y", &servers), Some("b__y".to_owned()));
        assert_eq!(names.client_name(1, "a__y", &servers), None);
    }
}
