//! Reading what tools answer: text in, plain data out.
//!
//! A tool answers in text. Where that text is data it may be JSON, but some agents write TOON or TOML for their models to
//! read, and which of them changes with the agent's version. [`decode_tool_result`] makes one object of any, or nothing,
//! so nobody else needs to know how an answer was written; [`integer()`] reads a number whichever way that has spelled it.

mod decode;
mod integer;
mod toml;
mod toon;

pub use self::{
    decode::{Kind, decode_tool_result},
    integer::integer,
};
