//! The ACP core against the conformance kit.

use std::sync::Arc;

use agui_serve::{
    conformance,
    cores::{Cores, Definition, acp::Acp},
    deps::AgentName,
};

use crate::stage::Stage;

#[tokio::test]
async fn the_acp_core_conforms() {
    let stage = Stage::new(&["--resume"], &[]);
    let cores = Cores::new(vec![Definition {
        name: AgentName::new("fake").unwrap(),
        description: None,
        core: Arc::new(Acp::new(stage.options.clone())),
    }]);
    // Every process of this agent gives its sessions the same names.
    let options = conformance::Options {
        echo: Some(|word| format!("say {word}")),
        ..conformance::Options::new("say hello", "say wait\nawait-cancel")
    };
    let report = conformance::check(Arc::new(cores), &options).await;
    assert_eq!(report.failures, [], "{report}");
}
