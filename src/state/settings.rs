//! What can be chosen in a session: the model, the mode, and how hard the model thinks.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

/// One thing that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// The model that answers.
    Model,
    /// How the agent works: by asking first, or planning only, say.
    Mode,
    /// How hard the model thinks.
    Effort,
}

impl SettingKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Model, Self::Mode, Self::Effort];

    /// The kind as a member name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Mode => "mode",
            Self::Effort => "effort",
        }
    }
}

/// Something for each kind of setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerSetting<T> {
    /// For the model.
    pub model: T,
    /// For the mode.
    pub mode: T,
    /// For the effort.
    pub effort: T,
}

impl<T> PerSetting<T> {
    /// What is there for a kind.
    pub const fn get(&self, kind: SettingKind) -> &T {
        match kind {
            SettingKind::Model => &self.model,
            SettingKind::Mode => &self.mode,
            SettingKind::Effort => &self.effort,
        }
    }

    /// What is there for a kind, to be changed.
    pub const fn get_mut(&mut self, kind: SettingKind) -> &mut T {
        match kind {
            SettingKind::Model => &mut self.model,
            SettingKind::Mode => &mut self.mode,
            SettingKind::Effort => &mut self.effort,
        }
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = (SettingKind, &T)> {
        SettingKind::ALL
            .map(|kind| (kind, self.get(kind)))
            .into_iter()
    }

    /// Makes something of each.
    pub fn map<U>(&self, mut make: impl FnMut(SettingKind, &T) -> U) -> PerSetting<U> {
        PerSetting {
            model: make(SettingKind::Model, &self.model),
            mode: make(SettingKind::Mode, &self.mode),
            effort: make(SettingKind::Effort, &self.effort),
        }
    }
}

/// What is chosen in a session, and what else a client may choose. What the agent does not offer is absent.
pub type Settings = PerSetting<Option<Setting>>;

/// One setting of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What is chosen, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What a client may choose.
    pub options: Vec<Choice>,
}

/// One value of a setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The value.
    pub value: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An object with the settings that are there.
impl Serialize for PerSetting<Option<Setting>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (kind, setting) in self.iter() {
            if let Some(setting) = setting {
                map.serialize_entry(kind.as_str(), setting)?;
            }
        }
        map.end()
    }
}

impl PerSetting<Option<Setting>> {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.iter().all(|(_, setting)| setting.is_none())
    }

    /// The settings with every text cut to so many bytes, and so many options at most.
    #[must_use]
    pub(super) fn bounded(mut self, longest: usize, most: usize) -> Self {
        let cut = |text: &mut String| text.truncate(text.floor_char_boundary(longest));
        for kind in SettingKind::ALL {
            if let Some(setting) = self.get_mut(kind) {
                setting.value.iter_mut().for_each(cut);
                setting.options.truncate(most);
                for option in &mut setting.options {
                    cut(&mut option.value);
                    option.name.iter_mut().for_each(cut);
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_there_is_shown() {
        let option = Choice {
            value: "ask".into(),
            name: Some("Ask first".into()),
        };
        let mode = Setting {
            value: Some("ask".into()),
            options: vec![option],
        };
        let settings = Settings {
            mode: Some(mode),
            ..Settings::default()
        };
        assert!(!settings.is_empty() && Settings::default().is_empty());
        assert_eq!(
            serde_json::to_value(settings).unwrap(),
            json!({"mode": {"value": "ask", "options": [{"value": "ask", "name": "Ask first"}]}})
        );
    }
}
