//! Flags of a session of our tools.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::SettingsFlags;

/// Permissions of a session of pinfold's tools, beside its folder
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct SessionFlags {
    /// Grant the folder that --folder names although it is a home directory, lies above one, or holds programs of the PATH
    #[arg(long, requires = "folder")]
    pub(crate) allow_home: bool,

    /// Another folder that can be written
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Write nothing
    #[arg(long)]
    pub(crate) read_only: bool,

    /// Allow the Bash tool, which is off by default
    #[arg(long)]
    pub(crate) allow_bash: bool,

    /// A host that the Bash tool can reach, as for `pinfold run`
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) allow_host: Vec<String>,

    /// Let the Bash tool run although this machine can hold less than the full tier
    #[arg(long, requires = "allow_bash")]
    pub(crate) allow_degraded: bool,

    #[command(flatten)]
    pub(crate) settings: SettingsFlags,

    /// Read no settings files: rules and modes come from the flags alone
    #[arg(long)]
    pub(crate) no_settings: bool,

    /// Do not write a record
    #[arg(long, hide_short_help = true)]
    pub(crate) no_record: bool,
}
