//! Kinds of volumes.

use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn a_volume_has_its_kind_and_its_fields() {
    let all: Vec<Volume> = serde_json::from_value(json!([
        {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "host", "hostPath": {"path": "/srv", "type": "Directory"}},
        {"name": "token", "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "token"}}]}},
    ]))
    .expect("volumes");
    let mut text = Text::default();
    volumes(&mut text, &all);
    expect![[r#"
        Volumes:
          scratch:
            Type:       EmptyDir
            SizeLimit:  1Gi
          host:
            Type:          HostPath
            Path:          /srv
            HostPathType:  Directory
          token:
            Type:         Projected
            DefaultMode:  420
            Sources:      {"serviceAccountToken":{"path":"token"}}
    "#]]
    .assert_eq(&text.render());
}
