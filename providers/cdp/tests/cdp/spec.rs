//! The protocol as the browser describes it.

use crate::support::Execution;
use codemode_spec::ErrorCode;
use serde_json::json;

#[tokio::test]
async fn the_protocol_is_looked_up() {
    let execution = Execution::begin().await;
    let spec = |arguments| execution.call("spec", arguments);

    let index = spec(json!([])).await.unwrap();
    assert!(index.as_object().unwrap().len() > 40);
    let names = |kind: &str| index["Page"][kind].as_str().unwrap().split(' ').collect::<Vec<_>>();
    assert!(names("commands").contains(&"navigate") && names("events").contains(&"loadEventFired"));
    assert_eq!(index.get("Extensions"), None, "what is refused is not offered");
    let length = index.to_string().len();
    assert!(length < codemode_spec::limits::RESULT_CHARS_DEFAULT * 9 / 10, "{length}");
    assert!(index["Page"]["description"].as_str().unwrap().len() > 10);

    let navigate = spec(json!(["Page.navigate"])).await.unwrap();
    assert_eq!((&navigate["kind"], &navigate["needsSessionId"]), (&json!("command"), &json!(true)));
    assert_eq!(
        (&navigate["parameters"][0]["name"], &navigate["parameters"][0]["type"]),
        (&json!("url"), &json!("string"))
    );
    assert!(navigate["returns"].as_array().unwrap().iter().any(|value| value["name"] == "frameId"));
    assert!(navigate["types"]["Page.TransitionType"]["enum"].as_array().unwrap().contains(&json!("reload")));

    let page = spec(json!(["Page"])).await.unwrap();
    assert_eq!(page["commands"]["navigate"]["description"], "Navigates current page to the given URL.");
    assert!(page["commands"]["navigate"]["parameters"].as_str().unwrap().starts_with("url: string, referrer?: string"));
    assert!(page["types"].as_array().unwrap().contains(&json!("FrameId")));

    let event = spec(json!(["Network.responseReceived"])).await.unwrap();
    assert_eq!(event["kind"], "event");
    assert!(event["types"]["Network.Response"]["properties"].as_array().unwrap().len() > 10);
    assert_eq!(spec(json!(["Network.Cookie"])).await.unwrap()["kind"], "type");
    assert_eq!(spec(json!(["Target.getTargets"])).await.unwrap()["needsSessionId"], false);

    let found = spec(json!([{"search": "capture screenshot"}])).await.unwrap();
    assert_eq!(found["results"][0]["name"], "Page.captureScreenshot");
    assert!(found["results"][0]["parameters"].as_array().unwrap().len() > 2);
    assert_eq!(spec(json!([{"search": "no such thing"}])).await.unwrap(), json!({"total": 0, "results": []}));

    let error = spec(json!(["Page.navigat"])).await.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::InvalidArgument, "the protocol has nothing named \"Page.navigat\"")
    );
    assert!(error.hint.starts_with("Did you mean Page.navigate?"), "{}", error.hint);
    execution.end().await;
}
