//! What has no value.

use serde_json::json;

use crate::harness::{comes_to, fails_with, nothing};

#[tokio::test]
async fn an_undefined_template_fails_the_step_at_once_and_lists_all() {
    let text = "
name: undefined
steps: [{id: a, set: {x: '${input.no}', y: {z: 'and ${input.nothing}'}}}]
";
    let says = "Failed to resolve input: `input.no` at `set.x`";
    fails_with(text, nothing(), "VALIDATION_ERROR", says).await;
    let both = "
name: undefined
steps: [{id: a, call: {action: echo, input: {x: '${input.no}', y: ['${input.nothing}']}}}]
";
    let says = "`input.no` at `call.input.x`, `input.nothing` at `call.input.y.0`";
    fails_with(both, nothing(), "VALIDATION_ERROR", says).await;
}

#[tokio::test]
async fn an_undefined_template_may_be_allowed_or_handled() {
    let allowed = "
name: allowed
steps: [{id: a, set: {x: '${input.no ?? null}'}}]
";
    comes_to(allowed, nothing(), json!({"x": null})).await;
    let handled = "
name: handled
steps: [{id: a, set: {x: '${input.no}'}, onError: b}]
handlers: [{id: b, return: '${steps.a.error.code}'}]
";
    comes_to(handled, nothing(), json!("VALIDATION_ERROR")).await;
}

#[tokio::test]
async fn in_conditions_undefined_is_just_not_true() {
    let text = "
name: condition
steps:
  - {id: a, if: input.no.such.thing > 3, set: {x: 1}}
  - {id: b, return: '${steps.a.output}'}
";
    comes_to(text, nothing(), json!(null)).await;
}

/// Fields that may hold a template, each in a step whose other fields are fine.
const FIELDS: &[(&str, &str)] = &[
    ("sleep", "sleep: '?'"),
    ("sleepUntil", "sleepUntil: '?'"),
    ("http.method", "http: {method: '?', url: 'http://127.0.0.1:9'}"),
    ("http.url", "http: {url: '?'}"),
    ("http.query.q", "http: {url: 'http://127.0.0.1:9', query: {q: '?'}}"),
    ("http.headers.h", "http: {url: 'http://127.0.0.1:9', headers: {h: '?'}}"),
    ("http.body.b", "http: {url: 'http://127.0.0.1:9', body: {b: '?'}}"),
    ("waitForEvent.eventPattern.0", "waitForEvent: {eventPattern: '?'}"),
    ("waitForEvent.timeout", "waitForEvent: {eventPattern: e, timeout: '?'}"),
    ("waitForEvent.timeoutAt", "waitForEvent: {eventPattern: e, timeoutAt: '?'}"),
    ("waitForEvent.count", "waitForEvent: {eventPattern: e, count: '?'}"),
    ("waitForEvent.since", "waitForEvent: {eventPattern: e, since: '?'}"),
    ("waitForSignal.name", "waitForSignal: {name: '?'}"),
    ("waitForSignal.timeout", "waitForSignal: {name: s, timeout: '?'}"),
    ("receive.topic", "receive: {topic: '?'}"),
    ("receive.timeout", "receive: {topic: t, timeout: '?'}"),
    ("send.to", "send: {to: '?', topic: t}"),
    ("send.topic", "send: {to: x, topic: '?'}"),
    ("send.payload.p", "send: {to: x, topic: t, payload: {p: '?'}}"),
    ("send.id", "send: {to: x, topic: t, id: '?'}"),
    ("send.delay", "send: {to: x, topic: t, delay: '?'}"),
    ("send.visibleAt", "send: {to: x, topic: t, visibleAt: '?'}"),
    ("sendEvent.to", "sendEvent: {to: '?', type: e}"),
    ("sendEvent.type", "sendEvent: {to: x, type: '?'}"),
    ("sendEvent.payload", "sendEvent: {to: x, type: e, payload: '?'}"),
    ("sendEvent.id", "sendEvent: {to: x, type: e, id: '?'}"),
    ("publish.type", "publish: {type: '?'}"),
    ("publish.payload", "publish: {type: e, payload: '?'}"),
    ("publish.subject", "publish: {type: e, subject: '?'}"),
    ("publish.correlationId", "publish: {type: e, correlationId: '?'}"),
    ("setOutput.key", "setOutput: {key: '?', value: 1}"),
    ("setOutput.value", "setOutput: {key: k, value: '?'}"),
    ("getOutput.from", "getOutput: {from: '?', key: k}"),
    ("getOutput.key", "getOutput: {from: x, key: '?'}"),
    ("getOutput.timeout", "getOutput: {from: x, key: k, timeout: '?'}"),
    ("emit.name", "emit: {name: '?'}"),
    ("emit.data", "emit: {name: n, data: '?'}"),
    ("set.x", "set: {x: '?'}"),
    ("call.action", "call: {action: '?'}"),
    ("call.input", "call: {action: echo, input: '?'}"),
    ("tool.server", "tool: {server: '?', name: n}"),
    ("tool.name", "tool: {server: 'http://127.0.0.1:9', name: '?'}"),
    ("tool.arguments.a", "tool: {server: 'http://127.0.0.1:9', name: n, arguments: {a: '?'}}"),
    ("tool.headers.h", "tool: {server: 'http://127.0.0.1:9', name: n, headers: {h: '?'}}"),
    ("forEach.items", "forEach: {items: '?', steps: [{id: b, set: {x: 1}}]}"),
    (
        "forEach.concurrency",
        "forEach: {items: [1], concurrency: '?', steps: [{id: b, set: {x: 1}}]}",
    ),
    ("workflow.name", "workflow: {name: '?'}"),
    ("workflow.input.n", "workflow: {name: w, input: {n: '?'}}"),
    ("workflow.id", "workflow: {name: w, id: '?'}"),
    ("return", "return: '?'"),
    ("fail.code", "fail: {code: '?'}"),
    ("fail.message", "fail: {code: C, message: '?'}"),
    ("timeout", "call: {action: echo}, timeout: '?'"),
    ("retry.maxAttempts", "call: {action: echo}, retry: {maxAttempts: '?'}"),
    ("retry.delay", "call: {action: echo}, retry: {delay: '?'}"),
    ("retry.backoff", "call: {action: echo}, retry: {backoff: '?'}"),
    ("retry.maxDelay", "call: {action: echo}, retry: {maxDelay: '?'}"),
    ("retry.maxDuration", "call: {action: echo}, retry: {maxDuration: '?'}"),
];

