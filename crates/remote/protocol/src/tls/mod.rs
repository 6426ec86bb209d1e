//! TLS 1.3 with certificates on both sides (RFC 8446), by rustls.
//!
//! - [`client`]: a connection to a server, as a [`crate::transport::Transport`].
//! - [`front`]: the process that terminates TLS for a server; it runs as an ordinary user and opens
//!   no files. `session` is one of its clients.
//! - [`identity`]: the identities in a certificate; [`users`]: maps them to users of this machine.
//! - [`files`]: certificates and keys; [`renewal`] notices that they were replaced.
//!
//! Invariants: nothing is sent or believed before both ends have shown a certificate that the other
//! one trusts; host names are checked; sessions are never resumed, so that an expired certificate
//! opens nothing.

pub mod client;
pub mod files;
pub mod front;
pub mod identity;
pub mod renewal;
mod session;
pub mod users;

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

pub use client::Certificates;
pub use front::front;

/// Default port of a server.
pub const PORT: u16 = 8295;

/// Returns `tls:HOST:PORT`.
pub(crate) fn address(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("tls:[{host}]:{port}"),
        false => format!("tls:{host}:{port}"),
    }
}

/// Explains an error, and what to do about it.
fn explain(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => explain_certificate(why),
        Error::AlertReceived(alert) => explain_alert(*alert).to_owned(),
        Error::NoCertificatesPresented => "no certificate was shown".to_owned(),
        Error::InvalidMessage(_) => "the other end is not TLS: is it the right port?".to_owned(),
        Error::PeerIncompatible(
            PeerIncompatible::Tls13RequiredForQuic
            | PeerIncompatible::SupportedVersionsExtensionRequired,
        ) => "the other end does not speak TLS 1.3".to_owned(),
        other => other.to_string(),
    }
}

fn explain_certificate(error: &CertificateError) -> String {
    use CertificateError as Why;
    match error {
        Why::Expired | Why::ExpiredContext { .. } => "its certificate has expired".to_owned(),
        Why::NotValidYet | Why::NotValidYetContext { .. } => {
            "its certificate is not valid yet: compare the clocks".to_owned()
        }
        Why::UnknownIssuer => "its certificate is signed by an authority that is not trusted \
                               here; add the authority to ~/.config/trawl/ca.pem or \
                               /etc/trawl/ca.pem (with trawl run, --ca names another file)"
            .to_owned(),
        Why::NotValidForName | Why::NotValidForNameContext { .. } => {
            format!("its certificate is for another name: {error}")
        }
        Why::Revoked => "its certificate was revoked".to_owned(),
        other => format!("its certificate is not accepted: {other}"),
    }
}

/// Explains an alert from the other end about our certificate.
fn explain_alert(alert: AlertDescription) -> &'static str {
    use AlertDescription as Says;
    match alert {
        Says::CertificateRequired => {
            "it wants a certificate of this program: put cert.pem and key.pem into ~/.config/trawl or \
             /etc/trawl (with trawl run, --cert and --key name other files)"
        }
        Says::CertificateExpired => "it says that the certificate of this program has expired",
        Says::UnknownCA => {
            "it does not trust the authority that signed the certificate of this program"
        }
        Says::CertificateRevoked => "it says that the certificate of this program was revoked",
        Says::BadCertificate
        | Says::UnsupportedCertificate
        | Says::CertificateUnknown
        | Says::DecryptError
        | Says::AccessDenied => "it does not accept the certificate of this program",
        Says::ProtocolVersion => "it does not speak TLS 1.3",
        _ => "it ended the connection with an alert of TLS",
    }
}
