//! Signatures of batches, as Standard Webhooks has them: HMAC-SHA256 over `<id>.<seconds>.<body>`.

use abide::{Error, Result, Timestamp};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};
use ring::hmac::{self, HMAC_SHA256, Key};

use crate::sink::Batch;

/// Signs with a secret.
pub(crate) struct Signer(Key);

impl Signer {
    /// With `whsec_` and base64, or base64 alone.
    pub(crate) fn new(secret: &str) -> Result<Self> {
        let text = secret.strip_prefix("whsec_").unwrap_or(secret);
        match STANDARD.decode(text) {
            Ok(key) if !key.is_empty() => Ok(Self(Key::new(HMAC_SHA256, &key))),
            _ => Err(Error::Invalid {
                what: "signingSecret".into(),
                message: "it must be base64, with whsec_ in front or not".to_owned(),
            }),
        }
    }

    /// `webhook-id`, `webhook-timestamp` and `webhook-signature`.
    pub(crate) fn headers(&self, batch: &Batch, body: &[u8]) -> [(&'static str, String); 3] {
        let (id, seconds) = (id_of(batch), seconds(batch.at));
        let signature = self.sign(&id, &seconds, body);
        [("webhook-id", id), ("webhook-timestamp", seconds), ("webhook-signature", signature)]
    }

    fn sign(&self, id: &str, seconds: &str, body: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
            context.update(part);
        }
        format!("v1,{}", STANDARD.encode(context.sign()))
    }
}

/// The same events in one batch are the same message, however often they are sent.
fn id_of(batch: &Batch) -> String {
    let mut context = Context::new(&SHA256);
    for event in &batch.events {
        context.update(event.event_id.as_bytes());
    }
    let digest = context.finish();
    let hex: String = digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("msg_{hex}")
}

fn seconds(at: Timestamp) -> String {
    at.0.div_euclid(1000).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_is_signed_alike() {
        let signer = Signer::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed =
            signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_that_is_none_is_refused() {
        for secret in ["", "whsec_", "not base64!"] {
            assert!(Signer::new(secret).is_err(), "{secret:?}");
        }
    }
}
