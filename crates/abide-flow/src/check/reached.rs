//! Steps that nobody gets to.

use std::collections::HashSet;

use super::graph::{Graph, Node, into};
use super::ids::Ids;
use super::outline::{Noted, Outline, Role};
use crate::finding::Findings;

/// Tells of steps that can't be reached, and says which nodes can.
pub(super) fn check(
    outline: &Outline,
    ids: &Ids<'_>,
    graph: &Graph,
    findings: &mut Findings,
) -> HashSet<Node> {
    let main = outline.lists.iter().find(|list| list.role == Role::Main);
    let first = main.and_then(|main| main.steps.first());
    let reached = graph.reach(first.map(|first| into(*first)));
    let named: HashSet<_> = outline
        .steps
        .iter()
        .enumerate()
        .flat_map(|(ix, step)| step.jumps.iter().map(move |jump| (ix, jump)))
        .filter_map(|(ix, jump)| ids.get(&jump.to).filter(|target| *target != ix))
        .collect();
    for (ix, step) in outline.steps.iter().enumerate() {
        if reached.contains(&into(ix)) {
            continue;
        }
        if outline.is_handlers(step.list) {
            if !named.contains(&ix) {
                let hint =
                    "name it in `next`, `onError`, `timeoutHandlerStepId`, `compensate` or a case";
                let message = format!("no step names the handler `{}`", step.id);
                findings.add(step.at, step.path.clone(), message, Some(hint.to_owned()));
            }
        } else if let Some(before) = first_of_run(outline, &reached, step) {
            let message = format!(
                "`{}` is never reached: `{}` always goes elsewhere, and no step that runs names it",
                step.id, before.id
            );
            findings.add(step.at, step.path.clone(), message, None);
        }
    }
    reached
}

/// The step before it, when that is reached: those that follow an unreached one are not told of.
fn first_of_run<'o>(
    outline: &'o Outline,
    reached: &HashSet<Node>,
    step: &Noted,
) -> Option<&'o Noted> {
    let before = step.nth.checked_sub(1)?;
    let before = *outline.lists[step.list].steps.get(before)?;
    reached.contains(&into(before)).then(|| &outline.steps[before])
}
