//! Random subscriptions and events, from few words, so that they meet often.

use abide::expr::Folded;
use serde_json::{Value as Json, json};

pub(crate) struct Generator {
    pub(crate) random: fastrand::Rng,
}

const VALUES: [&str; 9] =
    ["1", "1", "2", "'x'", "'y|'", "true", "null", "1.5", "18446744073709551615"];

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed) }
    }

    fn choose<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.random.usize(..choices.len())]
    }

    fn segments(&mut self, words: &[&str]) -> String {
        let count = self.random.usize(1..4);
        let segments: Vec<&str> = (0..count).map(|_| self.choose(words)).collect();
        segments.join(".")
    }

    pub(crate) fn pattern(&mut self) -> String {
        self.segments(&["a", "b", "*", "**", "**"])
    }

    pub(crate) fn event(&mut self) -> Json {
        let mut event = json!({"type": self.segments(&["a", "b"])});
        for name in ["a", "b", "c"] {
            if self.random.u8(..6) > 0 {
                event[name] = self.value();
            }
        }
        event
    }

    fn value(&mut self) -> Json {
        match self.random.u8(..16) {
            0 => json!("x"),
            1 => json!("y|"),
            2 => json!(true),
            3 => Json::Null,
            4 => json!(1.5),
            5 => json!(u64::MAX),
            6 => json!(["x", 1]),
            7 => json!(1.0),
            8 => json!("\0"),
            9 => json!(2),
            _ => json!(1),
        }
    }

    /// None, or a filter that can be printed and read back, as every stored one.
    pub(crate) fn filter(&mut self) -> Option<Folded> {
        if self.random.u8(..10) == 0 {
            return None;
        }
        // What people write: a key, and something else.
        let text = if self.random.bool() {
            let (key, value) = (self.choose(&["a", "b", "c"]), self.choose(&VALUES));
            format!("event.{key} === {value} && {}", self.clause(1))
        } else {
            self.clause(3)
        };
        Some(Folded::parse(&text).unwrap())
    }

    fn clause(&mut self, depth: usize) -> String {
        let kinds = if depth == 0 { 8 } else { 13 };
        let path = format!("event.{}", self.choose(&["a", "b", "c", "type"]));
        match self.random.u8(..kinds) {
            0..3 => format!("{path} === {}", self.choose(&VALUES)),
            3 => {
                let (one, other) = (self.choose(&VALUES), self.choose(&VALUES));
                format!("[{one}, {other}].includes({path})")
            }
            4 | 5 => format!("{path} > {}", self.choose(&VALUES)),
            // Fails on what is no text and no array.
            6 => format!("{path}.includes('x')"),
            7 => self.choose(&["true", "false", "event.a", "!event.b", "event.a == 1"]).to_owned(),
            8..11 => format!("({} && {})", self.clause(depth - 1), self.clause(depth - 1)),
            11 => format!("({} || {})", self.clause(depth - 1), self.clause(depth - 1)),
            _ => format!("!({})", self.clause(depth - 1)),
        }
    }
}
