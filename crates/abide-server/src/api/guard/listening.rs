//! Where a server may listen.

use std::net::SocketAddr;

/// Without tokens a server listens on its own machine only, unless told to be insecure.
///
/// # Errors
/// Why not, and what to do about it.
pub fn may_listen(address: SocketAddr, has_tokens: bool, insecure: bool) -> Result<(), String> {
    if has_tokens || insecure || address.ip().is_loopback() {
        return Ok(());
    }
    Err(format!(
        "{address} can be reached from other machines and there is no token: make one with `abide \
         token new`, listen on 127.0.0.1, or pass --insecure"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tokens_only_this_machine_is_served() {
        let may = |address: &str, has_tokens, insecure| {
            may_listen(address.parse().unwrap(), has_tokens, insecure).is_ok()
        };
        assert!(may("127.0.0.1:7878", false, false) && may("[::1]:1", false, false));
        assert!(!may("0.0.0.0:7878", false, false) && !may("[::]:1", false, false));
        assert!(!may("192.168.1.2:7878", false, false));
        assert!(may("0.0.0.0:7878", true, false) && may("0.0.0.0:7878", false, true));
    }
}
