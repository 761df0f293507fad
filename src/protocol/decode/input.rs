//! Reads `RunAgentInput` itself: ids, version, tools, context, answers.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    message::message,
    reader::{Members, Read, Reader},
    value::{any, id, list, named, object, text},
};
use crate::protocol::{
    ContextEntry, InterruptId, PROTOCOL_VERSION, ResumeEntry, RunAgentInput, RunId, ThreadId, Tool,
    peer::Declared,
};

pub(super) fn run_agent_input(value: Value, reader: &mut Reader) -> Read<RunAgentInput> {
    let mut members = Members::of(value, reader)?;
    // Before all else: of a client that speaks another major version nothing else can be judged.
    let protocol_version = members.optional("protocolVersion", reader, version)?;
    let input = RunAgentInput {
        thread_id: members.required("threadId", reader, id(ThreadId::new))?,
        run_id: members.required("runId", reader, id(RunId::new))?,
        protocol_version,
        parent_run_id: members.optional("parentRunId", reader, id(RunId::new))?,
        state: members.optional("state", reader, any)?,
        messages: members.required("messages", reader, list(message))?,
        tools: members
            .optional("tools", reader, list(tool))?
            .unwrap_or_default(),
        context: members
            .optional("context", reader, list(context))?
            .unwrap_or_default(),
        forwarded_props: members.optional("forwardedProps", reader, any)?,
        resume: members
            .optional("resume", reader, resume)?
            .unwrap_or_default(),
    };
    members.ignore_rest(reader);
    Ok(input)
}

fn version(value: Value, reader: &mut Reader) -> Read<String> {
    let version = text(value, reader)?;
    match Declared::of(&version) {
        Declared::Spoken => {}
        Declared::Newer => reader.warn(format!(
            "newer than {PROTOCOL_VERSION}, answered with {PROTOCOL_VERSION}"
        )),
        Declared::Before => reader.warn("from before 1.0, answered as such"),
        Declared::Unreadable => reader.warn("no version of the form 1.0, taken for a newer one"),
        Declared::OtherMajor => {
            return Err(
                reader.invalid(format!("must have the major version of {PROTOCOL_VERSION}"))
            );
        }
    }
    Ok(version)
}

fn tool(value: Value, reader: &mut Reader) -> Read<Option<Tool>> {
    let mut members = Members::of(value, reader)?;
    let tool = Tool {
        name: members.required("name", reader, text)?,
        description: members.required("description", reader, text)?,
        parameters: members.optional("parameters", reader, any)?,
        metadata: members.optional("metadata", reader, object)?,
    };
    members.ignore_rest(reader);
    Ok(Some(tool))
}

fn context(value: Value, reader: &mut Reader) -> Read<Option<ContextEntry>> {
    let mut members = Members::of(value, reader)?;
    let entry = ContextEntry {
        description: members.required("description", reader, text)?,
        value: members.required("value", reader, text)?,
    };
    members.ignore_rest(reader);
    Ok(Some(entry))
}

/// The answers, each interrupt's once.
fn resume(value: Value, reader: &mut Reader) -> Read<Vec<ResumeEntry>> {
    let mut answers: Vec<ResumeEntry> = Vec::new();
    let mut places: HashMap<InterruptId, usize> = HashMap::new();
    for answer in list(answer)(value, reader)? {
        match places.get(&answer.interrupt_id) {
            None => {
                places.insert(answer.interrupt_id.clone(), answers.len());
                answers.push(answer);
            }
            Some(at) if answers[*at] == answer => reader.warn("the same answer is given twice"),
            Some(_) => return Err(reader.invalid("answers one interrupt in two ways")),
        }
    }
    Ok(answers)
}

fn answer(value: Value, reader: &mut Reader) -> Read<Option<ResumeEntry>> {
    let mut members = Members::of(value, reader)?;
    let entry = ResumeEntry {
        interrupt_id: members.required("interruptId", reader, id(InterruptId::new))?,
        status: members.required("status", reader, |value, reader| {
            let name = text(value, reader)?;
            named(&name).ok_or_else(|| reader.invalid("must be `resolved` or `cancelled`"))
        })?,
        payload: members.optional("payload", reader, any)?,
        metadata: members.optional("metadata", reader, object)?,
    };
    members.ignore_rest(reader);
    Ok(Some(entry))
}
