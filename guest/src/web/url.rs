//! The implementation of `URL` and `URLSearchParams`: parsing and serialising with the `url` crate, and the link
//! between the two objects.

use super::helper::{Helper, type_error};
use boa_engine::{
    Context, JsArgs, JsData, JsError, JsObject, JsResult, JsString, JsValue,
    error::JsNativeError,
    gc::{Finalize, Trace},
    js_string,
    object::builtins::JsArray,
    property::PropertyDescriptor,
};
use url::{form_urlencoded, quirks};

pub const HELPERS: &[Helper] = &[
    ("urlNew", 3, url_new),
    ("urlParses", 2, url_parses),
    ("urlGet", 2, url_get),
    ("urlSet", 3, url_set),
    ("urlSearchParams", 2, url_search_params),
    ("paramsNew", 1, params_new),
    ("paramsParse", 2, params_parse),
    ("paramsAppend", 3, params_append),
    ("paramsDelete", 3, params_delete),
    ("paramsGet", 2, params_get),
    ("paramsGetAll", 2, params_get_all),
    ("paramsHas", 3, params_has),
    ("paramsSet", 3, params_set),
    ("paramsSort", 1, params_sort),
    ("paramsSize", 1, params_size),
    ("paramsAt", 2, params_at),
    ("paramsText", 1, params_text),
];

/// The data of a `URL`.
#[derive(Trace, Finalize, JsData)]
pub struct Url {
    #[unsafe_ignore_trace]
    url: url::Url,
    /// The `searchParams` object, created at its first use.
    params: Option<JsObject>,
}

impl Url {
    /// The serialised URL.
    pub fn href(&self) -> &str {
        self.url.as_str()
    }
}

/// The data of a `URLSearchParams`.
#[derive(Trace, Finalize, JsData)]
pub struct SearchParams {
    #[unsafe_ignore_trace]
    pairs: Vec<(String, String)>,
    /// The URL whose query this is.
    owner: Option<JsObject>,
}

impl SearchParams {
    /// The names and values, in order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }
}

fn text(arguments: &[JsValue], index: usize) -> String {
    arguments.get_or_undefined(index).as_string().map(|text| text.to_std_string_lossy()).unwrap_or_default()
}

fn optional_text(arguments: &[JsValue], index: usize) -> Option<String> {
    arguments.get_or_undefined(index).as_string().map(|text| text.to_std_string_lossy())
}

fn object(arguments: &[JsValue], index: usize) -> Option<JsObject> {
    arguments.get_or_undefined(index).as_object()
}

fn parse(arguments: &[JsValue], first: usize) -> Option<url::Url> {
    let input = text(arguments, first);
    match optional_text(arguments, first + 1) {
        None => url::Url::parse(&input).ok(),
        Some(base) => url::Url::parse(&base).ok()?.join(&input).ok(),
    }
}

/// `urlNew(prototype, input, base)`
fn url_new(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    match parse(arguments, 1) {
        Some(url) => Ok(JsObject::from_proto_and_data(object(arguments, 0), Url { url, params: None }).into()),
        None => Err(invalid(&text(arguments, 1), optional_text(arguments, 2).as_deref(), context)),
    }
}

fn invalid(input: &str, base: Option<&str>, context: &mut Context) -> JsError {
    let short: String = input.chars().take(200).collect();
    let message = match base {
        Some(base) => format!("Invalid URL: {short:?} with the base {:?}", base.chars().take(200).collect::<String>()),
        None if !input.contains(':') => {
            format!("Invalid URL: {short:?} is relative; pass a base: new URL({short:?}, \"https://…\")")
        }
        None => format!("Invalid URL: {short:?}"),
    };
    let error = JsNativeError::typ().with_message(message).into_opaque(context);
    let code = PropertyDescriptor::builder().value(js_string!("ERR_INVALID_URL")).writable(true).enumerable(true);
    error.insert_property(js_string!("code"), code.configurable(true).build());
    JsError::from_opaque(error.into())
}

