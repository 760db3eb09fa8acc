//! The fields of a document, and those that every step may have.

use super::shape::{Shape, Spec, Takes};

pub(super) const fn may(name: &'static str, takes: Takes, about: &'static str) -> Spec {
    Spec::new(name, takes, about)
}

pub(super) const fn must(name: &'static str, takes: Takes, about: &'static str) -> Spec {
    Spec::new(name, takes, about).required()
}

const BACKOFFS: &[&str] = &["constant", "fixed", "linear", "exponential"];

/// A whole document.
pub(crate) const DOCUMENT: Shape = Shape {
    name: "document",
    fields: &[
        must("name", Takes::Text, "The name of the workflow: 1 to 255 bytes."),
        may("description", Takes::Text, "What it is for."),
        may("input", Takes::Schema, "What its input has to look like; defaults are filled in."),
        may("context", Takes::Context, "What `workflow.context` begins as; without it, the input."),
        may(
            "events",
            Takes::MapOf(&EVENT),
            "The addressed events that it takes, by type. Given, others are \
             refused, except those that its own `waitForEvent` steps wait for.",
        ),
        may(
            "triggers",
            Takes::ListOf(&TRIGGER),
            "What starts or cancels instances when an event is published.",
        ),
        must(
            "steps",
            Takes::Phases,
            "What it does, one after the other. An item that is itself a list is a \
             phase: its steps run at the same time, as one `parallel` step `phase-1`, `phase-2`, …",
        ),
        may("handlers", Takes::Steps, "Steps that are reached only by name."),
        may(
            "output",
            Takes::Outcome,
            "What an instance comes to; without it, the value of `return` or the \
             output of the last step.",
        ),
        may("defaults", Takes::Map(&DEFAULTS), "What steps do that don't say."),
        may("$schema", Takes::Text, "For editors; nothing else looks at it."),
    ],
};

/// An addressed event that the workflow takes.
pub(crate) const EVENT: Shape = Shape {
    name: "event",
    fields: &[
        may("schema", Takes::Schema, "What its payload has to look like."),
        may(
            "buffer",
            Takes::Word(&["latest", "queue", "none"]),
            "What happens to one that nobody waits \
             for: the last is kept (unless said otherwise), all are, or none.",
        ),
    ],
};

/// What starts or cancels instances. The workflow is the document's.
pub(crate) const TRIGGER: Shape = Shape {
    name: "trigger",
    fields: &[
        must(
            "eventPattern",
            Takes::Pattern,
            "The event types that it hears. The trigger is named \
             `<workflow>:<eventPattern>`.",
        ),
        may("action", Takes::Word(&["start", "cancel"]), "`start` unless said otherwise."),
        may(
            "filterCondition",
            Takes::Filter,
            "Only events of which this is true; knows `event` alone.",
        ),
        may(
            "inputMapping",
            Takes::InputMapping,
            "The input of the instance; without it `{eventId, \
             eventPattern, eventPayload}`.",
        ),
        may(
            "correlationKey",
            Takes::Filter,
            "Its value is the correlation id; without it, the event's.",
        ),
        may("enabled", Takes::Flag, "Whether it does anything; `true` unless said otherwise."),
        may("priority", Takes::Integer, "Those with a lower one come first."),
        may("description", Takes::Text, "What it is for."),
        may("debounce", Takes::Map(&DEBOUNCE), "Only the last of a burst starts an instance."),
        may("throttle", Takes::Map(&THROTTLE), "Only so many start in a period; the others wait."),
        may(
            "batch",
            Takes::Map(&BATCH),
            "Several events start one instance with the array of their inputs.",
        ),
    ],
};

const KEY: Spec =
    may("key", Takes::Filter, "Events with different values don't know of each other.");

const DEBOUNCE: Shape = Shape {
    name: "debounce",
    fields: &[
        must("period", Takes::Period, "How long it has to be quiet."),
        may("maxWait", Takes::Period, "No later than so long after the first."),
        KEY,
    ],
};

const THROTTLE: Shape = Shape {
    name: "throttle",
    fields: &[
        must("limit", Takes::Whole, "How many start in a period."),
        must("period", Takes::Period, "How long that is."),
        KEY,
    ],
};

const BATCH: Shape = Shape {
    name: "batch",
    fields: &[
        must("maxSize", Takes::Whole, "It starts when there are so many."),
        must("period", Takes::Period, "Or when the first has waited for so long."),
        KEY,
    ],
};

/// What steps do that don't say.
pub(crate) const DEFAULTS: Shape = Shape {
    name: "defaults",
    fields: &[
        may("retry", Takes::Map(&RETRY), "How often and when a failed step is tried again."),
        may("timeout", Takes::Duration, "How long an attempt may take."),
        may("waitTimeout", Takes::Duration, "How long a wait for an event lasts."),
    ],
};

/// How often and when a failed step is tried again.
pub(crate) const RETRY: Shape = Shape {
    name: "retry",
    fields: &[
        may(
            "maxAttempts",
            Takes::Count,
            "All tries, the first included; 3 unless said otherwise. A step \
             with 1 is not run again after a crash either.",
        ),
        may("delay", Takes::Duration, "Before the second; 1 second unless said otherwise."),
        may(
            "backoff",
            Takes::WordOrTemplate(BACKOFFS),
            "How the delay grows: `exponential`, or `constant` \
             when a `delay` is given. `fixed` is `constant`.",
        ),
        may("maxDelay", Takes::Duration, "No longer than this; 60 seconds unless said otherwise."),
        may("maxDuration", Takes::Duration, "Not after so long in all."),
    ],
};

/// What every step may have, beside what it does.
pub(crate) const STEP: Shape = Shape {
    name: "step",
    fields: &[
        must(
            "id",
            Takes::NewId,
            "Unique in the document, branches included: 1 to 200 bytes without `#`, `[`, \
             `]` and `.`. Expressions name it `steps.<id>`, or `steps[\"my-id\"]`.",
        ),
        may(
            "if",
            Takes::Expr,
            "Only if this is true. Skipped, its output is null and the next step of its \
             list follows.",
        ),
        may("retry", Takes::Map(&RETRY), "How often and when it is tried again."),
        may(
            "timeout",
            Takes::Duration,
            "How long an attempt may take, or all of the steps that it holds; how long a wait lasts that does not say.",
        ),
        may("next", Takes::StepId, "Where to go on; without it, at the next step of its list."),
        may(
            "onError",
            Takes::StepId,
            "Where to go on when it fails. After that step, at its `next`, else at \
             the step after the one that failed.",
        ),
        may("compensate", Takes::StepId, "The step that undoes it."),
    ],
};
