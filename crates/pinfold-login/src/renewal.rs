//! A login in use: what is said to the server, and what is done when it is not taken any more.

use hyper::header::HeaderValue;
use tokio::sync::Mutex;

use crate::grant::{self, Refused};
use crate::speech::Speech;
use crate::{Login, Logins, Place, Trouble, Way};

/// A login that is renewed when it has to be.
pub struct Renewal {
    logins: Logins,
    server: Place,
    way: Box<dyn Way>,
    /// What it allowed when it was read.
    scope: Option<String>,
    now: Mutex<Login>,
}

impl Renewal {
    /// The login that is kept for a server. `way`: to whoever gave it.
    ///
    /// # Errors
    /// When what is kept cannot be used.
    pub fn of(logins: Logins, server: Place, way: Box<dyn Way>) -> Result<Option<Self>, Trouble> {
        let kept = logins.get(&server)?;
        let scope = |login: &Login| login.scope().map(str::to_owned);
        Ok(kept.map(|login| Self { logins, server, way, scope: scope(&login), now: Mutex::new(login) }))
    }

    /// What it allows, and this too.
    pub(crate) fn scope_with(&self, more: &str) -> String {
        let known = self.scope.as_deref().unwrap_or_default().split(' ');
        let more = more.split(' ').filter(|one| !known.clone().any(|known| known == *one));
        known.clone().chain(more).filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// What is said to the server, as `Authorization`.
    ///
    /// # Errors
    /// When the login is over and cannot be renewed.
    pub async fn word(&self) -> Result<HeaderValue, Trouble> {
        let mut now = self.now.lock().await;
        if now.is_over() && now.is_renewable() {
            self.renew(&mut now).await?;
        }
        word(&now)
    }

    /// The server did not take what was said. Whether there is something else to say now.
    ///
    /// # Errors
    /// When the login is over.
    pub async fn refused(&self, said: &HeaderValue) -> Result<bool, Trouble> {
        let mut now = self.now.lock().await;
        if word(&now)? != said {
            // Renewed meanwhile, for another request.
            return Ok(true);
        }
        if !now.is_renewable() {
            return Ok(false);
        }
        self.renew(&mut now).await?;
        Ok(true)
    }

    /// One at a time, of all processes: what another has renewed meanwhile is taken.
    async fn renew(&self, now: &mut Login) -> Result<(), Trouble> {
        let (logins, server) = (self.logins.clone(), self.server.clone());
        let held = tokio::task::spawn_blocking(move || logins.hold(&server)).await;
        let _held = held.map_err(|why| Trouble::new(why.to_string()))??;
        let kept = self.logins.get(&self.server)?.ok_or_else(|| self.over("it was taken back here"))?;
        let is_newer = kept.tokens.access != now.tokens.access;
        *now = kept;
        if is_newer && !now.is_over() {
            return Ok(());
        }
        let refresh = now.tokens.refresh.clone().ok_or_else(|| self.over("it cannot be renewed"))?;
        let token = Place::parse(&now.about.token).map_err(Trouble::new)?;
        let speech = Speech::new(&*self.way);
        let renewed = grant::renewed(&speech, &token, &now.about.client, &now.about.resource, &refresh).await;
        let tokens = renewed.map_err(|why| match why {
            Refused::Over => self.over("whoever gave it does not renew it"),
            Refused::Other(trouble) => trouble,
        })?;
        *now = now.clone().renewed(tokens);
        // The old one is good no more: without the new one the next start would have none.
        self.logins.keep(now)
    }

    fn over(&self, why: &str) -> Trouble {
        Trouble::new(format!("the login at {} is over: {why}", self.server))
            .mend(format!("pinfold mcp login {}", self.server))
    }
}

fn word(login: &Login) -> Result<HeaderValue, Trouble> {
    let mut word = HeaderValue::from_str(&format!("Bearer {}", login.tokens.access))
        .map_err(|_| Trouble::new("the token that is kept cannot be said"))?;
    word.set_sensitive(true);
    Ok(word)
}
