//! Grants of running sessions, and their revocation.

use pinfold::consent::ApprovalChannel;
use pinfold_approvals::socket::{GrantExpiry, GrantSummary, ProcessAggregator};

use crate::env;

/// A grant of a running session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunningGrant {
    /// The process that has the session, by the name of its socket.
    pub(crate) process: String,
    /// The grant.
    pub(crate) shown: GrantSummary,
}

/// The sessions that run, as far as they can be reached.
pub(crate) struct RunningSessions(ProcessAggregator);

impl RunningSessions {
    /// All of this person.
    pub(crate) fn all() -> Self {
        Self(ProcessAggregator::new(&env::socket_homes()))
    }

    /// Returns the grants of the sessions, and the reasons why some sessions could not be asked.
    pub(crate) fn grants(&self) -> (Vec<RunningGrant>, Vec<String>) {
        let (mut grants, mut failed) = (Vec::new(), Vec::new());
        for (_, process) in self.0.names() {
            match self.0.connect(&process).and_then(|mut client| client.grants()) {
                Ok(found) => {
                    grants.extend(
                        found.into_iter().map(|shown| RunningGrant { process: process.clone(), shown }),
                    );
                }
                Err(why) => failed.push(why.to_string()),
            }
        }
        (grants, failed)
    }

    /// Takes one back.
    pub(crate) fn revoke(&self, process: &str, session: &str, number: u64) -> Result<(), String> {
        let mut client = self.0.connect(process).map_err(|why| why.to_string())?;
        client.revoke(session, number).map_err(|why| why.to_string())
    }
}

impl RunningGrant {
    /// Returns notes on the approver, the end and the use of the grant: a clause each.
    pub(crate) fn notes(&self) -> Vec<String> {
        let shown = &self.shown;
        let way = match shown.by.via {
            ApprovalChannel::Silence => "by a timeout",
            ApprovalChannel::Terminal => "at the terminal",
            ApprovalChannel::Socket => "from another terminal",
            ApprovalChannel::Web => "on the page",
            ApprovalChannel::Webhook => "by the webhook",
            ApprovalChannel::Client => "at the client",
            ApprovalChannel::Hook => "by a hook",
            ApprovalChannel::Judge => "by the judge",
            ApprovalChannel::Embedder => "by the program around it",
            ApprovalChannel::Earlier => "by an earlier answer",
        };
        let who = shown.by.who.as_ref().map(|who| format!(" ({who})")).unwrap_or_default();
        let lasts = match shown.lasts {
            GrantExpiry::Session => "until the session ends".to_owned(),
            GrantExpiry::Until(end) => format!("until {end:.0}"),
            GrantExpiry::Calls(left) => format!("for {left} calls more"),
        };
        let used = match shown.used {
            0 => "never used".to_owned(),
            1 => "used once".to_owned(),
            times => format!("used {times} times"),
        };
        vec![format!("given {way}{who} at {:.0}", shown.given_at), lasts, used]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pinfold::audit::Memory;
    use pinfold::consent::{AnsweredBy, GrantLifetime};
    use pinfold::policy::{Class, Grant as Granted};
    use pinfold::{Ambient, Plan, Session};
    use pinfold_approvals::Broker;
    use pinfold_approvals::socket::{SessionRegistry, SocketDir};

    use super::*;

    #[test]
    fn what_was_granted_elsewhere_is_listed_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan::for_folder(folder.path());
        let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap();
        let by = AnsweredBy { via: ApprovalChannel::Terminal, who: Some("alice".to_owned()) };
        session.grant([Granted::Place("/srv/notes".into(), Class::Write)], &by, GrantLifetime::Calls(3));

        let homes =
            pinfold_approvals::socket::SocketHomes { runtime: None, state: Some(folder.path().to_owned()) };
        let place = SocketDir::open(&homes).unwrap();
        let sessions = SessionRegistry::default();
        sessions.add(&session);
        let broker = Arc::new(Broker::default());
        let _listening = broker.listen(&place, "one", &sessions).unwrap();

        let running = RunningSessions(ProcessAggregator::from_dirs(vec![place]));
        let (grants, failed) = running.grants();
        assert!(failed.is_empty(), "{failed:?}");
        let [grant] = &grants[..] else { panic!("{grants:?}") };
        assert!(grant.shown.grant.contains("/srv/notes"), "{grants:?}");
        let notes = grant.notes();
        assert!(notes[0].starts_with("given at the terminal (alice)"), "{notes:?}");
        assert_eq!(notes[1..], ["for 3 calls more", "never used"]);

        let (process, id) = (&grant.process, &grant.shown.session);
        assert!(running.revoke(process, id, grant.shown.number + 1).is_err());
        assert!(running.revoke(process, "another", grant.shown.number).is_err());
        assert_eq!(session.grants().len(), 1);
        running.revoke(process, id, grant.shown.number).unwrap();
        assert!(session.grants().is_empty() && running.grants().0.is_empty());
    }
}
