//! Which server has what: by its own name where no other server has one of that name, else by one with the server in front.

use std::collections::HashMap;

/// Whose something is, and what its server calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Whose {
    pub(super) server: usize,
    pub(super) name: String,
}

/// What a client calls the things of all servers.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, Whose>);

impl Names {
    /// `all`: the names of each server, in their order. `servers`: what the servers are called.
    pub(super) fn of(servers: &[String], all: &[(usize, String)]) -> Self {
        let mut names = Self::default();
        for (server, name) in all {
            let Some(shown) = shown(servers, all, *server, name) else { continue };
            names.0.entry(shown).or_insert(Whose { server: *server, name: name.clone() });
        }
        names
    }

    pub(super) fn whose(&self, shown: &str) -> Option<&Whose> {
        self.0.get(shown)
    }

    /// What a client calls something of a server; `None` where that is the name of something else.
    pub(super) fn shown(&self, server: usize, name: &str, servers: &[String]) -> Option<String> {
        let called = |shown: &String| {
            self.whose(shown).is_some_and(|whose| whose.server == server && whose.name == name)
        };
        [Some(name.to_owned()), prefixed(servers, server, name)].into_iter().flatten().find(called)
    }
}

/// A name that two servers have is nobody's: the one that comes later would take over the calls of the other.
fn shown(servers: &[String], all: &[(usize, String)], server: usize, name: &str) -> Option<String> {
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
        let names = Names::of(&servers, &all);
        let whose = |shown: &str| names.whose(shown).map(|whose| (whose.server, whose.name.as_str()));
        assert_eq!(whose("x"), Some((0, "x")));
        assert_eq!(whose("y"), None);
        assert_eq!(whose("a__y"), Some((0, "y")), "the first that has a name keeps it");
        assert_eq!(whose("b__y"), Some((1, "y")));
        assert_eq!(whose("z"), Some((1, "z")));
        assert_eq!(names.shown(1, "y", &servers), Some("b__y".to_owned()));
        assert_eq!(names.shown(1, "a__y", &servers), None);
    }
}
