//! `docs/configuration.md`, kept in step with the table that the reader goes by.
//!
//! `ABIDE_BLESS=1 cargo test -p abide-server --bin abide` writes it anew.

use std::fs;
use std::path::PathBuf;

use super::Configuration;
use super::table::{SETTINGS, TABLES};

const BEGIN: &str = "<!-- settings -->\n";
const END: &str = "<!-- end -->";

fn tables() -> String {
    let (mut text, mut shipped) = (String::new(), Configuration::default());
    for (table, about) in TABLES {
        text += &format!(
            "\n### `[{table}]`\n\n{about}\n\n| key | takes | default | |\n|---|---|---|---|\n"
        );
        for setting in SETTINGS.iter().filter(|setting| setting.parts().0 == *table) {
            let default = setting.takes.show(&mut shipped);
            let (key, wanted, about) = (setting.parts().1, setting.takes.wanted(), setting.about);
            text += &format!("| `{key}` | {wanted} | `{default}` | {about} |\n");
        }
    }
    text
}

#[test]
fn every_setting_is_in_the_docs_as_the_reader_has_it() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let kept = fs::read_to_string(&path).unwrap();
    let (before, after) = kept.split_once(BEGIN).unwrap();
    let (_, after) = after.split_once(END).unwrap();
    let text = format!("{before}{BEGIN}{}\n{END}{after}", tables());
    if std::env::var_os("ABIDE_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    } else {
        let how = "ABIDE_BLESS=1 cargo test -p abide-server --bin abide";
        assert!(kept == text, "docs/configuration.md is stale; run {how}");
    }
}

/// Every name that a file of settings documents: `residency.idle` of "/// `residency.idle`: how long …".
fn names_in(file: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = fs::read_to_string(&path).unwrap();
    let documented = text.lines().filter_map(|line| line.trim().strip_prefix("/// `"));
    documented.filter_map(|line| Some(line.split_once("`:")?.0.to_owned())).collect()
}

#[test]
fn whatever_the_engine_and_the_server_let_set_can_be_set() {
    let mut names = names_in("../abide/src/config.rs");
    names.extend(names_in("src/settings.rs"));
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(super::table::find(&name).is_some(), "{name} can't be set");
    }
}
