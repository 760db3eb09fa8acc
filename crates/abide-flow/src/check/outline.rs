//! What the checks need to know of a document: its steps, who names whom, and what expressions read.

use std::sync::Arc;

use abide::expr::Path;

/// The place of a step in [`Outline::steps`].
pub(crate) type StepIx = usize;
/// The place of a list in [`Outline::lists`].
pub(crate) type ListIx = usize;

#[derive(Default)]
pub(crate) struct Outline {
    pub(crate) steps: Vec<Noted>,
    pub(crate) lists: Vec<List>,
    pub(crate) uses: Vec<Use>,
}

/// A step, and where it stands.
pub(crate) struct Noted {
    /// Empty when it has none.
    pub(crate) id: Arc<str>,
    pub(crate) at: usize,
    pub(crate) path: String,
    pub(crate) list: ListIx,
    /// Its place in the list.
    pub(crate) nth: usize,
    /// Whether the next step of its list never follows: it ends the workflow or always goes elsewhere.
    pub(crate) leaves: bool,
    pub(crate) jumps: Vec<Jump>,
    /// The lists of its branches.
    pub(crate) bodies: Vec<ListIx>,
    /// What it does.
    pub(crate) kind: &'static str,
    /// Whether its branches run beside each other.
    pub(crate) is_concurrent: bool,
}

/// A step that names another.
pub(crate) struct Jump {
    pub(crate) how: How,
    pub(crate) to: Arc<str>,
    pub(crate) at: usize,
    pub(crate) path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// `next`, also that of a case.
    Next,
    OnError,
    OnTimeout,
    Compensate,
}

/// Steps one after the other.
pub(crate) struct List {
    pub(crate) role: Role,
    pub(crate) steps: Vec<StepIx>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Main,
    Handlers,
    /// A branch of a step, with the names of its loop.
    Branch {
        of: StepIx,
        loops: Option<String>,
    },
}

/// A path that an expression reads.
pub(crate) struct Use {
    pub(crate) path: Path,
    /// Where the path begins.
    pub(crate) at: usize,
    /// Where its first segment is written.
    pub(crate) segment_at: usize,
    /// The field in which it is written.
    pub(crate) field: String,
    pub(crate) knows: Knows,
}

/// What is known where an expression stands.
#[derive(Clone, Copy)]
pub(crate) struct Knows {
    pub(crate) when: When,
    pub(crate) event: bool,
    pub(crate) secret: bool,
}

/// When an expression is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Before there is an instance: only the event is known.
    Triggered,
    /// Before the first step.
    Started,
    At(StepIx),
    /// After the last step.
    Ended,
    /// At any time.
    Anytime,
}

impl Outline {
    pub(crate) fn add_list(&mut self, role: Role) -> ListIx {
        self.lists.push(List { role, steps: Vec::new() });
        self.lists.len() - 1
    }

    pub(crate) fn add_step(&mut self, list: ListIx, at: usize, path: String) -> StepIx {
        let ix = self.steps.len();
        let nth = self.lists[list].steps.len();
        self.lists[list].steps.push(ix);
        self.steps.push(Noted {
            id: "".into(),
            at,
            path,
            list,
            nth,
            leaves: false,
            jumps: Vec::new(),
            bodies: Vec::new(),
            kind: "",
            is_concurrent: false,
        });
        ix
    }

    /// The step around a list and the list that is in, up to the outermost.
    pub(crate) fn around(&self, list: ListIx) -> impl Iterator<Item = (StepIx, ListIx)> {
        let outer = |list: &ListIx| match self.lists[*list].role {
            Role::Branch { of, .. } => Some((of, self.steps[of].list)),
            Role::Main | Role::Handlers => None,
        };
        std::iter::successors(outer(&list), move |(_, list)| outer(list))
    }

    /// The names of the loops around a list.
    pub(crate) fn loops(&self, list: ListIx) -> impl Iterator<Item = &str> {
        let lists = std::iter::once(list).chain(self.around(list).map(|(_, list)| list));
        lists.filter_map(|list| match &self.lists[list].role {
            Role::Branch { loops, .. } => loops.as_deref(),
            Role::Main | Role::Handlers => None,
        })
    }

    pub(crate) fn is_handlers(&self, list: ListIx) -> bool {
        self.lists[list].role == Role::Handlers
    }
}
