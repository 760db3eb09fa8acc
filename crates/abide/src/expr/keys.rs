//! Finds the equality keys of a filter, by which an index finds the filter.
//!
//! A filter becomes alternatives; an event matches when, in one of them, every key is equal and
//! the residue holds. Only `===` between a path and a constant becomes a key: where JavaScript
//! would convert, equal keys would not be the same as equal values.

use super::Expr;
use super::folded::Alternative;
use super::function::Method;
use super::key::Key;
use super::path::Path;
use super::tree::{Binary, Logic, Node, Unary};
use super::value::Value;

/// More alternatives than this are not worth their rows; what would make more is residue.
const MOST_ALTERNATIVES: usize = 16;

/// Keys that must be equal, and what else must hold.
#[derive(Clone, Debug, Default)]
struct Branch {
    keys: Vec<(Path, Key)>,
    residue: Vec<Node>,
    /// An operand before this branch may err, and then the filter does not match: so the whole
    /// filter is asked again.
    guarded: bool,
}

/// The alternatives of a filter. A single one without keys means: scan.
pub(crate) fn alternatives(filter: &Node) -> Vec<Alternative> {
    split(filter)
        .into_iter()
        .map(|branch| {
            let residue = match (branch.guarded, branch.residue.is_empty()) {
                (true, _) => Some(filter.clone()),
                (false, true) => None,
                (false, false) => Some(Node::logic(Logic::And, branch.residue)),
            };
            let residue = residue.map(|node| Expr::new(node, None));
            Alternative { equalities: branch.keys, residue }
        })
        .collect()
}

/// Either every branch has a key, or there is only one.
fn split(node: &Node) -> Vec<Branch> {
    match node {
        Node::Const(value) if value.is_truthy() => vec![Branch::default()],
        Node::Const(_) => Vec::new(),
        Node::Logic { operator: Logic::And, operands } => {
            operands.iter().fold(vec![Branch::default()], |product, operand| {
                combine(&product, &split(operand))
                    .or_else(|| combine(&product, &[rest(operand)]))
                    .unwrap_or(product)
            })
        }
        Node::Logic { operator: Logic::Or, operands } => {
            either(operands).unwrap_or_else(|| vec![rest(node)])
        }
        Node::Binary { operator: Binary::StrictEqual, left, right, .. } => {
            vec![equality(left, right).map_or_else(|| rest(node), keyed)]
        }
        Node::Call { object, method: Method::Includes, argument: Some(argument), .. } => {
            membership(object, argument).unwrap_or_else(|| vec![rest(node)])
        }
        node => vec![rest(node)],
    }
}

fn keyed(key: (Path, Key)) -> Branch {
    Branch { keys: vec![key], ..Branch::default() }
}

fn rest(node: &Node) -> Branch {
    Branch { residue: vec![node.clone()], ..Branch::default() }
}

/// The branches of all operands; `None` when there are too many, or one has no key and would have
/// to be scanned anyway.
fn either(operands: &[Node]) -> Option<Vec<Branch>> {
    let mut branches = Vec::new();
    let mut guarded = false;
    for operand in operands {
        for branch in split(operand) {
            branches.push(Branch { guarded: guarded || branch.guarded, ..branch });
        }
        guarded |= may_err(operand);
    }
    let keyed = branches.iter().all(|branch| !branch.keys.is_empty());
    (keyed && branches.len() <= MOST_ALTERNATIVES).then_some(branches)
}

/// Every branch of one with every branch of the other, without those that contradict themselves;
/// `None` when there are too many.
fn combine(left: &[Branch], right: &[Branch]) -> Option<Vec<Branch>> {
    let mut product = Vec::new();
    for a in left {
        for b in right {
            let mut both = a.clone();
            both.guarded |= b.guarded;
            both.residue.extend(b.residue.iter().cloned());
            if b.keys.iter().all(|key| add(&mut both.keys, key)) {
                product.push(both);
            }
        }
    }
    (product.len() <= MOST_ALTERNATIVES).then_some(product)
}

/// Adds a key; `false` when the path would have to be two things at once.
fn add(keys: &mut Vec<(Path, Key)>, (path, key): &(Path, Key)) -> bool {
    match keys.iter().find(|(known, _)| known == path) {
        Some((_, known)) => known == key,
        None => {
            keys.push((path.clone(), key.clone()));
            true
        }
    }
}

fn equality(left: &Node, right: &Node) -> Option<(Path, Key)> {
    match (left, right) {
        (Node::Path { path, .. }, Node::Const(value))
        | (Node::Const(value), Node::Path { path, .. }) => Some((path.clone(), Key::of(value)?)),
        _ => None,
    }
}

/// `[a, b].includes(path)`, when every item has a key.
fn membership(array: &Node, argument: &Node) -> Option<Vec<Branch>> {
    let (Node::Const(Value::Array(items)), Node::Path { path, .. }) = (array, argument) else {
        return None;
    };
    if items.len() > MOST_ALTERNATIVES {
        return None;
    }
    let mut keys: Vec<Key> = Vec::new();
    for item in items.iter() {
        let key = Key::of(&item)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Some(keys.into_iter().map(|key| keyed((path.clone(), key))).collect())
}

/// Whether evaluating a part can fail. Cautious: only what certainly can't says no.
fn may_err(node: &Node) -> bool {
    let scalar = |node: &Node| matches!(node, Node::Const(value) if value.is_scalar());
    match node {
        Node::Const(_) | Node::Path { .. } | Node::Local { .. } => false,
        Node::Logic { operands, .. } => operands.iter().any(may_err),
        Node::Unary { operator: Unary::Not, operand } => may_err(operand),
        Node::Binary { operator, left, right, .. } => {
            let strict = matches!(operator, Binary::StrictEqual | Binary::StrictUnequal);
            !strict || !(scalar(left) || scalar(right)) || may_err(left) || may_err(right)
        }
        Node::Call { object, method: Method::Includes, argument: Some(argument), .. } => {
            let flat = matches!(&**object, Node::Const(Value::Array(items))
                if items.len() <= MOST_ALTERNATIVES && items.iter().all(|item| item.is_scalar()));
            !flat || may_err(argument)
        }
        _ => true,
    }
}
