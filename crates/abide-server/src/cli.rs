//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::client::ClientCommand;
use crate::completions::CompletionsArgs;
use crate::config::ConfigArgs;
use crate::dev::DevArgs;
use crate::serve::ServeArgs;
use crate::store_at::StoreAt;

/// Durable workflows: ordinary code that survives crashes, deploys and a month of waiting.
#[derive(Debug, Parser)]
#[command(
    name = "abide",
    version,
    arg_required_else_help = true,
    after_help = "Try `abide dev examples/flows` first, or `abide demo`: it kills a running workflow and shows it \
                  survive.\n\
                  Commands that talk to a server find it by --url or ABIDE_URL, and take --json.\n\
                  Logging goes to stderr; ABIDE_LOG or RUST_LOG choose what (default: warn)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a server for writing workflows: reads documents again when they change, shows what happens
    Dev(DevArgs),
    /// Run a server until it is asked to stop
    Serve(ServeArgs),
    #[command(flatten)]
    Client(ClientCommand),
    /// Look at a configuration
    Config(ConfigArgs),
    /// Watch a workflow survive a real kill (takes about 8 seconds)
    Demo(DemoArgs),
    /// Measure this machine, then Abide on it
    Bench(BenchArgs),
    /// Check workflow documents: every problem at once, with its place and what was meant
    Validate(ValidateArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// The process that `demo` kills.
    #[command(hide = true)]
    DemoWorker(DemoWorkerArgs),
    /// The process that `bench` measures in.
    #[command(hide = true)]
    BenchProbe(BenchProbeArgs),
    /// The server that `bench http` measures.
    #[command(hide = true)]
    BenchServer {
        /// The database.
        file: PathBuf,
    },
}

impl Command {
    /// Whether it stops in order by itself when it is asked to.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Dev(_))
    }
}

/// Arguments of `abide validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// YAML or JSON documents
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Also tell how many of the instances that run older versions could go on with the documents,
    /// and what stands in the way of the others
    #[arg(long)]
    pub(crate) against_running: bool,
    /// The database of those instances; a server may be using it
    #[arg(long, value_name = "sqlite:FILE", default_value = "sqlite:abide.db")]
    #[arg(requires = "against_running")]
    pub(crate) store: StoreAt,
    /// JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `abide demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the database and the log of effects in this directory (default: a temporary one)
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Arguments of the hidden worker of the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoWorkerArgs {
    pub(crate) dir: PathBuf,
}

/// Arguments of `abide bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
Two yardsticks of the machine are measured first, on plain SQLite with the same durability: how \
long one commit of one small row takes, and how many rows a second go in at 100 a transaction. \
Every figure is shown beside its ratio to them, because absolute figures say more about a disk \
than about Abide. Targets that are missed are marked; they do not change the exit code.

Examples:
  abide bench steps
  abide bench steps --in-flight 64 --seconds 10 --repeat 3
  abide bench flow --repeat 3
  abide bench parked --instances 10000
  abide bench events --repeat 3
  abide bench wake --instances 10000
  abide bench match --instances 1000000
  abide bench all --json > figures.json")]
pub(crate) struct BenchArgs {
    /// What to measure
    #[arg(value_enum)]
    pub(crate) workload: Workload,
    /// Where the database goes: a file that does not exist yet, removed afterwards
    #[arg(long, value_name = "sqlite:FILE", conflicts_with = "dir")]
    pub(crate) store: Option<StoreAt>,
    /// Directory for the temporary database; choose one on the disk to be measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// steps, flow, tracker: how many instances at once, one measurement for each [default: steps
    /// 1,64,256,1024, flow and tracker 64]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = positive)]
    pub(crate) in_flight: Vec<usize>,
    /// steps, flow, events: how long to measure [default: 5]; wake, match: how long before the storm
    /// [default: 5]; timers: over how long they fall due [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,
    /// steps, flow, events: measure so many instead of a time; events: so many evicted; timers, parked,
    /// wake, match: so many [default: 100000]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) instances: Option<usize>,
    /// Measure everything so often and show medians
    #[arg(long, value_name = "N", default_value = "1", value_parser = positive)]
    pub(crate) repeat: usize,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Throughput and latency of a workflow of 5 trivial steps, and the cost of a 10 000th step
    Steps,
    /// A document of 5 `set` steps against the same workflow in Rust
    Flow,
    /// How soon an event takes effect: alone, with 64 in flight, and on one instance among very many
    Events,
    /// 100 000 instances woken at once by events, and 100 000 deadlines that pass at once
    Wake,
    /// Publishing by content: the index alone, one event among very many that wait, and one that
    /// wakes 100 000
    Match,
    /// The same through the API: rate, delay of streams, what idle readers cost
    Http,
    /// The same steps with a tracker whose sink hangs, against none
    Tracker,
    /// How late sleepers wake
    Timers,
    /// What instances that wait cost, and how soon an engine is ready among them
    Parked,
    /// Everything
    All,
}

/// Arguments of a hidden measuring process.
#[derive(Debug, Args)]
pub(crate) struct BenchProbeArgs {
    /// The database.
    pub(crate) file: PathBuf,
    /// What to measure, as JSON.
    pub(crate) probe: String,
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("write a whole number above zero".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("write seconds above zero and at most a day, like 5 or 0.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
