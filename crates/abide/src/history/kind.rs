//! What happens, and to what kind of step.

use crate::status::words;

words! {
    /// What kind of thing happened.
    EntryKind, "history entry type", {
        /// A run began; the payload is its input.
        WorkflowStarted = "workflow.started",
        /// The function returned; the payload is its output.
        WorkflowCompleted = "workflow.completed",
        /// The function failed.
        WorkflowFailed = "workflow.failed",
        /// It was paused, by hand or because it can't go on.
        WorkflowPaused = "workflow.paused",
        /// It was resumed.
        WorkflowResumed = "workflow.resumed",
        /// Termination was asked for and compensation runs first.
        WorkflowTerminating = "workflow.terminating",
        /// It was ended from outside.
        WorkflowTerminated = "workflow.terminated",
        /// A new run began at the start or at a step.
        WorkflowRestarted = "workflow.restarted",
        /// The run handed over to the next one.
        WorkflowContinued = "workflow.continued",
        /// It waits for something outside Abide and can't be parked.
        WorkflowStuck = "workflow.stuck",
        /// An attempt of a step began.
        StepStarted = "step.started",
        /// A step has its result.
        StepCompleted = "step.completed",
        /// An attempt failed; without `willRetry` the step did.
        StepFailed = "step.failed",
        /// A step was dropped before it finished.
        StepCancelled = "step.cancelled",
        /// The next attempt has its time.
        RetryScheduled = "retry.scheduled",
        /// No attempt is left.
        RetryExhausted = "retry.exhausted",
        /// A sleep began.
        SleepStarted = "sleep.started",
        /// A sleep is over.
        SleepCompleted = "sleep.completed",
        /// An attempt has a deadline.
        TimeoutSet = "timeout.set",
        /// A deadline passed.
        TimeoutExceeded = "timeout.exceeded",
        /// Something sent to the instance was accepted; the payload is its own.
        EventReceived = "event.received",
        /// It is kept for a later wait.
        EventBuffered = "event.buffered",
        /// A newer one took its place before anybody waited for it.
        EventSuperseded = "event.superseded",
        /// The instance ended before anybody waited for it.
        EventDiscarded = "event.discarded",
        /// A wait was reached.
        WaitStarted = "wait.started",
        /// A wait was met; the payload is the event, or the output.
        WaitFulfilled = "wait.fulfilled",
        /// A wait gave up.
        WaitExpired = "wait.expired",
        /// A wait lost a race, was dropped, or its instance ended.
        WaitCancelled = "wait.cancelled",
        /// An output was set; the payload is its value.
        OutputSet = "output.set",
        /// The workflow told those who watch; the payload is what it told.
        Update = "update",
        /// A message was sent to another instance.
        MessageSent = "message.sent",
        /// Where the runner saw a completion that the store recorded. Not numbered, not shown.
        Seen = "seen",
    }
}

words! {
    /// What a step is. Replay refuses a step whose kind changed.
    StepKind, "step kind", {
        /// A function of the user's.
        Step = "step",
        /// A function of the user's that gives its result piece by piece.
        Stream = "stream",
        /// A sleep.
        Sleep = "sleep",
        /// A child that is awaited.
        Child = "child",
        /// A child that is only started.
        Detached = "detached",
        /// A wait for an event.
        Event = "event",
        /// A wait for a signal.
        Signal = "signal",
        /// A wait for a message.
        Message = "message",
        /// A wait for an output of another instance.
        Output = "output",
        /// A look for something already there, without waiting.
        Take = "take",
        /// A message to another instance.
        Send = "send",
        /// An event to whoever wants it.
        Publish = "publish",
        /// A recorded moment.
        Now = "now",
        /// A recorded random number.
        Random = "random",
        /// A recorded UUID.
        Uuid = "uuid",
        /// A marker of changed code.
        Patch = "patch",
    }
}

impl EntryKind {
    /// Whether a run ends with it, and no other follows by itself.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::WorkflowCompleted | Self::WorkflowFailed | Self::WorkflowTerminated)
    }
}

impl StepKind {
    /// Whether the store records the completion, and the runner marks where it saw it.
    #[must_use]
    pub fn completed_by_store(self) -> bool {
        match self {
            Self::Child | Self::Detached | Self::Take | Self::Send | Self::Publish => true,
            Self::Step | Self::Stream | Self::Sleep => false,
            Self::Now | Self::Random | Self::Uuid | Self::Patch => false,
            Self::Event | Self::Signal | Self::Message | Self::Output => true,
        }
    }

    /// Whether it is a wait that has a subscription.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::Event | Self::Signal | Self::Message | Self::Output)
    }

    /// Whether it is a value that was taken at once and never waited for.
    #[must_use]
    pub fn is_value(self) -> bool {
        matches!(self, Self::Now | Self::Random | Self::Uuid | Self::Patch)
    }
}
