//! Reads a [`Tree`](crate::tree::Tree) into a [`Flow`], by the tables of fields, and notes for the checks
//! what is named where.
//!
//! Nothing stops at the first problem: what can't be read is told and left out, and a document with
//! problems comes to nothing.

mod constant;
mod document;
mod fields;
mod kind;
mod kinds;
mod leaf;
mod shape;
mod step;
mod table;
mod trigger;

pub(crate) use kinds::KINDS;
#[cfg(test)]
pub(crate) use shape::Spec;
pub(crate) use shape::{Shape, Takes};
pub(crate) use table::{DOCUMENT, STEP};

use abide::expr::{Expr, SyntaxError};

use crate::check;
use crate::check::outline::{Knows, Outline, Use, When};
use crate::finding::Findings;
use crate::flow::Flow;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::tree::{Content, Lines, Places, Span, Style, Tree, build};

/// Reads and checks a document in YAML or JSON.
///
/// ```
/// let flow = abide_flow::parse("{name: greet, steps: [{id: nap, sleep: 1 minute}]}").unwrap();
/// assert_eq!(flow.name, "greet");
///
/// let problems = abide_flow::parse("{name: greet, steps: [{id: nap, slep: 1 minute}]}").unwrap_err();
/// assert_eq!(problems[0].hint.as_deref(), Some("did you mean `sleep`?"));
/// ```
///
/// # Errors
/// Everything that is wrong with it, in the order of the document.
pub fn parse(text: &str) -> Result<Flow, Vec<Problem>> {
    parse_within(text, &Limits::default())
}

/// Reads and checks a document that may be so large.
///
/// # Errors
/// As [`parse`].
pub fn parse_within(text: &str, limits: &Limits) -> Result<Flow, Vec<Problem>> {
    let mut findings = Findings::default();
    let Some(tree) = build(text, limits, &mut findings) else {
        return Err(findings.finish(text, limits));
    };
    let mut reader = Reader {
        text,
        lines: Lines::new(text),
        limits,
        findings,
        path: Vec::new(),
        outline: Outline::default(),
        knows: Knows { when: When::Anytime, event: false, secret: false },
        is_full: false,
    };
    let flow = reader.document(&tree);
    let Reader { lines, mut findings, outline, is_full, .. } = reader;
    if !is_full {
        check::check(&outline, &lines, &mut findings);
    }
    match flow {
        Some(flow) if findings.is_empty() => Ok(flow),
        _ => Err(findings.finish(text, limits)),
    }
}

struct Reader<'t> {
    text: &'t str,
    lines: Lines<'t>,
    limits: &'t Limits,
    findings: Findings,
    /// The way to what is being read.
    path: Vec<String>,
    outline: Outline,
    /// What expressions know where it is being read.
    knows: Knows,
    /// Whether there are more steps than allowed; the rest is not looked at.
    is_full: bool,
}

impl<'t> Reader<'t> {
    fn path(&self) -> String {
        let mut path = String::new();
        for part in &self.path {
            if !path.is_empty() && !part.starts_with('[') {
                path.push('.');
            }
            path += part;
        }
        path
    }

    /// Tells of a problem at the field that is being read.
    fn tell(&mut self, span: Span, message: impl Into<String>, hint: Option<String>) {
        let path = self.path();
        self.findings.add(span.start, path, message, hint);
    }

    /// Reads something that is called so.
    fn within<T>(&mut self, name: impl Into<String>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(name.into());
        let value = read(self);
        self.path.pop();
        value
    }

    /// Reads something where expressions know this.
    fn knowing<T>(&mut self, knows: Knows, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.knows, knows);
        let value = read(self);
        self.knows = before;
        value
    }

    fn tell_syntax(&mut self, tree: &Tree, text: &str, error: SyntaxError) {
        let at = places(self.text, tree, text).find(error.position.offset);
        let path = self.path();
        self.findings.add(at, path, error.message, error.hint);
    }

    /// Notes what expressions read, for the checks.
    fn note<'e>(&mut self, tree: &Tree, text: &str, exprs: impl Iterator<Item = &'e Expr>) {
        let mut places = places(self.text, tree, text);
        let field = self.path();
        for (path, offset) in exprs.flat_map(Expr::mentions) {
            let at = places.find(offset);
            let first = path
                .segments()
                .first()
                .and_then(|segment| text.get(offset + path.root().len()..)?.find(segment.name()));
            let segment_at =
                first.map_or(at, |first| places.find(offset + path.root().len() + first));
            let (path, field, knows) = (path.clone(), field.clone(), self.knows);
            self.outline.uses.push(Use { path, at, segment_at, field, knows });
        }
    }
}

fn places<'t>(document: &'t str, tree: &Tree, text: &'t str) -> Places<'t> {
    let style = match &tree.content {
        Content::Text(_, style) => *style,
        _ => Style::Bare,
    };
    Places::new(document, tree.span, style, text)
}

/// What was probably meant.
fn meant<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    abide::expr::nearest(name, known).map(|near| format!("did you mean `{near}`?"))
}
