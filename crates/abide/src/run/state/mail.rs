//! Waits, looks, messages and outputs: asked here, decided by the store.

use std::sync::Arc;

use crate::declaration::Declarations;
use crate::error::Result;
use crate::event::{Delivery, Kind};
use crate::expr::Expr;
use crate::history::{Entry, EntryKind, StepKind};
use crate::id::InstanceId;
use crate::instance::{NewPublish, NewSend, NewTake};
use crate::json::Json;
use crate::log::Publish;
use crate::run::past::Standing;
use crate::terms::Terms;
use crate::time::Timestamp;
use crate::wait::{Count, NewWait};

use super::warning::warnings;
use super::{Op, OpId, Stage, State};

impl State {
    /// Asks for a wait. What it wants is settled when it is first reached; a replay keeps that.
    pub(crate) fn begin_wait(
        &mut self,
        name: &Arc<str>,
        terms: &Terms,
        instance: &InstanceId,
        declared: &Declarations,
        id: impl FnOnce() -> Arc<str>,
    ) -> Result<OpId> {
        let reached = match self.past.steps.contains_key(name) {
            true => None,
            false => Some(self.reached(name, terms, instance, id())?),
        };
        let kind = terms.hears.step_kind();
        let (op, standing) = self.ask(name, kind);
        match (standing, reached) {
            (None, Some(wait)) => {
                let warned = warnings(terms, wait.filter.as_ref(), declared, name.contains('#'));
                warned.iter().for_each(|warning| {
                    tracing::warn!(%instance, step = %name, %warning, "a wait may surprise");
                });
                self.record(&Entry {
                    pattern: Some(wait.hears.pattern().into()),
                    deadline: wait.timeout_at,
                    reason: (!warned.is_empty()).then(|| warned.join("; ")),
                    ..Entry::of_step(EntryKind::WaitStarted, name, kind)
                });
                self.wait_outside(op);
                self.deadline(op, wait.timeout_at);
                self.next.waits.push(wait);
            }
            (Some(Standing::Begun), _) => {
                self.wait_outside(op);
                let timeout_at = self.past.steps.get(name).and_then(|step| step.deadline);
                self.deadline(op, timeout_at);
            }
            (Some(Standing::Settled(outcome)), _) => self.op(op).stage = Stage::Settled(outcome),
            (Some(Standing::Until(_) | Standing::Exhausted | Standing::Cancelled) | None, _) => {}
        }
        Ok(op)
    }

    /// When a wait gives up, as it was reached.
    pub(crate) fn deadline_of(&self, name: &Arc<str>, op: OpId) -> Option<Timestamp> {
        let recorded = self.past.steps.get(name).and_then(|step| step.deadline);
        recorded.or_else(|| self.ops.get(&op).and_then(|op| op.deadline))
    }

    /// A wait with everything known now written into it.
    fn reached(
        &mut self,
        name: &Arc<str>,
        terms: &Terms,
        instance: &InstanceId,
        id: Arc<str>,
    ) -> Result<NewWait> {
        let mut fold = |expr: &Option<Expr>| {
            expr.as_ref().map(|expr| self.context.fold(instance, expr, &terms.known)).transpose()
        };
        let (filter, distinct_by) = (fold(&terms.filter)?, fold(&terms.distinct_by)?);
        let count = terms.count.map(|needed| Count { needed, distinct_by, held: Vec::new() });
        let now = self.clock.now();
        Ok(NewWait {
            id,
            step: Arc::clone(name),
            hears: terms.hears.clone(),
            filter,
            race: terms.race.clone(),
            count,
            since: terms.since,
            timeout_at: terms.timeout.map(|timeout| timeout.at(now)),
        })
    }

