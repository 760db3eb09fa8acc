//! Looking at the disk of a simulated world.

use abide::store::Store;
use abide::{ChunkFilter, Filter, LogFilter, Page, Timestamp, WaitFilter, WaitStatus};

use super::traffic::at_once;
use crate::MemoryStore;
use crate::differential::View;

/// Everything the invariants ask about.
pub(super) fn at(disk: &MemoryStore) -> View {
    let page = Page { limit: usize::MAX, before: None };
    let instances = at_once(disk.instances(Filter::default(), page)).unwrap().instances;
    let mut view = View { instances, ..View::default() };
    for instance in &view.instances {
        let id = &instance.id;
        view.histories.push((id.clone(), at_once(disk.history(id, 0, usize::MAX)).unwrap()));
        view.buffers.push((id.clone(), at_once(disk.buffer(id)).unwrap()));
        let chunks = at_once(disk.chunks(id, ChunkFilter::All { after: 0 }, usize::MAX));
        view.chunks.push((id.clone(), chunks.unwrap()));
    }
    view.waits = at_once(disk.waits(WaitFilter::default())).unwrap();
    view.span = at_once(disk.log_span()).unwrap();
    view.log = at_once(disk.log(LogFilter { limit: usize::MAX, ..LogFilter::default() })).unwrap();
    for logged in &view.log {
        let seq = logged.published.seq;
        view.takers.push((seq, at_once(disk.takers(seq)).unwrap()));
    }
    view
}

/// How many things happened so far.
pub(super) fn happened(view: &View) -> usize {
    view.histories.iter().map(|(_, history)| history.len()).sum()
}

/// The next moment at which something falls due.
pub(super) fn next_moment(view: &View, now: Timestamp) -> Option<Timestamp> {
    moments(view).filter(|at| *at > now).min()
}

/// The last one.
pub(super) fn last_moment(view: &View) -> Option<Timestamp> {
    moments(view).max()
}

fn moments(view: &View) -> impl Iterator<Item = Timestamp> {
    let open = view.waits.iter().filter(|wait| wait.status == WaitStatus::Active);
    let buffered = view.buffers.iter().flat_map(|(_, kept)| kept);
    let parked = view.instances.iter().filter_map(|instance| instance.wake_at);
    parked
        .chain(open.filter_map(|wait| wait.timeout_at))
        .chain(buffered.filter_map(|kept| kept.visible_at))
}

/// Every history, one entry per line.
pub(super) fn in_words(view: &View) -> String {
    let mut words = String::new();
    for (id, history) in view.histories.iter().rev() {
        let status = view.instances.iter().find(|found| found.id == *id);
        let status = status.map_or_else(String::new, |found| found.status().to_string());
        words.push_str(&format!("history of {id}, {status}:\n"));
        for recorded in history {
            let entry = &recorded.entry;
            let name = entry.name.as_deref().unwrap_or_default();
            let event = entry.event_id.as_deref().unwrap_or_default();
            let payload = entry.payload.as_ref().map_or("", |payload| payload.as_str());
            words.push_str(&format!(
                "  {} run {} at {}: {} {name} {event} {payload}\n",
                recorded.seq, recorded.run, recorded.at.0, entry.entry
            ));
        }
    }
    words
}
