//! The document as a whole.
//!
//! The daemon's own fields are reserved; every other member of the client's state stands at the root
//! beside them, and `client` repeats those. A client sends the whole document back with every run, ours
//! included, so what is reserved is dropped from what it sends: the document cannot nest itself.

use std::{mem, sync::Arc};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    ContextUpdate, ContextUsage, File, Settings, SubAgent, SubAgentUpdate, Todo, files, sub_agents,
};
use crate::protocol::{JsonObject, MessageId, Operation, Patch, Pointer, sse};

/// The names that are the daemon's, besides the namespace.
const RESERVED: [&str; 9] = [
    "thread",
    "session",
    "agent",
    "model",
    "todos",
    "tokenUsage",
    "files",
    "subAgents",
    "client",
];

/// The largest client state that is shown, in bytes of JSON. It appears twice in a snapshot, and a
/// frame must stay well under 10 MiB.
const MAX_CLIENT: usize = 3 * 1024 * 1024;

/// The largest that todos, files and sub-agents may be together, in bytes of JSON.
const MAX_OURS: usize = 1024 * 1024;

/// The longest name of a session, a model or a file that is shown, in bytes. Agents make them up.
const MAX_NAME: usize = 1024;

/// How many options of a setting are shown. Some agents offer hundreds of models.
const MAX_OPTIONS: usize = 500;

/// The largest that the settings may be, in bytes of JSON. Of longer ones fewer options are shown.
const MAX_SETTINGS: usize = 512 * 1024;

/// A model, without anything that would tell where it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Its id; empty until known.
    pub id: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How many tokens fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// The document of one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    thread: String,
    agent: String,
    session: String,
    model: Model,
    /// What the settings stand under.
    namespace: String,
    settings: Settings,
    last_prompt: Option<MessageId>,
    todos: Vec<Todo>,
    usage: Option<ContextUsage>,
    files: Vec<File>,
    sub_agents: Vec<SubAgent>,
    client: Client,
}

/// What is beyond the original's members.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Beyond<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    last_prompt: Option<&'a MessageId>,
    #[serde(flatten)]
    settings: &'a Settings,
}

/// What the page sent, as JSON text: a document at rest takes as much room as it says.
#[derive(Debug, Clone, PartialEq)]
enum Client {
    /// No state.
    Absent,
    /// The members that are not reserved; they stand at the root, too.
    Members(Arc<str>),
    /// Something that is no object; it stands in `client` only.
    Other(Arc<str>),
}

/// A part of the document would be larger than what can be shown. The document is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("show `{part}`: with it the state is larger than {limit} bytes")]
pub struct TooLarge {
    /// The member that does not fit.
    pub part: &'static str,
    limit: usize,
}

impl Document {
    /// A document of which nothing is known but whose it is. What is beyond the original's members stands
    /// under `namespace`.
    pub fn new(thread: &str, agent: &str, namespace: &str) -> Self {
        Self {
            thread: thread.into(),
            agent: agent.into(),
            session: String::new(),
            model: Model::default(),
            namespace: namespace.into(),
            settings: Settings::default(),
            last_prompt: None,
            todos: Vec::new(),
            usage: None,
            files: Vec::new(),
            sub_agents: Vec::new(),
            client: Client::Absent,
        }
    }

    /// Forgets what was noted of a session, for another one. What the client sent stays.
    pub fn renew(&mut self, session: &str) {
        let client = mem::replace(&mut self.client, Client::Absent);
        *self = Self {
            client,
            last_prompt: self.last_prompt.take(),
            ..Self::new(&self.thread, &self.agent, &self.namespace)
        };
        self.set_session(session);
    }

    /// Takes over the state that came with a request.
    ///
    /// # Errors
    /// It is too large; the document shows no client state then.
    pub fn adopt(&mut self, state: Option<&Value>) -> Result<(), TooLarge> {
        self.client = Client::Absent;
        let Some(state) = state else { return Ok(()) };
        let is_members = state.is_object();
        let state = match state {
            Value::Object(members) => {
                let others = members.iter().filter(|(name, _)| !self.is_reserved(name));
                let owned = others.map(|(name, value)| (name.clone(), value.clone()));
                Value::Object(owned.collect())
            }
            other => other.clone(),
        };
        if sse::size(&state) > MAX_CLIENT {
            return Err(TooLarge {
                part: "client",
                limit: MAX_CLIENT,
            });
        }
        let text = state.to_string().into();
        self.client = if is_members {
            Client::Members(text)
        } else {
            Client::Other(text)
        };
        Ok(())
    }

    fn is_reserved(&self, name: &str) -> bool {
        RESERVED.contains(&name) || name == self.namespace
    }

    /// The whole document.
    pub fn snapshot(&self) -> Value {
        let mut document = json!({
            "thread": self.thread,
            "session": self.session,
            "agent": self.agent,
            "model": self.model,
            "todos": self.todos,
            "tokenUsage": self.usage,
            "files": self.files,
            "subAgents": self.sub_agents,
        });
        let root = document
            .as_object_mut()
            .expect("it was just made as an object");
        if !self.settings.is_empty() || self.last_prompt.is_some() {
            root.insert(self.namespace.clone(), json!(self.beyond()));
        }
        match &self.client {
            Client::Absent => {}
            Client::Members(text) => {
                let members: JsonObject = parsed(text);
                root.extend(members.clone());
                root.insert("client".into(), Value::Object(members));
            }
            Client::Other(text) => {
                root.insert("client".into(), parsed(text));
            }
        }
        document
    }

