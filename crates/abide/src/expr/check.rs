//! The check before there is data: every name exists, and nothing odd is written.

use super::error::{Position, SyntaxError, Warning};
use super::function::nearest;
use super::path::Path;
use super::scope::{Roots, Shape};
use super::tree::{At, Binary, Node};

pub(crate) fn check(node: &Node, source: &str, roots: &Roots) -> Result<Vec<Warning>, SyntaxError> {
    let mut warnings = Vec::new();
    for (path, at) in node.paths() {
        warnings.extend(check_path(path, at, source, roots)?);
    }
    node.walk(&mut |part| {
        if let Node::Binary { operator, left, right, at } = part
            && let Some(message) = oddity(*operator, left, right)
        {
            warnings.push(Warning { message, position: Position::of(source, at.0 as usize) });
        }
    });
    Ok(warnings)
}

fn check_path(
    path: &Path,
    at: At,
    source: &str,
    roots: &Roots,
) -> Result<Option<Warning>, SyntaxError> {
    let offset = at.0 as usize;
    let Some(mut shape) = roots.0.get(path.root()) else {
        let known: Vec<&str> = roots.0.keys().map(String::as_str).collect();
        let hint = match nearest(path.root(), known.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", known.join(", ")),
        };
        let message = format!("{} is not known here", path.root());
        return Err(SyntaxError::new(source, offset, message).with_hint(hint));
    };
    let mut walked = path.root().to_owned();
    for segment in path.segments() {
        shape = match shape {
            Shape::Any => return Ok(None),
            Shape::Each(each) => each,
            Shape::Fields(fields) => match fields.get(segment.name()) {
                Some(shape) => shape,
                None => {
                    let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                    let hint = match nearest(segment.name(), known.iter().copied()) {
                        Some(meant) => format!("did you mean {meant}?"),
                        None => format!("there are {}", known.join(", ")),
                    };
                    let message = format!("{walked} has no field {}; {hint}", segment.name());
                    let position = Position::of(source, offset);
                    return Ok(Some(Warning { message, position }));
                }
            },
        };
        walked += &segment.to_string();
    }
    Ok(None)
}

/// What is allowed and probably not meant.
fn oddity(operator: Binary, left: &Node, right: &Node) -> Option<String> {
    let path_and_text = |a: &Node, b: &Node| {
        let text = matches!(b, Node::Const(value) if value.is_scalar() && !value.is_nullish());
        matches!(a, Node::Path { .. }) && (text || matches!(b, Node::Path { .. }))
    };
    let relation = |node: &Node| {
        use Binary::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let order = [Less, LessOrEqual, Greater, GreaterOrEqual];
        matches!(node, Node::Binary { operator, .. } if order.contains(operator))
    };
    match operator {
        Binary::Equal if path_and_text(left, right) || path_and_text(right, left) => {
            Some("`==` converts its operands and is never indexed; write ===".to_owned())
        }
        Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual
            if relation(left) =>
        {
            Some("a comparison is compared again; join two comparisons by &&".to_owned())
        }
        _ => None,
    }
}
