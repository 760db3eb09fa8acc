//! What may run after what.
//!
//! Every step is two nodes: *in*, where its fields are made, and *out*, when its output is there; between the
//! two stand its branches. Where it is not sure, an edge too many is drawn: nobody is to be told of
//! a problem that is none.

use std::collections::HashSet;

use super::ids::Ids;
use super::outline::{How, Outline, Role, StepIx};

pub(super) type Node = usize;

pub(super) struct Graph {
    /// Where execution goes.
    ways: Vec<Vec<Node>>,
    /// Beside these, what may have been before: returns from handlers, failures.
    also: Vec<Vec<Node>>,
}

pub(super) fn into(step: StepIx) -> Node {
    2 * step
}

pub(super) fn out(step: StepIx) -> Node {
    2 * step + 1
}

impl Graph {
    pub(super) fn new(outline: &Outline, ids: &Ids<'_>) -> Self {
        // One node more, where handlers return to whoever named one.
        let returns = 2 * outline.steps.len();
        let nodes = returns + 1;
        let mut graph = Self { ways: vec![Vec::new(); nodes], also: vec![Vec::new(); nodes] };
        for ix in 0..outline.steps.len() {
            graph.add_step(outline, ids, ix, returns);
        }
        graph
    }

    fn add_step(&mut self, outline: &Outline, ids: &Ids<'_>, ix: StepIx, returns: Node) {
        let step = &outline.steps[ix];
        let after = Self::after(outline, ix);
        self.ways[into(ix)].push(out(ix));
        for body in &step.bodies {
            self.ways[into(ix)]
                .extend(outline.lists[*body].steps.first().map(|first| into(*first)));
        }
        // Where a step goes that names one nobody knows is told as its own problem.
        let leaves = step.leaves && step.jumps.iter().all(|jump| ids.get(&jump.to).is_some());
        if !leaves {
            self.ways[out(ix)].extend(after);
            if outline.is_handlers(step.list) {
                self.also[out(ix)].push(returns);
            }
        }
        if let Role::Branch { of, .. } = &outline.lists[step.list].role {
            // It may fail, and its branch with it.
            self.also[out(ix)].push(out(*of));
        }
        for jump in &step.jumps {
            let Some(target) = ids.get(&jump.to) else { continue };
            self.ways[out(ix)].push(into(target));
            if matches!(jump.how, How::OnError | How::OnTimeout) {
                self.ways[into(ix)].push(into(target));
                self.ways[out(ix)].extend(after);
                self.also[returns].extend(after);
                self.also[out(target)].push(returns);
                if outline.is_handlers(step.list) {
                    self.also[out(ix)].push(returns);
                }
            }
        }
    }

    /// What follows a step in its list.
    fn after(outline: &Outline, ix: StepIx) -> Option<Node> {
        let step = &outline.steps[ix];
        let list = &outline.lists[step.list];
        match (list.steps.get(step.nth + 1), &list.role) {
            (_, Role::Handlers) => None,
            (Some(next), _) => Some(into(*next)),
            (None, Role::Branch { of, .. }) => Some(out(*of)),
            (None, Role::Main) => None,
        }
    }

    /// Everything that execution gets to from these nodes.
    pub(super) fn reach(&self, from: impl IntoIterator<Item = Node>) -> HashSet<Node> {
        let mut open: Vec<Node> = from.into_iter().collect();
        let mut reached: HashSet<Node> = open.iter().copied().collect();
        while let Some(node) = open.pop() {
            open.extend(self.ways[node].iter().copied().filter(|next| reached.insert(*next)));
        }
        reached
    }

    /// Takes away what may come after a node, and looks no further than the budget allows. With
    /// nothing left of the budget, everything may.
    pub(super) fn remove_later(&self, from: Node, sought: &mut HashSet<Node>, budget: &mut usize) {
        let mut open = std::collections::VecDeque::from([from]);
        let mut seen = HashSet::from([from]);
        while let (Some(node), false) = (open.pop_front(), sought.is_empty()) {
            for next in self.ways[node].iter().chain(&self.also[node]) {
                let Some(left) = budget.checked_sub(1) else {
                    sought.clear();
                    return;
                };
                *budget = left;
                if seen.insert(*next) {
                    sought.remove(next);
                    open.push_back(*next);
                }
            }
        }
    }
}
