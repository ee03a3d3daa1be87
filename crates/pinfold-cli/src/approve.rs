//! `pinfold approve`: a yes from another terminal, for a request that was shown first.

use std::io::{IsTerminal as _, stderr, stdin};
use std::process::ExitCode;

use pinfold::consent::answer::RuleFile;
use pinfold::consent::{Bound, Choice, Request};
use pinfold_approvals::socket::{
    ApprovalClient, ApprovalClientError, FindError, LocatedRequest, ProcessAggregator, ProtocolErrorCode,
};
use rustix::termios::{QueueSelector, tcflush};

use crate::approvals::full_text;
use crate::args::Approve;
use crate::env;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output;

/// The fewest digits of a digest that say which request was seen.
const SHORTEST_DIGEST: usize = 8;

pub(crate) fn approve(wanted: &Approve) -> Result<ExitCode, Failure> {
    let (mut client, found) = open(&wanted.id)?;
    let request = client.show(&found.waiting.id).map_err(|e| failed(&e))?;
    let choice = choice(wanted, &request)?;
    let (text, is_whole) = full_text::text(&request);
    output::out(&text)?;
    if !is_whole {
        let message = "it is too long to be shown: nothing was approved";
        return Err(
            Failure::new(REFUSED, message).mend("`pinfold deny` with --message can ask for less at a time")
        );
    }
    if !is_meant(wanted, &request, &choice)? {
        return Ok(ExitCode::from(REFUSED));
    }
    client.answer(&request.id, &request.digest, choice).map_err(|e| failed(&e))?;
    output::out("approved\n")?;
    Ok(ExitCode::from(DONE))
}

/// The process in which a request waits, and the request.
pub(crate) fn open(id: &str) -> Result<(ApprovalClient, LocatedRequest), Failure> {
    let everywhere = ProcessAggregator::new(&env::socket_homes());
    let found = everywhere.find(id).map_err(|e| match &e {
        FindError::Unreached(error) => failed(error),
        FindError::None(_) | FindError::Many { .. } => Failure::new(USAGE, output::lines(&e.to_string()))
            .mend("`pinfold approvals --list` shows pending requests"),
    })?;
    let client = everywhere.connect(&found.name).map_err(|e| failed(&e))?;
    Ok((client.with_name(env::user()), found))
}

/// Returns the failure for an answer that does not count or that the asking process rejects.
pub(crate) fn failed(error: &ApprovalClientError) -> Failure {
    let refused =
        matches!(error, ApprovalClientError::Rejected(trouble) if trouble.code == ProtocolErrorCode::Refused);
    let failure = Failure::new(if refused { REFUSED } else { FAILED }, output::lines(&error.to_string()));
    if refused { failure.mend("answer from a terminal of your own, outside of any run") } else { failure }
}

/// Returns the choice of the flags, within what the request offers.
fn choice(wanted: &Approve, request: &Request) -> Result<Choice, Failure> {
    let offer = &request.offer;
    let not_offered = |what: &str| {
        let why = if request.always_ask { ": only yes and no are" } else { "" };
        Failure::new(USAGE, format!("{what} is not offered{why}"))
    };
    let scopes: Vec<usize> = wanted.scope.iter().map(|scope| usize::from(*scope) - 1).collect();
    let bound = wanted.bound();
    if wanted.session || bound.is_some() {
        let scope = scopes.first().copied().unwrap_or(0);
        return match offer.session.get(scope) {
            Some(_) if scopes.len() <= 1 => Ok(Choice::Session { scope, bound }),
            Some(_) | None => Err(not_offered("that")),
        };
    }
    if wanted.always {
        let fits = offer.always.len() >= scopes.len()
            && offer.always.iter().zip(&scopes).all(|(part, scope)| part.scopes.len() > *scope);
        if offer.always.is_empty() || !fits {
            return Err(not_offered("that"));
        }
        let file = if wanted.user { RuleFile::User } else { RuleFile::Local };
        return Ok(Choice::Always { scopes, file });
    }
    if scopes.is_empty() {
        Ok(Choice::Yes)
    } else {
        Err(Failure::new(USAGE, "a scope of what?").mend("say --session or --always too"))
    }
}

/// Returns whether the person means this very request.
fn is_meant(wanted: &Approve, request: &Request, choice: &Choice) -> Result<bool, Failure> {
    if wanted.yes {
        return Ok(true);
    }
    if let Some(digest) = &wanted.digest {
        if digest.len() < SHORTEST_DIGEST {
            let message = format!("a digest needs at least {SHORTEST_DIGEST} digits");
            return Err(Failure::new(USAGE, message));
        }
        return if request.digest.starts_with(digest.as_str()) {
            Ok(true)
        } else {
            Err(Failure::new(FAILED, "the request has another digest by now: nothing was approved"))
        };
    }
    if !stdin().is_terminal() || !stderr().is_terminal() {
        let message = "cannot confirm this without a terminal: nothing was approved";
        return Err(Failure::new(REFUSED, message).mend("say --digest with what you have seen, or --yes"));
    }
    let more = match choice {
        Choice::Yes | Choice::No { .. } => "",
        Choice::Session { bound: None, .. } => ", and all of this kind this session",
        Choice::Session { bound: Some(Bound::For(_)), .. } => ", and all of this kind for that time",
        Choice::Session { bound: Some(Bound::Times(_)), .. } => ", and so many of this kind",
        Choice::Always { .. } => ", and write the rules",
    };
    let mut answer = String::new();
    // What was typed before the request could be read is no answer to it.
    let forgotten = tcflush(stdin(), QueueSelector::IFlush).map_err(std::io::Error::from);
    let asked = forgotten
        .and_then(|()| output::message(&format!("Approve{more}? [y/N] ")))
        .and_then(|()| stdin().read_line(&mut answer));
    asked.map_err(|e| Failure::new(FAILED, format!("the terminal: {e}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
