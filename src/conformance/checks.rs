//! The checks, one function each: what is done, and what is said when a promise is broken.

use std::{collections::BTreeSet, panic::AssertUnwindSafe, sync::Arc, thread, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Check, Finding, Memory, Options, Report, Sessions,
    bench::{Bench, LEFT, SHORTLY, input, say, say_again},
    tap::{self, Tap},
};
use crate::{
    deps::{
        AgentName, CoreEvent, Deps, Forgotten, PerSetting, Principal, Session, Signal, TurnIo,
        TurnRequest,
    },
    protocol::{Content, Peer, ThreadId},
};

/// What a check comes to: a sentence if the promise was broken.
type Verdict = Result<(), String>;

/// Tries everything.
pub(super) async fn all(deps: Arc<dyn Deps>, options: &Options) -> Report {
    let mut report = Report::default();
    let agents = agents(Arc::clone(&deps), options).await;
    let agent = match agents {
        Ok(agent) => agent,
        Err(how) => {
            report.note(Check::Agents, Err(how));
            return report;
        }
    };
    report.note(Check::Agents, Ok(()));
    let bench = Bench::new(Tap::new(deps), agent, options);
    let mut checks: Vec<(Check, BoxFuture<'_, Verdict>)> =
        vec![(Check::Answer, answer(&bench).boxed())];
    if options.sessions != Sessions::Unbound {
        checks.push((Check::Session, session(&bench).boxed()));
    }
    if let Some(prompts) = &options.memory {
        checks.push((Check::Memory, memory(&bench, prompts).boxed()));
    }
    if options.sessions != Sessions::Unbound {
        checks.push((Check::Forget, forget(&bench).boxed()));
    }
    checks.push((Check::Stop, stop(&bench).boxed()));
    checks.push((Check::Drop, dropped(&bench).boxed()));
    checks.push((Check::Together, together(&bench).boxed()));
    checks.push((Check::Parts, parts(&bench).boxed()));
    checks.push((Check::Close, close(&bench).boxed()));
    for (check, trying) in checks {
        let tried = AssertUnwindSafe(trying).catch_unwind().await;
        let verdict = tried.unwrap_or_else(|_| Err("the core panicked".into()));
        report.note(check, verdict);
    }
    report
}

impl Report {
    fn note(&mut self, check: Check, verdict: Verdict) {
        match verdict {
            Ok(()) => self.passed.push(check),
            Err(how) => self.failures.push(Finding { check, how }),
        }
    }
}

/// Asks for the agents where there is no tokio runtime, so that what starts a task fails, and gives
/// the one that is to be tried.
async fn agents(deps: Arc<dyn Deps>, options: &Options) -> Result<AgentName, String> {
    let (tell, told) = oneshot::channel();
    let ask = move || {
        let names = AssertUnwindSafe(|| {
            let agents = deps.agents().iter();
            let names: Vec<_> = agents.map(|agent| agent.name.clone()).collect();
            for name in &names {
                let _ = deps.settings(name, &Principal::local());
            }
            names
        });
        // Nobody may wait any more.
        let _ = tell.send(std::panic::catch_unwind(names));
    };
    let asking = thread::Builder::new().name("conformance".into()).spawn(ask);
    if let Err(error) = asking {
        return Err(format!("no thread could be started to ask on: {error}"));
    }
    let names = match timeout(Duration::from_secs(5), told).await {
        Ok(Ok(Ok(names))) => names,
        Ok(_) => {
            return Err(
                "`agents` or `settings` panicked on a thread without a tokio runtime: they must start nothing"
                    .into(),
            );
        }
        Err(_) => {
            return Err(
                "`agents` or `settings` took longer than 5s: they must tell what is known".into(),
            );
        }
    };
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
        return Err(format!("two agents are called `{twice}`"));
    }
    match &options.agent {
        Some(wanted) if !names.contains(wanted) => Err(format!("there is no agent `{wanted}`")),
        Some(wanted) => Ok(wanted.clone()),
        None => names
            .into_iter()
            .next()
            .ok_or_else(|| "there is no agent".into()),
    }
}

async fn answer(bench: &Bench<'_>) -> Verdict {
    let quick = say(bench.options.quick.as_str());
    for peer in [Peer::Current, Peer::Legacy] {
        let (text, _) = bench.answer(&bench.thread(), &quick, peer).await?;
        if text.trim().is_empty() {
            return Err("the answer to the quick prompt has no text".into());
        }
    }
    Ok(())
}

