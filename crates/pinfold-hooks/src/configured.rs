//! The hooks that settings name, asked at their points.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pinfold::Refusal;
use pinfold::consent::{
    EventReply, HookCall, HookMoment, Hooks, PermissionRequestReply, PreToolUseReply, Request,
};
use pinfold::policy::hook::About;
use pinfold::policy::merge::Merged;
use pinfold::policy::{
    Bases, Decision, Effect, Hook, HookEvent, HookKind, Matcher, RuleSet, Source, SourcedRule,
};
use pinfold_net::Uri;
use serde_json::{Map, Value};

use crate::answer::{HookAnswer, understood};
use crate::combine::{self, NamedAnswer};
use crate::hook_input;
use crate::runner::{HookResult, Runner};
use crate::started::StartedHooks;

/// The circumstances in which hooks run.
#[derive(Clone)]
pub struct HookEnvironment {
    /// The folder that programs start in: that of the session.
    pub folder: PathBuf,
    /// The root of the project, which programs are told.
    pub project: PathBuf,
    /// Bases of the patterns of an `if`: the same as those of rules.
    pub bases: Bases,
    /// The environment of programs. What addresses may be sent of it stands in settings.
    pub environment: Vec<(OsString, OsString)>,
    /// File that the conversation is written to, if any.
    pub transcript: Option<PathBuf>,
    /// Receiver of failures of hooks, and of their messages to the person.
    pub listener: Arc<dyn Fn(&Notice) + Send + Sync>,
}

impl HookEnvironment {
    /// Creates the surroundings of a session in a folder that is its project, with no listener.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            project: folder.clone(),
            bases: Bases { cwd: folder.clone(), project: folder.clone(), home: Vec::new() },
            folder,
            environment: Vec::new(),
            transcript: None,
            listener: Arc::new(|_| {}),
        }
    }
}

impl fmt::Debug for HookEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookEnvironment").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Something about a hook that a person should hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The event that it was asked about.
    pub event: HookEvent,
    /// The hook: its command or address, and the place where it is written.
    pub by: String,
    /// The kind of notice.
    pub kind: NoticeKind,
    /// The text, in the hook's own words or ours. The display makes every character visible.
    pub text: String,
}

/// The kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// A hook that failed, or gave no answer that can be understood; the call went on without it, unless it fails closed.
    Failed,
    /// A hook that failed and fails closed: the call was denied.
    FailedClosed,
    /// A message to the person, or a request for a change that hooks cannot make.
    Says,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, by, kind, text } = self;
        let how = match kind {
            NoticeKind::Failed => "failed and had no say",
            NoticeKind::FailedClosed => "failed, so the call is denied",
            NoticeKind::Says => "says",
        };
        write!(f, "the hook {by} of {} {how}: {text}", event.as_str())
    }
}

/// A hook that cannot be asked, with the place it is written at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct HooksError {
    /// Position in the settings.
    pub at: String,
    /// The problem.
    pub what: String,
}

/// The hooks that settings name; `None` where they name none.
///
/// # Errors
/// [`HooksError`] for a hook that could never be asked: nothing starts with a guard that is not there.
pub fn from_settings(merged: &Merged, around: HookEnvironment) -> Result<Option<Arc<dyn Hooks>>, HooksError> {
    let HookEnvironment { folder, project, environment, .. } = around.clone();
    let started = StartedHooks::new(folder, project, environment);
    let hooks = Configured::new(merged, around, Arc::new(started))?;
    Ok(if hooks.entries.is_empty() { None } else { Some(Arc::new(hooks)) })
}

/// A hook, ready to be asked.
#[derive(Debug)]
struct ConfiguredHook {
    event: HookEvent,
    matcher: Matcher,
    hook: Arc<Hook>,
    only: Option<Arc<RuleSet>>,
    /// Name of the hook for messages.
    by: String,
}

/// The hooks of settings, asked by a runner.
pub struct Configured {
    /// The weakest layer first: the strongest has the last word where several write.
    entries: Vec<ConfiguredHook>,
    runner: Arc<dyn Runner>,
    transcript: Option<PathBuf>,
    listener: Arc<dyn Fn(&Notice) + Send + Sync>,
    /// Hooks that are asked once and were, for each session.
    asked_once: Mutex<HashSet<(String, usize)>>,
}

