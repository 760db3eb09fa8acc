//! Evaluates a tree on data, by reference.

use std::cmp::Ordering;

use super::coerce::Work;
use super::error::EvalError;
use super::number::Number;
use super::path::{Path, Segment};
use super::scope::Scope;
use super::tree::{Binary, Logic, Node, Unary};
use super::value::Value;

/// One evaluation.
pub(crate) struct Machine<'a, S> {
    scope: &'a S,
    pub(super) work: Work,
    /// Arguments of the arrow functions that are running.
    pub(super) locals: Vec<Value<'a>>,
}

/// The value of a tree.
pub(crate) fn eval<'a, S: Scope>(node: &'a Node, scope: &'a S) -> Result<Value<'a>, EvalError> {
    Machine { scope, work: Work::new(), locals: Vec::new() }.eval(node)
}

/// Whether a tree holds as a filter: the truth of its value.
pub(crate) fn holds<S: Scope>(node: &Node, scope: &S) -> Result<bool, EvalError> {
    Machine { scope, work: Work::new(), locals: Vec::new() }.holds(node)
}

/// The value of a part inside `outer` parameters, none of which it reads.
pub(crate) fn eval_inside<'a, S: Scope>(
    node: &'a Node,
    scope: &'a S,
    outer: usize,
) -> Result<Value<'a>, EvalError> {
    Machine { scope, work: Work::new(), locals: vec![Value::Undefined; outer] }.eval(node)
}

