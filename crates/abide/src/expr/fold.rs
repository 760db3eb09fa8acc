//! Folding: writes into an expression what is known already.
//!
//! When a wait registers, everything but the event is known. What can be evaluated then becomes a
//! constant, what is decided then disappears, and the rest is a smaller expression on the event
//! alone. Its value is the same as that of the original, for every event.

use super::error::{FoldError, Position, Warning};
use super::eval::eval_inside;
use super::parser::{CONSTANT_DEPTH, FOLDED, SOURCE};
use super::scope::Scope;
use super::tree::{At, Binary, Logic, Node, Unary};
use super::value::{Unfit, Value};

/// Room for constants in a folded expression, beside what was written.
const ROOM: usize = FOLDED.bytes - 8 * SOURCE.bytes;

pub(crate) fn fold<S: Scope>(node: &Node, scope: &S) -> Result<Node, FoldError> {
    Folder { scope, room: ROOM, locals: 0 }.fold(node)
}

struct Folder<'s, S> {
    scope: &'s S,
    /// Bytes that constants may still take.
    room: usize,
    /// Parameters of the arrow functions around.
    locals: usize,
}

impl<S: Scope> Folder<'_, S> {
    fn fold(&mut self, node: &Node) -> Result<Node, FoldError> {
        if let Some(constant) = self.evaluate(node)? {
            return Ok(constant);
        }
        Ok(match node {
            Node::Const(_) | Node::Path { .. } | Node::Local { .. } => node.clone(),
            Node::Array(items) => Node::array(self.fold_all(items)?),
            Node::Object(fields) => {
                let mut folded = Vec::with_capacity(fields.len());
                for (name, value) in fields {
                    folded.push((name.clone(), self.fold(value)?));
                }
                Node::object(folded)
            }
            Node::Function { function, arguments } => {
                Node::function(*function, self.fold_all(arguments)?)
            }
            Node::Unary { operator, operand } => invert(*operator, self.fold(operand)?),
            Node::Binary { operator, left, right, at } => {
                let right = self.fold(right)?;
                binary(*operator, self.fold(left)?, right, *at)
            }
            Node::Logic { operator, operands } => self.logic(*operator, operands)?,
            Node::Conditional { test, then, otherwise } => match self.fold(test)? {
                Node::Const(test) => self.fold(if test.is_truthy() { then } else { otherwise })?,
                test => Node::Conditional {
                    test: Box::new(test),
                    then: Box::new(self.fold(then)?),
                    otherwise: Box::new(self.fold(otherwise)?),
                },
            },
            Node::Chain(links) => match self.link(links, true)? {
                Some(links) => Node::chain(links),
                None => Node::UNDEFINED,
            },
            link => self.link(link, false)?.unwrap_or(Node::UNDEFINED),
        })
    }

    fn fold_all(&mut self, nodes: &[Node]) -> Result<Vec<Node>, FoldError> {
        nodes.iter().map(|node| self.fold(node)).collect()
    }

    /// The constant that a part is, when all of it is known and it does not err. What errs stays,
    /// because it may never be reached.
    fn evaluate(&mut self, node: &Node) -> Result<Option<Node>, FoldError> {
        if let Node::Const(_) = node {
            return Ok(Some(node.clone()));
        }
        if !self.knows(node) {
            return Ok(None);
        }
        let Ok(value) = eval_inside(node, self.scope, self.locals) else { return Ok(None) };
        match value.to_static(CONSTANT_DEPTH, &mut self.room) {
            Ok(constant) => Ok(Some(Node::Const(constant))),
            Err(Unfit::TooDeep) => {
                Err(FoldError::TooDeep { text: node.to_string().into(), limit: CONSTANT_DEPTH })
            }
            Err(Unfit::TooLarge) => {
                Err(FoldError::TooLarge { text: node.to_string().into(), limit: ROOM })
            }
        }
    }

    /// Whether a part reads nothing that comes later: no unknown root, no parameter from outside.
    fn knows(&self, node: &Node) -> bool {
        match node {
            Node::Path { path, .. } => self.scope.root(path.root()).is_some(),
            Node::Local { slot, .. } => *slot >= self.locals,
            node => node.all_children(&mut |child| self.knows(child)),
        }
    }

    /// Drops operands that decide nothing, and everything after one that decides.
    fn logic(&mut self, operator: Logic, operands: &[Node]) -> Result<Node, FoldError> {
        let mut kept = Vec::with_capacity(operands.len());
        for (place, operand) in operands.iter().enumerate() {
            let operand = self.fold(operand)?;
            let last = place + 1 == operands.len();
            let decides = match &operand {
                Node::Const(value) => Some(match operator {
                    Logic::And => !value.is_truthy(),
                    Logic::Or => value.is_truthy(),
                    Logic::Coalesce => !value.is_nullish(),
                }),
                _ => None,
            };
            if decides != Some(false) || last {
                kept.push(operand);
            }
            if decides == Some(true) {
                break;
            }
        }
        Ok(Node::logic(operator, kept))
    }

    /// A part of a chain; `None` when a `?.` meets nothing. Inside a chain with `?.` no part is
    /// evaluated on its own, for that would lose where the chain was left.
    fn link(&mut self, node: &Node, chained: bool) -> Result<Option<Node>, FoldError> {
        let (object, optional) = match node {
            Node::Member { object, optional, .. }
            | Node::Index { object, optional, .. }
            | Node::Call { object, optional, .. }
            | Node::Quantify { object, optional, .. } => (object, *optional),
            value => return self.fold(value).map(Some),
        };
        let object = if chained { self.link(object, true)? } else { Some(self.fold(object)?) };
        let Some(object) = object else { return Ok(None) };
        if optional && matches!(&object, Node::Const(value) if value.is_nullish()) {
            return Ok(None);
        }
        let folded = match node {
            Node::Member { segment, .. } => Node::member(object, segment.clone(), optional),
            Node::Index { index, .. } => Node::index(object, self.fold(index)?, optional),
            Node::Call { method, argument, .. } => Node::Call {
                object: Box::new(object),
                method: *method,
                argument: match argument {
                    Some(argument) => Some(Box::new(self.fold(argument)?)),
                    None => None,
                },
                optional,
            },
            Node::Quantify { method, parameters, body, .. } => {
                self.locals += parameters.len();
                let body = self.fold(body);
                self.locals -= parameters.len();
                let (method, parameters) = (*method, parameters.clone());
                let body = Box::new(body?);
                Node::Quantify { object: Box::new(object), method, parameters, body, optional }
            }
            _ => object,
        };
        Ok(Some(self.evaluate(&folded)?.unwrap_or(folded)))
    }
}