async fn session(bench: &Bench<'_>) -> Verdict {
    let (thread, quick) = (bench.thread(), bench.options.quick.as_str());
    let (text, first) = bench.answer(&thread, &say(quick), Peer::Current).await?;
    let Some(session) = first.read(|notes| notes.session.clone()) else {
        return Err(
            "the first turn of a thread bound no session: call `TurnIo::bind`, or set `sessions` to `Unbound`"
                .into(),
        );
    };
    let then = say_again(quick, &text, quick);
    let second = bench.answer(&thread, &then, Peer::Current).await;
    let name = session.as_str();
    let (_, second) = second.map_err(|why| {
        format!("the second turn of a thread, which was to go on in session `{name}`: {why}")
    })?;
    match second.read(|notes| notes.session.clone()) {
        Some(other) if bench.options.sessions == Sessions::Same && other != session => {
            Err(format!(
                "the second turn of a thread, which was to go on in session `{name}`, bound `{}`",
                other.as_str()
            ))
        }
        _ => Ok(()),
    }
}

async fn memory(bench: &Bench<'_>, prompts: &Memory) -> Verdict {
    let thread = bench.thread();
    let Memory { tell, ask, answer } = prompts;
    let told = say(tell.as_str());
    let (text, _) = bench.answer(&thread, &told, Peer::Current).await?;
    let asked = say_again(tell, &text, ask);
    let (text, _) = bench.answer(&thread, &asked, Peer::Current).await?;
    if text.contains(answer) {
        return Ok(());
    }
    Err(format!(
        "it was told \"{tell}\", and answered \"{ask}\" without \"{answer}\""
    ))
}

async fn forget(bench: &Bench<'_>) -> Verdict {
    let Options {
        patience, quick, ..
    } = bench.options;
    let memory = bench.options.memory.as_ref();
    let (tell, ask) = memory.map_or((quick, quick), |memory| (&memory.tell, &memory.ask));
    let thread = bench.thread();
    let told = say(tell.as_str());
    // Whether it can be told something, the other checks have judged.
    let Ok((_, turn)) = bench.answer(&thread, &told, Peer::Current).await else {
        return Ok(());
    };
    let Some(session) = turn.read(|notes| notes.session.clone()) else {
        return Ok(());
    };
    let forgotten = Forgotten {
        agent: bench.agent.clone(),
        principal: Principal::local(),
        thread: thread.clone(),
        session,
    };
    for which in ["a session", "a session that is gone"] {
        let forgetting = bench.tap.forget(forgotten.clone());
        if timeout(*patience, forgetting).await.is_err() {
            return Err(format!(
                "`forget` of {which} did not return within {patience:?}"
            ));
        }
    }
    let (io, mut inbox) = TurnIo::channel(1, CancellationToken::new());
    let turn = bench.tap.deps.turn(first(bench, &thread, ask), io);
    let hearing = async {
        let mut text = String::new();
        while let Some(signal) = inbox.recv().await {
            if let Signal::Event(CoreEvent::Text(more)) = signal {
                text.push_str(&more);
            }
        }
        text
    };
    let both = async { tokio::join!(turn, hearing) };
    match (timeout(*patience, both).await, memory) {
        (Err(_), _) => Err(format!(
            "the first turn after `forget` did not end within {patience:?}"
        )),
        (Ok((Err(error), _)), _) => Err(format!("the first turn after `forget` failed: {error}")),
        (Ok((Ok(_), text)), Some(memory)) if text.contains(&memory.answer) => Err(format!(
            "a new session answered \"{ask}\" with \"{}\", which was said in one that was let go of",
            memory.answer
        )),
        _ => Ok(()),
    }
}

/// A request for the first turn of a session.
fn first(bench: &Bench<'_>, thread: &ThreadId, prompt: &str) -> TurnRequest {
    TurnRequest {
        agent: bench.agent.clone(),
        principal: Principal::local(),
        session: Session::New,
        history: Arc::default(),
        prompt: Content::Text(prompt.into()),
        wishes: PerSetting::default(),
        input: Arc::new(input(thread, &say(prompt), Peer::Current)),
    }
}

