//! Whatever is done to a store, and whether or not its file takes it, it answers as a few maps would.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use proptest::{collection::vec, option, prelude::*};

use super::*;
use crate::store::{Cut, Remembers, Transcript};

/// How many bytes of a transcript are kept: room for about five messages.
const MOST: usize = 300;

#[derive(Debug, Clone)]
enum Step {
    Begin {
        thread: u8,
        run: u8,
        workdir: bool,
        title: Option<u8>,
        cut: Option<Cut>,
        said: Vec<(u8, u8)>,
    },
    Bind(u8, u8),
    Entitle(u8, u8),
    Add(u8, Vec<(u8, u8)>),
    Refill(u8, Vec<(u8, u8)>),
    End(u8, u8, Ending),
    Park(u8, u8, Ending, Vec<u8>),
    Settle(u8, u8, Vec<(u8, Option<u8>)>),
    Forget(u8),
    /// Only these are live.
    Sweep(Vec<u8>),
    /// The file fails from now on, or no longer.
    Fail(bool),
    Restart,
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Done,
    Refused,
    Interrupted,
    Cancelled,
    Failed,
}

impl From<Ending> for Outcome {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => DONE,
            Ending::Refused => Self::Success {
                stop_reason: Some("refusal".into()),
            },
            Ending::Interrupted => Self::Interrupted,
            Ending::Cancelled => Self::Cancelled,
            Ending::Failed => Self::Failed {
                code: "internal".into(),
                message: "it broke".into(),
            },
        }
    }
}

