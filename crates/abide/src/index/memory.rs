//! The index in memory: a cache of what the entries of all open subscriptions say.

use std::mem::size_of;

use hashbrown::HashMap;

use super::arena::{Arena, NOWHERE};
use super::entry::{Entry, entries};
use super::fingerprint::Fingerprints;
use super::patterns::Patterns;
use super::postings::{Group, Postings};
use super::residues::Residues;
use super::shape::Shape;
use crate::expr::{EvalError, Expr, Folded, Scope};

/// How a subscription is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// By lookup: it costs nothing when it does not match.
    Indexed,
    /// Its filter is evaluated for every event that its pattern covers.
    Scanned,
}

/// What an event is to a subscription whose pattern covers it and whose keys are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding<'e> {
    /// The filter holds.
    Match,
    /// Another clause is false. A scanned filter has none: its every event would be one.
    NearMiss,
    /// The filter errs, so it does not match, and that is to be reported.
    Failed(&'e EvalError),
}

/// Finds subscriptions by event.
///
/// ```
/// use abide::expr::{Env, Folded};
/// use abide::index::{Finding, Index};
///
/// let mut index = Index::default();
/// for id in 0..1_000 {
///     let filter = format!(r#"event.payload.orderId === "o-{id}" && event.payload.amount >= 100"#);
///     index.insert(id, "payment.*", Some(&Folded::parse(&filter).unwrap()));
/// }
/// let event = serde_json::json!({"payload": {"orderId": "o-17", "amount": 120}});
/// let mut matched = Vec::new();
/// index.matching("payment.card", &Env::new().with("event", &event), |id, finding| {
///     if finding == Finding::Match {
///         matched.push(id);
///     }
/// });
/// assert_eq!(matched, [17]);
/// ```
#[derive(Debug, Default)]
pub struct Index {
    fingerprints: Fingerprints,
    shapes: Arena<Option<Held>>,
    shape_places: HashMap<Shape, u32>,
    patterns: Patterns<u32>,
    residues: Residues,
    postings: Postings,
    scanned: usize,
}

#[derive(Debug)]
struct Held {
    shape: Shape,
    /// Groups of postings with this shape.
    groups: usize,
}

impl Index {
    /// Adds a subscription, or replaces the one with this id.
    pub fn insert(&mut self, id: i64, pattern: &str, filter: Option<&Folded>) -> Registered {
        if self.postings.contains(id) {
            self.remove(id);
        }
        let entries = entries(pattern, filter);
        if entries.is_empty() {
            self.postings.add(id, NOWHERE);
        }
        let scanned = entries.iter().any(Entry::is_scanned);
        for entry in entries {
            let group = self.group(&entry);
            self.postings.add(id, group);
        }
        if scanned {
            self.scanned += 1;
            return Registered::Scanned;
        }
        Registered::Indexed
    }

    /// The group that an entry belongs to; made if need be.
    fn group(&mut self, entry: &Entry) -> u32 {
        let shape = self.shape(&entry.shape);
        let key = self.fingerprints.of(shape, &entry.key);
        let residue = entry
            .residue
            .as_ref()
            .map_or(NOWHERE, |residue| self.residues.hold(residue, &self.fingerprints));
        if let Some(group) = self.postings.group(key, residue) {
            self.release_residue(residue);
            return group;
        }
        if let Some(held) = self.shapes.at_mut(shape) {
            held.groups += 1;
        }
        self.postings.add_group(key, shape, residue)
    }

    fn shape(&mut self, shape: &Shape) -> u32 {
        if let Some(at) = self.shape_places.get(shape) {
            return *at;
        }
        let at = self.shapes.insert(Some(Held { shape: shape.clone(), groups: 0 }));
        self.shape_places.insert(shape.clone(), at);
        self.patterns.insert(shape.pattern(), at);
        at
    }

    /// Removes a subscription; `false` when it is not known.
    pub fn remove(&mut self, id: i64) -> bool {
        let mut scanned = false;
        let mut gone = Vec::new();
        let known = self.postings.remove(id, |group, is_gone| {
            scanned |= is_scanned(&self.shapes, &group);
            gone.extend(is_gone.then_some(group));
        });
        self.scanned -= usize::from(scanned);
        for group in gone {
            self.release_residue(group.residue);
            self.release_shape(group.shape);
        }
        known
    }

