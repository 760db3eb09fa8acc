//! How far a durable sink has come, as the store keeps it.

use std::sync::Arc;

use abide::store::Store;
use abide::{DocumentKind, Json, Result};
use serde::{Deserialize, Serialize};

/// What is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The last row of which everything was taken.
    pub(crate) row: i64,
    /// Whether an operator stopped it.
    #[serde(default)]
    pub(crate) paused: bool,
}

/// See the module.
pub(crate) struct Cursor {
    store: Arc<dyn Store>,
    name: String,
    pub(crate) place: Place,
}

impl Cursor {
    /// Where a sink of this name was, or where the history ends when it is new.
    pub(crate) async fn load(store: &Arc<dyn Store>, name: &str, head: i64) -> Result<Self> {
        let stored = store.document(DocumentKind::Sink, name, None).await?;
        let place = stored.as_ref().map(|document| document.body.decode()).transpose()?;
        let place = place.unwrap_or(Place { row: head, paused: false });
        let cursor = Self { store: Arc::clone(store), name: name.to_owned(), place };
        if stored.is_none() {
            // What happens from now on counts, also if nothing is sent before the next start.
            cursor.store(place).await?;
        }
        Ok(cursor)
    }

    /// Goes to another place.
    pub(crate) async fn put(&mut self, place: Place) -> Result<()> {
        if self.place != place {
            self.store(place).await?;
            self.place = place;
        }
        Ok(())
    }

    async fn store(&self, place: Place) -> Result<()> {
        let body = Json::encode(&place)?;
        self.store.put_document(DocumentKind::Sink, &self.name, body).await.map(drop)
    }
}
