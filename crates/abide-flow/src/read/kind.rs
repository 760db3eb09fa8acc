//! What steps do.

use super::fields::{Fields, Read};
use super::kinds::{CASE, KINDS};
use super::shape::Takes;
use super::{Reader, meant};
use crate::check::outline::{How, Knows, Role, StepIx};
use crate::flow::{
    Branch, Call, Case, Emit, Fail, ForEach, GetOutput, Http, Kind, Publish, Receive, Send,
    SendEvent, Sending, SetOutput, StartChild, Tool, WaitForEvent, WaitForSignal,
};
use crate::tree::{Content, Tree};

/// Names that a loop can't give to its items.
const TAKEN: [&str; 6] = ["input", "workflow", "steps", "event", "secret", "index"];

impl<'t> Reader<'t> {
    /// Reads what a step does, when it can be read.
    pub(super) fn kind(
        &mut self,
        step: StepIx,
        name: &'static str,
        read: Read<'_>,
    ) -> Option<Kind> {
        self.within(name, |reader| match (name, read) {
            ("sleep", Read::Field(field)) => Some(Kind::Sleep(field)),
            ("sleepUntil", Read::Field(field)) => Some(Kind::SleepUntil(field)),
            ("return", Read::Field(field)) => Some(Kind::Return(field)),
            ("set", Read::Members(members)) => Some(Kind::Set(members)),
            ("parallel", Read::Tree(tree)) => reader.parallel(step, tree),
            ("race", Read::Tree(tree)) => reader.race(step, tree),
            ("switch", Read::Tree(tree)) => reader.switch(step, tree),
            (name, Read::Tree(tree)) => {
                let Takes::Map(shape) = KINDS.field(name)?.takes else { return None };
                let knows_secret = matches!(name, "http" | "tool" | "call");
                let knows = Knows { secret: knows_secret, ..reader.knows };
                let mut fields = reader.knowing(knows, |reader| reader.fields(tree, &[shape]))?;
                reader.mapped(step, name, &mut fields)
            }
            _ => None,
        })
    }

    fn mapped(&mut self, step: StepIx, name: &str, fields: &mut Fields<'_>) -> Option<Kind> {
        Some(match name {
            "http" => Kind::Http(Box::new(http(fields)?)),
            "waitForEvent" => Kind::WaitForEvent(Box::new(self.wait_for_event(step, fields))),
            "waitForSignal" => Kind::WaitForSignal(WaitForSignal {
                name: fields.field("name")?,
                timeout: fields.field("timeout"),
            }),
            "receive" => Kind::Receive(Receive {
                topic: fields.field("topic")?,
                timeout: fields.field("timeout"),
            }),
            "send" => Kind::Send(Send {
                sending: self.sending(fields),
                to: fields.field("to")?,
                topic: fields.field("topic")?,
                payload: fields.field("payload"),
            }),
            "sendEvent" => Kind::SendEvent(SendEvent {
                sending: self.sending(fields),
                to: fields.field("to")?,
                event_type: fields.field("type")?,
                payload: fields.field("payload"),
            }),
            "publish" => Kind::Publish(publish(fields)?),
            "setOutput" => Kind::SetOutput(SetOutput {
                key: fields.field("key")?,
                value: fields.field("value")?,
            }),
            "getOutput" => Kind::GetOutput(GetOutput {
                from: fields.field("from")?,
                key: fields.field("key")?,
                timeout: fields.field("timeout"),
            }),
            "emit" => Kind::Emit(Emit { name: fields.field("name")?, data: fields.field("data") }),
            "call" => {
                Kind::Call(Call { action: fields.field("action")?, input: fields.field("input") })
            }
            "tool" => Kind::Tool(Tool {
                server: fields.field("server"),
                name: fields.field("name"),
                arguments: fields.field("arguments"),
                headers: fields.field("headers"),
            }),
            "forEach" => Kind::ForEach(self.for_each(step, fields)?),
            "workflow" => Kind::Workflow(StartChild {
                name: fields.field("name")?,
                input: fields.field("input"),
                id: fields.field("id"),
                detached: fields.flag("detached").unwrap_or(false),
            }),
            "fail" => {
                Kind::Fail(Fail { code: fields.field("code")?, message: fields.field("message") })
            }
            _ => return None,
        })
    }

