//! Programs that talk to other hosts.

use std::borrow::Cow;

use super::super::super::host;
use super::super::{
    Acts, Arg, Does, Operands, Program, Purpose, Style, flag, loads, program, reads, runs, takes, text, with,
    writes,
};
use crate::claim::Operation;
use crate::mcp::file_url;
use Operands::{Hosts, Own};
use Operation::{CopyFrom, CopyTo, Read, Write};
use Purpose::{Aside, Command};

pub(super) const PROGRAMS: &[Program] = &[
    program(&["curl"], Own(curl)).options(&[
        writes(&[
            "-o",
            "--output",
            "-c",
            "--cookie-jar",
            "-D",
            "--dump-header",
            "--trace",
            "--trace-ascii",
            "--stderr",
        ]),
        writes(&["--libcurl", "--etag-save", "--hsts", "--alt-svc"]),
        with(&["--output-dir"], Does::Path(Write, Aside)),
        flag(&["-O", "--remote-name", "--remote-name-all"], Does::Here),
        flag(
            &["-J", "--remote-header-name"],
            Does::Bars("lets the other side name the file that is written"),
        ),
        with(&["-K", "--config"], Does::Bars("loads options, and several of them write or read files")),
        with(&["-w", "--write-out"], Does::WriteOut),
        with(
            &["-d", "--data", "--data-ascii", "--data-binary", "--json", "-H", "--header", "--proxy-header"],
            Does::AtFile,
        ),
        with(&["--data-urlencode", "--url-query", "--variable"], Does::Encoded),
        with(&["--proto-redir", "--proto-default"], Does::Bars("may make a file of this machine the answer")),
        with(&["-F", "--form"], Does::FormFile),
        reads(&[
            "-T",
            "--upload-file",
            "-n",
            "--netrc-file",
            "-E",
            "--cert",
            "--key",
            "--cacert",
            "--capath",
            "--crlfile",
        ]),
        reads(&["-b", "--cookie", "--etag-compare", "--pinnedpubkey"]),
        loads(&["--engine"]),
        with(
            &[
                "--url",
                "-x",
                "--proxy",
                "--preproxy",
                "--socks5",
                "--socks4",
                "--socks5-hostname",
                "--doh-url",
            ],
            Does::Host,
        ),
        with(
            &["--connect-to", "--resolve", "--unix-socket", "--abstract-unix-socket"],
            Does::Bars("reaches another host than the address says"),
        ),
        reads(&[
            "--egd-file",
            "--random-file",
            "--proxy-cert",
            "--proxy-key",
            "--proxy-cacert",
            "--proxy-capath",
        ]),
        text(&[
            "-X",
            "--request",
            "-A",
            "--user-agent",
            "-e",
            "--referer",
            "-u",
            "--user",
            "-U",
            "--proxy-user",
            "-m",
            "--max-time",
        ]),
        takes(&[
            "--connect-timeout",
            "--retry",
            "--retry-delay",
            "--retry-max-time",
            "-r",
            "--range",
            "-C",
            "--continue-at",
        ]),
        takes(&[
            "--limit-rate",
            "-y",
            "-Y",
            "-z",
            "--time-cond",
            "--interface",
            "--local-port",
            "--max-redirs",
            "--max-filesize",
        ]),
        text(&[
            "--form-string",
            "--data-raw",
            "-P",
            "-Q",
            "-t",
            "--tls-max",
            "--ciphers",
            "--parallel-max",
            "--rate",
        ]),
        text(&["--oauth2-bearer", "--aws-sigv4", "--request-target", "--proto", "--dns-servers"]),
        takes(&[
            "--noproxy",
            "--keepalive-time",
            "--pass",
            "--cert-type",
            "--key-type",
            "--create-file-mode",
        ]),
        flag(
            &[
                "--compressed",
                "--create-dirs",
                "--crlf",
                "--fail",
                "--location",
                "--show-error",
                "--form-escape",
                "--get",
            ],
            Does::Nothing,
        ),
        flag(
            &[
                "--head",
                "--http1.1",
                "--http2",
                "--include",
                "--insecure",
                "--proxy-insecure",
                "--netrc",
                "--remove-on-error",
            ],
            Does::Nothing,
        ),
        flag(
            &["--remote-time", "--parallel", "--retry-all-errors", "--retry-connrefused", "--trace-time"],
            Does::Nothing,
        ),
    ]),
    program(&["wget", "wget2"], Own(wget)).options(&[
        writes(&[
            "-O",
            "--output-document",
            "-o",
            "--output-file",
            "-a",
            "--append-output",
            "--save-cookies",
            "--rejected-log",
        ]),
        writes(&["--warc-file", "--hsts-file", "--warc-dedup"]),
        with(&["-P", "--directory-prefix"], Does::Path(Write, Aside)),
        with(&["-e", "--execute"], Does::Bars("sets any option, and several of them run programs")),
        runs(&["--use-askpass"]),
        loads(&["--config"]),
        reads(&[
            "-i",
            "--input-file",
            "--post-file",
            "--body-file",
            "--load-cookies",
            "--certificate",
            "--private-key",
            "--ca-certificate",
        ]),
        takes(&[
            "-t",
            "--tries",
            "-T",
            "--timeout",
            "-w",
            "--wait",
            "-U",
            "--user-agent",
            "--header",
            "--post-data",
            "--body-data",
        ]),
        takes(&[
            "--method",
            "--user",
            "--password",
            "-l",
            "--level",
            "-A",
            "--accept",
            "-R",
            "--reject",
            "-D",
            "--domains",
            "-B",
        ]),
        takes(&[
            "--base",
            "--limit-rate",
            "-Q",
            "--quota",
            "--referer",
            "--cut-dirs",
            "-I",
            "-X",
            "--max-redirect",
            "--progress",
        ]),
        flag(
            &["--output-document-a", "--convert-links", "--continue", "--content-disposition", "--recursive"],
            Does::Nothing,
        ),
    ]),
    program(&["http", "https", "xh", "xhs", "httpie"], Own(httpie)).options(&[
        writes(&["-o", "--output"]),
        with(&["-d", "--download"], Does::Nothing),
        takes(&[
            "-a",
            "--auth",
            "-s",
            "--style",
            "-p",
            "--print",
            "--timeout",
            "--session",
            "--verify",
            "--cert",
            "--proxy",
        ]),
    ]),
    program(&["aria2c"], Operands::Hosts).options(&[
        writes(&["-o", "--out", "-l", "--log", "--save-session", "-d", "--dir"]),
        with(
            &["--on-download-complete", "--on-download-start", "--on-download-error", "--on-download-stop"],
            Does::Bars("runs the program that it names"),
        ),
        loads(&["--conf-path"]),
        reads(&["-i", "--input-file"]),
    ]),
    program(&["scp"], Own(remote_copy)).options(&[
        runs(&["-S"]),
        with(&["-o"], Does::Bars("sets any option of ssh, and several of them run programs")),
        with(&["-F"], Does::Bars("loads settings that may run programs")),
        with(&["-D", "-J"], Does::Bars("opens another way to the host")),
        reads(&["-i"]),
        takes(&["-c", "-l", "-P", "-X"]),
    ]),
    program(&["sftp"], Own(first_host)).options(&[
        runs(&["-S", "-D"]),
        with(&["-o"], Does::Bars("sets any option of ssh, and several of them run programs")),
        with(&["-F"], Does::Bars("loads settings that may run programs")),
        with(&["-b"], Does::Bars("runs the commands of a file")),
        reads(&["-i"]),
        takes(&["-B", "-c", "-l", "-P", "-R", "-s", "-J", "-X"]),
    ]),
    program(&["ftp", "lftp", "telnet", "tnftp"], Own(first_host)).options(&[
        with(&["-e", "-c"], Does::Code),
        loads(&["-f"]),
        takes(&["-u", "-p", "-l", "-b", "-n"]),
    ]),
    program(&["nc", "ncat", "netcat", "nc.openbsd", "nc.traditional"], Own(first_host)).options(&[
        runs(&["-e", "--exec", "-c", "--sh-exec", "--lua-exec"]),
        writes(&["-o", "--output", "-x", "--hex-dump"]),
        takes(&[
            "-p",
            "--source-port",
            "-s",
            "--source",
            "-w",
            "--wait",
            "-i",
            "--idle-timeout",
            "-q",
            "-I",
            "-O",
            "-T",
            "-V",
            "-X",
            "-M",
            "-m",
        ]),
    ]),
    program(&["socat", "socat1"], Own(socat)).options(&[writes(&["-lf", "-r", "-R"])]),
    program(&["ping", "ping6", "traceroute", "tracepath", "mtr", "whois", "arping"], Own(first_host))
        .options(&[takes(&[
            "-c", "-i", "-I", "-l", "-m", "-M", "-p", "-Q", "-s", "-S", "-t", "-T", "-w", "-W", "-f", "-q",
            "-z", "-h",
        ])]),
    program(&["dig", "drill", "kdig", "delv"], Own(dig))
        .style(Style::Single)
        .options(&[reads(&["-f", "-k"]), takes(&["-b", "-c", "-p", "-q", "-t", "-x", "-y"])]),
    program(&["nslookup", "host", "getent", "resolvectl"], Own(first_host))
        .options(&[takes(&["-t", "-c", "-N", "-R", "-W"])]),
    program(&["nmap"], Hosts).options(&[
        with(
            &["--script", "--script-args", "--script-args-file", "--datadir", "--servicedb", "--versiondb"],
            Does::Bars("loads scripts that run"),
        ),
        flag(&["-sC", "-A"], Does::Nothing),
        writes(&["-oN", "-oX", "-oG", "-oA", "-oS"]),
        reads(&["-iL", "--excludefile"]),
        takes(&["-p", "-T", "-e", "-S", "-g", "-D", "--top-ports", "--max-retries", "--host-timeout"]),
    ]),
    program(&["tcpdump", "tshark", "dumpcap"], Operands::Nothing).options(&[
        runs(&["-z"]),
        writes(&["-w", "-W"]),
        reads(&["-r", "-F"]),
        takes(&["-i", "-c", "-s", "-B", "-C", "-G", "-y", "-Y", "-T", "-e", "-f", "-j", "-Q", "-m"]),
        with(&["-X"], Does::Nothing),
    ]),
    program(&["openssl"], Operands::Nothing).style(Style::Single).commands(OPENSSL).options(OPENSSL_OPTIONS),
    program(&["gpg", "gpg2"], Operands::Each(Read, Command)).options(&[
        writes(&[
            "-o",
            "--output",
            "--export-ownertrust",
            "--logger-file",
            "--status-file",
            "--attribute-file",
        ]),
        runs(&[
            "--agent-program",
            "--dirmngr-program",
            "--photo-viewer",
            "--exec-path",
            "--keyboxd-program",
            "--pinentry-program",
        ]),
        loads(&[
            "--options",
            "--homedir",
            "--load-extension",
            "--keyring",
            "--secret-keyring",
            "--trustdb-name",
        ]),
        takes(&[
            "-r",
            "--recipient",
            "-u",
            "--local-user",
            "--default-key",
            "--passphrase",
            "--passphrase-fd",
            "--keyserver",
        ]),
        reads(&["--passphrase-file"]),
        flag(
            &["--export-secret-keys", "--export-secret-subkeys", "--export-ssh-key", "--armor-secret"],
            Does::Bars("shows keys that are secret"),
        ),
        flag(&["--export", "--option", "--output-f"], Does::Nothing),
    ]),
    program(&["ssh-keygen"], Operands::Nothing).options(&[
        with(&["-f"], Does::Path(Write, Command)),
        with(&["-D", "-w"], Does::Bars("loads a library")),
        takes(&[
            "-t", "-b", "-C", "-N", "-P", "-I", "-n", "-O", "-V", "-z", "-m", "-a", "-E", "-F", "-R", "-r",
            "-Y",
        ]),
        reads(&["-s"]),
    ]),
    program(&["ssh-copy-id", "ssh-keyscan", "ssh-add"], Operands::Nothing).options(&[
        with(&["-o"], Does::Bars("sets any option of ssh, and several of them run programs")),
        with(&["-s", "-S", "-P"], Does::Bars("loads a library")),
        reads(&["-i", "-f"]),
        takes(&["-p", "-t", "-T"]),
    ]),
    program(&["gh", "glab", "hub"], Own(forge)).style(Style::Go).options(&[
        text(&[
            "-R", "--repo", "--json", "-q", "--jq", "-t", "--title", "-b", "--body", "-H", "--head", "-B",
            "--base", "-l", "--label",
        ]),
        text(&[
            "-a",
            "--assignee",
            "-m",
            "--milestone",
            "-L",
            "--limit",
            "-s",
            "--state",
            "-S",
            "--search",
            "-X",
            "--method",
            "-T",
            "--template",
            "-n",
            "--notes",
        ]),
        text(&[
            "-r",
            "--reviewer",
            "-p",
            "--project",
            "-d",
            "--description",
            "--hostname",
            "-c",
            "--comment",
        ]),
        with(&["-f", "--raw-field", "-F", "--field"], Does::FormFile),
        reads(&["--body-file", "--input", "--notes-file"]),
        writes(&["-D", "--dir", "-O", "--output"]),
    ]),
    program(
        &[
            "aws", "gcloud", "az", "gsutil", "doctl", "flyctl", "fly", "heroku", "vercel", "netlify",
            "wrangler", "s3cmd", "rclone", "mc",
        ],
        Own(somewhere),
    ),
    program(&["sendmail", "mail", "mailx", "mutt", "msmtp", "swaks"], Own(somewhere))
        .options(&[with(&["-X", "-oQ", "-C"], Does::Bars("writes a log or loads settings"))]),
];