impl<'a, S: Scope> Machine<'a, S> {
    pub(super) fn eval(&mut self, node: &'a Node) -> Result<Value<'a>, EvalError> {
        self.work.charge(1)?;
        match node {
            Node::Const(value) => Ok(value.reborrow()),
            Node::Path { path, .. } => self.path(path),
            Node::Binary { operator, left, right, .. } => self.binary(*operator, left, right),
            Node::Logic { operator, operands } => self.logic(*operator, operands),
            other => self.eval_rarer(other),
        }
    }

    /// Apart, so that the frame of the common parts stays small: it is what most time is spent on.
    #[inline(never)]
    fn eval_rarer(&mut self, node: &'a Node) -> Result<Value<'a>, EvalError> {
        match node {
            Node::Local { slot, .. } => Ok(self.locals.get(*slot).cloned().unwrap_or_default()),
            Node::Unary { operator, operand } => self.unary(*operator, operand),
            Node::Conditional { test, then, otherwise } => {
                let test = self.eval(test)?.is_truthy();
                self.eval(if test { then } else { otherwise })
            }
            Node::Function { function, arguments } => self.function(*function, arguments),
            Node::Array(items) => {
                let items: Result<Vec<_>, _> = items.iter().map(|item| self.eval(item)).collect();
                Ok(Value::array(items?))
            }
            Node::Object(fields) => {
                let mut values = Vec::with_capacity(fields.len());
                for (name, value) in fields {
                    values.push((&**name, self.eval(value)?));
                }
                Ok(Value::object(values))
            }
            Node::Chain(links) => Ok(self.link(links)?.unwrap_or_default()),
            link => Ok(self.link(link)?.unwrap_or_default()),
        }
    }

    /// The truth of a value, without making the value where a comparison gives the truth directly.
    fn holds(&mut self, node: &'a Node) -> Result<bool, EvalError> {
        self.work.charge(1)?;
        match node {
            Node::Logic { operator: Logic::And, operands } => {
                for operand in operands {
                    if !self.holds(operand)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Logic { operator: Logic::Or, operands } => {
                for operand in operands {
                    if self.holds(operand)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Node::Unary { operator: Unary::Not, operand } => Ok(!self.holds(operand)?),
            Node::Binary { operator, left, right, .. } => {
                let (mut slot_a, mut slot_b) = (Value::Undefined, Value::Undefined);
                let a = self.operand(left, &mut slot_a)?;
                let b = self.operand(right, &mut slot_b)?;
                match self.compare(*operator, a, b, right)? {
                    Some(holds) => Ok(holds),
                    None => Ok(self.arithmetic(*operator, a, b)?.is_truthy()),
                }
            }
            node => Ok(self.eval(node)?.is_truthy()),
        }
    }

    fn path(&mut self, path: &'a Path) -> Result<Value<'a>, EvalError> {
        path.find(self.scope).ok_or_else(|| unknown(path))
    }

    /// A part of a chain; `None` when a `?.` met nothing, which ends the whole chain.
    pub(super) fn link(&mut self, node: &'a Node) -> Result<Option<Value<'a>>, EvalError> {
        let (object, optional) = match node {
            Node::Member { object, optional, .. }
            | Node::Index { object, optional, .. }
            | Node::Call { object, optional, .. }
            | Node::Quantify { object, optional, .. } => (object, *optional),
            value => return self.eval(value).map(Some),
        };
        let Some(value) = self.link(object)? else { return Ok(None) };
        if optional && value.is_nullish() {
            return Ok(None);
        }
        match node {
            Node::Member { segment, .. } => Ok(Some(value.member(segment))),
            Node::Index { index, .. } => {
                let index = self.eval(index)?;
                self.index(value, &index).map(Some)
            }
            Node::Call { method, argument, .. } => {
                self.call(object, &value, *method, argument.as_deref()).map(Some)
            }
            Node::Quantify { method, parameters, body, .. } => {
                self.quantify(object, &value, *method, parameters.len(), body).map(Some)
            }
            _ => Ok(Some(value)),
        }
    }

    fn index(&mut self, value: Value<'a>, index: &Value<'a>) -> Result<Value<'a>, EvalError> {
        if let (Value::Array(array), Value::Number(number)) = (&value, index)
            && let Some(place) = number.as_index()
        {
            return Ok(array.get(place).unwrap_or_default());
        }
        let name = self.work.text(index)?;
        self.work.charge_text(&name)?;
        Ok(value.member(&Segment::new(&name)))
    }

    fn unary(&mut self, operator: Unary, operand: &'a Node) -> Result<Value<'a>, EvalError> {
        let value = self.eval(operand)?;
        Ok(match operator {
            Unary::Not => Value::Bool(!value.is_truthy()),
            Unary::Negate => Value::Number(self.work.number(&value)?.negate()),
            Unary::Plus => Value::Number(self.work.number(&value)?),
            Unary::Typeof => Value::text(match value {
                Value::Undefined => "undefined",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Null | Value::Array(_) | Value::Object(_) => "object",
            }),
        })
    }

    fn logic(&mut self, operator: Logic, operands: &'a [Node]) -> Result<Value<'a>, EvalError> {
        let mut value = Value::Undefined;
        for operand in operands {
            value = self.eval(operand)?;
            let decided = match operator {
                Logic::And => !value.is_truthy(),
                Logic::Or => value.is_truthy(),
                Logic::Coalesce => !value.is_nullish(),
            };
            if decided {
                break;
            }
        }
        Ok(value)
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: &'a Node,
        right: &'a Node,
    ) -> Result<Value<'a>, EvalError> {
        // Constants and paths are looked at where they are: moving values costs more than comparing.
        let (mut slot_a, mut slot_b) = (Value::Undefined, Value::Undefined);
        let a = self.operand(left, &mut slot_a)?;
        let b = self.operand(right, &mut slot_b)?;
        match self.compare(operator, a, b, right)? {
            Some(holds) => Ok(Value::Bool(holds)),
            None => self.arithmetic(operator, a, b),
        }
    }

    #[inline]
    fn operand<'v>(
        &mut self,
        node: &'a Node,
        slot: &'v mut Value<'a>,
    ) -> Result<&'v Value<'a>, EvalError>
    where
        'a: 'v,
    {
        match node {
            Node::Const(value) => return Ok(value),
            Node::Path { path, .. } => match path.find(self.scope) {
                Some(value) => *slot = value,
                None => return Err(unknown(path)),
            },
            node => *slot = self.eval(node)?,
        }
        Ok(slot)
    }

    /// Whether a comparison holds; `None` when the operator is no comparison.
    #[inline]
    fn compare(
        &mut self,
        operator: Binary,
        a: &Value<'a>,
        b: &Value<'a>,
        right: &'a Node,
    ) -> Result<Option<bool>, EvalError> {
        self.work.charge(2)?;
        let work = &mut self.work;
        Ok(Some(match operator {
            Binary::StrictEqual => work.equal(a, b)?,
            Binary::StrictUnequal => !work.equal(a, b)?,
            Binary::Equal => work.loosely_equal(a, b)?,
            Binary::Unequal => !work.loosely_equal(a, b)?,
            Binary::Less => work.order(a, b)?.is_some_and(Ordering::is_lt),
            Binary::LessOrEqual => work.order(a, b)?.is_some_and(Ordering::is_le),
            Binary::Greater => work.order(a, b)?.is_some_and(Ordering::is_gt),
            Binary::GreaterOrEqual => work.order(a, b)?.is_some_and(Ordering::is_ge),
            Binary::In => self.has_key(a, b, right)?,
            _ => return Ok(None),
        }))
    }

    #[inline(never)]
    fn arithmetic(
        &mut self,
        operator: Binary,
        a: &Value<'a>,
        b: &Value<'a>,
    ) -> Result<Value<'a>, EvalError> {
        let operation = match operator {
            Binary::Add => return self.add(a, b),
            Binary::Subtract => Number::subtract,
            Binary::Multiply => Number::multiply,
            Binary::Divide => Number::divide,
            Binary::Remainder => Number::remainder,
            Binary::Power => Number::power,
            // The comparisons are decided before.
            _ => return Ok(Value::Undefined),
        };
        let (a, b) = (self.work.number(a)?, self.work.number(b)?);
        Ok(Value::Number(operation(a, b)))
    }

    fn add(&mut self, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>, EvalError> {
        let (a, b) = (self.work.primitive(a)?, self.work.primitive(b)?);
        if !matches!((&a, &b), (Value::String(_), _) | (_, Value::String(_))) {
            let (a, b) = (self.work.number(&a)?, self.work.number(&b)?);
            return Ok(Value::Number(a.add(b)));
        }
        let (a, b) = (self.work.text(&a)?, self.work.text(&b)?);
        self.work.charge_text(&a)?;
        self.work.charge_text(&b)?;
        Ok(Value::text([&*a, &*b].concat()))
    }

    /// `key in object`; for an array the keys are its positions and `length`.
    #[inline(never)]
    fn has_key(
        &mut self,
        key: &Value<'a>,
        object: &Value<'a>,
        node: &Node,
    ) -> Result<bool, EvalError> {
        let key = self.work.text(key)?;
        match object {
            Value::Object(object) => Ok(object.get(&key).is_some()),
            Value::Array(array) => {
                let place = Segment::new(&key).index();
                Ok(&*key == "length" || place.is_some_and(|place| place < array.len()))
            }
            other => {
                Err(EvalError::NotAnObject { text: node.to_string().into(), kind: other.kind() })
            }
        }
    }
}

#[cold]
fn unknown(path: &Path) -> EvalError {
    EvalError::UnknownRoot { root: path.root().into() }
}
