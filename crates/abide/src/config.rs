//! Everything that can grow has a limit with a name, a default and a reason.

use std::time::Duration;

/// Settings of an engine. Every field has a default that suits a server of two to eight cores.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// `payload.max`: bytes of one input, result or output. Larger things belong in an object
    /// store, with their address in the workflow.
    pub payload_max: usize,
    /// `instance.maxBytes`: bytes of all recorded results of one run, because replay reads them.
    pub instance_max_bytes: usize,
    /// `run.maxSteps`: steps of one run, because replay walks them; `continue_as_new` goes on.
    pub run_max_steps: u32,
    /// `step.maxInterruptions`: crashes in a row that one step may be the victim, or cause, of.
    pub step_max_interruptions: u32,
    /// `residency.idle`: how long a parked future stays in memory for a quick wake-up.
    pub residency_idle: Duration,
    /// `residency.budget`: bytes that parked futures may take; the longest parked go first.
    pub residency_budget: usize,
    /// `residency.loading`: instances read and replayed at once after a wake-up or a restart.
    pub residency_loading: usize,
    /// `wait.defaultTimeout`: how long a wait for an event lasts that names no timeout; `None` waits
    /// for ever.
    pub wait_default_timeout: Option<Duration>,
    /// `sweep.interval`: how often to look for instances that a lost hint left out.
    pub sweep_interval: Duration,
    /// `timers.horizon`: timers due sooner are held in memory, the rest only in the store.
    pub timers_horizon: Duration,
    /// `stuck.after`: when an instance that waits for something outside Abide is reported.
    pub stuck_after: Duration,
    /// `shutdown.grace`: how long a shutdown waits for running steps.
    pub shutdown_grace: Duration,
    /// `instances.retention`: how long ended instances are kept; `None` keeps them for ever.
    pub instances_retention: Option<Duration>,
    /// `events.retention`: how long published events are kept, and so how far a wait may look back
    /// and a repeat is known as one; `None` keeps them for ever.
    pub events_retention: Option<Duration>,
    /// `events.maxBytes`: bytes of payload that the log may have.
    pub events_max_bytes: Option<u64>,
    /// `events.maxPerType`: events of one type that the log may have.
    pub events_max_per_type: Option<u64>,
    /// `feed.keep`: rows of history kept in memory for those who watch all instances; who falls further
    /// behind gets a gap.
    pub feed_keep: usize,
    /// `feed.maxBytes`: bytes of payload that those rows may have.
    pub feed_max_bytes: usize,
    /// `feed.lookBack`: how many rows behind somebody who comes back to watch all instances may be, and
    /// is given them from the store.
    pub feed_look_back: i64,
    /// `stream.groupInterval`: how long pieces of a streaming step gather before they are stored and
    /// shown, because each time costs a commit.
    pub stream_group_interval: Duration,
    /// `stream.groupBytes`: bytes of one chunk.
    pub stream_group_bytes: usize,
    /// `stream.maxBytes`: bytes of what one step streams, because its result is stored as a whole.
    pub stream_max_bytes: usize,
    /// Whether runs and attempts of steps are spans of their own in traces, because somebody tells them from the
    /// history; see [`crate::trace`]. Otherwise a trace is passed on as it came.
    pub own_spans: bool,
    /// `prune.batch`: instances or events deleted in one transaction, so that pruning holds up nobody.
    pub prune_batch: usize,
    /// `prune.interval`: how often to look for what can go.
    pub prune_interval: Duration,
}

impl Default for Config {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            payload_max: MIB,
            instance_max_bytes: 64 * MIB,
            run_max_steps: 10_000,
            step_max_interruptions: 5,
            residency_idle: Duration::from_secs(5),
            residency_budget: 256 * MIB,
            residency_loading: 32,
            wait_default_timeout: None,
            sweep_interval: Duration::from_secs(30),
            timers_horizon: Duration::from_secs(10),
            stuck_after: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(10),
            instances_retention: Some(30 * DAY),
            events_retention: Some(7 * DAY),
            events_max_bytes: Some(1 << 30),
            events_max_per_type: None,
            feed_keep: 4096,
            feed_max_bytes: 64 * MIB,
            feed_look_back: 10_000,
            stream_group_interval: Duration::from_millis(20),
            stream_group_bytes: 64 * 1024,
            stream_max_bytes: 16 * MIB,
            own_spans: false,
            prune_batch: 200,
            prune_interval: Duration::from_secs(60),
        }
    }
}
