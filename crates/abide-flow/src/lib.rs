//! Workflows as documents: YAML or JSON, read, checked and run by one interpreter that is itself an
//! ordinary workflow.
//!
//! ```text
//!   text ──parse──▶ Tree (with positions) ──read + check──▶ Flow ──interpret──▶ steps of a Cx
//! ```

mod field;
mod flow;
mod http;
mod secret;
mod tool;

pub use field::{Field, Unresolved};
pub use flow::{
    Branch, Call, Case, Defaults, Emit, EventTaken, Fail, Flow, ForEach, GetOutput, Http, Kind,
    Mapped, Publish, Receive, RetryRule, Send, SendEvent, SetOutput, StartChild, Step, Tool,
    WaitForEvent, WaitForSignal,
};
pub use http::{
    AddressRule, AddressRuleError, AddressRules, HttpClient, HttpError, HttpRequest, HttpResponse,
    HttpSettings, HttpStream, Lookup,
};
pub use secret::{
    EnvironmentSecrets, RedactedText, Redactor, Revealed, SecretError, Secrets, Vault, WithSecrets,
};
pub use tool::{ToolCall, ToolClient, ToolError};
