//! Problems while they are found: in any order, by byte.

use crate::limits::Limits;
use crate::problem::Problem;
use crate::tree::Lines;

/// A problem that does not know its line yet.
struct Finding {
    at: usize,
    path: String,
    message: String,
    hint: Option<String>,
}

/// Everything found so far.
#[derive(Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    pub(crate) fn add(
        &mut self,
        at: usize,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let (path, message) = (path.into(), message.into());
        self.0.push(Finding { at, path, message, hint });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The problems in the order of the document. What is said twice of one place, as by an alias, is
    /// told once.
    pub(crate) fn finish(mut self, text: &str, limits: &Limits) -> Vec<Problem> {
        self.0.sort_by_key(|finding| finding.at);
        self.0.dedup_by(|a, b| (a.at, &a.message) == (b.at, &b.message));
        let untold = self.0.len().saturating_sub(limits.problems);
        self.0.truncate(limits.problems);
        let lines = Lines::new(text);
        let problem = |Finding { at, path, message, hint }| Problem {
            position: lines.position(at),
            path,
            message,
            hint,
        };
        let mut problems: Vec<Problem> = self.0.into_iter().map(problem).collect();
        if let (1.., Some(last)) = (untold, problems.last_mut()) {
            let more = format!("and {untold} more problems (document.maxProblems)");
            last.hint =
                Some(last.hint.take().map_or(more.clone(), |hint| format!("{hint}; {more}")));
        }
        problems
    }
}
