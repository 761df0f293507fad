//! What is left behind when a supervisor is killed: it becomes this process's own, and ends.
//!
//! Only a process that has no children but its agents can do that, so it is the daemon's to ask for. The system
//! gives it the orphans (`PR_SET_CHILD_SUBREAPER`), as it gives them to a supervisor; so whatever an agent starts
//! stays below the daemon, and who is below it is an agent's, whatever was killed on the way.

use std::{collections::BTreeSet, convert::Infallible, future::pending, io, time::Duration};

use parking_lot::Mutex;
use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, set_child_subreaper,
        waitid, waitpid,
    },
};
use tokio::{
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
    time::sleep,
};
use tracing::warn;

use super::tree;

/// How long until it looks again for what was started while others were killed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The children that this process has started; nothing before [`adopt`]. The lock is held while one is started, so
/// that nobody takes it for a stranger.
static STARTED: Mutex<Option<BTreeSet<i32>>> = Mutex::new(None);

/// Takes in what the agents of this process leave behind. From now on every child that it has and that no agent
/// is started with counts as left behind, so it must start none.
///
/// # Errors
/// The system does not offer it.
pub fn adopt() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    STARTED.lock().get_or_insert_default();
    Ok(())
}

/// Starts what an agent is started with.
pub(in crate::cores::acp) fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut started = STARTED.lock();
    let child = command.spawn()?;
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let (Some(started), Some(id)) = (started.as_mut(), id) {
        started.insert(id);
    }
    Ok(child)
}

/// Every process of an agent of this process, as one look finds them: what is below it, without the supervisors.
pub fn agents() -> Vec<i32> {
    let started = STARTED.lock().clone().unwrap_or_default();
    let parents = tree::parents();
    // A supervisor may be hidden, and is known nevertheless.
    let mut found: BTreeSet<i32> = tree::descendants(me(), &parents).into_iter().collect();
    for id in &started {
        found.extend(tree::descendants(*id, &parents));
    }
    found.difference(&started).copied().collect()
}

/// Whether this process has any child, and so whether there is an agent's process.
pub fn is_anybody_there() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Ends what killed supervisors leave behind, for as long as it is polled.
pub async fn end_orphans() -> Infallible {
    let Ok(mut ends) = signal(SignalKind::child()) else {
        return pending().await;
    };
    loop {
        let ended = orphans(&mut STARTED.lock());
        if ended.is_empty() {
            ends.recv().await;
            continue;
        }
        warn!(
            processes = ended.len(),
            "a supervisor was killed; what it left behind is ended"
        );
        while !orphans(&mut STARTED.lock()).is_empty() {
            sleep(LOOK_AGAIN).await;
        }
    }
}

/// Kills all that is left behind, as one look finds it, and answers with what it was. Forgets the children that
/// have ended.
fn orphans(started: &mut Option<BTreeSet<i32>>) -> Vec<i32> {
    let Some(started) = started else {
        return Vec::new();
    };
    let parents = tree::parents();
    let (own, left) = divide(me(), started, &parents);
    let mut ended = left.clone();
    for id in &left {
        ended.extend(tree::descendants(*id, &parents));
    }
    for id in ended.iter().filter_map(|id| Pid::from_raw(*id)) {
        let _ = kill_process(id, Signal::KILL);
    }
    for id in left.iter().filter_map(|id| Pid::from_raw(*id)) {
        let _ = waitpid(Some(id), WaitOptions::NOHANG);
    }
    *started = own;
    ended
}

/// The children that were started and are still there, and those that were not.
fn divide(me: i32, started: &BTreeSet<i32>, parents: &[(i32, i32)]) -> (BTreeSet<i32>, Vec<i32>) {
    let children = parents.iter().filter(|(_, parent)| *parent == me);
    let (own, left): (Vec<i32>, Vec<i32>) = children
        .map(|(id, _)| *id)
        .partition(|id| started.contains(id));
    (own.into_iter().collect(), left)
}

fn me() -> i32 {
    getpid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_was_not_started_was_left_behind_and_one_that_is_gone_is_forgotten() {
        let parents = [(5, 1), (6, 5), (7, 5), (8, 7), (9, 1)];
        let (own, left) = divide(5, &BTreeSet::from([6, 4]), &parents);
        assert_eq!((own, left), (BTreeSet::from([6]), vec![7]));
    }
}