fn cut() -> impl Strategy<Value = Cut> {
    let behind = option::weighted(0.8, 0..9u8);
    let session = prop_oneof![Just(Remembers::Nothing), Just(Remembers::TooMuch)];
    (behind, session).prop_map(|(behind, session)| Cut {
        behind: behind.map(|id| MessageId::new(format!("m{id}")).unwrap()),
        session,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let thread = || 0..4u8;
    let said = || vec((0..9u8, 0..9u8), 0..4);
    let begin = (
        thread(),
        0..5u8,
        prop::bool::weighted(0.8),
        option::of(0..3u8),
        option::weighted(0.3, cut()),
        said(),
    );
    let begin = begin.prop_map(|(thread, run, workdir, title, cut, said)| Step::Begin {
        thread,
        run,
        workdir,
        title,
        cut,
        said,
    });
    let ending = || {
        prop_oneof![
            Just(Ending::Done),
            Just(Ending::Refused),
            Just(Ending::Interrupted),
            Just(Ending::Cancelled),
            Just(Ending::Failed)
        ]
    };
    let park = (thread(), 0..5u8, ending(), vec(0..5u8, 0..4));
    let park = park.prop_map(|(thread, run, end, prompts)| Step::Park(thread, run, end, prompts));
    let settle = (thread(), 0..5u8, vec((0..5u8, option::of(0..3u8)), 0..3));
    let settle = settle.prop_map(|(thread, run, settled)| Step::Settle(thread, run, settled));
    let step = prop_oneof![
        6 => begin,
        2 => (thread(), 0..3u8).prop_map(|(thread, id)| Step::Bind(thread, id)),
        1 => (thread(), 0..3u8).prop_map(|(thread, id)| Step::Entitle(thread, id)),
        4 => (thread(), said()).prop_map(|(thread, said)| Step::Add(thread, said)),
        1 => (thread(), said()).prop_map(|(thread, said)| Step::Refill(thread, said)),
        3 => (thread(), 0..5u8, ending()).prop_map(|(thread, id, end)| Step::End(thread, id, end)),
        3 => park,
        3 => settle,
        1 => thread().prop_map(Step::Forget),
        1 => vec(thread(), 0..2).prop_map(Step::Sweep),
        3 => any::<bool>().prop_map(Step::Fail),
        1 => Just(Step::Restart),
    ];
    vec(step, 1..60)
}

fn messages(said: &[(u8, u8)]) -> Vec<Message> {
    let text = |times: u8| "ab".repeat(usize::from(times));
    let message = |(id, times): &(u8, u8)| message(&format!("m{id}"), &text(*times));
    said.iter().map(message).collect()
}

/// What is known of a thread, in a few words.
#[derive(Debug, Default)]
struct Model {
    threads: BTreeMap<String, Kept>,
}

#[derive(Debug)]
struct Kept {
    thread: Thread,
    runs: Vec<Run>,
    prompts: BTreeMap<String, Fate>,
}

impl Model {
    fn put(thread: &mut Thread, said: &[(u8, u8)]) {
        let Transcript { lines, is_partial } = &mut thread.transcript;
        for message in messages(said) {
            match lines.iter_mut().find(|line| line.message.id == message.id) {
                Some(line) => line.message = message,
                None => lines.push(message.into()),
            }
        }
        let bytes = |lines: &[Line]| -> usize {
            let bodies = lines.iter();
            bodies
                .map(|line| serde_json::to_string(&line.message).unwrap().len())
                .sum()
        };
        while bytes(lines) > MOST {
            lines.remove(0);
            *is_partial = true;
        }
    }

    fn cut(Transcript { lines, is_partial }: &mut Transcript, behind: Option<&MessageId>) {
        let place = |id: &MessageId| lines.iter().position(|line| line.message.id == *id);
        match behind.map(place) {
            None => lines.clear(),
            Some(Some(at)) => lines.truncate(at + 1),
            Some(None) => {
                lines.clear();
                *is_partial = true;
            }
        }
    }

    fn end(&mut self, thread: &str, id: u8, ending: Ending, now: i64) {
        if let Some(Kept { thread, runs, .. }) = self.threads.get_mut(thread) {
            thread.updated_ms = now;
            let id = format!("r{id}");
            if let Some(run) = runs.iter_mut().find(|run| run.id.as_str() == id) {
                run.outcome = ending.into();
                run.ended_ms = Some(now);
            }
        }
    }

    fn step(&mut self, step: &Step, now: i64) {
        let name = |thread: &u8| format!("t{thread}");
        match step {
            Step::Begin {
                thread,
                run: id,
                workdir,
                title,
                cut,
                said,
            } => {
                let workdir = workdir.then(|| "/one".to_owned());
                let entry = self.threads.entry(name(thread));
                let Kept { thread, runs, .. } = entry.or_insert_with(|| Kept {
                    thread: Thread {
                        session: None,
                        workdir: None,
                        title: None,
                        created_ms: now,
                        updated_ms: now,
                        transcript: Transcript::default(),
                        last_run: None,
                    },
                    runs: Vec::new(),
                    prompts: BTreeMap::new(),
                });
                let remembers = cut.as_ref().map(|cut| cut.session);
                if thread.workdir != workdir || remembers == Some(Remembers::TooMuch) {
                    thread.session = None;
                }
                thread.workdir = workdir;
                thread.title = thread
                    .title
                    .take()
                    .or(title.map(|id| format!("title {id}")));
                thread.updated_ms = now;
                if let Some(cut) = cut {
                    Self::cut(&mut thread.transcript, cut.behind.as_ref());
                }
                Self::put(thread, said);
                runs.retain(|run| run.id.as_str() != format!("r{id}"));
                runs.push(ended(&format!("r{id}"), Outcome::Running, now));
            }
            Step::Bind(thread, id) => {
                if let Some(Kept { thread, .. }) = self.threads.get_mut(&name(thread)) {
                    thread.session = Some(format!("s{id}"));
                }
            }
            Step::Entitle(thread, id) => {
                if let Some(Kept { thread, .. }) = self.threads.get_mut(&name(thread)) {
                    thread.title = Some(format!("title {id}"));
                }
            }
            Step::Add(thread, said) => {
                if let Some(Kept { thread, .. }) = self.threads.get_mut(&name(thread)) {
                    Self::put(thread, said);
                    thread.updated_ms = now;
                }
            }
            Step::Refill(thread, said) => {
                if let Some(Kept { thread, .. }) = self.threads.get_mut(&name(thread)) {
                    thread.transcript = Transcript::default();
                    Self::put(thread, said);
                }
            }
            Step::End(thread, id, ending) => self.end(&name(thread), *id, *ending, now),
            Step::Park(thread, id, ending, asked) => {
                self.end(&name(thread), *id, *ending, now);
                if let Some(Kept { prompts, .. }) = self.threads.get_mut(&name(thread)) {
                    for id in asked {
                        prompts.entry(format!("p{id}")).or_insert(Fate::Open);
                    }
                }
            }
            Step::Settle(thread, id, settled) => {
                let Some(Kept { prompts, .. }) = self.threads.get_mut(&name(thread)) else {
                    return;
                };
                let run = run(&format!("r{id}"));
                for (id, answer) in settled {
                    let fate = prompts.get_mut(&format!("p{id}"));
                    if let Some(fate) = fate.filter(|fate| **fate == Fate::Open) {
                        let run = run.clone();
                        *fate = match answer {
                            Some(id) => Fate::Answered {
                                run,
                                digest: format!("d{id}"),
                            },
                            None => Fate::Closed { run },
                        };
                    }
                }
            }
            Step::Forget(thread) => {
                self.threads.remove(&name(thread));
            }
            Step::Sweep(_) | Step::Fail(_) | Step::Restart => {}
        }
    }

    fn sees(&self, thread: &str) -> Option<Thread> {
        let Kept { thread, runs, .. } = self.threads.get(thread)?;
        Some(Thread {
            last_run: runs.last().cloned(),
            ..thread.clone()
        })
    }

    /// What became of these, without those that are not known.
    fn prompts(&self, thread: &str, ids: &[String]) -> Vec<Prompt> {
        let kept = self.threads.get(thread);
        let prompt = |id: &String| {
            let fate = kept?.prompts.get(id)?.clone();
            Some(Prompt {
                id: id.clone(),
                fate,
            })
        };
        ids.iter().filter_map(prompt).collect()
    }

    fn newest_first(&self) -> Vec<String> {
        let mut names: Vec<_> = self.threads.iter().collect();
        names.sort_by_key(|(_, kept)| Reverse(kept.thread.updated_ms));
        names.into_iter().map(|(name, _)| name.clone()).collect()
    }
}

impl Tiers {
    fn take_step(&mut self, step: &Step) {
        let of = |thread: &u8| key(&format!("t{thread}"));
        match step {
            Step::Begin {
                thread,
                run: id,
                workdir,
                title,
                cut,
                said,
            } => {
                let begin = Begin {
                    workdir: workdir.then(|| "/one".into()),
                    title: title.map(|id| format!("title {id}")),
                    cut: cut.clone(),
                    ..says(&format!("r{id}"), &messages(said))
                };
                self.begin(&of(thread), &begin.written());
            }
            Step::Bind(thread, id) => self.bind(&of(thread), &format!("s{id}")),
            Step::Entitle(thread, id) => self.entitle(&of(thread), &format!("title {id}")),
            Step::Add(thread, said) => self.add(&of(thread), &written(messages(said))),
            Step::Refill(thread, said) => self.refill(&of(thread), &written(messages(said))),
            Step::End(thread, id, ending) => {
                self.end(&of(thread), &run(&format!("r{id}")), &(*ending).into());
            }
            Step::Park(thread, id, ending, asked) => {
                let asked: Vec<_> = asked.iter().map(|id| format!("p{id}")).collect();
                let id = run(&format!("r{id}"));
                self.park(&of(thread), &id, &(*ending).into(), &asked, &[]);
            }
            Step::Settle(thread, id, settled) => {
                let digest = |id: &u8| format!("d{id}");
                let settled = settled.iter();
                let settled: Vec<_> = settled
                    .map(|(id, answer)| (format!("p{id}"), answer.as_ref().map(digest)))
                    .collect();
                self.settle(&of(thread), &run(&format!("r{id}")), &settled);
            }
            Step::Forget(thread) => drop(self.forget(&of(thread))),
            Step::Fail(is_on) => {
                let file = self.file();
                file.pragma_update(None, "query_only", is_on).unwrap();
            }
            Step::Sweep(_) | Step::Restart => {}
        }
    }
}

/// A sweep takes the oldest that are not live, so many as are too many, and the model follows it: which of two
/// places a thread is in while the file fails decides how many there are too many, and is not the model's business.
fn sweep(store: &mut Tiers, model: &mut Model, live: &[u8], is_failing: bool) {
    let live: Vec<_> = live.iter().map(|thread| format!("t{thread}")).collect();
    let keys: Vec<_> = live.iter().map(|name| key(name)).collect();
    let mut expected = model.newest_first();
    expected.reverse();
    let too_many = expected.len().saturating_sub(store.options.max_threads);
    expected.retain(|name| !live.contains(name));
    expected.truncate(too_many);
    let mut gone = BTreeSet::new();
    for (key, session) in store.sweep(&keys) {
        let kept = model.threads.remove(key.thread.as_str()).unwrap();
        assert_eq!(session, kept.thread.session);
        assert!(!live.contains(&key.thread.to_string()));
        gone.insert(key.thread.to_string());
    }
    if !is_failing {
        assert_eq!(gone, expected.into_iter().collect());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn r47_a_store_answers_the_same_whether_its_file_fails_or_not(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            max_threads: 3,
            transcript_bytes: MOST,
            ..options(&folder.path().join("threads.db"))
        };
        let (mut store, mut model) = (tiers(options.clone()), Model::default());
        let mut is_failing = false;
        for (step, now) in steps.iter().chain([&Step::Fail(false), &Step::Restart]).zip(NOON..) {
            store.env = Env::fixed(now);
            match step {
                Step::Restart => {
                    store.take_step(&Step::Fail(false));
                    is_failing = false;
                    store.close();
                    store = tiers(options.clone());
                }
                Step::Sweep(live) => sweep(&mut store, &mut model, live, is_failing),
                step => {
                    store.take_step(step);
                    model.step(step, now);
                    if let Step::Fail(is_on) = step {
                        is_failing = *is_on;
                    }
                }
            }
            for thread in 0..4 {
                let name = format!("t{thread}");
                prop_assert_eq!(store.sees(&name), model.sees(&name), "{} after {:?}", name, step);
            }
            for number in 0..5 {
                let id = run(&format!("r{number}"));
                let (_, known) = store.look(&key("t0"), Some(&id));
                let runs = model.threads.get("t0").map(|kept| kept.runs.iter());
                let expected = runs.and_then(|mut runs| runs.find(|run| run.id == id));
                prop_assert_eq!(known.as_ref(), expected);
            }
            let ids = [4, 3, 2, 1, 0].map(|id| format!("p{id}"));
            for thread in ["t0", "t1"] {
                prop_assert_eq!(store.prompts(&key(thread), &ids), model.prompts(thread, &ids));
            }
            let (mut listed, mut from) = (Vec::new(), None);
            loop {
                let page = store.list("ann", "coder", from, 2);
                listed.extend(names(&page).into_iter().map(ToOwned::to_owned));
                from = page.next;
                if from.is_none() { break }
            }
            prop_assert_eq!(listed, model.newest_first());
        }
    }
}
