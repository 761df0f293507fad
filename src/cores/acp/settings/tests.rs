use super::*;

fn offers(shown: &Value) -> Offers {
    let mut offers = Offers::default();
    offers.read(shown);
    offers
}

fn modes(current: &str, ids: &[&str]) -> Value {
    let available: Vec<_> = ids.iter().map(|id| json!({"id": id, "name": id})).collect();
    json!({"modes": {"currentModeId": current, "availableModes": available}})
}

fn one(kind: SettingKind, value: &str) -> PerSetting<Option<String>> {
    let mut one = PerSetting::default();
    *one.get_mut(kind) = Some(value.to_owned());
    one
}

#[test]
fn a_model_is_found_wherever_agents_put_it() {
    let flat = json!([{"value": "m1", "name": "One"}]);
    let grouped = json!([{"group": "g", "name": "G", "options": flat}]);
    let option = |options: &Value| {
        json!({"configOptions": [
            {"id": "mode", "category": "mode", "currentValue": "ask", "options": []},
            {"id": "model", "category": "model", "currentValue": "m1", "options": options},
        ]})
    };
    let legacy = json!({"models": {"currentModelId": "m1",
        "availableModels": [{"modelId": "m1", "name": "One"}]}});
    for shown in [option(&flat), option(&grouped), legacy] {
        let model = offers(&shown).model().unwrap();
        assert_eq!(
            (model.id.as_str(), model.name.as_deref()),
            ("m1", Some("One"))
        );
    }
    assert_eq!(offers(&json!({"sessionId": "s"})).model(), None);
}

#[test]
fn each_is_set_as_the_agent_offers_it() {
    let options = json!([{"value": "a"}, {"value": "b"}]);
    let option = json!({"configOptions": [
        {"id": "depth", "category": "thought_level", "currentValue": "a", "options": options},
    ]});
    let models = json!({"models": {"currentModelId": "a", "availableModels": [
        {"modelId": "a"}, {"modelId": "b"}]}});
    for (shown, kind, method, params) in [
        (
            option,
            SettingKind::Effort,
            "session/set_config_option",
            json!({"sessionId": "s", "value": "b", "configId": "depth"}),
        ),
        (
            models,
            SettingKind::Model,
            "session/set_model",
            json!({"sessionId": "s", "modelId": "b"}),
        ),
        (
            modes("a", &["a", "b"]),
            SettingKind::Mode,
            "session/set_mode",
            json!({"sessionId": "s", "modeId": "b"}),
        ),
    ] {
        let offers = offers(&shown);
        let plan = offers.plan("s", &one(kind, "b"), &PerSetting::default());
        let [step] = &plan.steps[..] else {
            panic!("{plan:?}");
        };
        assert_eq!((step.method, &step.params), (method, &params));
        let same = offers.plan("s", &one(kind, "a"), &one(kind, "b"));
        assert_eq!(same, Plan::default(), "a wish wins, and it is so already");
        let other = offers.plan("s", &one(kind, "c"), &PerSetting::default());
        assert_eq!(other.missing, [(kind, "c".to_owned())]);
    }
}

#[test]
fn an_option_wins_over_the_older_form_and_later_news_over_both() {
    let mut both = modes("ask", &["ask", "agent"]);
    both["configOptions"] = json!([{"id": "m", "category": "mode", "currentValue": "ask",
        "options": [{"value": "ask"}, {"value": "agent"}]}]);
    let mut offers = offers(&both);
    let plan = offers.plan(
        "s",
        &one(SettingKind::Mode, "agent"),
        &PerSetting::default(),
    );
    assert_eq!(plan.steps[0].method, "session/set_config_option");
    offers.read(&json!({"sessionUpdate": "current_mode_update", "currentModeId": "agent"}));
    assert_eq!(
        offers
            .shown(&PerSetting::default())
            .mode
            .unwrap()
            .value
            .as_deref(),
        Some("agent")
    );
}

