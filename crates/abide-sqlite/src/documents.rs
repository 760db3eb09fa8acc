//! Documents, as they are stored.

use abide::{Document, DocumentKind, Error, Json, Timestamp};
use rusqlite::{Connection, Params, params};

use crate::failure::Trouble;

/// A query of documents, followed by what selects them.
macro_rules! select_documents {
    ($($rest:literal),*) => {
        concat!("SELECT name, version, body, updated_at FROM documents d ", $($rest),*)
    };
}

fn read(
    connection: &Connection,
    kind: DocumentKind,
    sql: &str,
    values: impl Params,
) -> Result<Vec<Document>, Trouble> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, version): (std::sync::Arc<str>, u32) = (row.get(0)?, row.get(1)?);
        let body = Json::from_stored(row.get(2)?).map_err(|refused| {
            Error::corrupt(format!("{kind} {name:?}, version {version}: {refused}"))
        })?;
        found.push(Document { kind, name, version, body, updated_at: Timestamp(row.get(3)?) });
    }
    Ok(found)
}

/// The latest version of each, by name.
pub(crate) fn latest(
    connection: &Connection,
    kind: DocumentKind,
) -> Result<Vec<Document>, Trouble> {
    read(
        connection,
        kind,
        select_documents!(
            "WHERE kind = ?1 AND version = (SELECT max(version) FROM documents
               WHERE kind = d.kind AND name = d.name) ORDER BY name"
        ),
        [kind.as_str()],
    )
}

/// One document: this version, or the latest.
pub(crate) fn document(
    connection: &Connection,
    kind: DocumentKind,
    name: &str,
    version: Option<u32>,
) -> Result<Option<Document>, Trouble> {
    let sql = select_documents!(
        "WHERE kind = ?1 AND name = ?2 AND version = coalesce(?3, version)
         ORDER BY version DESC LIMIT 1"
    );
    Ok(read(connection, kind, sql, params![kind.as_str(), name, version])?.pop())
}
