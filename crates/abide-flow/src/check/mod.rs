//! What is wrong with a document that can be read: ids, jumps, steps nobody reaches, names nobody knows.

mod graph;
mod ids;
mod jumps;
pub(crate) mod outline;
mod reached;
mod uses;

use crate::finding::Findings;
use crate::tree::Lines;
use graph::Graph;
use ids::Ids;
use jumps::Callers;
use outline::Outline;

/// Tells everything that is wrong.
pub(crate) fn check(outline: &Outline, lines: &Lines<'_>, findings: &mut Findings) {
    let ids = Ids::new(outline, lines, findings);
    let callers = Callers::new(outline, &ids);
    jumps::check(outline, &ids, &callers, findings);
    let graph = Graph::new(outline, &ids);
    let reached = reached::check(outline, &ids, &graph, findings);
    uses::check(outline, &ids, &callers, &graph, &reached, findings);
}
