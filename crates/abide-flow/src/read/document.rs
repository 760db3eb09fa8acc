//! The document as a whole.

use std::sync::Arc;

use abide::Buffer;

use super::Reader;
use super::constant::event_type;
use super::shape::Takes;
use super::table::{DEFAULTS, DOCUMENT, EVENT};
use crate::check::outline::{ListIx, Role};
use crate::flow::{Defaults, EventTaken, Flow, Kind, Step};
use crate::tree::{Content, Tree};

/// The longest name: names of triggers are made of it, and those are ids.
const MAX_NAME: usize = 255;

impl<'t> Reader<'t> {
    /// Reads all of it. None, when too little is left to make a flow of.
    pub(super) fn document(&mut self, tree: &Tree) -> Option<Flow> {
        let mut fields = self.fields(tree, &[&DOCUMENT])?;
        let written = tree.member("name");
        let name = fields.text("name");
        if let (Some(name), Some(tree)) = (&name, written) {
            self.within("name", |reader| reader.check_name(name, tree));
        }
        let name = name.unwrap_or_default();
        let events = fields.tree("events").map(|tree| self.within("events", |r| r.events(tree)));
        let triggers = fields
            .tree("triggers")
            .map(|tree| self.within("triggers", |r| r.triggers(&name, tree)));
        let steps = fields.tree("steps").map(|tree| self.within("steps", |r| r.phases(tree)));
        let handlers = fields.tree("handlers").map(|tree| {
            let list = self.outline.add_list(Role::Handlers);
            self.within("handlers", |reader| reader.steps(list, tree))
        });
        Some(Flow {
            name,
            description: fields.text("description"),
            input: fields.json("input"),
            context: fields.field("context"),
            events: events.unwrap_or_default(),
            triggers: triggers.unwrap_or_default(),
            steps: steps?,
            handlers: handlers.unwrap_or_default(),
            output: fields.field("output"),
            defaults: fields.tree("defaults").map(|tree| self.defaults(tree)).unwrap_or_default(),
        })
    }

    fn check_name(&mut self, name: &str, tree: &Tree) {
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            let message = format!("a name has 1 to {MAX_NAME} bytes and no control characters");
            self.tell(tree.span, message, None);
        }
    }

    fn events(&mut self, tree: &Tree) -> Vec<EventTaken> {
        let Content::Map(members) = &tree.content else {
            return self.wrong(Takes::MapOf(&EVENT), tree).unwrap_or_default();
        };
        let mut events = Vec::with_capacity(members.len());
        for (key, value) in members {
            self.within(key.name.clone(), |reader| {
                if let Err((message, hint)) = event_type(&key.name) {
                    reader.tell(key.span, message, hint);
                }
                let mut taken = EventTaken {
                    event_type: key.name.clone(),
                    schema: None,
                    buffer: Buffer::Latest,
                };
                // `approval:` alone declares it.
                if !matches!(value.content, Content::Null)
                    && let Some(mut fields) = reader.fields(value, &[&EVENT])
                {
                    taken.schema = fields.json("schema");
                    let buffer = fields.text("buffer").and_then(|word| word.parse().ok());
                    taken.buffer = buffer.unwrap_or(taken.buffer);
                }
                events.push(taken);
            });
        }
        events
    }

    fn defaults(&mut self, tree: &Tree) -> Defaults {
        self.within("defaults", |reader| {
            let Some(mut fields) = reader.fields(tree, &[&DEFAULTS]) else {
                return Defaults::default();
            };
            Defaults {
                retry: fields.tree("retry").map(|tree| reader.retry(tree)),
                timeout: fields.field("timeout"),
                wait_timeout: fields.field("waitTimeout"),
            }
        })
    }

    /// The steps of the document. A list among them is a phase.
    fn phases(&mut self, tree: &Tree) -> Vec<Arc<Step>> {
        let main = self.outline.add_list(Role::Main);
        let Content::List(items) = &tree.content else {
            return self.wrong(Takes::Phases, tree).unwrap_or_default();
        };
        if !items.iter().any(|item| matches!(item.content, Content::List(_))) {
            return self.steps(main, tree);
        }
        let (mut steps, mut phases) = (Vec::with_capacity(items.len()), 0);
        for (nth, item) in items.iter().enumerate() {
            match &item.content {
                Content::List(members) => {
                    phases += 1;
                    let id = format!("phase-{phases}");
                    steps.push(
                        self.within(id.clone(), |reader| reader.phase(main, &id, item, members)),
                    );
                }
                _ => steps.extend(self.step(main, nth, item)),
            }
        }
        steps
    }

    /// Steps that run at the same time, each a branch.
    fn phase(&mut self, main: ListIx, id: &str, tree: &Tree, members: &[Tree]) -> Arc<Step> {
        if members.is_empty() {
            self.tell(tree.span, "there is no step in this phase", None);
        }
        let path = self.path();
        let ix = self.outline.add_step(main, tree.span.start, path);
        self.outline.steps[ix].id = id.into();
        self.outline.steps[ix].is_concurrent = true;
        let mut branches = Vec::with_capacity(members.len());
        for (nth, member) in members.iter().enumerate() {
            let list = self.outline.add_list(Role::Branch { of: ix, loops: None });
            self.outline.steps[ix].bodies.push(list);
            branches.push(self.step(list, nth, member).into_iter().collect());
        }
        Arc::new(Step {
            id: id.into(),
            kind: Kind::Parallel(branches),
            condition: None,
            retry: None,
            timeout: None,
            next: None,
            on_error: None,
            compensate: None,
        })
    }
}
