//! Random expressions, each in two spellings: ours, and JavaScript that does the same.
//!
//! The JavaScript spelling writes out the documented differences: a field of nothing is
//! `undefined`, `x in [..]` is membership. Helpers named `$…` notice where a case leaves the shared
//! subset (integers beyond 2^53, objects compared by identity).

use serde_json::{Value as Json, json};

use crate::world::World;

pub(crate) struct Generator {
    pub(crate) random: fastrand::Rng,
    /// Parameters of arrow functions in reach.
    locals: Vec<String>,
}

/// One expression, twice.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) ours: String,
    pub(crate) js: String,
}

fn same(text: impl Into<String>) -> Pair {
    let ours = text.into();
    Pair { js: ours.clone(), ours }
}

const NAMES: [&str; 6] = ["a", "b", "c", "items", "name", "deep"];
const TEXTS: [&str; 9] = ["''", "'a'", "'b'", "'10'", "' 7 '", "'paid'", "'É'", "\"ß\"", "'a,b'"];
const NUMBERS: [&str; 10] = ["0", "1", "2", "10", "100", "0.5", "2.25", "1e3", "7", "0x10"];

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), locals: Vec::new() }
    }

    pub(crate) fn choose<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.random.usize(..choices.len())]
    }

    pub(crate) fn world(&mut self) -> World {
        World {
            event: json!({"type": "t", "payload": self.object(2)}),
            context: self.object(2),
            input: self.object(1),
        }
    }

    fn object(&mut self, depth: usize) -> Json {
        let fields = NAMES.iter().filter(|_| true);
        let mut object = serde_json::Map::new();
        for name in fields {
            if self.random.u8(..4) > 0 {
                object.insert((*name).to_owned(), self.json(name, depth));
            }
        }
        Json::Object(object)
    }

    fn json(&mut self, name: &str, depth: usize) -> Json {
        match name {
            "items" if depth > 0 => {
                let count = self.random.usize(..4);
                (0..count).map(|_| self.json("any", depth - 1)).collect()
            }
            "deep" if depth > 0 => self.object(depth - 1),
            _ => match self.random.u8(..10) {
                0 => Json::Null,
                1 => json!(self.random.bool()),
                2 => json!(self.random.i32(-3..12)),
                3 => json!([0.5, 2.25, -1.5, 1e3, 10.0][self.random.usize(..5)]),
                4 if depth > 0 => (0..self.random.usize(..3)).map(Json::from).collect(),
                5 if depth > 0 => self.object(depth - 1),
                _ => json!(
                    ["", "a", "b", "10", " 7 ", "paid", "É", "ß", "1,2"][self.random.usize(..9)]
                ),
            },
        }
    }

    pub(crate) fn expression(&mut self, depth: usize) -> Pair {
        if depth == 0 {
            return self.leaf();
        }
        match self.random.u8(..24) {
            0..=3 => self.comparison(depth),
            4..=6 => self.joined(depth, &["&&", "||"]),
            7 => self.joined(depth, &["??"]),
            8..=9 => self.arithmetic(depth),
            10 => {
                let inner = self.expression(depth - 1);
                let sign = self.choose(&["!", "-", "+", "typeof "]);
                let js = format!("{sign}({})", inner.js);
                Pair { ours: format!("{sign}({})", inner.ours), js }
            }
            11 => {
                let [a, b, c] = [(); 3].map(|()| self.expression(depth - 1));
                let write = |a, b, c| format!("(({a}) ? ({b}) : ({c}))");
                Pair { ours: write(a.ours, b.ours, c.ours), js: write(a.js, b.js, c.js) }
            }
            12..=14 => self.method(depth),
            15..=16 => self.quantifier(depth),
            17..=18 => self.function(depth),
            19 => self.membership(depth),
            20 => self.literal(depth),
            21 => {
                let object = self.path();
                let index = self.expression(depth - 1);
                let ours = format!("({})[{}]", object.ours, index.ours);
                Pair { ours, js: format!("$at({}, {})", object.js, index.js) }
            }
            _ => self.leaf(),
        }
    }

    fn leaf(&mut self) -> Pair {
        match self.random.u8(..12) {
            0 => same(self.choose(&TEXTS)),
            1..=2 => same(self.choose(&NUMBERS)),
            3 => same(self.choose(&["true", "false", "null", "undefined", "NaN", "-1", "-0"])),
            4..=5 if !self.locals.is_empty() => {
                same(self.locals[self.random.usize(..self.locals.len())].clone())
            }
            _ => self.path(),
        }
    }

    pub(crate) fn path(&mut self) -> Pair {
        let mut path =
            same(self.choose(&["event.payload", "event.payload", "workflow.context", "input"]));
        for _ in 0..self.random.usize(..3) + 1 {
            let name = self.choose(&NAMES);
            let link = match self.random.u8(..8) {
                0 => format!("?.{name}"),
                1 => format!("['{name}']"),
                2 => ".length".to_owned(),
                3 => format!("[{}]", self.random.u8(..3)),
                _ => format!(".{name}"),
            };
            path.ours += &link;
            let bare = link.trim_start_matches('?');
            let bare = if bare.starts_with('[') { format!(".{bare}") } else { bare.to_owned() };
            path.js = format!("({}?{bare})", path.js);
        }
        path
    }

    fn two(&mut self, depth: usize) -> (Pair, Pair) {
        (self.expression(depth - 1), self.expression(depth - 1))
    }

    pub(crate) fn comparison(&mut self, depth: usize) -> Pair {
        let (a, b) = self.two(depth);
        let sign = self.choose(&["===", "!==", "==", "!=", "<", "<=", ">", ">=", "===", ">="]);
        let ours = format!("({}) {sign} ({})", a.ours, b.ours);
        let js = match sign {
            "===" => format!("$is({}, {})", a.js, b.js),
            "!==" => format!("!$is({}, {})", a.js, b.js),
            "==" => format!("$like({}, {})", a.js, b.js),
            "!=" => format!("!$like({}, {})", a.js, b.js),
            sign => format!("({}) {sign} ({})", a.js, b.js),
        };
        Pair { ours: format!("({ours})"), js: format!("({js})") }
    }

    fn joined(&mut self, depth: usize, signs: &[&str]) -> Pair {
        let sign = self.choose(signs);
        let count = self.random.usize(2..4);
        let parts: Vec<_> = (0..count).map(|_| self.expression(depth - 1)).collect();
        let join = |texts: Vec<String>| format!("({})", texts.join(&format!(" {sign} ")));
        Pair {
            ours: join(parts.iter().map(|part| part.ours.clone()).collect()),
            js: join(parts.iter().map(|part| part.js.clone()).collect()),
        }
    }

    fn arithmetic(&mut self, depth: usize) -> Pair {
        let (a, b) = self.two(depth);
        let sign = self.choose(&["+", "-", "*", "/", "%", "**"]);
        let write = |a, b| format!("(({a}) {sign} ({b}))");
        Pair { ours: write(a.ours, b.ours), js: format!("$n({})", write(a.js, b.js)) }
    }

    fn method(&mut self, depth: usize) -> Pair {
        let object = self.expression(depth - 1);
        let dot = self.choose(&[".", "?."]);
        let method = self.choose(&[
            "includes",
            "startsWith",
            "endsWith",
            "trim",
            "toLowerCase",
            "toUpperCase",
        ]);
        if matches!(method, "trim" | "toLowerCase" | "toUpperCase") {
            let tail = self.choose(&["", ".length", ".trim()", ".toLowerCase()"]);
            let write = |object| format!("({object}){dot}{method}(){tail}");
            return Pair { ours: write(object.ours), js: write(object.js) };
        }
        let argument = self.expression(depth - 1);
        let ours = format!("({}){dot}{method}({})", object.ours, argument.ours);
        let js = format!("$items({}){dot}{method}($item({}))", object.js, argument.js);
        Pair { ours, js: format!("$forget({js})") }
    }

    fn quantifier(&mut self, depth: usize) -> Pair {
        let object = self.expression(depth - 1);
        let method = self.choose(&["some", "every"]);
        let name = format!("x{}", self.locals.len());
        self.locals.push(name.clone());
        let body = self.expression(depth - 1);
        self.locals.pop();
        let write = |object, body| format!("({object})?.{method}({name} => ({body}))");
        Pair { ours: write(object.ours, body.ours), js: write(object.js, body.js) }
    }

    fn function(&mut self, depth: usize) -> Pair {
        let function = self.choose(&[
            "Number",
            "String",
            "Boolean",
            "Math.abs",
            "Math.ceil",
            "Math.floor",
            "Math.round",
            "Math.sign",
            "Math.trunc",
            "Math.sqrt",
            "Math.max",
            "Math.min",
            "Math.pow",
        ]);
        let (a, b) = self.two(depth);
        let write = |a, b| match function {
            "Math.max" | "Math.min" | "Math.pow" => format!("{function}({a}, {b})"),
            _ => format!("{function}({a})"),
        };
        Pair { ours: write(a.ours, b.ours), js: format!("$n({})", write(a.js, b.js)) }
    }

    fn membership(&mut self, depth: usize) -> Pair {
        let wanted = self.expression(depth - 1);
        if self.random.bool() {
            let object = self.path();
            let write = |key, object| format!("(({key}) in ({object}))");
            return Pair { ours: write(wanted.ours, object.ours), js: write(wanted.js, object.js) };
        }
        let (a, b) = (self.leaf(), self.leaf());
        Pair {
            ours: format!("(({}) in [{}, {}])", wanted.ours, a.ours, b.ours),
            js: format!("$has([{}, {}], {})", a.js, b.js, wanted.js),
        }
    }

    fn literal(&mut self, depth: usize) -> Pair {
        let (a, b) = self.two(depth);
        let write: fn(String, String) -> String = match self.random.u8(..4) {
            0 => |a, b| format!("[{a}, {b}]"),
            1 => |a, b| format!("({{a: {a}, 'b': {b}}})"),
            2 => |a, b| format!("[{a}, {b}].length"),
            _ => |a, b| format!("({{a: {a}, b: {b}}}).b"),
        };
        Pair { ours: write(a.ours, b.ours), js: write(a.js, b.js) }
    }
}
