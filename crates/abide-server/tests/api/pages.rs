//! What is served outside `/v1`.

use reqwest::Method;
use serde_json::json;

use crate::instances::GREET;
use crate::world::{Answer, World, answer};

async fn get(world: &World, path: &str) -> Answer {
    answer(world.client.request(Method::GET, format!("{}{path}", world.base))).await
}

#[tokio::test]
async fn a_server_is_ready_until_it_drains() {
    let world = World::with(&[]).await;
    assert_eq!(get(&world, "/healthz").await.with(200), json!({"status": "ok"}));
    assert_eq!(get(&world, "/readyz").await.with(200), json!({"status": "ready"}));
    world.app.drain();
    get(&world, "/readyz").await.refused(503, "STORE_UNAVAILABLE");
    get(&world, "/healthz").await.with(200);
}

#[tokio::test]
async fn a_server_whose_engine_is_shut_down_is_not_ready() {
    let world = World::with(&[]).await;
    world.app.engine().shutdown().await;
    let refused = get(&world, "/readyz").await;
    refused.refused(503, "STORE_UNAVAILABLE");
    assert_eq!(refused.headers["retry-after"], "1");
}

#[tokio::test]
async fn metrics_count_requests_by_route_and_not_by_address() {
    let world = World::with(&[GREET]).await;
    for n in 0..3 {
        world.get(format!("/instances/nobody-{n}")).await.with(404);
    }
    get(&world, "/nothing/here").await.with(404);
    world.post("/events", json!({"type": "a"})).await.with(202);
    let page = get(&world, "/metrics").await;
    assert_eq!(page.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    for line in [
        r#"abide_http_requests_total{method="GET",route="/v1/instances/{id}",status="404"} 3"#,
        r#"abide_http_requests_total{method="GET",route="none",status="404"} 1"#,
        r#"abide_http_requests_total{method="POST",route="/v1/events",status="202"} 1"#,
        "# TYPE abide_http_requests_total counter",
        "abide_workflows 1",
        r#"abide_events_published_total{verdict="unmatched"} 1"#,
        "abide_resident_instances 0",
    ] {
        assert!(page.text.lines().any(|known| known == line), "{line} is not in\n{}", page.text);
    }
    assert!(
        page.text.contains("abide_build_info{version=")
            && page.text.contains("abide_uptime_seconds ")
    );
}

#[tokio::test]
async fn pages_run_only_scripts_of_this_server() {
    let world = World::with(&[]).await;
    for path in ["/", "/docs"] {
        let page = get(&world, path).await;
        assert_eq!(page.status.as_u16(), 200);
        assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
        assert!(
            !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_eq!(page.headers["x-content-type-options"], "nosniff");
        for part in page.text.split("<script").skip(1) {
            assert!(part.contains("src=\"/") && part.contains("></script>"), "{part}");
        }
        assert!(!page.text.contains("http://") && !page.text.contains("https://"), "works offline");
        let after = |marker: &'static str| page.text.split(marker).skip(1);
        for source in after("src=\"").chain(after("href=\"")) {
            let Some(path) = source.split('"').next().filter(|path| path.starts_with('/')) else {
                continue;
            };
            assert_eq!(get(&world, path).await.status.as_u16(), 200, "{path}");
        }
    }
    for script in ["/home.js", "/docs/docs.js"] {
        let script = get(&world, script).await;
        assert!(script.headers["content-type"].to_str().unwrap().starts_with("text/javascript"));
        for unsafe_word in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            assert!(!script.text.contains(unsafe_word), "{unsafe_word}");
        }
    }
}

#[tokio::test]
async fn the_description_names_every_route_once_and_resolves() {
    let world = World::with(&[]).await;
    let described = get(&world, "/openapi.json").await.with(200);
    let text = described.to_string();
    for part in text.split("\"$ref\":\"").skip(1) {
        let name = part.split('"').next().unwrap().strip_prefix("#/components/schemas/").unwrap();
        assert!(described["components"]["schemas"].get(name).is_some(), "{name} is not described");
    }
    for (path, item) in described["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            assert!(operation["tags"][0].is_string(), "{method} {path} has no tag");
        }
    }
}
