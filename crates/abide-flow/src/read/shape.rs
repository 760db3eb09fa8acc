//! What the fields of the format are: names, and what each of them takes.
//!
//! The reader, the JSON Schema and the tables of `docs/yaml.md` all go by the same [`Shape`]s.

/// A map with known fields.
pub(crate) struct Shape {
    /// What it is called: `http`.
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Spec],
}

/// A field of a map.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    pub(crate) is_required: bool,
    pub(crate) about: &'static str,
}

/// What a field takes.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// A text that is the same for everybody.
    Text,
    /// A text, `${…}` in it.
    Template,
    Url,
    /// An expression on what the workflow knows.
    Expr,
    /// An expression that also knows `event`.
    Filter,
    Duration,
    /// A duration that is the same for everybody.
    Period,
    Moment,
    /// `start`, `now`, a moment or a duration.
    Since,
    /// A whole number from 1, or a template.
    Count,
    /// A whole number from 0.
    Whole,
    /// A whole number.
    Integer,
    Flag,
    /// Anything, `${…}` in it.
    Value,
    /// The same, made after the last step.
    Outcome,
    /// A map of anything, `${…}` in it; or one `${…}`.
    Members,
    /// The same, made before the first step runs.
    Context,
    /// A map of anything, `${…}` in it.
    Variables,
    /// One of these.
    Word(&'static [&'static str]),
    /// One of these, or a template.
    WordOrTemplate(&'static [&'static str]),
    /// The id that a step gets.
    NewId,
    /// The id of a step.
    StepId,
    Schema,
    EventType,
    Pattern,
    /// One pattern or several.
    Patterns,
    /// Variables and what each gets of an event.
    Mapping,
    /// What an instance gets of the event that starts it.
    InputMapping,
    /// A map with known fields.
    Map(&'static Shape),
    /// A map of any names, each with such a map.
    MapOf(&'static Shape),
    ListOf(&'static Shape),
    /// Steps, one after the other.
    Steps,
    /// Steps; a list of them is a phase.
    Phases,
    /// Lists of steps.
    Branches,
    /// A list of steps that each are a branch.
    Racers,
}

impl Spec {
    pub(super) const fn new(name: &'static str, takes: Takes, about: &'static str) -> Self {
        Self { name, takes, is_required: false, about }
    }

    pub(super) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }
}

impl Shape {
    pub(crate) fn field(&self, name: &str) -> Option<&'static Spec> {
        self.fields.iter().find(|spec| spec.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|spec| spec.name)
    }
}

impl Takes {
    /// What is wanted, in words.
    pub(crate) fn wanted(self) -> String {
        let plain = match self {
            Self::Text => "a text",
            Self::Template => "a text or `${…}`",
            Self::Url => "a URL",
            Self::Expr | Self::Filter => "an expression",
            Self::Duration => "a duration such as `5 minutes`, or milliseconds",
            Self::Moment => "a moment such as `2026-01-31T12:00:00Z`, or unix milliseconds",
            Self::Since => "`start`, `now`, a moment, a duration or milliseconds",
            Self::Count => "a whole number from 1, or `${…}`",
            Self::Whole => "a whole number from 0",
            Self::Integer => "a whole number",
            Self::Flag => "`true` or `false`",
            Self::Value | Self::Outcome => "anything",
            Self::Members | Self::Context => "a map, or `${…}`",
            Self::Variables => "a map",
            Self::Period => "a duration such as `5 minutes`",
            Self::NewId => "an id",
            Self::StepId => "the id of a step",
            Self::Schema => "a JSON Schema",
            Self::EventType => "an event type",
            Self::Pattern => "an event pattern",
            Self::Patterns => "an event pattern, or a list of them",
            Self::Mapping => "a map of variables to paths in the payload, `${…}` or values",
            Self::InputMapping => "paths in the payload, `${…}` or values",
            Self::Steps => "a list of steps",
            Self::Phases => "a list of steps",
            Self::Branches => "a list of branches, each a list of steps",
            Self::Racers => "a list of steps",
            Self::Word(words) => return words.join(", "),
            Self::WordOrTemplate(words) => return format!("{}, or `${{…}}`", words.join(", ")),
            Self::Map(shape) => return format!("a map: {}", shape.list()),
            Self::MapOf(shape) => return format!("a map of names to maps: {}", shape.list()),
            Self::ListOf(shape) => return format!("a list of maps: {}", shape.list()),
        };
        plain.to_owned()
    }
}

impl Shape {
    fn list(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }
}
