//! HTTP and TLS as every network-facing crate uses them: trust roots, one blocking and one asynchronous HTTP client, an
//! HTTP/1.1 listener with limits, and a server-sent events parser.
//!
//! No list of certificate authorities is built in: it would age, and lack the authority of a company. The system's files
//! are read, or the one file that `SSL_CERT_FILE` names, when the first server has to be verified.
//!
//! # Vocabulary
//! Clients: [`BlockingClient`], [`HttpResponse`], [`HttpError`]; [`http1`]; [`trust_roots`], [`client_config`]. Server:
//! [`serve`], [`ListenerOptions`], [`bind_loopback`], [`is_own_host`]. Both: [`EventParser`].
//!
//! # Invariants
//! 1. A server's certificate is verified before anything is sent. There is no option to skip that.
//! 2. No redirect is followed: the response is returned, since a redirect would carry the request to a host that the user
//!    did not name.
//! 3. Proxy variables of the environment are ignored.
//! 4. The listener spends a bounded number of connections, and bounded time and header bytes on each, whatever clients do.
//!    A client that does not read its response is disconnected by the kernel.
//! 5. A `Host` header that is not a name of this machine is refused, whatever address it resolves to (DNS rebinding).
//!
//! # What this does not stop
//! A client that can connect can hold every connection slot for as long as a header section may take. The listener speaks
//! plain HTTP.

#![forbid(unsafe_code)]

#[cfg(feature = "blocking")]
mod blocking;
#[cfg(feature = "server")]
mod host_header;
#[cfg(feature = "http1")]
pub mod http1;
#[cfg(feature = "server")]
mod listener;
mod sse;
#[cfg(feature = "trust")]
mod trust;

#[cfg(feature = "blocking")]
pub use blocking::{BlockingClient, ClientLimits, HttpError, HttpResponse, Uri};
#[cfg(feature = "server")]
pub use host_header::{is_own_host, single_header};
#[cfg(feature = "server")]
pub use listener::{ListenerOptions, bind, bind_loopback, connection_slots, serve};
pub use sse::{Event, EventParser, EventReader, EventTooLong};
#[cfg(feature = "trust")]
pub use trust::{client_config, crypto_provider, pem_bundle, trust_roots};
