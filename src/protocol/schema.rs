//! The frozen 1.0 schema, as the judge of what the types serialise to.

use jsonschema::Validator;
use serde::Serialize;
use serde_json::Value;

/// One definition of the schema, by its name in `$defs`.
pub(crate) struct Schema(Validator);

impl Schema {
    pub(crate) fn of(definition: &str) -> Self {
        let mut schema: Value =
            serde_json::from_str(include_str!("../../tests/fixtures/agui-1.0.schema.json"))
                .unwrap();
        assert!(schema["$defs"][definition].is_object(), "{definition}");
        schema["$ref"] = format!("#/$defs/{definition}").into();
        Self(jsonschema::validator_for(&schema).unwrap())
    }

    /// What is wrong with the value, each error with its place; nothing if it is valid.
    pub(crate) fn errors(&self, value: &impl Serialize) -> Vec<String> {
        let value = serde_json::to_value(value).unwrap();
        self.0
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }
}

#[test]
fn the_schema_refuses_what_the_protocol_refuses() {
    let schema = Schema::of("RunFinishedEvent");
    let event = |outcome: Value| serde_json::json!({"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":outcome});
    assert_eq!(
        schema.errors(&event(serde_json::json!({"type":"cancelled"}))),
        Vec::<String>::new()
    );
    for wrong in [
        Value::Null,
        "interrupt".into(),
        serde_json::json!({"type":"interrupt","interrupts":[]}),
    ] {
        assert!(!schema.errors(&event(wrong.clone())).is_empty(), "{wrong}");
    }
}
