//! CloudEvents 1.0 in every mode: what they mean, what is refused, and that they read back.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod mutate;

use abide::cloud_event::{
    BATCH, Message, STRUCTURED, decode, decode_batch, decode_binary, encode, encode_batch,
    encode_binary, read,
};
use abide::publication::{Extension, Form, Malformed};
use abide::{Publication, Timestamp};
use serde_json::{Value as Json, json};

/// An event with these members more, or instead.
fn event(members: &Json) -> Vec<u8> {
    let mut event =
        json!({"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "order.paid"});
    for (name, value) in members.as_object().unwrap() {
        event[name] = value.clone();
    }
    event.to_string().into_bytes()
}

fn structured(members: &Json) -> Publication {
    let publication = decode(&event(members)).unwrap();
    let again = encode(&publication).unwrap();
    assert_eq!(decode(again.as_bytes()).unwrap(), publication, "{again}");
    publication
}

fn decode_message(message: &Message) -> Result<Publication, Malformed> {
    let headers = message.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    decode_binary(headers, &message.body)
}

fn binary(headers: &[(&str, &str)], body: &[u8]) -> Result<Publication, Malformed> {
    let common =
        [("ce-specversion", "1.0"), ("ce-id", "e-1"), ("ce-source", "/shop"), ("ce-type", "t")];
    let publication = decode_binary(common.into_iter().chain(headers.iter().copied()), body)?;
    let message = encode_binary(&publication).unwrap();
    assert_eq!(decode_message(&message).as_ref(), Ok(&publication), "{message:?}");
    Ok(publication)
}

fn payload(publication: &Publication) -> (Form, Option<&str>) {
    (publication.form, publication.payload.as_ref().map(abide::Json::as_str))
}

#[test]
fn attributes_have_their_places() {
    let publication = structured(&json!({
        "time": "2018-04-05T17:31:00Z", "subject": "123", "correlationid": "c-1",
        "datacontenttype": "application/vnd.order+json", "dataschema": "https://example.com/s",
        "comexampleextension1": "value", "comexampleothervalue": 5, "flag": true, "unset": null,
        "data": {"a": 1},
    }));
    assert_eq!(publication.event_type, "order.paid");
    assert_eq!(publication.id.as_deref(), Some("e-1"));
    assert_eq!(publication.source.as_deref(), Some("/shop"));
    assert_eq!(publication.time, Some(Timestamp(1_522_949_460_000)));
    assert_eq!(publication.subject.as_deref(), Some("123"));
    assert_eq!(publication.correlation_id.as_deref(), Some("c-1"));
    assert_eq!(publication.content_type.as_deref(), Some("application/vnd.order+json"));
    assert_eq!(payload(&publication), (Form::Json, Some(r#"{"a":1}"#)));
    let extensions: Vec<(&str, &Extension)> =
        publication.extensions.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let text = |text: &str| Extension::Text(text.to_owned());
    assert_eq!(
        extensions,
        [
            ("comexampleextension1", &text("value")),
            ("comexampleothervalue", &Extension::Integer(5)),
            ("dataschema", &text("https://example.com/s")),
            ("flag", &Extension::Bool(true)),
        ]
    );
}

#[test]
fn data_is_json_text_or_bytes() {
    let check = |members: Json, form: Form, expect: Option<&str>| {
        assert_eq!(payload(&structured(&members)), (form, expect), "{members}");
    };
    check(json!({}), Form::Json, None);
    check(json!({"data": null}), Form::Json, Some("null"));
    check(json!({"data": "text"}), Form::Json, Some(r#""text""#));
    check(
        json!({"data": "<a/>", "datacontenttype": "application/xml"}),
        Form::Text,
        Some(r#""<a/>""#),
    );
    check(
        json!({"data": {"a": 1}, "datacontenttype": "text/plain"}),
        Form::Json,
        Some(r#"{"a":1}"#),
    );
    check(json!({"data_base64": "AAEC"}), Form::Bytes, Some(r#""AAEC""#));
    check(
        json!({"data_base64": "AAEC", "datacontenttype": "image/png"}),
        Form::Bytes,
        Some(r#""AAEC""#),
    );
    check(
        json!({"data_base64": "eyJhIjoxfQ==", "datacontenttype": "application/vnd.x+json"}),
        Form::Json,
        Some(r#"{"a":1}"#),
    );
    check(
        json!({"data_base64": "aGk=", "datacontenttype": "text/plain"}),
        Form::Text,
        Some(r#""hi""#),
    );
    check(
        json!({"data_base64": "/w==", "datacontenttype": "text/plain"}),
        Form::Bytes,
        Some(r#""/w==""#),
    );
}

#[test]
fn a_body_is_what_its_media_type_says() {
    let check = |content_type: Option<&str>, body: &[u8], form: Form, expect: Option<&str>| {
        let headers: Vec<(&str, &str)> =
            content_type.map(|content_type| ("Content-Type", content_type)).into_iter().collect();
        assert_eq!(payload(&binary(&headers, body).unwrap()), (form, expect), "{content_type:?}");
    };
    check(None, b"", Form::Json, None);
    check(None, b" {\"a\": 1} ", Form::Json, Some(r#"{"a": 1}"#));
    check(Some("Application/JSON"), b"[1]", Form::Json, Some("[1]"));
    check(Some("application/json; charset=utf-8"), b"[1]", Form::Json, Some("[1]"));
    check(Some("text/plain"), "é".as_bytes(), Form::Text, Some(r#""é""#));
    check(Some("text/plain"), b"\xff", Form::Bytes, Some(r#""/w==""#));
    check(Some("image/png"), b"\x00\x01\x02", Form::Bytes, Some(r#""AAEC""#));
    let refused = binary(&[("content-type", "application/json")], b"{").unwrap_err();
    assert_eq!(refused.attribute(), Some("data"));
}

#[test]
fn headers_are_decoded_and_other_headers_passed_over() {
    let publication = binary(
        &[
            ("CE-Subject", "Euro%20%E2%82%AC"),
            ("ce-correlationid", "\"a b\""),
            ("ce-traceparent", "00-1"),
            ("accept", "x"),
            ("ce-time", "2018-04-05T17:31:00Z"),
        ],
        b"1",
    )
    .unwrap();
    assert_eq!(publication.subject.as_deref(), Some("Euro €"));
    assert_eq!(publication.correlation_id.as_deref(), Some("a b"));
    assert_eq!(publication.time, Some(Timestamp(1_522_949_460_000)));
    assert_eq!(publication.extensions.len(), 1);
    let injected = binary(&[("ce-subject", "a%0D%0Ab")], b"").unwrap_err();
    assert_eq!(injected.to_string(), "subject has the control character U+000D");
}

#[test]
fn what_is_refused_names_the_attribute() {
    let check = |members: Json, expect: &str| {
        let refused = decode(&event(&members)).unwrap_err();
        assert_eq!(refused.to_string(), expect);
        assert_eq!(refused.attribute(), expect.split(' ').next());
    };
    check(json!({"specversion": null}), "specversion is missing");
    check(json!({"specversion": "0.3"}), r#"specversion must be "1.0", not "0.3""#);
    check(json!({"specversion": 1.0}), "specversion must be a string, not 1.0");
    check(json!({"id": null}), "id is missing");
    check(json!({"id": ""}), "id must not be empty");
    check(json!({"id": "x".repeat(1025)}), "id is 1025 bytes long, the limit is 1024");
    check(json!({"source": null}), "source is missing");
    check(json!({"type": null}), "type is missing");
    check(json!({"type": "a..b"}), r#"type "a..b" has an empty segment"#);
    check(json!({"subject": 1}), "subject must be a string, not 1");
    check(
        json!({"correlationId": "c"}),
        "correlationId is not a name of an attribute: lower-case letters and digits only",
    );
    check(json!({"x": 1.5}), "x must be a string, a boolean or a whole number of 32 bits");
    check(json!({"x": {}}), "x must be a string, a boolean or a whole number of 32 bits");
    check(json!({"data_base64": "?"}), "data_base64 is not base64 with padding");
    check(json!({"data_base64": "", "data": 1}), "data_base64 excludes data, and both are there");
    check(
        json!({"data_base64": "/w==", "datacontenttype": "application/a+json"}),
        "data is not JSON: expected value at line 1 column 1",
    );
    check(
        json!({"datacontenttype": "json"}),
        r#"datacontenttype must be a media type such as application/json, not "json""#,
    );
    let half = br#"{"specversion": "1.0", "id": "1", "source": "s", "type": "t",
        "datacontenttype": "text/plain", "data": "\ud800"}"#;
    assert_eq!(decode(half).unwrap_err().attribute(), Some("data"));
    let twice = binary(&[("ce-subject", "a"), ("Ce-Subject", "b")], b"").unwrap_err();
    assert_eq!(twice.to_string(), "ce-subject is there twice");
    let missing = decode_binary([("ce-specversion", "1.0"), ("ce-id", "1")], b"").unwrap_err();
    assert_eq!(missing, Malformed::Missing { attribute: "type" });
}

#[test]
fn a_batch_is_taken_whole_or_not_at_all() {
    let (one, other) = (event(&json!({"data": 1})), event(&json!({"id": "e-2"})));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let batch = decode_batch(format!("[{}, {}]", text(&one), text(&other)).as_bytes()).unwrap();
    assert_eq!(batch.len(), 2);
    assert_eq!(decode_batch(encode_batch(&batch).unwrap().as_bytes()).unwrap(), batch);
    assert_eq!(decode_batch(b"[]").unwrap(), []);
    let refused = decode_batch(format!("[{}, {{}}]", text(&one)).as_bytes()).unwrap_err();
    assert_eq!(refused.to_string(), "event 1 of the batch: specversion is missing");
    assert!(matches!(decode_batch(b"{}"), Err(Malformed::NotJson { expected: "array", .. })));
}

#[test]
fn headers_say_what_a_body_is() {
    let one = event(&json!({}));
    let batch = [b"[", &*one, b"]"].concat();
    let read_one =
        |headers: &[(&str, &str)], body: &[u8]| read(headers.iter().copied(), body).unwrap();
    assert_eq!(read_one(&[("content-type", STRUCTURED)], &one).len(), 1);
    assert_eq!(
        read_one(&[("Content-Type", "Application/CloudEvents+JSON; charset=UTF-8")], &one).len(),
        1
    );
    assert_eq!(read_one(&[("content-type", BATCH)], &batch).len(), 1);
    let binary = [
        ("content-type", "application/json"),
        ("ce-specversion", "1.0"),
        ("ce-id", "1"),
        ("ce-source", "s"),
        ("ce-type", "t"),
    ];
    assert_eq!(read_one(&binary, b"1")[0].id.as_deref(), Some("1"));
    let own = read_one(&[("content-type", "application/json")], br#"{"type": "t"}"#);
    assert_eq!(own, [Publication::new("t")]);
    let refused = read([("content-type", "application/cloudevents+avro")], b"").unwrap_err();
    assert_eq!(refused.attribute(), Some("content-type"));
}

#[test]
fn what_cloud_events_do_not_allow_is_not_written() {
    let good = decode(&event(&json!({"data": "x", "datacontenttype": "text/plain"}))).unwrap();
    let check = |publication: Publication, attribute: &str| {
        let attributes = [
            encode(&publication).unwrap_err().attribute().map(str::to_owned),
            encode_binary(&publication).unwrap_err().attribute().map(str::to_owned),
        ];
        assert_eq!(attributes, [Some(attribute.to_owned()), Some(attribute.to_owned())]);
    };
    check(Publication { id: None, ..good.clone() }, "id");
    check(Publication { source: None, ..good.clone() }, "source");
    check(Publication { subject: Some("a\r\nb: c".into()), ..good.clone() }, "subject");
    check(Publication { content_type: None, ..good.clone() }, "datacontenttype");
    check(
        Publication { content_type: Some("a/b\r\nc: d".into()), ..good.clone() },
        "datacontenttype",
    );
    check(Publication { form: Form::Bytes, ..good.clone() }, "data");
    check(Publication { payload: None, ..good.clone() }, "data");
    for name in ["Upper", "", "id", "data", "correlationid"] {
        let extensions = [(name.to_owned(), Extension::Bool(true))].into();
        check(Publication { extensions, ..good.clone() }, name);
    }
}

#[test]
fn deep_and_large_data_passes_through() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let head = r#"{"specversion": "1.0", "id": "1", "source": "s", "type": "t""#;
    let publication = decode(format!(r#"{head}, "data": {deep}}}"#).as_bytes()).unwrap();
    assert_eq!(payload(&publication), (Form::Json, Some(&*deep)));
    assert_eq!(decode(encode(&publication).unwrap().as_bytes()).unwrap(), publication);
    assert_eq!(decode_message(&encode_binary(&publication).unwrap()).unwrap(), publication);
    assert!(decode(format!(r#"{head}, "x": {deep}}}"#).as_bytes()).is_err());
    assert!(decode_batch(deep.as_bytes()).is_err());
    let large = "x".repeat(5_000_000);
    let publication = decode(format!(r#"{head}, "data": "{large}"}}"#).as_bytes()).unwrap();
    assert_eq!(publication.payload.unwrap().size(), large.len() + 2);
}
