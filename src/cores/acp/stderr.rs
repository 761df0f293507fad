//! What a program complains about: to the log as it comes, and the end of it kept for a crash.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::io::AsyncRead;
use tracing::debug;

use super::lines::{Line, Lines};

/// How much of it is kept, in bytes.
const KEPT: usize = 64 * 1024;

/// The longest line that is logged and kept, in bytes.
const MAX_LINE: usize = 8 * 1024;

/// The complaints of a program as lines of a length that a log can carry.
pub(super) fn lines<R: AsyncRead + Unpin>(stderr: R) -> Lines<R> {
    Lines::new(stderr, MAX_LINE)
}

/// The end of what a program complained about.
#[derive(Default)]
pub(super) struct Tail(Mutex<VecDeque<u8>>);

impl Tail {
    /// Reads to the end, so that the program never waits for us. Each line is logged at debug.
    pub(super) async fn drain<R: AsyncRead + Unpin>(&self, stderr: &mut Lines<R>, agent: &str) {
        while let Ok(Some(line)) = stderr.next().await {
            match line {
                Line::Whole(line) => {
                    debug!(agent, line = %String::from_utf8_lossy(line), "the agent complains");
                    self.push(line);
                }
                Line::TooLong(bytes) => debug!(agent, bytes, "the agent complains at length"),
            }
        }
    }

    /// What is kept, for the log.
    pub(super) fn text(&self) -> String {
        let mut kept = self.0.lock();
        String::from_utf8_lossy(kept.make_contiguous())
            .trim()
            .to_owned()
    }

    fn push(&self, line: &[u8]) {
        let mut kept = self.0.lock();
        kept.extend(line);
        kept.push_back(b'\n');
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_is_kept_and_the_rest_is_forgotten() {
        let tail = Tail::default();
        let many: Vec<_> = (0..20_000).map(|n| format!("line {n}")).collect();
        let input = many.join("\n");
        tail.drain(&mut lines(input.as_bytes()), "test").await;
        let text = tail.text();
        assert!(text.len() <= KEPT);
        assert!(text.ends_with("line 19999"));
    }
}
