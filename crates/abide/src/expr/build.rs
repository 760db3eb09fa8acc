//! Constructors that bring a tree into its one shape, and walks over it.

use super::function::{Function, Method};
use super::path::{Path, Segment};
use super::tree::{At, Binary, Logic, Node, Unary};
use super::value::Value;

impl Node {
    pub(crate) const UNDEFINED: Self = Self::Const(Value::Undefined);

    /// `object.name`; several names after a root are one path.
    pub(crate) fn member(object: Self, segment: Segment, optional: bool) -> Self {
        match object {
            Self::Path { path, at } if !optional => Self::Path { path: path.join(segment), at },
            object => Self::Member { object: Box::new(object), segment, optional },
        }
    }

    /// `object[index]`, which is a member when the index is a literal.
    pub(crate) fn index(object: Self, index: Self, optional: bool) -> Self {
        let name = match &index {
            Self::Const(Value::String(text)) => Some(text.to_string()),
            Self::Const(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        match name {
            Some(name) => Self::member(object, Segment::new(&name), optional),
            None => Self::Index { object: Box::new(object), index: Box::new(index), optional },
        }
    }

    /// Ends a chain of links. Reading a field of nothing yields nothing, so a chain of fields
    /// only is a plain path; otherwise `?.` needs to know how far the chain goes.
    pub(crate) fn chain(links: Self) -> Self {
        if let Some(path) = links.as_plain_chain() {
            return path;
        }
        if links.has_optional_link() { Self::Chain(Box::new(links)) } else { links }
    }

    fn as_plain_chain(&self) -> Option<Self> {
        match self {
            Self::Path { .. } | Self::Local { .. } | Self::Chain(_) => Some(self.clone()),
            Self::Member { object, segment, .. } => {
                Some(Self::member(object.as_plain_chain()?, segment.clone(), false))
            }
            _ => None,
        }
    }

    fn has_optional_link(&self) -> bool {
        match self {
            Self::Member { object, optional, .. }
            | Self::Index { object, optional, .. }
            | Self::Call { object, optional, .. }
            | Self::Quantify { object, optional, .. } => *optional || object.has_optional_link(),
            _ => false,
        }
    }

    pub(crate) fn array(items: Vec<Self>) -> Self {
        if items.iter().all(|item| matches!(item, Self::Const(_))) {
            return Self::Const(Value::array(items.into_iter().filter_map(Self::into_const)));
        }
        Self::Array(items)
    }

    pub(crate) fn object(fields: Vec<(Box<str>, Self)>) -> Self {
        if fields.iter().all(|(_, value)| matches!(value, Self::Const(_))) {
            let fields = fields
                .into_iter()
                .filter_map(|(name, value)| Some((String::from(name), value.into_const()?)));
            return Self::Const(Value::object(fields));
        }
        Self::Object(fields)
    }

    fn into_const(self) -> Option<Value<'static>> {
        match self {
            Self::Const(value) => Some(value),
            _ => None,
        }
    }

    /// A sign before a literal is part of it.
    pub(crate) fn unary(operator: Unary, operand: Self) -> Self {
        match (operator, operand) {
            (Unary::Negate, Self::Const(Value::Number(number))) => {
                Self::Const(Value::Number(number.negate()))
            }
            (operator, operand) => Self::Unary { operator, operand: Box::new(operand) },
        }
    }

    /// `x in [a, b]` is membership: the same as `[a, b].includes(x)`.
    pub(crate) fn binary(operator: Binary, left: Self, right: Self, at: At) -> Self {
        let literal = matches!(right, Self::Array(_) | Self::Const(Value::Array(_)));
        if operator == Binary::In && literal {
            return Self::Call {
                object: Box::new(right),
                method: Method::Includes,
                argument: Some(Box::new(left)),
                optional: false,
            };
        }
        Self::Binary { operator, left: Box::new(left), right: Box::new(right), at }
    }

    /// All operands of one kind in one list: the three operators are associative.
    pub(crate) fn logic(operator: Logic, parts: impl IntoIterator<Item = Self>) -> Self {
        let mut operands = Vec::new();
        for part in parts {
            match part {
                Self::Logic { operator: same, operands: inner } if same == operator => {
                    operands.extend(inner);
                }
                part => operands.push(part),
            }
        }
        match operands.pop() {
            Some(only) if operands.is_empty() => only,
            Some(last) => {
                operands.push(last);
                Self::Logic { operator, operands }
            }
            None => Self::UNDEFINED,
        }
    }

    pub(crate) fn function(function: Function, arguments: Vec<Self>) -> Self {
        Self::Function { function, arguments }
    }

    /// The parts directly below.
    pub(crate) fn children(&self) -> Vec<&Self> {
        match self {
            Self::Const(_) | Self::Path { .. } | Self::Local { .. } => Vec::new(),
            Self::Array(items) => items.iter().collect(),
            Self::Object(fields) => fields.iter().map(|(_, value)| value).collect(),
            Self::Member { object, .. } => vec![object],
            Self::Index { object, index, .. } => vec![object, index],
            Self::Call { object, argument, .. } => {
                let mut children: Vec<&Self> = vec![object];
                children.extend(argument.as_deref());
                children
            }
            Self::Quantify { object, body, .. } => vec![object, body],
            Self::Chain(inner) => vec![inner],
            Self::Function { arguments, .. } => arguments.iter().collect(),
            Self::Unary { operand, .. } => vec![operand],
            Self::Binary { left, right, .. } => vec![left, right],
            Self::Logic { operands, .. } => operands.iter().collect(),
            Self::Conditional { test, then, otherwise } => vec![test, then, otherwise],
        }
    }

    /// Whether something holds for all parts directly below.
    pub(crate) fn all_children(&self, holds: &mut impl FnMut(&Self) -> bool) -> bool {
        self.children().into_iter().all(holds)
    }

    /// How many levels the tree has, which bounds every recursion over it.
    pub(crate) fn height(&self) -> usize {
        match self {
            Self::Const(value) => value_height(value),
            Self::Path { path, .. } => 1 + path.segments().len(),
            node => 1 + node.children().into_iter().map(Self::height).max().unwrap_or(0),
        }
    }

    /// Calls `visit` on every part, from the top.
    pub(crate) fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n Self)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    /// Every path that is read.
    pub(crate) fn paths(&self) -> Vec<(&Path, At)> {
        let mut paths = Vec::new();
        self.walk(&mut |node| {
            if let Self::Path { path, at } = node {
                paths.push((path, *at));
            }
        });
        paths
    }

    /// The clauses that must all hold.
    pub(crate) fn clauses(&self) -> &[Self] {
        match self {
            Self::Logic { operator: Logic::And, operands } => operands,
            node => std::slice::from_ref(node),
        }
    }
}

fn value_height(value: &Value<'_>) -> usize {
    match value {
        Value::Array(array) => 1 + array.iter().map(|item| value_height(&item)).max().unwrap_or(0),
        Value::Object(object) => {
            1 + object.iter().map(|(_, item)| value_height(&item)).max().unwrap_or(0)
        }
        _ => 1,
    }
}
