//! Which addresses HTTP steps may reach.
//!
//! Workflows are written by the operator, so loopback and private networks are fair; but addresses
//! that hand credentials to whoever asks (link-local, the metadata services of clouds) and those that
//! mean no single machine are not. The check is made on the address that is connected to, after names
//! are resolved, so that neither a name nor an odd spelling gets around it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// What is denied unless an address rule of the settings allows at least as narrow a network.
const BUILT_IN: [(&str, &str); 12] = [
    ("0.0.0.0/8", "\"this host\" addresses"),
    ("::/128", "the unspecified address"),
    ("169.254.0.0/16", "link-local and metadata addresses"),
    ("fe80::/10", "link-local addresses"),
    ("fd00:ec2::254/128", "metadata addresses"),
    ("fd20:ce::254/128", "metadata addresses"),
    ("100.100.100.200/32", "metadata addresses"),
    ("168.63.129.16/32", "metadata addresses"),
    ("192.0.0.192/32", "metadata addresses"),
    ("224.0.0.0/4", "multicast addresses"),
    ("ff00::/8", "multicast addresses"),
    ("255.255.255.255/32", "the broadcast address"),
];

/// One entry of `allow` or `deny`: `10.0.0.0/8`, `::1`, `api.example.com`, `*.example.com` or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRule(Matches);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Matches {
    Everything,
    Network(IpAddr, u8),
    Host(String),
    /// Every name below this one.
    Below(String),
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no address rule: {why}; right would be 10.0.0.0/8, ::1, api.example.com, *.example.com or *"
)]
pub struct AddressRuleError {
    text: String,
    why: &'static str,
}

/// Which addresses may be reached: `[http] allow` and `deny`.
///
/// - Of the rules that match a host or its address **the most specific decides**: a name before
///   `*.domain`, a name before a network, a narrow network before a wide one; of two equal ones, `deny`.
///   So `deny: ["*"]` with `allow: ["api.example.com"]` reaches that one only.
/// - What no rule matches may be reached, except link-local and metadata addresses, `0.0.0.0/8`,
///   multicast and broadcast. To reach one of those, allow its **address** (`169.254.169.254/32`): no
///   name lifts this protection, because whoever owns the name could point it there.
/// - An IPv4 address inside an IPv6 one (mapped, compatible, 6to4, Teredo, NAT64) is judged as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// These may be reached.
    pub allow: Vec<AddressRule>,
    /// These may not.
    pub deny: Vec<AddressRule>,
}

/// The rule that keeps an address from being reached. It does not tell the address: a name may
/// have been chosen to find it out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host:?} may not be reached: {rule}")]
pub(crate) struct Denied {
    pub(crate) host: String,
    pub(crate) rule: String,
}

impl AddressRules {
    /// Reads both lists.
    ///
    /// # Errors
    /// When an entry is none.
    pub fn parse<T: AsRef<str>>(allow: &[T], deny: &[T]) -> Result<Self, AddressRuleError> {
        let read = |texts: &[T]| texts.iter().map(|text| text.as_ref().parse()).collect();
        Ok(Self { allow: read(allow)?, deny: read(deny)? })
    }

    /// Whether the settings deny this host whatever its address is: then there is no need to look.
    pub(crate) fn check_host(&self, host: &str) -> Result<(), Denied> {
        let host = plain(host);
        let by_name = |rules: &[AddressRule]| {
            rules
                .iter()
                .filter_map(|rule| Some((rule.rank_of_host(&host)?, rule.clone())))
                .max_by_key(|(rank, _)| *rank)
        };
        match (by_name(&self.deny), by_name(&self.allow)) {
            // `*` alone says nothing about names: an allowed network may still be what is asked for.
            (Some((rank, rule)), allowed)
                if rank > 0 && allowed.as_ref().is_none_or(|(other, _)| rank >= *other) =>
            {
                Err(Denied { host, rule: format!("{rule} is denied") })
            }
            _ => Ok(()),
        }
    }

