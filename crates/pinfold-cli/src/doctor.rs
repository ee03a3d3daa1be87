//! `pinfold doctor`: what this machine can hold, layer by layer, and whether the end of its audit log is whole.

use std::io;
use std::process::ExitCode;

use pinfold::audit::{Verified, ledger, verify_end};
use pinfold_sandbox::{ProbeResult, Strength, Tier};
use serde_json::{Value, json};

use crate::args::Doctor;
use crate::exit::{DONE, Failure, NO_SANDBOX};
use crate::{output, record};

pub(crate) fn doctor(wanted: &Doctor) -> Result<ExitCode, Failure> {
    let findings = pinfold_sandbox::probe();
    let tier = pinfold_sandbox::strongest(&findings);
    let log = LogState::look();
    let text = if wanted.json {
        output::json_line(&as_json(&findings, tier, &log))
    } else {
        format!("{}\n{}", text(&findings, tier), log.describe())
    };
    output::out(&text)?;
    Ok(ExitCode::from(if tier.is_some() { DONE } else { NO_SANDBOX }))
}

/// Advice about user namespaces that are closed.
const MEND: &str = "
User namespaces are often closed by a container or by a setting:
  docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined …
  (a masked /proc forbids a new one: then only `processes` says NO)
  sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0
";

fn text(findings: &[ProbeResult], tier: Option<Tier>) -> String {
    let layers: String = findings.iter().map(layer).collect();
    let summary = match tier {
        Some(Tier::Full) => match listed(Tier::Full) {
            gaps if gaps.is_empty() => "`pinfold run` holds the full tier on this machine.\n".to_owned(),
            gaps => format!(
                "`pinfold run` holds the full tier on this machine, but only watches changes of files. Not held:\n{gaps}"
            ),
        },
        Some(Tier::Landlock) => format!(
            "`pinfold run` needs `--allow-degraded` here: it holds the Landlock tier. Not held then:\n{}{MEND}",
            listed(Tier::Landlock)
        ),
        None => "`pinfold run` cannot hold a command here: neither namespaces nor Landlock can be had.\n"
            .to_owned(),
    };
    format!("What the kernel holds here, tried just now:\n\n{layers}\n{summary}")
}

/// The gaps of a tier on this machine, a line each.
fn listed(tier: Tier) -> String {
    Strength::from(tier).gaps().map(|gap| format!("  - {gap}\n")).collect()
}

fn layer(finding: &ProbeResult) -> String {
    let ProbeResult { name, holds, without, result, .. } = finding;
    match result {
        Ok(detail) if detail.is_empty() => format!("  yes  {name:<15} {holds}\n"),
        Ok(detail) => format!("  yes  {name:<15} {holds} ({detail})\n"),
        Err(error) => format!("  NO   {name:<15} {error}\n       {:<15} {without}\n", ""),
    }
}

/// The audit log as `doctor` finds it.
enum LogState {
    /// Nothing was recorded, or there is no home for it.
    None,
    /// Something was recorded, and its files are gone.
    Missing,
    Unreadable(io::Error),
    /// The chain of its last lines.
    Read(Box<Verified>),
}

impl LogState {
    /// The part of the audit log that is looked at: a file of the usual size. It takes some hundredths of a second.
    const MAX_BYTES: u64 = 16 << 20;

    fn look() -> Self {
        let Ok(directory) = record::directory() else { return Self::None };
        let files = match ledger::opened(&directory) {
            Ok(files) if files.is_empty() && directory.join(ledger::MACHINE).exists() => {
                return Self::Missing;
            }
            Ok(files) if files.is_empty() => return Self::None,
            Ok(files) => files,
            Err(error) => return Self::Unreadable(error),
        };
        verify_end(&files, Self::MAX_BYTES).map_or_else(Self::Unreadable, |found| Self::Read(Box::new(found)))
    }

    fn describe(&self) -> String {
        match self {
            Self::None => "The audit log: nothing has been recorded yet.\n".to_owned(),
            Self::Missing => "The audit log is not there: all its files were taken away.\n".to_owned(),
            Self::Unreadable(error) => {
                format!("The audit log cannot be read: {}\n", output::visible(&error.to_string()))
            }
            Self::Read(found) if !found.holds() => format!(
                "The audit log: the chain of its last {} lines is broken. `pinfold log verify` says where, and what to do.\n",
                found.lines
            ),
            Self::Read(found) if found.lines == 0 => {
                "The audit log: none of its last lines has a seal. `pinfold log verify` looks at all.\n"
                    .to_owned()
            }
            Self::Read(found) => {
                let acknowledged = match found.breaks.len() {
                    0 => String::new(),
                    count => format!(", but for breaks that were acknowledged: {count}"),
                };
                format!(
                    "The audit log: its last {} lines follow each other{acknowledged}. `pinfold log verify` looks at all.\n",
                    found.lines
                )
            }
        }
    }

    fn as_json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Missing => json!({"holds": false, "missing": true}),
            Self::Unreadable(error) => json!({"error": error.to_string()}),
            Self::Read(found) => json!({
                "lines": found.lines,
                "holds": found.holds(),
                "acknowledged": found.breaks.iter().filter(|found| found.acknowledged_by.is_some()).count(),
            }),
        }
    }
}

fn as_json(findings: &[ProbeResult], tier: Option<Tier>, log: &LogState) -> Value {
    let layers: Vec<Value> = findings
        .iter()
        .map(|f| {
            json!({
                "name": f.name,
                "holds": f.result.is_ok(),
                "detail": f.result.as_ref().map_or_else(ToString::to_string, Clone::clone),
                "used_for": f.holds,
                "without_it": f.without,
                "needed_for_full": f.needed,
            })
        })
        .collect();
    json!({
        "tier": tier.map(|t| t.to_string()),
        "gaps": tier.into_iter().flat_map(|tier| Strength::from(tier).gaps()).collect::<Vec<_>>(),
        "layers": layers,
        "audit_log": log.as_json(),
    })
}
