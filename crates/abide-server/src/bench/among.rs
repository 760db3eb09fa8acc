//! What an event costs to an instance that has left memory, among few and among many such: it must
//! not grow with their number.
//!
//! Both have a database of their own, and samples are taken in turns: whatever else the machine
//! does meanwhile, it does to both.

use std::path::Path;
use std::time::{Duration, Instant};

use abide::Engine;
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::fill::fill;
use super::reading::{Reading, Unit};
use super::residents;
use super::samples::Samples;
use super::waiter::{WAITER, leaving_at_once, named, send, start, waiter};

/// Instances that wait, none of them in memory.
struct Population {
    store: SqliteStore,
    engine: Engine,
    size: usize,
    /// From one that is taken to the next, so that they come from everywhere.
    stride: usize,
    taken: usize,
}

impl Population {
    async fn new(file: &Path, size: usize, samples: usize) -> Result<Self, Error> {
        let store = SqliteStore::open(file).await?;
        let engine = Engine::builder(store.clone())
            .workflow(WAITER, waiter)
            .configure(leaving_at_once)
            .start()
            .await?;
        fill(&engine, WAITER, size, start).await?;
        residents::until(&engine, 0).await?;
        let stride = stride(size, samples);
        Ok(Self { store, engine, size, stride, taken: 0 })
    }

    /// Sends to one that nobody has sent to, waits until it has completed, and has another take
    /// its place.
    async fn sample(&mut self) -> Result<Duration, Error> {
        let handle = self.engine.get(&named(self.taken * self.stride)?);
        let began = Instant::now();
        send(&handle).await?;
        handle.result::<u32>().await?;
        let took = began.elapsed();
        self.engine.start(WAITER, start(self.size + self.taken)).await?;
        self.taken += 1;
        residents::until(&self.engine, 0).await?;
        Ok(took)
    }

    async fn close(self) -> Result<(), Error> {
        self.engine.shutdown().await;
        Ok(self.store.close().await?)
    }
}

/// When there are fewer than samples, those that took the place of others have their turn, too.
fn stride(size: usize, samples: usize) -> usize {
    (size / samples).max(1)
}

/// Sends to one among few and to one among many in turns, so often each.
pub(crate) async fn measure(
    file: &Path,
    few: usize,
    many: usize,
    samples: usize,
) -> Result<Vec<Reading>, Error> {
    // Beside the other, or it might be on another disk.
    let directory = tempfile::Builder::new()
        .prefix(".abide-bench-few-")
        .tempdir_in(
            file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        )
        .map_err(Error::io("a temporary directory beside the database"))?;
    let warm_up = samples.div_ceil(10);
    let mut few = Population::new(&directory.path().join("few.db"), few, warm_up + samples).await?;
    let mut many = Population::new(file, many, warm_up + samples).await?;
    let (mut among_few, mut among_many) = (Vec::new(), Vec::new());
    for _ in 0..warm_up + samples {
        among_few.push(few.sample().await?);
        among_many.push(many.sample().await?);
    }
    few.close().await?;
    many.close().await?;
    let counted = |took: Vec<Duration>| Samples::of_ms(took.into_iter().skip(warm_up));
    Ok(report(&counted(among_few), &counted(among_many)))
}

fn report(few: &Samples, many: &Samples) -> Vec<Reading> {
    let mut readings = vec![
        Reading::new("fewP50", few.median(), Unit::Ms),
        Reading::new("fewP99", few.percentile(99), Unit::Ms),
        Reading::new("manyP50", many.median(), Unit::Ms),
        Reading::new("manyP99", many.percentile(99), Unit::Ms),
        Reading::new("growth", many.median() / few.median(), Unit::Number),
    ];
    readings.extend(Reading::peak_memory());
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_from_everywhere_and_none_comes_twice() {
        for (size, samples) in [(100_000, 330), (10, 330), (330, 330), (331, 330)] {
            let last = (samples - 1) * stride(size, samples);
            // Each sample adds one: by then there are as many more as were taken.
            assert!(last < size + samples - 1, "{size} {samples}");
            assert!(stride(size, samples) >= 1);
            assert!(size < samples || last >= size - 2 * stride(size, samples), "{size} {samples}");
        }
    }
}
