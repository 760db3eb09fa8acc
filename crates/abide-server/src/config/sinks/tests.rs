//! Tests of reading and showing sinks.

use super::*;

fn read_with(text: &str) -> Result<Vec<Sink>, Vec<Wrong>> {
    let table = DeTable::parse(text).unwrap();
    let (key, value) = table.get_ref().iter().next().unwrap();
    let environment = |name: &str| (name == "TOKEN").then(|| "from outside".to_owned());
    read(key.span().start, value.get_ref(), &environment)
}

fn configs(text: &str) -> Vec<TrackerConfig> {
    let Ok(sinks) = read_with(text) else { panic!("{text} is refused") };
    sinks.iter().map(Sink::config).collect()
}

const LEAST: &str = "[tracker]\nurl = 'http://a/'\naccessToken = 'env:TOKEN'\n";
const ALL: &str = "
[[tracker]]
url = 'http://a/'
accessToken = 't'
[[tracker]]
url = 'http://user:pass@b/?key=hush'
accessToken = 'env:TOKEN'
name = 'audit'
types = 'all'
batch = {maxSize = 1, maxWaitMs = 2}
retry.maxAttempts = 3
retry.initialDelayMs = 4
timeoutMs = 6
shutdownTimeoutMs = 7
durable = true
signingSecret = 'whsec_AAAA'
retry.maxDelayMs = 5
";

#[test]
fn a_table_sets_what_it_names_and_the_rest_is_as_shipped() {
    assert_eq!(configs(LEAST), [TrackerConfig::new("http://a/", "from outside")]);
    let expected = TrackerConfig {
        name: "audit".to_owned(),
        types: Types::All,
        max_size: 1,
        max_wait: Duration::from_millis(2),
        retry_max_attempts: 3,
        retry_initial_delay: Duration::from_millis(4),
        retry_max_delay: Duration::from_millis(5),
        timeout: Duration::from_millis(6),
        shutdown_timeout: Duration::from_millis(7),
        durable: true,
        signing_secret: Some("whsec_AAAA".to_owned()),
        ..TrackerConfig::new("http://user:pass@b/?key=hush", "from outside")
    };
    assert_eq!(configs(ALL)[1], expected);
    let nested = format!("{LEAST}[tracker.batch]\nmaxSize = 9\n");
    assert_eq!(configs(&nested)[0].max_size, 9);
    let two = "[[tracker]]\nurl = 'http://a/'\naccessToken = 't'\n".repeat(2);
    let names: Vec<String> = configs(&two).into_iter().map(|config| config.name).collect();
    assert_eq!(names, ["tracker", "tracker-2"]);
}

#[test]
fn what_is_missing_wrong_or_unknown_is_refused_where_it_stands() {
    for (line, place, why) in [
        ("url = 'ftp://a/'", "'ftp", "tracker.url: it must begin with http"),
        ("accessToken = 'env:NOWHERE'", "'env:NO", "there is no NOWHERE"),
        ("batch.maxsize = 1", "maxsize", "did you mean `batch.maxSize`?"),
        ("maxSize = 1", "maxSize", "did you mean `batch.maxSize`?"),
        ("accesToken = 'hush'", "accesT", "did you mean `accessToken`?"),
        ("colour = 'red'", "colour", "there are name, url, "),
        ("batch.maxSize = 0", "0", "tracker.batch.maxSize: it must be 1 to 1000"),
        ("retry.maxAttempts = 'x'", "'x'", "tracker.retry.maxAttempts: it must be a whole number"),
        ("types = 'some'", "'some'", "\"default\" or \"all\""),
        ("signingSecret = '?'", "'?'", "tracker.signingSecret: it must be base64"),
        ("name = 'a b'", "'a b'", "tracker.name: it must be 1 to 64"),
        ("durable = 1", "1\n", "true or false"),
    ] {
        let key = line.split(' ').next().unwrap();
        let mut lines: Vec<&str> = LEAST.lines().filter(|l| !l.starts_with(key)).collect();
        lines.push(line);
        let text = lines.join("\n") + "\n";
        let Err(wrong) = read_with(&text) else { panic!("{line} is taken") };
        let told: Vec<String> = wrong
            .iter()
            .map(|wrong| format!("{}; {}", wrong.message, wrong.hint.as_deref().unwrap_or("")))
            .collect();
        assert!(told.len() == 1 && told[0].contains(why), "{line}: {told:?}");
        assert!(text[wrong[0].at..].starts_with(place), "{line}: {}", &text[wrong[0].at..]);
    }
}

#[test]
fn what_has_to_be_there_and_names_that_are_taken_are_told() {
    let Err(wrong) = read_with("[tracker]\ndurable = true\n") else { panic!("it is taken") };
    let paths: Vec<&str> = wrong.iter().map(|wrong| wrong.path.as_str()).collect();
    assert_eq!(paths, ["tracker.url", "tracker.accessToken"]);
    let two = "[[tracker]]\nurl = 'http://a/'\naccessToken = 't'\nname = 'a'\n".repeat(2);
    let Err(wrong) = read_with(&two) else { panic!("it is taken") };
    assert!(wrong[0].message.contains("another sink \"a\""), "{}", wrong[0].message);
    assert!(wrong[0].at > two.len() / 2, "the second is to blame");
    let Err(wrong) = read_with("tracker = 'here'") else { panic!("it is taken") };
    assert!(wrong[0].message.contains("must be a table"), "{}", wrong[0].message);
}

#[test]
fn a_sink_is_shown_with_everything_but_its_secrets() {
    let Ok(sinks) = read_with(ALL) else { panic!("it is refused") };
    let shown: Vec<String> =
        sinks[1].shown().into_iter().map(|(key, value, _)| format!("{key} = {value}")).collect();
    let expected = "name = \"audit\"
url = \"http://***@b/?***\"
accessToken = \"env:TOKEN\"
types = \"all\"
batch.maxSize = 1
batch.maxWaitMs = 2
retry.maxAttempts = 3
retry.initialDelayMs = 4
retry.maxDelayMs = 5
timeoutMs = 6
shutdownTimeoutMs = 7
durable = true
signingSecret = \"***\"";
    assert_eq!(shown.join("\n"), expected);
    let least = sinks[0].shown();
    assert_eq!(least.len(), KEYS.len() - 1, "without a secret to sign with");
    assert!(least.contains(&("accessToken", "\"***\"".to_owned(), None)));
    assert!(!format!("{sinks:?}").contains("hush"), "{sinks:?}");
}

/// The keys of the table in `docs/tracker.md`, with the defaults that it tells.
#[test]
fn every_key_is_in_the_docs_with_its_default() {
    let text = include_str!("../../../../../docs/tracker.md");
    let (_, table) = text.split_once("| key | default | |\n|---|---|---|\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let mut told = Vec::new();
    for row in rows {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (keys, default) = (cells.next().unwrap(), cells.next().unwrap());
        let default = default.split(',').next().unwrap().trim_matches('`').to_owned();
        told.extend(keys.split('`').skip(1).step_by(2).map(|key| (key, default.clone())));
    }
    let mut shipped = Sink::nth(0);
    for (key, takes) in KEYS {
        let default = takes.show(&mut shipped).filter(|_| !NEEDED.contains(key));
        let default = default.unwrap_or_default();
        let known = told.iter().position(|(told, _)| told == key);
        let (_, said) = told.remove(known.unwrap_or_else(|| panic!("{key} is not told")));
        assert_eq!(said.trim_matches('"'), default.trim_matches('"'), "{key}");
    }
    assert!(told.is_empty(), "there is no {told:?}");
}
