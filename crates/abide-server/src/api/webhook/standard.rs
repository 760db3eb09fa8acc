//! Standard Webhooks: `webhook-signature: v1,<base64>[ v1,<base64>…]`, over `<id>.<seconds>.<body>`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::signature::{Refused, Secret, Signed, fits};

/// Answers with the id of the message.
pub(super) fn check(secret: &Secret, call: Signed<'_>) -> Result<String, Refused> {
    let id = call.header("webhook-id")?;
    let seconds = call.header("webhook-timestamp")?;
    let given = call.header("webhook-signature")?.split(' ');
    let ours = given.filter_map(|part| part.strip_prefix("v1,"));
    let signatures: Vec<_> = ours.filter_map(|text| STANDARD.decode(text).ok()).collect();
    let secret = secret.0.strip_prefix("whsec_").unwrap_or(&secret.0);
    let key = STANDARD.decode(secret).map_err(|_| Refused::Secret)?;
    let what = [id.as_bytes(), b".", seconds.as_bytes(), b".", call.body];
    fits(&key, &what, &signatures)?;
    call.fresh(seconds, "webhook-timestamp")?;
    Ok(id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::signature::tests::headers;
    use super::*;
    use abide::Timestamp;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const SECONDS: &str = "1614265330";
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn check_with(id: &str, signature: &str, now: i64, secret: &str) -> Result<String, Refused> {
        let headers = headers(&[
            ("webhook-id", id),
            ("webhook-timestamp", SECONDS),
            ("webhook-signature", signature),
        ]);
        let body = br#"{"test": 2432232314}"#;
        let signed = Signed { headers: &headers, body, now: Timestamp(now * 1000) };
        check(&Secret(secret.into()), signed)
    }

    #[test]
    fn the_example_of_the_specification_is_good_in_its_time() {
        let now = 1_614_265_330;
        assert_eq!(check_with(ID, SIGNATURE, now, SECRET).unwrap(), ID);
        let several = format!("v1a,x v1,AAAA {SIGNATURE}");
        assert_eq!(check_with(ID, &several, now + 300, SECRET).unwrap(), ID);
        assert_eq!(check_with(ID, SIGNATURE, now, &SECRET[6..]).unwrap(), ID);
        assert_eq!(check_with(ID, SIGNATURE, now + 301, SECRET), Err(Refused::Time));
        assert_eq!(check_with("msg_other", SIGNATURE, now, SECRET), Err(Refused::Signature));
        assert_eq!(check_with(ID, &SIGNATURE[3..], now, SECRET), Err(Refused::Signature));
        assert_eq!(check_with(ID, SIGNATURE, now, "whsec_AAAA"), Err(Refused::Signature));
        assert_eq!(check_with(ID, SIGNATURE, now, "not base64!"), Err(Refused::Secret));
    }
}
