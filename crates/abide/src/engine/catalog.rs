//! Triggers and event definitions, as an engine has them at hand. The store keeps the documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::definition::{Defined, EventDefinition};
use crate::document::{Document, DocumentKind};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::pattern;
use crate::publication::Publication;
use crate::store::Store;
use crate::trigger::{Effects, Ready, Trigger};
use crate::workflow::Registry;

use super::Engine;

/// Everything that is asked about a published event before it reaches the store.
#[derive(Default)]
pub(crate) struct Catalog(RwLock<Tables>);

#[derive(Default)]
struct Tables {
    definitions: BTreeMap<Arc<str>, Arc<Defined>>,
    triggers: BTreeMap<Arc<str>, Arc<Ready>>,
}

impl Catalog {
    /// Reads what the store keeps. A document that this program can't read is left out and told.
    pub(super) async fn load(&self, store: &dyn Store) -> Result<()> {
        let definitions = store.documents(DocumentKind::EventDefinition).await?;
        let triggers = store.documents(DocumentKind::Trigger).await?;
        let mut tables = self.0.write();
        for document in definitions {
            match document.body.decode().and_then(Defined::new) {
                Ok(read) => drop(tables.definitions.insert(document.name, Arc::new(read))),
                Err(error) => left_out(&document, &error),
            }
        }
        for document in triggers {
            match document.body.decode().and_then(|body| Ready::new(&document.name, body)) {
                Ok(read) => drop(tables.triggers.insert(document.name, Arc::new(read))),
                Err(error) => left_out(&document, &error),
            }
        }
        Ok(())
    }

    /// The definition of a type.
    pub(super) fn definition(&self, event_type: &str) -> Option<Arc<Defined>> {
        self.0.read().definitions.get(event_type).cloned()
    }

    /// One trigger.
    pub(super) fn trigger(&self, name: &str) -> Result<Arc<Ready>> {
        let found = self.0.read().triggers.get(name).cloned();
        found.ok_or_else(|| Error::DefinitionNotFound { what: "trigger", name: name.to_owned() })
    }

    /// What all triggers together make of an event.
    pub(super) fn effects(&self, event: &Publication, registry: &Registry) -> Effects {
        let mut hearing: Vec<Arc<Ready>> = {
            let tables = self.0.read();
            let all = tables.triggers.values();
            all.filter(|trigger| trigger.hears(&event.event_type)).cloned().collect()
        };
        // They come by name, and the sort keeps that among equals.
        hearing.sort_by_key(|trigger| trigger.written.priority);
        let mut effects = Effects::default();
        hearing.iter().for_each(|trigger| trigger.add_effects(event, registry, &mut effects));
        effects
    }
}

fn left_out(document: &Document, error: &Error) {
    let Document { kind, name, version, .. } = document;
    tracing::warn!(%kind, %name, version, %error, "can't be read and does nothing");
}

/// A document as people know it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kept<T> {
    /// Its name.
    pub name: Arc<str>,
    /// Counts from 1; a change makes the next.
    pub version: u32,
    /// What it says.
    #[serde(flatten)]
    pub body: T,
}

fn kept<T: DeserializeOwned>(document: Document) -> Result<Kept<T>> {
    let Document { name, version, body, .. } = document;
    Ok(Kept { name, version, body: body.decode()? })
}

impl Engine {
    /// Registers a trigger, or changes it. It sees what is published from now on;
    /// [`Engine::replay`] shows it what was published before.
    ///
    /// # Errors
    /// [`Error::Invalid`] with what is wrong and where, or the store's own.
    pub async fn put_trigger(&self, name: &str, trigger: Trigger) -> Result<Kept<Trigger>> {
        let ready = Ready::new(name, trigger)?;
        self.inner.env.registry.latest(&ready.written.workflow)?;
        let body = Json::encode(&ready.written)?;
        let stored = self.inner.store.put_document(DocumentKind::Trigger, name, body).await?;
        let mut tables = self.inner.env.catalog.0.write();
        tables.triggers.insert(name.into(), Arc::new(ready));
        drop(tables);
        kept(stored)
    }

    /// All triggers, by name.
    ///
    /// # Errors
    /// The store's own.
    pub async fn triggers(&self) -> Result<Vec<Kept<Trigger>>> {
        let all = self.inner.store.documents(DocumentKind::Trigger).await?;
        all.into_iter().map(kept).collect()
    }

    /// Removes a trigger. What it started goes on.
    ///
    /// # Errors
    /// [`Error::DefinitionNotFound`] or the store's own.
    pub async fn remove_trigger(&self, name: &str) -> Result<()> {
        self.remove(DocumentKind::Trigger, "trigger", name).await?;
        self.inner.env.catalog.0.write().triggers.remove(name);
        Ok(())
    }

    /// Says what events of a type look like. Payloads that don't are refused from now on, with
    /// [`Error::EventInvalid`].
    ///
    /// # Errors
    /// When the schema is none, an example does not fit, or the store's own.
    pub async fn define_event(
        &self,
        event_type: &str,
        definition: EventDefinition,
    ) -> Result<Kept<EventDefinition>> {
        pattern::check(event_type)?;
        let defined = Defined::new(definition)?;
        let body = Json::encode(&defined.written)?;
        let kind = DocumentKind::EventDefinition;
        let stored = self.inner.store.put_document(kind, event_type, body).await?;
        let mut tables = self.inner.env.catalog.0.write();
        tables.definitions.insert(event_type.into(), Arc::new(defined));
        drop(tables);
        kept(stored)
    }

    /// All event definitions, by type.
    ///
    /// # Errors
    /// The store's own.
    pub async fn event_definitions(&self) -> Result<Vec<Kept<EventDefinition>>> {
        let all = self.inner.store.documents(DocumentKind::EventDefinition).await?;
        all.into_iter().map(kept).collect()
    }

    /// Removes an event definition: any payload is fine from now on.
    ///
    /// # Errors
    /// [`Error::DefinitionNotFound`] or the store's own.
    pub async fn remove_event_definition(&self, event_type: &str) -> Result<()> {
        self.remove(DocumentKind::EventDefinition, "event definition", event_type).await?;
        self.inner.env.catalog.0.write().definitions.remove(event_type);
        Ok(())
    }

    async fn remove(&self, kind: DocumentKind, what: &'static str, name: &str) -> Result<()> {
        if self.inner.store.remove_document(kind, name).await? {
            return Ok(());
        }
        Err(Error::DefinitionNotFound { what, name: name.to_owned() })
    }
}
