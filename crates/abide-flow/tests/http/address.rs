//! Which addresses are reached.

use crate::support::{Answer, Server, client, client_with_names, settings};
use abide_flow::{AddressRules, HttpError, HttpRequest};

fn assert_denied(error: &HttpError, host: &str) {
    let HttpError::AddressDenied { host: named, .. } = error else { panic!("{error:?}") };
    assert_eq!(named, host);
    assert!(!error.is_retryable());
    assert_eq!(error.failure().detail::<String>("host").as_deref(), Some(host));
    assert!(error.failure().detail::<String>("rule").is_some());
}

#[tokio::test]
async fn metadata_addresses_are_refused_in_every_spelling() {
    for (url, host) in [
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254"),
        ("http://2852039166/", "169.254.169.254"),
        ("http://0xA9FEA9FE/", "169.254.169.254"),
        ("http://0251.0376.0251.0376/", "169.254.169.254"),
        ("http://169.254.43518/", "169.254.169.254"),
        ("http://169.254.169.254./", "169.254.169.254"),
        ("http://%31%36%39.254.169.254/", "169.254.169.254"),
        ("http://①⑥⑨.254.169.254/", "169.254.169.254"),
        ("http://user:pass@169.254.169.254/", "169.254.169.254"),
        ("http://[::ffff:169.254.169.254]/", "[::ffff:a9fe:a9fe]"),
        ("http://[0:0:0:0:0:ffff:a9fe:a9fe]/", "[::ffff:a9fe:a9fe]"),
        ("http://[2002:a9fe:a9fe::]/", "[2002:a9fe:a9fe::]"),
        ("http://[64:ff9b::a9fe:a9fe]/", "[64:ff9b::a9fe:a9fe]"),
        ("http://[fe80::1]/", "[fe80::1]"),
        ("http://[fd00:ec2::254]/", "[fd00:ec2::254]"),
        ("http://100.100.100.200/", "100.100.100.200"),
        ("http://0/", "0.0.0.0"),
        ("http://[::]/", "[::]"),
        ("https://169.254.169.254/", "169.254.169.254"),
    ] {
        let error = client().call(HttpRequest::new("GET", url)).await.unwrap_err();
        assert_denied(&error, host);
    }
}

#[tokio::test]
async fn loopback_is_reached_in_every_spelling() {
    let server = Server::start(|_| Answer::text(200, "here")).await;
    let port = server.address.port();
    for host in
        ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]", "localhost"]
    {
        let call = client().call(HttpRequest::new("GET", format!("http://{host}:{port}/"))).await;
        assert_eq!(call.unwrap().body, "here", "{host}");
    }
}

#[tokio::test]
async fn a_name_is_judged_by_the_address_it_resolves_to() {
    let server = Server::start(|_| Answer::text(200, "here")).await;
    let port = server.address.port();
    let client = client_with_names(settings());
    let call = |host: &str| client.call(HttpRequest::new("GET", format!("http://{host}:{port}/")));
    assert_eq!(call("server.test").await.unwrap().body, "here");
    assert_denied(&call("metadata.test").await.unwrap_err(), "metadata.test");
    assert_denied(&call("mapped.test").await.unwrap_err(), "mapped.test");
    assert_eq!(call("mixed.test").await.unwrap().body, "here", "by the address that is allowed");
    let nowhere = call("nowhere.test").await.unwrap_err();
    assert!(matches!(nowhere, HttpError::Network { .. }) && nowhere.is_retryable(), "{nowhere}");
}

#[tokio::test]
async fn a_refusal_does_not_tell_the_address() {
    let client = client_with_names(settings());
    let error = client.call(HttpRequest::new("GET", "http://metadata.test/")).await.unwrap_err();
    assert!(!error.to_string().contains("169.254.169.254"), "{error}");
}

#[tokio::test]
async fn every_redirect_is_judged_again() {
    for (location, host) in [
        ("http://169.254.169.254/latest", "169.254.169.254"),
        ("//0xA9FEA9FE/latest", "169.254.169.254"),
        ("http://metadata.test/latest", "metadata.test"),
    ] {
        let server = Server::start(move |asked| match asked.target.as_str() {
            "/one" => Answer::redirect(302, "/two"),
            _ => Answer::redirect(302, location),
        })
        .await;
        let request =
            HttpRequest { follow_redirects: 5, ..HttpRequest::new("GET", server.url("/one")) };
        let error = client_with_names(settings()).call(request).await.unwrap_err();
        assert_denied(&error, host);
        assert_eq!(server.received().len(), 2);
    }
    let server = Server::start(|_| Answer::redirect(302, "file:///etc/passwd")).await;
    let request = HttpRequest { follow_redirects: 5, ..HttpRequest::new("GET", server.url("/")) };
    let error = client().call(request).await.unwrap_err();
    assert!(matches!(error, HttpError::RedirectRefused { .. }), "{error}");
}

#[tokio::test]
async fn settings_deny_more_and_allow_more() {
    let server = Server::start(|_| Answer::text(200, "here")).await;
    let port = server.address.port();
    let call = async |allow: &[&str], deny: &[&str], host: &str| {
        let mut settings = settings();
        settings.addresses = AddressRules::parse(allow, deny).unwrap();
        let request = HttpRequest::new("GET", format!("http://{host}:{port}/"));
        client_with_names(settings).call(request).await
    };
    assert_denied(&call(&[], &["127.0.0.0/8"], "server.test").await.unwrap_err(), "server.test");
    assert_denied(&call(&[], &["127.0.0.0/8"], "0x7f000001").await.unwrap_err(), "127.0.0.1");
    assert_denied(&call(&[], &["*.test"], "server.test").await.unwrap_err(), "server.test");
    assert!(call(&["server.test"], &["*"], "server.test").await.is_ok());
    assert_denied(&call(&["server.test"], &["*"], "mixed.test").await.unwrap_err(), "mixed.test");
    assert!(call(&["127.0.0.1"], &["*"], "mixed.test").await.is_ok());
}

#[tokio::test]
async fn streams_keep_to_the_same_rules() {
    let error =
        client().stream(HttpRequest::new("GET", "http://169.254.169.254/")).await.unwrap_err();
    assert_denied(&error, "169.254.169.254");
}
