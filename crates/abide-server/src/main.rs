//! `abide`, the one binary.
//!
//! Parses the command line, sets up what every command shares (allocator, logging, Ctrl-C) and
//! turns whatever went wrong into one line and an exit code.

mod allocator;
mod bench;
mod cli;
mod client;
mod completions;
mod config;
mod demo;
mod dev;
mod documents;
mod error;
mod host;
mod log;
mod paint;
mod serve;
mod stop;
mod store_at;
mod tell;
mod validate;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::error::Error;
use crate::stop::Stop;

fn main() -> ExitCode {
    allocator::apply_settings();
    obey()
}

#[tokio::main]
async fn obey() -> ExitCode {
    let command = Cli::parse().command;
    match &command {
        Command::Serve(_) => log::for_machines(),
        _ => log::for_people(),
    }
    let outcome = if command.is_server() {
        Box::pin(run(command)).await
    } else {
        let mut stop = Stop::new();
        // Dropping the command's future removes its temporary files and ends its child processes.
        tokio::select! {
            outcome = Box::pin(run(command)) => outcome,
            () = stop.asked() => Err(Error::Interrupted),
        }
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

async fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Dev(args) => dev::run(args).await,
        Command::Serve(args) => serve::run(args).await,
        Command::Client(command) => command.run().await,
        Command::Completions(args) => completions::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Demo(args) => demo::run(args).await,
        Command::DemoWorker(args) => demo::work(&args.dir).await,
        Command::Bench(args) => bench::run(args).await,
        Command::Validate(args) => validate::run(&args),
        Command::BenchProbe(args) => bench::probe(&args).await,
        Command::BenchServer { file } => bench::serve(&file).await,
    }
}
