//! What a document may cost.

/// How large a document may be. Everything beyond is refused before it costs anything.
#[derive(Clone, Debug)]
pub struct Limits {
    /// `document.maxBytes`: the size of the text. A workflow is kept in memory and written by people.
    pub bytes: usize,
    /// `document.maxSteps`: all steps, those of branches and handlers included. A run has no more.
    pub steps: usize,
    /// `document.maxDepth`: lists and maps within each other. Readers of it use the stack.
    pub depth: usize,
    /// `document.maxAliasBytes`: what anchors and aliases stand for in all, because aliases of aliases
    /// double.
    pub alias_bytes: usize,
    /// `document.maxProblems`: how many are told at once.
    pub problems: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 1024 * 1024,
            steps: 10_000,
            depth: 100,
            alias_bytes: 4 * 1024 * 1024,
            problems: 1_000,
        }
    }
}
