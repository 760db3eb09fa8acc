//! The fields of a map, read by its shapes.

use std::sync::Arc;

use abide::expr::Expr;
use serde_json::Value;

use super::shape::{Shape, Spec};
use super::{Reader, meant};
use crate::field::Field;
use crate::flow::Mapped;
use crate::tree::{Content, Key, Tree};

/// What a field came to.
pub(super) enum Read<'d> {
    Text(String),
    Field(Field),
    /// Patterns, or the members of a map.
    Fields(Vec<Field>),
    Members(Vec<(String, Field)>),
    Mapping(Vec<(String, Mapped)>),
    Expr(Expr),
    Flag(bool),
    Number(i64),
    Json(Value),
    /// The id of a step and where it is written.
    Step(Arc<str>, usize),
    /// To be read by its own reader.
    Tree(&'d Tree),
}

/// The fields of a map that could be read.
pub(super) struct Fields<'d>(Vec<(&'static Spec, &'d Tree, Read<'d>)>);

impl<'t> Reader<'t> {
    /// Reads the fields of a map that has these shapes; tells of unknown and missing ones.
    pub(super) fn fields<'d>(
        &mut self,
        tree: &'d Tree,
        shapes: &[&'static Shape],
    ) -> Option<Fields<'d>> {
        let Content::Map(members) = &tree.content else {
            let names: Vec<&str> = shapes.iter().flat_map(|shape| shape.names()).collect();
            let message = format!("a map was expected, not {}", tree.kind());
            self.tell(tree.span, message, Some(format!("it may have {}", names.join(", "))));
            return None;
        };
        let mut fields = Vec::with_capacity(members.len());
        for (key, value) in members {
            let Some(spec) = shapes.iter().find_map(|shape| shape.field(&key.name)) else {
                self.unknown(shapes, key);
                continue;
            };
            let read = self.within(spec.name, |reader| reader.value(spec.takes, value));
            fields.extend(read.map(|read| (spec, value, read)));
        }
        let missing = shapes.iter().flat_map(|shape| shape.fields).filter(|spec| {
            spec.is_required && !members.iter().any(|(key, _)| key.name == spec.name)
        });
        for spec in missing {
            let message = format!("`{}` is missing", spec.name);
            self.tell(tree.span, message, Some(format!("it is {}", spec.takes.wanted())));
        }
        Some(Fields(fields))
    }

    fn unknown(&mut self, shapes: &[&'static Shape], key: &Key) {
        // A place for anchors.
        if self.path.is_empty() && key.name.starts_with("x-") {
            return;
        }
        let names = || shapes.iter().flat_map(|shape| shape.names());
        let hint = meant(&key.name, names())
            .unwrap_or_else(|| format!("there are {}", names().collect::<Vec<_>>().join(", ")));
        let message = format!("`{}` is not known here", key.name);
        self.within(key.name.clone(), |reader| reader.tell(key.span, message, Some(hint)));
    }
}

/// Takes a field of one kind out.
macro_rules! take {
    ($($name:ident: $variant:ident -> $type:ty),* $(,)?) => {
        $(pub(super) fn $name(&mut self, name: &str) -> Option<$type> {
            match self.take(name)? {
                Read::$variant(value) => Some(value),
                _ => {
                    debug_assert!(false, "the table says otherwise of {name}");
                    None
                }
            }
        })*
    };
}

impl<'d> Fields<'d> {
    take! {
        text: Text -> String,
        field: Field -> Field,
        fields: Fields -> Vec<Field>,
        mapping: Mapping -> Vec<(String, Mapped)>,
        expr: Expr -> Expr,
        flag: Flag -> bool,
        number: Number -> i64,
        json: Json -> Value,
        tree: Tree -> &'d Tree,
    }

    pub(super) fn step(&mut self, name: &str) -> Option<(Arc<str>, usize)> {
        match self.take(name)? {
            Read::Step(id, at) => Some((id, at)),
            _ => None,
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Read<'d>> {
        let nth = self.0.iter().position(|(spec, ..)| spec.name == name)?;
        Some(self.0.swap_remove(nth).2)
    }

    /// Where a field is written.
    pub(super) fn written(&self, name: &str) -> Option<&'d Tree> {
        self.0.iter().find(|(spec, ..)| spec.name == name).map(|(_, tree, _)| *tree)
    }

    /// The names of a shape that are given.
    pub(super) fn given(&self, shape: &Shape) -> Vec<&'static str> {
        self.0
            .iter()
            .map(|(spec, ..)| spec.name)
            .filter(|name| shape.field(name).is_some())
            .collect()
    }
}
