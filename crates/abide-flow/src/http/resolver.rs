//! Names to addresses, of which only allowed ones get through to the connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::AddressRules;

/// How a name is looked up. The default asks the system.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

pub(crate) fn system() -> Lookup {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// The client connects to what this gives it and asks nobody else, so a name can't change its
/// meaning between the check and the connection.
pub(crate) struct Guarded {
    pub(crate) rules: Arc<AddressRules>,
    pub(crate) lookup: Lookup,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (rules, lookup) = (Arc::clone(&self.rules), Arc::clone(&self.lookup));
        Box::pin(async move {
            rules.check_host(&host)?;
            let mut allowed = Vec::new();
            let mut denied = None;
            for address in lookup(host.clone()).await? {
                match rules.check(&host, address) {
                    Ok(()) => allowed.push(SocketAddr::new(address, 0)),
                    Err(reason) => denied = Some(reason),
                }
            }
            match denied {
                Some(reason) if allowed.is_empty() => Err(reason.into()),
                _ if allowed.is_empty() => Err(format!("{host:?} has no address").into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}
