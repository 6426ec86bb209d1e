//! Certificates for tests.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};

/// A certificate authority.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
#[derive(Clone)]
pub(crate) struct Signed {
    pub(crate) pem: String,
    pub(crate) key: String,
    pub(crate) der: Vec<u8>,
}

/// Requested content of a certificate.
pub(crate) struct Wish<'w> {
    pub(crate) common: &'w str,
    pub(crate) host: &'w str,
    /// Year in which it expires.
    pub(crate) until: i32,
}

pub(crate) const GOOD: Wish<'static> = Wish {
    common: "somebody",
    host: "localhost",
    until: 2199,
};

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).expect("signed").pem();
        let issuer = Issuer::new(params, key);
        Authority { pem, issuer }
    }

    pub(crate) fn sign(&self, wish: &Wish<'_>) -> Signed {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, wish.common);
        let host = wish.host.try_into().expect("a name");
        params.subject_alt_names = vec![SanType::DnsName(host)];
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(wish.until, 12, 31);
        let purposes = [
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        for purpose in purposes {
            params.insert_extended_key_usage(purpose);
        }
        let signed = params.signed_by(&key, &self.issuer).expect("signed");
        Signed {
            pem: signed.pem(),
            der: signed.der().to_vec(),
            key: key.serialize_pem(),
        }
    }
}
