//! The agents that are known, one after the other. What each was seen to need stands in `docs/agents.md`.

use super::{AgentProfile, Key, MissingStandIn, PresetVariable, ProtectedStateName, State};

const fn directory(name: &'static str) -> ProtectedStateName {
    ProtectedStateName { name, missing: MissingStandIn::Directory }
}

const fn json(name: &'static str) -> ProtectedStateName {
    ProtectedStateName { name, missing: MissingStandIn::File("{}\n") }
}

const fn text(name: &'static str) -> ProtectedStateName {
    ProtectedStateName { name, missing: MissingStandIn::File("") }
}

const fn state(
    usual: &'static str,
    fixed: &'static [ProtectedStateName],
    logins: &'static [&'static str],
) -> State {
    State { moved_by: None, usual, fixed, logins, brought: None }
}

const fn key(variable: &'static str, hosts: &'static [&'static str]) -> Key {
    Key { variable, hosts }
}

const ANTHROPIC: &str = "api.anthropic.com";
const OPENAI: &str = "api.openai.com";
const GOOGLE: &str = "generativelanguage.googleapis.com";

/// Keys of the providers that agents for any model take.
const ANY_PROVIDER: &[Key] = &[
    key("ANTHROPIC_API_KEY", &[ANTHROPIC]),
    key("OPENAI_API_KEY", &[OPENAI]),
    key("GEMINI_API_KEY", &[GOOGLE]),
    key("OPENROUTER_API_KEY", &["openrouter.ai"]),
    key("MISTRAL_API_KEY", &["api.mistral.ai"]),
    key("GROQ_API_KEY", &["api.groq.com"]),
    key("DEEPSEEK_API_KEY", &["api.deepseek.com"]),
    key("XAI_API_KEY", &["api.x.ai"]),
];

/// Every agent that has a profile.
pub const AGENTS: &[AgentProfile] = &[
    AgentProfile {
        name: "claude",
        programs: &["claude"],
        state: &[State {
            moved_by: Some(("CLAUDE_CONFIG_DIR", "")),
            usual: ".claude",
            fixed: &[
                json("settings.json"),
                json("settings.local.json"),
                json("remote-settings.json"),
                json("keybindings.json"),
                text("CLAUDE.md"),
                directory("agents"),
                directory("commands"),
                directory("hooks"),
                directory("local"),
                directory("output-styles"),
                directory("plugins"),
                directory("rules"),
                directory("skills"),
            ],
            logins: &[".credentials.json"],
            brought: Some(".claude.json"),
        }],
        hosts: &[ANTHROPIC],
        keys: &[
            key("ANTHROPIC_API_KEY", &[]),
            key("ANTHROPIC_AUTH_TOKEN", &[]),
            key("CLAUDE_CODE_OAUTH_TOKEN", &[]),
        ],
        told: &[],
    },
    AgentProfile {
        name: "codex",
        programs: &["codex"],
        state: &[State {
            moved_by: Some(("CODEX_HOME", "")),
            usual: ".codex",
            fixed: &[
                text("config.toml"),
                text("managed_config.toml"),
                json("hooks.json"),
                text("AGENTS.md"),
                text("AGENTS.override.md"),
                text(".env"),
                directory("agents"),
                directory("hooks"),
                directory("plugins"),
                directory("prompts"),
                directory("rules"),
            ],
            logins: &["auth.json", ".credentials.json"],
            brought: None,
        }],
        hosts: &["chatgpt.com", OPENAI],
        keys: &[key("OPENAI_API_KEY", &[]), key("CODEX_API_KEY", &[])],
        told: &[],
    },
    AgentProfile {
        name: "gemini",
        programs: &["gemini"],
        state: &[State {
            moved_by: Some(("GEMINI_CLI_HOME", ".gemini")),
            usual: ".gemini",
            fixed: &[
                json("settings.json"),
                json("trustedFolders.json"),
                text("GEMINI.md"),
                text(".env"),
                directory("agents"),
                directory("commands"),
                directory("extensions"),
                directory("hooks"),
                directory("policies"),
                directory("skills"),
            ],
            logins: &[
                "oauth_creds.json",
                "google_accounts.json",
                "gemini-credentials.json",
                "mcp-oauth-tokens.json",
            ],
            brought: None,
        }],
        hosts: &["cloudcode-pa.googleapis.com", GOOGLE, "oauth2.googleapis.com"],
        keys: &[key("GEMINI_API_KEY", &[]), key("GOOGLE_API_KEY", &[])],
        told: &[],
    },
    AgentProfile {
        name: "qwen",
        programs: &["qwen"],
        state: &[state(
            ".qwen",
            &[
                json("settings.json"),
                json("trustedFolders.json"),
                text("QWEN.md"),
                text(".env"),
                directory("agents"),
                directory("commands"),
                directory("hooks"),
                directory("skills"),
            ],
            &["oauth_creds.json", "mcp-oauth-tokens.json"],
        )],
        hosts: &["portal.qwen.ai"],
        keys: &[
            key("DASHSCOPE_API_KEY", &["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"]),
            key("OPENAI_API_KEY", &[OPENAI]),
        ],
        told: &[],
    },
    AgentProfile {
        name: "opencode",
        programs: &["opencode"],
        state: &[
            State {
                moved_by: Some(("XDG_CONFIG_HOME", "opencode")),
                usual: ".config/opencode",
                fixed: &[
                    json("config.json"),
                    json("opencode.json"),
                    json("opencode.jsonc"),
                    json("tui.json"),
                    text("AGENTS.md"),
                    directory("agent"),
                    directory("agents"),
                    directory("command"),
                    directory("commands"),
                    directory("mode"),
                    directory("modes"),
                    directory("plugin"),
                    directory("plugins"),
                    directory("skill"),
                    directory("skills"),
                    directory("tool"),
                    directory("tools"),
                ],
                logins: &[],
                brought: None,
            },
            State {
                moved_by: Some(("XDG_DATA_HOME", "opencode")),
                usual: ".local/share/opencode",
                fixed: &[],
                logins: &["auth.json", "mcp-auth.json"],
                brought: None,
            },
            State {
                moved_by: Some(("XDG_STATE_HOME", "opencode")),
                usual: ".local/state/opencode",
                fixed: &[],
                logins: &[],
                brought: None,
            },
            State {
                moved_by: Some(("XDG_CACHE_HOME", "opencode")),
                usual: ".cache/opencode",
                fixed: &[],
                logins: &[],
                brought: None,
            },
        ],
        hosts: &["models.dev", "opencode.ai"],
        keys: ANY_PROVIDER,
        // It would write into the directory that holds the name where there is none, and ends when it cannot.
        told: &[PresetVariable {
            variable: "OPENCODE_DISABLE_PROJECT_CONFIG",
            value: "1",
            unless: ".opencode",
        }],
    },
    AgentProfile {
        name: "copilot",
        programs: &["copilot"],
        state: &[
            state(
                ".copilot",
                &[
                    json("mcp-config.json"),
                    json("lsp-config.json"),
                    json("settings.json"),
                    text("copilot-instructions.md"),
                    directory("agents"),
                    directory("hooks"),
                    directory("plugins"),
                    directory("skills"),
                ],
                &["config.json"],
            ),
            state(".cache/copilot", &[], &[]),
        ],
        hosts: &[
            "api.github.com",
            "api.githubcopilot.com",
            "api.business.githubcopilot.com",
            "api.enterprise.githubcopilot.com",
            "api.individual.githubcopilot.com",
        ],
        keys: &[key("COPILOT_GITHUB_TOKEN", &[]), key("COPILOT_PROVIDER_API_KEY", &[])],
        told: &[],
    },
    AgentProfile {
        name: "pi",
        programs: &["pi"],
        state: &[State {
            moved_by: Some(("PI_CODING_AGENT_DIR", "")),
            usual: ".pi/agent",
            fixed: &[
                json("settings.json"),
                json("models.json"),
                json("keybindings.json"),
                text("AGENTS.md"),
                text("SYSTEM.md"),
                text("APPEND_SYSTEM.md"),
                directory("extensions"),
                directory("hooks"),
                directory("prompts"),
                directory("skills"),
                directory("themes"),
                directory("tools"),
            ],
            logins: &["auth.json"],
            brought: None,
        }],
        hosts: &[],
        keys: ANY_PROVIDER,
        told: &[],
    },
    AgentProfile {
        name: "hermes",
        programs: &["hermes"],
        state: &[State {
            moved_by: Some(("HERMES_HOME", "")),
            usual: ".hermes",
            fixed: &[text("config.yaml"), text(".env"), directory("hooks"), directory("plugins")],
            logins: &["auth.json"],
            brought: None,
        }],
        hosts: &[],
        keys: ANY_PROVIDER,
        told: &[],
    },
    AgentProfile {
        name: "aider",
        programs: &["aider"],
        state: &[state(".aider", &[], &["oauth-keys.env"])],
        hosts: &[],
        keys: ANY_PROVIDER,
        told: &[],
    },
];
