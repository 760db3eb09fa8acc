//! Where a server without tokens may listen.

use std::net::SocketAddr;

/// Without tokens only this machine may call, unless the operator wants it otherwise.
///
/// # Errors
/// Says what to do about it.
pub fn may_listen(address: SocketAddr, has_tokens: bool, insecure: bool) -> Result<(), String> {
    if has_tokens || insecure || address.ip().is_loopback() {
        return Ok(());
    }
    Err(format!(
        "{address} can be reached from other machines and there is no token: make one with `abide token new`, \
         listen on 127.0.0.1, or say --insecure"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_a_token_or_the_word_of_the_operator() {
        let of = |text: &str| text.parse::<SocketAddr>().unwrap();
        for loopback in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"] {
            assert_eq!(may_listen(of(loopback), false, false), Ok(()));
        }
        for open in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
            assert!(may_listen(of(open), false, false).is_err());
            assert_eq!(may_listen(of(open), true, false), Ok(()));
            assert_eq!(may_listen(of(open), false, true), Ok(()));
        }
    }
}
