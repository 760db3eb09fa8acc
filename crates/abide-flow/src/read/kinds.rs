//! What steps do, and the fields of each kind.

use super::shape::{Shape, Spec, Takes};
use super::table::{may, must};

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const ON_TERMINAL: &[&str] = &["error", "ignore"];

/// What a step does: exactly one of these.
pub(crate) const KINDS: Shape = Shape {
    name: "kinds",
    fields: &[
        may("http", Takes::Map(&HTTP), "Calls a URL."),
        may("sleep", Takes::Duration, "Sleeps."),
        may("sleepUntil", Takes::Moment, "Sleeps until a moment."),
        may(
            "waitForEvent",
            Takes::Map(&WAIT_FOR_EVENT),
            "Waits for one event or several, published or \
             addressed.",
        ),
        may("waitForSignal", Takes::Map(&WAIT_FOR_SIGNAL), "Waits for a signal."),
        may("receive", Takes::Map(&RECEIVE), "Waits for a message."),
        may("send", Takes::Map(&SEND), "Sends a message to an instance."),
        may("sendEvent", Takes::Map(&SEND_EVENT), "Sends an event to an instance."),
        may("publish", Takes::Map(&PUBLISH), "Publishes an event to whoever wants it."),
        may(
            "setOutput",
            Takes::Map(&SET_OUTPUT),
            "Sets an output that others can read while it runs.",
        ),
        may("getOutput", Takes::Map(&GET_OUTPUT), "Waits for an output of another instance."),
        may("emit", Takes::Map(&EMIT), "Tells those who watch."),
        may("set", Takes::Variables, "Sets variables of `workflow.context`."),
        may("call", Takes::Map(&CALL), "Calls a function that the program registered."),
        may("tool", Takes::Map(&TOOL), "Calls a tool of an MCP server."),
        may(
            "parallel",
            Takes::Branches,
            "Runs branches at the same time; all settle, then the first error \
             fails it.",
        ),
        may(
            "race",
            Takes::Racers,
            "The first of these to finish decides; the others are cancelled.",
        ),
        may("forEach", Takes::Map(&FOR_EACH), "Does the same for every item."),
        may(
            "switch",
            Takes::ListOf(&CASE),
            "Goes where the first true case says; without one, to the next \
             step.",
        ),
        may("workflow", Takes::Map(&WORKFLOW), "Runs another workflow."),
        may("return", Takes::Value, "Ends the workflow with a value."),
        may("fail", Takes::Map(&FAIL), "Ends the workflow with an error."),
    ],
};

const HTTP: Shape = Shape {
    name: "http",
    fields: &[
        may("method", Takes::WordOrTemplate(METHODS), "`GET` unless said otherwise."),
        must("url", Takes::Url, "Where."),
        may("query", Takes::Members, "Added to the URL."),
        may(
            "headers",
            Takes::Members,
            "Sent along, beside `Idempotency-Key: <instance>/<run>/<step>`.",
        ),
        may("body", Takes::Value, "JSON, or a text as it is."),
        may(
            "stream",
            Takes::Flag,
            "Whether the answer is shown while it comes; then `body` is the whole text.",
        ),
        may(
            "followRedirects",
            Takes::Whole,
            "How many redirects to follow; none unless said otherwise.",
        ),
    ],
};

const WAIT_FOR_EVENT: Shape = Shape {
    name: "waitForEvent",
    fields: &[
        may(
            "eventPattern",
            Takes::Patterns,
            "Which types, `*` for one segment, `**` for one or more; \
             without it, the id of the step.",
        ),
        may("type", Takes::Patterns, "The same as `eventPattern`."),
        may("filterCondition", Takes::Filter, "Which of them; also knows `event`."),
        may("timeout", Takes::Duration, "For how long."),
        may("timeoutAt", Takes::Moment, "Until when, in place of `timeout`."),
        may("timeoutHandlerStepId", Takes::StepId, "Where to go on when nothing came."),
        may(
            "eventPayloadMapping",
            Takes::Mapping,
            "Variables of `workflow.context`: a plain text is a dotted \
             path in the payload, `${…}` also knows `event`, anything else stands for itself.",
        ),
        may("count", Takes::Count, "So many; the output is the list of them."),
        may("distinctBy", Takes::Filter, "Only one of each value of this; needs `count`."),
        may(
            "since",
            Takes::Since,
            "How far back published events count: `start` of the instance (unless \
             said otherwise), `now`, a moment or a duration.",
        ),
    ],
};

