//! What a document would mean for the instances that run older versions of it.
//!
//! They keep their version. The numbers say what would become of them if they had to go on with this
//! one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use abide::{DocumentKind, Filter, Page, Status, StepRecord};
use abide_flow::{Fit, Flow, Misfit};
use abide_sqlite::Look;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde::Serialize;

use crate::error::Error;

/// Instances that are read at once.
const PAGE: usize = 1_000;

/// See the module.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Running {
    pub(crate) workflow: String,
    /// The version that the document would be.
    pub(crate) version: u32,
    /// How many run on older versions.
    pub(crate) instances: usize,
    /// Of those, how many could go on with it.
    pub(crate) safe: usize,
    /// How many could not.
    #[serde(rename = "unsafe")]
    pub(crate) not_safe: usize,
    /// How many began with something that is no document, so that nothing can be compared.
    pub(crate) unknown: usize,
    /// How many run on each older version.
    pub(crate) versions: BTreeMap<u32, usize>,
    /// What stands in the way of those that could not, by the name of the step.
    pub(crate) steps: Vec<InTheWay>,
}

/// A step that stands in the way of instances.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct InTheWay {
    pub(crate) step: String,
    /// What it is to them.
    pub(crate) kind: &'static str,
    /// What it would be; nothing when it is missing.
    pub(crate) becomes: Option<&'static str>,
    /// In how many histories it is.
    pub(crate) instances: usize,
    /// How many of these are at this very step.
    pub(crate) waiting: usize,
}

/// Looks at every instance that runs an older version of a document.
pub(crate) fn survey(look: &Look, flow: &Flow, text: &str) -> Result<Running, Error> {
    let latest = look.document(DocumentKind::Workflow, &flow.name, None)?;
    let version = match &latest {
        None => 1,
        Some(latest) if latest.body.decode::<String>()? == text => latest.version,
        Some(latest) => latest.version.saturating_add(1),
    };
    let mut running = Running { workflow: flow.name.clone(), version, ..Running::default() };
    let mut fits = BTreeMap::new();
    let filter = Filter { workflow: Some(flow.name.clone()), status: alive(), ..Filter::default() };
    let mut page = Page { limit: PAGE, before: None };
    loop {
        let listed = look.instances(&filter, page)?;
        for instance in listed.instances.iter().filter(|instance| instance.version < version) {
            let fit = match fits.entry(instance.version) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(compared(look, flow, instance.version)?),
            };
            let misfits = match fit {
                Some(fit) => {
                    let history = look.history_of_run(instance)?;
                    Some(fit.misfits(&StepRecord::of(&history)))
                }
                None => None,
            };
            running.count(instance.version, misfits);
        }
        match listed.next {
            Some(before) => page.before = Some(before),
            None => return Ok(running),
        }
    }
}

/// Every status of an instance that has not ended.
fn alive() -> Vec<Status> {
    vec![Status::Paused, Status::Queued, Status::Running, Status::Waiting, Status::Sleeping]
}

/// The document against one of its older versions, if that can still be read.
fn compared(look: &Look, flow: &Flow, version: u32) -> Result<Option<Fit>, Error> {
    let stored = look.document(DocumentKind::Workflow, &flow.name, Some(version))?;
    let Some(stored) = stored else { return Ok(None) };
    let before = abide_flow::parse(&stored.body.decode::<String>()?);
    Ok(before.ok().map(|before| Fit::between(&before, flow)))
}

impl Running {
    fn count(&mut self, version: u32, misfits: Option<Vec<Misfit>>) {
        self.instances += 1;
        *self.versions.entry(version).or_default() += 1;
        let Some(misfits) = misfits else {
            self.unknown += 1;
            return;
        };
        match misfits.is_empty() {
            true => self.safe += 1,
            false => self.not_safe += 1,
        }
        for Misfit { step, kind, becomes, is_open } in misfits {
            let waiting = usize::from(is_open);
            let same = |known: &&mut InTheWay| known.step == step && known.kind == kind;
            match self.steps.iter_mut().find(same) {
                Some(known) => {
                    known.instances += 1;
                    known.waiting += waiting;
                }
                None => self.steps.push(InTheWay { step, kind, becomes, instances: 1, waiting }),
            }
        }
        self.steps.sort_by(|one, other| (&one.step, one.kind).cmp(&(&other.step, other.kind)));
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let Self { workflow, version, instances, safe, not_safe, unknown, .. } = self;
        if *instances == 0 {
            return format!("  nothing runs on an older version of {workflow}\n");
        }
        let on = |(version, count): (&u32, &usize)| format!("{count} on version {version}");
        let versions: Vec<_> = self.versions.iter().map(on).collect();
        let mut told = format!(
            "  {workflow}: {instances} running ({}) keep their version; on version {version} {safe} \
             would be safe, {not_safe} would not\n",
            versions.join(", ")
        );
        if *unknown > 0 {
            told += &format!("  {unknown} began with no document that could be compared\n");
        }
        if !self.steps.is_empty() {
            let mut table = Table::new();
            table.load_style(UTF8_FULL_CONDENSED);
            table.set_header(["recorded step", "kind", "in the document", "instances", "at it"]);
            for step in &self.steps {
                let becomes =
                    step.becomes.map_or("missing".to_owned(), |kind| format!("now {kind}"));
                table.add_row([
                    step.step.clone(),
                    step.kind.to_owned(),
                    becomes,
                    step.instances.to_string(),
                    step.waiting.to_string(),
                ]);
            }
            told += &format!("{table}\n");
        }
        told
    }
}
