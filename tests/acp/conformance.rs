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
    // Without an echo: every process of this agent gives its sessions the same names, and what two processes say in
    // sessions of one name is not told apart.
    let options = conformance::Options::new("say hello", "say wait\nawait-cancel");
    let report = conformance::check(Arc::new(cores), &options).await;
    assert_eq!(report.failures, [], "{report}");
}
