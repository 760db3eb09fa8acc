//! Documents that the store does not look into.

use std::sync::Arc;

use abide::{Document, DocumentKind, Json};

use super::state::State;

impl State {
    pub(super) fn documents(&self, kind: DocumentKind) -> Vec<Document> {
        let latest = self.documents.values().filter_map(|versions| versions.last());
        latest.filter(|document| document.kind == kind).cloned().collect()
    }

    pub(super) fn document(
        &self,
        kind: DocumentKind,
        name: &str,
        version: Option<u32>,
    ) -> Option<Document> {
        let versions = self.documents.get(&(kind.as_str(), Arc::from(name)))?;
        let wanted = |document: &&Document| version.is_none_or(|wanted| document.version == wanted);
        versions.iter().rev().find(wanted).cloned()
    }

    pub(super) fn put_document(&mut self, kind: DocumentKind, name: &str, body: Json) -> Document {
        let name: Arc<str> = name.into();
        let versions = self.documents.entry((kind.as_str(), Arc::clone(&name))).or_default();
        let last = versions.last();
        if let Some(same) = last.filter(|last| last.body == body) {
            return same.clone();
        }
        let version = last.map_or(1, |last| last.version + 1);
        let document = Document { kind, name, version, body, updated_at: self.now };
        if !kind.keeps_versions() {
            versions.clear();
        }
        versions.push(document.clone());
        document
    }

    pub(super) fn remove_document(&mut self, kind: DocumentKind, name: &str) -> bool {
        self.documents.remove(&(kind.as_str(), Arc::from(name))).is_some()
    }
}
