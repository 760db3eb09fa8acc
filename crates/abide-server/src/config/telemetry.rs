//! `[telemetry]`: where traces go.

use std::fmt;
use std::time::Duration;

use abide_tracker::{OtlpConfig, Tracker};

use super::secret::{Environment, HIDDEN, Secret};

/// See the module.
#[derive(Clone)]
pub(super) struct Telemetry {
    pub(super) url: Option<String>,
    pub(super) service: String,
    /// `name=value` each; a value may be `env:NAME`.
    pub(super) headers: Vec<String>,
    pub(super) timeout: Duration,
}

/// Headers are secret, and an address may be.
impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("service", &self.service).finish_non_exhaustive()
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        let OtlpConfig { service, timeout, .. } = OtlpConfig::new("");
        Self { url: None, service, headers: Vec::new(), timeout }
    }
}

impl Telemetry {
    /// What is not set is as the environment says in OpenTelemetry's own words.
    pub(super) fn complete(&mut self, environment: Environment<'_>) {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        if self.url.is_none() {
            let base = || set("OTEL_EXPORTER_OTLP_ENDPOINT");
            let of_traces =
                || base().map(|base| format!("{}/v1/traces", base.trim_end_matches('/')));
            self.url = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(of_traces);
        }
        if self.headers.is_empty() {
            let headers = set("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
            let each = headers.split(',').map(str::trim).filter(|header| !header.is_empty());
            self.headers = each.map(str::to_owned).collect();
        }
        if self.service == Self::default().service {
            self.service = set("OTEL_SERVICE_NAME").unwrap_or_else(|| self.service.clone());
        }
    }

    /// The collector, if there is one.
    pub(super) fn collector(
        &self,
        environment: Environment<'_>,
    ) -> Result<Option<OtlpConfig>, String> {
        let Some(url) = &self.url else { return Ok(None) };
        let header = |header: &String| {
            let (name, value) = header.split_once('=').ok_or("it must be name=value")?;
            let value = Secret::read(value.trim().to_owned(), environment)?;
            Ok((name.trim().to_owned(), value.value().unwrap_or_default().to_owned()))
        };
        let headers = self.headers.iter().map(header).collect::<Result<_, String>>()?;
        let (service, timeout) = (self.service.clone(), self.timeout);
        Ok(Some(OtlpConfig { service, headers, timeout, ..OtlpConfig::new(url) }))
    }

    /// Whether the address and the headers can work.
    pub(super) fn fitness(
        &self,
        environment: Environment<'_>,
    ) -> [(&'static str, Result<(), String>); 2] {
        let try_out = |telemetry: Self| match telemetry.collector(environment)? {
            Some(collector) => match Tracker::otlp(&collector) {
                Err(abide::Error::Invalid { message, .. }) => Err(message),
                _ => Ok(()),
            },
            None => Ok(()),
        };
        let any = Some("http://localhost/".to_owned());
        [
            ("telemetry.url", try_out(Self { headers: Vec::new(), ..self.clone() })),
            ("telemetry.headers", try_out(Self { url: any, ..self.clone() })),
        ]
    }
}

/// Headers without what they are set to, which may be secret.
pub(super) fn show_headers(headers: &[String]) -> String {
    let shown = |header: &String| match header.split_once('=') {
        Some((_, value)) if value.trim().starts_with("env:") => header.clone(),
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    };
    format!("{:?}", headers.iter().map(shown).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn without_an_address_nobody_is_told() {
        assert!(Telemetry::default().collector(&nothing).unwrap().is_none());
    }

    #[test]
    fn what_is_not_set_is_as_opentelemetry_says() {
        let environment = |name: &str| {
            let value = match name {
                "OTEL_EXPORTER_OTLP_ENDPOINT" => "http://collector:4318/",
                "OTEL_EXPORTER_OTLP_HEADERS" => "x-api-key=one, x-team=two",
                "OTEL_SERVICE_NAME" => "shop",
                "KEY" => "hush",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let mut telemetry = Telemetry::default();
        telemetry.complete(&environment);
        let collector = telemetry.collector(&environment).unwrap().unwrap();
        assert_eq!(collector.url, "http://collector:4318/v1/traces");
        assert_eq!(collector.service, "shop");
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(collector.headers, [of("x-api-key", "one"), of("x-team", "two")]);

        let mut telemetry = Telemetry {
            url: Some("http://other/".to_owned()),
            service: "bank".to_owned(),
            headers: vec!["k=env:KEY".to_owned()],
            ..Telemetry::default()
        };
        telemetry.complete(&environment);
        let collector = telemetry.collector(&environment).unwrap().unwrap();
        assert_eq!((&*collector.url, &*collector.service), ("http://other/", "bank"));
        assert_eq!(collector.headers, [of("k", "hush")]);
    }

    #[test]
    fn headers_are_shown_without_their_values() {
        let headers = ["a=hush", "b=env:KEY", "hush"].map(str::to_owned);
        assert_eq!(show_headers(&headers), r#"["a=***", "b=env:KEY", "***"]"#);
        let wrong = Telemetry {
            url: Some("http://a/".into()),
            headers: vec!["hush".into()],
            ..Telemetry::default()
        };
        let why = wrong.collector(&nothing).unwrap_err();
        assert!(!why.contains("hush"), "{why}");
    }
}
