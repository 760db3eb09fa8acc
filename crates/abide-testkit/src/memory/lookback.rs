//! Waits that look for what was published before they were reached.

use std::collections::HashMap;
use std::time::Duration;

use abide::history::{Entry, EntryKind};
use abide::meeting::meet;
use abide::{InstanceKey, Kind, Published, Result, Since, Timestamp, Wait};

use super::mail::Place;
use super::mailbox::Settled;
use super::state::State;

impl State {
    /// The last published event that does not count for a wait which is reached now.
    pub(super) fn since(&mut self, key: InstanceKey, since: Since) -> Result<i64> {
        match since {
            Since::Start => Ok(self.kept(key)?.instance.log_from),
            Since::Now => Ok(self.last_published),
            Since::At(moment) => Ok(self.last_before(moment)),
            Since::Before(time) => Ok(self.last_before(earlier(self.now, time))),
        }
    }

    fn last_before(&self, moment: Timestamp) -> i64 {
        let older = self.log.values().map(|logged| &logged.published);
        let last = older.filter(|event| event.accepted_at < moment).map(|event| event.seq).max();
        let oldest = self.log.keys().next().map(|oldest| oldest - 1);
        last.or(oldest).unwrap_or(self.last_published)
    }

    /// Offers the log to those open waits of an instance that look back, oldest first. Answers with
    /// what came of it, and the history of what is held now and was in no buffer before.
    pub(super) fn look_back(
        &mut self,
        key: InstanceKey,
        looks: impl Fn(&Wait) -> bool,
    ) -> Result<(Settled, Vec<Entry>)> {
        let (mut settled, mut came) = (Settled::default(), Vec::new());
        let open = self.kept(key)?.mailbox.open();
        let mut lookers: HashMap<i64, Looker> =
            open.iter().filter(|wait| looks(wait)).filter_map(Looker::of).collect();
        let from = open.iter().filter(|wait| lookers.contains_key(&wait.key));
        let Some(from) = from.map(|wait| wait.since).min() else {
            return Ok((settled, Vec::new()));
        };
        let log: Vec<Published> =
            self.log.range(from + 1..).map(|(_, logged)| logged.published.clone()).collect();
        for event in log {
            let mailbox = &self.kept(key)?.mailbox;
            if mailbox.taken(event.seq).is_some() {
                continue;
            }
            let open = mailbox.open().into_iter().filter(|wait| lookers.contains_key(&wait.key));
            let open: Vec<Wait> = open.filter(|wait| reaches(wait, &event)).collect();
            let open = self.not_cut_short(open, &mut lookers)?;
            if let Some(met) = self.offer_from_log(key, &event, &open)? {
                settled.extend(met);
                came.push(self.last_mail);
            }
        }
        let mailbox = &self.kept(key)?.mailbox;
        let held = came.into_iter().map(|mail| mailbox.mail(mail)).filter(|mail| mail.is_pending());
        Ok((settled, held.map(|mail| mail.entry(EntryKind::EventBuffered)).collect()))
    }

    /// Those that may look at one more. The others have more before them than they may look at.
    fn not_cut_short(
        &mut self,
        waits: Vec<Wait>,
        lookers: &mut HashMap<i64, Looker>,
    ) -> Result<Vec<Wait>> {
        let most = self.limits.scanned;
        let mut looking = Vec::new();
        for wait in waits {
            if lookers.get_mut(&wait.key).is_some_and(|looker| looker.may_look_once_more(most)) {
                looking.push(wait);
            } else {
                self.wait(wait.instance, wait.key)?.wait.cut_short = true;
            }
        }
        Ok(looking)
    }

    /// The instance takes the event if one of these waits does.
    fn offer_from_log(
        &mut self,
        key: InstanceKey,
        event: &Published,
        waits: &[Wait],
    ) -> Result<Option<Settled>> {
        let now = self.now;
        let sent = event.sent(self.last_mail + 1);
        if meet(waits, &sent).is_empty() {
            return Ok(None);
        }
        self.last_mail = sent.key;
        self.log.entry(event.seq).and_modify(|logged| logged.wanted = true);
        let mailbox = &mut self.kept(key)?.mailbox;
        let (mail, may_have) =
            (sent.key, |wait: &Wait| waits.iter().any(|other| other.key == wait.key));
        mailbox.take_in(sent, Place::Kept, now);
        Ok(Some(mailbox.offer(mail, now, may_have, |_| true)))
    }
}

/// Whether a wait looks back to an event, and at it.
pub(super) fn reaches(wait: &Wait, event: &Published) -> bool {
    event.seq > wait.since && wait.hears.covers(Kind::Event, &event.event.event_type)
}

/// A wait that looks back.
struct Looker {
    /// Whether nothing tells apart the events that its pattern covers.
    scans: bool,
    looked_at: usize,
}

impl Looker {
    /// By the key of the wait. `None` when it wants nothing that is published.
    fn of(wait: &Wait) -> Option<(i64, Self)> {
        let entries = wait.entries();
        let scans = entries.iter().any(|entry| entry.shape.paths().is_empty());
        (!entries.is_empty()).then_some((wait.key, Self { scans, looked_at: 0 }))
    }

    fn may_look_once_more(&mut self, most: usize) -> bool {
        self.looked_at += 1;
        !self.scans || self.looked_at <= most
    }
}

fn earlier(now: Timestamp, by: Duration) -> Timestamp {
    let ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Timestamp(now.0.saturating_sub(ms))
}
