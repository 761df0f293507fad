//! What can be chosen in a session (model, mode, effort), where agents show it, and how it is set.
//!
//! Three places are known: config options with a category, and the older `modes` and `models`. An option wins
//! over the older form of the same thing: agents that have both keep both up to date.

use serde_json::{Value, json};

use super::preset::{approves_by_itself, asking};
use crate::deps::{Choice, Model, PerSetting, Setting, SettingKind, Settings};

/// The request that sets a config option.
const SET_OPTION: &str = "session/set_config_option";

/// The category of options about what an agent may do without asking, as Copilot calls it.
const PERMISSIONS: &str = "permissions";

/// The value of such an option with which the agent asks.
const OFF: &str = "off";

/// How many values of a setting are known. Some agents offer hundreds of models.
const MOST: usize = 500;

/// The longest value or name of one, in bytes.
const LONGEST: usize = 1024;

/// How many options are known that let an agent act without asking.
const SWITCHES: usize = 8;

/// What a session offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offers {
    settings: PerSetting<Option<Offer>>,
    /// Options, by id, that let the agent act without asking whatever its mode, and can be off. A person's
    /// words can switch them on (`/allow-all on` at Copilot), which is told late if at all.
    switches: Vec<String>,
}

/// One thing that can be chosen in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Offer {
    way: Way,
    /// What is chosen, if known.
    value: Option<String>,
    options: Vec<Choice>,
}

/// How it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// `session/set_config_option`, by the option's id.
    Option(String),
    /// `session/set_mode`.
    Mode,
    /// `session/set_model`, which is in no version of the schema any more.
    Model,
}

/// A request that sets something.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// What is set; none for what lets an agent act without asking.
    pub(super) kind: Option<SettingKind>,
    /// To what.
    pub(super) value: String,
    /// The request's method.
    pub(super) method: &'static str,
    /// Its parameters.
    pub(super) params: Value,
}

/// What is to be done so that a session is as it should be.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Plan {
    /// In this order.
    pub(super) steps: Vec<Step>,
    /// What the agent does not offer.
    pub(super) missing: Vec<(SettingKind, String)>,
    /// The mode that the session will be in, if the agent asks nobody in it and nobody has configured it.
    pub(super) unattended: Option<String>,
}

/// What is shown before any session has told what it offers.
pub(super) fn configured(
    set: &PerSetting<Option<String>>,
    choices: &PerSetting<Vec<String>>,
) -> Settings {
    choices.map(|kind, choices| {
        let value = set.get(kind).clone();
        let options = choices.iter().map(|value| Choice {
            value: value.clone(),
            name: None,
        });
        (value.is_some() || !choices.is_empty()).then(|| Setting {
            value,
            options: options.collect(),
        })
    })
}

impl Offers {
    /// Reads what an answer or an update shows, over what is known. Answers with whether that changes something.
    pub(super) fn read(&mut self, shown: &Value) -> bool {
        const PLACES: [&str; 4] = ["configOptions", "modes", "models", "currentModeId"];
        // Nearly every update is about something else.
        if PLACES.iter().all(|place| shown[place].is_null()) {
            return false;
        }
        let before = self.clone();
        self.read_options(&shown["configOptions"]);
        let modes = ["currentModeId", "availableModes", "id"];
        self.read_older(SettingKind::Mode, Way::Mode, &shown["modes"], modes);
        let models = ["currentModelId", "availableModels", "modelId"];
        self.read_older(SettingKind::Model, Way::Model, &shown["models"], models);
        // `current_mode_update`.
        if let (Some(offer), Some(mode)) = (&mut self.settings.mode, text(&shown["currentModeId"]))
        {
            offer.value = Some(mode);
        }
        *self != before
    }

    fn read_options(&mut self, options: &Value) {
        let options = options.as_array().map_or(&[][..], Vec::as_slice);
        for kind in SettingKind::ALL {
            let of_kind = |option: &&Value| option["category"] == category(kind);
            if let Some(option) = options.iter().find(of_kind) {
                *self.settings.get_mut(kind) = of_option(option);
            }
        }
        let can_be_off = |option: &&Value| {
            let values = choices(&option["options"], "value");
            option["category"] == PERMISSIONS && values.iter().any(|value| value.value == OFF)
        };
        if !options.is_empty() {
            let switches = options.iter().filter(can_be_off);
            let ids = switches.filter_map(|option| text(&option["id"]));
            self.switches = ids.take(SWITCHES).collect();
        }
    }

    /// Reads the older form of something, unless there is an option for it. `keys` are where the current one,
    /// all of them, and the id of each stand.
    fn read_older(&mut self, kind: SettingKind, way: Way, list: &Value, keys: [&str; 3]) {
        let known = self.settings.get_mut(kind);
        let is_option = |offer: &Offer| matches!(offer.way, Way::Option(_));
        if !list.is_object() || known.as_ref().is_some_and(is_option) {
            return;
        }
        let [value, options, key] = keys;
        *known = Some(Offer {
            way,
            value: text(&list[value]),
            options: choices(&list[options], key),
        });
    }

    /// Notes that something was set.
    pub(super) fn note(&mut self, step: &Step) {
        let offer = step
            .kind
            .and_then(|kind| self.settings.get_mut(kind).as_mut());
        if let Some(offer) = offer {
            offer.value = Some(step.value.clone());
        }
    }

    /// Whether the agent is in another mode than was set, so that it may go on and ask nobody.
    pub(super) fn denies(&self, step: &Step) -> bool {
        let mode = self.settings.mode.as_ref();
        let value = mode.and_then(|mode| mode.value.as_ref());
        step.kind == Some(SettingKind::Mode) && value != Some(&step.value)
    }