const OPENSSL: &[Program] = &[
    program(&["s_client"], Own(connects))
        .style(Style::Single)
        .options(&[with(&["-connect", "-host", "-proxy"], Does::Host)]),
    program(&["s_server", "s_time"], Own(connects)).style(Style::Single),
    program(&["engine"], Own(loads_library)).style(Style::Single),
    program(
        &[
            "req", "x509", "enc", "genrsa", "rsa", "pkcs12", "pkey", "genpkey", "ec", "ecparam", "dgst",
            "rand", "cms", "smime",
        ],
        Operands::Nothing,
    )
    .style(Style::Single),
    program(
        &[
            "ca", "ts", "ocsp", "verify", "crl", "pkcs8", "pkeyutl", "rsautl", "passwd", "speed", "version",
            "ciphers",
        ],
        Operands::Nothing,
    )
    .style(Style::Single),
];

const OPENSSL_OPTIONS: &[super::super::Options] = &[
    writes(&["-out", "-keyout", "-writerand", "-signature", "-CRLfile", "-outdir"]),
    loads(&["-engine", "-provider", "-provider-path", "-config", "-extfile", "-dynamic"]),
    reads(&[
        "-in",
        "-inkey",
        "-key",
        "-CA",
        "-CAkey",
        "-CAfile",
        "-CApath",
        "-certfile",
        "-rand",
        "-cert",
        "-passin",
        "-kfile",
    ]),
    takes(&[
        "-k",
        "-K",
        "-iv",
        "-S",
        "-pass",
        "-passout",
        "-subj",
        "-days",
        "-name",
        "-alias",
        "-servername",
        "-starttls",
    ]),
    takes(&[
        "-keyform",
        "-inform",
        "-outform",
        "-md",
        "-curve",
        "-algorithm",
        "-pkeyopt",
        "-newkey",
        "-set_serial",
        "-addext",
    ]),
];

