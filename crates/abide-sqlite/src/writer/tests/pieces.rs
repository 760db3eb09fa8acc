//! Whatever is done in pieces, and however often the store is opened anew meanwhile, comes to the
//! same in the end as if it had been done at once.

use std::time::Duration;

use abide::history::Recorded;
use abide::lifecycle::Control;
use abide::store::{Commit, Epoch, Store};
use abide::{
    Buffer, Count, Delivery, InstanceId, InstanceKey, Kind, LogFilter, NewWait, OnTerminal, Taker,
    Terminate, Timestamp, Transition, Wait, WaitFilter,
};
use serde_json::json;

use super::publishing::{Shop, event, start, wants};
use crate::SqliteStore;

const INSTANCES: usize = 24;

/// Something that happens, told in numbers, so that it happens alike to two stores.
#[derive(Clone, Debug)]
enum Happening {
    Publish {
        n: usize,
        event_type: &'static str,
        value: i64,
    },
    Deliver {
        n: usize,
        to: usize,
        name: &'static str,
    },
    Reach {
        n: usize,
        by: usize,
        wait: Wanted,
    },
    Terminate(usize),
    Later(u64),
    FallDue,
    /// Only where things are done in pieces.
    Rest(bool),
    Reopen,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    pattern: &'static str,
    value: Option<i64>,
    needed: Option<u32>,
    within_ms: Option<i64>,
}

fn wanted(random: &mut fastrand::Rng) -> Wanted {
    Wanted {
        pattern: ["a", "b", "*"][random.usize(..3)],
        value: random.bool().then(|| random.i64(..3)),
        needed: (random.u8(..4) == 0).then(|| random.u32(2..4)),
        within_ms: (random.u8(..3) == 0).then(|| random.i64(1..60)),
    }
}

fn happening(n: usize, random: &mut fastrand::Rng) -> Happening {
    let event_type = ["a", "b"][random.usize(..2)];
    match random.u8(..27) {
        0..7 => Happening::Publish { n, event_type, value: random.i64(..3) },
        7..9 => Happening::Deliver { n, to: random.usize(..INSTANCES), name: event_type },
        9..20 => Happening::Reach { n, by: random.usize(..INSTANCES), wait: wanted(random) },
        20 => Happening::Terminate(random.usize(..INSTANCES)),
        21..23 => Happening::Later(random.u64(1..20)),
        23 => Happening::FallDue,
        24..26 => Happening::Rest(random.bool()),
        _ => Happening::Reopen,
    }
}

struct World {
    shop: Shop,
    store: Option<SqliteStore>,
    claims: Vec<(InstanceKey, Epoch)>,
    in_pieces: bool,
}

impl World {
    async fn new(chunk: usize, random: &mut fastrand::Rng) -> Self {
        let shop = Shop::new(|options| options.fanout_chunk(chunk));
        let store = shop.open().await;
        let mut claims = Vec::new();
        for n in 0..INSTANCES {
            let wait = wait(&format!("first{n}"), wanted(random), Timestamp(1_000));
            claims.push(start(&store, &format!("i{n}"), Some(wait)).await);
        }
        Self { shop, store: Some(store), claims, in_pieces: chunk < INSTANCES }
    }

    fn store(&self) -> &SqliteStore {
        self.store.as_ref().unwrap()
    }

    async fn apply(&mut self, happening: &Happening) {
        match happening.clone() {
            Happening::Publish { n, event_type, value } => {
                let event = event(event_type, &format!("e{n}"), &json!({ "n": value }));
                self.store().publish(event).await.unwrap();
            }
            Happening::Deliver { n, to, name } => {
                self.store().deliver(delivery(n, to, name)).await.unwrap();
            }
            Happening::Reach { n, by, wait: wanted } => {
                let now = abide::Clock::now(&self.shop.clock);
                let waits = vec![wait(&format!("w{n}"), wanted, now)];
                let transition = Transition { waits, ..Transition::default() }.into();
                let (key, epoch) = self.claims[by];
                let commit = Commit { key, run: 1, epoch, heard: i64::MAX, transition };
                self.store().commit(commit).await.unwrap();
            }
            Happening::Terminate(n) => {
                let id = InstanceId::new(format!("i{n}")).unwrap();
                let how = Control::Terminate(Terminate::because("enough"));
                // It may have ended before.
                drop(self.store().control(&id, how).await);
            }
            Happening::Later(ms) => self.shop.clock.advance(Duration::from_millis(ms)),
            Happening::FallDue => {
                let keys = self.claims.iter().map(|(key, _)| *key).collect();
                self.store().fall_due(keys).await.unwrap();
            }
            Happening::Rest(rests) => self.store().rest(rests && self.in_pieces),
            Happening::Reopen => self.reopen().await,
        }
    }

