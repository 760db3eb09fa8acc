//! What the operator decides about HTTP steps.

use std::time::Duration;

use super::address::AddressRules;

/// `[http]` of the configuration. Every field has a default.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpSettings {
    /// `allow` and `deny`: which addresses may be reached.
    pub addresses: AddressRules,
    /// `timeout`: how long a call takes that names no timeout. For a stream: how long until it begins,
    /// and how long it may pause.
    pub timeout: Duration,
    /// `connectTimeout`: how long connecting may take.
    pub connect_timeout: Duration,
    /// `body.max`: bytes of one answer. Whatever a step answers is stored and read again on replay.
    pub body_max: usize,
    /// `stream.maxBytes`: bytes of one streamed answer.
    pub stream_max: usize,
    /// `caCertificates`: PEM texts of authorities to trust besides those of the system.
    pub ca_certificates: Vec<String>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            addresses: AddressRules::default(),
            timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            body_max: MIB,
            stream_max: 16 * MIB,
            ca_certificates: Vec::new(),
        }
    }
}
