//! The state documents of threads that are not live. In memory only: after a restart each begins anew.

use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;

use crate::{state::Document, store::Key};

/// How many bytes of JSON all documents may be together.
const TOTAL: usize = 64 * 1024 * 1024;

/// The documents, the least recently used of which go first.
#[derive(Debug)]
pub(super) struct Documents(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    documents: LruCache<Key, (Document, usize)>,
    bytes: usize,
}

impl Documents {
    pub(super) fn new(max: usize) -> Self {
        let max = NonZeroUsize::new(max).unwrap_or(NonZeroUsize::MIN);
        // Grows as documents come: room for all of them at once may be more than there is.
        let mut documents = LruCache::unbounded();
        documents.resize(max);
        Self(Mutex::new(Kept {
            documents,
            bytes: 0,
        }))
    }

    /// A thread's document.
    pub(super) fn get(&self, key: &Key) -> Option<Document> {
        let mut kept = self.0.lock();
        kept.documents
            .get(key)
            .map(|(document, _)| document.clone())
    }

    /// Keeps a thread's document.
    pub(super) fn put(&self, key: &Key, document: Document) {
        let size = document.snapshot().to_string().len();
        let mut kept = self.0.lock();
        kept.bytes += size;
        if let Some((_, (_, size))) = kept.documents.push(key.clone(), (document, size)) {
            kept.bytes -= size;
        }
        while kept.bytes > TOTAL
            && let Some((_, (_, size))) = kept.documents.pop_lru()
        {
            kept.bytes -= size;
        }
    }

    /// Forgets a thread's document.
    pub(super) fn forget(&self, key: &Key) {
        let mut kept = self.0.lock();
        if let Some((_, size)) = kept.documents.pop(key) {
            kept.bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ThreadId;

    fn key(thread: &str) -> Key {
        Key {
            principal: "p".into(),
            agent: "a".into(),
            thread: ThreadId::new(thread).unwrap(),
        }
    }

    fn document(state: &str) -> Document {
        let mut document = Document::new("t", "a", "pando");
        document.adopt(Some(&state.into())).unwrap();
        document
    }

    #[test]
    fn r85_of_too_many_documents_the_one_used_longest_ago_goes() {
        let documents = Documents::new(2);
        for thread in ["one", "two"] {
            documents.put(&key(thread), document(thread));
        }
        assert_eq!(documents.get(&key("one")), Some(document("one")));
        documents.put(&key("three"), document("three"));
        assert_eq!(documents.get(&key("two")), None);
        assert_eq!(documents.get(&key("one")), Some(document("one")));
    }

    #[test]
    fn documents_are_bounded_by_their_bytes_and_counted_when_they_go() {
        let documents = Documents::new(1000);
        let large = "x".repeat(2 * 1024 * 1024);
        for thread in 0..40 {
            documents.put(&key(&thread.to_string()), document(&large));
        }
        assert!(documents.0.lock().bytes <= TOTAL);
        assert_eq!(documents.get(&key("0")), None);
        for thread in 0..40 {
            documents.put(&key(&thread.to_string()), document(""));
            documents.forget(&key(&thread.to_string()));
        }
        assert_eq!(documents.0.lock().bytes, 0);
    }
}