    /// A wait with a deadline wants its instance looked at then. The store decides what it means.
    fn deadline(&mut self, op: OpId, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.deadlines.insert(at, op);
            self.op(op).deadline = Some(at);
        }
    }

    /// Asks whether something is already there.
    pub(crate) fn begin_take(&mut self, name: &Arc<str>, kind: Kind, pattern: &Arc<str>) -> OpId {
        let (step, pattern) = (Arc::clone(name), Arc::clone(pattern));
        self.begin_at_store(name, StepKind::Take, |next| {
            next.takes.push(NewTake { step, kind, pattern });
        })
    }

    /// Sends a message.
    pub(crate) fn begin_send(
        &mut self,
        name: &Arc<str>,
        delivery: impl FnOnce() -> Delivery,
    ) -> OpId {
        let step = Arc::clone(name);
        self.begin_at_store(name, StepKind::Send, |next| {
            next.sends.push(NewSend { step, delivery: delivery() });
        })
    }

    /// Publishes an event.
    pub(crate) fn begin_publish(
        &mut self,
        name: &Arc<str>,
        publish: impl FnOnce() -> Publish,
    ) -> OpId {
        let step = Arc::clone(name);
        self.begin_at_store(name, StepKind::Publish, |next| {
            next.publishes.push(NewPublish { step, publish: publish() });
        })
    }

    /// Asks for something that the store settles in the very commit that holds it.
    fn begin_at_store(
        &mut self,
        name: &Arc<str>,
        kind: StepKind,
        ask: impl FnOnce(&mut crate::instance::Transition),
    ) -> OpId {
        let (op, standing) = self.ask(name, kind);
        match standing {
            None => {
                ask(&mut self.next);
                let started = Entry::of_step(EntryKind::StepStarted, name, kind);
                self.record(&started);
                self.wait_outside(op);
            }
            Some(Standing::Settled(outcome)) => self.op(op).stage = Stage::Settled(outcome),
            Some(_) => self.wait_outside(op),
        }
        op
    }

    /// Sets an output, unless an earlier life did.
    pub(crate) fn set_output(&mut self, key: &Arc<str>, value: Json) {
        if self.tell(EntryKind::OutputSet, key, &value) {
            self.next.outputs.push((Arc::clone(key), value));
        }
    }

    /// Tells those who watch, unless an earlier life did.
    pub(crate) fn emit(&mut self, name: &Arc<str>, data: &Json) {
        self.tell(EntryKind::Update, name, data);
    }

    /// Has something said to those who watch, unless an earlier life may have said it.
    pub(crate) fn broadcast(&mut self, name: &Arc<str>, data: Json) {
        if self.is_live() {
            self.broadcasts.push((Arc::clone(name), data));
        }
    }

    /// Records what is no step. Whether this life is the first to do so.
    fn tell(&mut self, kind: EntryKind, name: &Arc<str>, value: &Json) -> bool {
        if let Some(left) = self.told_left.get_mut(&(kind, Arc::clone(name)))
            && *left > 0
        {
            *left -= 1;
            return false;
        }
        self.record(&Entry {
            name: Some(Arc::clone(name)),
            payload: Some(value.clone()),
            ..Entry::new(kind)
        });
        true
    }

    /// A wait lost its race: what it is about was decided by another one, and nobody will ask.
    pub(super) fn lost(&mut self, name: &Arc<str>) {
        if let Some(id) = self.outside.remove(name) {
            let op = self.op(id);
            op.stage = Stage::Never;
            if let Some(at) = op.deadline.take() {
                self.deadlines.remove(at, id);
            }
        } else if let Some(step) = self.past.steps.get_mut(name)
            && step.asked.is_none()
        {
            step.standing = Standing::Cancelled;
        }
    }

    /// The future of a wait was dropped while its workflow lives: whatever met it goes back.
    pub(super) fn dropped_wait(&mut self, id: OpId, op: &Op) {
        if let Some(at) = op.deadline {
            self.deadlines.remove(at, id);
        }
        match op.stage {
            Stage::Outside => {
                self.outside.remove(&op.name);
            }
            Stage::Settled(_) => {}
            _ => return,
        }
        if self.dropping {
            return;
        }
        self.record(&Entry::of_step(EntryKind::WaitCancelled, &op.name, op.kind));
        self.next.cancels.push(Arc::clone(&op.name));
    }
}