    /// Whether a host that has this address may be reached there.
    pub(crate) fn check(&self, host: &str, address: IpAddr) -> Result<(), Denied> {
        let host = plain(host);
        let mut deny = |rule: String| Err(Denied { host: host.clone(), rule });
        for address in faces(address) {
            let best = |rules: &[AddressRule]| {
                rules
                    .iter()
                    .filter_map(|rule| Some((rule.rank(&host, address)?, rule.clone())))
                    .max_by_key(|(rank, _)| *rank)
            };
            let (denied, allowed) = (best(&self.deny), best(&self.allow));
            if let Some((rank, rule)) = denied
                && allowed.is_none_or(|(other, _)| rank >= other)
            {
                return deny(format!("{rule} is denied"));
            }
            if let Some((network, what)) = built_in(address)
                && !self.allow.iter().any(|rule| rule.is_within(network, address))
            {
                return deny(format!(
                    "{what} are not allowed unless [http] allow names the network"
                ));
            }
        }
        Ok(())
    }
}

impl AddressRule {
    /// How specifically it speaks about a host, if it does. Names come before networks.
    fn rank_of_host(&self, host: &str) -> Option<usize> {
        const NAME: usize = 1000;
        match &self.0 {
            Matches::Everything => Some(0),
            Matches::Network(..) => None,
            Matches::Host(name) => (name == host).then_some(usize::MAX),
            Matches::Below(domain) => {
                let below = host.strip_suffix(domain.as_str())?.ends_with('.');
                below.then_some(NAME + domain.len())
            }
        }
    }

    fn rank(&self, host: &str, address: IpAddr) -> Option<usize> {
        match self.0 {
            Matches::Network(network, bits) => {
                contains(network, bits, address).then_some(1 + usize::from(bits))
            }
            _ => self.rank_of_host(host),
        }
    }

    /// Whether it is a network with this address, no wider than the other.
    fn is_within(&self, other_bits: u8, address: IpAddr) -> bool {
        match self.0 {
            Matches::Network(network, bits) => {
                bits >= other_bits && contains(network, bits, address)
            }
            Matches::Everything | Matches::Host(_) | Matches::Below(_) => false,
        }
    }
}

/// How narrow the built-in network around an address is, and what it is.
fn built_in(address: IpAddr) -> Option<(u8, &'static str)> {
    BUILT_IN.iter().find_map(|(network, what)| match network.parse() {
        Ok(AddressRule(Matches::Network(network, bits))) => {
            contains(network, bits, address).then_some((bits, *what))
        }
        _ => None,
    })
}

/// An address and the IPv4 addresses that it may end at.
fn faces(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(v6) = address.to_canonical() else { return vec![address.to_canonical()] };
    let mut faces = vec![IpAddr::V6(v6)];
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let mut inner = |high: u16, low: u16| {
        let bits = (u32::from(high) << 16) | u32::from(low);
        faces.push(IpAddr::V4(Ipv4Addr::from_bits(bits)));
    };
    match (a, b) {
        // Compatible (the old form), translated; not ::1 and not ::.
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0) && (g, h) != (0, 0) && (g, h) != (0, 1) => {
            inner(g, h)
        }
        (0, 0) if (c, d, e, f) == (0, 0, 0xffff, 0) => inner(g, h),
        // NAT64, by the well-known and by the local prefix.
        (0x64, 0xff9b) => inner(g, h),
        // 6to4.
        (0x2002, _) => inner(b, c),
        // Teredo: the server, and the client turned over.
        (0x2001, 0) => {
            inner(c, d);
            inner(!g, !h);
        }
        _ => {}
    }
    faces
}

fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        _ => false,
    }
}

/// A host name in one spelling.
fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

impl FromStr for AddressRule {
    type Err = AddressRuleError;

    fn from_str(text: &str) -> Result<Self, AddressRuleError> {
        let wrong = |why| AddressRuleError { text: text.to_owned(), why };
        if text == "*" {
            return Ok(Self(Matches::Everything));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            let bits = if address.is_ipv4() { 32 } else { 128 };
            return Ok(Self(Matches::Network(address, bits)));
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr =
                address.parse().map_err(|_| wrong("what is before the slash is no address"))?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            return match bits.parse() {
                Ok(bits) if bits <= most => Ok(Self(Matches::Network(address, bits))),
                _ => Err(wrong("what is after the slash is no number of bits")),
            };
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(domain) => (true, plain(domain)),
            None => (false, plain(text)),
        };
        let letters = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(letters) || name.split('.').any(str::is_empty) {
            return Err(wrong("it is neither an address nor a host name"));
        }
        Ok(Self(if below { Matches::Below(name) } else { Matches::Host(name) }))
    }
}