/// A connection through which anything goes both ways.
fn connects(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.subcommand_bar("opens a connection that carries anything both ways");
}

/// `openssl engine NAME` loads the library of that name.
fn loads_library(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if args.iter().any(|arg| arg.operand().is_some()) {
        acts.subcommand_bar("loads a library");
    }
}

/// Every operand is an address; what `-T` and `-d` send is read.
fn curl(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        match super::super::super::words::unmatched(word).as_deref().and_then(file_url) {
            Some(file) => acts.path_text(&file, word, Read, Command),
            None if file_url(word.literal_prefix()).is_some() => acts.unknown_read(),
            None => acts.host(word),
        }
        let scheme = word.literal_prefix().split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if scheme.is_some_and(|scheme| RAW.contains(&scheme.as_str())) {
            acts.named_bar(word.as_static(), "opens a connection that carries anything both ways");
        }
    }
}

/// Schemes of curl by which its input goes to the other side as it is.
const RAW: &[&str] = &["telnet", "gopher", "gophers", "dict", "tftp", "mqtt", "smb", "smbs"];

/// Without `-O` it writes a file here that the address names.
fn wget(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let mut any = false;
    for word in args.iter().filter_map(Arg::operand) {
        any = true;
        acts.host(word);
    }
    let named = |arg: &Arg<'_>| matches!(arg, Arg::Option { known: Some(known), .. } if known.names.contains(&"-O") || known.names.contains(&"-P"));
    if any && !args.iter().any(named) {
        acts.here(Command);
    }
}

