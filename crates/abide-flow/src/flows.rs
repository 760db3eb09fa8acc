//! Documents in a store, and the workflows they are.

use std::sync::Arc;

use abide::store::Store;
use abide::{Builder, Document, DocumentKind, Engine, Error, Json, Trigger};

use crate::equipment::Equipment;
use crate::flow::Flow;
use crate::interpret;
use crate::parse;
use crate::problem::{Problem, report};

/// The documents of an engine.
#[derive(Clone)]
pub struct Flows {
    engine: Engine,
    equipment: Arc<Equipment>,
}

/// A document that was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The workflow.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Whether the document was new or differs from the version before.
    pub changed: bool,
}

/// Why a document was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// Something is wrong with it; nothing was stored.
    #[error("{}", report("document", text, problems))]
    Invalid {
        /// The document.
        text: String,
        /// Everything that is wrong with it.
        problems: Vec<Problem>,
    },
    /// The engine or its store refused.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl Flows {
    /// Registers every document that a store keeps, in all its versions, with an engine in the making.
    ///
    /// # Errors
    /// The store's own. A document that can no longer be read is left out and told: its instances wait.
    pub async fn load(
        store: &dyn Store,
        mut builder: Builder,
        equipment: &Arc<Equipment>,
    ) -> Result<Builder, Error> {
        for latest in store.documents(DocumentKind::Workflow).await? {
            for version in 1..=latest.version {
                let name = &latest.name;
                let stored = store.document(DocumentKind::Workflow, name, Some(version)).await?;
                match stored.map(|document| read(&document)) {
                    Some(Ok(flow)) => {
                        let workflow = interpret::workflow(&Arc::new(flow), version, equipment);
                        builder = builder.register(workflow);
                    }
                    Some(Err(why)) => {
                        tracing::warn!(workflow = %name, version, %why, "can't be read");
                    }
                    None => {}
                }
            }
        }
        Ok(builder)
    }

    /// The documents of an engine that runs.
    #[must_use]
    pub fn new(engine: Engine, equipment: Arc<Equipment>) -> Self {
        Self { engine, equipment }
    }

    /// Checks a document, stores it and lets instances of it begin. One that differs from the last is
    /// the next version; instances that run keep theirs. Its triggers are those of the document from
    /// now on.
    ///
    /// # Errors
    /// Everything that is wrong with it, or the store's own.
    pub async fn register(&self, text: &str) -> Result<Registered, RegisterError> {
        let flow = parse(text)
            .map_err(|problems| RegisterError::Invalid { text: text.to_owned(), problems })?;
        let (flow, store) = (Arc::new(flow), self.engine.store());
        let kind = DocumentKind::Workflow;
        let before = store.document(kind, &flow.name, None).await?;
        let stored = store.put_document(kind, &flow.name, Json::encode(text)?).await?;
        let changed = before.is_none_or(|before| before.version != stored.version);
        let workflow = interpret::workflow(&flow, stored.version, &self.equipment);
        self.engine.register(workflow).await?;
        self.replace_triggers(&flow).await?;
        Ok(Registered { name: flow.name.clone(), version: stored.version, changed })
    }

    /// The text of a document: of this version, or the latest.
    ///
    /// # Errors
    /// [`Error::DefinitionNotFound`] or the store's own.
    pub async fn text(&self, name: &str, version: Option<u32>) -> Result<(u32, String), Error> {
        let found = self.engine.store().document(DocumentKind::Workflow, name, version).await?;
        let missing = || Error::DefinitionNotFound { what: "workflow", name: name.to_owned() };
        let document = found.ok_or_else(missing)?;
        Ok((document.version, document.body.decode()?))
    }

    async fn replace_triggers(&self, flow: &Flow) -> Result<(), Error> {
        let prefix = format!("{}:", flow.name);
        let mut wanted: Vec<(String, &Trigger)> = Vec::new();
        for trigger in &flow.triggers {
            let plain = format!("{prefix}{}", trigger.event_pattern);
            let is_same =
                |(_, known): &&(String, &Trigger)| known.event_pattern == trigger.event_pattern;
            let same = wanted.iter().filter(is_same).count();
            let name = if same == 0 { plain } else { format!("{plain}#{}", same + 1) };
            wanted.push((name, trigger));
        }
        for kept in self.engine.triggers().await? {
            let is_wanted = wanted.iter().any(|(name, _)| **name == *kept.name);
            if kept.name.starts_with(&prefix) && !is_wanted {
                self.engine.remove_trigger(&kept.name).await?;
            }
        }
        for (name, trigger) in wanted {
            self.engine.put_trigger(&name, trigger.clone()).await?;
        }
        Ok(())
    }
}

fn read(document: &Document) -> Result<Flow, String> {
    let text: String = document.body.decode().map_err(|refused| refused.to_string())?;
    parse(&text).map_err(|problems| report(&document.name, &text, &problems))
}