    fn release_residue(&mut self, residue: u32) {
        if residue != NOWHERE {
            self.residues.release(residue, &self.fingerprints);
        }
    }

    fn release_shape(&mut self, at: u32) {
        let Some(held) = self.shapes.at_mut(at) else { return };
        held.groups -= 1;
        if held.groups > 0 {
            return;
        }
        if let Some(held) = self.shapes.remove(at, None) {
            self.shape_places.remove(&held.shape);
            self.patterns.remove(held.shape.pattern(), at);
        }
    }

    /// Finds every subscription that wants an event, and those that nearly do. Each is given at
    /// most once.
    pub fn matching(
        &self,
        event_type: &str,
        event: &impl Scope,
        mut found: impl FnMut(i64, Finding<'_>),
    ) {
        let mut text = String::new();
        let mut several = Several::default();
        self.patterns.covering(event_type, |at| {
            let Some(held) = self.shapes.at(at) else { return };
            if !held.shape.probe_into(event, &mut text) {
                return;
            }
            for group in self.postings.groups(self.fingerprints.of(at, &text)) {
                let holds = match self.residue_of(group) {
                    Some(residue) => residue.is_match(event),
                    None => Ok(true),
                };
                let finding = match &holds {
                    Ok(true) => Finding::Match,
                    Ok(false) if held.shape.paths().is_empty() => continue,
                    Ok(false) => Finding::NearMiss,
                    Err(error) => Finding::Failed(error),
                };
                for member in self.postings.members(group) {
                    if member.alone {
                        found(member.subscription, finding);
                    } else {
                        several.add(member.subscription, finding);
                    }
                }
            }
        });
        several.settle(found);
    }

    fn residue_of(&self, group: &Group) -> Option<&Expr> {
        if group.residue == NOWHERE { None } else { self.residues.expr(group.residue) }
    }

    /// How many subscriptions it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.postings.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of them are scanned.
    #[must_use]
    pub fn scanned(&self) -> usize {
        self.scanned
    }

    /// How many shapes they have.
    #[must_use]
    pub fn shapes(&self) -> usize {
        self.shape_places.len()
    }

    /// About how much memory it takes. Trees of residues are estimated from their texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        /// Of a pattern and a few paths.
        const SHAPE: usize = 512;
        self.postings.bytes()
            + self.residues.bytes()
            + self.patterns.bytes()
            + self.shapes.bytes()
            + self.shape_places.allocation_size()
            + self.shape_places.len() * SHAPE
            + size_of::<Self>()
    }
}

fn is_scanned(shapes: &Arena<Option<Held>>, group: &Group) -> bool {
    let unkeyed = shapes.at(group.shape).as_ref().is_some_and(|held| held.shape.paths().is_empty());
    unkeyed && group.residue != NOWHERE
}

/// What was found of subscriptions that can be found in several ways.
#[derive(Default)]
struct Several {
    found: Vec<(i64, Rank)>,
    errors: Vec<EvalError>,
}

/// The best counts: one alternative that holds is enough.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Match,
    Failed { error: usize },
    NearMiss,
}

impl Several {
    fn add(&mut self, subscription: i64, finding: Finding<'_>) {
        let rank = match finding {
            Finding::Match => Rank::Match,
            Finding::NearMiss => Rank::NearMiss,
            Finding::Failed(error) => {
                self.errors.push(error.clone());
                Rank::Failed { error: self.errors.len() - 1 }
            }
        };
        self.found.push((subscription, rank));
    }

    fn settle(mut self, mut found: impl FnMut(i64, Finding<'_>)) {
        self.found.sort_unstable();
        self.found.dedup_by_key(|(subscription, _)| *subscription);
        for (subscription, rank) in self.found {
            found(
                subscription,
                match rank {
                    Rank::Match => Finding::Match,
                    Rank::NearMiss => Finding::NearMiss,
                    Rank::Failed { error } => Finding::Failed(&self.errors[error]),
                },
            );
        }
    }
}