    /// Claims do not survive, here as there.
    async fn reopen(&mut self) {
        drop(self.store.take());
        let store = self.shop.open().await;
        for (key, epoch) in &mut self.claims {
            if let Some(claimed) = store.claim(*key).await.unwrap() {
                *epoch = claimed.epoch;
            }
        }
        self.store = Some(store);
    }

    async fn end(&self) -> End {
        self.store().rest(false);
        self.shop.is_quiet().await;
        let store = self.store();
        let mut histories = Vec::new();
        for n in 0..INSTANCES {
            let id = InstanceId::new(format!("i{n}")).unwrap();
            histories.push(store.history(&id, 0, usize::MAX).await.unwrap());
        }
        let mut waits = store.waits(WaitFilter::default()).await.unwrap();
        // What a wait holds is known by keys, which say when it came to be stored.
        let held = waits.iter_mut().filter_map(|wait| wait.count.as_mut());
        held.flat_map(|count| &mut count.held).for_each(|held| held.key = 0);
        let logged = store.log(LogFilter { limit: 1_000, ..LogFilter::default() }).await.unwrap();
        let mut events = Vec::new();
        for logged in logged {
            let takers = store.takers(logged.published.seq).await.unwrap();
            events.push((logged.verdict.matched_count, logged.wanted, takers));
        }
        End { waits, histories, events }
    }
}

#[derive(Debug, PartialEq)]
struct End {
    waits: Vec<Wait>,
    histories: Vec<Vec<Recorded>>,
    /// How many waits took it, whether anybody wanted it, and who has it.
    events: Vec<(u64, bool, Vec<Taker>)>,
}

fn wait(id: &str, wanted: Wanted, now: Timestamp) -> NewWait {
    let filter = wanted.value.map(|value| format!("event.payload.n === {value}"));
    let count = |needed| Count { needed, distinct_by: None, held: vec![] };
    NewWait {
        step: id.into(),
        count: wanted.needed.map(count),
        timeout_at: wanted.within_ms.map(|ms| Timestamp(now.0 + ms)),
        ..wants(id, wanted.pattern, filter.as_deref())
    }
}

fn delivery(n: usize, to: usize, name: &str) -> Delivery {
    Delivery {
        to: InstanceId::new(format!("i{to}")).unwrap(),
        kind: Kind::Event,
        name: name.into(),
        payload: None,
        id: format!("d{n}").into(),
        source: None,
        on_terminal: OnTerminal::Ignore,
        visible_at: None,
        wake: true,
        buffer: Buffer::Latest,
        trace: None,
        refused: None,
    }
}

#[tokio::test]
async fn in_pieces_and_at_once_come_to_the_same() {
    let mut taken = 0;
    for seed in 0..12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let happenings: Vec<Happening> = (0..70).map(|n| happening(n, &mut random)).collect();
        let mut ends = Vec::new();
        for chunk in [2, usize::MAX] {
            let mut world = World::new(chunk, &mut fastrand::Rng::with_seed(seed)).await;
            for happening in &happenings {
                world.apply(happening).await;
            }
            ends.push(world.end().await);
        }
        let (at_once, in_pieces) = (ends.pop().unwrap(), ends.pop().unwrap());
        taken += at_once.events.iter().map(|(_, _, takers)| takers.len()).sum::<usize>();
        for (wait, expected) in in_pieces.waits.iter().zip(&at_once.waits) {
            assert_eq!(wait, expected, "seed {seed}");
        }
        assert_eq!(in_pieces.events, at_once.events, "seed {seed}");
        assert_eq!(in_pieces.histories, at_once.histories, "seed {seed}");
    }
    assert!(taken > 300, "only {taken}");
}