impl fmt::Display for AddressRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Matches::Everything => f.write_str("*"),
            Matches::Network(address, bits) => write!(f, "{address}/{bits}"),
            Matches::Host(name) => f.write_str(name),
            Matches::Below(domain) => write!(f, "*.{domain}"),
        }
    }
}

/// The address that a host is, when it is spelled as one.
pub(crate) fn literal(host: &url::Host<&str>) -> Option<IpAddr> {
    match host {
        url::Host::Ipv4(address) => Some(IpAddr::V4(*address)),
        url::Host::Ipv6(address) => Some(IpAddr::V6(*address)),
        url::Host::Domain(name) => {
            name.trim_matches(['[', ']']).parse::<Ipv6Addr>().ok().map(IpAddr::V6)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(rules: &AddressRules, host: &str, address: &str) -> bool {
        rules.check(host, address.parse().unwrap()).is_ok()
    }

    #[test]
    fn loopback_private_and_public_addresses_may_be_reached() {
        let rules = AddressRules::default();
        for address in
            ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.9", "fd12::1", "1.1.1.1", "::ffff:10.0.0.1"]
        {
            assert!(allowed(&rules, "h", address), "{address}");
        }
    }

    #[test]
    fn addresses_that_give_secrets_away_may_not_in_whatever_form() {
        let rules = AddressRules::default();
        for address in [
            "169.254.169.254",
            "169.254.0.1",
            "fe80::1",
            "febf::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "::ffff:0:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::100.100.100.200",
            "2002:a9fe:a9fe::1",
            "2001:0:0101:0101::5601:5601",
        ] {
            assert!(!allowed(&rules, "h", address), "{address}");
        }
    }

    #[test]
    fn the_most_specific_rule_decides_and_deny_wins_a_tie() {
        let rules = AddressRules::parse(
            &["10.1.0.0/16", "api.example.com", "both.example.com"],
            &["10.0.0.0/8", "*.example.com", "both.example.com"],
        )
        .unwrap();
        assert!(allowed(&rules, "h", "10.1.2.3"));
        assert!(!allowed(&rules, "h", "10.2.2.3"));
        assert!(allowed(&rules, "API.example.com.", "1.1.1.1"));
        assert!(!allowed(&rules, "other.example.com", "1.1.1.1"));
        assert!(!allowed(&rules, "both.example.com", "1.1.1.1"));
        assert!(allowed(&rules, "example.com", "1.1.1.1"));
    }

    #[test]
    fn everything_but_the_allowed_can_be_denied() {
        let rules = AddressRules::parse(&["api.corp", "127.0.0.0/8"], &["*"]).unwrap();
        assert!(allowed(&rules, "api.corp", "10.0.0.1"));
        assert!(allowed(&rules, "localhost", "127.0.0.1"));
        assert!(!allowed(&rules, "other.corp", "10.0.0.1"));
        assert!(rules.check_host("localhost").is_ok(), "its address may be allowed");
        let by_name = AddressRules::parse(&[], &["evil.example"]).unwrap();
        assert!(by_name.check_host("evil.example").is_err());
    }

    #[test]
    fn only_a_narrow_address_rule_lifts_the_built_in_protection() {
        let check = |allow: &str| {
            allowed(
                &AddressRules::parse(&[allow], &[]).unwrap(),
                "meta.internal",
                "169.254.169.254",
            )
        };
        assert!(check("169.254.169.254"));
        assert!(check("169.254.0.0/16"));
        assert!(!check("0.0.0.0/0"));
        assert!(!check("meta.internal"));
        assert!(!check("*"));
    }

    #[test]
    fn what_is_no_rule_is_refused_with_what_would_be_one() {
        for text in ["10.0.0.0/33", "10.0.0/8", "::/129", "", "a..b", "http://x", "a b"] {
            let refused = text.parse::<AddressRule>().unwrap_err().to_string();
            assert!(refused.contains("10.0.0.0/8"), "{refused}");
        }
        let same = "*.Example.com".parse::<AddressRule>().unwrap();
        assert_eq!(same.to_string(), "*.example.com");
    }
}
