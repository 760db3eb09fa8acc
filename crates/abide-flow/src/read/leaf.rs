//! The values of fields.

use abide::check_schema;
use abide::expr::{Expr, Template};

use super::Reader;
use super::constant::{
    Refused, duration, event_pattern, event_type, moment, new_id, since, url, word,
};
use super::fields::Read;
use super::shape::Takes;
use crate::check::outline::{Knows, When};
use crate::field::Field;
use crate::flow::Mapped;
use crate::tree::{Content, Key, Tree};

impl<'t> Reader<'t> {
    pub(super) fn value<'d>(&mut self, takes: Takes, tree: &'d Tree) -> Option<Read<'d>> {
        match takes {
            Takes::Text => self.text(takes, tree, |_| Ok(())).map(Read::Text),
            Takes::Word(words) => self.text(takes, tree, |text| word(text, words)).map(Read::Text),
            Takes::Period => self.text(takes, tree, duration).map(Read::Text),
            Takes::NewId => self.text(takes, tree, new_id).map(Read::Text),
            Takes::StepId => {
                let id = self.text(takes, tree, |_| Ok(()))?;
                Some(Read::Step(id.into(), tree.span.start))
            }
            Takes::Pattern => self.text(takes, tree, event_pattern).map(Read::Text),
            Takes::Template => match tree.content {
                Content::Number(_) | Content::Bool(_) => {
                    Some(Read::Field(Field::Constant(tree.to_json())))
                }
                _ => self.template(takes, tree, |_| Ok(())).map(Read::Field),
            },
            Takes::Url => self.template(takes, tree, url).map(Read::Field),
            Takes::EventType => self.template(takes, tree, event_type).map(Read::Field),
            Takes::WordOrTemplate(words) => {
                self.template(takes, tree, |text| word(text, words)).map(Read::Field)
            }
            Takes::Duration | Takes::Since | Takes::Moment | Takes::Count => {
                self.number_or_template(takes, tree).map(Read::Field)
            }
            Takes::Patterns => self.patterns(tree).map(Read::Fields),
            Takes::Expr => self.expr(takes, tree).map(Read::Expr),
            Takes::Filter => self.filter(takes, tree).map(Read::Expr),
            Takes::Whole | Takes::Integer => self.number(takes, tree).map(Read::Number),
            Takes::Flag => match tree.content {
                Content::Bool(flag) => Some(Read::Flag(flag)),
                _ => self.wrong(takes, tree),
            },
            Takes::Value => Some(Read::Field(self.field(tree))),
            Takes::Outcome => {
                let ended = Knows { when: When::Ended, ..self.knows };
                Some(Read::Field(self.knowing(ended, |reader| reader.field(tree))))
            }
            Takes::Context => {
                let started = Knows { when: When::Started, ..self.knows };
                self.knowing(started, |reader| reader.value(Takes::Members, tree))
            }
            Takes::Members => match &tree.content {
                Content::Map(_) => Some(Read::Field(self.field(tree))),
                _ => self.whole_template(takes, tree).map(Read::Field),
            },
            Takes::Variables => self.members(takes, tree).map(Read::Members),
            Takes::Mapping => self.mapping(takes, tree).map(Read::Mapping),
            Takes::InputMapping => {
                self.field(tree);
                Some(Read::Json(tree.to_json()))
            }
            Takes::Schema => self.schema(takes, tree),
            Takes::Map(_)
            | Takes::MapOf(_)
            | Takes::ListOf(_)
            | Takes::Steps
            | Takes::Phases
            | Takes::Branches
            | Takes::Racers => Some(Read::Tree(tree)),
        }
    }

    /// Tells that something else was expected.
    pub(super) fn wrong<T>(&mut self, takes: Takes, tree: &Tree) -> Option<T> {
        let message = match tree.content {
            Content::Null => format!("a value is missing: {}", takes.wanted()),
            _ => format!("{} was expected, not {}", takes.wanted(), tree.kind()),
        };
        let hint = match &tree.content {
            Content::Number(_) | Content::Bool(_) if matches!(takes, Takes::Text) => {
                Some("write it in quotes".to_owned())
            }
            _ => None,
        };
        self.tell(tree.span, message, hint);
        None
    }

    fn text(
        &mut self,
        takes: Takes,
        tree: &Tree,
        check: impl Fn(&str) -> Result<(), Refused>,
    ) -> Option<String> {
        let Some(text) = tree.text() else { return self.wrong(takes, tree) };
        self.checked(tree, text, check).then(|| text.to_owned())
    }

    fn checked(
        &mut self,
        tree: &Tree,
        text: &str,
        check: impl Fn(&str) -> Result<(), Refused>,
    ) -> bool {
        match check(text) {
            Ok(()) => true,
            Err((message, hint)) => {
                self.tell(tree.span, message, hint);
                false
            }
        }
    }

    /// A text that may be a template; when it is not, it is checked now.
    fn template(
        &mut self,
        takes: Takes,
        tree: &Tree,
        check: impl Fn(&str) -> Result<(), Refused>,
    ) -> Option<Field> {
        let Some(text) = tree.text() else { return self.wrong(takes, tree) };
        if text.contains("${") {
            return self.parsed(tree, text);
        }
        self.checked(tree, text, check).then(|| Field::Constant(text.into()))
    }

    fn whole_template(&mut self, takes: Takes, tree: &Tree) -> Option<Field> {
        match tree.text() {
            Some(text) if text.contains("${") => self.parsed(tree, text),
            _ => self.wrong(takes, tree),
        }
    }

    fn parsed(&mut self, tree: &Tree, text: &str) -> Option<Field> {
        match Template::parse(text) {
            Ok(template) => {
                self.note(tree, text, template.expressions());
                Some(Field::Template(template))
            }
            Err(error) => {
                self.tell_syntax(tree, text, error);
                None
            }
        }
    }

    fn number_or_template(&mut self, takes: Takes, tree: &Tree) -> Option<Field> {
        match (&tree.content, takes) {
            (Content::Number(number), Takes::Duration | Takes::Since)
                if number.as_f64() >= Some(0.0) => {}
            (Content::Number(number), Takes::Moment) if number.is_i64() => {}
            (Content::Number(number), Takes::Count) => {
                if !number.as_u64().is_some_and(|count| (1..=u64::from(u32::MAX)).contains(&count))
                {
                    let message = format!("{number} is not {}", takes.wanted());
                    self.tell(tree.span, message, None);
                    return None;
                }
            }
            (Content::Text(..), Takes::Duration) => return self.template(takes, tree, duration),
            (Content::Text(..), Takes::Moment) => return self.template(takes, tree, moment),
            (Content::Text(..), Takes::Since) => return self.template(takes, tree, since),
            (Content::Text(..), _) => return self.whole_template(takes, tree),
            (Content::Number(number), _) => {
                let message = format!("{number} is not {}", takes.wanted());
                self.tell(tree.span, message, None);
                return None;
            }
            _ => return self.wrong(takes, tree),
        }
        Some(Field::Constant(tree.to_json()))
    }

    fn number(&mut self, takes: Takes, tree: &Tree) -> Option<i64> {
        let lowest = if matches!(takes, Takes::Whole) { 0 } else { i64::from(i32::MIN) };
        let Content::Number(number) = &tree.content else { return self.wrong(takes, tree) };
        let fits = number.as_i64().filter(|n| (lowest..=i64::from(i32::MAX)).contains(n));
        if fits.is_none() {
            self.tell(tree.span, format!("{number} is not {}", takes.wanted()), None);
        }
        fits
    }

    pub(super) fn patterns(&mut self, tree: &Tree) -> Option<Vec<Field>> {
        let Content::List(items) = &tree.content else {
            return self.template(Takes::Patterns, tree, event_pattern).map(|one| vec![one]);
        };
        if items.is_empty() {
            self.tell(tree.span, "an empty list of patterns hears nothing", None);
        }
        let mut read = |item| self.template(Takes::Pattern, item, event_pattern);
        items.iter().map(&mut read).collect::<Vec<_>>().into_iter().collect()
    }

    fn filter(&mut self, takes: Takes, tree: &Tree) -> Option<Expr> {
        let knows = Knows { event: true, ..self.knows };
        self.knowing(knows, |reader| reader.expr(takes, tree))
    }

    fn expr(&mut self, takes: Takes, tree: &Tree) -> Option<Expr> {
        let written;
        let text = match &tree.content {
            Content::Text(text, _) => text,
            Content::Bool(_) | Content::Number(_) => {
                written = tree.to_json().to_string();
                &written
            }
            _ => return self.wrong(takes, tree),
        };
        match Expr::parse(text) {
            Ok(expr) => {
                self.note(tree, text, std::iter::once(&expr));
                Some(expr)
            }
            Err(error) if text.trim_start().starts_with("${") => {
                let hint = "write the expression alone, without `${` and `}`";
                self.tell(tree.span, error.message, Some(hint.to_owned()));
                None
            }
            Err(error) => {
                self.tell_syntax(tree, text, error);
                None
            }
        }
    }

    /// Anything, with templates in it.
    pub(super) fn field(&mut self, tree: &Tree) -> Field {
        match &tree.content {
            Content::Text(text, _) if text.contains("${") => {
                self.parsed(tree, text).unwrap_or_else(|| Field::Constant(text.as_str().into()))
            }
            Content::List(items) => {
                let read =
                    |(nth, item)| self.within(format!("[{nth}]"), |reader| reader.field(item));
                let items: Vec<Field> = items.iter().enumerate().map(read).collect();
                match items.iter().all(Field::is_constant) {
                    true => Field::Constant(tree.to_json()),
                    false => Field::Items(items),
                }
            }
            Content::Map(_) => {
                let members = self.members(Takes::Variables, tree).unwrap_or_default();
                match members.iter().all(|(_, member)| member.is_constant()) {
                    true => Field::Constant(tree.to_json()),
                    false => Field::Members(members),
                }
            }
            _ => Field::Constant(tree.to_json()),
        }
    }

    fn members(&mut self, takes: Takes, tree: &Tree) -> Option<Vec<(String, Field)>> {
        let Content::Map(members) = &tree.content else { return self.wrong(takes, tree) };
        let read = |(key, value): &(Key, Tree)| {
            let member = self.within(key.name.as_str(), |reader| reader.field(value));
            (key.name.clone(), member)
        };
        Some(members.iter().map(read).collect())
    }

    fn mapping(&mut self, takes: Takes, tree: &Tree) -> Option<Vec<(String, Mapped)>> {
        let knows = Knows { event: true, ..self.knows };
        let members = self.knowing(knows, |reader| reader.members(takes, tree))?;
        let mapped = |field| match field {
            Field::Constant(serde_json::Value::String(path)) => Mapped::Path(path),
            field => Mapped::Field(field),
        };
        Some(members.into_iter().map(|(name, field)| (name, mapped(field))).collect())
    }

    fn schema<'d>(&mut self, takes: Takes, tree: &'d Tree) -> Option<Read<'d>> {
        if !matches!(tree.content, Content::Map(_) | Content::Bool(_)) {
            return self.wrong(takes, tree);
        }
        let schema = tree.to_json();
        let Err(refused) = check_schema(&schema) else { return Some(Read::Json(schema)) };
        let message = match refused {
            abide::Error::Invalid { message, .. } => message,
            other => other.to_string(),
        };
        let (pointer, message) = message
            .strip_prefix("at ")
            .and_then(|rest| rest.split_once(": "))
            .unwrap_or(("", &message));
        let wrong = pointed(tree, pointer);
        self.tell(wrong.span, format!("this is not a JSON Schema: {message}"), None);
        None
    }
}

/// What a JSON pointer names, as far as it is there.
fn pointed<'d>(tree: &'d Tree, pointer: &str) -> &'d Tree {
    let mut found = tree;
    for part in pointer.split('/').skip(1) {
        let next = match &found.content {
            Content::List(items) => part.parse().ok().and_then(|nth: usize| items.get(nth)),
            _ => found.member(&part.replace("~1", "/").replace("~0", "~")),
        };
        let Some(next) = next else { break };
        found = next;
    }
    found
}
