//! The server behind `pinfold mcp proxy`: started as by `pinfold run`, which holds it, and ends it when we have ended.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use clap::ValueEnum as _;
use pinfold_host::WebUrl;
use pinfold_mcp::{GRACE, PinLocation, ProxiedServer, ProxyEnd, ServerOptions, SessionOpener as _};

use super::remote_server;
use super::session_factory::SessionFactory;
use crate::args::{McpProxy, is_server};
use crate::exit::{DONE, FAILED, Failure, NO_SANDBOX, USAGE};
use crate::output::{self, warn};
use crate::{env, record};

pub(super) fn proxy(wanted: &McpProxy) -> Result<ExitCode, Failure> {
    let house = SessionFactory::from_proxy_args(wanted)?;
    // Settings that cannot be used are told now, where a person may see it.
    house.visible().map(drop).map_err(|why| Failure::new(USAGE, why))?;
    let folder = house.folders().first().map(|folder| folder.path.clone()).unwrap_or_default();
    let command = match &wanted.url {
        Some(url) => remote_server::command(url, wanted)?,
        None => command(wanted, &folder),
    };
    let behind = ProxiedServer {
        name: name(wanted)?,
        command,
        pins: pins(wanted, folder)?,
        arguments: wanted.argument.clone(),
        is_http_client: wanted.url.is_some(),
    };
    let manner =
        ServerOptions { refusals_as_text: wanted.client.refusals_as_text, ..ServerOptions::default() };
    let tell = |what: &str| warn(output::lines(what));
    let ended =
        env::ended().map_err(|e| Failure::new(FAILED, format!("signals cannot be listened to: {e}")))?;
    let end = pinfold_mcp::proxy(Arc::new(house), behind, manner, ended, tell).map_err(|why| {
        Failure::new(USAGE, output::lines(&why)).mend("--repin takes the tools as they are now")
    })?;
    Ok(ExitCode::from(code(end)))
}

/// Returns the name of the server in rules.
fn name(wanted: &McpProxy) -> Result<String, Failure> {
    let program = || wanted.command.first().and_then(|program| Path::new(program).file_stem()?.to_str());
    let name = match (&wanted.name, &wanted.url) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(url)) => WebUrl::parse(url).ok().map(|url| url.host().to_string()),
        (None, None) => program().map(str::to_owned),
    };
    name.filter(|name| is_server(name)).ok_or_else(|| {
        Failure::new(USAGE, "the name of the program or host cannot stand in rules")
            .mend("name the server: --name NAME")
    })
}

/// Returns the location of the pins of its tools.
fn pins(wanted: &McpProxy, folder: PathBuf) -> Result<PinLocation, Failure> {
    // Inside another run nothing can be kept.
    let directory = if env::is_inside_another() { None } else { Some(record::pins()?) };
    let started = wanted.command.iter().map(|word| word.to_string_lossy().into_owned());
    let server = wanted.url.iter().cloned().chain(started).collect();
    Ok(PinLocation { directory, server, folder, anew: wanted.repin })
}

/// The run in which the server lives.
fn command(wanted: &McpProxy, folder: &Path) -> Command {
    let mut command = Command::new(env::OWN_PROGRAM);
    let option = |name: &str, value: &OsStr| {
        let mut word = OsString::from(format!("--{name}="));
        word.push(value);
        word
    };
    let seconds = OsString::from(format!("{}s", GRACE.as_secs()));
    let mut words = vec![
        OsString::from("run"),
        "--quiet".into(),
        option("end-with-input", &seconds),
        option("folder", folder.as_os_str()),
    ];
    let here = env::current_dir().unwrap_or_default();
    let mut all = |name: &str, values: &mut dyn Iterator<Item = OsString>| {
        words.extend(values.map(|value| option(name, &value)));
    };
    all("add-dir", &mut wanted.add_dir.iter().map(|dir| here.join(dir).into_os_string()));
    all("allow-read", &mut wanted.allow_read.iter().map(|path| here.join(path).into_os_string()));
    all("allow-host", &mut wanted.allow_host.iter().map(OsString::from));
    let mut features = wanted
        .allow_feature
        .iter()
        .filter_map(|feature| Some(feature.to_possible_value()?.get_name().into()));
    all("allow-feature", &mut features);
    all("profile", &mut wanted.settings.profile.iter().map(OsString::from));
    all(
        "ask-timeout",
        &mut wanted.client.ask_timeout.iter().map(|time| format!("{}s", time.as_secs()).into()),
    );
    all("ask", &mut wanted.client.no_ask.then(|| "none".into()).into_iter());
    // Values stand in the environment, which only the person sees, and not on a command line.
    let mut names = Vec::new();
    for variable in &wanted.env {
        let (name, value) = split(variable);
        if let Some(value) = value {
            command.env(&name, value);
        }
        names.push(name);
    }
    all("env", &mut names.into_iter());
    let switches = [
        ("--read-only", wanted.read_only),
        ("--allow-home", wanted.allow_home),
        ("--allow-degraded", wanted.allow_degraded),
        ("--no-settings", wanted.no_settings),
        ("--no-record", wanted.no_record),
    ];
    words.extend(switches.iter().filter(|(_, on)| *on).map(|(switch, _)| OsString::from(switch)));
    words.push("--".into());
    command.args(words).args(&wanted.command).current_dir(folder);
    command
}

/// `NAME=VALUE`, or a name alone.
fn split(variable: &OsStr) -> (OsString, Option<OsString>) {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = variable.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => {
            let (name, value) = bytes.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            (OsStr::from_bytes(name).to_owned(), Some(OsStr::from_bytes(value).to_owned()))
        }
        None => (variable.to_owned(), None),
    }
}

fn code(end: ProxyEnd) -> u8 {
    match end {
        ProxyEnd::Client => DONE,
        ProxyEnd::Server(status, spoke) => {
            let code = status.and_then(|status| u8::try_from(status.code()?).ok());
            let not_started = code.filter(|code| !spoke && (NO_SANDBOX..=127).contains(code));
            if not_started.is_none() {
                let how = code.map_or_else(|| "it was killed".to_owned(), |code| format!("exit code {code}"));
                warn(format_args!("the server has ended ({how})"));
            }
            not_started.unwrap_or(FAILED)
        }
    }
}
