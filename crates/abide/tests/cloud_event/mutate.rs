//! Random and broken input: nothing panics, and whatever is read can be written and read again.

use abide::Publication;
use abide::cloud_event::{
    decode, decode_batch, decode_binary, encode, encode_batch, encode_binary,
};

use crate::decode_message;

const SEEDS: [&str; 5] = [
    r#"{"specversion":"1.0","id":"e-1","source":"/shop","type":"order.paid","time":"2018-04-05T17:31:00.5Z","subject":"é","correlationid":"c","flag":true,"n":-5,"data":{"a":[1,2.5e3,"\u20ac"]}}"#,
    r#"{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"text/xml","data":"<a/>"}"#,
    r#"{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"image/png","data_base64":"AAEC/w=="}"#,
    r#"[{"specversion":"1.0","id":"1","source":"s","type":"t","data":null},{"specversion":"1.0","id":"2","source":"s","type":"t"}]"#,
    r#"{"type":"order.paid","payload":{"a":1},"id":"e","source":"s","time":"2018-04-05T17:31:00Z","correlationId":"c"}"#,
];

/// Pieces that make broken input nearly right.
const PIECES: [&str; 16] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "\\u0000",
    "\\ud800",
    "1e999",
    "\"data\":1,",
    "é",
    "%",
    "\0",
    "\"data_base64\":\"AA==\",",
];

fn mutate(random: &mut fastrand::Rng, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..random.usize(..4) {
        let at = random.usize(..=bytes.len());
        let end = random.usize(at..=bytes.len().min(at + 12));
        match random.u8(..4) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, PIECES[random.usize(..PIECES.len())].bytes())),
            2 => drop(bytes.splice(at..end, PIECES[random.usize(..PIECES.len())].bytes())),
            _ => bytes.insert(at, random.u8(..)),
        }
    }
    bytes
}

fn reads_back(publication: &Publication) {
    let text = encode(publication).unwrap();
    assert_eq!(decode(text.as_bytes()).as_ref(), Ok(publication), "{text}");
}

/// How many were events.
fn check(bytes: &[u8]) -> usize {
    let mut events = 0;
    if let Ok(publication) = decode(bytes) {
        events += 1;
        reads_back(&publication);
        // The other way to travel may say less about what data is, but never fails.
        decode_message(&encode_binary(&publication).unwrap()).unwrap();
    }
    if let Ok(batch) = decode_batch(bytes) {
        events += batch.len();
        assert_eq!(decode_batch(encode_batch(&batch).unwrap().as_bytes()), Ok(batch));
    }
    if let Ok(publication) = Publication::from_json(bytes) {
        events += 1;
        if publication.id.is_some() && publication.source.is_some() {
            reads_back(&publication);
        }
    }
    events
}

fn seed() -> u64 {
    std::env::var("CLOUD_EVENT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(17)
}

#[test]
fn broken_events_never_panic_and_what_is_read_reads_back() {
    let mut random = fastrand::Rng::with_seed(seed());
    let mut events = 0;
    for round in 0..40_000 {
        let bytes = mutate(&mut random, SEEDS[round % SEEDS.len()]);
        events += check(&bytes);
    }
    assert!(events > 5_000, "only {events} were events, so little was tried");
}

#[test]
fn random_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(seed());
    for _ in 0..20_000 {
        let length = random.usize(..64);
        let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        check(&bytes);
    }
}

#[test]
fn random_headers_never_panic_and_what_is_read_reads_back() {
    let mut random = fastrand::Rng::with_seed(seed());
    let types =
        ["application/json", "text/plain", "image/png", "a/b+xml", "text/html; charset=x", "", "x"];
    let bodies = ["", "1", "{\"a\": 1}", "<a/>", "{", "\u{0}é"];
    let mut events = 0;
    for _ in 0..40_000 {
        let value: Vec<u8> = mutate(&mut random, "a%20\"b%E2%82%AC");
        let value = String::from_utf8_lossy(&value).into_owned();
        let name = ["ce-subject", "ce-time", "CE-x1", "ce-X_", "ce-", "ce-correlationid"]
            [random.usize(..6)];
        let content_type = types[random.usize(..types.len())];
        let headers = [
            ("ce-specversion", "1.0"),
            ("ce-id", &*value),
            ("ce-source", "s"),
            ("ce-type", "t"),
            (name, &*value),
            ("content-type", content_type),
        ];
        let skip = random.usize(..12);
        let headers = headers.into_iter().enumerate().filter(|(place, _)| *place != skip);
        let body = bodies[random.usize(..bodies.len())];
        let body = mutate(&mut random, body);
        if let Ok(publication) = decode_binary(headers.map(|(_, header)| header), &body) {
            events += 1;
            let message = encode_binary(&publication).unwrap();
            assert_eq!(decode_message(&message).as_ref(), Ok(&publication), "{message:?}");
            decode(encode(&publication).unwrap().as_bytes()).unwrap();
        }
    }
    assert!(events > 1_000, "only {events} were events, so little was tried");
}