#[tokio::test]
async fn a_template_without_a_value_fails_its_step_in_every_field() {
    for (field, step) in FIELDS {
        let step = step.replace('?', "${input.no}");
        let text = format!("name: w\nsteps:\n  - {{id: a, {step}}}\n");
        let says = format!("Failed to resolve input: `input.no` at `{field}`");
        fails_with(&text, nothing(), "VALIDATION_ERROR", &says).await;
    }
}

#[tokio::test]
async fn everything_that_a_step_lacks_is_listed() {
    for (kind, places) in [
        ("set: {x: '${input.a}', y: '${input.b}'}", ["set.x", "set.y"]),
        (
            "send: {to: '${input.a}', topic: t, payload: ['${input.b}']}",
            ["send.to", "send.payload.0"],
        ),
        (
            "sendEvent: {to: '${input.a}', type: t, id: '${input.b}'}",
            ["sendEvent.to", "sendEvent.id"],
        ),
        (
            "publish: {type: '${input.a}', payload: '${input.b}'}",
            ["publish.type", "publish.payload"],
        ),
        (
            "workflow: {name: '${input.a}', input: '${input.b}'}",
            ["workflow.name", "workflow.input"],
        ),
        ("fail: {code: '${input.a}', message: '${input.b}'}", ["fail.code", "fail.message"]),
        ("receive: {topic: '${input.a}'}, timeout: '${input.b}'", ["receive.topic", "timeout"]),
        ("http: {url: '${input.a}', body: {x: '${input.b}'}}", ["http.url", "http.body.x"]),
        ("tool: {server: '${input.a}', name: '${input.b}'}", ["tool.server", "tool.name"]),
        ("call: {action: '${input.a}', input: '${input.b}'}", ["call.action", "call.input"]),
    ] {
        let text = format!("{{name: lacks, steps: [{{id: a, {kind}}}]}}");
        let told = format!(
            "Failed to resolve input: `input.a` at `{}`, `input.b` at `{}`",
            places[0], places[1]
        );
        fails_with(&text, nothing(), "VALIDATION_ERROR", &told).await;
    }
}
