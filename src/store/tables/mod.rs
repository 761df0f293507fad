//! The statements, as functions on a connection, be it to the file or to memory. What changes more than one row is
//! called within a transaction.

mod copy;
mod listing;
mod prompts;
mod runs;
mod sweep;
mod threads;
mod transcript;

pub(super) use self::{
    copy::{merge, read, replace},
    listing::newest,
    prompts::{ask, prompts, settle},
    runs::end,
    sweep::{forget_transcripts, give_back, sweep},
    threads::{
        Found, add, begin, bind, count_from, draft, entitle, forget, knows, look, lose, refill, run,
    },
};
