//! Keeps secrets out of texts.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use parking_lot::RwLock;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// What stands for a secret.
const STARS: &str = "***";

/// Shorter secrets are not looked for: too much that is none would go.
const SHORTEST: usize = 4;

/// The shortest piece of base64 that is taken for a part of a secret.
const SHORTEST_INNER: usize = 8;

/// As RFC 3986 encodes it, and as `encodeURIComponent` does.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const COMPONENT: &AsciiSet =
    &UNRESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');

/// Replaces every secret that was read by `***`: as it is, escaped as in JSON, percent-encoded, and
/// in base64, alone or inside of something longer (as in `Authorization: Basic`).
///
/// It knows values of at least 4 bytes, and no more than was read since the process started. A
/// workflow that makes something else of a secret (`secret.X.toUpperCase()`) is not followed.
/// Cloning it copies a pointer: all clones learn together.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Arc<Known>>>);

#[derive(Default)]
struct Known {
    values: BTreeSet<String>,
    forms: BTreeSet<String>,
    /// None when there is nothing to find.
    finder: Option<AhoCorasick>,
}

impl Redactor {
    /// Looks for this value too.
    pub fn learn(&self, secret: &str) {
        let secret = secret.trim();
        if secret.len() < SHORTEST || self.0.read().values.contains(secret) {
            return;
        }
        let mut known = self.0.write();
        let mut values = known.values.clone();
        values.insert(secret.to_owned());
        let forms: BTreeSet<String> = values.iter().flat_map(|value| forms_of(value)).collect();
        // Too many secrets to search for at once is not a thing that happens below 2^31 bytes.
        let finder = AhoCorasick::new(&forms).ok();
        *known = Arc::new(Known { values, forms, finder });
    }

    /// The text without secrets.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.known().redact(text)
    }

    /// Whether a text has a secret in it.
    #[must_use]
    pub fn knows(&self, text: &str) -> bool {
        self.known().finder.as_ref().is_some_and(|finder| finder.is_match(text))
    }

    /// Takes secrets out of every text, name and number of a value.
    pub fn redact_value(&self, value: &mut Value) {
        let known = self.known();
        if known.finder.is_some() {
            known.redact_value(value);
        }
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.0.read())
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.known().values.len())
    }
}

impl Known {
    /// Where secrets are. Those that overlap are one.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let Some(finder) = &self.finder else { return Vec::new() };
        let mut found: Vec<_> = finder.find_overlapping_iter(text).map(|m| m.range()).collect();
        found.sort_by_key(|place| place.start);
        let mut places: Vec<Range<usize>> = Vec::new();
        for place in found {
            match places.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => places.push(place),
            }
        }
        places
    }

    fn redact(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for place in self.places(text) {
            clean.push_str(text.get(from..place.start).unwrap_or(""));
            clean.push_str(STARS);
            from = place.end;
        }
        clean.push_str(text.get(from..).unwrap_or(""));
        clean
    }

    fn redact_value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                let text = number.to_string();
                let clean = self.redact(&text);
                if clean != text {
                    *value = Value::String(clean);
                }
            }
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => {
                let clean = std::mem::take(members).into_iter().map(|(name, mut member)| {
                    self.redact_value(&mut member);
                    (self.redact(&name), member)
                });
                *members = clean.collect::<Map<_, _>>();
            }
        }
    }

    /// Where the part at the end begins that may be the beginning of a secret.
    fn open_end(&self, text: &str) -> usize {
        let begins_here = |form: &String| {
            let longest = form.len().min(text.len() + 1) - 1;
            (1..=longest)
                .rev()
                .find(|length| text.as_bytes().ends_with(&form.as_bytes()[..*length]))
        };
        let open = self.forms.iter().filter_map(begins_here).max().unwrap_or(0);
        let end = text.len() - open;
        // A secret that reaches into it stays with it: it may be part of a longer one.
        self.places(text).iter().find(|place| place.contains(&end)).map_or(end, |place| place.start)
    }
}

/// Every way in which a secret is likely to be written.
fn forms_of(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([secret.to_owned()]);
    let json = Value::from(secret).to_string();
    forms.insert(json.trim_start_matches('"').strip_suffix('"').unwrap_or(&json).to_owned());
    for set in [UNRESERVED, COMPONENT] {
        let upper = utf8_percent_encode(secret, set).to_string();
        forms.insert(lower_hex(&upper));
        forms.insert(upper.replace("%20", "+"));
        forms.insert(upper);
    }
    for engine in [&STANDARD, &URL_SAFE] {
        let whole = engine.encode(secret);
        forms.insert(whole.trim_end_matches('=').to_owned());
        forms.insert(whole);
        forms.extend((0..3).filter_map(|before| inner_base64(engine, secret, before)));
    }
    forms.retain(|form| form.len() >= SHORTEST);
    forms
}

/// The characters of base64 that depend on nothing but the secret, when so many bytes stand before
/// it in its group of three.
fn inner_base64(
    engine: &base64::engine::GeneralPurpose,
    secret: &str,
    before: usize,
) -> Option<String> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret.as_bytes());
    let encoded = engine.encode(&bytes);
    let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded.get(from..to).filter(|inner| inner.len() >= SHORTEST_INNER).map(str::to_owned)
}

/// `%2F` as `%2f`; everything else as it is.
fn lower_hex(encoded: &str) -> String {
    let mut hex = 0;
    let lower = |c: char| {
        if c == '%' {
            hex = 2;
            return c;
        }
        let in_hex = hex > 0;
        hex -= u8::from(in_hex);
        if in_hex { c.to_ascii_lowercase() } else { c }
    };
    encoded.chars().map(lower).collect()
}

