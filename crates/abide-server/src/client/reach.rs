//! Which server a command talks to, and how its answer is shown.

use clap::Args;

/// What every command that talks to a server takes, before or behind its subcommand if it has some.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Reach {
    /// Where the server is
    #[arg(long, env = "ABIDE_URL", default_value = "http://127.0.0.1:7878", value_name = "URL")]
    #[arg(global = true)]
    pub(super) url: String,
    /// What it asks for, when it asks for a token
    #[arg(long, env = "ABIDE_TOKEN", hide_env_values = true, value_name = "TOKEN", global = true)]
    pub(super) token: Option<String>,
    /// The server's JSON, untouched, instead of text
    #[arg(long, global = true)]
    pub(super) json: bool,
}
