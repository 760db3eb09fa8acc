//! Values on the command line: JSON, `@file`, or `-` for what comes in.

use std::fs;
use std::io::Read;

use serde_json::value::RawValue;

use crate::error::Error;

/// How arguments name it in their help.
pub(super) const FORM: &str = "JSON|@FILE|-";

/// Reads a value. It is passed on as it was written.
pub(super) fn read(written: &str) -> Result<Box<RawValue>, Error> {
    let (what, text) = match written.strip_prefix('@') {
        Some(file) => (file, fs::read_to_string(file).map_err(Error::io(file))?),
        None if written == "-" => {
            let mut text = String::new();
            let mut input = std::io::stdin().lock();
            input.read_to_string(&mut text).map_err(Error::io("standard input"))?;
            ("standard input", text)
        }
        None => (written, written.to_owned()),
    };
    RawValue::from_string(text.trim().to_owned()).map_err(|wrong| {
        let hint = if written.starts_with(|c: char| c.is_alphabetic()) {
            "; a text needs quotes of its own: '\"text\"'"
        } else {
            ""
        };
        Error::Refused(format!("{what} is not JSON: {wrong}{hint}"))
    })
}

/// The same for what may be left out.
pub(super) fn read_if_any(written: Option<&str>) -> Result<Option<Box<RawValue>>, Error> {
    written.map(read).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_passed_on_as_they_were_written() {
        for text in ["{\"a\": 1.0}", "12345678901234567890123", "null", "\"x\""] {
            assert_eq!(read(text).unwrap().get(), text);
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("input.json");
        std::fs::write(&file, "[1]\n").unwrap();
        assert_eq!(read(&format!("@{}", file.display())).unwrap().get(), "[1]");
    }

    #[test]
    fn what_is_no_json_says_how_to_write_it() {
        let wrong = read("hello").unwrap_err().to_string();
        assert!(wrong.contains("hello is not JSON") && wrong.contains("quotes"), "{wrong}");
        assert!(read("@missing.json").unwrap_err().to_string().contains("missing.json"));
    }
}
