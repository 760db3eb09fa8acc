//! What expressions read: names that exist, and outputs that can be there.

use std::collections::{BTreeMap, HashSet};

use abide::expr::nearest;

use super::graph::{Graph, Node, into, out};
use super::ids::Ids;
use super::jumps::{Caller, Callers};
use super::outline::{How, ListIx, Outline, Role, StepIx, Use, When};
use crate::finding::Findings;

/// How many edges are looked at for the order of steps; what is left after that is not judged.
const BUDGET: usize = 5_000_000;

const EVENT: [&str; 8] =
    ["id", "type", "payload", "source", "time", "subject", "correlationId", "seq"];
const WORKFLOW: [&str; 4] = ["id", "run", "context", "name"];
const STEP: [&str; 2] = ["output", "error"];

pub(super) fn check(
    outline: &Outline,
    ids: &Ids<'_>,
    callers: &Callers,
    graph: &Graph,
    reached: &HashSet<Node>,
    findings: &mut Findings,
) {
    let mut checker = Checker { outline, ids, callers, findings };
    let mut ordered: BTreeMap<StepIx, Vec<(StepIx, &Use)>> = BTreeMap::new();
    for used in &outline.uses {
        let Some(target) = checker.known(used) else { continue };
        if checker.left_a_loop(used, target) {
            continue;
        }
        match used.knows.when {
            When::At(step) => ordered.entry(target).or_default().push((step, used)),
            When::Started => checker.too_early(used, target, None),
            When::Triggered | When::Ended | When::Anytime => {}
        }
    }
    let undoing = graph.reach(undoing(outline, ids));
    let mut budget = BUDGET;
    for (target, users) in ordered {
        let is_judged = |step: StepIx| {
            reached.contains(&into(step))
                && !undoing.contains(&into(step))
                && !are_concurrent(outline, target, step)
        };
        let mut sought: HashSet<Node> =
            users.iter().map(|(step, _)| *step).filter(|step| is_judged(*step)).map(into).collect();
        graph.remove_later(out(target), &mut sought, &mut budget);
        for (step, used) in users.iter().filter(|(step, _)| sought.contains(&into(*step))) {
            checker.too_early(used, target, Some(*step));
        }
    }
}

/// Steps that undo others run at any time, so that everything may have been before.
fn undoing(outline: &Outline, ids: &Ids<'_>) -> Vec<Node> {
    let jumps = outline.steps.iter().flat_map(|step| &step.jumps);
    let undo = jumps.filter(|jump| jump.how == How::Compensate);
    undo.filter_map(|jump| ids.get(&jump.to)).map(into).collect()
}

/// Whether two steps stand in different branches of a step that run beside each other.
fn are_concurrent(outline: &Outline, a: StepIx, b: StepIx) -> bool {
    let branches = |ix: StepIx| -> Vec<(StepIx, usize)> {
        let own = outline.steps[ix].list;
        let mut list = own;
        let around = outline.around(own).map(move |(of, outer)| {
            let branch = (of, list);
            list = outer;
            branch
        });
        around.collect()
    };
    let of_b = branches(b);
    branches(a).iter().any(|(of, list)| {
        let other = of_b.iter().find(|(owner, _)| owner == of);
        outline.steps[*of].is_concurrent && other.is_some_and(|(_, other)| other != list)
    })
}

struct Checker<'c, 'o> {
    outline: &'o Outline,
    ids: &'c Ids<'o>,
    callers: &'c Callers,
    findings: &'c mut Findings,
}

impl Checker<'_, '_> {
    fn tell(&mut self, at: usize, used: &Use, message: String, hint: Option<String>) {
        self.findings.add(at, used.field.clone(), message, hint);
    }

    /// Checks the names of a path. The step, if it reads one.
    fn known(&mut self, used: &Use) -> Option<StepIx> {
        let root = used.path.root();
        let roots = self.roots(used);
        if !roots.contains(&root) {
            let message = format!("`{root}` is not known here");
            let hint = elsewhere(root).unwrap_or_else(|| {
                nearest(root, roots.iter().copied()).map_or_else(
                    || format!("there are {}", roots.join(", ")),
                    |near| format!("did you mean `{near}`?"),
                )
            });
            self.tell(used.at, used, message, Some(hint));
            return None;
        }
        let first = used.path.segments().first()?.name();
        match root {
            "workflow" => self.member(used, root, first, &WORKFLOW),
            "event" => self.member(used, root, first, &EVENT),
            "steps" => return self.step(used, first),
            _ => {}
        }
        None
    }

    fn member(&mut self, used: &Use, of: &str, name: &str, known: &[&str]) {
        if known.contains(&name) {
            return;
        }
        let hint = nearest(name, known.iter().copied()).map_or_else(
            || format!("there are {}", known.join(", ")),
            |near| format!("did you mean `{of}.{near}`?"),
        );
        self.tell(used.segment_at, used, format!("`{of}` has no field `{name}`"), Some(hint));
    }