const WAIT_FOR_SIGNAL: Shape = Shape {
    name: "waitForSignal",
    fields: &[
        must("name", Takes::Template, "Which."),
        may("timeout", Takes::Duration, "For how long."),
    ],
};

const RECEIVE: Shape = Shape {
    name: "receive",
    fields: &[
        must("topic", Takes::Template, "On which topic."),
        may("timeout", Takes::Duration, "For how long."),
    ],
};

const SENT_ID: Spec = may(
    "id",
    Takes::Template,
    "Its id; the same id again is the same. Without it, one of \
     the step.",
);
const SENT_ON_TERMINAL: Spec = may(
    "onTerminal",
    Takes::Word(ON_TERMINAL),
    "When the instance has ended: \
     `error` unless said otherwise.",
);
const SENT_VISIBLE_AT: Spec = may("visibleAt", Takes::Moment, "Not seen before.");
const SENT_DELAY: Spec =
    may("delay", Takes::Duration, "Not seen for so long, in place of `visibleAt`.");

const SEND: Shape = Shape {
    name: "send",
    fields: &[
        must("to", Takes::Template, "To which instance."),
        must("topic", Takes::Template, "On which topic."),
        may("payload", Takes::Value, "What."),
        SENT_ID,
        SENT_ON_TERMINAL,
        SENT_VISIBLE_AT,
        SENT_DELAY,
    ],
};

const SEND_EVENT: Shape = Shape {
    name: "sendEvent",
    fields: &[
        must("to", Takes::Template, "To which instance."),
        must("type", Takes::EventType, "Of which type."),
        may("payload", Takes::Value, "What."),
        SENT_ID,
        SENT_ON_TERMINAL,
        SENT_VISIBLE_AT,
        SENT_DELAY,
    ],
};

const PUBLISH: Shape = Shape {
    name: "publish",
    fields: &[
        must("type", Takes::EventType, "Of which type."),
        may("payload", Takes::Value, "What."),
        may("subject", Takes::Template, "What it is about."),
        may("correlationId", Takes::Template, "What it belongs to."),
    ],
};

const SET_OUTPUT: Shape = Shape {
    name: "setOutput",
    fields: &[must("key", Takes::Template, "Which."), must("value", Takes::Value, "To what.")],
};

const GET_OUTPUT: Shape = Shape {
    name: "getOutput",
    fields: &[
        must("from", Takes::Template, "Of which instance."),
        must("key", Takes::Template, "Which."),
        may("timeout", Takes::Duration, "For how long."),
    ],
};

const EMIT: Shape = Shape {
    name: "emit",
    fields: &[
        must("name", Takes::Template, "What it is called."),
        may("data", Takes::Value, "What."),
    ],
};

const CALL: Shape = Shape {
    name: "call",
    fields: &[
        must("action", Takes::Template, "The name it was registered by."),
        may("input", Takes::Value, "What it is given."),
    ],
};

const TOOL: Shape = Shape {
    name: "tool",
    fields: &[
        may("server", Takes::Template, "The URL of the MCP server."),
        may("name", Takes::Template, "Which tool."),
        may("arguments", Takes::Value, "What it is given."),
        may("headers", Takes::Members, "Sent along with every request."),
    ],
};

const FOR_EACH: Shape = Shape {
    name: "forEach",
    fields: &[
        must("items", Takes::Value, "A list, usually `${…}`."),
        may(
            "as",
            Takes::Text,
            "What the item is called; `item` unless said otherwise. `index` is its place, \
             from 0.",
        ),
        may("concurrency", Takes::Count, "How many at the same time; all unless said otherwise."),
        must("steps", Takes::Steps, "What to do."),
    ],
};

/// One way to go on.
pub(crate) const CASE: Shape = Shape {
    name: "case",
    fields: &[
        may("when", Takes::Expr, "If this is true; without it, always."),
        must("next", Takes::StepId, "To this step."),
    ],
};

const WORKFLOW: Shape = Shape {
    name: "workflow",
    fields: &[
        must("name", Takes::Template, "Which."),
        may("input", Takes::Value, "Its input."),
        may("id", Takes::Template, "The id of the instance; without it, one is made."),
        may(
            "detached",
            Takes::Flag,
            "Whether nobody waits for its end; then the output is `{instanceId}`.",
        ),
    ],
};

const FAIL: Shape = Shape {
    name: "fail",
    fields: &[
        must("code", Takes::Template, "The code of the error."),
        may("message", Takes::Template, "What people read."),
    ],
};
