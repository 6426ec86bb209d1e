//! The service for many users: `trawl serve --http`, also called as `trawld --http`.
//!
//! Four kinds of processes share the work, so that what parses bytes of strangers has no rights, and
//! what has all rights parses no bytes of strangers:
//!
//! | process | runs as | does |
//! |---|---|---|
//! | [`keeper`] | the superuser | checks passwords, tokens and sessions; starts the processes of users; writes the record of questions |
//! | [`front`] | `nobody` | ends TLS and HTTP, serves the page, relays each question to a process of its user |
//! | [`openid`] | `nobody` | speaks with the provider of OpenID Connect, if there is one |
//! | [`desk`] | the asking user | answers, as `trawl web` does |
//!
//! For each question, the front shows the keeper what the client has shown: a session, a token, a
//! certificate, or a name from a proxy. The keeper looks up the user and the user's groups at that
//! moment, and returns a connection to the desk of this user with these groups. The front sends the
//! question over it, and the answer back. So the kernel decides what is shown, a session that is
//! revoked holds for no further question, and a front in the hands of an attacker sees what its clients
//! ask and show, but can ask as nobody who does not come to it. That is true for passwords, sessions
//! and tokens; the keeper has to believe the front what certificate or proxy it has seen, and the process
//! that speaks with the provider, what that has said.
//!
//! | module | contents |
//! |---|---|
//! | [`messages`] | what keeper and front tell each other |
//! | [`door`] | the requests that the front answers itself, and what every request must have |
//! | [`unread`] | what is left of requests that are refused |
//! | [`call`] | which question a message of an assistant asks |
//! | [`relay`] | a question on its way to a desk, and its answer back |
//! | [`staff`], [`fronts`] | how desks and fronts are started |
//! | [`sockets`], [`places`], [`activity`] | what clients connect to, how many can, and when they are closed |
//! | [`proofs`] | who a client is |
//! | [`password`] | passwords, checked by PAM in a process of its own |
//! | [`openid`] | logins at a provider of OpenID Connect |
//! | [`rates`] | how often a user may ask |
//! | [`amounts`], [`rows`] | how many bytes and rows a user is sent; how rows are counted |
//! | [`turns`] | how many questions run at a time |
//! | [`record`], [`arguments`] | the record of questions, and what it has of their arguments |
//! | [`options`] | the words of the keeper |
//!
//! Invariants: without a proof nothing is answered but the files of the page and which ways to log in
//! there are; the superuser never asks; sessions are named in a header and never in a cookie, so a
//! request of another site has none; everything is bounded, for each user and in total.

pub mod activity;
pub mod amounts;
pub mod arguments;
pub mod call;
pub mod desk;
pub mod door;
pub mod front;
pub mod fronts;
pub mod keeper;
pub mod messages;
pub mod openid;
pub mod options;
pub mod password;
pub mod places;
pub mod proofs;
pub mod rates;
pub mod record;
pub mod relay;
pub mod rows;
pub mod sockets;
pub mod staff;
pub mod turns;
pub mod unread;
