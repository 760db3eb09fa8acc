//! Everything that was measured, as a table or as JSON.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde::{Serialize, Serializer};

use super::figure::{Figure, thousands};
use super::samples::Samples;
use super::yardstick::Yardsticks;

/// See the module. The shape of the JSON is documented in `docs/benchmarks.md`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) version: &'static str,
    pub(crate) store: &'static str,
    pub(crate) cores: usize,
    pub(crate) repeat: usize,
    pub(crate) yardsticks: Yardsticks,
    pub(crate) measurements: Vec<Measurement>,
}

/// The figures of one process.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measurement {
    pub(crate) workload: &'static str,
    pub(crate) case: String,
    #[serde(serialize_with = "by_name")]
    pub(crate) figures: Vec<Figure>,
}

fn by_name<S: Serializer>(figures: &[Figure], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(figures.iter().map(|figure| (&figure.name, figure)))
}

impl Report {
    pub(crate) fn new(yardsticks: Yardsticks, measurements: Vec<Measurement>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            store: "sqlite",
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            repeat: 1,
            yardsticks,
            measurements,
        }
    }

    /// The medians of several repetitions of the same measurements.
    pub(crate) fn median(repeated: &[Self]) -> Option<Self> {
        let mut median = repeated.first()?.clone();
        median.repeat = repeated.len();
        let of = |value: fn(&Yardsticks) -> f64| {
            Samples::new(repeated.iter().map(|report| value(&report.yardsticks))).median()
        };
        median.yardsticks = Yardsticks {
            commit_p50_ms: of(|yardsticks| yardsticks.commit_p50_ms),
            rows_per_second: of(|yardsticks| yardsticks.rows_per_second),
        };
        for (at, measurement) in median.measurements.iter_mut().enumerate() {
            for figure in &mut measurement.figures {
                let same: Vec<_> = repeated
                    .iter()
                    .filter_map(|report| report.measurements.get(at))
                    .flat_map(|measurement| &measurement.figures)
                    .filter(|other| other.name == figure.name)
                    .collect();
                if let Some(middle) = Figure::median(&same) {
                    *figure = middle;
                }
            }
        }
        Some(median)
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["workload", "figure", "value", "against the yardstick", "target", ""]);
        for measurement in &self.measurements {
            let mut title = format!("{}: {}", measurement.workload, measurement.case);
            for figure in &measurement.figures {
                table.add_row([
                    std::mem::take(&mut title),
                    in_words(&figure.name),
                    figure.shown(),
                    figure.shown_ratio(),
                    figure.shown_target(),
                    figure.shown_mark().to_owned(),
                ]);
            }
        }
        for column in 2..=4 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        format!("{}\n{table}", self.heading())
    }

    fn heading(&self) -> String {
        let Yardsticks { commit_p50_ms, rows_per_second } = self.yardsticks;
        let rows = thousands(rows_per_second);
        let medians = match self.repeat {
            1 => String::new(),
            times => format!(" Medians of {times} repetitions."),
        };
        format!(
            "abide {} on {}, {} cores.{medians}\n\
             Yardsticks (plain SQLite, WAL, synchronous=FULL, one thread, rows of 150 bytes):\n  \
             one row, one commit   p50 {commit_p50_ms:.3} ms\n  \
             100 rows, one commit  {rows} rows/s",
            self.version, self.store, self.cores
        )
    }
}

/// `stepsPerSecond` as `steps per second`.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::probe::Probe;
    use crate::bench::reading::{Reading, Unit};

    fn report(late: f64) -> Report {
        let yardsticks = Yardsticks { commit_p50_ms: 1.0, rows_per_second: 1000.0 };
        let probe = Probe::Long { steps: 100 };
        let figures = vec![
            Figure::new(Reading::new("lateStep", late, Unit::Ms), &probe, &yardsticks),
            Figure::new(Reading::new("growth", late, Unit::Number), &probe, &yardsticks),
        ];
        let measurement = Measurement { workload: "steps", case: probe.case(), figures };
        Report::new(yardsticks, vec![measurement])
    }

    #[test]
    fn repetitions_become_medians() {
        let median = Report::median(&[report(1.0), report(9.0), report(1.2)]).unwrap();
        assert_eq!(median.repeat, 3);
        assert_eq!(median.measurements[0].figures[1].value.to_bits(), 1.2_f64.to_bits());
    }

    #[test]
    fn the_table_shows_ratio_target_and_mark() {
        let table = report(2.0).table();
        for part in ["late step", "2.0 × commit", "≤ 1.3", "MISS", "p50 1.000 ms"] {
            assert!(table.contains(part), "{part} is missing in\n{table}");
        }
    }

    #[test]
    fn json_names_figures_in_the_order_they_were_measured() {
        let json = serde_json::to_string(&report(1.0)).unwrap();
        let (late, growth) = (json.find("\"lateStep\""), json.find("\"growth\""));
        assert!(late.unwrap() < growth.unwrap(), "{json}");
        assert!(json.contains("\"ratioOf\":\"commitP50Ms\""), "{json}");
    }
}
