//! The functions and methods there are, by name. Anything else is refused when parsing.

use std::fmt;

/// Methods of strings and arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Whether a string or an array contains something.
    Includes,
    /// Whether a string starts with another.
    StartsWith,
    /// Whether a string ends with another.
    EndsWith,
    /// In lower case.
    ToLowerCase,
    /// In upper case.
    ToUpperCase,
    /// Without white space at both ends.
    Trim,
    /// Whether a test holds for some item.
    Some,
    /// Whether a test holds for every item.
    Every,
}

/// Functions that stand alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Number,
    String,
    Boolean,
    DateParse,
    Abs,
    Ceil,
    Floor,
    Round,
    Max,
    Min,
    Sign,
    Trunc,
    Sqrt,
    Pow,
}

const METHODS: [(&str, Method); 8] = [
    ("includes", Method::Includes),
    ("startsWith", Method::StartsWith),
    ("endsWith", Method::EndsWith),
    ("toLowerCase", Method::ToLowerCase),
    ("toUpperCase", Method::ToUpperCase),
    ("trim", Method::Trim),
    ("some", Method::Some),
    ("every", Method::Every),
];

/// What people write from other languages or libraries.
const METHOD_ALIASES: [(&str, &str); 14] = [
    ("contains", "includes"),
    ("indexOf", "includes"),
    ("has", "includes"),
    ("any", "some"),
    ("find", "some"),
    ("filter", "some"),
    ("exists", "some"),
    ("all", "every"),
    ("lower", "toLowerCase"),
    ("toLower", "toLowerCase"),
    ("upper", "toUpperCase"),
    ("toUpper", "toUpperCase"),
    ("strip", "trim"),
    ("beginsWith", "startsWith"),
];

const FUNCTIONS: [(&str, Function); 14] = [
    ("Number", Function::Number),
    ("String", Function::String),
    ("Boolean", Function::Boolean),
    ("Date.parse", Function::DateParse),
    ("Math.abs", Function::Abs),
    ("Math.ceil", Function::Ceil),
    ("Math.floor", Function::Floor),
    ("Math.round", Function::Round),
    ("Math.max", Function::Max),
    ("Math.min", Function::Min),
    ("Math.sign", Function::Sign),
    ("Math.trunc", Function::Trunc),
    ("Math.sqrt", Function::Sqrt),
    ("Math.pow", Function::Pow),
];

impl Method {
    pub(crate) fn named(name: &str) -> Option<Self> {
        METHODS.iter().find(|(known, _)| *known == name).map(|(_, method)| *method)
    }

    /// What may have been meant by a name that is not a method.
    pub(crate) fn hint(name: &str) -> String {
        if name == "length" {
            return "length is not called; write .length".into();
        }
        if name == "toString" {
            return "write String(..)".into();
        }
        let alias =
            METHOD_ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, known)| *known);
        match alias.or_else(|| nearest(name, METHODS.map(|(known, _)| known))) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", METHODS.map(|(known, _)| known).join(", ")),
        }
    }

    pub(crate) fn takes_arrow(self) -> bool {
        matches!(self, Self::Some | Self::Every)
    }

    /// Whether it takes one argument rather than none.
    pub(crate) fn takes_argument(self) -> bool {
        !matches!(self, Self::ToLowerCase | Self::ToUpperCase | Self::Trim)
    }
}

impl Function {
    /// By its full name, such as `Math.max`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    pub(crate) fn hint(name: &str) -> String {
        if matches!(name, "Date.now" | "Date") {
            return "an expression has no clock; there is Date.parse".into();
        }
        match nearest(name, FUNCTIONS.map(|(known, _)| known)) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", FUNCTIONS.map(|(known, _)| known).join(", ")),
        }
    }

    /// Whether a name is reserved for functions and so can't be a root.
    pub(crate) fn is_namespace(name: &str) -> bool {
        matches!(name, "Math" | "Date" | "Number" | "String" | "Boolean")
    }

    /// How many arguments it takes; `None` for any number.
    pub(crate) fn arity(self) -> Option<usize> {
        match self {
            Self::Max | Self::Min => None,
            Self::Pow => Some(2),
            _ => Some(1),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = METHODS.iter().find(|(_, method)| method == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FUNCTIONS.iter().find(|(_, function)| function == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

/// The known name that is nearest, when it is near enough to have been meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 64 {
        return None;
    }
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().min(name.len()).div_ceil(3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many insertions, removals and replacements lead from one to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["event", "workflow", "input", "steps"];
        let check = |name: &str, expect: Option<&str>| assert_eq!(nearest(name, known), expect);
        check("evnt", Some("event"));
        check("Workflow", Some("workflow"));
        check("step", Some("steps"));
        check("payload", None);
        check("", None);
    }

    #[test]
    fn names_from_elsewhere_are_translated() {
        assert_eq!(Method::hint("contains"), "did you mean includes?");
        assert_eq!(Method::hint("startswith"), "did you mean startsWith?");
        assert_eq!(Function::hint("Math.flor"), "did you mean Math.floor?");
    }
}