    /// What is to be set in the session `session`: what is wished for, else what is configured, else what makes
    /// an agent ask that approves by itself; the first of these that it offers. What already is so needs no
    /// step. The mode comes last, since some agents change it with the model.
    pub(super) fn plan(
        &self,
        session: &str,
        wishes: &PerSetting<Option<String>>,
        configured: &PerSetting<Option<String>>,
    ) -> Plan {
        let mut plan = Plan::default();
        // Whoever configures a mode in which the agent asks nobody means that.
        let is_meant = configured.mode.as_deref().is_some_and(approves_by_itself);
        let switches = self.switches.iter().filter(|_| !is_meant);
        plan.steps.extend(switches.map(|id| Step {
            kind: None,
            value: OFF.to_owned(),
            method: SET_OPTION,
            params: json!({"sessionId": session, "configId": id, "value": OFF}),
        }));
        for kind in [SettingKind::Model, SettingKind::Effort, SettingKind::Mode] {
            let offer = self.settings.get(kind).as_ref();
            let asking = match kind {
                SettingKind::Mode => offer.and_then(Offer::asking),
                SettingKind::Model | SettingKind::Effort => None,
            };
            let wanted = [wishes.get(kind), configured.get(kind), &asking];
            for value in wanted.into_iter().flatten() {
                match offer {
                    Some(offer) if offer.has(value) => {
                        plan.steps.extend(offer.step(session, kind, value.clone()));
                        break;
                    }
                    _ => plan.missing.push((kind, value.clone())),
                }
            }
        }
        let set = plan
            .steps
            .iter()
            .find(|step| step.kind == Some(SettingKind::Mode));
        let current = self
            .settings
            .mode
            .as_ref()
            .and_then(|offer| offer.value.as_ref());
        let mode = set.map(|step| &step.value).or(current);
        plan.unattended = mode
            .filter(|mode| approves_by_itself(mode) && Some(*mode) != configured.mode.as_ref())
            .cloned();
        plan
    }

    /// All that is offered, as clients are never shown it.
    pub(super) fn all(&self) -> Settings {
        self.settings.map(|_, offer| {
            let Offer { value, options, .. } = offer.clone()?;
            Some(Setting { value, options })
        })
    }

    /// What clients are shown: what is chosen, and what of the rest they may choose.
    pub(super) fn shown(&self, choices: &PerSetting<Vec<String>>) -> Settings {
        self.settings.map(|kind, offer| {
            let offer = offer.as_ref()?;
            let may = |option: &&Choice| choices.get(kind).contains(&option.value);
            Some(Setting {
                value: offer.value.clone(),
                options: offer.options.iter().filter(may).cloned().collect(),
            })
        })
    }

    /// The model that answers, if the agent shows it.
    pub(super) fn model(&self) -> Option<Model> {
        let offer = self.settings.model.as_ref()?;
        let id = offer.value.clone().filter(|id| !id.is_empty())?;
        let option = offer.options.iter().find(|option| option.value == id);
        Some(Model {
            name: option.and_then(|option| option.name.clone()),
            id,
            ..Model::default()
        })
    }
}

impl Offer {
    fn has(&self, value: &str) -> bool {
        self.options.iter().any(|option| option.value == value)
    }

    /// The mode in which the agent asks, if it is in one in which it does not.
    fn asking(&self) -> Option<String> {
        let offered = self.options.iter().map(|option| option.value.as_str());
        asking(self.value.as_deref()?, offered).map(str::to_owned)
    }

    /// The request that sets a value, unless it is set.
    fn step(&self, session: &str, kind: SettingKind, value: String) -> Option<Step> {
        if self.value.as_ref() == Some(&value) {
            return None;
        }
        let (method, name) = match &self.way {
            Way::Option(_) => (SET_OPTION, "value"),
            Way::Mode => ("session/set_mode", "modeId"),
            Way::Model => ("session/set_model", "modelId"),
        };
        let mut params = json!({"sessionId": session, name: value});
        if let Way::Option(id) = &self.way {
            params["configId"] = json!(id);
        }
        Some(Step {
            kind: Some(kind),
            value,
            method,
            params,
        })
    }
}

/// The category of config options (ACP `SessionConfigOptionCategory`).
fn category(kind: SettingKind) -> &'static str {
    match kind {
        SettingKind::Model => "model",
        SettingKind::Mode => "mode",
        SettingKind::Effort => "thought_level",
    }
}

fn of_option(option: &Value) -> Option<Offer> {
    Some(Offer {
        way: Way::Option(text(&option["id"])?),
        value: text(&option["currentValue"]),
        options: choices(&option["options"], "value"),
    })
}

/// The entries, which may stand in groups.
fn choices(entries: &Value, key: &str) -> Vec<Choice> {
    let entries = entries.as_array().map_or(&[][..], Vec::as_slice);
    let mut found = Vec::new();
    for entry in entries.iter().take(MOST) {
        match text(&entry[key]) {
            Some(value) => found.push(Choice {
                value,
                name: text(&entry["name"]),
            }),
            None => found.extend(choices(&entry["options"], key)),
        }
    }
    found.truncate(MOST);
    found
}

/// A text of a length that can be kept. A longer one is none: half an id is another one.
fn text(place: &Value) -> Option<String> {
    let text = place.as_str().filter(|text| text.len() <= LONGEST)?;
    Some(text.to_owned())
}

#[cfg(test)]
mod tests;