    /// How much memory it takes, in bytes, nearly.
    pub fn size(&self) -> usize {
        let client = match &self.client {
            Client::Absent => 0,
            Client::Members(text) | Client::Other(text) => text.len(),
        };
        // What an allocator adds to a text is about as long as what is shown around it. Of settings less is shown than is kept.
        let texts = self.ours() + 3 * sse::size(&self.settings);
        let lists = room(&self.todos) + room(&self.files) + room(&self.sub_agents);
        mem::size_of::<Self>() + client + texts + lists
    }

    fn ours(&self) -> usize {
        sse::size(&self.todos) + sse::size(&self.files) + sse::size(&self.sub_agents)
    }

    /// Takes a change of what is ours, or leaves it if the whole becomes too large with it.
    fn change(
        &mut self,
        part: &'static str,
        change: impl FnOnce(&mut Self, &mut Patch),
    ) -> Result<Option<Patch>, TooLarge> {
        let mut changed = self.clone();
        let mut patch = Patch::new();
        change(&mut changed, &mut patch);
        if patch.is_empty() {
            return Ok(None);
        }
        if changed.ours() > MAX_OURS {
            let limit = MAX_OURS;
            return Err(TooLarge { part, limit });
        }
        *self = changed;
        Ok(Some(patch))
    }

    /// Notes what is to be done: the whole of it. Returns the change, if it is one.
    ///
    /// # Errors
    /// It is too large.
    pub fn set_todos(&mut self, todos: Vec<Todo>) -> Result<Option<Patch>, TooLarge> {
        if self.todos == todos {
            return Ok(None);
        }
        self.change("todos", |state, patch| {
            patch.extend(replace("todos", json!(todos)));
            state.todos = todos;
        })
    }

    /// Notes what became known of the context. Returns the change, if it is one.
    pub fn update_usage(&mut self, update: &ContextUpdate) -> Option<Patch> {
        let usage = self.usage.clone().unwrap_or_default().with(update);
        if self.usage.as_ref() == Some(&usage) || *update == ContextUpdate::default() {
            return None;
        }
        let patch = replace("tokenUsage", json!(usage));
        self.usage = Some(usage);
        Some(patch)
    }

    /// Notes files that were touched. Returns the change, if it is one.
    ///
    /// # Errors
    /// The list becomes too large with them.
    pub fn touch(&mut self, touched: Vec<File>) -> Result<Option<Patch>, TooLarge> {
        self.change("files", |state, patch| {
            for file in files::last(touched) {
                files::touch(&mut state.files, file, patch);
            }
        })
    }

    /// Notes what became known of a sub-agent. Returns the change, if it is one.
    ///
    /// # Errors
    /// The list becomes too large with it.
    pub fn update_sub_agent(&mut self, update: &SubAgentUpdate) -> Result<Option<Patch>, TooLarge> {
        self.change("subAgents", |state, patch| {
            sub_agents::update(&mut state.sub_agents, update, patch);
        })
    }

    /// What is known of a sub-agent.
    pub fn sub_agent(&self, id: &str) -> Option<&SubAgent> {
        self.sub_agents.iter().find(|one| one.id == id)
    }

    /// Notes the core's session. Returns the change, if it is one.
    pub fn set_session(&mut self, session: &str) -> Option<Patch> {
        let session = clip(session);
        if self.session == session {
            return None;
        }
        self.session = session.into();
        Some(replace("session", json!(session)))
    }

    /// Notes the model that answers. Returns the change, if it is one.
    pub fn set_model(&mut self, mut model: Model) -> Option<Patch> {
        let names = [
            Some(&mut model.id),
            model.name.as_mut(),
            model.provider.as_mut(),
        ];
        for name in names.into_iter().flatten() {
            name.truncate(clip(name).len());
        }
        if self.model == model {
            return None;
        }
        self.model = model;
        Some(replace("model", json!(self.model)))
    }

    fn beyond(&self) -> Beyond<'_> {
        Beyond {
            last_prompt: self.last_prompt.as_ref(),
            settings: &self.settings,
        }
    }

    /// Notes what a person said last, before the document is shown. A client sends the whole of it back, and so
    /// tells how far it has seen.
    pub fn set_last_prompt(&mut self, message: MessageId) {
        self.last_prompt = Some(message);
    }

    /// Reads off a state that a client sent which message was the last that it has seen a person say.
    pub fn last_prompt_in<'a>(state: Option<&'a Value>, namespace: &str) -> Option<&'a str> {
        state?.get(namespace)?.get("lastPrompt")?.as_str()
    }

    /// Notes what can be chosen in the session. Returns the change, if it is one.
    pub fn set_settings(&mut self, settings: Settings) -> Option<Patch> {
        let mut most = MAX_OPTIONS;
        let mut settings = settings.bounded(MAX_NAME, most);
        while sse::size(&settings) > MAX_SETTINGS {
            most /= 2;
            settings = settings.bounded(MAX_NAME, most);
        }
        if self.settings == settings {
            return None;
        }
        self.settings = settings;
        let path = Pointer::root().child(&self.namespace);
        // Adding replaces what is there (RFC 6902, section 4.1).
        let value = json!(self.beyond());
        Some(vec![Operation::Add { path, value }])
    }
}

/// What was written as JSON here.
fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("it is JSON")
}

/// How much memory a list takes without what its items point to, in bytes.
fn room<T>(list: &Vec<T>) -> usize {
    list.capacity() * mem::size_of::<T>()
}

/// The beginning of a name, as far as it is shown.
pub(super) fn clip(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME)]
}

fn replace(name: &str, value: Value) -> Patch {
    vec![Operation::Replace {
        path: Pointer::root().child(name),
        value,
    }]
}

#[cfg(test)]
mod tests;
