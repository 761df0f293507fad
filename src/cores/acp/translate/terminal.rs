//! What commands print, as agents tell it beside a call's content: a `terminal` item, and under `_meta`
//! `terminal_info`, `terminal_output`, `terminal_output_delta` and `terminal_exit` (Codex, Claude, Pando).

use serde_json::{Map, Value, json};

use super::{
    bounds::{NAME, NOTICE, TEXT, clip, clip_json},
    diff,
};

/// How many terminals of one call are told apart.
const MOST: usize = 16;
/// The longest id of one, in bytes.
const ID: usize = 256;

/// The terminals of one call.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    known: Vec<Terminal>,
    /// What they printed, as far as it is kept for the call's result.
    printed: String,
}

#[derive(Debug)]
struct Terminal {
    id: String,
    exited: bool,
}

impl Terminals {
    /// The notices that follow from an update: `{terminalId}` with `command` and `cwd` once, `output` that
    /// follows what was printed before (or `replaces` it), and, at the end, `exitCode` and `signal`.
    pub(super) fn follow(
        &mut self,
        update: &Value,
        command: Option<&str>,
        workdir: &str,
    ) -> Vec<Value> {
        let meta = &update["_meta"];
        let mut notices = Vec::new();
        for id in terminal_ids(update) {
            let Some((index, is_new)) = self.place(id) else {
                continue;
            };
            let of_this = |value: &'_ Value| value["terminal_id"] == id;
            let mut notice = Map::new();
            if is_new {
                notice.extend(command.map(|it| ("command".into(), clip(it, 8 * NAME).into())));
                let cwd = meta["terminal_info"]["cwd"].as_str();
                let cwd = cwd.filter(|_| of_this(&meta["terminal_info"]));
                notice.extend(cwd.map(|cwd| ("cwd".into(), diff::seen(cwd, workdir).into())));
            }
            let more = &meta["terminal_output_delta"];
            let whole = &meta["terminal_output"];
            let output = if of_this(more) {
                more["data"].as_str().unwrap_or_default()
            } else if of_this(whole) {
                let whole = whole["data"].as_str().unwrap_or_default();
                whole
                    .strip_prefix(self.printed.as_str())
                    .unwrap_or_else(|| {
                        self.printed.clear();
                        notice.insert("replaces".into(), true.into());
                        whole
                    })
            } else {
                ""
            };
            self.keep(output);
            let exit = &meta["terminal_exit"];
            let mut ending = Map::new();
            if of_this(exit) && !self.known[index].exited {
                self.known[index].exited = true;
                ending.insert("exitCode".into(), exit["exit_code"].clone());
                let signal = Some(&exit["signal"]).filter(|signal| !signal.is_null());
                ending.extend(signal.map(|signal| ("signal".into(), signal.clone())));
            }
            notices.extend(written(id, notice, output, ending, is_new));
        }
        notices
    }

    /// What was printed.
    pub(super) fn printed(&self) -> &str {
        &self.printed
    }

    /// Lets go of what was printed.
    pub(super) fn forget(&mut self) {
        self.printed = String::new();
    }

    fn keep(&mut self, output: &str) {
        self.printed
            .push_str(clip(output, TEXT.saturating_sub(self.printed.len())));
    }

    /// Where the terminal stands, and whether it is new.
    fn place(&mut self, id: &str) -> Option<(usize, bool)> {
        if let Some(index) = self.known.iter().position(|known| known.id == id) {
            return Some((index, false));
        }
        if self.known.len() == MOST || id.len() > ID {
            return None;
        }
        self.known.push(Terminal {
            id: id.to_owned(),
            exited: false,
        });
        Some((self.known.len() - 1, true))
    }
}