    /// Tells of two fields that say the same thing differently.
    fn either(&mut self, fields: &Fields<'_>, one: &str, other: &str) {
        if let (Some(_), Some(tree)) = (fields.written(one), fields.written(other)) {
            let message = format!("`{one}` and `{other}` can't both be given");
            self.within(other, |reader| reader.tell(tree.span, message, None));
        }
    }

    fn wait_for_event(&mut self, step: StepIx, fields: &mut Fields<'_>) -> WaitForEvent {
        self.either(fields, "eventPattern", "type");
        self.either(fields, "timeout", "timeoutAt");
        if let (Some(tree), None) = (fields.written("distinctBy"), fields.written("count")) {
            let message = "`distinctBy` says which events count, and needs `count`";
            self.within("distinctBy", |reader| reader.tell(tree.span, message, None));
        }
        let counted = fields.written("count");
        let patterns = fields.fields("eventPattern").or_else(|| fields.fields("type"));
        if let (Some(tree), Some([_, _, ..])) = (counted, patterns.as_deref()) {
            let message = "`count` counts the events of one pattern, not of several";
            let hint = "write one pattern with `*` or `**`, and a `filterCondition`";
            self.within("count", |reader| reader.tell(tree.span, message, Some(hint.to_owned())));
        }
        WaitForEvent {
            patterns: patterns.unwrap_or_default(),
            filter: fields.expr("filterCondition"),
            timeout: fields.field("timeout"),
            timeout_at: fields.field("timeoutAt"),
            timeout_handler: self.jump(step, How::OnTimeout, "timeoutHandlerStepId", fields),
            mapping: fields.mapping("eventPayloadMapping").unwrap_or_default(),
            count: fields.field("count"),
            distinct_by: fields.expr("distinctBy"),
            since: fields.field("since"),
        }
    }

    fn sending(&mut self, fields: &mut Fields<'_>) -> Sending {
        self.either(fields, "visibleAt", "delay");
        let on_terminal = match fields.text("onTerminal").as_deref() {
            Some("ignore") => abide::OnTerminal::Ignore,
            _ => abide::OnTerminal::Error,
        };
        Sending {
            id: fields.field("id"),
            on_terminal,
            visible_at: fields.field("visibleAt"),
            delay: fields.field("delay"),
        }
    }

    fn for_each(&mut self, step: StepIx, fields: &mut Fields<'_>) -> Option<ForEach> {
        let named = fields.written("as");
        let name = fields.text("as").unwrap_or_else(|| "item".to_owned());
        if let Some(tree) = named {
            self.within("as", |reader| reader.check_loop_name(&name, tree));
        }
        let steps = fields.tree("steps").map(|tree| {
            let role = Role::Branch { of: step, loops: Some(name.clone()) };
            self.within("steps", |reader| reader.branch(step, role, tree))
        });
        Some(ForEach {
            items: fields.field("items")?,
            name,
            concurrency: fields.field("concurrency"),
            steps: steps?,
        })
    }

    fn check_loop_name(&mut self, name: &str, tree: &Tree) {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        if name.is_empty()
            || name.starts_with(|c: char| c.is_numeric())
            || !name.chars().all(is_name)
        {
            let message = format!("`{name}` is not a name that an expression can use");
            self.tell(tree.span, message, Some("use letters, digits and `_`".to_owned()));
        } else if TAKEN.contains(&name) {
            self.tell(tree.span, format!("`{name}` has a meaning already"), None);
        }
    }

