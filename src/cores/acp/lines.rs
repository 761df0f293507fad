//! The filter between a program's output and the protocol: lines of bounded length, and of those only
//! what can be a message.
//!
//! Agents are wrapped in shells and package runners that print banners, colours and progress. The SDK
//! tolerates most of that, but it reads a line of any length into memory, answers what it cannot parse,
//! and ends the connection over invalid UTF-8.
//!
//! `tokio_util::codec::LinesCodec` was weighed: it bounds lines as well, but ends its stream over the
//! first one that is too long or is not UTF-8, and here such a line is only skipped.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// How much memory a finished line may leave behind for the next one, in bytes.
const KEPT: usize = 64 * 1024;

/// Lines of bounded length.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    max: usize,
    /// Bytes of the line at hand that were thrown away because it is too long.
    skipped: u64,
    /// Whether the line in `line` was handed out.
    taken: bool,
}

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// As it was written.
    Whole(&'a [u8]),
    /// It had so many bytes, and is gone.
    TooLong(u64),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `max` bytes.
    pub(super) fn new(reader: R, max: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(16 * 1024, reader),
            line: Vec::new(),
            max,
            skipped: 0,
            taken: false,
        }
    }

    /// The next line; `None` at the end. An unfinished last line counts. Dropping the future loses
    /// nothing.
    ///
    /// # Errors
    /// Reading failed.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        if std::mem::take(&mut self.taken) {
            self.line.clear();
            self.line.shrink_to(KEPT);
        }
        loop {
            let read = self.reader.fill_buf().await?;
            if read.is_empty() {
                let nothing = self.line.is_empty() && self.skipped == 0;
                return Ok((!nothing).then(|| self.finish()));
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            if self.skipped > 0 || self.line.len() + part.len() > self.max {
                self.skipped += (self.line.len() + part.len()) as u64;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.finish()));
            }
        }
    }

    /// Reads and forgets what is left, to the end.
    pub(super) async fn discard(&mut self) {
        while let Ok(Some(_)) = self.next().await {}
    }

    fn finish(&mut self) -> Line<'_> {
        self.taken = true;
        match std::mem::take(&mut self.skipped) {
            0 => Line::Whole(&self.line),
            skipped => Line::TooLong(skipped),
        }
    }
}

/// The JSON object that a line may be: without byte order mark, carriage return and what a terminal
/// would swallow before it. `None` for anything else, and for what is not UTF-8.
pub(super) fn object(line: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(line).ok()?;
    // Wrappers write progress and colours before and after it, in the same line.
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    text.get(start..=end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    async fn read(input: &[u8], max: usize) -> Vec<Result<Vec<u8>, u64>> {
        let mut lines = Lines::new(input, max);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(match line {
                Line::Whole(line) => Ok(line.to_vec()),
                Line::TooLong(bytes) => Err(bytes),
            });
        }
        found
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let input = [b"a\n".as_slice(), &vec![b'x'; 100_000], b"\nb"].concat();
        let found = read(&input, 64).await;
        assert_eq!(found, [Ok(b"a".to_vec()), Err(100_000), Ok(b"b".to_vec())]);
    }

    #[tokio::test]
    async fn a_long_line_leaves_little_memory_behind() {
        let input = [vec![b'x'; 1 << 20], b"\ny\n".to_vec()].concat();
        let mut lines = Lines::new(input.as_slice(), 1 << 21);
        lines.next().await.unwrap();
        lines.next().await.unwrap();
        assert!(lines.line.capacity() <= KEPT);
    }

    #[test]
    fn only_json_objects_pass() {
        for (line, wanted) in [
            (b"{\"a\":1}\r".as_slice(), Some("{\"a\":1}")),
            (b"\xef\xbb\xbf{}", Some("{}")),
            (b"\x1b]0;title\x07{}", Some("{}")),
            (b"\r10%\rLoading...{\"a\":1}\x1b[0m\0", Some("{\"a\":1}")),
            (b"\x1b[32mready\x1b[0m", None),
            (b"} {", None),
            (b"Starting agent ...", None),
            (b"[1]", None),
            (b"{\"a\":\"\xff\"}", None),
            (b"{\"cut", None),
            (b"", None),
        ] {
            assert_eq!(object(line), wanted, "{}", String::from_utf8_lossy(line));
        }
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_input(lines in prop::collection::vec("[a-z]{0,40}", 0..20)) {
            let input = lines.join("\n") + if lines.is_empty() { "" } else { "\n" };
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let found = runtime.block_on(read(input.as_bytes(), 20));
            let wanted: Vec<_> = lines
                .iter()
                .map(|line| match line.len() {
                    0..=20 => Ok(line.clone().into_bytes()),
                    long => Err(long as u64),
                })
                .collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
