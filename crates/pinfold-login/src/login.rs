//! Logging in and out, from the first question to the tokens.

use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, channel};

use crate::callback::{Callback, Expected};
use crate::client::Client;
use crate::discovery::{Found, discover};
use crate::grant::{self, Question};
use crate::kept::About;
use crate::speech::Speech;
use crate::{KnownClient, Login, Logins, Place, Trouble, Way};

/// A login that somebody wants.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// At this server.
    pub server: Place,
    /// What it is to allow, in place of what the server asks for.
    pub scope: Option<String>,
    /// As this client, in place of one that is made known now.
    pub client: Option<KnownClient>,
    /// The port of this machine that the browser comes back to, in place of any that is free.
    pub port: Option<u16>,
}

/// The person who logs in.
pub trait Person: Send + Sync {
    /// Shows them where to say yes.
    fn visits(&self, url: &str);

    /// Waits for a line that they type: the address at which their browser ended, where that is on another machine.
    /// Nothing: they type no more.
    fn types(&self) -> Option<String>;
}

/// Logs somebody in.
///
/// # Errors
/// Why they are not logged in.
pub fn login(wanted: &Wanted, way: &dyn Way, person: &Arc<dyn Person>) -> Result<Login, Trouble> {
    let runtime = runtime()?;
    let login = runtime.block_on(logs_in(wanted, way, person));
    // Whoever waits for a line goes on waiting.
    runtime.shutdown_background();
    login
}

fn runtime() -> Result<Runtime, Trouble> {
    Builder::new_current_thread().enable_all().build().map_err(|why| Trouble::new(why.to_string()))
}

async fn logs_in(wanted: &Wanted, way: &dyn Way, person: &Arc<dyn Person>) -> Result<Login, Trouble> {
    let speech = Speech::new(way);
    let found = discover(&speech, &wanted.server).await?;
    // Whether they may be reached is settled before anybody is asked for anything.
    speech.with(&found.token)?;
    let scope = wanted.scope.as_deref().or(found.scope.as_deref());
    let callback = Callback::open(wanted.port)?;
    let redirect = callback.address();
    let client = Client::of(&speech, &found, wanted.client.as_ref(), &redirect, scope).await?;
    let question = Question::new(&found, &client, &redirect, scope)?;
    person.visits(question.url.as_str());
    let expected = Expected {
        state: question.state.secret().clone(),
        issuer: found.issuer.clone(),
        says_issuer: found.says_issuer,
    };
    let code = callback.code(expected, typed(person)).await?;
    let tokens = question.answered(&speech, &found, &client, &redirect, code).await?;
    let scope = scope.map(str::to_owned);
    Ok(Login::new(about(&wanted.server, found, client), tokens, scope))
}

/// The lines that a person types.
fn typed(person: &Arc<dyn Person>) -> Receiver<String> {
    let (send, typed) = channel(1);
    let person = Arc::clone(person);
    // Where there is no thread for it, the browser may still come.
    let _ = thread::Builder::new().name("pinfold-typed".into()).spawn(move || {
        while let Some(line) = person.types() {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    typed
}

fn about(server: &Place, found: Found, client: Client) -> About {
    About {
        server: server.to_string(),
        resource: found.resource,
        issuer: found.issuer,
        token: found.token.to_string(),
        revoke: found.revoke.map(|place| place.to_string()),
        client,
    }
}

/// Forgets a login, and gives it back where that can be done. Whether there was one, and why it was not given back.
///
/// # Errors
/// When it cannot be forgotten.
pub fn logout(
    logins: &Logins,
    server: &Place,
    way: &dyn Way,
) -> Result<(bool, Result<(), Trouble>), Trouble> {
    let known = logins.get(server);
    // Also one that cannot be read.
    let was = logins.forget(server)?;
    let Ok(Some(login)) = known else { return Ok((was, Ok(()))) };
    Ok((was, runtime()?.block_on(given_back(&login, way))))
}

async fn given_back(login: &Login, way: &dyn Way) -> Result<(), Trouble> {
    let (Some(revoke), Some(refresh)) = (&login.about.revoke, &login.tokens.refresh) else {
        return Err(Trouble::new("whoever gave it takes nothing back; it ends by itself"));
    };
    let revoke = Place::parse(revoke).map_err(Trouble::new)?;
    grant::revoked(&Speech::new(way), &revoke, &login.about.client, refresh).await
}
