//! Values that have the right form and can't work all the same: what a start would refuse.

use abide_flow::AddressRules;

use super::{Configuration, environment};
use crate::store_at::StoreAt;

/// Digits of a SHA-256.
const HASH: usize = 64;

impl Configuration {
    /// Everything that can't work, with where it was set. Nothing is opened, bound or looked up.
    pub(super) fn unfit(&self) -> Vec<String> {
        let found = [
            ("server.listen", listen(&self.listen)),
            ("server.tokens", self.tokens()),
            ("server.cors", cors(&self.server.cors)),
            ("store.url", self.store.parse::<StoreAt>().map(drop)),
            ("http.allow", rules(&self.http_allow, &[])),
            ("http.deny", rules(&[], &self.http_deny)),
            ("http.caCertificates", readable(&self.http_ca_files)),
            ("server.workflows", there(&self.workflows)),
        ];
        let found = found.into_iter().chain(self.telemetry.fitness(&environment));
        let told = found.filter_map(|(name, is_fit)| {
            let why = is_fit.err()?;
            let place = self.places.get(name).map_or("as shipped", String::as_str);
            Some(format!("{place}: {name}: {why}"))
        });
        told.collect()
    }

    fn tokens(&self) -> Result<(), String> {
        let is_hash =
            |text: &str| text.len() == HASH && text.chars().all(|digit| digit.is_ascii_hexdigit());
        match self.server.tokens.iter().find(|token| !is_hash(&token.hash)) {
            // Not what it is instead: it may be the token itself.
            Some(token) => Err(format!(
                "the hash of {:?} must be {HASH} hexadecimal digits, the SHA-256 of a token",
                token.name
            )),
            None => Ok(()),
        }
    }
}

/// `ADDRESS:PORT` or `NAME:PORT`, without asking for the name.
fn listen(text: &str) -> Result<(), String> {
    let parts = text.rsplit_once(':');
    match parts.filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
        Some(_) => Ok(()),
        None => Err(format!("{text:?} is not ADDRESS:PORT, like 127.0.0.1:7878 or [::1]:7878")),
    }
}

fn cors(origins: &[String]) -> Result<(), String> {
    let is_origin = |text: &&String| {
        url::Url::parse(text).is_ok_and(|url| url.origin().ascii_serialization() == **text)
    };
    match origins.iter().find(|text| !is_origin(text)) {
        Some(text) => Err(format!("{text:?} is no origin, like https://shop.example.com")),
        None => Ok(()),
    }
}

fn rules(allow: &[String], deny: &[String]) -> Result<(), String> {
    AddressRules::parse(allow, deny).map(drop).map_err(|wrong| wrong.to_string())
}

fn readable(files: &[String]) -> Result<(), String> {
    let read = |file: &String| match std::fs::read_to_string(file) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{file}: {error}")),
    };
    files.iter().try_for_each(read)
}

fn there(paths: &[String]) -> Result<(), String> {
    let look = |path: &String| match std::fs::metadata(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{path}: {error}")),
    };
    paths.iter().try_for_each(look)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Configuration)) -> Vec<String> {
        let mut set = Configuration::default();
        change(&mut set);
        set.unfit()
    }

    #[test]
    fn what_is_shipped_is_fit_and_so_are_names_and_addresses() {
        assert_eq!(check(|_| {}), Vec::<String>::new());
        for good in ["localhost:80", "[::1]:0", "0.0.0.0:7878"] {
            assert!(check(|set| set.listen = good.to_owned()).is_empty(), "{good}");
        }
        let origins = ["https://a.example", "http://localhost:3000"].map(str::to_owned).to_vec();
        assert!(check(|set| set.server.cors = origins).is_empty());
    }

    #[test]
    fn what_can_not_work_is_told_with_its_place() {
        let told = check(|set| {
            set.listen = "here".to_owned();
            set.store = "a.db".to_owned();
            set.http_allow = vec!["not a host!".to_owned()];
            set.http_ca_files = vec!["no-such.pem".to_owned()];
            set.workflows = vec!["no-such-dir".to_owned()];
            set.server.cors = vec!["https://a.example/".to_owned()];
            set.places.insert("server.listen", "abide.toml:2:10".to_owned());
            set.places.insert("store.url", "ABIDE_STORE_URL".to_owned());
        });
        assert_eq!(told.len(), 6, "{told:#?}");
        assert!(told[0].starts_with("abide.toml:2:10: server.listen: \"here\""), "{}", told[0]);
        assert!(
            told.iter().any(|line| line.starts_with("ABIDE_STORE_URL: store.url: ")),
            "{told:?}"
        );
        for part in ["not a host!", "no-such.pem", "no-such-dir", "https://a.example/"] {
            assert!(told.iter().any(|line| line.contains(part)), "{part} is not in {told:#?}");
        }
    }

    #[test]
    fn a_token_in_place_of_its_hash_is_refused_and_not_shown() {
        let token = serde_json::json!({"name": "ci", "hash": "abd_hush", "scopes": ["read"]});
        let token = serde_json::from_value(token).unwrap();
        let told = check(|set| set.server.tokens = vec![token]);
        assert!(told[0].contains("\"ci\"") && !told[0].contains("hush"), "{told:?}");
    }
}