/// `urlParses(input, base)`
fn url_parses(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    Ok(parse(arguments, 0).is_some().into())
}

fn not_a(what: &str) -> JsError {
    type_error(format!("the receiver is not a {what}"))
}

/// `urlGet(url, part)`
fn url_get(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let this = object(arguments, 0).ok_or_else(|| not_a("URL"))?;
    let data = this.downcast_ref::<Url>().ok_or_else(|| not_a("URL"))?;
    let url = &data.url;
    let value = match text(arguments, 1).as_str() {
        "href" => quirks::href(url),
        "origin" => return Ok(js_string!(quirks::origin(url)).into()),
        "protocol" => quirks::protocol(url),
        "username" => quirks::username(url),
        "password" => quirks::password(url),
        "host" => quirks::host(url),
        "hostname" => quirks::hostname(url),
        "port" => quirks::port(url),
        "pathname" => quirks::pathname(url),
        "search" => quirks::search(url),
        _ => quirks::hash(url),
    };
    Ok(js_string!(value).into())
}

/// `urlSet(url, part, value)`: ignores an invalid value, except for `href`, where it throws.
fn url_set(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let this = object(arguments, 0).ok_or_else(|| not_a("URL"))?;
    let value = text(arguments, 2);
    let params = {
        let mut data = this.downcast_mut::<Url>().ok_or_else(|| not_a("URL"))?;
        let url = &mut data.url;
        match text(arguments, 1).as_str() {
            "href" => match url::Url::parse(&value) {
                Ok(parsed) => *url = parsed,
                Err(_) => return Err(invalid(&value, None, context)),
            },
            "protocol" => drop(quirks::set_protocol(url, &value)),
            "username" => drop(quirks::set_username(url, &value)),
            "password" => drop(quirks::set_password(url, &value)),
            "host" => drop(quirks::set_host(url, &value)),
            "hostname" => drop(quirks::set_hostname(url, &value)),
            "port" => drop(quirks::set_port(url, &value)),
            "pathname" => quirks::set_pathname(url, &value),
            "search" => quirks::set_search(url, &value),
            _ => quirks::set_hash(url, &value),
        }
        data.params.clone().map(|params| (params, query_pairs(&data.url)))
    };
    if let Some((params, pairs)) = params
        && let Some(mut data) = params.downcast_mut::<SearchParams>()
    {
        data.pairs = pairs;
    }
    Ok(JsValue::undefined())
}

fn query_pairs(url: &url::Url) -> Vec<(String, String)> {
    url.query_pairs().into_owned().collect()
}

/// `urlSearchParams(url, prototype)`: the URL's one `searchParams` object.
fn url_search_params(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let this = object(arguments, 0).ok_or_else(|| not_a("URL"))?;
    let mut data = this.downcast_mut::<Url>().ok_or_else(|| not_a("URL"))?;
    if let Some(params) = &data.params {
        return Ok(params.clone().into());
    }
    let params = SearchParams { pairs: query_pairs(&data.url), owner: Some(this.clone()) };
    let params = JsObject::from_proto_and_data(object(arguments, 1), params);
    data.params = Some(params.clone());
    Ok(params.into())
}

/// `paramsNew(prototype)`
fn params_new(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let data = SearchParams { pairs: Vec::new(), owner: None };
    Ok(JsObject::from_proto_and_data(object(arguments, 0), data).into())
}

fn read<T>(arguments: &[JsValue], read: impl FnOnce(&[(String, String)]) -> T) -> JsResult<T> {
    let this = object(arguments, 0).ok_or_else(|| not_a("URLSearchParams"))?;
    let data = this.downcast_ref::<SearchParams>().ok_or_else(|| not_a("URLSearchParams"))?;
    Ok(read(&data.pairs))
}

