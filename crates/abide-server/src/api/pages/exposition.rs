//! A page in the text format of Prometheus.

use std::fmt::{Display, Write as _};

use abide::metrics::Distribution;

/// The page so far. Every metric is written whole: its meaning, its type, then its samples.
#[derive(Default)]
pub(super) struct Exposition(pub(super) String);

impl Exposition {
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.metric(name, "counter", help, [(String::new(), value)]);
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.gauge_if_known(name, help, Some(value));
    }

    /// Without a sample when there is no value.
    pub(super) fn gauge_if_known(&mut self, name: &str, help: &str, value: Option<impl Display>) {
        self.metric(name, "gauge", help, value.map(|value| (String::new(), value)));
    }

    /// One sample for each value of a label.
    pub(super) fn counters<'w>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'w str, u64)>,
    ) {
        self.metric(name, "counter", help, labels(label, values));
    }

    pub(super) fn gauges<'w>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'w str, u64)>,
    ) {
        self.metric(name, "gauge", help, labels(label, values));
    }

    fn metric<V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = (String, V)>,
    ) {
        self.head(name, kind, help);
        for (labels, value) in samples {
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Of numbers of things.
    pub(super) fn sizes(&mut self, name: &str, help: &str, sizes: &Distribution) {
        self.head(name, "histogram", help);
        self.buckets(name, "", sizes, |size| size.to_string());
    }

    /// Of microseconds, shown in seconds.
    pub(super) fn times(&mut self, name: &str, help: &str, times: &Distribution) {
        self.head(name, "histogram", help);
        self.buckets(name, "", times, seconds);
    }

    /// The same, one for each value of a label.
    pub(super) fn times_by<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: [(&str, &Distribution); N],
    ) {
        self.head(name, "histogram", help);
        for (word, times) in values {
            self.buckets(name, &format!("{label}=\"{word}\""), times, seconds);
        }
    }

    fn buckets(
        &mut self,
        name: &str,
        label: &str,
        distribution: &Distribution,
        show: impl Fn(u64) -> String,
    ) {
        let comma = if label.is_empty() { "" } else { "," };
        let mut bucket = |bound: &str, count: u64| {
            let _ = writeln!(self.0, "{name}_bucket{{{label}{comma}le=\"{bound}\"}} {count}");
        };
        for (bound, count) in distribution.up_to() {
            bucket(&show(bound), count);
        }
        bucket("+Inf", distribution.count());
        let labels = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
        let (sum, count) = (show(distribution.sum), distribution.count());
        let _ = writeln!(self.0, "{name}_sum{labels} {sum}\n{name}_count{labels} {count}");
    }
}

/// A sample for each word.
fn labels<'w>(
    label: &str,
    values: impl IntoIterator<Item = (&'w str, u64)>,
) -> impl Iterator<Item = (String, u64)> {
    values.into_iter().map(move |(word, value)| (labelled(label, word), value))
}

/// Some words are a program's own, so that anything may be in them.
fn labelled(label: &str, word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{{{label}=\"{word}\"}}")
}

/// Microseconds as seconds, with all digits and no more.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use abide::metrics::Histogram;

    use super::*;

    #[test]
    fn labels_can_not_break_a_page() {
        let mut page = Exposition::default();
        page.gauges("x", "What it is.", "sink", [("a\"b\\c\nd", 1)]);
        assert!(page.0.ends_with("\nx{sink=\"a\\\"b\\\\c\\nd\"} 1\n"), "{}", page.0);
    }

    #[test]
    fn a_histogram_counts_up_to_each_bound_and_sums_in_seconds() {
        let times = Histogram::of_times();
        for micros in [90, 1_500, 70_000_000] {
            times.add(micros);
        }
        let mut page = Exposition::default();
        page.times_by("x_seconds", "What it is.", "cause", [("event", &times.read())]);
        let lines: Vec<&str> = page.0.lines().collect();
        assert_eq!(
            lines[..3],
            [
                "# HELP x_seconds What it is.",
                "# TYPE x_seconds histogram",
                r#"x_seconds_bucket{cause="event",le="0.0001"} 1"#,
            ]
        );
        assert!(lines.contains(&r#"x_seconds_bucket{cause="event",le="0.0025"} 2"#));
        assert_eq!(
            lines[lines.len() - 4..],
            [
                r#"x_seconds_bucket{cause="event",le="60"} 2"#,
                r#"x_seconds_bucket{cause="event",le="+Inf"} 3"#,
                r#"x_seconds_sum{cause="event"} 70.00159"#,
                r#"x_seconds_count{cause="event"} 3"#,
            ]
        );
    }
}
