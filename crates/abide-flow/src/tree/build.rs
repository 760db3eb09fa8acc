//! Reads YAML into a [`Tree`]. Nothing here uses the stack for what is nested.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span as Scanned, Tag};

use super::{Content, Key, Span, Style, Tree, scalar};
use crate::finding::Findings;
use crate::limits::Limits;

/// The tree of a document. None, when what was found leaves nothing to look at.
pub(crate) fn build(text: &str, limits: &Limits, findings: &mut Findings) -> Option<Tree> {
    if text.len() > limits.bytes {
        let message =
            format!("the document has {} bytes; at most {} are allowed", text.len(), limits.bytes);
        findings.add(0, "", message, Some("the limit is document.maxBytes".to_owned()));
        return None;
    }
    let options = granit_parser::options! {
        flow_nesting_limit: limits.depth + 1,
        block_nesting_limit: limits.depth + 1,
    };
    let mut builder = Builder::new(limits, findings);
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => builder.take(event, span).ok()?,
            Err(error) => {
                builder.refuse(&error);
                return None;
            }
        }
    }
    if builder.root.is_none() && builder.findings.is_empty() {
        builder.findings.add(0, "", "the document is empty", None);
    }
    builder.root
}

/// The document can't be read on.
struct Stop;

struct Builder<'b> {
    limits: &'b Limits,
    findings: &'b mut Findings,
    open: Vec<Open>,
    anchors: HashMap<usize, Tree>,
    /// What anchors and aliases cost so far.
    copied: usize,
    root: Option<Tree>,
}

/// A list or map that is not complete.
struct Open {
    span: Span,
    anchor: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Tree>),
    Map(Vec<(Key, Tree)>, Option<Key>),
}

impl<'b> Builder<'b> {
    fn new(limits: &'b Limits, findings: &'b mut Findings) -> Self {
        let (open, anchors) = (Vec::new(), HashMap::new());
        Self { limits, findings, open, anchors, copied: 0, root: None }
    }

