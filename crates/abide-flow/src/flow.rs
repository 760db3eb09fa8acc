//! A workflow document, read and checked: what the interpreter runs.
//!
//! A [`Field`] may hold templates; it is rendered when its step runs.

use std::sync::Arc;

use abide::expr::Expr;
use abide::{Buffer, OnTerminal, Trigger};
use serde_json::Value;

use crate::field::Field;

/// A workflow document.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The name of the workflow.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// A JSON Schema of its input.
    pub input: Option<Value>,
    /// What `workflow.context` begins as; without it, the input.
    pub context: Option<Field>,
    /// The addressed events that it takes. None declared: any.
    pub events: Vec<EventTaken>,
    /// What starts or cancels it.
    pub triggers: Vec<Trigger>,
    /// What it does.
    pub steps: Vec<Arc<Step>>,
    /// Steps that are reached only by name.
    pub handlers: Vec<Arc<Step>>,
    /// What it comes to.
    pub output: Option<Field>,
    /// What steps do that don't say.
    pub defaults: Defaults,
}

/// An addressed event that a workflow takes.
#[derive(Clone, Debug)]
pub struct EventTaken {
    /// Its type.
    pub event_type: String,
    /// A JSON Schema of its payload.
    pub schema: Option<Value>,
    /// What happens to it when nobody waits.
    pub buffer: Buffer,
}

/// What steps do that don't say.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// How often to try.
    pub retry: Option<RetryRule>,
    /// How long an attempt may take.
    pub timeout: Option<Field>,
    /// How long a wait for an event lasts.
    pub wait_timeout: Option<Field>,
}

/// How often and when a failed step is tried again; see [`abide::Retry`].
#[derive(Clone, Debug, Default)]
pub struct RetryRule {
    /// All tries, the first included.
    pub max_attempts: Option<Field>,
    /// Before the second.
    pub delay: Option<Field>,
    /// `constant`, `linear` or `exponential`.
    pub backoff: Option<Field>,
    /// No longer than this.
    pub max_delay: Option<Field>,
    /// Not after so long in all.
    pub max_duration: Option<Field>,
}

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its id, unique in the document.
    pub id: Arc<str>,
    /// What it does.
    pub kind: Kind,
    /// Only if this is true; skipped, its output is null.
    pub condition: Option<Expr>,
    /// How often to try.
    pub retry: Option<RetryRule>,
    /// How long an attempt may take.
    pub timeout: Option<Field>,
    /// Where to go on; without it, at the next one of its list.
    pub next: Option<Arc<str>>,
    /// Where to go on when it fails.
    pub on_error: Option<Arc<str>>,
    /// The step that undoes it.
    pub compensate: Option<Arc<str>>,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Calls a URL.
    Http(Box<Http>),
    /// Sleeps for a duration.
    Sleep(Field),
    /// Sleeps until a moment: ISO-8601 text or unix milliseconds.
    SleepUntil(Field),
    /// Waits for one event or several.
    WaitForEvent(Box<WaitForEvent>),
    /// Waits for a signal.
    WaitForSignal(WaitForSignal),
    /// Waits for a message.
    Receive(Receive),
    /// Sends a message.
    Send(Send),
    /// Sends an event to an instance.
    SendEvent(SendEvent),
    /// Publishes an event.
    Publish(Publish),
    /// Sets an output.
    SetOutput(SetOutput),
    /// Waits for an output of another instance.
    GetOutput(GetOutput),
    /// Tells those who watch.
    Emit(Emit),
    /// Sets variables of `workflow.context`.
    Set(Vec<(String, Field)>),
    /// Calls a function of the program.
    Call(Call),
    /// Calls a tool of an MCP server.
    Tool(Tool),
    /// Branches at the same time.
    Parallel(Vec<Branch>),
    /// The first of these to finish decides.
    Race(Vec<Arc<Step>>),
    /// The same for every item.
    ForEach(ForEach),
    /// Goes where the first true case says.
    Switch(Vec<Case>),
    /// Runs another workflow.
    Workflow(StartChild),
    /// Ends the workflow with a value.
    Return(Field),
    /// Ends the workflow with an error.
    Fail(Fail),
}

impl Kind {
    /// What documents call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Sleep(_) => "sleep",
            Self::SleepUntil(_) => "sleepUntil",
            Self::WaitForEvent(_) => "waitForEvent",
            Self::WaitForSignal(_) => "waitForSignal",
            Self::Receive(_) => "receive",
            Self::Send(_) => "send",
            Self::SendEvent(_) => "sendEvent",
            Self::Publish(_) => "publish",
            Self::SetOutput(_) => "setOutput",
            Self::GetOutput(_) => "getOutput",
            Self::Emit(_) => "emit",
            Self::Set(_) => "set",
            Self::Call(_) => "call",
            Self::Tool(_) => "tool",
            Self::Parallel(_) => "parallel",
            Self::Race(_) => "race",
            Self::ForEach(_) => "forEach",
            Self::Switch(_) => "switch",
            Self::Workflow(_) => "workflow",
            Self::Return(_) => "return",
            Self::Fail(_) => "fail",
        }
    }
}

/// Steps one after the other, beside others.
pub type Branch = Vec<Arc<Step>>;

