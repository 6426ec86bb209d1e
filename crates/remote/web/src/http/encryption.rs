//! How connections are encrypted, also those of other clients of the web in this workspace.

use std::sync::Arc;

use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Returns how connections are encrypted: the trusted certificates are those of `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` if set, else the system's. `None` if there are none.
///
/// Source: <https://docs.rs/rustls-native-certs>
#[must_use]
pub fn encryption() -> Option<TlsConfig> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return None;
    }
    let certificates = found.certs.iter();
    let certificates = certificates.map(|der| Certificate::from_der(der).to_owned());
    let provider = rustls::crypto::ring::default_provider();
    let config = TlsConfig::builder()
        .root_certs(RootCerts::from(certificates))
        .unversioned_rustls_crypto_provider(Arc::new(provider))
        .build();
    Some(config)
}
