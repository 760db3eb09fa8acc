//! Steps that name others: those exist, and nobody jumps into a branch or out of it.

use super::ids::Ids;
use super::outline::{How, Jump, ListIx, Noted, Outline, Role, StepIx};
use crate::finding::Findings;

/// From which list of steps a handler is reached: what it may name is what they may.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    Nobody,
    One(ListIx),
    Many,
}

/// The callers of every step of `handlers`.
pub(super) struct Callers(Vec<Caller>);

impl Callers {
    pub(super) fn new(outline: &Outline, ids: &Ids<'_>) -> Self {
        let mut callers = Self(vec![Caller::Nobody; outline.steps.len()]);
        let mut changed: Vec<StepIx> = Vec::new();
        for step in outline.steps.iter().filter(|step| !outline.is_handlers(step.list)) {
            callers.pass_on(outline, ids, step, Caller::One(step.list), &mut changed);
        }
        while let Some(handler) = changed.pop() {
            let (step, caller) = (&outline.steps[handler], callers.0[handler]);
            callers.pass_on(outline, ids, step, caller, &mut changed);
        }
        callers
    }

    fn pass_on(
        &mut self,
        outline: &Outline,
        ids: &Ids<'_>,
        step: &Noted,
        caller: Caller,
        changed: &mut Vec<StepIx>,
    ) {
        for target in step.jumps.iter().filter_map(|jump| ids.get(&jump.to)) {
            if outline.is_handlers(outline.steps[target].list) && self.join(target, caller) {
                changed.push(target);
            }
        }
    }

    /// Adds a caller; says whether that is news.
    fn join(&mut self, handler: StepIx, caller: Caller) -> bool {
        let before = self.0[handler];
        self.0[handler] = match (before, caller) {
            (Caller::Nobody, caller) => caller,
            (before, Caller::Nobody) => before,
            (Caller::One(a), Caller::One(b)) if a == b => before,
            _ => Caller::Many,
        };
        before != self.0[handler]
    }

    pub(super) fn of(&self, handler: StepIx) -> Caller {
        self.0[handler]
    }
}

pub(super) fn check(outline: &Outline, ids: &Ids<'_>, callers: &Callers, findings: &mut Findings) {
    for (ix, step) in outline.steps.iter().enumerate() {
        for jump in &step.jumps {
            let Some(target) = ids.get(&jump.to) else {
                let message = format!("there is no step `{}`", jump.to);
                findings.add(jump.at, jump.path.clone(), message, ids.hint(&jump.to));
                continue;
            };
            let to = outline.steps[target].list;
            if jump.how == How::Compensate {
                undoes(outline, jump, target, findings);
                continue;
            }
            if outline.is_handlers(to) || to == step.list {
                continue;
            }
            if !outline.is_handlers(step.list) {
                refuse(outline, jump, step.list, to, findings);
                continue;
            }
            match callers.of(ix) {
                Caller::Nobody => {}
                Caller::One(list) if list == to => {}
                Caller::One(list) => refuse(outline, jump, list, to, findings),
                Caller::Many => {
                    let message = format!(
                        "`{}` is named from several lists of steps, so it can't go on at `{}`",
                        step.id, jump.to
                    );
                    let hint = "without `next` it goes on after the step that named it";
                    findings.add(jump.at, jump.path.clone(), message, Some(hint.to_owned()));
                }
            }
        }
    }
}

/// Tells that a step of one list can't go on in the other.
fn refuse(outline: &Outline, jump: &Jump, from: ListIx, to: ListIx, findings: &mut Findings) {
    let owner = |list: ListIx| match outline.lists[list].role {
        Role::Branch { of, .. } => Some(&*outline.steps[of].id),
        Role::Main | Role::Handlers => None,
    };
    let is_outside =
        outline.lists[to].role == Role::Main || outline.around(from).any(|(_, list)| list == to);
    let message = match (is_outside, owner(from), owner(to)) {
        (true, Some(from), _) => {
            format!("`{}` is outside of `{from}`, and a branch can't be left", jump.to)
        }
        (_, _, Some(to)) => {
            format!("`{}` is inside of `{to}`, and a branch can't be entered", jump.to)
        }
        _ => format!("`{}` can't be reached from here", jump.to),
    };
    let hint = "a step may name steps of its own list, and handlers";
    findings.add(jump.at, jump.path.clone(), message, Some(hint.to_owned()));
}

/// Checks that a step can undo another: it runs apart from all lists, with what was known.
fn undoes(outline: &Outline, jump: &Jump, target: StepIx, findings: &mut Findings) {
    let undo = &outline.steps[target];
    let (message, hint) = match &outline.lists[undo.list].role {
        Role::Branch { of, .. } => (
            format!(
                "`{}` is inside of `{}`, and can't undo a step",
                jump.to, outline.steps[*of].id
            ),
            "make it one of the `handlers`",
        ),
        Role::Main | Role::Handlers if !matches!(undo.kind, "http" | "tool" | "call") => (
            format!("`{}` can't undo a step", jump.to),
            "a step that undoes another does `http`, `tool` or `call`",
        ),
        Role::Main | Role::Handlers => return,
    };
    findings.add(jump.at, jump.path.clone(), message, Some(hint.to_owned()));
}
