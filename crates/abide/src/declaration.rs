//! What a workflow says about the events, signals and messages it takes.

use std::sync::Arc;

use crate::event::{Buffer, Kind};
use crate::json::Json;
use crate::schema::Schema;

/// One of them.
#[derive(Clone)]
struct Declaration {
    kind: Kind,
    name: Arc<str>,
    buffer: Buffer,
    schema: Option<Arc<Schema>>,
}

/// All of them, in the order in which they were declared.
#[derive(Clone, Default)]
pub(crate) struct Declarations(Arc<Vec<Declaration>>);

/// Something sent, as a workflow takes it.
pub(crate) struct Taken {
    /// Its payload, defaults filled in.
    pub(crate) payload: Option<Json>,
    /// What happens to it when nobody waits.
    pub(crate) buffer: Buffer,
}

impl Declarations {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A later declaration of the same replaces an earlier one.
    /// What happens to an event of this type that nobody waits for, where that was declared.
    pub(crate) fn buffer_of(&self, event_type: &str) -> Option<Buffer> {
        let events = self.0.iter().filter(|known| known.kind == Kind::Event);
        events.filter(|known| *known.name == *event_type).map(|known| known.buffer).next()
    }

    pub(crate) fn add(&mut self, kind: Kind, name: &str, buffer: Buffer, schema: Option<Schema>) {
        let all = Arc::make_mut(&mut self.0);
        all.retain(|known| (known.kind, &*known.name) != (kind, name));
        let (name, schema) = (name.into(), schema.map(Arc::new));
        all.push(Declaration { kind, name, buffer, schema });
    }

    /// How it takes something, or why it does not. Once an event is declared, others are not taken;
    /// signals and messages need no declaration.
    pub(crate) fn take(
        &self,
        kind: Kind,
        name: &str,
        payload: Option<Json>,
    ) -> Result<Taken, String> {
        let declared = self.0.iter().find(|known| (known.kind, &*known.name) == (kind, name));
        match declared {
            Some(Declaration { buffer, schema: Some(schema), .. }) => {
                Ok(Taken { payload: schema.admit(payload.as_ref())?, buffer: *buffer })
            }
            Some(Declaration { buffer, schema: None, .. }) => {
                Ok(Taken { payload, buffer: *buffer })
            }
            None if kind != Kind::Event => Ok(Taken { payload, buffer: Buffer::Queue }),
            None => self.undeclared(payload),
        }
    }

    fn undeclared(&self, payload: Option<Json>) -> Result<Taken, String> {
        let events = self.0.iter().filter(|known| known.kind == Kind::Event);
        let known: Vec<&str> = events.map(|known| &*known.name).collect();
        if known.is_empty() {
            return Ok(Taken { payload, buffer: Buffer::Latest });
        }
        Err(format!("the workflow does not declare it; declared: {}", known.join(", ")))
    }
}
