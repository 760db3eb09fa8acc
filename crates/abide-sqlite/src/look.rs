//! A look into a database that another process may own.

use std::path::Path;

use abide::history::Recorded;
use abide::{Document, DocumentKind, Filter, Instance, Listed, Page, Result};
use rusqlite::Connection;

use crate::{documents, file, row, schema, search};

/// Reads a database and never writes it, so it needs no ownership: whoever owns the file goes on
/// meanwhile. Calls block; each sees everything that was committed before it.
pub struct Look {
    connection: Connection,
}

impl Look {
    /// Opens a database that is there, in the schema of this program.
    ///
    /// # Errors
    /// When there is none, it is damaged, or its schema is another.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if let Err(error) = path.metadata() {
            return Err(file::unavailable(path, &error));
        }
        file::check_whole(path)?;
        let connection = file::open_reader(path)?;
        schema::check(&connection)?;
        Ok(Self { connection })
    }

    /// One document: this version, or the latest.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn document(
        &self,
        kind: DocumentKind,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<Document>> {
        Ok(documents::document(&self.connection, kind, name, version)?)
    }

    /// A page of instances, newest first.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn instances(&self, filter: &Filter, page: Page) -> Result<Listed> {
        Ok(search::instances(&self.connection, filter, page)?)
    }

    /// The history of the current run of an instance, as it was when that was read.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn history_of_run(&self, instance: &Instance) -> Result<Vec<Recorded>> {
        Ok(row::history_of_run(&self.connection, instance)?)
    }
}