/// `!(a === b)` is `a !== b`, which may yet become a key.
fn invert(operator: Unary, operand: Node) -> Node {
    match (operator, operand) {
        (Unary::Not, Node::Binary { operator, left, right, at }) => {
            let inverse = match operator {
                Binary::StrictEqual => Some(Binary::StrictUnequal),
                Binary::StrictUnequal => Some(Binary::StrictEqual),
                Binary::Equal => Some(Binary::Unequal),
                Binary::Unequal => Some(Binary::Equal),
                _ => None,
            };
            match inverse {
                Some(operator) => Node::Binary { operator, left, right, at },
                None => Node::unary(Unary::Not, Node::Binary { operator, left, right, at }),
            }
        }
        (operator, operand) => Node::unary(operator, operand),
    }
}

/// A known array on the right of `in` was not written as a literal, so its positions are meant;
/// printed as a literal it would mean membership. An object with the same keys does not.
fn binary(operator: Binary, left: Node, right: Node, at: At) -> Node {
    let right = match right {
        Node::Const(Value::Array(array)) if operator == Binary::In => {
            let places = (0..array.len()).map(|place| place.to_string());
            let keys = places.chain(["length".to_owned()]);
            Node::Const(Value::object(keys.map(|key| (key, Value::Bool(true)))))
        }
        right => right,
    };
    Node::binary(operator, left, right, at)
}

/// Known operands that are missing, which is rarely meant.
pub(crate) fn warnings<S: Scope>(node: &Node, scope: &S, source: &str) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut missing = |part: &Node, whole: &Node| {
        if let Node::Path { path, at } = part
            && path.find(scope).is_some_and(|value| value.is_undefined())
        {
            warnings.push(Warning {
                message: format!("{path} is undefined in {whole}"),
                position: Position::of(source, at.0 as usize),
            });
        }
    };
    node.walk(&mut |whole| match whole {
        Node::Binary { left, right, .. } => {
            let asked = |node: &Node| matches!(node, Node::Const(value) if value.is_nullish());
            if !asked(left) && !asked(right) {
                missing(left, whole);
                missing(right, whole);
            }
        }
        Node::Call { object, argument, .. } => {
            missing(object, whole);
            argument.iter().for_each(|argument| missing(argument, whole));
        }
        Node::Array(parts) | Node::Function { arguments: parts, .. } => {
            parts.iter().for_each(|part| missing(part, whole));
        }
        _ => {}
    });
    warnings.extend(index_tests(node, scope, source));
    warnings
}

/// `in` on a known array, which tests for positions.
fn index_tests<S: Scope>(node: &Node, scope: &S, source: &str) -> Vec<Warning> {
    let mut warnings = Vec::new();
    node.walk(&mut |part| {
        if let Node::Binary { operator: Binary::In, right, at, .. } = part
            && let Node::Path { path, .. } = &**right
            && let Some(Value::Array(_)) = path.find(scope)
        {
            warnings.push(Warning {
                message: format!(
                    "`in {path}` tests for a position; for membership write {path}.includes(..)"
                ),
                position: Position::of(source, at.0 as usize),
            });
        }
    });
    warnings
}
