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
    for pool_size in [0, 1, 4] {
        let stage = Stage::new(&["--resume"], &[]).keeping(pool_size);
        conforms(&stage).await;
    }
}

async fn conforms(stage: &Stage) {
    let cores = Cores::new(vec![Definition {
        name: AgentName::new("fake").unwrap(),
        description: None,
        core: Arc::new(Acp::new(stage.options.clone())),
    }]);
    let options = conformance::Options {
        echo: Some(|word| format!("say {word}")),
        ..conformance::Options::new("say hello", "say wait\nawait-cancel")
    };
    let report = conformance::check(Arc::new(cores), &options).await;
    assert_eq!(
        report.failures,
        [],
        "with {} kept\n{report}",
        stage.options.pool_size
    );
}
