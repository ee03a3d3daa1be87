//! The environment inside: the person's own, without secrets and without the addresses of brokers.
//!
//! Variables are judged by name, word by word, so that `MONKEY` is not a key; a value that carries a password in
//! a URL is judged by that. What was taken away is listed by name. The behaviour that a person's environment
//! asks for (`PATH`, `NODE_OPTIONS`, …) is kept: the person is not the adversary.

use std::ffi::{OsStr, OsString};

use crate::request::EnvOverride;

const TABLE: &str = include_str!("environment.txt");

/// The table of variables, by kind.
#[derive(Debug, Default)]
struct EnvironmentTable {
    secret_words: Vec<&'static str>,
    secret_pairs: Vec<(&'static str, &'static str)>,
    secret_starts: Vec<&'static str>,
    not_secret: Vec<&'static str>,
    /// Addresses of brokers, and places that lead git elsewhere.
    removed: Vec<&'static str>,
}

/// Names a run can be known by from inside.
pub const SANDBOX_VARIABLE: &str = "PINFOLD";

/// The environment inside, and the names that were taken away.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Filtered {
    pub(crate) kept: Vec<(OsString, OsString)>,
    pub(crate) removed: Vec<String>,
}

/// Filters an environment. `added` comes from pinfold itself and yields to what the person sets.
pub(crate) fn filter(
    outside: &[(OsString, OsString)],
    added: Vec<(OsString, OsString)>,
    wishes: &[EnvOverride],
) -> Filtered {
    let (mut filtered, variables) = (Filtered::default(), EnvironmentTable::parse(TABLE));
    for (name, value) in outside {
        let passed = wishes.iter().any(|w| matches!(w, EnvOverride::Pass(n) if n == name));
        if passed || !variables.is_dangerous(name, value) {
            filtered.kept.push((name.clone(), value.clone()));
        } else {
            filtered.removed.push(name.to_string_lossy().into_owned());
        }
    }
    let own =
        [("TMPDIR", "/tmp"), (SANDBOX_VARIABLE, "1")].map(|(n, v)| (OsString::from(n), OsString::from(v)));
    for (name, value) in own.into_iter().chain(added) {
        set(&mut filtered.kept, &name, Some(&value));
    }
    for unset in ["TMP", "TEMP"] {
        set(&mut filtered.kept, OsStr::new(unset), None);
    }
    for wish in wishes {
        match wish {
            EnvOverride::Pass(_) => {}
            EnvOverride::Unset(name) => set(&mut filtered.kept, name, None),
            EnvOverride::Set(name, value) => set(&mut filtered.kept, name, Some(value)),
        }
    }
    filtered.removed.sort();
    filtered
}

fn set(list: &mut Vec<(OsString, OsString)>, name: &OsStr, value: Option<&OsStr>) {
    list.retain(|(n, _)| n != name);
    list.extend(value.map(|v| (name.to_owned(), v.to_owned())));
}

impl EnvironmentTable {
    fn parse(table: &'static str) -> Self {
        let mut own = Self::default();
        for line in table.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("secret-word") => own.secret_words.extend(words),
                Some("secret-pair") => own.secret_pairs.extend(words.filter_map(|pair| pair.split_once('+'))),
                Some("secret-start") => own.secret_starts.extend(words),
                Some("not-secret") => own.not_secret.extend(words),
                Some("broker" | "git-place") => own.removed.extend(words),
                Some(_) | None => {}
            }
        }
        own
    }

    fn is_dangerous(&self, name: &OsStr, value: &OsStr) -> bool {
        let name = name.to_string_lossy().to_ascii_uppercase();
        self.removed.contains(&name.as_str())
            || has_password(&value.to_string_lossy())
            || (!self.not_secret.contains(&name.as_str()) && self.names_secret(&name))
    }

    fn names_secret(&self, name: &str) -> bool {
        let words: Vec<&str> = name.split(['_', '-', '.']).collect();
        let ends_so = |word: &&str| self.secret_words.iter().any(|end| end.len() > 5 && word.ends_with(end));
        self.secret_starts.iter().any(|start| name.starts_with(start))
            || words.iter().any(|word| self.secret_words.contains(word) || ends_so(word))
            || words.windows(2).any(|pair| matches!(pair, [a, b] if self.secret_pairs.contains(&(*a, *b))))
            || words.last() == Some(&"KEY")
    }
}

/// `scheme://user:password@host`: a proxy, a database, a registry.
fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or(rest);
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))).collect()
    }

    fn survives(name: &str, value: &str) -> bool {
        filter(&vars(&[(name, value)]), Vec::new(), &[]).kept.iter().any(|(n, _)| n == name)
    }

    #[test]
    fn each_line_of_the_table_is_understood() {
        let kinds = ["secret-word", "secret-pair", "secret-start", "not-secret", "broker", "git-place"];
        for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (kind, names) = line.split_once(' ').unwrap();
            assert!(kinds.contains(&kind) && !names.trim().is_empty(), "{line}");
            assert_eq!(kind == "secret-pair", names.contains('+'), "{line}");
            assert_eq!(names, names.to_uppercase(), "{line}");
        }
    }

    #[test]
    fn secrets_and_brokers_are_taken_away() {
        for name in [
            "GITHUB_TOKEN",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "NPM_TOKEN",
            "PGPASSWORD",
            "DB_PASSWORD",
            "MYSQL_PWD",
            "STRIPE_SECRET",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CI_JOB_JWT",
            "SIGNING_KEY",
            "OPENAI_KEY",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "DOCKER_HOST",
            "DISPLAY",
            "TMUX",
            "GIT_DIR",
            "gitlab_token",
            "SENTRY_DSN",
        ] {
            assert!(!survives(name, "x"), "{name}");
        }
        assert!(!survives("https_proxy", "http://me:pw@proxy:3128"));
        assert!(!survives("DATABASE_URL", "postgres://u:p@h/db"));
    }

    #[test]
    fn what_only_resembles_a_secret_stays() {
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "TERM",
            "PWD",
            "OLDPWD",
            "KEYBOARD",
            "MONKEY",
            "TOKENIZERS_PARALLELISM",
            "AUTHOR",
            "PASSENGER",
            "AWS_REGION",
            "XDG_SESSION_TYPE",
            "EDITOR",
            "CARGO_HOME",
            "GIT_AUTHOR_NAME",
            "COMPASS",
            "NODE_OPTIONS",
            "PATTERN",
            "DESKTOP_SESSION",
        ] {
            assert!(survives(name, "x"), "{name}");
        }
        assert!(survives("https_proxy", "http://proxy:3128"));
        assert!(survives("ORIGIN", "https://me@host/x:y"));
    }

    #[test]
    fn the_person_has_the_last_word() {
        let wishes = [
            EnvOverride::Pass("API_TOKEN".into()),
            EnvOverride::Set("TMPDIR".into(), "/w/tmp".into()),
            EnvOverride::Unset("EDITOR".into()),
        ];
        let outside = vars(&[("API_TOKEN", "t"), ("OTHER_TOKEN", "t"), ("EDITOR", "vi"), ("TMP", "/x")]);
        let filtered = filter(&outside, vars(&[("GOCACHE", "/c")]), &wishes);
        let expected =
            vars(&[("API_TOKEN", "t"), (SANDBOX_VARIABLE, "1"), ("GOCACHE", "/c"), ("TMPDIR", "/w/tmp")]);
        assert_eq!(filtered.kept, expected);
        assert_eq!(filtered.removed, ["OTHER_TOKEN"]);
    }
}