/// The terminals that an update speaks of, each once.
fn terminal_ids(update: &Value) -> Vec<&str> {
    let items = update["content"].as_array().map_or(&[][..], Vec::as_slice);
    let shown = items
        .iter()
        .filter(|item| item["type"] == "terminal")
        .map(|item| &item["terminalId"]);
    let meta = &update["_meta"];
    let told = [
        "terminal_info",
        "terminal_output",
        "terminal_output_delta",
        "terminal_exit",
    ];
    let told = told.iter().map(|name| &meta[*name]["terminal_id"]);
    let mut ids: Vec<&str> = Vec::new();
    for id in shown.chain(told).filter_map(Value::as_str).take(MOST) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// One notice, or more if the output is long; none if there is nothing to say.
fn written(
    id: &str,
    start: Map<String, Value>,
    output: &str,
    ending: Map<String, Value>,
    is_new: bool,
) -> Vec<Value> {
    let mut notices = Vec::new();
    let mut notice = json!({"terminalId": id});
    let members = notice.as_object_mut().expect("it is an object");
    members.extend(start);
    let mut rest = output;
    loop {
        let piece = clip_json(rest, NOTICE / 2);
        let members = notice.as_object_mut().expect("it is an object");
        if !piece.is_empty() {
            members.insert("output".into(), piece.into());
        }
        rest = &rest[piece.len()..];
        if rest.is_empty() {
            members.extend(ending);
            let is_empty = members.len() == 1 && !(is_new && notices.is_empty());
            notices.extend((!is_empty).then_some(notice));
            return notices;
        }
        notices.push(notice);
        notice = json!({"terminalId": id});
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::acp::translate::bounds::size;

    #[test]
    fn a_terminal_is_told_once_and_its_output_as_it_comes() {
        let mut terminals = Terminals::default();
        let mut follow = |update: Value| terminals.follow(&update, Some("ls"), "/w");
        let info = json!({"terminal_id": "t", "cwd": "/w/src"});
        let start = json!({"content": [{"type": "terminal", "terminalId": "t"}],
            "_meta": {"terminal_info": info}});
        let delta = |text: &str| json!({"_meta": {"terminal_output_delta": {"terminal_id": "t", "data": text}}});
        let whole =
            |text: &str| json!({"_meta": {"terminal_output": {"terminal_id": "t", "data": text}}});
        let exit = json!({"_meta": {"terminal_exit": {"terminal_id": "t", "exit_code": 0, "signal": null}}});
        let told = json!([{"terminalId": "t", "command": "ls", "cwd": "src"}]);
        assert_eq!(json!(follow(start.clone())), told);
        assert_eq!(json!(follow(start)), json!([]));
        assert_eq!(
            json!(follow(delta("a"))),
            json!([{"terminalId": "t", "output": "a"}])
        );
        assert_eq!(
            json!(follow(delta("a"))),
            json!([{"terminalId": "t", "output": "a"}])
        );
        assert_eq!(
            json!(follow(whole("aab"))),
            json!([{"terminalId": "t", "output": "b"}])
        );
        assert_eq!(json!(follow(whole("aab"))), json!([]));
        let replaced = json!([{"terminalId": "t", "replaces": true, "output": "x"}]);
        assert_eq!(json!(follow(whole("x"))), replaced);
        assert_eq!(
            json!(follow(exit.clone())),
            json!([{"terminalId": "t", "exitCode": 0}])
        );
        assert_eq!(json!(follow(exit)), json!([]));
        assert_eq!(terminals.printed(), "x");
    }

    #[test]
    fn long_output_goes_on_whole_and_is_kept_in_part() {
        let mut terminals = Terminals::default();
        let text = "\u{1b}[0m é\n".repeat(300_000);
        let update = json!({"_meta": {"terminal_output_delta": {"terminal_id": "t", "data": text},
            "terminal_exit": {"terminal_id": "t", "exit_code": null, "signal": "KILL"}}});
        let notices = terminals.follow(&update, None, "/w");
        assert!(notices.iter().all(|notice| size(notice) <= NOTICE));
        let said: String = notices
            .iter()
            .filter_map(|notice| notice["output"].as_str())
            .collect();
        assert_eq!(said, text);
        let last = notices.last().unwrap();
        assert_eq!(
            (&last["exitCode"], &last["signal"]),
            (&json!(null), &json!("KILL"))
        );
        assert!(last.as_object().unwrap().contains_key("exitCode"));
        assert!(terminals.printed().len() <= TEXT);
    }

    #[test]
    fn a_call_has_so_many_terminals_at_most() {
        let mut terminals = Terminals::default();
        for n in 0..100 {
            let update = json!({"content": [{"type": "terminal", "terminalId": n.to_string()}]});
            let notices = terminals.follow(&update, None, "/w");
            assert_eq!(notices.len(), usize::from(n < MOST));
        }
    }
}