impl fmt::Debug for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configured").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Configured {
    /// The hooks of settings, asked by this runner. `around` says where `if` patterns are measured from, and who hears
    /// of what goes wrong.
    ///
    /// # Errors
    /// [`HooksError`] for a hook that could never be asked.
    pub fn new(
        merged: &Merged,
        around: HookEnvironment,
        runner: Arc<dyn Runner>,
    ) -> Result<Self, HooksError> {
        let HookEnvironment { bases, transcript, listener, .. } = around;
        let mut entries = Vec::new();
        for layer in merged.hooks.iter().rev() {
            for event in HookEvent::ALL.iter().copied() {
                for group in layer.value.groups(event) {
                    for hook in &group.hooks {
                        let (matcher, source) = (group.matcher.clone(), &hook.source);
                        entries.push(ConfiguredHook::new(
                            event,
                            matcher,
                            hook.value.clone(),
                            source,
                            &bases,
                        )?);
                    }
                }
            }
        }
        Ok(Self { entries, runner, transcript, listener, asked_once: Mutex::default() })
    }

    /// The hooks that are meant, with their numbers. Nothing is made where none is.
    fn meant(&self, event: HookEvent, name: &str, except: Option<usize>) -> Vec<(usize, &ConfiguredHook)> {
        let all = self.entries.iter().enumerate();
        all.filter(|(number, entry)| {
            entry.event == event && entry.matcher.covers(name) && Some(*number) != except
        })
        .collect()
    }

    fn meant_for(&self, event: HookEvent, call: &HookCall<'_>) -> Vec<(usize, &ConfiguredHook)> {
        let except = call.except.filter(|_| event == HookEvent::PreToolUse);
        let mut meant = self.meant(event, call.tool, except);
        meant.retain(|(_, entry)| entry.only.as_ref().is_none_or(|rules| (call.touches)(rules)));
        meant
    }

    /// Asks those that are meant, side by side.
    fn ask(
        &self,
        session: &str,
        meant: Vec<(usize, &ConfiguredHook)>,
        input: &Map<String, Value>,
    ) -> Vec<NamedAnswer> {
        let input = serde_json::to_vec(input).unwrap_or_default();
        let due: Vec<_> =
            meant.into_iter().filter(|(number, entry)| self.is_due(session, *number, entry)).collect();
        let (background, waited): (Vec<_>, Vec<_>) =
            due.into_iter().partition(|(_, entry)| entry.hook.in_background);
        for (_, entry) in background {
            if let Err(why) = self.runner.start(Arc::clone(&entry.hook), input.clone()) {
                self.notify(entry, NoticeKind::Failed, why);
            }
        }
        let came = self.came(&waited, &input);
        let said = |((number, entry), came): ((usize, &ConfiguredHook), HookResult)| {
            let answer = self.apply_failure_policy(entry, understood(entry.event, &came));
            NamedAnswer { number, by: entry.by.clone(), only: entry.only.clone(), answer }
        };
        waited.into_iter().zip(came).map(said).collect()
    }

    fn came(&self, waited: &[(usize, &ConfiguredHook)], input: &[u8]) -> Vec<HookResult> {
        let ask = |entry: &ConfiguredHook| self.runner.ask(&entry.hook, input);
        let [(_, first), rest @ ..] = waited else { return Vec::new() };
        if rest.is_empty() {
            return vec![ask(first)];
        }
        thread::scope(|scope| {
            let others: Vec<_> = rest
                .iter()
                .map(|(_, entry)| {
                    thread::Builder::new().name("pinfold-hook".to_owned()).spawn_scoped(scope, || ask(entry))
                })
                .collect();
            let not_asked = |why: &str| HookResult::NotAsked(why.to_owned());
            let ended = others.into_iter().map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|_| not_asked("its thread panicked")),
                Err(e) => not_asked(&e.to_string()),
            });
            std::iter::once(ask(first)).chain(ended).collect()
        })
    }

    /// Returns `true` if a hook that is asked once has not been.
    fn is_due(&self, session: &str, number: usize, entry: &ConfiguredHook) -> bool {
        let mut asked = self.asked_once.lock().unwrap_or_else(PoisonError::into_inner);
        !entry.hook.once || asked.insert((session.to_owned(), number))
    }

    /// An answer as it counts: a failure of a hook that fails closed is a no.
    fn apply_failure_policy(&self, entry: &ConfiguredHook, mut answer: HookAnswer) -> HookAnswer {
        let decides = matches!(entry.event, HookEvent::PreToolUse | HookEvent::PermissionRequest);
        if let Some(trouble) = answer.trouble.take() {
            let closed = entry.hook.fail_closed && decides;
            if closed && answer.decision != Some(Decision::Deny) {
                answer.decision = Some(Decision::Deny);
                answer.reason = Some(format!("it failed: {trouble}"));
            }
            let kind = if closed { NoticeKind::FailedClosed } else { NoticeKind::Failed };
            self.notify(entry, kind, trouble);
        }
        for note in std::mem::take(&mut answer.notes) {
            self.notify(entry, NoticeKind::Says, note);
        }
        answer
    }

    fn notify(&self, entry: &ConfiguredHook, kind: NoticeKind, text: String) {
        (self.listener)(&Notice { event: entry.event, by: entry.by.clone(), kind, text });
    }

    fn transcript(&self) -> Option<&Path> {
        self.transcript.as_deref()
    }

    /// Asks about a call at one of its points.
    fn ask_hooks(
        &self,
        event: HookEvent,
        call: &HookCall<'_>,
        more: impl FnOnce(&mut Map<String, Value>),
    ) -> Option<Vec<NamedAnswer>> {
        let meant = self.meant_for(event, call);
        if meant.is_empty() {
            return None;
        }
        let mut input = hook_input::call_input(event, call, self.transcript());
        more(&mut input);
        Some(self.ask(call.session, meant, &input))
    }
}

