//! The environment inside: the person's own, without secrets and without the addresses of brokers.
//!
//! Variables are judged by name, word by word, so that `MONKEY` is not a key; a value that carries a password in
//! a URL is judged by that. What was taken away is listed by name. The behaviour that a person's environment
//! asks for (`PATH`, `NODE_OPTIONS`, …) is kept: the person is not the adversary.

use std::ffi::{OsStr, OsString};

use crate::request::EnvOverride;

/// Words that make a name a secret, wherever they stand between underscores.
const SECRET_WORDS: [&str; 22] = [
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
    "AUTH",
    "AUTHORIZATION",
    "COOKIE",
    "SESSION",
    "PAT",
    "SIGNATURE",
    "ACCESSKEY",
    "PRIVATEKEY",
    "DSN",
    "JWT",
];

/// Pairs of words that make a name a secret.
const SECRET_PAIRS: [(&str, &str); 8] = [
    ("API", "KEY"),
    ("ACCESS", "KEY"),
    ("PRIVATE", "KEY"),
    ("SIGNING", "KEY"),
    ("ENCRYPTION", "KEY"),
    ("MASTER", "KEY"),
    ("ACCOUNT", "KEY"),
    ("CONNECTION", "STRING"),
];

/// Names that a secret word stands in although they hold none.
const HARMLESS: [&str; 9] = [
    "PWD",
    "OLDPWD",
    "XDG_SESSION_ID",
    "XDG_SESSION_TYPE",
    "XDG_SESSION_CLASS",
    "XDG_SESSION_DESKTOP",
    "DESKTOP_SESSION",
    "SSH_ASKPASS_REQUIRE",
    "GDMSESSION",
];

/// Families whose members are logins of a service.
const SECRET_PREFIXES: [&str; 4] = ["AWS_", "AZURE_", "BW_", "VAULT_"];

/// Members of those families that only say where.
const NOT_SECRET: [&str; 5] = ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PAGER", "AWS_PROFILE", "VAULT_ADDR"];

/// Addresses of brokers, which act outside on behalf of any client, and variables that point git elsewhere.
const BROKERS: [&str; 33] = [
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "GIT_ASKPASS",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DBUS_STARTER_ADDRESS",
    "XDG_RUNTIME_DIR",
    "SESSION_MANAGER",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "PODMAN_SOCK",
    "KUBECONFIG",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "XAUTHORITY",
    "ICEAUTHORITY",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "I3SOCK",
    "SWAYSOCK",
];

/// Variables that would lead git away from the repository that it finds.
const GIT_PLACES: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG",
];

/// Names a run can be known by from inside.
pub const MARKER: &str = "PINFOLD";

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
    let mut filtered = Filtered::default();
    for (name, value) in outside {
        let passed = wishes.iter().any(|w| matches!(w, EnvOverride::Pass(n) if n == name));
        if passed || !is_dangerous(name, value) {
            filtered.kept.push((name.clone(), value.clone()));
        } else {
            filtered.removed.push(name.to_string_lossy().into_owned());
        }
    }
    let own = [("TMPDIR", "/tmp"), (MARKER, "1")].map(|(n, v)| (OsString::from(n), OsString::from(v)));
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

fn is_dangerous(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let listed = |list: &[&str]| list.contains(&name.as_str());
    if listed(&BROKERS) || listed(&GIT_PLACES) {
        return true;
    }
    has_password(&value.to_string_lossy())
        || (!listed(&HARMLESS) && !listed(&NOT_SECRET) && names_secret(&name))
}

fn names_secret(name: &str) -> bool {
    let words: Vec<&str> = name.split(['_', '-', '.']).collect();
    SECRET_PREFIXES.iter().any(|p| name.starts_with(p))
        || words
            .iter()
            .any(|w| SECRET_WORDS.contains(w) || SECRET_WORDS.iter().any(|s| s.len() > 5 && w.ends_with(s)))
        || words.windows(2).any(|pair| matches!(pair, [a, b] if SECRET_PAIRS.contains(&(*a, *b))))
        || words.last() == Some(&"KEY")
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
        let expected = vars(&[("API_TOKEN", "t"), (MARKER, "1"), ("GOCACHE", "/c"), ("TMPDIR", "/w/tmp")]);
        assert_eq!(filtered.kept, expected);
        assert_eq!(filtered.removed, ["OTHER_TOKEN"]);
    }
}
