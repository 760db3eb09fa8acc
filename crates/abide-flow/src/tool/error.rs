//! Why a tool step has no result.

use abide::Failure;
use serde_json::json;

use crate::http::HttpError;

/// Why a call of a tool has no result. No text in it contains a secret that was read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The step names no server, or no tool.
    #[error("Tool step missing tool configuration")]
    NotConfigured,
    /// The server can't be reached, or refused the request.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// What the server answered is not the protocol.
    #[error("{request}: {message}")]
    Protocol {
        /// What was asked.
        request: String,
        /// What came instead.
        message: String,
    },
    /// The server refused the message.
    #[error("{request}: the server refused {method}: {message} ({code})")]
    Refused {
        /// What was asked.
        request: String,
        /// The message it refused.
        method: String,
        /// The code of JSON-RPC.
        code: i64,
        /// What it said.
        message: String,
    },
    /// The tool says that it failed.
    #[error("tool {tool:?} failed: {message}")]
    Failed {
        /// Which.
        tool: String,
        /// What it said.
        message: String,
    },
}

impl ToolError {
    /// Whether the same call may succeed later. A tool that failed does not say; it is tried again as
    /// often as its step allows.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NotConfigured | Self::Protocol { .. } => false,
            Self::Http(error) => error.is_retryable(),
            // Parse error, invalid request, unknown method or tool, invalid arguments.
            Self::Refused { code, .. } => !matches!(code, -32700 | -32600 | -32601 | -32602),
            Self::Failed { .. } => true,
        }
    }

    /// What is recorded.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let failure = |code| Failure::new(code, self.to_string());
        match self {
            Self::NotConfigured => failure("VALIDATION_ERROR"),
            Self::Http(error) => error.failure(),
            Self::Protocol { .. } => failure("STEP_FAILED"),
            Self::Refused { code, .. } => {
                failure("STEP_FAILED").with_details(&json!({ "rpcCode": code }))
            }
            Self::Failed { tool, .. } => {
                failure("STEP_FAILED").with_details(&json!({ "tool": tool }))
            }
        }
    }
}
