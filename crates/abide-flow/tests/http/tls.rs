//! Calls by TLS.

use std::sync::Arc;

use crate::support::{Answer, Server, client_with_names, settings};
use abide_flow::{HttpError, HttpRequest, HttpSettings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Of `server.test`, signed by itself; good for these tests only.
const CERTIFICATE: &str = include_str!("certificate.pem");
const KEY: &str = include_str!("key.pem");

async fn server() -> Server {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Server::listen(Arc::new(|_| Answer::text(200, "safe")), Some(Arc::new(config).into())).await
}

async fn call(settings: HttpSettings, host: &str) -> Result<serde_json::Value, HttpError> {
    let server = server().await;
    let url = format!("https://{host}:{}/", server.address.port());
    let response = client_with_names(settings).call(HttpRequest::new("GET", url)).await?;
    Ok(response.body)
}

#[tokio::test]
async fn a_server_with_a_certificate_of_a_trusted_authority_is_called() {
    let mut trusting = settings();
    trusting.ca_certificates = vec![CERTIFICATE.to_owned()];
    assert_eq!(call(trusting.clone(), "server.test").await.unwrap(), "safe");
    let other_name = call(trusting, "mixed.test").await.unwrap_err();
    assert!(other_name.to_string().contains("certificate"), "{other_name}");
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not_called() {
    let error = call(settings(), "server.test").await.unwrap_err();
    assert!(matches!(error, HttpError::Network { .. }), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn what_is_no_certificate_is_refused_when_the_client_is_made() {
    let mut wrong = settings();
    wrong.ca_certificates =
        vec!["-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----".into()];
    let refused = abide_flow::HttpClient::new(wrong, Default::default()).err();
    assert!(matches!(refused, Some(HttpError::Client { .. })), "{refused:?}");
}

/// Where a system says that its authorities are elsewhere, and there are none.
const NOWHERE: [(&str, &str); 2] = [("SSL_CERT_FILE", "/dev/null"), ("SSL_CERT_DIR", "/dev/null")];

#[tokio::test]
async fn a_system_without_authorities_calls_plain_servers_and_those_of_the_settings() {
    // The variables are read when a client is made, and belong to the process: so it takes another.
    if std::env::var(NOWHERE[0].0).as_deref() != Ok(NOWHERE[0].1) {
        let name = "a_system_without_authorities_calls_plain_servers_and_those_of_the_settings";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([&format!("tls::{name}"), "--exact"])
            .envs(NOWHERE)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let plain = Server::start(|_| Answer::text(200, "plain")).await;
    let request = HttpRequest::new("GET", plain.url("/"));
    assert_eq!(client_with_names(settings()).call(request).await.unwrap().body, "plain");
    let error = call(settings(), "server.test").await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    let mut trusting = settings();
    trusting.ca_certificates = vec![CERTIFICATE.to_owned()];
    assert_eq!(call(trusting, "server.test").await.unwrap(), "safe");
}
