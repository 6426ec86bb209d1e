//! Reads certificates and keys from files (PEM, RFC 7468), and makes rustls configurations of them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientCertVerifierBuilder, NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use trawl_sys::file::sealed;

use super::renewal::ServerPaths;
use crate::error::RemoteError;

/// Maximum length of a file of certificates or a key, in bytes.
const FILE_MAX_BYTES: u64 = 128 << 10;

/// Contents of the files that a server needs, whose certificate and key belong together.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerFiles {
    /// Its certificate, followed by the intermediate certificates.
    pub chain: Vec<u8>,
    /// The certificate's key.
    pub key: Vec<u8>,
    /// The authorities that may sign clients' certificates; empty if these are not asked for.
    pub clients: Vec<u8>,
}

impl fmt::Debug for ServerFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerFiles").finish_non_exhaustive()
    }
}

impl ServerFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// Says which of them cannot be used.
    pub fn read(paths: &ServerPaths) -> Result<ServerFiles, RemoteError> {
        let clients = paths.clients.as_ref();
        let read = ServerFiles {
            chain: certificates(&paths.cert)?,
            key: key(&paths.key)?,
            clients: clients.map_or_else(|| Ok(Vec::new()), |clients| certificates(clients))?,
        };
        let use_it = |path: &Path, why: String| failed("use", path)(io::Error::other(why));
        if let Some(path) = clients {
            verifier(&read.clients).map_err(|why| use_it(path, why))?;
        }
        configuration(&read.chain, &read.key, None).map_err(|why| use_it(&paths.cert, why))?;
        Ok(read)
    }

    /// Returns an anonymous file with the contents, which can be passed to another process.
    ///
    /// # Errors
    /// Fails if there are too many descriptors or too little memory.
    pub fn to_memory(&self) -> io::Result<OwnedFd> {
        let mut bytes = Vec::new();
        for part in [&self.chain, &self.key, &self.clients] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        Ok(sealed(c"trawl-certificate", &bytes)?.into())
    }

    /// Reads a file that [`ServerFiles::to_memory`] has made.
    ///
    /// # Errors
    /// Fails if it is another one, or cannot be read.
    pub fn from_memory(file: OwnedFd) -> io::Result<ServerFiles> {
        let mut bytes = Vec::new();
        File::from(file)
            .take(3 * (FILE_MAX_BYTES + 8))
            .read_to_end(&mut bytes)?;
        let mut rest = &bytes[..];
        let mut next = || {
            let (length, after) = rest.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (part, after) = after.split_at_checked(length)?;
            rest = after;
            Some(part.to_vec())
        };
        let mut part = || next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData));
        Ok(ServerFiles {
            chain: part()?,
            key: part()?,
            clients: part()?,
        })
    }
}

fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> RemoteError {
    let path = path.to_owned();
    move |source| RemoteError::File {
        action,
        path: path.clone(),
        source,
    }
}

fn certificates(path: &Path) -> Result<Vec<u8>, RemoteError> {
    read(path).map_err(failed("read the certificates in", path))
}

/// Reads a file with a key, which not everyone may access.
fn key(path: &Path) -> Result<Vec<u8>, RemoteError> {
    let failed = failed("read the key in", path);
    let metadata = std::fs::metadata(path).map_err(&failed)?;
    if metadata.mode() & 0o007 != 0 {
        let text = "everyone may use it: chmod o= it";
        return Err(failed(io::Error::other(text)));
    }
    read(path).map_err(failed)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    match bytes.len() as u64 > FILE_MAX_BYTES {
        true => Err(io::Error::other("it is too long")),
        false => Ok(bytes),
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(chain) if chain.is_empty() => Err("there is no certificate in it".to_owned()),
        Ok(chain) => Ok(chain),
        Err(error) => Err(format!("it is not a file of certificates: {error}")),
    }
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| format!("there is no key in it: {error}"))
}

fn trusted(pem: &[u8]) -> Result<Arc<RootCertStore>, String> {
    let mut store = RootCertStore::empty();
    for certificate in chain(pem)? {
        store.add(certificate).map_err(|error| error.to_string())?;
    }
    Ok(Arc::new(store))
}

/// Returns the rustls configuration of a server.
pub(crate) fn server(files: &ServerFiles) -> Result<Arc<ServerConfig>, String> {
    let verifier = verifier(&files.clients)?.build();
    let verifier = verifier.map_err(|error| error.to_string())?;
    configuration(&files.chain, &files.key, Some(verifier)).map(Arc::new)
}

/// Returns the rustls configuration of a server for browsers, which offers these application
/// protocols. Clients may show a certificate if there are authorities that sign them.
///
/// # Errors
/// Says which of the files (PEM) is invalid.
pub fn browsers(files: &ServerFiles, protocols: &[&str]) -> Result<Arc<ServerConfig>, String> {
    let clients = (!files.clients.is_empty()).then_some(&files.clients);
    let verifier = clients.map(|clients| {
        let verifier = verifier(clients)?.allow_unauthenticated().build();
        verifier.map_err(|error| error.to_string())
    });
    let mut config = configuration(&files.chain, &files.key, verifier.transpose()?)?;
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().into())
        .collect();
    Ok(Arc::new(config))
}

fn verifier(clients: &[u8]) -> Result<ClientCertVerifierBuilder, String> {
    let clients = trusted(clients)
        .map_err(|why| format!("the authorities for clients' certificates: {why}"))?;
    Ok(WebPkiClientVerifier::builder_with_provider(
        clients,
        provider(),
    ))
}

fn configuration(
    certificates: &[u8],
    key: &[u8],
    verifier: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<ServerConfig, String> {
    let of = |what: &'static str| move |why: String| format!("{what}: {why}");
    let config = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let config = config.map_err(|error| error.to_string())?;
    let chain = chain(certificates).map_err(of("the server's certificate"))?;
    let key = private_key(key).map_err(of("the server's key"))?;
    let config = match verifier {
        Some(verifier) => config.with_client_cert_verifier(verifier),
        None => config.with_no_client_auth(),
    };
    let mut config = config
        .with_single_cert(chain, key)
        .map_err(|error| format!("certificate and key do not match: {error}"))?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Returns the rustls configuration of a client.
pub(crate) fn client(
    ca: &Path,
    own: Option<(&Path, &Path)>,
) -> Result<Arc<ClientConfig>, RemoteError> {
    let use_it = |path: &Path, why: String| failed("use", path)(io::Error::other(why));
    let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let config = config.map_err(|error| use_it(ca, error.to_string()))?;
    let store = trusted(&certificates(ca)?).map_err(|why| use_it(ca, why))?;
    let config = config.with_root_certificates(store);
    let mut config = match own {
        None => config.with_no_client_auth(),
        Some((cert, key_file)) => {
            let chain = chain(&certificates(cert)?).map_err(|why| use_it(cert, why))?;
            let key = private_key(&key(key_file)?).map_err(|why| use_it(key_file, why))?;
            let config = config.with_client_auth_cert(chain, key);
            config.map_err(|error| use_it(cert, error.to_string()))?
        }
    };
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
