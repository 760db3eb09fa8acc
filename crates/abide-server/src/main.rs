//! `abide`, the one binary.
//!
//! Parses the command line, sets up what every command shares (allocator, logging, Ctrl-C) and
//! turns whatever went wrong into one line and an exit code.

mod allocator;
mod bench;
mod cli;
mod demo;
mod error;
mod paint;
mod validate;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, Command};
use crate::error::Error;

fn main() -> ExitCode {
    allocator::apply_settings();
    serve()
}

#[tokio::main]
async fn serve() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr();
    // Dropping the command's future removes its temporary files and ends its child processes.
    let outcome = tokio::select! {
        outcome = Box::pin(run(cli.command)) => outcome,
        () = asked_to_stop() => Err(Error::Interrupted),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("abide: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Ctrl-C, or the polite signal of whoever supervises this process.
async fn asked_to_stop() {
    #[cfg(unix)]
    if let Ok(mut terminate) =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}

async fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Demo(args) => demo::run(args).await,
        Command::DemoWorker(args) => demo::work(&args.dir).await,
        Command::Bench(args) => bench::run(args).await,
        Command::Validate(args) => validate::run(&args),
        Command::BenchProbe(args) => bench::probe(&args).await,
        Command::BenchServer { file } => bench::serve(&file).await,
    }
}

/// `ABIDE_LOG`, else `RUST_LOG`, else warnings.
fn log_to_stderr() {
    let filter = ["ABIDE_LOG", "RUST_LOG"]
        .iter()
        .find_map(|name| EnvFilter::try_from_env(name).ok())
        .unwrap_or_else(|| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
