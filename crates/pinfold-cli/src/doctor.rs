//! `pinfold doctor`: what this machine can hold, layer by layer.

use std::process::ExitCode;

use pinfold_sandbox::{ProbeResult, Strength, Tier};
use serde_json::{Value, json};

use crate::args::Doctor;
use crate::exit::{DONE, Failure, NO_SANDBOX};
use crate::output;

pub(crate) fn doctor(wanted: &Doctor) -> Result<ExitCode, Failure> {
    let findings = pinfold_sandbox::probe();
    let tier = pinfold_sandbox::strongest(&findings);
    let text = if wanted.json { format!("{}\n", as_json(&findings, tier)) } else { text(&findings, tier) };
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
        Some(Tier::Full) => "`pinfold run` holds the full tier on this machine.\n".to_owned(),
        Some(Tier::Landlock) => {
            let gaps = Strength::from(Tier::Landlock).gaps();
            let gaps: String = gaps.map(|gap| format!("  - {gap}\n")).collect();
            format!(
                "`pinfold run` needs `--allow-degraded` here: it holds the Landlock tier. Not held then:\n{gaps}{MEND}"
            )
        }
        None => "`pinfold run` cannot hold a command here: neither namespaces nor Landlock can be had.\n"
            .to_owned(),
    };
    format!("What the kernel holds here, tried just now:\n\n{layers}\n{summary}")
}

fn layer(finding: &ProbeResult) -> String {
    let ProbeResult { name, holds, without, result, .. } = finding;
    match result {
        Ok(detail) if detail.is_empty() => format!("  yes  {name:<15} {holds}\n"),
        Ok(detail) => format!("  yes  {name:<15} {holds} ({detail})\n"),
        Err(error) => format!("  NO   {name:<15} {error}\n       {:<15} {without}\n", ""),
    }
}

fn as_json(findings: &[ProbeResult], tier: Option<Tier>) -> Value {
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
    })
}