    fn step(&mut self, used: &Use, id: &str) -> Option<StepIx> {
        let Some(target) = self.ids.get(id) else {
            let message = format!("there is no step `{id}`");
            self.tell(used.segment_at, used, message, self.ids.hint(id));
            return None;
        };
        if let Some(field) = used.path.segments().get(1).map(|segment| segment.name())
            && !STEP.contains(&field)
        {
            let message = format!("a step has `output` and `error`, not `{field}`");
            let hint = match nearest(field, STEP) {
                Some(near) => format!("did you mean `steps.{id}.{near}`?"),
                None => format!("did you mean `steps.{id}.output.{field}`?"),
            };
            self.tell(used.segment_at, used, message, Some(hint));
        }
        Some(target)
    }

    /// The names that are known where a path is read.
    fn roots(&self, used: &Use) -> Vec<&str> {
        if used.knows.when == When::Triggered {
            return vec!["event"];
        }
        let mut roots = vec!["input", "workflow", "steps"];
        roots.extend(used.knows.event.then_some("event"));
        roots.extend(used.knows.secret.then_some("secret"));
        if let When::At(step) = used.knows.when {
            let names = roots.len();
            self.add_loops(step, &mut roots);
            if roots.len() > names {
                roots.push("index");
            }
        }
        roots
    }

    /// The names of the loops in which a step runs. A handler runs in those of who names it.
    fn add_loops<'s>(&'s self, step: StepIx, roots: &mut Vec<&'s str>) {
        let outline = self.outline;
        let own = outline.steps[step].list;
        roots.extend(outline.loops(own));
        let outermost = outline.around(own).last();
        let (root, list) = outermost.unwrap_or((step, own));
        if !outline.is_handlers(list) {
            return;
        }
        match self.callers.of(root) {
            Caller::Nobody => {}
            Caller::One(list) => roots.extend(outline.loops(list)),
            Caller::Many => {
                roots.extend(outline.lists.iter().filter_map(|list| match &list.role {
                    Role::Branch { loops, .. } => loops.as_deref(),
                    Role::Main | Role::Handlers => None,
                }))
            }
        }
    }

    /// Tells of a step that runs for every item of a loop, and is read from outside of it: every item
    /// has its own.
    fn left_a_loop(&mut self, used: &Use, target: StepIx) -> bool {
        let outline = self.outline;
        let home = match used.knows.when {
            When::At(step) => match self.home(step) {
                Some(home) => Some(home),
                None => return false,
            },
            When::Ended => None,
            When::Triggered | When::Started | When::Anytime => return false,
        };
        let around = |list| std::iter::once(list).chain(outline.around(list).map(|(_, list)| list));
        let outer =
            around(outline.steps[target].list).find_map(|list| match &outline.lists[list].role {
                Role::Branch { of, loops: Some(_) }
                    if !home.is_some_and(|home| around(home).any(|at| at == list)) =>
                {
                    Some(*of)
                }
                _ => None,
            });
        let Some(owner) = outer else { return false };
        let (id, owner) = (&outline.steps[target].id, &outline.steps[owner].id);
        let message = format!("`{id}` runs for every item of `{owner}`, and is known only there");
        let hint = format!("the last output of each item is in `steps.{owner}.output`");
        self.tell(used.segment_at, used, message, Some(hint));
        true
    }

    /// The list in whose place a step runs: its own, or for a handler that of who names it. None when
    /// there are several.
    fn home(&self, step: StepIx) -> Option<ListIx> {
        let own = self.outline.steps[step].list;
        let (root, list) = self.outline.around(own).last().unwrap_or((step, own));
        if !self.outline.is_handlers(list) {
            return Some(own);
        }
        match self.callers.of(root) {
            // A loop within the handler is its own home.
            Caller::One(list) if root == step => Some(list),
            _ => None,
        }
    }

    fn too_early(&mut self, used: &Use, target: StepIx, step: Option<StepIx>) {
        let id = &self.outline.steps[target].id;
        let message = match step {
            Some(step) if step == target => format!("`{id}` refers to itself, and runs only once"),
            Some(_) => format!("`{id}` can't have run before this step"),
            None => format!("`{id}` can't have run: the context is made before the first step"),
        };
        self.tell(used.segment_at, used, message, None);
    }
}

/// Where a name is known that is not known here.
fn elsewhere(root: &str) -> Option<String> {
    let place = match root {
        "event" => {
            "`event` is known in filterCondition, distinctBy, eventPayloadMapping and triggers"
        }
        "secret" => "`secret` is known in the fields of http, tool and call",
        "item" | "index" => {
            "`item` and `index` are known in the steps of forEach, where `as` may rename the item"
        }
        "output" => "an output is that of a step: `steps.<id>.output`",
        "context" => "did you mean `workflow.context`?",
        _ => return None,
    };
    Some(place.to_owned())
}