/// `http [METHOD] address [items]`.
fn httpie(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let method = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase());
    let mut words =
        args.iter().filter_map(Arg::operand).skip_while(|word| word.as_static().is_some_and(method));
    if let Some(address) = words.next() {
        acts.host(address);
    }
    for item in words {
        let text = item.literal_prefix();
        if let Some((name, _)) = text.split_once('@') {
            let file = super::super::super::words::behind(item, name.len() + 1);
            acts.path(Cow::Owned(file), Read, Command);
        }
    }
}

fn remote_copy(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    super::remote_copy(acts, args, CopyFrom, CopyTo);
}

fn first_host(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if let Some(word) = args.iter().find_map(Arg::operand) {
        acts.host(word);
    }
}

/// `dig @server name type`.
fn dig(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let text = word.as_static();
        if text.is_some_and(|text| text.starts_with('+') || text.bytes().all(|b| b.is_ascii_uppercase())) {
            continue;
        }
        match text.and_then(|text| text.strip_prefix('@')) {
            Some(server) => {
                acts.hosts.push(super::super::super::HostClaim::of_command(host::of_address(server)));
            }
            None => acts.host(word),
        }
    }
}

/// `socat address address`: `EXEC:` and `SYSTEM:` run programs, `CREATE:` writes.
fn socat(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let text = word.literal_prefix();
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind.to_ascii_lowercase().as_str() {
            "exec" | "system" | "shell" => {
                acts.option_bar("option", kind, "runs a program");
                let line = rest.split(',').next().unwrap_or_default();
                acts.line(Cow::Owned(super::super::super::words::literal(line, word)));
            }
            "open" | "create" | "creat" | "file" | "gopen" | "pipe" => {
                let file = rest.split(',').next().unwrap_or_default();
                acts.path_text(file, word, Write, Command);
            }
            "tcp" | "tcp4" | "tcp6" | "udp" | "udp4" | "udp6" | "openssl" | "ssl" | "tcp-connect"
            | "openssl-connect" => {
                acts.hosts.push(super::super::super::HostClaim::of_command(host::of_address(rest)));
            }
            _ => {}
        }
    }
}