async fn stop(bench: &Bench<'_>) -> Verdict {
    let (turn, thread) = bench.busy().await?.hang_up();
    bench.ends(&turn).await?;
    let Options { long, quick, .. } = bench.options;
    let then = say_again(long, "", quick);
    let again = bench.answer(&thread, &then, Peer::Current).await;
    again
        .map(drop)
        .map_err(|why| format!("the thread could not be used after a turn was stopped: {why}"))
}

/// Drops a turn without having told it to stop, which the engine does to one that does not listen.
async fn dropped(bench: &Bench<'_>) -> Verdict {
    let request = first(bench, &bench.thread(), &bench.options.long);
    let (io, mut inbox) = TurnIo::channel(1, CancellationToken::new());
    let mut turn = bench.tap.deps.turn(request, io);
    // It speaks, goes on for a moment, and is dropped wherever it is then.
    let middle = async {
        if inbox.recv().await.is_some() {
            let _ = timeout(SHORTLY, async { while inbox.recv().await.is_some() {} }).await;
        }
    };
    let in_time = tokio::select! {
        biased;
        in_time = timeout(bench.options.patience, middle) => in_time.is_ok(),
        _ = &mut turn => false,
    };
    if !in_time {
        return Err("the long prompt ended, or said nothing, before it could be dropped".into());
    }
    drop(turn);
    if !tap::is_let_go(&mut inbox, bench.options.stop_grace).await {
        return Err(LEFT.into());
    }
    Ok(())
}

async fn together(bench: &Bench<'_>) -> Verdict {
    let first = bench.busy().await?;
    let second = bench
        .busy()
        .await
        .map_err(|why| format!("a turn on one thread, while one on another was live: {why}"))?;
    first.is_still_live()?;
    for (turn, _) in [first.hang_up(), second.hang_up()] {
        bench.ends(&turn).await?;
    }
    let Some(echo) = bench.options.echo else {
        return Ok(());
    };
    let words = ["marmalade", "telescope"];
    let asked = words.map(|word| say(echo(word)));
    let threads = [bench.thread(), bench.thread()];
    let (one, other) = tokio::join!(
        bench.answer(&threads[0], &asked[0], Peer::Current),
        bench.answer(&threads[1], &asked[1], Peer::Current),
    );
    let texts = [one?.0, other?.0];
    for (own, foreign) in [(0, 1), (1, 0)] {
        let [text, word, alien] = [&texts[own], words[own], words[foreign]];
        if !text.contains(word) {
            let said: String = text.chars().take(100).collect();
            return Err(format!(
                "a prompt to echo \"{word}\" was answered without it: \"{said}\""
            ));
        }
        if text.contains(alien) {
            return Err(format!(
                "a thread that was to echo \"{word}\" said \"{alien}\", which is another thread's"
            ));
        }
    }
    Ok(())
}

async fn parts(bench: &Bench<'_>) -> Verdict {
    let asked = say(every_part(&bench.options.quick));
    let tried = bench.answer(&bench.thread(), &asked, Peer::Current).await;
    tried.map(drop)
}

/// A prompt with parts of every kind; the words come last.
fn every_part(words: &str) -> Value {
    let source =
        |value: &str, kind: &str| json!({"type": "data", "value": value, "mimeType": kind});
    let url = |name: &str| json!({"type": "url", "value": format!("https://files.example/{name}")});
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    json!([
        {"type": "image", "source": source(pixel, "image/png")},
        {"type": "image", "source": url("picture.png")},
        {"type": "audio", "source": source("UklGRg==", "audio/wav")},
        {"type": "video", "source": url("film.mp4")},
        {"type": "document", "source": source("SGVsbG8=", "text/plain")},
        {"type": "document", "source": {"type": "file", "value": "file-1", "provider": "example"}},
        {"type": "text", "text": words},
    ])
}

async fn close(bench: &Bench<'_>) -> Verdict {
    // Whether there is something to end, the other checks have judged.
    let live = bench.busy().await.ok();
    let Options {
        patience,
        stop_grace,
        ..
    } = *bench.options;
    let closing = AssertUnwindSafe(bench.runtime.close()).catch_unwind();
    match timeout(patience + stop_grace, closing).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) => return Err("`close` panicked".into()),
        Err(_) => return Err(format!("`close` did not return within {patience:?}")),
    }
    match live {
        Some(run) => bench.ends(&run.turn).await,
        None => Ok(()),
    }
}
