//! Tokens of a store that no server has open: how the first one comes about.

use abide::store::Store;
use abide::{DocumentKind, Error, Json, Timestamp};

use super::keys::{hex, random};
use super::scope::Scope;
use super::token::{NewToken, Token};

/// What a token is to be.
#[derive(Clone, Debug)]
pub struct TokenTerms {
    /// For people.
    pub name: Option<String>,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// When it is made.
    pub now: Timestamp,
    /// Until when it is good.
    pub expires_at: Option<Timestamp>,
}

/// Makes a token and keeps it in a store. Answers its id and the token itself, which nobody can show
/// again.
///
/// # Errors
/// When it is the first and can't make others, or the store's own.
pub async fn make_token(store: &dyn Store, terms: TokenTerms) -> Result<(String, NewToken), Error> {
    let TokenTerms { name, scopes, now, expires_at } = terms;
    let invalid = |message: &str| Error::Invalid { what: "token".into(), message: message.into() };
    if scopes.is_empty() {
        return Err(invalid("it has no scopes; give read, write or admin"));
    }
    let is_first = store.documents(DocumentKind::Token).await?.is_empty();
    if is_first && !scopes.contains(&Scope::Admin) {
        return Err(invalid("the first one needs the scope admin, or nobody could make another"));
    }
    let no_chance = |_| invalid("the system gives no random bytes");
    let new = NewToken::new().map_err(no_chance)?;
    let id = format!("tok_{}", hex(&random::<8>().map_err(no_chance)?));
    let token = Token::new(&new, name, scopes, now, expires_at);
    store.put_document(DocumentKind::Token, &id, Json::encode(&token)?).await?;
    Ok((id, new))
}
