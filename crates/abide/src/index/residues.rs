//! What is left to be evaluated, each text once.

use hashbrown::HashTable;

use super::arena::Arena;
use super::fingerprint::Fingerprints;
use crate::expr::Expr;

/// Residues that are the same are one: a million waits for `amount >= 100` hold one tree, and an
/// event asks it once.
#[derive(Debug, Default)]
pub(super) struct Residues {
    held: Arena<Option<Held>>,
    by_text: HashTable<u32>,
    text_bytes: usize,
}

#[derive(Debug)]
struct Held {
    expr: Expr,
    text: Box<str>,
    users: u32,
}

/// Parts of a tree are that much larger than their text.
const TREE_PER_TEXT: usize = 16;

impl Residues {
    /// The place of a residue, for one user more.
    pub(super) fn hold(&mut self, expr: &Expr, hashes: &Fingerprints) -> u32 {
        let text = expr.to_string();
        let hash = hashes.of_text(&text);
        let known = self.by_text.find(hash, |&at| self.text(at) == text).copied();
        let at = known.unwrap_or_else(|| self.add(expr.clone(), text, hashes, hash));
        if let Some(held) = self.held.at_mut(at) {
            held.users += 1;
        }
        at
    }

    fn add(&mut self, expr: Expr, text: String, hashes: &Fingerprints, hash: u64) -> u32 {
        self.text_bytes += text.len();
        let at = self.held.insert(Some(Held { expr, text: text.into(), users: 0 }));
        let Self { held, by_text, .. } = self;
        by_text.insert_unique(hash, at, |&at| hashes.of_text(text_of(held, at)));
        at
    }

    /// One user less; without any it is forgotten.
    pub(super) fn release(&mut self, at: u32, hashes: &Fingerprints) {
        let Some(held) = self.held.at_mut(at) else { return };
        held.users -= 1;
        if held.users > 0 {
            return;
        }
        let hash = hashes.of_text(&held.text);
        self.text_bytes -= held.text.len();
        if let Ok(found) = self.by_text.find_entry(hash, |&known| known == at) {
            found.remove();
        }
        self.held.remove(at, None);
    }

    pub(super) fn expr(&self, at: u32) -> Option<&Expr> {
        self.held.at(at).as_ref().map(|held| &held.expr)
    }

    fn text(&self, at: u32) -> &str {
        text_of(&self.held, at)
    }

    pub(super) fn bytes(&self) -> usize {
        let texts = self.text_bytes * (1 + TREE_PER_TEXT);
        self.held.bytes() + self.by_text.allocation_size() + texts
    }
}

fn text_of(held: &Arena<Option<Held>>, at: u32) -> &str {
    held.at(at).as_ref().map_or("", |held| &held.text)
}
