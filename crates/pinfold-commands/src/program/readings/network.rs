//! Programs that talk to other hosts.

use std::borrow::Cow;

use Operation::{CopyFrom, CopyTo, Read, Write};
use Purpose::Command;
use pinfold_host::file_url;

use super::super::super::host;
use super::super::{Arg, InvocationEffects, Purpose};
use crate::Operation;

/// A connection through which anything goes both ways.
pub(super) fn connects(effects: &mut InvocationEffects<'_>, _: &[Arg<'_>]) {
    effects.exclude_subcommand("opens a connection that carries anything both ways");
}

/// `openssl engine NAME` loads the library of that name.
pub(super) fn loads_library(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if args.iter().any(|arg| arg.operand().is_some()) {
        effects.exclude_subcommand("loads a library");
    }
}

/// Every operand is an address; what `-T` and `-d` send is read.
pub(super) fn curl(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        match super::super::super::words::unmatched(word).as_deref().and_then(file_url) {
            Some(file) => effects.touch_text(&file, word, Read, Command),
            None if file_url(word.literal_prefix()).is_some() => effects.exclude_unknown_read(),
            None => effects.reach_host(word),
        }
        let scheme = word.literal_prefix().split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if scheme.is_some_and(|scheme| RAW.contains(&scheme.as_str())) {
            effects.exclude_named(word.as_static(), "opens a connection that carries anything both ways");
        }
    }
}

/// Schemes of curl by which its input goes to the other side as it is.
const RAW: &[&str] = &["telnet", "gopher", "gophers", "dict", "tftp", "mqtt", "smb", "smbs"];

/// Without `-O` it writes a file here that the address names.
pub(super) fn wget(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let mut any = false;
    for word in args.iter().filter_map(Arg::operand) {
        any = true;
        effects.reach_host(word);
    }
    let named = |arg: &Arg<'_>| matches!(arg, Arg::Option { known: Some(known), .. } if known.is_named("-O") || known.is_named("-P"));
    if any && !args.iter().any(named) {
        effects.write_in_folder(Command);
    }
}

/// `http [METHOD] address [items]`.
pub(super) fn httpie(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let method = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase());
    let mut words =
        args.iter().filter_map(Arg::operand).skip_while(|word| word.as_static().is_some_and(method));
    if let Some(address) = words.next() {
        effects.reach_host(address);
    }
    for item in words {
        let text = item.literal_prefix();
        if let Some((name, _)) = text.split_once('@') {
            let file = super::super::super::words::strip_start(item, name.len() + 1);
            effects.touch(Cow::Owned(file), Read, Command);
        }
    }
}

pub(super) fn remote_copy(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    super::remote_copy(effects, args, CopyFrom, CopyTo);
}

pub(super) fn first_host(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    if let Some(word) = args.iter().find_map(Arg::operand) {
        effects.reach_host(word);
    }
}

/// `dig @server name type`.
pub(super) fn dig(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let text = word.as_static();
        if text.is_some_and(|text| text.starts_with('+') || text.bytes().all(|b| b.is_ascii_uppercase())) {
            continue;
        }
        match text.and_then(|text| text.strip_prefix('@')) {
            Some(server) => {
                effects.hosts.push(super::super::super::HostClaim::from_command(host::of_address(server)));
            }
            None => effects.reach_host(word),
        }
    }
}

/// `socat address address`: `EXEC:` and `SYSTEM:` run programs, `CREATE:` writes.
pub(super) fn socat(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let text = word.literal_prefix();
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind.to_ascii_lowercase().as_str() {
            "exec" | "system" | "shell" => {
                effects.exclude_option("option", kind, "runs a program");
                let line = rest.split(',').next().unwrap_or_default();
                effects.start_line(Cow::Owned(super::super::super::words::literal(line, word)));
            }
            "open" | "create" | "creat" | "file" | "gopen" | "pipe" => {
                let file = rest.split(',').next().unwrap_or_default();
                effects.touch_text(file, word, Write, Command);
            }
            "tcp" | "tcp4" | "tcp6" | "udp" | "udp4" | "udp6" | "openssl" | "ssl" | "tcp-connect"
            | "openssl-connect" => {
                effects.hosts.push(super::super::super::HostClaim::from_command(host::of_address(rest)));
            }
            _ => {}
        }
    }
}

/// Aliases and extensions of a forge's tool run programs; its host is known to its settings only.
pub(super) fn forge(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    effects.hosts.push(super::super::super::HostClaim::from_command(
        (effects.name == "gh").then(|| "api.github.com".to_owned()),
    ));
    match words.first().and_then(|word| word.as_static()) {
        Some(
            verb @ ("alias" | "extension" | "extensions" | "ext" | "config" | "codespace" | "ssh-key"
            | "gpg-key" | "auth"),
        ) => {
            effects.exclude_option("option", verb, "changes what later commands run, or opens a way in");
        }
        // A place in the interface of the forge.
        Some("api") => words.iter().skip(1).for_each(|word| effects.mark_no_path(word)),
        Some("gist") => {
            for file in words.iter().skip(2) {
                effects.touch(Cow::Owned((*file).clone()), Read, Command);
            }
        }
        _ => {}
    }
}

/// Reaches hosts that its settings name.
pub(super) fn somewhere(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>]) {
    effects.hosts.push(super::super::super::HostClaim::from_command(None));
    for word in args.iter().filter_map(Arg::operand).skip(1) {
        let here = |text: &&str| text.starts_with(['/', '~', '.']) && !text.contains("://");
        if let Some(text) = word.as_static().filter(here) {
            effects.touch_text(text, word, Read, Command);
        }
    }
}
