//! The `toLocale…` methods in the formats of US English, in UTC, and `localeCompare` in dictionary order. The engine is
//! built without locale data: its own methods compare code points, print plain digits, or throw.

mod collate;
mod date;
mod number;
mod options;

use super::helper::{Helper, define};
use boa_engine::{Context, JsObject};

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
    define(methods, context);
}
