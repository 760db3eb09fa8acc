//! What somebody who has just started it wants to know.

use serde_json::Value;

use super::follow::say;
use super::sample;
use super::shelf::Read;
use crate::config::Configuration;
use crate::error::Error;
use crate::host::Host;
use crate::paint::Paint;

/// Addresses, workflows, and how to start the first one.
pub(super) fn print(
    host: &Host,
    set: &Configuration,
    registry: &[Read],
    paint: Paint,
) -> Result<(), Error> {
    let url = host.url();
    let version = env!("CARGO_PKG_VERSION");
    say(&paint.bold(&format!("abide {version}, ready")))?;
    say(&format!("  API        {url}/v1"))?;
    say(&format!("  docs       {url}/docs"))?;
    say(&format!("  dashboard  {url}/"))?;
    say(&format!("  store      {}", set.store))?;
    let named = |read: &Read| format!("{} v{}", read.registered.name, read.registered.version);
    let names: Vec<String> = registry.iter().map(named).collect();
    let listed = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
    say(&format!("  workflows  {listed}"))?;
    let Some(first) = registry.first() else {
        return say(
            "\nWrite a document into one of the directories and it is read. See docs/yaml.md.\n",
        );
    };
    let name = &first.registered.name;
    let input = sample_of(first);
    say("\nStart one:")?;
    let at = format!("{url}/v1/workflows/{name}/instances");
    let body = serde_json::json!({ "input": input });
    say(&format!("  curl {at} -H 'content-type: application/json' -d '{}'", quoted(&body)))?;
    say(&format!("  abide start {name} --input '{}'{}\n", quoted(&input), elsewhere(&url)))
}

/// What the command line has to be told when the server is not where it looks by default.
fn elsewhere(url: &str) -> String {
    if url == "http://127.0.0.1:7878" { String::new() } else { format!(" --url {url}") }
}

fn sample_of(read: &Read) -> Value {
    let text = std::fs::read_to_string(&read.file).unwrap_or_default();
    let schema = abide_flow::parse(&text).ok().and_then(|flow| flow.input);
    schema.map_or_else(|| serde_json::json!({}), |schema| sample::of(&schema))
}

/// For a shell, between single quotes.
fn quoted(value: &Value) -> String {
    value.to_string().replace('\'', "'\\''")
}