#[test]
fn an_agent_that_approves_by_itself_is_made_to_ask() {
    let nothing = PerSetting::default();
    for (shown, set) in [
        (modes("agent", &["agent", "ask"]), Some("ask")),
        (
            modes("dev:agent", &["dev:agent", "dev:ask", "ask"]),
            Some("dev:ask"),
        ),
        (modes("auto", &["default", "auto", "plan"]), Some("default")),
        (modes("yolo", &["yolo"]), None),
        (modes("default", &["default", "yolo"]), None),
        (modes("code", &["code", "ask"]), None),
    ] {
        let plan = offers(&shown).plan("s", &nothing, &nothing);
        let found = plan.steps.first().map(|step| step.value.as_str());
        assert_eq!(found, set, "{shown}");
        let goes_on = set.is_none() && shown["modes"]["currentModeId"] == "yolo";
        assert_eq!(plan.unattended.is_some(), goes_on, "{shown}");
    }
    let both = offers(&modes("agent", &["agent", "ask"]));
    for (wish, configured) in [(Some("plan"), None), (None, Some("plan"))] {
        let mode = |mode: Option<&str>| PerSetting {
            mode: mode.map(str::to_owned),
            ..PerSetting::default()
        };
        let plan = both.plan("s", &mode(wish), &mode(configured));
        assert_eq!(
            plan.steps[0].value, "ask",
            "what it does not offer changes nothing"
        );
        assert_eq!(plan.missing, [(SettingKind::Mode, "plan".to_owned())]);
    }
    let meant = offers(&modes("yolo", &["yolo", "ask"]));
    let plan = meant.plan("s", &nothing, &one(SettingKind::Mode, "yolo"));
    assert_eq!(plan, Plan::default(), "what is configured is meant");
}

#[test]
fn what_lets_an_agent_act_without_asking_is_switched_off_before_each_prompt() {
    let values = json!([{"value": "on"}, {"value": "off"}]);
    let shown = offers(&json!({"configOptions": [
        {"id": "allow_all", "category": "permissions", "currentValue": "off", "options": values},
        {"id": "fast", "category": "model_config", "currentValue": "on", "options": values},
    ]}));
    let nothing = PerSetting::default();
    let plan = shown.plan("s", &nothing, &nothing);
    let [step] = &plan.steps[..] else {
        panic!("{plan:?}");
    };
    let params = json!({"sessionId": "s", "configId": "allow_all", "value": "off"});
    assert_eq!((step.method, &step.params), (SET_OPTION, &params));
    let meant = shown.plan("s", &nothing, &one(SettingKind::Mode, "autopilot"));
    assert!(meant.steps.is_empty(), "what is configured is meant");
}

#[test]
fn an_agent_that_says_yes_and_stays_as_it_is_is_not_believed() {
    let values = json!([{"value": "yolo"}, {"value": "ask"}]);
    let shown = |current: &str| {
        let option =
            json!({"id": "m", "category": "mode", "currentValue": current, "options": values});
        json!({"configOptions": [option]})
    };
    let mut offers = offers(&shown("yolo"));
    let nothing = PerSetting::default();
    let plan = offers.plan("s", &nothing, &nothing);
    for (answer, denies) in [
        (json!({}), false),
        (shown("ask"), false),
        (shown("yolo"), true),
    ] {
        offers.note(&plan.steps[0]);
        offers.read(&answer);
        assert_eq!(offers.denies(&plan.steps[0]), denies, "{answer}");
    }
}

#[test]
fn clients_are_shown_what_they_may_choose() {
    let choices = PerSetting {
        mode: vec!["ask".into(), "gone".into()],
        ..PerSetting::default()
    };
    let shown = offers(&modes("agent", &["agent", "ask"])).shown(&choices);
    let mode = shown.mode.unwrap();
    assert_eq!(mode.value.as_deref(), Some("agent"));
    assert_eq!(mode.options.len(), 1);
    assert_eq!(shown.model, None);
}
