//! Workflows as documents: YAML or JSON, read, checked and run by one interpreter that is itself an
//! ordinary workflow.
//!
//! ```text
//!   text ──parse──▶ Tree (with positions) ──read + check──▶ Flow ──interpret──▶ steps of a Cx
//! ```

mod action;
mod check;
#[cfg(test)]
mod coverage;
mod declared;
mod equipment;
mod field;
mod finding;
mod fit;
mod flow;
mod flows;
mod format_schema;
mod http;
mod interpret;
mod limits;
mod problem;
mod read;
#[cfg(test)]
mod reference;
mod secret;
mod tool;
mod tree;

pub use action::Actions;
pub use equipment::Equipment;
pub use field::{Field, Unresolved};
pub use fit::{Fit, Misfit};
pub use flow::{
    Branch, Call, Case, Defaults, Emit, EventTaken, Fail, Flow, ForEach, GetOutput, Http, Kind,
    Mapped, Publish, Receive, RetryRule, Send, SendEvent, Sending, SetOutput, StartChild, Step,
    Tool, WaitForEvent, WaitForSignal,
};
pub use flows::{Flows, RegisterError, Registered};
pub use format_schema::format_schema;
pub use http::{
    AddressRule, AddressRuleError, AddressRules, HttpClient, HttpError, HttpRequest, HttpResponse,
    HttpSettings, HttpStream, Lookup,
};
pub use interpret::workflow;
pub use limits::Limits;
pub use problem::{Position, Problem, report};
pub use read::{parse, parse_within};
pub use secret::{
    EnvironmentSecrets, RedactedText, Redactor, Revealed, SecretError, Secrets, Vault, WithSecrets,
};
pub use tool::{ToolCall, ToolClient, ToolError};