    fn parallel(&mut self, step: StepIx, tree: &Tree) -> Option<Kind> {
        let Content::List(branches) = &tree.content else {
            return self.wrong(Takes::Branches, tree);
        };
        if branches.is_empty() {
            self.tell(tree.span, "there is no branch to run", None);
        }
        self.outline.steps[step].is_concurrent = true;
        let mut read = Vec::with_capacity(branches.len());
        for (nth, branch) in branches.iter().enumerate() {
            let role = Role::Branch { of: step, loops: None };
            read.push(self.within(format!("[{nth}]"), |reader| match branch.content {
                Content::Map(_) => {
                    let message = "a branch is a list of steps";
                    let hint = "write a list of one step: `- - id: …`, or `[{id: …}]`";
                    reader.tell(branch.span, message, Some(hint.to_owned()));
                    Vec::new()
                }
                _ => reader.branch(step, role, branch),
            }));
        }
        Some(Kind::Parallel(read))
    }

    fn race(&mut self, step: StepIx, tree: &Tree) -> Option<Kind> {
        let Content::List(racers) = &tree.content else { return self.wrong(Takes::Racers, tree) };
        if racers.is_empty() {
            self.tell(tree.span, "there is nobody to race", None);
        }
        self.outline.steps[step].is_concurrent = true;
        let mut read = Vec::with_capacity(racers.len());
        for (nth, racer) in racers.iter().enumerate() {
            let list = self.outline.add_list(Role::Branch { of: step, loops: None });
            self.outline.steps[step].bodies.push(list);
            read.extend(self.step(list, nth, racer));
        }
        Some(Kind::Race(read))
    }

    /// Reads the steps of a branch.
    fn branch(&mut self, step: StepIx, role: Role, tree: &Tree) -> Branch {
        let list = self.outline.add_list(role);
        self.outline.steps[step].bodies.push(list);
        self.steps(list, tree)
    }

    fn switch(&mut self, step: StepIx, tree: &Tree) -> Option<Kind> {
        let takes = Takes::ListOf(&CASE);
        let Content::List(cases) = &tree.content else { return self.wrong(takes, tree) };
        if cases.is_empty() {
            self.tell(tree.span, "there is no case to go by", None);
        }
        let (mut read, mut has_default) = (Vec::with_capacity(cases.len()), false);
        for (nth, case) in cases.iter().enumerate() {
            self.within(format!("[{nth}]"), |reader| {
                if has_default {
                    let message = "this case is never looked at: the one before has no `when`";
                    reader.tell(case.span, message, None);
                }
                let Some(mut fields) = reader.fields(case, &[&CASE]) else { return };
                has_default |= case.member("when").is_none();
                let when = fields.expr("when");
                let next = reader.jump(step, How::Next, "next", &mut fields);
                read.extend(next.map(|next| Case { when, next }));
            });
        }
        let leaves = has_default;
        self.outline.steps[step].leaves |= leaves;
        Some(Kind::Switch(read))
    }

    /// Tells which step was meant by something that is none.
    pub(super) fn kinds_hint(name: Option<&str>) -> String {
        let near = name.and_then(|name| meant(name, KINDS.names()));
        near.unwrap_or_else(|| {
            format!("it is one of {}", KINDS.names().collect::<Vec<_>>().join(", "))
        })
    }
}

fn http(fields: &mut Fields<'_>) -> Option<Http> {
    let redirects = fields.number("followRedirects").and_then(|number| u32::try_from(number).ok());
    Some(Http {
        method: fields.field("method"),
        url: fields.field("url")?,
        query: fields.field("query"),
        headers: fields.field("headers"),
        body: fields.field("body"),
        stream: fields.flag("stream").unwrap_or(false),
        follow_redirects: redirects.unwrap_or(0),
    })
}

fn publish(fields: &mut Fields<'_>) -> Option<Publish> {
    Some(Publish {
        event_type: fields.field("type")?,
        payload: fields.field("payload"),
        subject: fields.field("subject"),
        correlation_id: fields.field("correlationId"),
    })
}
