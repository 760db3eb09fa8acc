//! Steps: what they all may have, and lists of them.

use std::sync::Arc;

use super::fields::Fields;
use super::kinds::KINDS;
use super::shape::Takes;
use super::table::{RETRY, STEP};
use super::{Reader, meant};
use crate::check::outline::{How, Jump, Knows, ListIx, StepIx, When};
use crate::flow::{Kind, RetryRule, Step};
use crate::tree::{Content, Tree};

impl<'t> Reader<'t> {
    /// Reads a list of steps.
    pub(super) fn steps(&mut self, list: ListIx, tree: &Tree) -> Vec<Arc<Step>> {
        let Content::List(items) = &tree.content else {
            return self.wrong(Takes::Steps, tree).unwrap_or_default();
        };
        if items.is_empty() {
            self.tell(tree.span, "there is no step in this list", None);
        }
        let read = |(nth, item)| self.step(list, nth, item);
        items.iter().enumerate().filter_map(read).collect()
    }

    /// Reads the nth step of a list.
    pub(super) fn step(&mut self, list: ListIx, nth: usize, tree: &Tree) -> Option<Arc<Step>> {
        if self.outline.steps.len() >= self.limits.steps {
            if !self.is_full {
                let message = format!("there are more than {} steps", self.limits.steps);
                self.tell(tree.span, message, Some("the limit is document.maxSteps".to_owned()));
            }
            self.is_full = true;
            return None;
        }
        let id = tree.member("id").and_then(Tree::text).filter(|id| !id.is_empty());
        let label = id.map_or_else(|| format!("[{nth}]"), str::to_owned);
        self.within(label, |reader| {
            let at = tree.member("id").map_or(tree.span.start, |id| id.span.start);
            let path = reader.path();
            let ix = reader.outline.add_step(list, at, path);
            let knows = Knows { when: When::At(ix), event: false, secret: false };
            reader.knowing(knows, |reader| reader.whole_step(ix, tree))
        })
    }

    fn whole_step(&mut self, ix: StepIx, tree: &Tree) -> Option<Arc<Step>> {
        let mut fields = self.fields(tree, &[&STEP, &KINDS])?;
        let id: Arc<str> = fields.text("id").unwrap_or_default().into();
        self.outline.steps[ix].id = Arc::clone(&id);
        let next = self.jump(ix, How::Next, "next", &mut fields);
        let kind = self.only_kind(ix, tree, &mut fields);
        let is_last = matches!(kind, Some(Kind::Return(_) | Kind::Fail(_))) || next.is_some();
        let noted = &mut self.outline.steps[ix];
        noted.leaves = (noted.leaves || is_last) && tree.member("if").is_none();
        Some(Arc::new(Step {
            id,
            condition: fields.expr("if"),
            retry: fields.tree("retry").map(|tree| self.retry(tree)),
            timeout: fields.field("timeout"),
            next,
            on_error: self.jump(ix, How::OnError, "onError", &mut fields),
            compensate: self.jump(ix, How::Compensate, "compensate", &mut fields),
            kind: kind?,
        }))
    }

    /// The one thing that a step does; tells when there are none or several.
    fn only_kind(&mut self, ix: StepIx, tree: &Tree, fields: &mut Fields<'_>) -> Option<Kind> {
        let Content::Map(members) = &tree.content else { return None };
        let mut kinds = members.iter().filter(|(key, _)| KINDS.field(&key.name).is_some());
        match (kinds.next(), kinds.next()) {
            (None, _) => {
                let unknown = members.iter().find(|(key, _)| STEP.field(&key.name).is_none());
                // A name that is nearly a kind has been told of already.
                let near = unknown.and_then(|(key, _)| meant(&key.name, KINDS.names()));
                if near.is_none() {
                    let hint = Self::kinds_hint(None);
                    self.tell(tree.span, "the step does not say what to do", Some(hint));
                }
            }
            (Some((first, _)), Some((second, _))) => {
                let message = format!(
                    "a step does one thing, and `{}` is the second after `{}`",
                    second.name, first.name
                );
                let hint = "make it a step of its own";
                self.within(second.name.as_str(), |reader| {
                    reader.tell(second.span, message, Some(hint.to_owned()));
                });
            }
            _ => {}
        }
        let mut kind = None;
        for name in fields.given(&KINDS) {
            self.outline.steps[ix].kind = name;
            let read = fields.take(name)?;
            kind = kind.or(self.kind(ix, name, read));
        }
        kind
    }

    /// A field that names a step.
    pub(super) fn jump(
        &mut self,
        from: StepIx,
        how: How,
        name: &str,
        fields: &mut Fields<'_>,
    ) -> Option<Arc<str>> {
        let (to, at) = fields.step(name)?;
        let path = self.within(name, |reader| reader.path());
        self.outline.steps[from].jumps.push(Jump { how, to: Arc::clone(&to), at, path });
        Some(to)
    }

    pub(super) fn retry(&mut self, tree: &Tree) -> RetryRule {
        self.within("retry", |reader| {
            let Some(mut fields) = reader.fields(tree, &[&RETRY]) else {
                return RetryRule::default();
            };
            RetryRule {
                max_attempts: fields.field("maxAttempts"),
                delay: fields.field("delay"),
                backoff: fields.field("backoff"),
                max_delay: fields.field("maxDelay"),
                max_duration: fields.field("maxDuration"),
            }
        })
    }
}