/// Changes the pairs, and updates the query of the URL to which they belong.
fn change(arguments: &[JsValue], change: impl FnOnce(&mut Vec<(String, String)>)) -> JsResult<JsValue> {
    let this = object(arguments, 0).ok_or_else(|| not_a("URLSearchParams"))?;
    let (owner, query) = {
        let mut data = this.downcast_mut::<SearchParams>().ok_or_else(|| not_a("URLSearchParams"))?;
        change(&mut data.pairs);
        let Some(owner) = data.owner.clone() else { return Ok(JsValue::undefined()) };
        (owner, serialized(&data.pairs))
    };
    if let Some(mut owner) = owner.downcast_mut::<Url>() {
        owner.url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
    }
    Ok(JsValue::undefined())
}

fn serialized(pairs: &[(String, String)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// `paramsParse(params, query)`
fn params_parse(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let query = text(arguments, 1);
    let query = query.strip_prefix('?').unwrap_or(&query);
    let parsed = form_urlencoded::parse(query.as_bytes()).into_owned();
    change(arguments, |pairs| pairs.extend(parsed))
}

fn params_append(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    change(arguments, |pairs| pairs.push((text(arguments, 1), text(arguments, 2))))
}

/// `paramsDelete(params, name, value)`: deletes all pairs of that name, or only those that also have that value.
fn params_delete(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let (name, value) = (text(arguments, 1), optional_text(arguments, 2));
    change(arguments, |pairs| pairs.retain(|pair| !matches(pair, &name, value.as_deref())))
}

fn matches(pair: &(String, String), name: &str, value: Option<&str>) -> bool {
    pair.0 == name && value.is_none_or(|value| pair.1 == value)
}

fn params_get(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let name = text(arguments, 1);
    let found = read(arguments, |pairs| pairs.iter().find(|pair| pair.0 == name).map(|pair| js_string!(&*pair.1)))?;
    Ok(found.map_or(JsValue::null(), JsValue::from))
}

fn params_get_all(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let name = text(arguments, 1);
    let found: Vec<JsString> =
        read(arguments, |pairs| pairs.iter().filter(|pair| pair.0 == name).map(|pair| js_string!(&*pair.1)).collect())?;
    Ok(JsArray::from_iter(found.into_iter().map(JsValue::from), context).into())
}

fn params_has(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let (name, value) = (text(arguments, 1), optional_text(arguments, 2));
    Ok(read(arguments, |pairs| pairs.iter().any(|pair| matches(pair, &name, value.as_deref())))?.into())
}

/// `paramsSet(params, name, value)`: sets the first pair of that name, and deletes the others.
fn params_set(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let (name, value) = (text(arguments, 1), text(arguments, 2));
    change(arguments, |pairs| {
        let Some(first) = pairs.iter().position(|pair| pair.0 == name) else {
            pairs.push((name, value));
            return;
        };
        pairs[first].1 = value;
        let mut index = 0;
        pairs.retain(|pair| {
            let keep = index <= first || pair.0 != name;
            index += 1;
            keep
        });
    })
}

/// Sorts by the names' UTF-16 code units; pairs of the same name keep their order.
fn params_sort(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    change(arguments, |pairs| pairs.sort_by(|one, other| one.0.encode_utf16().cmp(other.0.encode_utf16())))
}

fn params_size(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    Ok(read(arguments, <[_]>::len)?.into())
}

/// `paramsAt(params, index)`: `[name, value]`, or `undefined` beyond the end.
fn params_at(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let index = arguments.get_or_undefined(1).as_number().unwrap_or(0.0) as usize;
    let pair =
        read(arguments, |pairs| pairs.get(index).map(|(name, value)| [js_string!(&**name), js_string!(&**value)]))?;
    Ok(pair.map_or(JsValue::undefined(), |pair| JsArray::from_iter(pair.map(JsValue::from), context).into()))
}

fn params_text(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    Ok(js_string!(read(arguments, serialized)?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serialised_query_is_parsed_back() {
        let pairs = vec![("a b".to_owned(), "ä&=+".to_owned()), (String::new(), String::new())];
        let text = serialized(&pairs);
        assert_eq!(text, "a+b=%C3%A4%26%3D%2B&=");
        assert_eq!(form_urlencoded::parse(text.as_bytes()).into_owned().collect::<Vec<_>>(), pairs);
    }
}
