//! Commands that talk to a server. One file per command, or per family of commands.

mod api;
mod buffer;
mod control;
mod events;
mod explain;
mod history;
mod list;
mod nodes;
mod outcome;
mod output;
mod payload;
mod publish;
mod reach;
mod record;
mod register;
mod screen;
mod send;
mod show;
mod sinks;
mod sse;
mod start;
mod subscriptions;
mod token;
mod watch;
mod workflows;

use clap::Subcommand;

use crate::error::Error;

/// What to ask a server for.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Start an instance of a workflow
    Start(start::StartArgs),
    /// Send an event to an instance
    Send(send::SendArgs),
    /// Send a signal to an instance
    Signal(send::SignalArgs),
    /// Send a message to an instance
    Message(send::MessageArgs),
    /// Publish an event to whoever wants it
    Publish(publish::PublishArgs),
    /// List instances, newest first
    List(list::ListArgs),
    /// Show an instance: its steps, what it waits for and what it nearly took
    Show(show::ShowArgs),
    /// Follow an instance as it goes, until it ends
    Watch(watch::WatchArgs),
    /// Show what an instance came to
    Result(outcome::ResultArgs),
    /// Show what happened to an instance
    History(history::HistoryArgs),
    /// Show what was sent to an instance and not taken yet
    Buffer(buffer::BufferArgs),
    /// Show the outputs of an instance, or one of them
    Output(output::OutputArgs),
    /// Let an instance begin nothing more until it is resumed
    Pause(control::PauseArgs),
    /// Let a paused instance go on
    Resume(control::ResumeArgs),
    /// End an instance for good
    Terminate(control::TerminateArgs),
    /// Run an instance again, from the beginning or from a step
    Restart(control::RestartArgs),
    /// Have an instance looked at
    Wake(control::WakeArgs),
    /// Tell why a published event did or did not reach an instance
    Explain(explain::ExplainArgs),
    /// List what was published, the newest last
    Events(events::EventsArgs),
    /// List who waits for what
    Subscriptions(subscriptions::SubscriptionsArgs),
    /// List workflows
    Workflows(workflows::WorkflowsArgs),
    /// Register workflow documents
    Register(register::RegisterArgs),
    /// List the processes that run instances
    Nodes(nodes::NodesArgs),
    /// List the sinks that are told what happens; pause, resume and replay them
    Sinks(sinks::SinksArgs),
    /// Make tokens
    Token(token::TokenArgs),
}

impl ClientCommand {
    pub(crate) async fn run(self) -> Result<(), Error> {
        match self {
            Self::Start(args) => args.run().await,
            Self::Send(args) => args.run().await,
            Self::Signal(args) => args.run().await,
            Self::Message(args) => args.run().await,
            Self::Publish(args) => args.run().await,
            Self::List(args) => args.run().await,
            Self::Show(args) => args.run().await,
            Self::Watch(args) => args.run().await,
            Self::Result(args) => args.run().await,
            Self::History(args) => args.run().await,
            Self::Buffer(args) => args.run().await,
            Self::Output(args) => args.run().await,
            Self::Pause(args) => args.run().await,
            Self::Resume(args) => args.run().await,
            Self::Terminate(args) => args.run().await,
            Self::Restart(args) => args.run().await,
            Self::Wake(args) => args.run().await,
            Self::Explain(args) => args.run().await,
            Self::Events(args) => args.run().await,
            Self::Subscriptions(args) => args.run().await,
            Self::Workflows(args) => args.run().await,
            Self::Register(args) => args.run().await,
            Self::Nodes(args) => args.run().await,
            Self::Sinks(args) => args.run().await,
            Self::Token(args) => args.run().await,
        }
    }
}

/// An id chosen before the first try, so that the server knows a second one.
fn new_id(prefix: &str) -> String {
    use abide::Clock;
    format!("{prefix}_{}", abide::SystemClock::default().uuid().simple())
}