/// Calls a URL.
#[derive(Clone, Debug)]
pub struct Http {
    /// `GET` unless said otherwise.
    pub method: Option<Field>,
    /// Where.
    pub url: Field,
    /// Added to the URL.
    pub query: Option<Field>,
    /// Sent along.
    pub headers: Option<Field>,
    /// JSON, or a text as it is.
    pub body: Option<Field>,
    /// Whether the answer is a stream that is shown while it comes.
    pub stream: bool,
    /// How many redirects to follow; none unless said otherwise.
    pub follow_redirects: u32,
}

/// Waits for one event or several.
#[derive(Clone, Debug)]
pub struct WaitForEvent {
    /// Which types; without any, the id of the step.
    pub patterns: Vec<Field>,
    /// Which of them.
    pub filter: Option<Expr>,
    /// For how long.
    pub timeout: Option<Field>,
    /// Until when.
    pub timeout_at: Option<Field>,
    /// Where to go on when nothing came.
    pub timeout_handler: Option<Arc<str>>,
    /// What of the payload goes into `workflow.context`.
    pub mapping: Vec<(String, Mapped)>,
    /// So many.
    pub count: Option<Field>,
    /// Only one of each value of this.
    pub distinct_by: Option<Expr>,
    /// `start`, `now`, a moment or a duration.
    pub since: Option<Field>,
}

/// What a variable gets from an event.
#[derive(Clone, Debug)]
pub enum Mapped {
    /// What is at this dotted path of the payload, or null.
    Path(String),
    /// What this makes of `event` and everything else that is known.
    Field(Field),
}

/// Waits for a signal.
#[derive(Clone, Debug)]
pub struct WaitForSignal {
    /// Which.
    pub name: Field,
    /// For how long.
    pub timeout: Option<Field>,
}

/// Waits for a message.
#[derive(Clone, Debug)]
pub struct Receive {
    /// On which topic.
    pub topic: Field,
    /// For how long.
    pub timeout: Option<Field>,
}

/// Sends a message.
#[derive(Clone, Debug)]
pub struct Send {
    /// To which instance.
    pub to: Field,
    /// On which topic.
    pub topic: Field,
    /// What.
    pub payload: Option<Field>,
    /// How.
    pub sending: Sending,
}

/// Sends an event to an instance.
#[derive(Clone, Debug)]
pub struct SendEvent {
    /// To which instance.
    pub to: Field,
    /// Of which type.
    pub event_type: Field,
    /// What.
    pub payload: Option<Field>,
    /// How.
    pub sending: Sending,
}

/// How something is sent to an instance.
#[derive(Clone, Debug, Default)]
pub struct Sending {
    /// Its id; without one, that of the step.
    pub id: Option<Field>,
    /// What happens when the instance has ended.
    pub on_terminal: OnTerminal,
    /// Not seen before this moment.
    pub visible_at: Option<Field>,
    /// Not seen for so long.
    pub delay: Option<Field>,
}

/// Publishes an event.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Of which type.
    pub event_type: Field,
    /// What.
    pub payload: Option<Field>,
    /// What it is about.
    pub subject: Option<Field>,
    /// What it belongs to.
    pub correlation_id: Option<Field>,
}

/// Sets an output.
#[derive(Clone, Debug)]
pub struct SetOutput {
    /// Which.
    pub key: Field,
    /// To what.
    pub value: Field,
}

/// Waits for an output of another instance.
#[derive(Clone, Debug)]
pub struct GetOutput {
    /// Whose.
    pub from: Field,
    /// Which.
    pub key: Field,
    /// For how long.
    pub timeout: Option<Field>,
}

/// Tells those who watch.
#[derive(Clone, Debug)]
pub struct Emit {
    /// What it is called.
    pub name: Field,
    /// What.
    pub data: Option<Field>,
}

/// Calls a function of the program.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which.
    pub action: Field,
    /// With what.
    pub input: Option<Field>,
}

/// Calls a tool of an MCP server.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The URL of the server.
    pub server: Option<Field>,
    /// Which tool.
    pub name: Option<Field>,
    /// With what.
    pub arguments: Option<Field>,
    /// Sent along with every request.
    pub headers: Option<Field>,
}

/// The same for every item.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// The items.
    pub items: Field,
    /// What the item is called; `item` unless said otherwise.
    pub name: String,
    /// How many at the same time; all unless said otherwise.
    pub concurrency: Option<Field>,
    /// What to do.
    pub steps: Branch,
}

/// One way to go on.
#[derive(Clone, Debug)]
pub struct Case {
    /// If this is true; always without one.
    pub when: Option<Expr>,
    /// To this step.
    pub next: Arc<str>,
}

/// Runs another workflow.
#[derive(Clone, Debug)]
pub struct StartChild {
    /// Which.
    pub name: Field,
    /// With what.
    pub input: Option<Field>,
    /// Under this id.
    pub id: Option<Field>,
    /// Without waiting for its end.
    pub detached: bool,
}

/// Ends the workflow with an error.
#[derive(Clone, Debug)]
pub struct Fail {
    /// Its code.
    pub code: Field,
    /// What people read.
    pub message: Option<Field>,
}
