//! `[tracker]` in the configuration of `abide serve`.

use std::sync::mpsc::Receiver;

use serde_json::Value;

use crate::program::{path, refusal};
use crate::receiver::{Call, receiver};
use crate::server::{GREET, Place, Server, write};

/// Every event that came so far, with the token that it must have come with.
fn events(calls: &Receiver<Call>) -> Vec<Value> {
    let of_call = |call: Call| {
        assert_eq!(call.headers["authorization"], "Bearer hush");
        let body: Value = serde_json::from_slice(&call.body).unwrap();
        body["events"].as_array().unwrap().clone()
    };
    calls.try_iter().flat_map(of_call).collect()
}

fn served(place: &Place, url: &str) -> Server {
    let config = place.at("abide.toml");
    let text = format!(
        "[[tracker]]\nname = \"audit\"\nurl = {url:?}\naccessToken = \"hush\"\ndurable = true\n"
    );
    write(&config, &text);
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
    let (url, calls) = receiver();
    for name in ["g-1", "g-2"] {
        let server = served(&place, &url);
        server.told(&["start", "greet", "--id", name, "--input", "{\"name\": \"you\"}"]);
        server.told(&["result", name, "--wait"]);
        assert!(server.terminate().success());
        let told = events(&calls);
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
    assert!(said.contains("1:2") && said.contains("ABIDE_NO_SUCH"), "{said}");
}
