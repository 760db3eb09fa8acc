//! `[tracker]` in the configuration of `abide serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

use crate::program::{path, refusal};
use crate::server::{GREET, Place, Server, write};

/// Takes batches and hands their events on.
pub(crate) fn sink() -> (String, Receiver<Value>) {
    sink_for("hush")
}

/// The same with a token in small letters.
pub(crate) fn sink_for(token: &'static str) -> (String, Receiver<Value>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/events", socket.local_addr().unwrap());
    let (told, events) = channel();
    thread::spawn(move || {
        for stream in socket.incoming() {
            let told = told.clone();
            thread::spawn(move || serve(&stream.unwrap(), token, &told));
        }
    });
    (url, events)
}

fn serve(stream: &TcpStream, token: &str, told: &Sender<Value>) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
        let header = line.trim_end().to_ascii_lowercase();
        line.clear();
        if let Some(given) = header.strip_prefix("content-length: ") {
            length = given.parse().unwrap();
        } else if header.starts_with("authorization: ") {
            assert_eq!(header, format!("authorization: bearer {token}"));
        } else if header.is_empty() {
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            for event in body["events"].as_array().unwrap() {
                let _ = told.send(event.clone());
            }
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
    }
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
