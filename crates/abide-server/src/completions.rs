//! `abide completions`.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::error::Error;

/// Arguments of `abide completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  abide completions bash > /etc/bash_completion.d/abide
  abide completions zsh > \"${fpath[1]}/_abide\"")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints what the shell has to read.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Error> {
    use std::io::Write;
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "abide", &mut script);
    std::io::stdout().write_all(&script).map_err(Error::io("standard output"))
}