/// Redacts a text that comes in pieces: what may be the beginning of a secret, or of a character, is
/// held until it is clear.
pub struct RedactedText {
    secrets: Redactor,
    /// An unfinished character.
    bytes: Vec<u8>,
    held: String,
}

impl RedactedText {
    /// Nothing yet.
    #[must_use]
    pub fn new(secrets: Redactor) -> Self {
        Self { secrets, bytes: Vec::new(), held: String::new() }
    }

    /// Takes a piece; gives what is clear by now, which may be nothing.
    pub fn push(&mut self, piece: &[u8]) -> String {
        self.bytes.extend_from_slice(piece);
        self.held.push_str(&take_text(&mut self.bytes));
        let known = self.secrets.known();
        let held = self.held.split_off(known.open_end(&self.held));
        let clear = std::mem::replace(&mut self.held, held);
        known.redact(&clear)
    }

    /// What was held, at the end of the text.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.bytes);
        self.held.push_str(&String::from_utf8_lossy(&rest));
        self.secrets.redact(&std::mem::take(&mut self.held))
    }
}

/// Takes the whole characters, and leaves a beginning of one.
fn take_text(bytes: &mut Vec<u8>) -> String {
    let unfinished = match std::str::from_utf8(bytes) {
        Ok(_) => 0,
        Err(_) => {
            let tail = bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
            let last = bytes.get(bytes.len() - tail..).map(std::str::from_utf8);
            match last {
                Some(Err(error)) if error.error_len().is_none() => tail,
                _ => 0,
            }
        }
    };
    let rest = bytes.split_off(bytes.len() - unfinished);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SECRET: &str = "p@ss w/örd\"1";

    fn knowing(secrets: &[&str]) -> Redactor {
        let redactor = Redactor::default();
        secrets.iter().for_each(|secret| redactor.learn(secret));
        redactor
    }

    #[test]
    fn a_secret_is_found_in_every_form() {
        let redactor = knowing(&[SECRET]);
        let encoded = utf8_percent_encode(SECRET, UNRESERVED).to_string();
        let form: String = url::form_urlencoded::byte_serialize(SECRET.as_bytes()).collect();
        for text in [
            SECRET.to_owned(),
            json!({ "echo": SECRET }).to_string(),
            encoded.to_lowercase().replace("%c3%b6rd", "%c3%b6rd"),
            encoded,
            form,
            STANDARD.encode(SECRET),
            URL_SAFE.encode(SECRET),
        ] {
            let clean = redactor.redact(&format!("<{text}>"));
            assert!(clean.contains(STARS), "{text} in {clean}");
            assert!(!clean.contains("rd"), "{clean}");
        }
    }

    #[test]
    fn a_secret_inside_of_base64_is_found_at_every_offset() {
        let redactor = knowing(&["s3cret-t0ken"]);
        for user in ["", "u", "us", "use", "user"] {
            let text = STANDARD.encode(format!("{user}:s3cret-t0ken:more"));
            let clean = redactor.redact(&text);
            assert!(clean.contains(STARS) && clean.len() < text.len() - 8, "{user}: {clean}");
        }
    }

    #[test]
    fn short_values_and_other_texts_stay() {
        let redactor = knowing(&["abc", "  ", ""]);
        assert_eq!(redactor.redact("abc"), "abc");
        assert!(!redactor.knows("abc"));
        let redactor = knowing(&["abcd\n"]);
        assert_eq!(redactor.redact("xabcdabcdx"), "x******x");
    }

    #[test]
    fn secrets_that_overlap_go_together() {
        assert_eq!(knowing(&["abcdXYZ", "XYZ1234"]).redact("-abcdXYZ1234-"), "-***-");
        assert_eq!(knowing(&["abcd", "abcdefgh"]).redact("-abcdefgh-"), "-***-");
    }

    #[test]
    fn values_lose_secrets_in_texts_names_and_numbers() {
        let mut value = json!({"a": ["x-12345678"], "12345678": 12345678, "n": 7, "t": true});
        knowing(&["12345678"]).redact_value(&mut value);
        assert_eq!(value, json!({"a": ["x-***"], "***": "***", "n": 7, "t": true}));
    }

    #[test]
    fn a_stream_holds_only_what_may_be_a_secret_or_half_a_character() {
        let mut text = RedactedText::new(knowing(&["s3cret"]));
        assert_eq!(text.push(b"hello s3"), "hello ");
        assert_eq!(text.push(b"nd s3cr"), "s3nd ");
        assert_eq!(text.push(b"et! \xc3"), "***! ");
        assert_eq!(text.push(b"\xa4 \xff s"), "ä \u{fffd} ");
        assert_eq!(text.finish(), "s");
    }

    proptest! {
        #[test]
        fn a_text_in_pieces_is_redacted_as_in_one(
            text in "[ab1-]{0,40}", cuts in prop::collection::vec(1_usize..6, 0..20)
        ) {
            let redactor = knowing(&["ab1-", "1-ab1", "bbbbb"]);
            let mut pieces = RedactedText::new(redactor.clone());
            let (mut whole, mut rest) = (String::new(), text.as_bytes());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                whole.push_str(&pieces.push(piece));
                rest = after;
            }
            whole.push_str(&pieces.push(rest));
            whole.push_str(&pieces.finish());
            prop_assert_eq!(whole, redactor.redact(&text));
        }
    }
}
