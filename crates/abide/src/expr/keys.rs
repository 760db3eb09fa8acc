//! Finds the equality keys of a filter, by which an index finds the filter.
//!
//! A filter becomes alternatives; an event matches when, in one of them, every key is equal and
//! the residue holds. Only `===` between a path and a constant becomes a key: where JavaScript
//! would convert, equal keys would not be the same as equal values.

use super::function::Method;
use super::key::Key;
use super::path::Path;
use super::tree::{Binary, Logic, Node};
use super::value::Value;

/// More alternatives than this are not worth their rows; the filter is then scanned.
pub(crate) const MOST_ALTERNATIVES: usize = 16;

/// Keys that must be equal, and what else must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    pub(crate) keys: Vec<(Path, Key)>,
    pub(crate) residue: Vec<Node>,
    /// An operand before this branch may err, and then the filter does not match: so the whole
    /// filter is asked again.
    guarded: bool,
}

/// The branches of a filter, each with its residue. One branch without keys means: scan.
pub(crate) fn branches(filter: &Node) -> Vec<(Vec<(Path, Key)>, Option<Node>)> {
    let whole = || vec![(Vec::new(), Some(filter.clone()))];
    let Some(branches) = split(filter) else { return whole() };
    if branches.iter().any(|branch| branch.keys.is_empty()) {
        // Nothing at all to ask is the filter that always holds.
        let trivial = branches.len() == 1 && branches.iter().all(|b| b.residue.is_empty());
        return if trivial { vec![(Vec::new(), None)] } else { whole() };
    }
    branches
        .into_iter()
        .map(|branch| {
            let residue = match (branch.guarded, branch.residue.is_empty()) {
                (true, _) => Some(filter.clone()),
                (false, true) => None,
                (false, false) => Some(Node::logic(Logic::And, branch.residue)),
            };
            (branch.keys, residue)
        })
        .collect()
}

/// `None` when there would be too many.
fn split(node: &Node) -> Option<Vec<Branch>> {
    match node {
        Node::Const(value) if value.is_truthy() => Some(vec![Branch::default()]),
        Node::Const(_) => Some(Vec::new()),
        Node::Logic { operator: Logic::And, operands } => {
            operands.iter().try_fold(vec![Branch::default()], |product, operand| {
                combine(&product, &split(operand)?)
            })
        }
        Node::Logic { operator: Logic::Or, operands } => either(operands),
        Node::Binary { operator: Binary::StrictEqual, left, right, .. } => {
            Some(vec![equality(left, right).map_or_else(|| rest(node), keyed)])
        }
        Node::Call { object, method: Method::Includes, argument: Some(argument), .. } => {
            Some(membership(object, argument).unwrap_or_else(|| vec![rest(node)]))
        }
        node => Some(vec![rest(node)]),
    }
}

fn keyed(key: (Path, Key)) -> Branch {
    Branch { keys: vec![key], ..Branch::default() }
}

fn rest(node: &Node) -> Branch {
    Branch { residue: vec![node.clone()], ..Branch::default() }
}

fn either(operands: &[Node]) -> Option<Vec<Branch>> {
    let mut branches = Vec::new();
    let mut guarded = false;
    for operand in operands {
        for branch in split(operand)? {
            branches.push(Branch { guarded: guarded || branch.guarded, ..branch });
        }
        guarded |= may_err(operand);
    }
    (branches.len() <= MOST_ALTERNATIVES).then_some(branches)
}

/// Every branch of one with every branch of the other, without those that contradict themselves.
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
        Node::Unary { operator: super::tree::Unary::Not, operand } => may_err(operand),
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
