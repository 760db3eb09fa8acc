//! `[tracker]` in the configuration of `abide serve`.

use std::sync::mpsc::Receiver;

use serde_json::Value;

use crate::program::{path, refusal};
use crate::receiver::receiver;
use crate::server::{GREET, Place, Server, write};

/// Takes batches and hands their events on.
pub(crate) fn sink() -> (String, Receiver<Value>) {
    sink_for("hush")
}

/// The same for another token.
pub(crate) fn sink_for(token: &'static str) -> (String, Receiver<Value>) {
    let (base, events) = receiver(move |call| {
        assert_eq!(call.headers["authorization"], format!("Bearer {token}"));
        let body: Value = serde_json::from_slice(&call.body).unwrap();
        body["events"].as_array().unwrap().clone()
    });
    (format!("{base}/events"), events)
}

fn served(place: &Place, url: &str) -> Server {
    let audit = format!(
        "[[tracker]]\nname = \"audit\"\nurl = {url:?}\naccessToken = \"hush\"\ndurable = true\n"
    );
    configured(place, &audit)
}

/// A server with this configuration.
pub(crate) fn configured(place: &Place, text: &str) -> Server {
    let config = place.at("abide.toml");
    write(&config, text);
    let (store, flows) = (place.store(), place.at("flows"));
    Server::start(&[
        "--store",
        &store,
        "--listen",
        "127.0.0.1:0",
        "--config",
        path(&config),
        path(&flows),
    ])
}

#[test]
fn a_server_tells_its_sinks_everything_before_it_stops_and_goes_on_after_it() {
    let place = Place::with(&[GREET]);
    let (url, events) = sink();
    for name in ["g-1", "g-2"] {
        let server = served(&place, &url);
        server.told(&["start", "greet", "--id", name, "--input", "{\"name\": \"you\"}"]);
        server.told(&["result", name, "--wait"]);
        assert!(server.terminate().success());
        let told: Vec<Value> = events.try_iter().collect();
        assert!(told.iter().all(|event| event["workflowId"] == name), "{told:?}");
        let types: Vec<_> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
        let expected = ["workflow.started", "step.started", "step.completed", "workflow.completed"];
        assert_eq!(types, expected);
    }
}

#[test]
fn a_sink_that_can_not_be_is_refused_with_its_place() {
    let place = Place::with(&[]);
    let config = place.at("abide.toml");
    write(&config, "[tracker]\nurl = \"http://localhost/\"\naccessToken = \"env:ABIDE_NO_SUCH\"\n");
    let said = refusal(&["config", "check", path(&config)]);
    assert!(said.contains(":3:15") && said.contains("ABIDE_NO_SUCH"), "{said}");
}