    fn take(&mut self, event: Event<'_>, scanned: Scanned) -> Result<(), Stop> {
        let span = scanned.byte_range().unwrap_or_default();
        let span = Span { start: span.start, end: span.end };
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let content = self.scalar(text.into_owned(), style, tag.as_deref(), span);
                self.put(Tree { span, content }, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.check_tag(tag.as_deref(), "seq", span);
                self.open(span, anchor, Inside::List(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.check_tag(tag.as_deref(), "map", span);
                self.open(span, anchor, Inside::Map(Vec::new(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
            Event::Alias(id) => self.alias(id, span)?,
            Event::DocumentStart(..) if self.root.is_some() => {
                let message = "a second document begins here";
                let hint = "a file holds one workflow; put the other into a file of its own";
                self.findings.add(span.start, "", message, Some(hint.to_owned()));
                return Err(Stop);
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, span: Span, anchor: usize, inside: Inside) -> Result<(), Stop> {
        self.check_depth(1, span)?;
        self.open.push(Open { span, anchor, inside });
        Ok(())
    }

    fn check_depth(&mut self, more: usize, span: Span) -> Result<(), Stop> {
        if self.open.len() + more > self.limits.depth {
            let message = format!("nested more than {} levels deep", self.limits.depth);
            self.findings.add(
                span.start,
                "",
                message,
                Some("the limit is document.maxDepth".into()),
            );
            return Err(Stop);
        }
        Ok(())
    }

    fn close(&mut self, end: Span) -> Result<(), Stop> {
        let Some(Open { span, anchor, inside }) = self.open.pop() else { return Ok(()) };
        let span = Span { start: span.start, end: end.end.max(span.end) };
        let content = match inside {
            Inside::List(items) => Content::List(items),
            Inside::Map(members, _) => Content::Map(self.members(members)),
        };
        self.put(Tree { span, content }, anchor)
    }

    fn put(&mut self, tree: Tree, anchor: usize) -> Result<(), Stop> {
        if anchor != 0 {
            self.pay(tree.weight(), tree.span)?;
            self.anchors.insert(anchor, tree.clone());
        }
        match self.open.last_mut().map(|open| &mut open.inside) {
            None => self.root = Some(tree),
            Some(Inside::List(items)) => items.push(tree),
            Some(Inside::Map(members, key)) => match key.take() {
                Some(key) => members.push((key, tree)),
                None => *key = Some(key_of(tree, self.findings)),
            },
        }
        Ok(())
    }

    /// The members of a map, those of `<<` included where the map does not have them itself.
    fn members(&mut self, written: Vec<(Key, Tree)>) -> Vec<(Key, Tree)> {
        let mut known = HashSet::new();
        let (mut members, mut merged) = (Vec::with_capacity(written.len()), Vec::new());
        for (key, value) in written {
            if key.name == "<<" {
                merged.push(value);
            } else if known.insert(key.name.clone()) {
                members.push((key, value));
            } else {
                let message = format!("`{}` is given twice", key.name);
                self.findings.add(key.span.start, key.name, message, None);
            }
        }
        for tree in merged {
            let maps = match tree.content {
                Content::List(items) => items,
                content => vec![Tree { span: tree.span, content }],
            };
            for Tree { span, content } in maps {
                let Content::Map(more) = content else {
                    self.findings.add(span.start, "<<", "`<<` takes a map or a list of maps", None);
                    continue;
                };
                members.extend(more.into_iter().filter(|(key, _)| known.insert(key.name.clone())));
            }
        }
        members
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Stop> {
        let Some(target) = self.anchors.get(&id) else {
            self.findings.add(span.start, "", "an alias can't stand within what it names", None);
            return Err(Stop);
        };
        let (weight, height) = (target.weight(), target.height());
        self.pay(weight, span)?;
        self.check_depth(height, span)?;
        let tree = self.anchors.get(&id).cloned();
        tree.map_or(Ok(()), |tree| self.put(tree, 0))
    }

    fn pay(&mut self, weight: usize, span: Span) -> Result<(), Stop> {
        self.copied += weight;
        if self.copied > self.limits.alias_bytes {
            let message = format!(
                "anchors and aliases stand for more than {} bytes",
                self.limits.alias_bytes
            );
            let hint = Some("the limit is document.maxAliasBytes".to_owned());
            self.findings.add(span.start, "", message, hint);
            return Err(Stop);
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: String,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
    ) -> Content {
        let (style, is_plain) = match style {
            ScalarStyle::Plain => (Style::Bare, true),
            ScalarStyle::SingleQuoted => (Style::Single, false),
            ScalarStyle::DoubleQuoted => (Style::Double, false),
            ScalarStyle::Literal | ScalarStyle::Folded => (Style::Bare, false),
        };
        let is_text = match tag {
            None => !is_plain,
            Some(tag) if tag.suffix() == "str" && is_core(tag) => true,
            Some(tag) => {
                self.check_scalar_tag(tag, span);
                false
            }
        };
        if is_text {
            // A value that is not there at all is shown as `~` by the parser.
            let text = if span.start == span.end && is_plain { String::new() } else { text };
            return Content::Text(text, style);
        }
        scalar::plain(&text).unwrap_or_else(|message| {
            let hint = "write it in quotes to keep it as a text";
            self.findings.add(span.start, "", message, Some(hint.to_owned()));
            Content::Text(text, style)
        })
    }

    fn check_scalar_tag(&mut self, tag: &Tag, span: Span) {
        let known = ["null", "bool", "int", "float"];
        if !known.contains(&tag.suffix()) || !is_core(tag) {
            self.refuse_tag(span);
        }
    }

    fn check_tag(&mut self, tag: Option<&Tag>, known: &str, span: Span) {
        if tag.is_some_and(|tag| tag.suffix() != known || !is_core(tag)) {
            self.refuse_tag(span);
        }
    }

    fn refuse_tag(&mut self, span: Span) {
        let hint = "remove the part that begins with `!`, or quote the text";
        self.findings.add(span.start, "", "a tag that has no meaning here", Some(hint.to_owned()));
    }

    fn refuse(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or(0);
        let told = error.info();
        let hint = hint(&told);
        if told.contains("recursion limit") {
            let message = format!("nested more than {} levels deep", self.limits.depth);
            self.findings.add(at, "", message, Some("the limit is document.maxDepth".into()));
            return;
        }
        self.findings.add(at, "", format!("this is not YAML: {told}"), hint);
    }
}

fn key_of(tree: Tree, findings: &mut Findings) -> Key {
    let span = tree.span;
    let name = match tree.content {
        Content::Text(text, _) => text,
        Content::Number(number) => number.to_string(),
        Content::Bool(flag) => flag.to_string(),
        Content::Null => "null".to_owned(),
        Content::List(_) | Content::Map(_) => {
            let message = "a list or map can't be a key; a key is a text";
            let hint = "quote a text that begins with `{` or `[`, such as \"${…}\"";
            findings.add(span.start, "", message, Some(hint.to_owned()));
            String::new()
        }
    };
    Key { name, span }
}

fn is_core(tag: &Tag) -> bool {
    tag.handle() == "tag:yaml.org,2002:"
}

/// What is usually the matter.
fn hint(told: &str) -> Option<String> {
    let hint = if told.contains("mapping values are not allowed") {
        "a text with `: ` in it needs quotes"
    } else if told.contains("unknown anchor") {
        "an alias needs an anchor before it; a text that begins with `*` needs quotes"
    } else if told.contains("flow") || told.contains("expected ',' or") || told.contains("bracket")
    {
        "a bracket is not closed, or a text such as \"${…}\" needs quotes inside of brackets"
    } else if told.contains("tab") {
        "indent with spaces"
    } else {
        return None;
    };
    Some(hint.to_owned())
}