/// Aliases and extensions of a forge's tool run programs; its host is known to its settings only.
fn forge(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    acts.hosts.push(super::super::super::HostClaim::of_command(
        (acts.name == "gh").then(|| "api.github.com".to_owned()),
    ));
    match words.first().and_then(|word| word.as_static()) {
        Some(
            verb @ ("alias" | "extension" | "extensions" | "ext" | "config" | "codespace" | "ssh-key"
            | "gpg-key" | "auth"),
        ) => {
            acts.option_bar("option", verb, "changes what later commands run, or opens a way in");
        }
        // A place in the interface of the forge.
        Some("api") => words.iter().skip(1).for_each(|word| acts.take(word)),
        Some("gist") => {
            for file in words.iter().skip(2) {
                acts.path(Cow::Owned((*file).clone()), Read, Command);
            }
        }
        _ => {}
    }
}

/// It reaches hosts that its settings name.
fn somewhere(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    acts.hosts.push(super::super::super::HostClaim::of_command(None));
    for word in args.iter().filter_map(Arg::operand).skip(1) {
        let here = |text: &&str| text.starts_with(['/', '~', '.']) && !text.contains("://");
        if let Some(text) = word.as_static().filter(here) {
            acts.path_text(text, word, Read, Command);
        }
    }
}
