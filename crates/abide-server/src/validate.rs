//! `abide validate`: everything that is wrong with workflow documents, before anybody runs them.

use std::fs;
use std::io::Write;

use serde_json::json;

use crate::cli::ValidateArgs;
use crate::error::Error;

/// Checks every file and tells about all of them.
pub(crate) fn run(args: &ValidateArgs) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let (mut wrong, mut told) = (0, Vec::new());
    for file in &args.files {
        let shown = file.display().to_string();
        let text = fs::read_to_string(file).map_err(Error::io(shown.as_str()))?;
        let problems = abide_flow::parse(&text).err().unwrap_or_default();
        wrong += problems.len();
        if args.json {
            told.push(json!({ "file": shown, "problems": problems }));
        } else if problems.is_empty() {
            writeln!(out, "{shown}: ok").map_err(told_out)?;
        } else {
            let report = abide_flow::report(&shown, &text, &problems);
            write!(out, "{report}").map_err(told_out)?;
        }
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