impl ConfiguredHook {
    fn new(
        event: HookEvent,
        matcher: Matcher,
        hook: Hook,
        source: &Source,
        bases: &Bases,
    ) -> Result<Self, HooksError> {
        if let HookKind::Http { url, .. } = &hook.asks
            && let Err(e) = url.parse::<Uri>()
        {
            return Err(HooksError { at: source.to_string(), what: format!("`{url}` is no address: {e}") });
        }
        let only = hook.only.clone().map(|rule| {
            let rule = SourcedRule { effect: Effect::Allow, rule, source: source.clone() };
            Arc::new(RuleSet::compile([Arc::new(rule)], bases))
        });
        let by = format!("`{}` ({source})", hook.asks.name());
        Ok(Self { event, matcher, hook: Arc::new(hook), only, by })
    }
}

impl Hooks for Configured {
    fn pre_tool_use(&self, call: &HookCall<'_>) -> PreToolUseReply {
        let said = self.ask_hooks(HookEvent::PreToolUse, call, |_| {});
        said.map_or_else(PreToolUseReply::default, |said| {
            combine::combine_pre_tool_use(said, !call.rewritten)
        })
    }

    fn permission_request(&self, call: &HookCall<'_>, request: &Request) -> PermissionRequestReply {
        let more = |input: &mut Map<String, Value>| {
            input.insert("permission_suggestions".to_owned(), hook_input::suggestions(request));
        };
        self.ask_hooks(HookEvent::PermissionRequest, call, more)
            .map_or_else(PermissionRequestReply::default, combine::combine_permission_request)
    }

    fn permission_denied(&self, call: &HookCall<'_>, refusal: &Refusal) -> bool {
        let said =
            self.ask_hooks(HookEvent::PermissionDenied, call, |input| hook_input::refused(input, refusal));
        said.into_iter().flatten().any(|said| said.answer.retry)
    }

    fn post_tool_use(&self, call: &HookCall<'_>, done: bool, result: &Value) -> EventReply {
        let event = if done { HookEvent::PostToolUse } else { HookEvent::PostToolUseFailure };
        let said = self.ask_hooks(event, call, |input| hook_input::ended(input, done, result));
        said.map_or_else(EventReply::default, combine::combine_post_event)
    }

    fn event(&self, moment: &HookMoment<'_>) -> EventReply {
        let said = |field| moment.detail.get(field).and_then(Value::as_str);
        let kind = match moment.event.matcher_subject() {
            About::Kind("agent_type") => said("agent_type").or(moment.agent),
            About::Kind(field) => said(field),
            // Points of a call have their own functions.
            About::Call | About::Nothing => None,
        };
        let meant = self.meant(moment.event, kind.unwrap_or_default(), None);
        if meant.is_empty() {
            return EventReply::default();
        }
        let input = hook_input::moment_input(moment, self.transcript());
        combine::combine_post_event(self.ask(moment.session, meant, &input))
    }
}
