//! What a listener hears, and when. Which verb sends which hint stands with the verb.

use std::sync::{Arc, OnceLock};

use abide::history::EntryKind;
use abide::store::{Answer, Due, Ended, Hint, Listener, Store};
use abide::{Delivery, Instance, InstanceId, Status};
use parking_lot::Mutex;

use crate::fixture::{Does, does, failure, id, json, signal};
use crate::{Lab, Recorder};

/// Looks at one instance the moment it hears of anything.
struct Peek {
    store: OnceLock<Arc<dyn Store>>,
    id: InstanceId,
    seen: Mutex<Vec<Answer<Option<Instance>>>>,
    heard: Arc<Recorder>,
}

impl Listener for Peek {
    fn hint(&self, hint: Hint) {
        if let Hint::Recorded = hint {
            return;
        }
        let store = self.store.get().unwrap();
        self.seen.lock().push(store.instance(&self.id));
        self.heard.hint(hint);
    }
}

impl Peek {
    async fn attach(lab: &Lab, name: &str) -> Arc<Self> {
        let peek = Arc::new(Self {
            store: OnceLock::new(),
            id: id(name),
            seen: Mutex::default(),
            heard: Recorder::new(),
        });
        drop(peek.store.set(Arc::clone(&lab.store)));
        lab.store.attach(Arc::clone(&peek) as _).await.unwrap();
        peek
    }

    /// How the instance looked when the one hint since the last time was heard.
    async fn saw(&self) -> Instance {
        self.heard.wait_for(1).await;
        assert_eq!(self.heard.take().len(), 1);
        let seen = self.seen.lock().pop().unwrap();
        seen.await.unwrap().unwrap()
    }
}

pub async fn a_hint_is_heard_only_after_its_effect_can_be_read(lab: &Lab) {
    let peek = Peek::attach(lab, "a").await;
    let runner = lab.begin("a").await;
    lab.pause("a").await;
    assert!(peek.saw().await.paused);
    lab.resume("a").await;
    assert!(!peek.saw().await.paused);
    lab.stored(runner, does().completes(1)).await;
    assert_eq!(peek.saw().await.status(), Status::Completed);
    lab.restart("a").await;
    assert_eq!(peek.saw().await.run, 2);
    lab.terminate_how("a", abide::Terminate::default().compensate()).await;
    assert_eq!(peek.saw().await.next_seq, 7);
}

pub async fn a_hint_of_a_child_is_heard_only_after_the_child_can_be_read(lab: &Lab) {
    let peek = Peek::attach(lab, "child").await;
    lab.begin_doing("parent", does().awaits("child", "kid").waits()).await;
    assert_eq!(peek.saw().await.status(), Status::Running);
}

async fn heard(lab: &Lab, hints: usize) -> (Arc<Recorder>, usize) {
    let recorder = Recorder::new();
    lab.store.attach(Arc::clone(&recorder) as _).await.unwrap();
    (recorder, hints)
}

pub async fn an_arrival_carries_what_was_recorded(lab: &Lab) {
    lab.begin_doing("parent", does().awaits("child", "kid").waits()).await;
    let (recorder, hints) = heard(lab, 2).await;
    let child = lab.take("child").await;
    lab.stored(child, does().completes("done")).await;
    recorder.wait_for(hints).await;
    let told = recorder.take();
    let recorded = lab.history("parent").await.pop().unwrap();
    assert_eq!(recorded.entry.entry, EntryKind::StepCompleted);
    assert!(matches!(&told[0], Hint::Arrived(_, arrived) if **arrived == recorded), "{told:?}");
}

pub async fn an_end_carries_the_result(lab: &Lab) {
    let (recorder, hints) = heard(lab, 2).await;
    let a = lab.begin_doing("a", does().completes("done")).await;
    let b = lab.begin_doing("b", does().errs("no")).await;
    recorder.wait_for(hints).await;
    let told = recorder.take();
    let completed = Ended {
        key: a.key,
        id: id("a"),
        status: Status::Completed,
        output: Some(json("done")),
        error: None,
    };
    let errored = Ended {
        key: b.key,
        id: id("b"),
        status: Status::Errored,
        output: None,
        error: Some(failure("no")),
    };
    let [Hint::Ended(first), Hint::Ended(second)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((first, second), (&completed, &errored));
}

pub async fn an_output_carries_its_value(lab: &Lab) {
    let (recorder, hints) = heard(lab, 1).await;
    lab.begin_doing("a", does().sets("k", "v")).await;
    recorder.wait_for(hints).await;
    let told = recorder.take();
    let [Hint::OutputSet(of, output)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((of, output), (&id("a"), &lab.outputs("a").await[0]));
}

pub async fn a_moment_that_came_nearer_is_told(lab: &Lab) {
    let runner = lab.begin_doing("a", does().sleeps_until(lab.in_ms(50))).await;
    let (recorder, hints) = heard(lab, 1).await;
    let at = lab.in_ms(20);
    lab.accepted(Delivery { visible_at: Some(at), ..signal("a", "s", "m1") }).await;
    recorder.wait_for(hints).await;
    let told = recorder.take();
    let [Hint::Due(due)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*due, Due { at, key: runner.key });
}

pub async fn quiet_verbs_send_nothing(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().completes_step("s").remembers("c").waits()).await;
    lab.take("a").await;
    lab.release(runner).await;
    lab.store.prune(lab.in_ms(1), 10).await.unwrap();
    lab.everything().await;
    lab.hears(&[]).await;
}
