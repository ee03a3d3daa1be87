//! `docs/cli.md` is what the parser says, and each `pinfold` command that a page names is one of the parser.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use pinfold_shell::{SimpleCommand, Word};

use super::{check_page, user_pages};
use crate::args::Pinfold;

#[test]
fn the_page_of_the_command_line_is_what_the_parser_says() {
    let mut root = Pinfold::command();
    root.build();
    let mut made = String::new();
    for command in root.get_subcommands_mut().filter(|command| !command.is_hide_set()) {
        describe_command(command, 2, &mut made);
    }
    check_page("cli.md", &made);
}

/// Appends the section of one command and those of its subcommands.
fn describe_command(command: &mut Command, level: usize, page: &mut String) {
    let usage = command.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let name = usage.split([' ', '\n']).take_while(|word| !word.starts_with(['[', '<', '-']));
    let name = name.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let _ = write!(page, "{} `{name}`\n\n", "#".repeat(level));
    let about = command.get_long_about().or_else(|| command.get_about());
    for paragraph in paragraphs(about).iter().filter(|text| !text.starts_with("Exit code")) {
        let _ = write!(page, "{paragraph}\n\n");
    }
    let _ = write!(page, "```text\n{usage}\n```\n\n");
    let mut heading = None;
    let mut arguments: Vec<&Arg> = command.get_arguments().filter(|arg| is_told(arg)).collect();
    arguments.sort_by_key(|arg| (arg.get_help_heading().is_some(), !arg.is_positional()));
    for arg in arguments {
        if arg.get_help_heading() != heading {
            heading = arg.get_help_heading();
            let _ = write!(page, "\n{}:\n\n", heading.unwrap_or("Options"));
        }
        describe_argument(arg, page);
    }
    page.push('\n');
    if let Some(after) = command.get_after_long_help() {
        let after = after.to_string();
        let (title, lines) = after.split_once('\n').unwrap_or((&after, ""));
        let lines: Vec<&str> = lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        let block =
            if lines.is_empty() { String::new() } else { format!("```sh\n{}\n```\n\n", lines.join("\n")) };
        let _ = write!(page, "{title}\n\n{block}");
    }
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        describe_command(below, level + 1, page);
    }
}

fn is_told(arg: &Arg) -> bool {
    let is_builtin = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !is_builtin && !arg.is_hide_set()
}

/// Appends one option or operand, with its text, its values and its default.
fn describe_argument(arg: &Arg, page: &mut String) {
    let text = paragraphs(arg.get_long_help().or_else(|| arg.get_help())).join(" ");
    let _ = write!(page, "- `{}`: {}", spelling(arg), text.trim_end_matches('.'));
    let values = arg.get_possible_values();
    if !values.is_empty() && arg.get_action().takes_values() {
        let described = values.iter().filter(|value| !value.is_hide_set()).map(|value| {
            let help = value.get_help().map(|help| format!(" ({})", escape(&help.to_string())));
            format!("`{}`{}", value.get_name(), help.unwrap_or_default())
        });
        let _ = write!(page, ". One of {}", described.collect::<Vec<_>>().join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let _ = write!(page, ". Default: `{}`", defaults.join(" "));
    }
    page.push('\n');
}

/// The names of an option with its value, or the name of an operand.
fn spelling(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>"));
    let values = values.collect::<Vec<_>>().join(" ");
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    match (names.is_empty(), arg.get_action().takes_values()) {
        (true, _) => values,
        (false, true) => format!("{names} {values}"),
        (false, false) => names,
    }
}

fn paragraphs(text: Option<&clap::builder::StyledStr>) -> Vec<String> {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.split("\n\n").map(|paragraph| escape(&paragraph.replace('\n', " "))).collect()
}

/// Text whose marks do not act in Markdown; what stands between backticks does not act anyway.
fn escape(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(i, part)| match i % 2 {
        0 => part.replace('<', "\\<").replace('*', "\\*"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Every `pinfold …` in a block of shell, or between backticks, names commands and options that exist.
#[test]
fn commands_in_the_pages_are_understood() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for page in user_pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for line in command_lines(&text) {
            for words in pinfold_words(&line) {
                seen += 1;
                if let Err(why) = understood(&words) {
                    wrong.push(format!("{}: {line}\n    {why}", page.display()));
                }
            }
        }
    }
    assert!(seen > 150, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of blocks of shell, prompts taken off, and what stands between backticks elsewhere, without the marks of a
/// synopsis.
fn command_lines(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let mut found = Vec::new();
    let mut block: Option<&str> = None;
    for line in text.lines() {
        match (block, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => block = Some(language),
            (Some(_), Some(_)) => block = None,
            (Some("sh"), None) => found.push(line.to_owned()),
            (Some("console"), None) => found.extend(line.strip_prefix("$ ").map(str::to_owned)),
            (Some(_), None) => {}
            (None, None) => {
                let quoted = line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("pinfold "));
                found.extend(quoted.map(|code| code.replace("\\|", " ").replace(['[', ']'], " ")));
            }
        }
    }
    found
}

/// The words of each `pinfold` that a line of shell starts; what only a running shell knows becomes `x`.
fn pinfold_words(line: &str) -> Vec<Vec<String>> {
    let as_text = |word: &Word| word.as_static().unwrap_or("x").to_owned();
    let is_pinfold =
        |command: &&SimpleCommand| command.words.first().and_then(Word::as_static) == Some("pinfold");
    let script = pinfold_shell::parse(line);
    script
        .commands
        .iter()
        .filter(is_pinfold)
        .map(|command| command.words.iter().map(as_text).collect())
        .collect()
}

/// Checks that each command, option and value is one of the parser. A name in capitals stands for any value, and values that a
/// sentence left out are not missed.
fn understood(words: &[String]) -> Result<(), String> {
    use clap::error::ErrorKind::{InvalidSubcommand, InvalidValue, UnknownArgument};
    let is_placeholder = |word: &str| word.chars().all(|c| c.is_ascii_uppercase());
    let parsed = Pinfold::command().try_get_matches_from(words.iter().filter(|word| *word != "…"));
    let why = parsed.err().filter(|e| matches!(e.kind(), InvalidSubcommand | InvalidValue | UnknownArgument));
    let why = why.map(|e| e.to_string().lines().next().unwrap_or_default().to_owned()).unwrap_or_default();
    let about = why.split('\'').nth(1).unwrap_or_default();
    if why.is_empty() || is_placeholder(about) || why.ends_with("none was supplied") {
        Ok(())
    } else {
        Err(why)
    }
}
