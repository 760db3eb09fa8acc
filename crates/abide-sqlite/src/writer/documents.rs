//! Documents: put and removed.

use abide::{Document, DocumentKind, Json};
use rusqlite::params;

use super::batch::Batch;
use crate::documents;
use crate::failure::Trouble;

impl Batch<'_> {
    /// Stores what differs from the latest version as the next one.
    pub(super) fn put_document(
        &mut self,
        kind: DocumentKind,
        name: &str,
        body: Json,
    ) -> Result<Document, Trouble> {
        let latest = documents::document(self.connection, kind, name, None)?;
        let version = match latest {
            Some(latest) if latest.body == body => return Ok(latest),
            Some(latest) => latest.version.saturating_add(1),
            None => 1,
        };
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO documents (kind, name, version, body, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        insert.execute(params![kind.as_str(), name, version, body.as_str(), self.now.0])?;
        if !kind.keeps_versions() {
            let mut delete = self.connection.prepare_cached(
                "DELETE FROM documents WHERE kind = ?1 AND name = ?2 AND version < ?3",
            )?;
            delete.execute(params![kind.as_str(), name, version])?;
        }
        Ok(Document { kind, name: name.into(), version, body, updated_at: self.now })
    }

    /// Removes all versions; whether there was any.
    pub(super) fn remove_document(&self, kind: DocumentKind, name: &str) -> Result<bool, Trouble> {
        let mut delete = self
            .connection
            .prepare_cached("DELETE FROM documents WHERE kind = ?1 AND name = ?2")?;
        Ok(delete.execute([kind.as_str(), name])? > 0)
    }
}
