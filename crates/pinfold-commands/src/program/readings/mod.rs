//! Programs whose operands are a language of their own, each with the code that reads it. `operands own NAME` in the
//! catalog chooses one by its name here.

mod archives;
mod build;
mod containers;
mod files;
mod git;
mod languages;
mod launchers;
mod network;
mod others;
mod text;

use std::borrow::Cow;

use super::super::host;
use super::{Arg, InvocationEffects, Purpose};
use crate::Operation;

/// The readings, by the file that each stands in: its name in the catalog, in capitals, and its function.
macro_rules! own_readings {
    ($($file:ident { $($reading:ident => $function:ident,)+ })+) => {
        /// A reading of operands in code.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum OwnReading {
            $($($reading,)+)+
        }

        impl OwnReading {
            /// Reads `args` of the program that `effects` is about.
            pub(super) fn read<'a>(self, effects: &mut InvocationEffects<'a>, args: &[Arg<'a>]) {
                match self {
                    $($(Self::$reading => $file::$function(effects, args),)+)+
                }
            }
        }
    };
}

own_readings! {
    archives {
        Cpio => cpio,
        Jar => jar,
        Seven => seven,
        Tar => tar,
        Unzip => unzip,
        Zip => zip,
    }
    build {
        AlwaysRemote => always_remote,
        Ar => ar,
        Bun => bun,
        ChangesTools => changes_tools,
        Cmake => cmake,
        GoEnv => go_env,
        Installs => installs,
        Labels => labels,
        Make => make,
        NpmChanges => npm_changes,
        NpmConfig => npm_config,
        NpmSet => npm_set,
        RunsPackage => runs_package,
        ToCompiler => to_compiler,
        UvTool => uv_tool,
    }
    containers {
        ChangesEngine => changes_engine,
        ContainerCopy => container_copy,
        InPod => in_pod,
        InUserNamespace => in_user_namespace,
        Machine => machine,
    }
    files {
        Dd => dd,
        FirstWritten => first_written,
        Rsync => rsync,
        Temporary => temporary,
    }
    git {
        GitAlias => alias,
        GitArchive => archive,
        GitBisect => bisect,
        GitBranch => branch,
        GitBundle => bundle,
        GitClone => clone,
        GitConfig => config,
        GitGrep => grep,
        GitLfs => lfs,
        GitMaintenance => maintenance,
        GitMergeFile => merge_file,
        GitNever => never,
        GitReflog => reflog,
        GitRemote => remote,
        GitRemoteFirst => remote_first,
        GitStash => stash,
        GitSubmodule => submodule,
        GitTag => tag,
        GitTracked => tracked,
        GitWordsThatLook => words_that_look,
        GitWorktree => worktree,
    }
    languages {
        Console => console,
        Deno => deno,
        Macros => macros,
    }
    launchers {
        At => at,
        BehindDashes => behind_dashes,
        Debugger => debugger,
        Fd => fd,
        Find => find,
        FirstProgram => first_program,
        Flock => flock,
        FromInput => from_input,
        Lines => lines,
        Multiplexer => multiplexer,
        Parallel => parallel,
        Sandbox => sandbox,
        SomeProgram => some_program,
        Ssh => ssh,
        Su => su,
        Timeout => timeout,
        Trap => trap,
        Xargs => xargs,
    }
    network {
        Connects => connects,
        Curl => curl,
        Dig => dig,
        FirstHost => first_host,
        Forge => forge,
        Httpie => httpie,
        LoadsLibrary => loads_library,
        RemoteCopy => remote_copy,
        Socat => socat,
        Somewhere => somewhere,
        Wget => wget,
    }
    others {
        Agent => agent,
        Always => always,
        Crontab => crontab,
        Database => database,
        Ffmpeg => ffmpeg,
        Images => images,
        InNamespace => in_namespace,
        Kills => kills,
        LineEditor => line_editor,
        Opener => opener,
        Sqlite => sqlite,
        SystemControl => system_control,
    }
    text {
        AwkProgram => awk_program,
        Grep => grep,
        InputOutput => input_output,
        Jq => jq,
        Patch => patch,
        Pieces => pieces,
        Ripgrep => ripgrep,
        SedScript => sed_script,
        Xxd => xxd,
    }
}

/// Copies of which either end may be on another host: those are reached, the others touched.
fn remote_copy(effects: &mut InvocationEffects<'_>, args: &[Arg<'_>], from: Operation, to: Operation) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((target, sources)) = words.split_last() else { return };
    let ends = sources.iter().map(|word| (*word, from)).chain([(*target, to)]);
    for (word, operation) in ends {
        if host::is_remote(word.literal_prefix()) {
            effects.reach_host(word);
        } else {
            effects.touch(Cow::Owned(word.clone()), operation, Purpose::Command);
        }
    }
}
