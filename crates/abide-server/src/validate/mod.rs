//! `abide validate`: everything that is wrong with workflow documents, before anybody runs them, and
//! what they would mean for instances that run.

mod running;

use std::fs;
use std::io::Write;

use abide_sqlite::Look;
use serde_json::json;

use crate::cli::ValidateArgs;
use crate::error::Error;

/// Checks every file and tells about all of them.
pub(crate) fn run(args: &ValidateArgs) -> Result<(), Error> {
    let look = match args.against_running {
        true => Some(Look::open(&args.store.file)?),
        false => None,
    };
    let mut out = std::io::stdout().lock();
    let (mut wrong, mut told) = (0, Vec::new());
    for file in &args.files {
        let shown = file.display().to_string();
        let text = fs::read_to_string(file).map_err(Error::io(shown.as_str()))?;
        let (flow, problems) = match abide_flow::parse(&text) {
            Ok(flow) => (Some(flow), Vec::new()),
            Err(problems) => (None, problems),
        };
        wrong += problems.len();
        let running = match (&look, &flow) {
            (Some(look), Some(flow)) => Some(running::survey(look, flow, &text)?),
            _ => None,
        };
        if args.json {
            let mut file = json!({ "file": shown, "problems": problems });
            if let Some(running) = running {
                file["running"] = serde_json::to_value(running)?;
            }
            told.push(file);
            continue;
        }
        let report = match problems.is_empty() {
            true => format!("{shown}: ok\n"),
            false => abide_flow::report(&shown, &text, &problems),
        };
        let running = running.map(|running| running.table()).unwrap_or_default();
        write!(out, "{report}{running}").map_err(told_out)?;
    }
    if args.json {
        writeln!(out, "{}", json!({ "files": told })).map_err(told_out)?;
    }
    if wrong > 0 {
        return Err(Error::Invalid { problems: wrong });
    }
    Ok(())
}

fn told_out(error: std::io::Error) -> Error {
    Error::io("standard output")(error)
}
