//! The cost of a step late in a long run: it must not grow with what came before.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use abide::{Cx, Engine, Start};
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::reading::{Reading, Unit};
use super::samples::Samples;

/// The first step that counts: those before it warm things up.
const FIRST: usize = 10;

/// Steps whose median stands for the one in question; a single sync is too noisy.
const AROUND: usize = 200;

/// When each step ran, in nanoseconds since the beginning.
struct Marks {
    began: Instant,
    at: Vec<AtomicU64>,
}

impl Marks {
    fn mark(&self, step: usize) {
        let at = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.at[step].store(at, Ordering::Relaxed);
    }

    /// The median time from one step to the next, in a range of steps.
    fn cost_ms(&self, steps: std::ops::Range<usize>) -> f64 {
        let at = |step: usize| self.at[step].load(Ordering::Relaxed);
        let nanoseconds = steps.map(|step| at(step + 1).saturating_sub(at(step)));
        Samples::of_ms(nanoseconds.map(std::time::Duration::from_nanos)).median()
    }
}

/// Runs one instance of so many steps, one after the other.
pub(crate) async fn measure(file: &Path, steps: usize) -> Result<Vec<Reading>, Error> {
    let marks = Arc::new(Marks {
        began: Instant::now(),
        at: std::iter::repeat_with(AtomicU64::default).take(steps + 1).collect(),
    });
    let marked = Arc::clone(&marks);
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow("long", move |cx: Cx, (): ()| walk(cx, Arc::clone(&marked)))
        .configure(|config| config.run_max_steps = u32::try_from(steps + 1).unwrap_or(u32::MAX))
        .start()
        .await?;
    engine.start("long", Start::new(&())).await?.result::<()>().await?;
    engine.shutdown().await;
    store.close().await?;
    let around = AROUND.min((steps - FIRST) / 2);
    let early = marks.cost_ms(FIRST..FIRST + around);
    let late = marks.cost_ms(steps - around..steps);
    let mut readings = vec![
        Reading::new("earlyStep", early, Unit::Ms),
        Reading::new("lateStep", late, Unit::Ms),
        Reading::new("growth", late / early, Unit::Number),
    ];
    readings.extend(Reading::peak_memory());
    Ok(readings)
}

async fn walk(cx: Cx, marks: Arc<Marks>) -> abide::Result<()> {
    for step in 0..marks.at.len() {
        cx.step("step", || async {
            marks.mark(step);
            Ok::<_, abide::Error>(())
        })
        .await?;
    }
    Ok(())
}
