//! What starts or cancels instances of the workflow.

use abide::{Batch, Debounce, Throttle, Trigger, TriggerAction};

use super::Reader;
use super::fields::Fields;
use super::shape::{Shape, Takes};
use super::table::TRIGGER;
use crate::check::outline::{Knows, When};
use crate::tree::{Content, Tree};

impl<'t> Reader<'t> {
    /// Reads the triggers of a workflow of this name.
    pub(super) fn triggers(&mut self, workflow: &str, tree: &Tree) -> Vec<Trigger> {
        let Content::List(items) = &tree.content else {
            return self.wrong(Takes::ListOf(&TRIGGER), tree).unwrap_or_default();
        };
        let knows = Knows { when: When::Triggered, event: true, secret: false };
        let mut triggers: Vec<Trigger> = Vec::with_capacity(items.len());
        for (nth, item) in items.iter().enumerate() {
            self.within(format!("[{nth}]"), |reader| {
                let (found, used) = (reader.findings.len(), reader.outline.uses.len());
                let read = reader.knowing(knows, |reader| reader.trigger(workflow, item));
                let Some(trigger) = read else { return };
                let name = format!("{workflow}:{}", trigger.event_pattern);
                if reader.findings.len() == found
                    // Names that it does not know are told with their places.
                    && reader.outline.uses[used..].iter().all(|used| used.path.root() == "event")
                    && let Err(refused) = trigger.check(&name)
                {
                    reader.tell(item.span, refused.to_string(), None);
                }
                triggers.push(trigger);
            });
        }
        triggers
    }

    fn trigger(&mut self, workflow: &str, tree: &Tree) -> Option<Trigger> {
        let mut fields = self.fields(tree, &[&TRIGGER])?;
        let pattern = fields.text("eventPattern");
        let mut trigger = Trigger::start(workflow, pattern.as_deref().unwrap_or_default());
        if fields.text("action").as_deref() == Some("cancel") {
            trigger.action = TriggerAction::Cancel;
        }
        trigger.filter_condition = expression(&mut fields, "filterCondition");
        trigger.input_mapping = fields.json("inputMapping");
        trigger.correlation_key = expression(&mut fields, "correlationKey");
        trigger.enabled = fields.flag("enabled").unwrap_or(true);
        let priority = fields.number("priority").and_then(|number| i32::try_from(number).ok());
        trigger.priority = priority.unwrap_or(0);
        trigger.description = fields.text("description");
        trigger.debounce = self.part(&mut fields, "debounce", |fields| {
            let (period, max_wait) = (fields.text("period")?, fields.text("maxWait"));
            Some(Debounce { period, max_wait, key: expression(fields, "key") })
        });
        trigger.throttle = self.part(&mut fields, "throttle", |fields| {
            let (limit, period) = (count(fields, "limit")?, fields.text("period")?);
            Some(Throttle { limit, period, key: expression(fields, "key") })
        });
        trigger.batch = self.part(&mut fields, "batch", |fields| {
            let (max_size, period) = (count(fields, "maxSize")?, fields.text("period")?);
            Some(Batch { max_size, period, key: expression(fields, "key") })
        });
        pattern.map(|_| trigger)
    }

    fn part<T>(
        &mut self,
        fields: &mut Fields<'_>,
        name: &str,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        let tree = fields.tree(name)?;
        let Takes::Map(shape) = TRIGGER.field(name)?.takes else { return None };
        let shape: &'static Shape = shape;
        let mut inner = self.within(name, |reader| reader.fields(tree, &[shape]))?;
        read(&mut inner)
    }
}

fn expression(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    fields.expr(name).map(|expr| expr.written())
}

fn count(fields: &mut Fields<'_>, name: &str) -> Option<u32> {
    fields.number(name).and_then(|number| u32::try_from(number).ok())
}
