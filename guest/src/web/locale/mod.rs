//! The `toLocale…` methods in the forms of US English, in UTC, and `localeCompare` in the order of a dictionary. The
//! engine is built without locale data; without these it prints code points and plain digits, or throws.

mod collate;
mod date;
mod number;

use super::Helper;
use boa_engine::{Context, JsObject, JsResult, JsValue, js_string};

pub fn install(context: &Context) {
    let constructors = context.intrinsics().constructors();
    let methods: [(JsObject, Helper); 6] = [
        (constructors.number().prototype(), ("toLocaleString", 0, number::to_locale_string)),
        (constructors.bigint().prototype(), ("toLocaleString", 0, number::to_locale_string)),
        (constructors.string().prototype(), ("localeCompare", 1, collate::locale_compare)),
        (constructors.date().prototype(), ("toLocaleString", 0, date::to_locale_string)),
        (constructors.date().prototype(), ("toLocaleDateString", 0, date::to_locale_date_string)),
        (constructors.date().prototype(), ("toLocaleTimeString", 0, date::to_locale_time_string)),
    ];
    super::define(methods, context);
}

/// The options argument of a `toLocale…` method.
struct Options(Option<JsObject>);

impl Options {
    fn of(value: Option<&JsValue>) -> Self {
        Self(value.and_then(JsValue::as_object))
    }

    fn get(&self, key: &'static str, context: &mut Context) -> JsResult<Option<JsValue>> {
        let Some(options) = &self.0 else { return Ok(None) };
        let value = options.get(js_string!(key), context)?;
        Ok(Some(value).filter(|value| !value.is_undefined()))
    }

    fn text(&self, key: &'static str, context: &mut Context) -> JsResult<Option<String>> {
        let Some(value) = self.get(key, context)? else { return Ok(None) };
        Ok(Some(value.to_string(context)?.to_std_string_lossy()))
    }

    fn truth(&self, key: &'static str, context: &mut Context) -> JsResult<Option<bool>> {
        Ok(self.get(key, context)?.map(|value| value.to_boolean()))
    }

    /// A number of digits within bounds.
    fn digits(&self, key: &'static str, least: usize, context: &mut Context) -> JsResult<Option<usize>> {
        let Some(value) = self.get(key, context)? else { return Ok(None) };
        let number = value.to_number(context)?;
        if !(least as f64..=100.0).contains(&number) {
            let message = format!("{key} must be a number from {least} to 100");
            return Err(boa_engine::JsNativeError::range().with_message(message).into());
        }
        Ok(Some(number as usize))
    }
}
