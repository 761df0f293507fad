//! The state documents of threads that are not live. In memory only: after a restart each begins anew.

use std::{num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use parking_lot::Mutex;

use crate::{state::Document, store::Key};

/// What keeping a document takes beside the document and the texts of its key, in bytes: the counts of what is shared, the node
/// in the list, its place in a table that is half full at worst, and what an allocator rounds up. As measured.
const ENTRY: usize = 320;

/// The documents, the least recently used of which go first.
#[derive(Debug)]
pub(super) struct Documents(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    documents: LruCache<Key, Entry>,
    bytes: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    document: Arc<Document>,
    bytes: usize,
}

impl Documents {
    /// Keeps as many as `max` documents, and of all of them no more than about `max_bytes` in memory.
    pub(super) fn new(max: usize, max_bytes: usize) -> Self {
        let max = NonZeroUsize::new(max).unwrap_or(NonZeroUsize::MIN);
        // Grows as documents come: room for all of them at once may be more than there is.
        let mut documents = LruCache::unbounded();
        documents.resize(max);
        Self(Mutex::new(Kept {
            documents,
            bytes: 0,
            max_bytes,
        }))
    }

    /// A thread's document.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Document>> {
        let mut kept = self.0.lock();
        let entry = kept.documents.get(key)?;
        Some(Arc::clone(&entry.document))
    }

    /// Keeps a thread's document. One that is larger than all of them may be together is not kept, and nothing goes for it.
    pub(super) fn put(&self, key: &Key, document: Document) {
        let bytes = ENTRY + document.size() + texts(key);
        let entry = Entry {
            document: Arc::new(document),
            bytes,
        };
        // Before the lock, so that it is let go of after it.
        let mut gone = Vec::new();
        let mut kept = self.0.lock();
        gone.extend(kept.remove(key));
        if bytes > kept.max_bytes {
            return;
        }
        kept.bytes += bytes;
        if let Some((_, entry)) = kept.documents.push(key.clone(), entry) {
            kept.bytes -= entry.bytes;
            gone.push(entry);
        }
        while kept.bytes > kept.max_bytes
            && let Some((_, entry)) = kept.documents.pop_lru()
        {
            kept.bytes -= entry.bytes;
            gone.push(entry);
        }
    }

    /// Forgets a thread's document.
    pub(super) fn forget(&self, key: &Key) {
        let gone = self.0.lock().remove(key);
        drop(gone);
    }
}

impl Kept {
    fn remove(&mut self, key: &Key) -> Option<Entry> {
        let entry = self.documents.pop(key)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

/// How long the texts of a key are. Each key has its own.
fn texts(key: &Key) -> usize {
    key.principal.len() + key.agent.len() + key.thread.as_str().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ThreadId;

    fn key(thread: &impl ToString) -> Key {
        Key {
            principal: "p".into(),
            agent: "a".into(),
            thread: ThreadId::new(thread.to_string()).unwrap(),
        }
    }

    fn document(state: &str) -> Document {
        let mut document = Document::new("t", "a", "pando");
        document.adopt(Some(&state.into())).unwrap();
        document
    }

    fn kept(documents: &Documents) -> usize {
        documents.0.lock().bytes
    }

    #[test]
    fn r85_of_too_many_documents_the_one_used_longest_ago_goes() {
        let documents = Documents::new(2, usize::MAX);
        for thread in ["one", "two"] {
            documents.put(&key(&thread), document(thread));
        }
        let one = documents.get(&key(&"one")).unwrap();
        assert_eq!(*one, document("one"));
        documents.put(&key(&"three"), document("three"));
        assert_eq!(documents.get(&key(&"two")), None);
        assert!(Arc::ptr_eq(&documents.get(&key(&"one")).unwrap(), &one));
    }

    #[test]
    fn of_documents_that_are_too_large_together_the_one_used_longest_ago_goes() {
        const MAX: usize = 64 * 1024;
        let documents = Documents::new(1000, MAX);
        let text = "x".repeat(1024);
        for thread in 0..100 {
            documents.put(&key(&thread), document(&text));
            documents.get(&key(&0));
            assert!(kept(&documents) <= MAX);
        }
        assert!(documents.get(&key(&0)).is_some());
        assert!(documents.get(&key(&99)).is_some());
        assert_eq!(documents.get(&key(&1)), None);
        let many = documents.0.lock().documents.len();
        // A document, its key and its entry take more than its text, and not more than twice as much.
        assert!((MAX / 2048..MAX / 1024).contains(&many), "{many}");
    }

    #[test]
    fn one_that_is_larger_than_the_budget_is_not_kept_and_drives_no_other_out() {
        let documents = Documents::new(1000, 64 * 1024);
        documents.put(&key(&"small"), document("small"));
        documents.put(&key(&"grows"), document("grows"));
        documents.put(&key(&"grows"), document(&"x".repeat(64 * 1024)));
        assert_eq!(documents.get(&key(&"grows")), None);
        assert!(documents.get(&key(&"small")).is_some());
    }

    #[test]
    fn what_goes_is_counted() {
        let documents = Documents::new(3, 64 * 1024);
        for (thread, length) in [(1, 10), (2, 1000), (1, 5000), (3, 70_000), (4, 3), (5, 0)] {
            documents.put(&key(&thread), document(&"x".repeat(length)));
        }
        assert!(kept(&documents) > 5000);
        for thread in 0..6 {
            documents.forget(&key(&thread));
        }
        assert_eq!(kept(&documents), 0);
    }
}
